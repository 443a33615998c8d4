"""Packed long tables are read like any other, within the same bounds, and what cannot be read says what to do."""

import gzip
import re

import numpy as np
import pyarrow as pa
import pytest

import decpomdp as dp
from decpomdp.cli.main import code_of
from decpomdp.core import FormatError
from decpomdp.io import opening
from decpomdp.io.kinds import conversion, kind_of
from decpomdp.io.packing import unpacked

from .limited import limited

HEADER = b"episode,t,agent,observation,action,reward\n"
NAMES = ("log.csv.gz", "LOG.CSV.GZ", "log.csv.zst")


@pytest.fixture(scope="module")
def held():
    return dp.simulate("dectiger", episodes=300, horizon=4, seed=1)


def packed(path, pieces):
    with pa.output_stream(str(path), compression="zstd" if path.suffix == ".zst" else "gzip") as stream:
        for piece in pieces:
            stream.write(piece)
    return path


def refused(path):
    with pytest.raises(FormatError) as error:
        dp.read_table(path, 0.9)
    assert len(str(error.value).splitlines()) == 1
    return error.value


def refusal(path):
    return refused(path).message


@pytest.mark.parametrize("name", NAMES)
def test_packed_tables_come_back_equal(tmp_path, held, name):
    dp.write_table(held, tmp_path / "plain.csv")
    dp.write_table(held, tmp_path / name)
    plain = (tmp_path / "plain.csv").read_bytes()
    assert (tmp_path / name).stat().st_size < len(plain) / 5
    with unpacked(str(tmp_path / name)) as file:
        assert file.read() == plain
    found = dp.read_table(tmp_path / name, 0.9, held.agents)
    assert found.rewards.tolist() == held.rewards.tolist()
    np.testing.assert_array_equal(found.actions, held.actions)
    assert kind_of(tmp_path / name) == "long"


def test_gzip_is_what_other_tools_make_and_read(tmp_path, held):
    dp.write_table(held, tmp_path / "log.csv")
    plain = (tmp_path / "log.csv").read_bytes()
    middle = plain.index(b"\n", len(plain) // 2) + 1
    (tmp_path / "log.csv.gz").write_bytes(gzip.compress(plain[:middle]) + gzip.compress(plain[middle:]))  # two members
    assert dp.read_table(tmp_path / "log.csv.gz", 0.9).steps == held.steps
    dp.write_table(held, tmp_path / "ours.csv.gz")
    assert gzip.decompress((tmp_path / "ours.csv.gz").read_bytes()) == plain


def test_the_content_decides_and_not_the_name(tmp_path, held):
    dp.write_table(held, tmp_path / "log.csv.gz")
    (tmp_path / "log.csv.gz").rename(tmp_path / "other.csv")
    dp.write_table(held, tmp_path / "log.csv")
    (tmp_path / "log.csv").rename(tmp_path / "plain.csv.gz")
    assert dp.read_table(tmp_path / "other.csv", 0.9).steps == held.steps
    assert dp.read_table(tmp_path / "plain.csv.gz", 0.9).steps == held.steps


@pytest.mark.parametrize("name", ["log.csv.gz", "log.csv.zst"])
def test_a_packed_file_that_is_cut_or_damaged_is_refused(tmp_path, held, name):
    path = tmp_path / name
    dp.write_table(held, path)
    data = path.read_bytes()
    for wrong in (data[:-1], data[:-200], data[:12], data + b"more", data[:500] + bytes(100) + data[600:]):
        path.write_bytes(wrong)
        assert "cannot be read as a table" in refusal(path) or "expected" in refusal(path)


def test_places_in_packed_files_are_named(tmp_path):
    path = packed(tmp_path / "log.csv.gz", [HEADER, b"0,0,ann,,go,1\n0,1,ann,a,go,much\n"])
    assert refusal(path) == "row 1, column reward: expected a number, got 'much'"
    packed(path, [HEADER, b"0,0,ann,,go,1\n0,1,ann\n"])
    assert refusal(path) == "row 1: expected 6 cells, one per column, got 3"
    packed(path, [HEADER, b"0,0,ann,,go,1\n0,1,ann,\xe9,go,1\n"])
    assert str(refused(path)) == f"{path}:3: expected UTF-8 text, got another encoding (byte 0xe9)"
    packed(path, [HEADER])
    assert refusal(path) == "expected at least one row, got none"
    packed(path, [])
    assert "expected the names of columns in the first line, got none" in refusal(path)


NOTE = b"x" * (1 << 20)
BOMBS = {
    "blank lines": [HEADER, *[b"\n" * (1 << 20)] * 450],
    "a column that nobody wants": [HEADER[:-1] + b",note\n", *[b"%d,0,a,,g,1,%s\n" % (k, NOTE) for k in range(450)]],
    "a label of its own in every row": [HEADER, *[b"%d,0,a,,%d%s,1\n" % (k, k, NOTE) for k in range(450)]],
    "rows": [HEADER, *[b"0,0,a,,g,1\n" * 100_000] * 60],
    "a row without end": [HEADER, *[b"0,0,ann,,go,1" * (1 << 17)] * 300],
    "a text without end": [HEADER, b'0,0,ann,,"', *[b"going on\n" * (1 << 17)] * 400],
}
TOO_LONG = r"row 0: expected at most 4194304 bytes, got more \(a quotation mark that is not closed\?\)"
TOO_MUCH = r"expected what fits into memory \(41943040 bytes\), got \d+ rows and more of \d+ bytes"
SAID = {
    "blank lines": "expected at least one row, got none",
    "a column that nobody wants": "read 450 1",
    "a label of its own in every row": TOO_MUCH,
    "rows": TOO_MUCH,
    "a row without end": TOO_LONG,
    "a text without end": TOO_LONG,
}


QUICK = {("log.csv.gz", "rows"), ("log.csv.gz", "a text without end")}  # gzip takes its time to pack


@pytest.mark.parametrize(
    ("name", "bomb"),
    [
        pytest.param(name, bomb, marks=() if name == "log.csv.zst" or (name, bomb) in QUICK else pytest.mark.slow)
        for name in ("log.csv.gz", "log.csv.zst")
        for bomb in BOMBS
    ],
)
def test_bombs_take_little_memory(tmp_path, name, bomb):
    path = packed(tmp_path / name, BOMBS[bomb])
    assert path.stat().st_size < 1 << 21
    said = limited(path, megabytes=300, seconds=20, longest=4 << 20, memory=80 << 20)
    assert re.fullmatch(SAID[bomb], said), said


def test_rows_that_do_not_fit_into_memory_are_refused(tmp_path, monkeypatch):
    rows = b"".join(b"%d,0,ann,,go,1\n" % k for k in range(200_000))
    path = tmp_path / "log.csv.gz"
    path.write_bytes(gzip.compress(HEADER + rows))
    assert len(rows) < 4 << 20 < 200_000 * 6 * 8  # the text alone would fit
    monkeypatch.setattr(opening, "memory", lambda: 8 << 20)
    assert refusal(path).startswith("expected what fits into memory (4194304 bytes), got 200000 rows and more of ")
    monkeypatch.setattr(opening, "memory", lambda: 1 << 30)
    assert dp.read_table(path, 0.9).count == 200_000


def test_a_large_column_beside_is_not_counted(tmp_path, monkeypatch):
    notes = np.random.default_rng(0).bytes(1 << 20).hex().encode()
    rows = [b"%d,0,ann,,go,1,%s\n" % (k, notes) for k in range(8)]
    path = packed(tmp_path / "log.csv.gz", [HEADER[:-1] + b",note\n", *rows])
    monkeypatch.setattr(opening, "memory", lambda: 4 << 20)
    assert dp.read_table(path, 0.9).count == 8


def test_commands_take_packed_tables_and_say_what_they_do_not_take(tmp_path, monkeypatch, capsys, held):
    def run(*arguments):
        code = code_of(list(arguments))
        return code, *capsys.readouterr()

    monkeypatch.chdir(tmp_path)
    dp.write_episodes(held, "e.parquet")
    assert run("data", "convert", "e.parquet", "log.csv.gz")[0] == 0
    ok = "OK: log.csv.gz: 300 episodes, 1200 steps, agents agent1, agent2\n"
    assert run("data", "validate", "log.csv.gz") == (0, ok, "")
    hint = "convert it first: decpomdp data convert log.csv.gz log-episodes.parquet --discount NUMBER"
    assert conversion("log.csv.gz") == f"got a long table; {hint}"
    code, out, err = run("learn", "log.csv.gz", "--out", "r")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.rstrip().endswith(hint)
    assert run("data", "convert", "log.csv.gz", "log-episodes.parquet", "--like", "dectiger")[0] == 0
    assert dp.read_episodes("log-episodes.parquet").actions.tolist() == held.actions.tolist()
    (tmp_path / "e.parquet.gz").write_bytes(gzip.compress((tmp_path / "e.parquet").read_bytes()))
    for name, said in {
        "e.parquet.gz": "expected a Parquet file, got a gzip file; unpack it first, or name it .csv.gz if it is CSV",
        "-": "expected a file, got standard input; write it to a file first",
    }.items():
        code, out, err = run("data", "validate", name)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert err.rstrip().endswith(said)
    code, _, err = run("data", "convert", "e.parquet", "x.csv.gz", "--to", "episodes")
    assert (code, "episodes are Parquet files" in err) == (2, True)


def test_a_file_may_be_called_like_standard_input(tmp_path, monkeypatch, held):
    monkeypatch.chdir(tmp_path)
    dp.write_episodes(held, "-")
    assert dp.read_episodes("-") == held
