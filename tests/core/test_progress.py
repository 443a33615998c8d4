"""Progress as people see it: in a notebook that is really run, in a terminal, and in a log."""

import json
import math
import re
import subprocess
import sys

import pytest

from decpomdp.core import InputError
from decpomdp.core.progress import Progress, line_of
from terminal import in_terminal

ROWS = [{"phase": "hop", "value": 1.23456, "nodes": "2+3", "steps": 1e6, "seconds": 0.4, "secret": 7}] * 3
WITHIN = """
import decpomdp as dp
with dp.Progress(every=0) as watch:
    for value in (1.0, 2.0, 3.0):
        watch({"value": value, "nodes": "2+2"})
print("done")
"""
LEARNING = """
with dp.Progress(every=0) as watch:
    dp.learn("dectiger", steps=400_000, seed=1, watch=watch)
"""
NOTEBOOK = """
import sys

import nbclient
import nbformat

cells = [nbformat.v4.new_code_cell(source) for source in sys.stdin.read().split("# cell")]
notebook = nbformat.v4.new_notebook(cells=cells)
nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
print(nbformat.writes(notebook))
"""


def outputs(source):
    """What the cells of a notebook show after a kernel has run them, as a saved notebook keeps it."""
    command = [sys.executable, "-W", "ignore", "-c", NOTEBOOK]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False, timeout=180)
    assert done.returncode == 0, done.stderr
    return [cell["outputs"] for cell in json.loads(done.stdout)["cells"]]


def test_a_row_in_words():
    assert line_of(ROWS[0]) == "0 s  hop  value 1.2346  nodes 2+3  steps 1e+06  2.5e+06 steps/s"
    assert line_of({"nodes": "+".join(["2", "3"] * 50), "value": None, "sweep": 3}) == "sweep 3  nodes 2.50"
    unknown = {"phase": "compiling", "value": math.nan, "error": math.nan, "upper_bound": math.inf, "steps": 0}
    assert line_of(unknown) == "compiling  steps 0"
    assert line_of({"value": 2.0, "error": math.nan}, {"error": "+- {}", "value": "worth {:.1f}"}) == "worth 2.0"


def test_a_notebook_has_one_line_that_changes():
    by_hand, learned = outputs(WITHIN + "# cell" + LEARNING)
    shown, printed = by_hand
    assert shown["data"] == {"text/plain": ["value 3.0000  nodes 2+2"]}
    assert printed["text"] == ["done\n"]
    (only,) = learned
    (line,) = only["data"]["text/plain"]
    assert re.search(r"\d+ s  .*value -?\d+\.\d{4}  .*nodes \d\+\d  steps \S+  \S+ steps/s", line)


def test_a_terminal_has_one_line_that_is_gone_in_the_end():
    told = in_terminal("-c", WITHIN)
    assert told.count("\n") == 1  # that of "done"
    assert "\rvalue 1.0000  nodes 2+2\rvalue 2.0000  nodes 2+2\rvalue 3.0000  nodes 2+2\r" in told
    assert told.endswith("\r" + " " * len("value 3.0000  nodes 2+2") + "\rdone\r\n")


def test_a_log_gets_a_line_now_and_then(capsys):
    with Progress() as watch:
        for row in ROWS:
            watch(row)
    assert capsys.readouterr().err == line_of(ROWS[0]) + "\n"
    with Progress(every=0) as watch:
        for row in ROWS:
            watch(row)
    assert capsys.readouterr().err == (line_of(ROWS[0]) + "\n") * 3


def test_nothing_is_imported_for_it():
    code = "import sys, decpomdp as dp; dp.Progress()({'value': 1.0}); sys.exit('IPython' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, stderr=subprocess.DEVNULL).returncode == 0


@pytest.mark.parametrize("every", [-1, "3", float("nan")])
def test_a_wrong_pause_is_refused(every):
    with pytest.raises(InputError, match="every: expected a number from 0"):
        Progress(every)
