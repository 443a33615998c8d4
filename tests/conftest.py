"""Compiled kernels are cached per version of their sources: a cache that outlives a change would test old code.

What runs whole programs comes first: a long test that is begun last would leave the other workers idle.
"""

import hashlib
import os
import signal
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LONG = ("tests/docs/", "tests/engines/", "tests/cli/")
PAGES = ("tests/engines/", "tests/cli/", "tests/experiments/")  # make pages, and look at other things


def _digest() -> str:
    sha = hashlib.sha256()
    for path in sorted((ROOT / "src/decpomdp/kernels").glob("*.py")):
        sha.update(path.read_bytes())
    return sha.hexdigest()[:16] + ("-checked" if os.environ.get("NUMBA_BOUNDSCHECK") == "1" else "")


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # begun in the background of a script: commands would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / ".numba_cache" / _digest()))


def pytest_collection_modifyitems(items: list) -> None:
    items.sort(key=lambda item: not item.nodeid.startswith(LONG))  # stable: the rest keeps its order


@pytest.fixture(autouse=True)
def few_draws(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page shows what drawn teams do: playing few of them is enough there (all of them: tests/report)."""
    if request.node.nodeid.startswith(PAGES):
        monkeypatch.setattr("decpomdp.report.belief.PLAYED", 4)


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    """The command, in the test's own folder: exit code, output, complaints."""
    from decpomdp.cli.main import code_of

    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        code = code_of([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call
