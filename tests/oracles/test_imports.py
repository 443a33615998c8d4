"""An oracle that imports what it is to judge is none."""

import ast
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
ORACLES = sorted(path.name for path in FOLDER.glob("*.py") if not path.name.startswith("test_"))
ALLOWED = {"numpy", "oracles", "decpomdp.core"} | set(sys.stdlib_module_names)
OF_THE_SWEEP = ("sweeps.py", "special.py")


def imported(text):
    """Every module that a source text imports, wherever in it."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


def foreign(text, allowed=ALLOWED):
    return [name for name in imported(text) if name not in allowed and name.split(".")[0] not in allowed]


def test_oracles_import_numpy_and_the_nouns_at_most():
    for name in ORACLES:
        assert foreign((FOLDER / name).read_text()) == []


def test_those_of_the_sweep_import_numpy_alone():
    for name in OF_THE_SWEEP:
        assert foreign((FOLDER / name).read_text(), ALLOWED - {"decpomdp.core"}) == []


def test_the_check_can_fail():
    assert foreign("def f():\n    from scipy.special import digamma") == ["scipy.special"]
    assert foreign("import decpomdp.learners") == ["decpomdp.learners"]
    assert foreign("from decpomdp.core import Team", ALLOWED - {"decpomdp.core"}) == ["decpomdp.core"]
