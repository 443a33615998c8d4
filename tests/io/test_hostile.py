"""Whatever lies where a file is expected is refused in one line, without waiting and without memory without bound."""

import errno
import json
import os
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import decpomdp as dp
from decpomdp.core import FormatError, InputError
from decpomdp.io import opening, parquet_columns
from decpomdp.io.checkpoints import NAMES, Checkpoints
from decpomdp.io.complaints import checked
from decpomdp.io.files import from_json, read_bytes
from decpomdp.io.run_folder import BEGUN, check_links, new_run, read_begun
from decpomdp.io.runs import LOG, RUN, RUN_FORMAT, read_record, read_trace
from decpomdp.io.stages import Stage, all_made, made
from decpomdp.io.tables import long_table

PIPE = "cannot be read: it is a pipe that nobody writes to"
NO_FILE = "cannot be read: it is a pipe or a device, not a file; write it to a file first"
TEXTS = {"team": dp.read_team, "controller": dp.read_controller, "m.dpomdp": dp.read_dpomdp}
TABLES = {
    "e.parquet": dp.read_episodes,
    "long.csv": lambda path: dp.read_table(path, 0.9),
    "long.parquet": lambda path: dp.read_table(path, 0.9),
    "trace.parquet": read_trace,
}


@pytest.fixture
def hasty(monkeypatch):
    monkeypatch.setattr(opening, "WAIT", 0.05)


@pytest.mark.parametrize("name", TEXTS)
def test_a_pipe_that_nobody_writes_to_is_refused(hasty, tmp_path, name):
    os.mkfifo(tmp_path / name)
    with pytest.raises(FormatError) as error:
        TEXTS[name](tmp_path / name)
    assert str(error.value) == f"{tmp_path / name}: {PIPE}"


@pytest.mark.parametrize("name", TABLES)
def test_a_pipe_in_the_place_of_a_table_is_refused_at_once(tmp_path, name):
    os.mkfifo(tmp_path / name)
    with pytest.raises(FormatError) as error:
        TABLES[name](tmp_path / name)
    assert str(error.value) == f"{tmp_path / name}: {NO_FILE}"


def test_a_slow_writer_is_waited_for(hasty, tmp_path):
    dp.write_dpomdp(dp.load("dectiger"), tmp_path / "m.dpomdp")
    data, pipe, seen = (tmp_path / "m.dpomdp").read_bytes(), tmp_path / "pipe", threading.Event()
    os.mkfifo(pipe)

    def write():
        with open(pipe, "wb") as file:
            seen.wait(0.3)  # longer than anybody would wait for nobody
            file.write(data)

    writer = threading.Thread(target=write)
    writer.start()
    assert dp.read_dpomdp(pipe).digest() == dp.load("dectiger").digest()
    writer.join()


def test_pipes_in_a_run_folder_are_refused(hasty, tmp_path):
    for name in (LOG, NAMES[0], BEGUN):
        os.mkfifo(tmp_path / name)
        with pytest.raises(InputError, match="expected a file of the run, got a folder, a pipe or a device"):
            check_links(tmp_path)
        (tmp_path / name).unlink()
    check_links(tmp_path)
    os.mkfifo(tmp_path / NAMES[0])
    with pytest.warns(UserWarning, match=PIPE):
        assert Checkpoints(tmp_path, "work").restore(dict) is None
    os.mkfifo(tmp_path / BEGUN)
    with pytest.raises(InputError, match="expected the folder of a run"):
        read_begun(tmp_path)


@pytest.mark.parametrize("name", [*TEXTS, *TABLES])
@pytest.mark.parametrize("there", ["a folder", "nothing", "an empty file", "no name", "a loop"])
def test_what_is_no_file_of_ours_is_refused_in_one_line(tmp_path, name, there):
    path = tmp_path / name
    if there == "a folder":
        path.mkdir()
    elif there == "an empty file":
        path.touch()
    elif there == "no name":
        path = f"{path}\0"
    elif there == "a loop":
        path.symlink_to(path)
    with pytest.raises(InputError) as error:
        (TEXTS | TABLES)[name](path)
    assert len(str(error.value).splitlines()) == 1


def test_what_may_not_be_read_is_refused_in_one_line(tmp_path, monkeypatch):
    def forbid(path, *_):  # a mode would not do: nothing is forbidden to root
        raise PermissionError(errno.EACCES, "Permission denied", path)

    monkeypatch.setattr(opening.os, "open", forbid)
    with pytest.raises(FormatError, match=r"^team\.json: cannot be read: Permission denied$"):
        dp.read_team("team.json")


def parquet_of(path, columns, **options):
    pq.write_table(pa.table(columns), path, compression="zstd", **options)


def test_rows_that_do_not_fit_into_memory_are_refused_before_they_are_read(tmp_path, monkeypatch):
    rows = 1_000_000
    same = {name: pa.array(np.zeros(rows, np.int64)) for name in ("episode_id", "t", "reward")}
    lists = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(rows, np.int16)), 1)
    flags = pa.array(np.zeros(rows, bool))
    same |= {"observation": lists, "action": lists, "action_prob": lists, "terminated": flags, "truncated": flags}
    parquet_of(tmp_path / "e.parquet", same)
    assert (tmp_path / "e.parquet").stat().st_size < 100_000
    monkeypatch.setattr(opening, "memory", lambda: 1 << 26)
    expected = r"expected what fits into memory \(33554432 bytes\), got 1000000 rows of \d+ bytes$"
    with pytest.raises(FormatError, match=expected):
        dp.read_episodes(tmp_path / "e.parquet")
    with pytest.raises(FormatError, match=expected):
        read_trace(tmp_path / "e.parquet")


def test_one_text_in_every_row_is_never_written_out(tmp_path, monkeypatch):
    table = long_table(dp.simulate("dectiger", episodes=100, horizon=10))
    dp.write_table(dp.simulate("dectiger", episodes=100, horizon=10), tmp_path / "good.parquet")
    same = pa.DictionaryArray.from_arrays(np.zeros(len(table), np.int8), ["x" * 16_000])
    bomb = table.set_column(4, "action", same)
    options = {"compression": "zstd", "store_schema": False, "dictionary_pagesize_limit": 1 << 24}
    pq.write_table(bomb, tmp_path / "long.parquet", **options)
    assert (tmp_path / "long.parquet").stat().st_size < 100_000
    monkeypatch.setattr(opening, "memory", lambda: 1 << 22)
    assert dp.read_table(tmp_path / "long.parquet", 0.9).agents[0].actions == ("x" * 16_000,)  # held once
    assert dp.read_table(tmp_path / "good.parquet", 0.9).count == 100


def test_a_table_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch):
    path, usual = tmp_path / "long.parquet", opening.parquet
    dp.write_table(dp.simulate("dectiger", episodes=2, horizon=2), path)

    def changing(source, texts=()):
        if texts:
            parquet_of(path, {"episode": [1]})
        return usual(source, texts)

    monkeypatch.setattr(parquet_columns, "parquet", changing)
    with pytest.raises(FormatError, match="expected a file that stays as it is, got one that changed meanwhile"):
        dp.read_table(path, 0.9)


DIGITS = "1" * 5000  # more than Python takes for a whole number


def test_whole_numbers_of_any_length_are_read_or_refused(tmp_path):
    (tmp_path / RUN).write_text(f'{{"format": "{RUN_FORMAT}", "seed": {DIGITS}}}')
    with pytest.raises(FormatError):
        read_record(tmp_path / RUN)
    team = json.loads(dp.io.team.team_to_json(dp.Team.uniform(dp.load("dectiger")))) | {"discount": 0}
    data = json.dumps(team).replace('"discount": 0', f'"discount": {DIGITS}').encode()
    (tmp_path / "team.json").write_bytes(data)
    with pytest.raises(FormatError, match="discount"):
        dp.read_team(tmp_path / "team.json")


def test_nesting_is_counted_outside_of_texts_whatever_the_stack():
    def deep(levels, then):
        return deep(levels - 1, then) if levels else then()

    def said(data):
        with pytest.raises(FormatError) as error:
            from_json(data, dict, "n.json", "f")
        return str(error.value)

    for data in (b"[" * 33, b'{"a": "' + b"[" * 99 + b'\\"]"', b"[" * 900 + b"}"):
        assert deep(0, lambda data=data: said(data)) == deep(300, lambda data=data: said(data))
    assert said(b"[" * 33) == "n.json: expected at most 32 levels of nesting, got more"
    assert "not JSON" in said(b"[" * 32)
    assert from_json(b'{"format": "f", "a": "' + b"[{" * 99 + b'\\""}', dict, "n.json", "f")["a"] == "[{" * 99 + '"'


def test_devices_end(tmp_path):
    with pytest.raises(FormatError, match="expected at most 1000 bytes, got a larger file"):
        read_bytes("/dev/zero", 1000)
    assert read_bytes("/dev/null", 1000) == b""


def test_symbols_beyond_sixteen_bits_are_refused(tmp_path):
    labels = [str(number) for number in range(70_000)]
    about = {
        "format": "decpomdp-episodes/1", "agents": [{"name": "a", "actions": labels, "observations": labels}],
        "discount": 1, "name": "", "facts": {}, "software": "",
    }  # fmt: skip
    columns = {"episode_id": [0], "t": [0], "observation": [[65_537]], "action": [[65_538]], "action_prob": [[1.0]]}
    columns |= {"reward": [0.0], "terminated": [True], "truncated": [False]}
    table = pa.table(columns).replace_schema_metadata({"decpomdp": json.dumps(about)})
    pq.write_table(table, tmp_path / "e.parquet")
    found, complaints = checked(tmp_path / "e.parquet")
    assert found is None
    assert [words.rpartition("column ")[2] for words in complaints] == [
        "observation, agent a: expected a number from 0 to 32767 (null only at t = 0), got 65537",
        "action, agent a: expected a number from 0 to 32767, got 65538",
    ]


@pytest.mark.parametrize("name", ["..", "a\0b", "x" * 5000, "/dev/null", "CON/..", "."])
def test_odd_names_of_run_folders_are_refused_in_one_line(tmp_path, monkeypatch, name):
    (tmp_path / "in").mkdir()
    monkeypatch.chdir(tmp_path / "in")
    (tmp_path / "in" / "mine").touch()
    with pytest.raises(InputError) as error, new_run(name):
        pass
    assert len(str(error.value).splitlines()) == 1
    assert sorted(os.listdir(tmp_path)) == ["in"]
    assert os.listdir(tmp_path / "in") == ["mine"]


def test_the_first_complaint_is_what_the_reader_says():
    def refuse(said):
        def make(*_):
            raise FormatError("f", None, said)

        return make

    stages = [
        Stage("a", (), lambda: 1),
        Stage("b", ("a",), refuse("b")),
        Stage("c", ("b",), refuse("c")),
        Stage("d", ("a",), refuse("d")),
        Stage("e", ("a", "d"), lambda *parts: parts),
    ]
    with pytest.raises(FormatError, match=r"^f: b$"):
        made(stages)
    found, errors = all_made(stages)
    assert (found, [str(error) for error in errors]) == (None, ["f: b", "f: d"])
    assert all_made([stages[0], Stage("e", ("a",), lambda a: a + 1)]) == (2, [])


def test_what_no_later_stage_needs_is_let_go():
    import gc
    import weakref

    class Table:
        pass

    tables = []

    def load():
        tables.append(weakref.ref(table := Table()))
        return table

    def whole(_):
        gc.collect()
        return tables[0]() is None

    assert made([Stage("table", (), load), Stage("rows", ("table",), lambda _: 3), Stage("all", ("rows",), whole)])
