"""No network at run time, and the lock has what pyproject.toml asks for (more about locks: `make audit`)."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]


def test_the_lock_has_what_the_project_depends_on():
    text = (ROOT / "requirements/dev.lock").read_text()
    locked = dict(re.findall(r"^([a-z0-9-]+)==([\w.]+)", text, re.M))
    for line in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]:
        wanted = Requirement(line)
        assert wanted.specifier.contains(locked[canonicalize_name(wanted.name)]), "make lock"


GUARD = """
import os, sys
HERE = ("127.0.0.1", "::1", "localhost", None, "", b"localhost")
def guard(event, given):
    if event in ("socket.connect", "socket.sendto"):
        where = given[1]
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        where = given
    else:
        return
    if isinstance(where, tuple) and where[0] not in HERE:
        os.write(2, f"network: {event} {where}\\n".encode())
        os._exit(97)
sys.addaudithook(guard)
"""
WORK = """
from decpomdp.cli.main import code_of
def run(*arguments):
    code = code_of(list(arguments))
    if code:
        sys.exit(code)
run("learn", "dectiger", "--steps", "300000", "--out", "r", "--quiet")
run("plan", "dectiger", "--horizon", "2", "--out", "p", "--quiet")
run("evaluate", "r/team.json", "--json")
run("report", "r", "p", "--out", "both.html")
run("export", "r/team.json", "--agent", "agent1", "--format", "c", "--out", "agent.c")
print("done")
"""


def guarded(code, folder, *before):
    return subprocess.run(
        [*before, sys.executable, "-c", GUARD + code],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_nothing_is_fetched_at_run_time(tmp_path):
    """Not by Python's sockets; and, where a process may have a network of its own, not by anything else either."""
    alone = ["unshare", "--net"]
    can = shutil.which("unshare") and not subprocess.run([*alone, "true"], capture_output=True, check=False).returncode
    done = guarded(WORK, tmp_path, *(alone if can else []))
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("done\n")
    assert (tmp_path / "agent.c").exists()
    assert (tmp_path / "both.html").exists()
