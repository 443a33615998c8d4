"""Examples run."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SLOW = "pettingzoo_team.py"  # a slow environment: 30,000 steps take half a minute
EXAMPLES = [
    pytest.param(path, id=path.name, marks=pytest.mark.slow if path.name == SLOW else ())
    for path in sorted((ROOT / "examples").glob("*.py"))
    if path.name != "demo.py"
]


@pytest.mark.parametrize("path", EXAMPLES)
def test_example_runs(path):
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
