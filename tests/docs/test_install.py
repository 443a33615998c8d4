"""`pip install .` in an environment with nothing in it is enough for what README.md shows first."""

import os
import subprocess
import venv

import pytest

from docs.pages import ROOT, commands, fences


@pytest.mark.slow
def test_the_readme_works_after_pip_install(tmp_path):
    """Needs the network. A copy is installed, so that nothing of this tree is used."""
    copy, place = tmp_path / "copy", tmp_path / "venv"
    copy.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "src"):
        subprocess.run(["cp", "-r", ROOT / name, copy], check=True)
    venv.create(place, with_pip=True)
    subprocess.run([place / "bin/pip", "install", "--quiet", "."], cwd=copy, check=True, timeout=1200)
    here = {**os.environ, "PATH": f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    here.pop("PYTHONPATH", None)
    (tmp_path / "work").mkdir()
    for fence in fences((ROOT / "README.md").read_text()):
        lines = [command.line for command in commands(fence)] if fence.kind == "commands" else []
        if fence.kind == "code":
            (tmp_path / "work/block.py").write_text(fence.text)
            lines = ["python block.py"]
        for line in lines:
            done = subprocess.run(
                line,
                shell=True,
                cwd=tmp_path / "work",
                env=here,
                capture_output=True,
                text=True,
                check=False,
                timeout=600,
            )
            assert done.returncode == 0, f"{line}\n{done.stderr}"
    installed = subprocess.run([place / "bin/pip", "list"], capture_output=True, text=True, check=True).stdout
    assert "decpomdp" in installed
    assert "pytest" not in installed
