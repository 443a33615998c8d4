"""Tables that other programs write, and rows that no reader can hold."""

import gzip
import re
import shlex
import subprocess
import sys
from dataclasses import FrozenInstanceError

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

import decpomdp as dp
from decpomdp.core import FormatError, InputError
from decpomdp.io.logged import Given, read_logged, validate_logged
from decpomdp.io.tables.write import long_table

HEADER = "episode,t,agent,observation,action,reward,note\n"


def table(folder, notes):
    path = folder / "log.csv"
    path.write_text(HEADER + "".join(f'{k},0,ann,,go,1,"{note}"\n' for k, note in enumerate(notes)))
    return path


def test_a_long_cell_that_nobody_wants_is_no_harm(tmp_path):
    assert dp.Episodes.load(table(tmp_path, ["", "x" * 3_000_000, ""]), discount=0.9).count == 3


@pytest.mark.parametrize("place", [0, 5])
def test_a_quotation_mark_that_is_not_closed_is_named(tmp_path, place):
    rows = [f"{k},0,ann,,go,1,{'-' * 100}\n" for k in range(2_000)]
    rows[place] = f'{place},0,ann,,"go,1,\n'
    (tmp_path / "log.csv").write_text(HEADER + "".join(rows))
    with pytest.raises(FormatError, match=rf"row {place}: expected 7 cells, one per column, got 5"):
        dp.Episodes.load(tmp_path / "log.csv", discount=0.9)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("stray", ["", 'x"'])
def test_a_quotation_mark_that_is_not_closed_does_not_swallow_the_rest(tmp_path, stray, end):
    """In the last column, where the number of cells is right."""
    rows = ["0,0,ann,,go,1,fine", "", f"1,0,ann,,go,1,{stray}", '2,0,ann,,go,1,"oops', "3,0,ann,,go,1,fine"]
    path = tmp_path / "log.csv"
    path.write_bytes(end.join([HEADER.strip(), *rows, ""]).encode())
    with pytest.raises(FormatError, match="row 2: expected quotation marks around whole cells"):
        dp.Episodes.load(path, discount=0.9)
    rows[3] = f'2,0,ann,,go,1,"oo""ps,{end}"'
    for last in ("", end):
        path.write_bytes((end.join([HEADER.strip(), *rows]) + last).encode())
        assert dp.Episodes.load(path, discount=0.9).count == 4


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_column_has_one_role(tmp_path, ending):
    dp.simulate("dectiger", episodes=2, horizon=2).save(tmp_path / f"log.{ending}", long=True)
    with pytest.raises(
        InputError, match="columns: expected a column of its own for each, got 'action' for observation"
    ):
        dp.Episodes.load(tmp_path / f"log.{ending}", discount=0.9, columns={"observation": "action"})


def test_a_problem_through_a_pipe(tmp_path):
    dp.load("dectiger").save(tmp_path / "tiger.dpomdp")
    (tmp_path / "tiger.gz").write_bytes(gzip.compress((tmp_path / "tiger.dpomdp").read_bytes()))
    command = f"{shlex.quote(sys.executable)} -m decpomdp info --json <(gzip -dc tiger.gz)"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert '"states": ["tiger-left", "tiger-right"]' in done.stdout


def step_by_step(folder, ending, times):
    """One agent at these times."""
    path = folder / f"log.{ending}"
    columns = {"episode": 0, "t": times, "agent": "ann", "observation": "a", "action": "go", "reward": 1.0}
    columns = {name: one if name == "t" else [one] * len(times) for name, one in columns.items()}
    (pc.write_csv if ending == "csv" else pq.write_table)(pa.table(columns), path)
    return path


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("times", [[0.0, 1.0, 2.0], ["0.0", "1.0", "2.0"], ["0", "1.", "2.000"], [2.0, 0.0, 1.0]])
def test_steps_may_be_written_as_whole_floats(tmp_path, ending, times):
    if isinstance(times[0], float) and ending == "csv":
        times = [f"{time:.1f}" for time in times]  # as pandas writes them
    assert dp.Episodes.load(step_by_step(tmp_path, ending, times), discount=0.9).steps == 3


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("odd", ["0.5", "1e0", ".0", "nan", "1.0.0", "one", "99999999999999999999.0", "-1.0", ""])
def test_steps_that_are_no_whole_numbers_are_named(tmp_path, ending, odd):
    path = step_by_step(tmp_path, ending, ["0.0", "1.0", odd or None, "2.0"])
    with pytest.raises(FormatError, match=rf"row 2, column t: expected a whole number.*, got {odd and repr(odd)}"):
        dp.Episodes.load(path, discount=0.9)


@pytest.mark.parametrize("odd", [0.5, float("nan"), float("inf"), 1e300])
def test_steps_of_a_type_for_fractions_are_whole(tmp_path, odd):
    path = step_by_step(tmp_path, "parquet", [0.0, 1.0, odd, 2.0])
    with pytest.raises(FormatError, match=rf"row 2, column t: expected a whole number, got {re.escape(str(odd))}$"):
        dp.Episodes.load(path, discount=0.9)


def emptied(folder, ending, name, steps=2):
    """A long table whose column `name` has no cells, and so no type."""
    found = long_table(dp.simulate("dectiger", episodes=3, horizon=steps, seed=1))
    found = found.set_column(found.schema.get_field_index(name), name, pa.nulls(len(found)))
    path = folder / f"log.{ending}"
    (pc.write_csv if ending == "csv" else pq.write_table)(found, path)
    return path


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_an_optional_column_that_is_empty_is_none(tmp_path, ending):
    path = emptied(tmp_path, ending, "terminated")
    found = (pc.read_csv if ending == "csv" else pq.read_table)(path)
    bare = tmp_path / f"bare.{ending}"
    (pc.write_csv if ending == "csv" else pq.write_table)(found.drop_columns(["terminated"]), bare)
    assert dp.Episodes.load(path, 0.9).terminated.tolist() == dp.Episodes.load(bare, 0.9).terminated.tolist()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("episode", "row 0, column episode: expected a label or a whole number"),
        ("t", "row 0, column t: expected a whole number from 0"),
        ("agent", "row 0, column agent: expected a label or a whole number"),
        ("observation", "row 2, column observation: expected an observation (empty only at t = 0)"),
        ("action", "row 0, column action: expected a label or a whole number"),
        ("reward", "row 0, column reward: expected a number on one row of the step at least"),
    ],
)
def test_an_empty_column_is_named(tmp_path, ending, name, said):
    path = emptied(tmp_path, ending, name)
    whole = f"{path}: {said}, got nothing (the whole column is empty)"
    with pytest.raises(FormatError) as error:
        dp.Episodes.load(path, discount=0.9)
    assert str(error.value) == whole
    episodes, errors = validate_logged(path, Given(discount=0.9))
    assert (episodes, [str(error) for error in errors]) == (None, [whole])


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_column_may_be_empty_where_its_cells_may(tmp_path, ending):
    assert np.isnan(dp.Episodes.load(emptied(tmp_path, ending, "action_prob"), discount=0.9).behaviour).all()
    seen = dp.Episodes.load(emptied(tmp_path, ending, "observation", steps=1), discount=0.9).observations
    assert (seen == dp.core.NO_OBSERVATION).all()


def test_one_empty_cell_is_not_an_empty_column(tmp_path):
    (tmp_path / "log.csv").write_text(HEADER + "0,0,ann,,go,1,\n1,0,ann,,,1,\n")
    with pytest.raises(FormatError, match=r"row 1, column action: expected a label or a whole number, got nothing$"):
        dp.Episodes.load(tmp_path / "log.csv", discount=0.9)


@pytest.mark.parametrize("name", ["observation", "action", "reward"])
def test_an_empty_column_of_an_episodes_file_is_named(tmp_path, name):
    path = tmp_path / "e.parquet"
    dp.simulate("dectiger", episodes=3, horizon=2, seed=1).save(path)
    found = pq.read_table(path)
    pq.write_table(found.set_column(found.schema.get_field_index(name), name, pa.nulls(len(found))), path)
    with pytest.raises(FormatError, match=rf"column {name}: expected .*numbers, got an empty column$") as error:
        dp.Episodes.load(path)
    episodes, errors = validate_logged(path)
    assert (episodes, [str(each) for each in errors]) == (None, [str(error.value)])


def test_what_is_given_beside_a_file_is_one_thing_for_all_readers(tmp_path):
    path = step_by_step(tmp_path, "csv", ["0", "1"])
    given = Given("long", 0.5, name="mine", columns={"action": "action"})
    found = read_logged(path, given)
    assert (found.discount, found.name) == (0.5, "mine")
    assert validate_logged(path, given) == (found, [])
    with pytest.raises(FrozenInstanceError):
        given.discount = 0.9


def test_marks_in_the_middle_of_cells_do_not_swallow_rows(tmp_path):
    rows = ['0,0,a,"x,go,1,', "1,0,a,x,go,1,", '2,0,a,"x,go,1,', "3,0,a,x,go,1,"]
    (tmp_path / "log.csv").write_text(HEADER + "\n".join(rows) + "\n")
    with pytest.raises(FormatError, match="row 0: expected quotation marks around whole cells"):
        dp.Episodes.load(tmp_path / "log.csv", discount=0.9)


def test_a_byte_order_mark_before_a_quoted_name(tmp_path):
    text = '\ufeff"note,""",episode,t,agent,observation,action,reward\nn,0,0,a,,x,1\n'
    (tmp_path / "log.csv").write_text(text, encoding="utf-8")
    assert dp.Episodes.load(tmp_path / "log.csv", discount=0.9).steps == 1
