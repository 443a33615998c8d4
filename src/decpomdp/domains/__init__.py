"""The benchmark problems, built from their rules.

The docstring of every module has the rules of a problem or family; its function (`build`) takes the parameters and a
discount and summarises the rules. Modules of simulators, which are too large for tables, have `named(text, discount)`.
The numbers of models are those of the published model files, also where a published table differs from its description;
the module's docstring lists these differences.
"""
