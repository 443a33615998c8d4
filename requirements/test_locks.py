"""Locks have versions with digests, made from pyproject.toml; wrong digests are noticed; licences are listed.

Run by `make audit`.
"""

import base64
import hashlib
import re
import runpy
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCKS = ("dev", "oldest", "tools")
PIN = re.compile(r"^([a-z0-9-]+)==([\w.]+)(?: ; ([^\\\n]+?))?((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", re.M)
DIRECT = [
    Requirement(line)
    for extra in (
        [PROJECT["dependencies"]]
        + [
            PROJECT["optional-dependencies"][name]
            for name in ("dev", "dask", "data", "docs", "figures", "page", "pettingzoo")
        ]
    )
    for line in extra
    if not line.startswith("decpomdp[")
]


def pins(name):
    """{package: versions} of a lock."""
    found = {}
    for package, version, _, _ in PIN.findall((ROOT / f"requirements/{name}.lock").read_text()):
        found.setdefault(package, []).append(version)
    return found


@pytest.mark.parametrize("name", LOCKS)
def test_every_line_of_a_lock_is_a_version_with_digests(name):
    text = (ROOT / f"requirements/{name}.lock").read_text()
    left = PIN.sub("", text)
    assert [line for line in left.splitlines() if line and not line.startswith("#")] == []
    assert not re.search(r"://|--(?:extra-)?index-url|--find-links|/", left)


def test_the_demo_installs_what_the_package_needs():
    demo, wanted = runpy.run_path(str(ROOT / "requirements/install.py"))["DEMO"], {"hatchling", "editables"}
    for line in PROJECT["dependencies"]:
        wanted.add(canonicalize_name(Requirement(line).name))
    for name in list(wanted):
        needed = (Requirement(line) for line in metadata.requires(name) or [])
        wanted |= {
            canonicalize_name(one.name) for one in needed if not one.marker or one.marker.evaluate({"extra": ""})
        }
    assert wanted <= set(demo) <= set(pins("dev"))


@pytest.mark.parametrize("wanted", DIRECT, ids=str)
def test_locks_are_made_from_pyproject(wanted):
    """Everything asked for is in the newest lock, within its range, and in the oldest one at its least."""
    package = canonicalize_name(wanted.name)
    assert all(wanted.specifier.contains(version) for version in pins("dev")[package]), "make lock"
    (least,) = {bound.version for each in DIRECT if each.name == wanted.name for bound in each.specifier}
    oldest = min(pins("oldest")[package])
    assert oldest == least or oldest.startswith(f"{least}."), "make lock"


def test_a_minimum_that_is_not_the_locked_one_is_noticed():
    changed = Requirement("numpy>=2.1")
    (least,) = {bound.version for bound in changed.specifier}
    assert not min(pins("oldest")["numpy"]).startswith(f"{least}.")


def wheel(folder):
    """A package of one empty module."""
    path = folder / "nothing-1.0-py3-none-any.whl"
    files = {
        "nothing.py": "",
        "nothing-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: nothing\nVersion: 1.0\n",
        "nothing-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: us\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    digests = {
        name: base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        for name, text in files.items()
    }
    files["nothing-1.0.dist-info/RECORD"] = (
        "".join(f"{name},sha256={digests[name]},{len(files[name])}\n" for name in digests)
        + "nothing-1.0.dist-info/RECORD,,\n"
    )
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize(("right", "exists"), [(True, True), (False, True), (True, False)])
def test_a_wrong_digest_is_told_from_a_lock_that_cannot_be_used(tmp_path, monkeypatch, right, exists):
    digest = wheel(tmp_path) if right else wheel(tmp_path)[::-1]
    lock = tmp_path / "some.lock"
    lock.write_text(f"nothing=={'1.0' if exists else '2.0'} \\\n    --hash=sha256:{digest}\n")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("PIP_TARGET", str(tmp_path / "there"))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    wrong, why = runpy.run_path(str(ROOT / "requirements/install.py"))["locked"](lock)
    assert wrong == (not right)
    assert bool(why) == (not (right and exists))
    assert (tmp_path / "there/nothing.py").exists() == (right and exists)
    assert exists or "nothing==2.0" in why


def test_what_was_not_looked_up_does_not_count_as_safe():
    summary = runpy.run_path(str(ROOT / "requirements/audit.py"))["summary"]
    unknown = {"name": "a", "skip_reason": "not found"}
    safe = {"name": "b", "version": "1", "vulns": []}
    holed = {"name": "c", "version": "1", "vulns": [{"id": "CVE-1", "fix_versions": ["2"]}]}
    assert summary([unknown]) == ("not audited: the service knows none of the 1 packages from here", 0)
    assert summary([unknown, safe]) == ("1 of 2 packages audited, 0 known vulnerabilities", 0)
    assert summary([safe, holed]) == (
        "c 1: CVE-1, mended in 2\n2 of 2 packages audited, 1 known vulnerabilities",
        1,
    )


def test_licences_of_all_that_is_asked_for_are_listed():
    """Versions change with the machine; sections, packages asked for and that each has a licence do not."""
    made = runpy.run_path(str(ROOT / "docs/reference/make_licences.py"))
    told = made["PAGE"].read_text()
    titles = re.findall(r"^## (.*)$", told, re.M)
    extras = sorted(set(PROJECT["optional-dependencies"]) - {"dev", "bench"})
    assert titles == [
        "At run time",
        *(f"With `decpomdp[{extra}]`, additional" for extra in extras),
        "For development",
        "To compare speeds with",
        "Also in the locks: to build, to lock, on other systems",
    ]
    rows = dict(re.findall(r"^\| ([a-z0-9-]+) \| (?!version)[^|]+ \| ([^|]*) \|$", told, re.M))
    assert {canonicalize_name(each.name) for each in DIRECT} <= set(rows), "python docs/reference/make_licences.py"
    assert {package for name in LOCKS for package in pins(name)} <= set(rows), "python docs/reference/make_licences.py"
    assert [name for name, licence in rows.items() if licence.strip() in ("", "see the package")] == []
    assert {canonicalize_name(Requirement(line).name) for line in PROJECT["dependencies"]} <= made["needed"](
        "decpomdp", ""
    )
