"""The code that the page about SUMO shows, runs. Its commands are run with those of the other pages (`tests/docs`)."""

import re
import runpy
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "sumo.md"


@pytest.mark.slow  # needs libsumo
def test_blocks_of_the_page_run(tmp_path, capsys):
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.S | re.M)
    assert blocks
    for number, block in enumerate(blocks):
        path = tmp_path / f"block{number}.py"
        path.write_text(block)
        runpy.run_path(str(path))
    assert capsys.readouterr().out.startswith("2 12 16\n")
