"""The cache of compiled code: it follows the sources, and the library works without it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from decpomdp.kernels import compiled

CALLEE = """
from typing import NamedTuple
from decpomdp.kernels.compiled import helper
class Pair(NamedTuple):
    one: float
    other: float
@helper
def combined(pair):
    return pair.one + pair.other
"""
CALLER = """
from decpomdp.kernels.callee import Pair, combined
from decpomdp.kernels.compiled import kernel
@kernel
def doubled(pair):
    return 2 * combined(pair)
"""
USE = """
import decpomdp.kernels.callee as callee
from decpomdp.kernels.caller import doubled
from decpomdp.kernels import compiled
print(doubled(next(iter(vars(callee)[name] for name in ("Pair", "Couple") if name in vars(callee)))(3.0, 4.0)))
print(sum(doubled.stats.cache_hits.values()), compiled.FOLDER)
"""


@pytest.fixture
def package(tmp_path):
    """A package of two kernels, the second of which calls the first."""
    kernels = tmp_path / "decpomdp" / "kernels"
    kernels.mkdir(parents=True)
    for folder in (kernels.parent, kernels):
        (folder / "__init__.py").touch()
    shutil.copy(compiled.__file__, kernels)
    (kernels / "callee.py").write_text(CALLEE)
    (kernels / "caller.py").write_text(CALLER)
    return kernels


def used(package: Path, cache: Path | None) -> list[str]:
    """What `doubled` returns, whether it was loaded from the cache, and the folder of the cache."""
    environment = {**os.environ, "PYTHONPATH": str(package.parents[1]), "NUMBA_CACHE_DIR": str(cache or "")}
    environment |= {"HOME": str(package / "callee.py"), "XDG_CACHE_HOME": str(package / "callee.py")}  # no folders
    done = subprocess.run([sys.executable, "-c", USE], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_code_is_kept_below_the_given_folder_and_compiled_again_when_a_callee_changes(package, tmp_path):
    cache = tmp_path / "cache"
    value, loaded, folder = used(package, cache)
    assert (value, loaded) == ("14.0", "0")
    assert Path(folder).is_relative_to(cache)
    assert used(package, cache) == ["14.0", "1", folder]
    (package / "callee.py").write_text(CALLEE.replace("one + ", "one * "))
    value, loaded, newer = used(package, cache)
    assert (value, loaded) == ("24.0", "0")
    assert newer != folder
    assert list(cache.iterdir()) == [Path(newer).parent]


def test_nothing_is_kept_where_nothing_can_be_written(package, tmp_path):
    (tmp_path / "cache").touch()
    shutil.rmtree(package / "__pycache__", ignore_errors=True)
    (package / "__pycache__").touch()
    for _ in range(2):
        assert used(package, tmp_path / "cache") == ["14.0", "0", "None"]
