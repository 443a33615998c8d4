"""The benchmark problems, built from their rules.

The docstring of every module has the rules of a problem or family; its function (`build`) takes the parameters and a
discount and summarises the rules. Modules of simulators, which are too large for tables, have `named(text, discount)`.
Models have the numbers of the published model files, even if such a file differs from its description; the module's
docstring lists these differences.
"""
