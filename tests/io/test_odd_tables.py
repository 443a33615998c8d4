"""Tables that other programs write, and rows that no reader can hold."""

import gzip
import shlex
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import decpomdp as dp
from decpomdp.core import FormatError, InputError
from decpomdp.io import opening

HEADER = "episode,t,agent,observation,action,reward,note\n"


def table(folder, notes):
    path = folder / "log.csv"
    path.write_text(HEADER + "".join(f'{k},0,ann,,go,1,"{note}"\n' for k, note in enumerate(notes)))
    return path


def test_a_long_cell_that_nobody_wants_is_no_harm(tmp_path):
    assert dp.read_table(table(tmp_path, ["", "x" * 3_000_000, ""]), discount=0.9).count == 3


@pytest.mark.parametrize("place", [0, 5])
def test_a_quotation_mark_that_is_not_closed_is_named(tmp_path, place):
    rows = [f"{k},0,ann,,go,1,{'-' * 100}\n" for k in range(2_000)]
    rows[place] = f'{place},0,ann,,"go,1,\n'
    (tmp_path / "log.csv").write_text(HEADER + "".join(rows))
    with pytest.raises(FormatError, match=rf"row {place}: expected 7 cells, one per column, got 5"):
        dp.read_table(tmp_path / "log.csv", discount=0.9)


def test_a_row_longer_than_any_reader_can_hold_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("decpomdp.io.table_files.LONGEST", 20_000)
    for rows in (["0,0,ann,,go,1,\n", '1,0,ann,,"go,1,\n'], ["0,0,ann,,go,1,\n", f"1,0,ann,,go,1,{'x' * 90_000}\n"]):
        (tmp_path / "log.csv").write_text(HEADER + "".join(rows) + "2,0,ann,,go,1,\n" * 9000)
        with pytest.raises(FormatError, match=r"row 1: expected .*(a quotation mark that is not closed|cells)"):
            dp.read_table(tmp_path / "log.csv", discount=0.9)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_column_has_one_role(tmp_path, ending):
    dp.write_table(dp.simulate("dectiger", episodes=2, horizon=2), tmp_path / f"log.{ending}")
    with pytest.raises(
        InputError, match="columns: expected a column of its own for each, got 'action' for observation"
    ):
        dp.read_table(tmp_path / f"log.{ending}", discount=0.9, columns={"observation": "action"})


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", "PLAIN"])
def test_texts_in_any_encoding(tmp_path, encoding):
    episodes = dp.simulate("dectiger", episodes=3, horizon=2, seed=1)
    dp.write_table(episodes, tmp_path / "log.parquet")
    found = pq.read_table(tmp_path / "log.parquet")
    for place, field in enumerate(found.schema):
        if pa.types.is_dictionary(field.type):
            found = found.set_column(place, field.name, found.column(place).cast(pa.string()))
    texts = [field.name for field in found.schema if pa.types.is_string(field.type)]
    assert texts
    chosen = dict.fromkeys(texts, encoding)
    pq.write_table(found, tmp_path / "other.parquet", use_dictionary=False, column_encoding=chosen)
    one, other = (dp.read_table(tmp_path / f"{name}.parquet", discount=0.9) for name in ("log", "other"))
    assert one.agents == other.agents
    assert one.actions.tolist() == other.actions.tolist()
    assert one.observations.tolist() == other.observations.tolist()


def test_a_large_column_beside_is_not_counted(tmp_path, monkeypatch):
    """Only where a file could not hold what it announces."""
    dp.write_table(dp.simulate("dectiger", episodes=50, horizon=4, seed=1), tmp_path / "log.parquet")
    found = pq.read_table(tmp_path / "log.parquet")
    frames = pa.array([bytes([k % 256]) * 4000 + str(k).encode() * 3000 for k in range(len(found))])
    pq.write_table(found.append_column("frame", frames), tmp_path / "log.parquet", compression="none")
    monkeypatch.setattr(opening, "_memory", lambda: 2_000_000)
    assert dp.read_table(tmp_path / "log.parquet", discount=0.9).count == 50


def test_a_problem_through_a_pipe(tmp_path):
    dp.write_dpomdp(dp.load("dectiger"), tmp_path / "tiger.dpomdp")
    (tmp_path / "tiger.gz").write_bytes(gzip.compress((tmp_path / "tiger.dpomdp").read_bytes()))
    command = f"{shlex.quote(sys.executable)} -m decpomdp info --json <(gzip -dc tiger.gz)"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert '"states": ["tiger-left", "tiger-right"]' in done.stdout
