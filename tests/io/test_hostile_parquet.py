"""Parquet files that contradict themselves, or say what no writer says, are refused at once and with little memory."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import decpomdp as dp

from .limited import EPISODES, limited
from .made_parquet import FALSE, INT, LIST, LONG, STRUCT, changed, inside, parts, struct, varint, write

MANY = 400_000_000
STEPS = 12


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "log.parquet"
    columns = {"episode": range(STEPS), "t": [0] * STEPS, "agent": ["a"] * STEPS, "observation": ["x"] * STEPS}
    pq.write_table(pa.table(columns | {"action": ["y"] * STEPS, "reward": [0.5] * STEPS}), path)
    assert dp.read_table(path, 0.9).steps == STEPS
    return path


@pytest.fixture
def recorded(tmp_path):
    path = tmp_path / "episodes.parquet"
    dp.write_episodes(dp.simulate("broadcast", episodes=1, horizon=1, seed=1), path)
    plain = pq.read_table(path)
    place = plain.schema.get_field_index("observation")
    plain = plain.set_column(place, "observation", plain["observation"].cast(pa.list_(pa.int16())))
    options = {"use_dictionary": False, "compression": "none", "write_statistics": False, "data_page_version": "2.0"}
    pq.write_table(plain, path, **options)
    assert dp.read_episodes(path).steps == 1
    return path


def with_group(footer, change):
    """The footer with another first group of rows."""
    kind, groups = inside(footer, 4)
    return changed(footer, f4=(kind, [change(groups[0]), *groups[1:]]))


@pytest.mark.parametrize("rows", [-1, 0, 5, 13, 1 << 33, 1 << 40])
@pytest.mark.parametrize("whose", ["group", "file", "both"])
def test_rows_that_contradict_the_pages(table, rows, whose):
    body, footer = parts(table)
    if whose != "file":
        footer = with_group(footer, lambda group: changed(group, f3=rows))
    if whose != "group":
        footer = changed(footer, f3=rows)
    write(table, body, footer)
    said = limited(table, 100)
    assert "expected" in said or "contradicts itself" in said


def test_a_footer_written_otherwise_is_read(table):
    body, footer = parts(table)
    write(table, body, footer)
    assert limited(table) == "read 12 1"


def page(way):
    """A page of MANY values, null lists all, which not every reader would see."""
    repeats, defines = varint(1 << 1) + b"\0" + varint((MANY - 1) << 1) + b"\1", varint(MANY << 1) + b"\2"
    few = [(1, INT, 2), (2, INT, 0), (3, INT, 3), (4, INT, 3)]
    sizes = [(5, INT, len(defines)), (6, INT, len(repeats)), (7, FALSE, None)]
    many = [(1, INT, MANY), (2, INT, MANY), (3, INT, 1), (4, INT, 0), *sizes]
    if way == "twice":
        many = [(1, INT, MANY), (1, LONG, 2), *many[1:]]
    if way == "beyond 16 bits":
        many = [(65537, INT, MANY), (1, LONG, 2), *many[1:]]
    packed = len(repeats + defines)
    header = [(1, INT, 3), (2, INT, packed), (3, INT, packed)]
    if way == "of two kinds":
        header.append((5, STRUCT, few))
    other = struct([(1, INT, 1), (2, INT, 0), (3, INT, 0), (5, STRUCT, few)]) if way == "behind an index" else b""
    return other + struct([*header, (8, STRUCT, many)]) + repeats + defines


WAYS = ["honest", "twice", "beyond 16 bits", "of two kinds", "behind an index", "in groups beyond 16 bits"]


@pytest.mark.parametrize("way", WAYS)
def test_values_that_are_hidden_from_those_who_count(recorded, way):
    body, footer = parts(recorded)
    hidden = page(way)

    def elsewhere(column):
        about = changed(inside(column, 3), f5=MANY if way in ("honest", WAYS[-1]) else 2, f4=0, f11=None)
        about = changed(about, f6=len(hidden), f7=len(hidden), f9=len(body), f12=None, f13=None, f16=None)
        return changed(column, f3=about, f4=None, f5=None, f6=None, f7=None)

    def change(group):
        kind, columns = inside(group, 1)
        return changed(group, f1=(kind, [elsewhere(c) if k == 2 else c for k, c in enumerate(columns)]))

    footer = with_group(footer, change)
    if way == WAYS[-1]:
        footer = [(65540 if field == 4 else field, kind, value) for field, kind, value in footer]
    write(recorded, body + hidden, footer)
    said = limited(recorded, 200, read=EPISODES)
    assert "expected" in said or "contradicts itself" in said


@pytest.mark.parametrize("groups", [1, 200])
def test_pages_without_values_are_not_walked_through_for_ever(recorded, groups):
    body, footer = parts(recorded)
    none = [(1, INT, 0), (2, INT, 0), (3, INT, 3), (4, INT, 3)]
    pages = struct([(1, INT, 0), (2, INT, 0), (3, INT, 0), (5, STRUCT, none)]) * 20_000

    def empty(column):
        about = changed(inside(column, 3), f5=1, f6=len(pages), f7=len(pages), f9=len(body), f11=None)
        return changed(column, f3=about)

    (group, *_) = inside(footer, 4)[1]
    group = changed(group, f1=(STRUCT, [empty(column) for column in inside(group, 1)[1]]), f3=1)
    write(recorded, body + pages, changed(footer, f3=groups, f4=(STRUCT, [group] * groups)))
    said = limited(recorded, 200, seconds=5, read=EPISODES)
    assert "expected" in said or "contradicts itself" in said


def test_a_huge_footer_is_refused_before_it_is_parsed(table):
    body, footer = parts(table)
    more = [(40, LIST, (INT, [0])), (41, 8, bytes(1 << 25))]
    write(table, body, [*footer, *more])
    assert limited(table).startswith("expected a list of contents of at most 16777216 bytes, got ")


def test_very_many_columns_take_little_time(table):
    wide = pq.read_table(table)
    for number in range(3000):
        wide = wide.append_column(f"action.{number}", wide["action"])
    pq.write_table(wide, table)
    assert limited(table, seconds=10) == "read 12 1"


def test_lists_that_are_not_as_many_as_the_rows(tmp_path):
    """Three lists in a group of two rows: the third would slide into the next group, and the last be left out."""
    path = tmp_path / "episodes.parquet"
    dp.write_episodes(dp.simulate("broadcast", episodes=1, horizon=4, seed=1), path)
    plain = pq.read_table(path).replace_schema_metadata({"decpomdp": pq.read_schema(path).metadata[b"decpomdp"]})
    options = {"use_dictionary": False, "compression": "none", "write_statistics": False}
    pq.write_table(plain, path, row_group_size=2, **options)
    long = tmp_path / "long.parquet"
    pq.write_table(plain.slice(0, 3), long, **options)
    body, footer = parts(path)
    other, there = parts(long)
    place = plain.schema.get_field_index("action")
    about = inside(inside(inside(there, 4)[1][0], 1)[1][place], 3)
    shift = len(body) - inside(about, 9)
    moved = changed(about, f9=inside(about, 9) + shift)
    part = other[inside(about, 9) : inside(about, 9) + inside(about, 7)]

    def change(group):
        kind, columns = inside(group, 1)
        new = [changed(c, f3=moved) if k == place else c for k, c in enumerate(columns)]
        return changed(group, f1=(kind, new))

    write(path, body + part, with_group(footer, change))
    said = limited(path, read=EPISODES)
    assert (
        "expected as many lists as rows" in said or "expected length 4 but got length 5" in said
    )  # as pyarrow 20 has it


def test_a_name_with_very_many_dots_takes_little_time(table):
    wide = pq.read_table(table)
    pq.write_table(wide.append_column("." * 300_000, wide["action"]), table)
    assert limited(table, seconds=5) == "read 12 1"
