"""The benchmark problems, one file each, built from their rules.

Every module here tells the rules of one problem in its docstring. Those of models have one public function,
`build(discount=0.9) -> DecPOMDP`; those of simulators, which are too large to be written down, have
`named(text, discount)`, where the text may say a size. The numbers of models are those of the published model files,
including the places where a published table departs from its own story; each such place is named in the module's
docstring.
"""

from decpomdp.domains.registry import build, is_simulator, note, problems, simulator, simulators, summary

__all__ = ["build", "is_simulator", "note", "problems", "simulator", "simulators", "summary"]
