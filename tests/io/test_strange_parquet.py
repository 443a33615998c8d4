"""Honest Parquet files that other tools write, and files that stand for more than they may."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import decpomdp as dp
from decpomdp.core import Agent, Episodes, FormatError
from decpomdp.io import episodes as written_by
from decpomdp.io import opening, parquet_bounds
from decpomdp.io.runs import read_trace

from . import made_parquet as hand
from .limited import limited
from .made_episodes import episodes, refusal, with_column, written

ROWS = 6


def table(rows=ROWS, **other):
    columns = {"episode": range(rows), "t": [0] * rows, "agent": ["ann"] * rows, "observation": ["dark"] * rows}
    return pa.table(columns | {"action": ["go"] * rows, "reward": [1.0] * rows} | other)


def read(path, held, **options):
    pq.write_table(held, path, **options)
    return dp.read_table(path, 0.9)


def refused(path, held):
    with pytest.raises(FormatError) as caught:
        read(path, held)
    return caught.value.message


# What other tools write


def narrow(names):
    return pa.DictionaryArray.from_arrays(pa.array(range(len(names)), pa.int8()), pa.array(names))


def test_categories_of_every_group_of_rows_are_put_together(path):
    """Each has fewer than an int8 can number, all of them more."""
    parts = [table(100, episode=narrow([f"run{part}-{k}" for k in range(100)])) for part in range(3)]
    with pq.ParquetWriter(path, parts[0].schema) as writer:
        for part in parts:
            writer.write_table(part)
    assert dp.read_table(path, 0.9).count == 300


def test_more_categories_than_their_type_can_number_are_named(path):
    parts = pa.concat_tables([table(100, episode=narrow([f"run{k}-{part}" for k in range(100)])) for part in range(2)])
    said = refused(path, parts)
    assert said.startswith("rows 0 to 199, column episode: expected readable values, got numbers of categories that do")
    assert said.endswith("cast it to text first")


def test_decimal_rewards_are_the_nearest_numbers(path):
    rewards = [Decimal(text) for text in ("0.10", "-2.30", "1234567890.12", "0.07", "4.35", "99999999999.99")]
    found = read(path, table(reward=pa.array(rewards, pa.decimal128(18, 2))))
    assert found.rewards.tolist() == [float(reward) for reward in rewards]
    held = pa.array(rewards * 20, pa.decimal128(18, 2))
    whole = written(path)
    pq.write_table(with_column(whole, "reward", held.slice(0, len(whole))).replace_schema_metadata(about(whole)), path)
    assert dp.read_episodes(path).rewards[1] == -2.3


def about(whole):
    """The metadata of a file that was changed on purpose."""
    return {key: value for key, value in whole.schema.metadata.items() if b"digest" not in key}


def test_a_trace_has_no_decimals(tmp_path):
    pq.write_table(pa.table({"bound": pa.array([Decimal("0.1")])}), tmp_path / "trace.parquet")
    with pytest.raises(FormatError, match=r"column bound: expected numbers, texts or lists, got decimal128\(1, 1\)"):
        read_trace(tmp_path / "trace.parquet")


@pytest.mark.parametrize("kind", [pa.bool_(), pa.timestamp("us"), pa.date32()])
def test_labels_of_other_types_are_to_be_cast(path, kind):
    said = f"column episode: expected labels or whole numbers (cast others to text first), got {kind}"
    assert (
        refused(
            path,
            table(
                episode=pa.array([1] * ROWS, pa.int64())
                .cast(pa.int32() if kind == pa.date32() else pa.int64())
                .cast(kind)
            ),
        )
        == said
    )


def test_nan_is_no_observation(path):
    seen = [float("nan"), 1.0, 2.0, None, 0.0, 1.0]
    assert read(path, table(observation=seen)).observations.ravel().tolist() == [-1, 1, 2, -1, 0, 1]
    assert "column action: expected a label or a whole number, got nan" in refused(path, table(action=seen))


def test_fractions_are_labels_where_they_are_known(path):
    agents = [Agent("ann", ("go",), ("0.5", "1.0"))]
    pq.write_table(table(observation=[0.5, 1.0] * 3), path)
    assert dp.read_table(path, 0.9, agents=agents).observations.ravel().tolist() == [0, 1] * 3


def test_a_column_whose_name_begins_like_that_of_lists(path):
    whole = written(path)
    pq.write_table(whole.append_column("action.note", pa.array(["n"] * len(whole))), path)
    assert dp.read_episodes(path) == episodes()


@pytest.mark.parametrize(
    ("values", "kind", "got"), [([2**53, 2**53 + 1], pa.int64(), 2**53 + 1), ([0, 2**64 - 1], pa.uint64(), 2**64 - 1)]
)
def test_whole_rewards_that_a_float_cannot_hold(path, values, kind, got):
    whole = written(path)
    pq.write_table(with_column(whole, "reward", [*values, *[0] * (len(whole) - 2)], kind), path)
    said = refusal(path)
    assert said.startswith("row 1 (")
    assert said.endswith(f"column reward: expected a whole number up to {2**53}, got {got}")


@pytest.mark.filterwarnings("error")
def test_signalling_nan_is_unknown(path):
    odd = np.full(ROWS, 0x7F800001, np.uint32).view(np.float32)
    assert np.isnan(read(path, table(action_prob=odd)).behaviour).all()


def test_a_folder_of_parts_is_not_taken_for_another_thing(tmp_path):
    (tmp_path / "parts/agent=x").mkdir(parents=True)
    pq.write_table(table(), tmp_path / "parts/agent=x/0.parquet")
    with pytest.raises(FormatError, match=r"\(with metadata.json\), got Parquet files; join them to one"):
        dp.read_minari(tmp_path / "parts", 0.9)


# What a file may stand for


def test_many_agents_that_do_much_the_same_are_read(path):
    """More than a hundred times the file, and more than 512 MB."""
    agents = tuple(Agent(f"a{n}", ("stay", "go"), ("low", "high")) for n in range(400))
    shape, rng = (30_000, 400), np.random.default_rng(0)
    held = Episodes(
        agents=agents,
        offsets=np.arange(0, shape[0] + 1, 100),
        observations=rng.integers(0, 2, shape[0], np.int16)[:, None] * np.ones(400, np.int16),
        actions=np.zeros(shape, np.int16),
        behaviour=np.full(shape, 0.5, np.float32),
        rewards=np.zeros(shape[0]),
        discount=0.9,
        terminated=np.zeros(shape[0] // 100, bool),
    )
    dp.write_episodes(held, path)
    assert 3 * shape[0] * shape[1] * opening.WIDTH > max(1 << 29, 100 * path.stat().st_size)
    assert dp.read_episodes(path) == held


def test_a_table_that_stands_for_too_much_can_be_written_anew(path, monkeypatch):
    rule = opening.Rule(100_000, 10, opening.DATA.hint)
    monkeypatch.setattr(parquet_bounds.check_columns, "__defaults__", (rule,))
    held = table(20_000)
    with pytest.raises(FormatError, match=r"may stand for .* got 20000 rows of .*; write it anew without compression"):
        read(path, held.set_column(0, "episode", held["episode"].cast(pa.int32())), compression="zstd")
    assert read(path, held, compression="none", use_dictionary=False).count == 20_000


def test_what_is_written_can_be_read_however_well_it_packs(path, monkeypatch):
    rule = opening.Rule(1000, 10)
    monkeypatch.setattr(parquet_bounds.check_columns, "__defaults__", (rule,))
    held = dp.simulate("dectiger", episodes=200, horizon=20, seed=1)
    still = Episodes(
        agents=held.agents,
        offsets=held.offsets,
        observations=np.zeros_like(held.observations),
        actions=np.zeros_like(held.actions),
        behaviour=np.ones_like(held.behaviour),
        rewards=np.zeros_like(held.rewards),
        discount=held.discount,
        terminated=held.terminated,
    )
    dp.write_episodes(still, path)
    with pytest.raises(FormatError, match="may stand for"):
        dp.read_episodes(path)
    monkeypatch.setattr(written_by, "DATA", rule)
    dp.write_episodes(still, path)
    assert dp.read_episodes(path) == still
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_texts_count_by_what_they_unpack_to_whatever_is_beside_them(path):
    """A column that nobody reads makes the file large; the texts take three times what they unpack to."""
    names = [("episode", pa.string()), ("t", pa.int64()), ("agent", pa.string()), ("observation", pa.string())]
    names += [("action", pa.string()), ("reward", pa.float64()), ("junk", pa.binary())]
    schema = pa.schema(names)
    packed = {name: "none" if name == "junk" else "zstd" for name in schema.names}
    options = {"compression": packed, "use_dictionary": False, "write_statistics": False}
    with pq.ParquetWriter(path, schema, **options) as writer:
        for part in range(4):
            texts = [f"{part * 1000 + k:08d}{'x' * 16_000}" for k in range(1000)]
            rest = [[0] * 1000, ["x"] * 1000, pa.nulls(1000, pa.string()), ["go"] * 1000, [1.0] * 1000]
            junk = np.random.default_rng(part).bytes(800_000)
            writer.write_table(pa.table([texts, *rest, [junk[800 * k : 800 * k + 800] for k in range(1000)]], schema))
    said = limited(path, 100, memory=300 << 20)
    assert said.startswith("expected what fits into memory (157286400 bytes), got 4000 rows of 19")


def test_many_empty_groups_of_rows_are_not_parsed(path):
    pq.write_table(table(), path)
    body, footer = hand.parts(path)
    kind, groups = hand.inside(footer, 4)
    empty = [(1, hand.LIST, (hand.STRUCT, [[] for _ in range(3)])), (2, hand.LONG, 0), (3, hand.LONG, 0)]
    hand.write(path, body, hand.changed(footer, f4=(kind, [*groups, *[empty] * 80_000])))
    said = "expected at most 250000 columns of groups of rows, got 80001 of 7; write larger groups of rows"
    assert limited(path, 60, seconds=5) == said


def test_many_columns_of_groups_of_rows_are_not_parsed(path):
    """As many as the list of contents has room for, whatever columns it names."""
    pq.write_table(table(), path)
    body, footer = hand.parts(path)
    kind, groups = hand.inside(footer, 4)
    wide = [(1, hand.LIST, (hand.STRUCT, [[(2, hand.LONG, 0)]] * 90_000)), (2, hand.LONG, 0), (3, hand.LONG, 0)]
    hand.write(path, body, hand.changed(footer, f4=(kind, [*groups, *[wide] * 4])))
    assert limited(path, 60, seconds=5) == (
        "expected at most 250000 columns of groups of rows, got more; write larger groups of rows"
    )


def test_a_large_list_of_contents_that_is_damaged(path):
    pq.write_table(table().replace_schema_metadata({"x": "x" * (2 << 20)}), path)
    assert dp.read_table(path, 0.9).count == 6
    body, footer = hand.parts(path)
    hand.write(path, body, [*footer, *(field for field in footer if field[0] == 4)])
    with pytest.raises(FormatError, match="expected a list of contents of Parquet, got a damaged one"):
        dp.read_table(path, 0.9)


def test_a_list_of_contents_has_to_fit(path, monkeypatch):
    pq.write_table(table(), path)
    monkeypatch.setattr(opening, "memory", lambda: 1000)
    with pytest.raises(FormatError, match=r"expected what fits into memory \(500 bytes\), got a list of contents of"):
        dp.read_table(path, 0.9)
