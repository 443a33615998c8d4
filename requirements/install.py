"""Installs what development needs, and the package itself, into the environment that runs this.

    python requirements/install.py [LOCK]
    python requirements/install.py --demo    only what the package needs to run

The lock (requirements/dev.lock unless another is named) says which version of everything, and the digests of its files;
a file with another digest is never installed. Where the lock cannot be used (another Python, a platform without some
file) the ranges of pyproject.toml are installed instead, and that is said. A wrong digest ends it, always.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCKED = ((3, 11), (3, 13))  # first and last Python that the lock is tried with
MISMATCH = "DO NOT MATCH THE HASHES"  # pip's words
DEMO = [
    "annotated-doc",
    "annotated-types",
    "editables",
    "hatchling",
    "llvmlite",
    "markdown-it-py",
    "mdurl",
    "msgspec",
    "numba",
    "numpy",
    "packaging",
    "pathspec",
    "pluggy",
    "pyarrow",
    "pydantic",
    "pydantic-core",
    "pygments",
    "rich",
    "scipy",
    "shellingham",
    "threadpoolctl",
    "tomlkit",
    "trove-classifiers",
    "typer",
    "typing-extensions",
    "typing-inspection",
]  # dependencies of pyproject.toml and of the build, with theirs
PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]


def main(arguments: list[str]) -> int:
    demo = arguments == ["--demo"]
    if demo:
        arguments = []
    lock = Path(arguments[0]) if arguments else ROOT / "requirements/dev.lock"
    own = arguments or LOCKED[0] <= sys.version_info[:2] <= LOCKED[1]
    wrong, why = (
        locked(lock, demo) if own else (False, f"not made for Python {sys.version_info[0]}.{sys.version_info[1]}")
    )
    if wrong:
        print(
            f"error: {lock.name}: a file is not the one that was locked; nothing was installed\n{why}", file=sys.stderr
        )
        return 2
    if not why:
        return run(["--no-deps", "--no-build-isolation", "--editable", str(ROOT)])[0]
    if arguments:
        print(f"error: {lock.name}: {why}", file=sys.stderr)
        return 2
    print(f"{lock.name}: {why}; installing the ranges of pyproject.toml instead", file=sys.stderr)
    code, said = run(["--editable", str(ROOT) if demo else f"{ROOT}[dev]"])
    print(said, end="", file=sys.stderr)
    return code


def locked(lock: Path, demo: bool = False) -> tuple[bool, str]:
    """Install what `lock` says: whether a digest was wrong, and why it did not work (empty: it did)."""
    with tempfile.TemporaryDirectory() as folder:
        if demo:
            lock = part_of(lock, Path(folder) / lock.name)
        code, said = run(["--no-deps", "--require-hashes", "--requirement", str(lock)])
    if not code:
        return False, ""
    lines = [line for line in said.splitlines() if line.startswith("ERROR")] or said.splitlines()[-1:]
    return (True, said) if MISMATCH in said else (False, lines[0] if lines else f"pip ended with exit code {code}")


def part_of(lock: Path, path: Path) -> Path:
    """Write the lines of the packages in DEMO to `path`."""
    entries = re.split(r"\n(?=[a-z0-9])", lock.read_text())
    path.write_text("\n".join(entry for entry in entries if re.split("[ =]", entry)[0] in DEMO) + "\n")
    return path


def run(arguments: list[str]) -> tuple[int, str]:
    done = subprocess.run([*PIP, *arguments], stdout=sys.stdout, stderr=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stderr


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
