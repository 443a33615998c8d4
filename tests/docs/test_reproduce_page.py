"""docs/make_reproduce.py puts a run of `decpomdp reproduce` into the documents."""

import runpy

from docs.pages import ROOT

MAKER = runpy.run_path(str(ROOT / "docs/make_reproduce.py"))
INDEX = r"""# Title

quick run, 3 cells

## What the paper claims, and what we see

Rules.

| the paper | seen | evidence | where |
| --- | --- | --- | --- |
| A is better. (as printed) | **no** | A 1, B 2. Rule: above. | figure1 |
| A is better. (episodes counted) | **yes** | A 3, \|B\| 2. Rule: above. | figure1 |
| Linear. | **yes** | 1.0 | complexity |

## Figure 1: sizes

See docs/sbpr.md.

quick run, 2 cells; data/figure1.parquet

![Values: by size. More.](figures/figure1.png)

Values: by size. More.

### Sizes

| K | \|Z\| |
| --- | --- |
| 30 | 1.5 |

## Table 1: growth

quick run, 1 cells; data/complexity.parquet

### Exponents

| varied | ours |
| --- | --- |
| K | 0.94 |
"""


def test_a_run_is_put_into_the_page(tmp_path):
    (tmp_path / "index.md").write_text(INDEX)
    for folder in ("figures", "pictures"):
        (tmp_path / folder).mkdir()
    (tmp_path / "figures/figure1.png").write_bytes(b"picture")
    page = tmp_path / "reproduce.md"
    page.write_text(f"# Title\n\n{MAKER['BEGIN']}\nold numbers\n{MAKER['END']}\n\n## By hand\n")
    files = MAKER["put"](tmp_path, tmp_path)
    text = page.read_text()
    assert text.startswith("# Title\n")
    assert text.endswith("## By hand\n")
    assert "old numbers" not in text
    assert "**These numbers are of this run: quick run, 3 cells.**" in text
    assert "| figure1 | 1 | 1 |" in text
    assert "| **all** | **2** | **1** |" in text
    assert "| A is better. | as printed: **no**, episodes counted: **yes** | figure1 |" in text
    assert text.index("| Linear. |") < text.index("| A is better. |")  # claims that hold come first
    assert "[sbpr.md](sbpr.md)" in text
    assert "![Values](pictures/reproduce_figure1.png)\n\nValues: by size. More.\n" in text
    assert "| K | 0.94 |" in text
    assert "| 30 | 1.5 |" not in text
    assert (tmp_path / "reproduce/figure1.csv").read_text() == "table,K,|Z|\nSizes,30,1.5\n"
    assert (
        '(episodes counted),yes,"A 3, |B| 2. Rule: above.",figure1' in (tmp_path / "reproduce/claims.csv").read_text()
    )
    assert (tmp_path / "pictures/reproduce_figure1.png").read_bytes() == b"picture"
    assert len(files) == 4
    once = page.read_bytes()
    MAKER["put"](tmp_path, tmp_path)
    assert page.read_bytes() == once


def test_experiments_that_were_not_run_again_stay(tmp_path):
    page, head, growth = tmp_path / "reproduce.md", INDEX.partition("## What")[0], MAKER["split"](INDEX)[-1]
    page.write_text(f"{MAKER['BEGIN']}\n{MAKER['END']}")
    (tmp_path / "pictures").mkdir()
    index = tmp_path / "index.md"
    index.write_text(INDEX.replace("![Values: by size. More.](figures/figure1.png)", ""))
    MAKER["put"](tmp_path, tmp_path)
    claims = (
        "## Claims\n\n| the paper | seen | evidence | where |\n|---|---|---|---|\n| Linear. | no | 2 | complexity |\n\n"
    )
    index.write_text(head.replace("3 cells", "1 cell") + claims + growth.replace("0.94", "2.00"))
    for _ in range(2):  # the second time the page has newer numbers already
        MAKER["put"](tmp_path, tmp_path)
        text = page.read_text()
        assert "**These numbers are of this run: quick run, 3 cells. Newer, complexity: quick run, 1 cell.**" in text
        assert text.index("## Figure 1: sizes") < text.index("| K | 2.00 |")
        assert "0.94" not in text
        assert "| figure1 | 1 | 1 |" in text
        assert "| Linear. | **no** | complexity |" in text
        assert (tmp_path / "reproduce/claims.csv").read_text().count("\n") == 4
