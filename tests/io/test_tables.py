"""Long tables: what is written comes back equal, other tools read it, and what is wrong is named by row and column."""

import csv
import errno
import os
from dataclasses import replace

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import decpomdp as dp
from decpomdp.core import NO_OBSERVATION, Agent, Episodes, FormatError, InputError
from decpomdp.io.episodes import read_episodes, write_episodes
from decpomdp.io.logged import Given, kind_of, read_logged
from decpomdp.io.tables import read_table, write_table

AGENTS = (
    Agent("left", ["stay", "go, or not", "never"], ["p", "q", "r"]),
    Agent("right", ["x", "y"], ["1st", 'é "2"\n']),
)


def episodes(count=20, seed=0):
    """Random episodes with everything that may happen: first observations or none, unknown behaviour, odd labels."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 7, count)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    rows = int(offsets[-1])
    observations = np.stack([rng.integers(0, 3, rows), rng.integers(0, 2, rows)], axis=1)
    observations[offsets[:-1]] = np.where(rng.random((count, 2)) < 0.5, NO_OBSERVATION, 1)
    behaviour = rng.uniform(1e-6, 1, (rows, 2)).astype(np.float32)
    behaviour[rng.random((rows, 2)) < 0.2] = np.nan
    return Episodes(
        agents=AGENTS,
        offsets=offsets,
        observations=observations,
        actions=rng.integers(0, 2, (rows, 2)),
        behaviour=behaviour,
        rewards=rng.normal(size=rows) * 10.0 ** rng.integers(-300, 300, rows),
        discount=0.9,
        terminated=rng.random(count) < 0.5,
        facts={"imported from": "x"},
    )


@pytest.fixture(params=["e.csv", "e.parquet"])
def path(tmp_path, request):
    return tmp_path / request.param


def same(one, other):
    return replace(one, facts={}, name="") == replace(other, facts={}, name="")


@pytest.mark.parametrize("seed", range(3))
def test_tables_come_back_equal(path, seed):
    held = episodes(seed=seed)
    write_table(held, path)
    again = read_table(path, 0.9, AGENTS)
    assert same(again, held)
    assert np.array_equal(again.rewards, held.rewards)
    assert again.facts == {"imported from": path.name}
    occurring = read_table(path, 0.9)
    assert occurring.agents[0].actions == ("go, or not", "stay")  # those that occur, sorted
    assert np.array_equal(occurring.rewards, held.rewards)


def test_equal_episodes_give_equal_bytes(path, tmp_path):
    write_table(episodes(), path)
    other = tmp_path / f"again{path.suffix}"
    write_table(episodes(), other)
    assert path.read_bytes() == other.read_bytes()


def test_polars_and_plain_python_read_what_is_written(path):
    held = episodes()
    write_table(held, path)
    frame = pl.read_csv(path) if path.suffix == ".csv" else pl.read_parquet(path)
    assert frame.columns[:6] == ["episode", "t", "agent", "observation", "action", "reward"]
    assert len(frame) == 2 * held.steps
    right = frame.filter(pl.col("agent") == "right")
    assert right["action"].to_list() == [AGENTS[1].actions[a] for a in held.actions[:, 1]]
    assert right["reward"].to_numpy() == pytest.approx(held.rewards, rel=1e-12)
    if path.suffix == ".csv":
        with open(path, newline="") as file:
            assert sum(1 for _ in csv.DictReader(file)) == 2 * held.steps


def test_our_episodes_file_is_read_by_polars(tmp_path):
    held = episodes()
    write_episodes(held, tmp_path / "e.parquet")
    frame = pl.read_parquet(tmp_path / "e.parquet")
    assert np.array_equal(np.stack(frame["action"].to_list()), held.actions)
    assert frame["observation"].to_list()[0] == [None if o < 0 else o for o in held.observations[0]]
    assert frame.group_by("episode_id", maintain_order=True).len()["len"].to_list() == held.lengths.tolist()
    assert frame.filter(pl.col("terminated") | pl.col("truncated")).height == held.count


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_what_polars_writes_is_read(tmp_path, kind):
    held = episodes()
    write_table(held, tmp_path / "e.parquet")
    frame = pl.read_parquet(tmp_path / "e.parquet").sample(fraction=1.0, shuffle=True, seed=3)
    if kind == "csv":
        frame.write_csv(tmp_path / "p.csv")
    else:
        frame = frame.with_columns(pl.col("agent").cast(pl.Categorical), pl.col("action").cast(pl.Categorical))
        frame.write_parquet(tmp_path / "p.parquet")
    again = read_table(tmp_path / f"p.{kind}", 0.9, AGENTS)
    assert sorted(again.returns()) == sorted(held.returns())  # whatever the order of rows
    assert again.steps == held.steps


GOOD = """episode,t,agent,observation,action,reward,action_prob,terminated,truncated
a,0,x,,0,1,0.5,false,false
a,0,y,,1,1,,false,false
a,1,x,2,1,-2.5,1,true,false
a,1,y,0,0,-2.5,0.25,true,false
7,0,y,,1,0,0.5,false,true
7,0,x,,0,0,0.5,false,true
"""


@pytest.fixture
def write(tmp_path):
    def writing(text):
        path = tmp_path / "t.csv"
        path.write_text(text)
        return path

    return writing


def test_numbers_and_a_first_table_by_hand(write):
    read = read_table(write(GOOD), 0.5)
    assert [agent.name for agent in read.agents] == ["x", "y"]
    assert read.agents[0].observations == ("0", "1", "2")
    assert read.agents[1].observations == ("0",)
    assert read.offsets.tolist() == [0, 2, 3]
    assert read.actions.tolist() == [[0, 1], [1, 0], [0, 1]]
    assert read.observations.tolist() == [[-1, -1], [2, 0], [-1, -1]]
    assert read.rewards.tolist() == [1, -2.5, 0]
    assert read.terminated.tolist() == [True, False]
    assert np.isnan(read.behaviour).tolist() == [[False, True], [False, False], [False, False]]
    windows = write("\ufeff" + GOOD.replace("\n", "\r\n").replace("a,0,x,,", "a,0,x,-1,"))
    assert same(read_table(windows, 0.5), read)


def test_optional_columns_may_be_missing(write):
    lines = [line.split(",") for line in GOOD.split()]
    few = "\n".join(",".join(line[:6]) for line in lines) + "\n"
    read = read_table(write(few), 1.0)
    assert np.isnan(read.behaviour).all()
    assert not read.terminated.any()
    cut = "\n".join(",".join([*line[:6], line[8]]) for line in lines) + "\n"
    assert read_table(write(cut), 1.0).terminated.tolist() == [True, False]


def test_other_names_of_columns(write):
    path = write(GOOD.replace("observation", "obs", 1).replace("action,", "act,", 1))
    again = read_table(path, 0.5, columns={"observation": "obs", "action": "act"})
    assert same(again, read_table(write(GOOD), 0.5))
    with pytest.raises(InputError, match="columns: expected names among"):
        read_table(path, 0.5, columns={"obs": "observation"})
    path = write(GOOD.replace("observation", "obs", 1))
    with pytest.raises(FormatError, match="column observation: expected one, got only 'episode', 't'"):
        read_table(path, 0.5)


def test_known_agents_by_name_or_number(write):
    agents = (Agent("y", ["no", "yes"], ["l", "m", "n"]), Agent("x", ["no", "yes"], ["l", "m", "n"]))
    read = read_table(write(GOOD), 0.5, agents)
    assert read.agents == agents
    assert read.actions.tolist() == [[1, 0], [0, 1], [1, 0]]  # columns in the order of the agents given
    numbered = GOOD.replace(",x,", ",1,").replace(",y,", ",0,")
    assert same(read_table(write(numbered), 0.5, agents), read)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("a,1,x,2", "a,1,x,", "row 2, column observation: expected an observation (empty only at t = 0), got nothing"),
        ("a,0,y,,1", "a,0,y,,", "row 1, column action: expected a label or a whole number, got nothing"),
        ("a,0,y,,1,1", "a,0,y,,1,2", "row 1, column reward: expected the team's reward 1, as on another row"),
        ("a,0,y,,1,1", "a,0,y,,1,one", "row 1, column reward: expected a number, got 'one'"),
        ("a,0,y,,1,1", "a,0,y,,1,inf", "row 1, column reward: expected a finite number, got 'inf'"),
        ("0,0.5,false,true\n7,0,x", "0,1.5,false,true\n7,0,x", "row 4, column action_prob: expected a probability"),
        ("1,-2.5,1,", "1,-2.5,0,", "row 2, column action_prob: expected a probability above 0 and up to 1, got '0'"),
        ("a,0,x,", "a,0.5,x,", "row 0, column t: expected a whole number, got '0.5'"),
        ("a,0,x,", "a,-1,x,", "row 0, column t: expected a whole number from 0, got '-1'"),
        ("a,1,x,2", "a,2,x,2", "row 3, column t: expected a row of x at t = 1 before that of y at t = 1 of episode a"),
        ("a,0,y", "a,0,x", "row 1, column agent: expected one row per agent and step, got a second one of x at t = 0"),
        ("7,0,x,,0,0,0.5,false,true\n", "", "row 4, column t: expected a row of x at t = 0 before that of y at t = 0"),
        ("7,0,y,,1,0,0.5,false,true\n", "", "row 4, column agent: expected a row of y beside that of x at t = 0"),
        ("0,-2.5,0.25,true", "0,-2.5,0.25,false", "row 3, column terminated: expected the same for all agents"),
        ("0,x,,0,1,0.5,false", "0,x,,0,1,0.5,true", "row 0, column terminated: expected false before the last step"),
        ("0,0,0.5,false,true", "0,0,0.5,false,maybe", "row 5, column truncated: expected true or false, got 'maybe'"),
        (",t,", ",t,t,", "column t: expected one, got 2 of that name"),
        ("a,1,x,2,1,-2.5,1,true,false", "a,1,x,2,1", "row 2: expected 9 cells, one per column, got 5"),
    ],
)
def test_what_is_wrong_is_named(write, old, new, said):
    assert GOOD.count(old) >= 1
    with pytest.raises(FormatError) as caught:
        read_table(write(GOOD.replace(old, new, 1)), 0.5)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_labels_outside_known_alphabets_are_refused(write):
    agents = (Agent("x", ["0"], ["0", "1", "2"]), Agent("y", ["0", "1"], ["0"]))
    with pytest.raises(FormatError, match=r"row 2, column action: expected an action of x \(0\), got '1'"):
        read_table(write(GOOD), 0.5, agents)
    with pytest.raises(FormatError, match="row 1, column agent: expected one of x, z, got 'y'"):
        read_table(write(GOOD), 0.5, (agents[0], Agent("z", ["0"], ["0"])))
    many = GOOD.replace("a,1,x,2", "a,1,x,99999")
    with pytest.raises(
        FormatError, match="row 2, column observation: expected numbers from 0 to 32767, got '99999' of x"
    ):
        read_table(write(many), 0.5)
    with pytest.raises(FormatError, match="discount: expected a number from 0 to 1"):
        read_table(write(GOOD), 1.5)


def test_cut_and_corrupt_files_are_refused(tmp_path):
    write_table(episodes(), tmp_path / "e.csv")
    whole = (tmp_path / "e.csv").read_bytes()
    lines = whole.splitlines(keepends=True)
    (tmp_path / "cut.csv").write_bytes(b"".join(lines[:-1]))  # a line short: an agent or an end is missing
    with pytest.raises(FormatError, match=r"row \d+, column"):
        read_table(tmp_path / "cut.csv", 0.9)
    (tmp_path / "cut.csv").write_bytes(whole[:-15])
    with pytest.raises(FormatError):
        read_table(tmp_path / "cut.csv", 0.9)
    (tmp_path / "bytes.csv").write_bytes(whole[:200] + b"\xff\xfe" + whole[200:])
    with pytest.raises(FormatError, match=r"cannot be read as a table|expected UTF-8"):
        read_table(tmp_path / "bytes.csv", 0.9)
    for content in (b"", lines[0]):
        (tmp_path / "empty.csv").write_bytes(content)
        with pytest.raises(FormatError):
            read_table(tmp_path / "empty.csv", 0.9)
    write_table(episodes(), tmp_path / "e.parquet")
    whole = (tmp_path / "e.parquet").read_bytes()
    for damaged in (whole[: len(whole) // 2], whole[:40] + bytes([whole[40] ^ 255]) + whole[41:]):
        (tmp_path / "bad.parquet").write_bytes(damaged)
        with pytest.raises(FormatError):
            read_table(tmp_path / "bad.parquet", 0.9)
    with pytest.raises(FormatError, match="No such file"):
        read_table(tmp_path / "none.csv", 0.9)


def spoilt(path, group, name):
    """A long or an episodes file with one bit of one column of one group of rows turned over; the rows of the group."""
    with pq.ParquetFile(path) as file:
        sizes = [file.metadata.row_group(g).num_rows for g in range(file.num_row_groups)]
        about = file.metadata.row_group(group)
        parts = [about.column(c) for c in range(about.num_columns)]
        part = next(part for part in parts if part.path_in_schema.split(".")[0] == name)
        last = (part.dictionary_page_offset or part.data_page_offset) + part.total_compressed_size
    data = bytearray(path.read_bytes())
    data[last - 1] ^= 4  # in the last page itself, behind its header
    path.write_bytes(data)
    return sum(sizes[:group]), sum(sizes[: group + 1]) - 1


@pytest.mark.parametrize("name", ["episode", "agent", "observation", "reward", "truncated"])
@pytest.mark.parametrize("group", [0, 2])
def test_a_damaged_page_of_a_long_table_is_named(tmp_path, name, group):
    path = tmp_path / "e.parquet"
    write_table(episodes(), path)
    pq.write_table(pq.read_table(path), path, row_group_size=37, write_page_checksum=True)
    first, last = spoilt(path, group, name)
    with pytest.raises(FormatError) as caught:
        read_table(path, 0.9)
    place = f"rows {first} to {last}, column {name}"
    assert str(caught.value) == f"{path}: {place}: expected readable values, got a damaged page"


@pytest.mark.parametrize("name", ["episode_id", "observation", "action_prob", "reward"])
@pytest.mark.parametrize("group", [0, 2])
def test_a_damaged_page_of_an_episodes_file_is_named(tmp_path, name, group):
    path = tmp_path / "e.parquet"
    write_episodes(episodes(), path)
    pq.write_table(pq.read_table(path), path, row_group_size=20, write_page_checksum=True)
    first, last = spoilt(path, group, name)
    with pytest.raises(FormatError) as caught:
        read_episodes(path)
    place = f"rows {first} to {last}, column {name}"
    assert str(caught.value) == f"{path}: {place}: expected readable values, got a damaged page"


@pytest.mark.parametrize("kept", [4, 100, 0.5, -1, -9])
def test_a_parquet_file_without_its_end_is_called_so(tmp_path, kept):
    path = tmp_path / "e.parquet"
    for write, read in ((write_episodes, read_episodes), (write_table, lambda path: read_table(path, 0.9))):
        write(episodes(), path)
        data = path.read_bytes()
        path.write_bytes(data[: kept if kept != 0.5 else len(data) // 2])
        with pytest.raises(FormatError) as caught:
            read(path)
        size = path.stat().st_size
        assert f"cut off or damaged at its end ({size} bytes are there), and no row can be read" in str(caught.value)


def test_bits_of_a_long_parquet_file_are_named_by_place(tmp_path):
    """Whatever bit turns over, nothing is said in the words of a library but for what metadata make of it."""
    path = tmp_path / "e.parquet"
    write_table(episodes(), path)
    data = path.read_bytes()
    rng = np.random.default_rng(1)
    said = []
    for place in rng.integers(len(data) // 2, size=60):  # pages; the footer is the last third
        damaged = bytearray(data)
        damaged[place] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        try:
            read_table(path, 0.9)
        except FormatError as error:
            said.append(str(error))
    assert len(said) > 20
    assert all(f"{path}: rows 0 to " in one and ", column " in one for one in said), said


@pytest.mark.parametrize("row", [0, 5, 11])
def test_a_name_that_occurs_once_is_a_slip(tmp_path, row):
    lines = [f"{k},{t},{who},,go,0" for k in range(3) for t in range(2) for who in ("ann", "bob")]
    lines = [line.replace(",,", ",seen,") for line in lines]
    lines[row] = lines[row].replace("ann", "anm").replace("bob", "bbo")
    (tmp_path / "log.csv").write_text("\n".join(["episode,t,agent,observation,action,reward", *lines]))
    with pytest.raises(FormatError) as caught:
        read_table(tmp_path / "log.csv", 0.9)
    slip = lines[row].split(",")[2]
    expected = f"row {row}, column agent: expected a name that occurs at every step (ann, bob), got '{slip}'"
    assert str(caught.value).removeprefix(f"{tmp_path / 'log.csv'}: ").replace("(bob, ann)", "(ann, bob)") == expected


def test_nan_is_an_unknown_probability_and_no_reward(path):
    write_table(episodes(), path)
    read = pl.read_csv if path.suffix == ".csv" else pl.read_parquet
    write = pl.DataFrame.write_csv if path.suffix == ".csv" else pl.DataFrame.write_parquet
    table = read(path)
    write(table.with_columns(pl.col("action_prob").fill_null(float("nan"))), path)
    assert same(read_table(path, 0.9, AGENTS), episodes())
    write(table.with_columns(reward=pl.lit(float("nan"))), path)
    with pytest.raises(FormatError, match=r"row 0, column reward: expected a finite number, got"):
        read_table(path, 0.9)


def test_an_episode_that_ended_and_was_cut_off_ended(path):
    held = replace(episodes(), terminated=np.ones(20, bool))
    write_table(held, path)
    read = pl.read_csv if path.suffix == ".csv" else pl.read_parquet
    write = pl.DataFrame.write_csv if path.suffix == ".csv" else pl.DataFrame.write_parquet
    write(read(path).with_columns(truncated=pl.col("terminated")), path)
    assert read_table(path, 0.9, AGENTS).terminated.all()


def test_parquet_of_the_wrong_types_is_refused(tmp_path):
    write_table(episodes(), tmp_path / "e.parquet")
    table = pq.read_table(tmp_path / "e.parquet")
    for name, kind in (("action", pa.bool_()), ("reward", pa.bool_()), ("t", pa.bool_()), ("terminated", pa.float64())):
        at = table.schema.get_field_index(name)
        other = table.set_column(at, name, pa.array(np.zeros(len(table)), pa.float64()).cast(kind))
        pq.write_table(other, tmp_path / "bad.parquet")
        with pytest.raises(FormatError, match=f"column {name}: expected .*, got (bool|double)"):
            read_table(tmp_path / "bad.parquet", 0.9)


def test_whole_numbers_kept_as_floats_are_accepted(tmp_path):
    """What data frames make of whole numbers beside empty cells."""
    frame = pl.DataFrame(
        {
            "episode": [0, 0],
            "t": [0.0, 1.0],
            "agent": ["a", "a"],
            "observation": [None, 1.0],
            "action": [1.0, 0.0],
            "reward": [1, 2],
        }
    )
    frame.write_parquet(tmp_path / "f.parquet")
    read = read_table(tmp_path / "f.parquet", 0.9)
    assert read.observations.tolist() == [[-1], [1]]
    assert read.actions.tolist() == [[1], [0]]
    frame.with_columns(action=pl.lit(0.5)).write_parquet(tmp_path / "f.parquet")
    with pytest.raises(FormatError, match=r"row 0, column action: expected a label or a whole number, got 0\.5"):
        read_table(tmp_path / "f.parquet", 0.9)


def test_nothing_half_written(path, monkeypatch):
    write_table(episodes(seed=1), path)
    before = path.read_bytes()

    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("pyarrow.csv.write_csv", full)
    monkeypatch.setattr("pyarrow.parquet.write_table", full)
    with pytest.raises(InputError, match="cannot write"):
        write_table(episodes(), path)
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_kinds_are_found_out(tmp_path):
    held = episodes()
    write_table(held, tmp_path / "l.csv")
    write_table(held, tmp_path / "l.parquet")
    write_episodes(held, tmp_path / "e.parquet")
    kinds = {name: kind_of(tmp_path / name) for name in ("l.csv", "l.parquet", "e.parquet", ".")}
    assert kinds == {"l.csv": "long", "l.parquet": "long", "e.parquet": "episodes", ".": "minari"}
    assert read_logged(tmp_path / "e.parquet") == held
    assert same(read_logged(tmp_path / "l.parquet", Given(discount=0.9, agents=AGENTS)), held)
    with pytest.raises(InputError, match="does not say the discount"):
        read_logged(tmp_path / "l.csv")
    with pytest.raises(InputError, match="says its own discount"):
        read_logged(tmp_path / "e.parquet", Given(discount=0.5))
    with pytest.raises(InputError, match="kind of data: expected one of"):
        read_logged(tmp_path / "e.parquet", Given("table"))
    write_episodes(read_logged(tmp_path / "l.csv", Given(discount=0.9, agents=AGENTS)), tmp_path / "again.parquet")
    assert same(read_episodes(tmp_path / "again.parquet"), held)


HEADER = "episode,t,agent,observation,action,reward\n"


def said(tmp_path, content):
    path = tmp_path / "log.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(FormatError) as caught:
        read_table(path, 0.9)
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value).removeprefix(str(path)).removeprefix(": ")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", ":1: expected the names of columns in the first line, got none"),
        ("\n\n", ":1: expected the names of columns in the first line, got none"),
        (HEADER, "expected at least one row, got none"),
        (HEADER.strip(), "expected at least one row, got none"),
        (HEADER.strip() + "\r", "expected at least one row, got none"),
        (HEADER + "\n\r\n", "expected at least one row, got none"),
        (HEADER.encode("utf-16"), ":1: expected UTF-8 text, got another encoding"),
        (
            (HEADER + "0,0,x,,go,1\n0,1,x,a,go,1\n0,2,x,café,go,1\n").encode("latin-1"),
            ":4: expected UTF-8 text, got another encoding (byte 0xe9)",
        ),
        (
            (HEADER + "0,0,x,,go,1\n" + "0,1,x,a,go,1\n" * 20_000 + "0,2,x,café,go,1\n").encode("latin-1"),
            ":20003: expected UTF-8 text, got another encoding (byte 0xe9)",
        ),
        (
            HEADER + "0,0,x,,go,1\n0,1,x,a,g\0o,1\n",
            "row 1, column action: expected a label without control characters, got 'g\\x00o'",
        ),
        (HEADER + "0,0,x\x1b[2J,,go,1\n", "row 0, column agent: expected a label without control characters"),
        (HEADER.replace(",", ";") + "0;0;x;;go;1\n", "column episode: expected one, got only 'episode;t"),
        (HEADER.replace("action,", ""), "column action: expected one, got only 'episode', 't', 'agent', "),
        (HEADER.replace("action", "action,action"), "column action: expected one, got 2 of that name"),
        (HEADER + "0,0,x\n", "row 0: expected 6 cells, one per column, got 3"),
        (HEADER + "0,0.5,x,,go,1\n", "row 0, column t: expected a whole number, got '0.5'"),
    ],
)
def test_files_that_are_no_tables(tmp_path, content, expected):
    assert said(tmp_path, content).startswith(expected)


def test_a_table_that_is_not_there_is_not_called_one(tmp_path):
    with pytest.raises(FormatError, match=r"none\.csv: expected an episodes file, but there is no such file$"):
        dp.read_episodes(tmp_path / "none.csv")


def test_what_may_help_is_said(tmp_path):
    assert said(tmp_path, HEADER.replace(",", ";")).endswith("(expected commas between columns)")
    assert "(under another name? --column action=THEIRS" in said(tmp_path, HEADER.replace("action", "did"))


@pytest.mark.parametrize(
    "change",
    [str, lambda text: "\ufeff" + text, lambda text: text.replace("\n", "\r\n"), lambda text: text[:-1]],
    ids=["plain", "mark", "returns", "no end"],
)
def test_ways_to_write_the_same_lines(tmp_path, change):
    path = tmp_path / "log.csv"
    path.write_bytes(change(HEADER + '0,0,"x\ny",,"go, now",1\n').encode())
    found = read_table(path, 0.9)
    assert found.agents[0].name == ("x\r\ny" if "\r" in change("\n") else "x\ny")
    assert (found.agents[0].actions, found.rewards.tolist()) == (("go, now",), [1.0])


def logged(tmp_path, actions, **options):
    path = tmp_path / "log.csv"
    path.write_text(HEADER + "".join(f"0,{t},x,{'' if t == 0 else 'o'},{a},1\n" for t, a in enumerate(actions)))
    return read_table(path, 0.9, **options)


@pytest.mark.parametrize(
    ("actions", "alphabet", "numbers"),
    [
        (("2", "0"), ("0", "1", "2"), [2, 0]),
        (("2.0", "0", "1.00"), ("0", "1", "2"), [2, 0, 1]),  # whole numbers beside an empty cell, as some tools write
        (("go", "1st", "v2"), ("1st", "go", "v2"), [1, 0, 2]),
    ],
)
def test_numbers_and_labels(tmp_path, actions, alphabet, numbers):
    found = logged(tmp_path, actions)
    assert found.agents[0].actions == alphabet
    assert found.actions[:, 0].tolist() == numbers


@pytest.mark.parametrize("odd", ["007", "+3", "1e3", "0.5", "-2", " 1", ".5", "1."])
def test_odd_numbers_are_refused(tmp_path, odd):
    with pytest.raises(FormatError, match=r"row 1, column action: expected a label, or a whole number such as 12 \(or"):
        logged(tmp_path, ("2", odd))
    with pytest.raises(FormatError, match="row 1, column action: expected labels or whole numbers, not both"):
        logged(tmp_path, ("go", odd))


def test_numbers_among_labels_are_refused_unless_the_labels_are_known(tmp_path):
    with pytest.raises(FormatError, match=r"row 1, column action: expected labels or whole numbers, not both.*got '1'"):
        logged(tmp_path, ("go", "1"))
    agents = [Agent("x", ("stay", "go", "007"), ("o",))]
    assert logged(tmp_path, ("go", "0", "007", "2.0"), agents=agents).actions[:, 0].tolist() == [1, 0, 2, 2]
    with pytest.raises(FormatError, match=r"row 0, column action: expected an action of x \(stay, go, 007\), got '01'"):
        logged(tmp_path, ("01",), agents=agents)


def test_wrong_symbols_of_two_agents_name_their_rows(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(HEADER + "0,0,x,,1,1\n0,0,y,,go,1\n0,1,x,a,1,1\n0,1,y,1e3,go,1\n")
    with pytest.raises(FormatError, match="row 3, column observation: expected a label"):
        read_table(path, 0.9)
