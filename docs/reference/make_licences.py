"""Writes docs/licences.md: every package that this one needs, whatever for, with its version and its licence.

    python docs/reference/make_licences.py

What is needed is read from pyproject.toml and, from there on, from the metadata of the installed packages: at run time,
for each extra, and for development (what is not needed otherwise). Then comes the other packages of the locks.
Licences are those that the packages state, in their metadata or else by the text of the licence. A package that is not
installed (it is for another system) is fetched to look at its metadata.
"""

import re
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/licences.md"
NAMED = re.compile(r"License :: (?:OSI Approved :: )?(.+)")
HEAD = """# Licences

decpomdp is under the MIT licence. What it needs, with the licence that each package states; written by
`python docs/reference/make_licences.py` from the packages as they are installed, or as they are published for other
systems. None of them is part of decpomdp: pip installs them from their authors.
"""
LONG = 60  # characters of a licence: more is its text, not its name
TEXTS = {"Apache License Version 2.0": "Apache-2.0", "MIT License": "MIT"}  # how a text begins: what it is
LOCKED = re.compile(r"^([a-z0-9-]+)==([^ ;]+)", re.M)
LOCKS = tuple(sorted((ROOT / "requirements").glob("*.lock"), key=lambda path: path.name != "dev.lock"))
TOOLS = [str(path) for path in (ROOT / ".venv-tools").glob("lib/python*/site-packages")]  # with what locks are made

OWN = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def page() -> str:
    """The whole page."""
    extras = OWN["optional-dependencies"]
    listed = needed("decpomdp", "")
    parts = [HEAD, section("At run time", listed)]
    for extra in sorted(set(extras) - {"dev", "bench"}):
        more = needed("decpomdp", extra) - listed
        parts.append(section(f"With `decpomdp[{extra}]`, additional", more))
    users = set().union(listed, *(needed("decpomdp", extra) for extra in extras if extra not in ("dev", "bench")))
    for extra, title in (("dev", "For development"), ("bench", "To compare speeds with")):
        parts.append(section(title, needed("decpomdp", extra) - users))
        users |= needed("decpomdp", extra)
    parts.append(section("Also in the locks: to build, to lock, on other systems", set(locked()) - users))
    return "\n".join(parts)


def section(title: str, names: set[str]) -> str:
    """A heading and a table."""
    lines = [f"## {title}", "", "| package | version | licence |", "|---|---|---|"]
    for name in sorted(names):
        found = installed(name) or fetched(name)
        lines.append(f"| {name} | {found.version if found else 'not installed'} | {licence(found) if found else ''} |")
    return "\n".join(lines if names else [f"## {title}", "", "Nothing more."]) + "\n"


def needed(name: str, extra: str) -> set[str]:
    """Names of all packages that `name` with `extra` needs on this machine, directly or not; without itself."""
    seen: set[tuple[str, str]] = set()
    waiting = [(canonicalize_name(name), each) for each in {"", extra}]
    while waiting:
        at = waiting.pop()
        if at not in seen:
            seen.add(at)
            waiting.extend(direct(*at))
    return {found for found, _ in seen} - {canonicalize_name(name)}


def direct(name: str, extra: str) -> Iterator[tuple[str, str]]:
    """What a package itself asks for, because of `extra`."""
    for line in asked(name, extra):
        wanted = Requirement(line)
        if wanted.marker is None or wanted.marker.evaluate({"extra": extra}):
            yield from ((canonicalize_name(wanted.name), each) for each in {"", *wanted.extras})


def asked(name: str, extra: str) -> list[str]:
    """The lines with which a package says what it needs."""
    if name == OWN["name"]:
        return OWN["optional-dependencies"][extra] if extra else OWN["dependencies"]
    found = installed(name)
    return (found.requires or []) if found else []


def locked() -> dict[str, str]:
    """Every package of the locks with its version, the newest lock first."""
    found = [pair for lock in LOCKS for pair in LOCKED.findall(lock.read_text())]
    return dict(reversed(found))


def installed(name: str) -> Distribution | None:
    """What is known of an installed package."""
    try:
        return distribution(name)
    except PackageNotFoundError:
        return next(iter(Distribution.discover(name=name, path=TOOLS)), None)


@cache
def fetched(name: str) -> Distribution | None:
    """What a locked package that is not installed says of itself."""
    if name not in locked():
        return None
    with tempfile.TemporaryDirectory() as folder:
        fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        wanted = f"{name}=={locked()[name]}"
        done = subprocess.run([*fetch, "--dest", folder, wanted], check=False)  # noqa: S603 our own locks
        if done.returncode:
            return None
        wheel = zipfile.ZipFile(next(Path(folder).glob("*.whl")))
        found = next(each for each in wheel.namelist() if each.endswith(".dist-info/METADATA"))
        wheel.extract(found, folder)
        return Stated(Path(folder, found).read_text(encoding="utf-8"))


class Stated(Distribution):
    """The metadata alone."""

    def __init__(self, metadata: str) -> None:
        self.told = metadata

    def read_text(self, filename: str) -> str | None:
        return self.told if filename == "METADATA" else None

    def locate_file(self, path: object) -> Path:
        raise FileNotFoundError(path)


def licence(found: Distribution) -> str:
    """What the metadata say: the expression, the classifiers, or a short text; else the text that comes along."""
    told = found.metadata
    named = [match[1] for line in told.get_all("Classifier") or [] if (match := NAMED.match(line))]
    short = (told.get("License") or "").strip().splitlines()
    text = short[0] if short and len(short[0]) <= LONG else ""
    return told.get("License-Expression") or ", ".join(named) or text or text_of(found)


def text_of(found: Distribution) -> str:
    """Which licence the file is that comes with a package."""
    for name in found.metadata.get_all("License-File") or []:
        words = " ".join((found.read_text(f"licenses/{name}") or found.read_text(name) or "").split())
        for begin, licence in TEXTS.items():
            if words.startswith(begin):
                return licence
    return "see the package"


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"wrote {PAGE.relative_to(ROOT)}")
