"""The benchmark problems, built from their rules.

Every module here tells the rules of a problem or family in its docstring; its function (`build`) takes the parameters
and a discount and has the rules in a few sentences. Modules of simulators, which are too large to be written down, have
`named(text, discount)`. The numbers of models are those of the published model files, including the places where a
published table departs from its own story; each such place is named in the module's docstring.
"""
