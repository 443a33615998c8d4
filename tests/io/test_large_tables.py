"""Tables that are small and stand for much, or long and stand for nothing: both take little time and memory."""

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

import decpomdp as dp
from decpomdp.core import FormatError
from decpomdp.io import table_symbols
from decpomdp.io.complaints import checked
from decpomdp.io.files import words
from decpomdp.io.logged import Given
from decpomdp.io.table_cells import Cells
from decpomdp.io.table_pairs import Pairs

from .limited import limited

HEADER = "episode,t,agent,observation,action,reward\n"


def table(folder, rows):
    path = folder / "log.csv"
    path.write_text(HEADER + "".join(rows))
    return path


def refusal(path):
    with pytest.raises(FormatError) as error:
        dp.read_table(path, discount=0.9)
    found, complaints = checked(path, Given("long", 0.9))
    assert found is None
    assert complaints[0] == str(error.value)
    return error.value.message


@pytest.mark.parametrize("column", ["action", "observation"])
def test_numbers_may_not_stand_for_more_than_the_file_warrants(tmp_path, column):
    rows = (f"0,0,a{n},{'32767,0' if column == 'observation' else '0,32767'},1\n" for n in range(1000))
    said = limited(table(tmp_path, rows), megabytes=200)
    assert said == (
        f"row 0, column {column}: expected numbers that stand for at most 1000000 {column}s of all agents, each for 0 "
        "to its largest, got '32767' of a0, 32768000 in all (renumber, or write words)"
    )


@pytest.mark.parametrize(("agents", "labels"), [(400, 50), (2500, 5), (30, 32768), (10_000, 100)])
def test_large_teams_are_read(tmp_path, agents, labels):
    found = dp.read_table(table(tmp_path, (f"0,0,a{n},,{labels - 1},1\n" for n in range(agents))), discount=0.9)
    assert len(found.agents) == agents
    assert found.agents[-1].actions == tuple(map(str, range(labels)))
    assert all(agent.actions is found.agents[0].actions for agent in found.agents)


def test_many_rows_warrant_many_labels(tmp_path, monkeypatch):
    monkeypatch.setattr(table_symbols, "ENOUGH", 20)
    rows = [f"0,{t},{name},,{t},1\n".replace(",,", ",0,") for t in range(15) for name in "ab"]
    assert dp.read_table(table(tmp_path, rows), discount=0.9).steps == 15  # 30 labels, 30 rows
    message = refusal(table(tmp_path, [*rows[:-1], "0,14,b,0,15,1\n"]))
    assert message.startswith("row 29, column action: expected numbers that stand for at most 30 actions of all agents")
    assert message.endswith("got '15' of b, 31 in all (renumber, or write words)")


def test_more_labels_than_symbols_are_counted(tmp_path):
    path = table(tmp_path, (f"0,{t},ann,dark,x{t},1\n" for t in range(40_000)))
    assert refusal(path) == "column action: expected at most 32768 different labels of ann, got 40000"
    path = table(tmp_path, (f"0,{t},ann,dark,x{t % 32768},1\n" for t in range(40_000)))
    assert len(dp.read_table(path, discount=0.9).agents[0].actions) == 32768


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_another_name_on_every_row_is_no_team(tmp_path, ending):
    many = 100_000
    columns = {"episode": 0, "t": 0, "agent": [f"a{n}" for n in range(many)], "observation": "", "action": "go"}
    held = pa.table({name: one if name == "agent" else [one] * many for name, one in {**columns, "reward": 1}.items()})
    path = tmp_path / f"log.{ending}"
    (pc.write_csv if ending == "csv" else pq.write_table)(held, path)
    expected = "column agent: expected at most 10000 agents, got 100000 (does it hold another name on every row?)"
    assert limited(path, seconds=5) == expected


def test_a_name_too_many_is_asked_about(tmp_path):
    path = table(tmp_path, (f"{k},0,a{n},,go,1\n" for k in range(2) for n in range(10_001)))
    assert refusal(path) == "column agent: expected at most 10000 agents, got 10001 (is it another one?)"


def test_as_many_agents_as_may_be_with_labels_of_their_own_are_read_in_time(tmp_path):
    rows = (f"0,{t},a{n},o{n},go{n}-{t},1\n" for n in range(10_000) for t in range(2))
    assert limited(table(tmp_path, rows), seconds=8) == "read 2 10000"


def big(path, beginning, piece, times):
    """A file of so many pieces, packed if its name says so."""
    with pa.output_stream(str(path), compression="detect") as stream:
        stream.write(beginning.encode())
        for _ in range(times):
            stream.write(piece)
    return path


MEGABYTE = 1 << 20
LONG = {
    "zeros": bytes(MEGABYTE),
    "one cell": b"x" * MEGABYTE,
    "cells": b"x," * (MEGABYTE // 2),
    "quoted": b'"x\n",' * (MEGABYTE // 5),
}


@pytest.mark.parametrize("name", ["log.csv", "log.csv.gz"])
@pytest.mark.parametrize("kind", LONG)
def test_a_header_without_end_is_not_held(tmp_path, name, kind):
    path = big(tmp_path / name, "", LONG[kind], 40)
    assert limited(path, megabytes=60).startswith(
        "1: expected the names of columns in at most 1048576 letters, got more"
    )


@pytest.mark.parametrize("name", ["log.csv", "log.csv.gz"])
@pytest.mark.parametrize("kind", LONG)
def test_a_row_without_end_is_not_held(tmp_path, name, kind):
    path = big(tmp_path / name, f"{HEADER}0,0,ann,,go,1\n\n1,0,ann,,go,", LONG[kind], 100)
    expected = "row 1: expected at most 8388608 bytes, got more (a quotation mark that is not closed?)"
    assert limited(path, megabytes=500) == expected


def test_a_quotation_mark_without_end_is_not_held(tmp_path):
    path = big(tmp_path / "log.csv", f'{HEADER}0,0,ann,,"go,1\n', b"1,0,ann,,go,1\n" * 70_000, 40)
    assert limited(path, megabytes=250).startswith("row 0: expected at most 8388608 bytes, got more")


def test_an_error_without_words_has_some():
    assert words(MemoryError()) == "not enough memory"
    assert words(ValueError()) == "ValueError"
    assert words(OSError(2, "?")) == "No such file or directory"


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_a_path_with_a_null_byte_is_refused_in_words(ending):
    with pytest.raises(FormatError) as error:
        dp.read_table(f"no\0te.{ending}", discount=0.9)
    assert str(error.value) == f"'no\\x00te.{ending}': cannot be read: a path cannot hold a null byte"


@pytest.mark.parametrize(("agents", "labels", "rows"), [(3, 4, 200), (7, 90, 60), (1, 1, 1)])
def test_pairs_are_those_that_a_loop_finds(agents, labels, rows):
    draw = np.random.default_rng(rows)
    own, codes = draw.integers(agents, size=rows), draw.integers(-1, labels, size=rows)
    pairs = Pairs.find(own, Cells([f"x{code}" for code in range(labels)], codes), agents)
    expected = sorted({(int(n), int(code)) for n, code in zip(own, codes, strict=True) if code >= 0})
    assert list(zip(pairs.agent.tolist(), pairs.code.tolist(), strict=True)) == expected
    for n, code, pair in zip(own, codes, pairs.of_row, strict=True):
        assert (pair == -1) if code < 0 else (expected[pair] == (n, code))
    assert pairs.starts(agents).tolist() == [sum(m < n for m, _ in expected) for n in range(agents + 1)]
