"""What a reproduction leaves behind: data, figures, the page, its Markdown and the documents."""

import re
import runpy
import xml.etree.ElementTree as ET
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from decpomdp.experiments import reproduction
from decpomdp.experiments.published import TABLE2
from decpomdp.report.reproduced import write_reproduced

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize("name", reproduction.NAMES)
def test_data_are_written(done, name):
    folder, shown = done
    rows = pq.read_table(folder / f"data/{name}.parquet").to_pylist()
    cells = next(each.cells for each in shown if each.experiment.name == name)
    assert len(rows) >= cells > 0
    assert any(isinstance(value, float) for value in rows[0].values())


@pytest.mark.parametrize("name", ["figure1", "figure2", "appendix", "complexity", "robustness"])
def test_figures_are_drawn(done, name):
    folder, _ = done
    picture = (folder / f"figures/{name}.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 10_000
    drawn = ET.parse(folder / f"figures/{name}.svg").getroot()
    assert drawn.tag.endswith("svg")
    assert len(list(drawn.iter("{http://www.w3.org/2000/svg}path"))) > 20


def test_the_page_has_the_papers_numbers_and_ours(done):
    folder, shown = done
    page = write_reproduced(shown, folder).read_text()
    entry = TABLE2["broadcast", "sbpr-iterations"]
    assert f"{entry.value:g}, {entry.nodes:g}, {entry.seconds:g}" in page
    rows = pq.read_table(folder / "data/table2.parquet").to_pylist()
    assert {row["method"] for row in rows} == {"sbpr-iterations", "mcem"}
    for row in rows:
        assert f">{row['value']:.2f}<" in page, row
    for each in shown:
        assert f'id="{each.experiment.name}"' in page
        assert all(claim.says.split("'")[0] in page for claim in each.claims)
    assert page.count("data:image/svg+xml;base64,") == 5
    assert not re.search(r"(?:src|href)=\"?https?:", page)
    assert page.index('class="no"') < page.index('class="yes"')  # what we do not see comes first


def test_the_markdown_says_what_the_page_says(done):
    folder, shown = done
    write_reproduced(shown, folder)
    told = (folder / "index.md").read_text()
    assert told.startswith("# Stick-breaking policy learning")
    assert f"quick run, {sum(each.cells for each in shown)} cells; python " in told
    assert reproduction.made_with(shown) in told.splitlines()[2]
    for each in shown:
        assert f"\n## {each.experiment.title.replace('|', chr(92) + '|')}\n" in told
        for picture in each.pictures:
            assert f"](figures/{picture.name}.png)" in told
        for table in each.tables:
            for row in table.rows:
                words = " | ".join(cell.strip().replace("|", "\\|").replace("*", "\\*") for cell in row)
                assert f"| {words} |" in told
    assert told.index("**no**") < told.index("**yes**")
    lines = [re.sub(r"\\.", "", line) for line in told.splitlines() if line.startswith("|")]
    assert len(lines) > 40
    for block in re.findall(r"(?:^\|.*\n)+", told, re.M):  # every row has as many cells as its header
        widths = {re.sub(r"\\.", "", line).count("|") for line in block.splitlines()}
        assert len(widths) == 1, block


def test_a_run_is_put_into_the_documents(done, tmp_path):
    folder, shown = done
    write_reproduced(shown, folder)
    maker = runpy.run_path(str(DOCS / "make_reproduce.py"))
    (tmp_path / "pictures").mkdir()
    page = tmp_path / "reproduce.md"
    page.write_text(f"# Title\n\n{maker['BEGIN']}\nold numbers\n{maker['END']}\n\n## By hand\n")
    files = maker["put"](folder, tmp_path)
    told = page.read_text()
    assert told.startswith("# Title\n")
    assert told.endswith("## By hand\n")
    assert "old numbers" not in told
    assert "**These numbers are of this run: quick run, " in told
    assert "](pictures/reproduce_figure1.png)" in told
    assert "[sbpr.md](sbpr.md)" in told
    assert {path.name for path in files} >= {"reproduce.md", "reproduce_figure1.png", "reproduce_robustness.png"}
    assert (tmp_path / "pictures/reproduce_figure1.png").read_bytes().startswith(b"\x89PNG")
    once = page.read_bytes()
    maker["put"](folder, tmp_path)
    assert page.read_bytes() == once


def test_the_documents_have_room_for_a_run(tmp_path):
    maker = runpy.run_path(str(DOCS / "make_reproduce.py"))
    told = (DOCS / "reproduce.md").read_text()
    assert told.count(maker["BEGIN"]) == told.count(maker["END"]) == 1
    assert "**These numbers are of this run: " in told
    (tmp_path / "reproduce.md").write_text("no marks")
    (tmp_path / "index.md").write_text("# Title\n\nline\n\nrest\n")
    with pytest.raises(SystemExit, match="expected the marks"):
        maker["put"](tmp_path, tmp_path)
