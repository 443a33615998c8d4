"""Parquet files that are almost right: episodes, traces, and changes of any."""

import io
import json

import pyarrow as pa
import pyarrow.parquet as pq

from fuzz_inputs.json_files import change_json
from fuzz_inputs.odd import NAMES, ODD, flipped


def parquet(table, rng):
    sink = io.BytesIO()
    options = {
        "compression": rng.choice(("none", "zstd", "snappy", "gzip")),
        "use_dictionary": rng.random() < 0.5,
        "write_page_checksum": rng.random() < 0.5,
        "data_page_version": rng.choice(("1.0", "2.0")),
        "row_group_size": rng.choice((1, 3, 1000)),
    }
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def make_episodes(rng):
    """An episodes file as another tool could write it."""
    agents, lengths = rng.choice((1, 2, 2)), [rng.choice((1, 2, 3)) for _ in range(rng.choice((1, 2)))]
    rows = [(k, t, t == length - 1) for k, length in enumerate(lengths) for t in range(length)]
    columns = {
        "episode_id": [k for k, _, _ in rows],
        "t": [t for _, t, _ in rows],
        "observation": [[rng.choice((0, 1, None if t == 0 else 0)) for _ in range(agents)] for _, t, _ in rows],
        "action": [[rng.randrange(2) for _ in range(agents)] for _ in rows],
        "action_prob": [rng.choice(([0.5] * agents, [None] * agents, None)) for _ in rows],
        "reward": [rng.choice((0.0, -1.5, 1e300, 5e-324)) for _ in rows],
        "terminated": [last and rng.random() < 0.5 for _, _, last in rows],
        "truncated": [last for _, _, last in rows],
    }
    about = {
        "format": "decpomdp-episodes/1",
        "agents": [{"name": f"n{n}", "actions": ["a", "b"], "observations": ["o", "p"]} for n in range(agents)],
        "discount": rng.choice((0, 0.9, 1)), "name": "p", "facts": {}, "software": "x",
    }  # fmt: skip
    return parquet(arrow(columns, rng).replace_schema_metadata({"decpomdp": json.dumps(about)}), rng)


def arrow(columns, rng):
    """Python values as a table; what Arrow cannot put into one column becomes text."""
    made = {}
    for name, cells in columns.items():
        try:
            made[name] = pa.array(cells)
            if rng.random() < 0.1:
                made[name] = made[name].cast(rng.choice(_kinds()))
        except (pa.ArrowException, OverflowError, UnicodeEncodeError, TypeError, ValueError):
            made.setdefault(name, pa.array([ascii(cell) for cell in cells]))
    return pa.table(made)


def _kinds():
    """Types that a column may have."""
    plain = (pa.int8(), pa.float16(), pa.string(), pa.uint64(), pa.bool_(), pa.large_string(), pa.binary())
    rare = (pa.timestamp("ns"), pa.timestamp("s"), pa.date32(), pa.date64(), pa.time64("ns"), pa.duration("ns"))
    return (*plain, *rare, pa.decimal128(9, 2), pa.dictionary(pa.int8(), pa.string()))


def change_parquet(data, rng):
    """A cell, a column, a row or the metadata are changed; or bytes, of which most lie in the footer."""
    if rng.random() < 0.3:
        return flipped(data, rng)
    try:
        table = pq.read_table(io.BytesIO(data))
        columns, metadata = table.to_pydict(), table.schema.metadata or {}
    except (pa.ArrowException, OSError, ValueError, TypeError, MemoryError, OverflowError):
        return flipped(data, rng)
    if table.num_rows > 10_000 or not columns:
        return flipped(data, rng)
    _change_columns(columns, rng)
    about = {}
    for key, value in metadata.items():
        if key in (b"decpomdp", b"decpomdp-digest") and rng.random() < 0.9:
            about[key] = change_json(value, rng) if rng.random() < 0.3 else value
    if rng.random() < 0.7:
        about.pop(b"decpomdp-digest", None)
    try:
        return parquet(arrow(columns, rng).replace_schema_metadata(about), rng)
    except (pa.ArrowException, OSError, ValueError, TypeError):
        return flipped(data, rng)


def _change_columns(columns, rng):
    name, way = rng.choice(list(columns)), rng.randrange(8)
    rows = len(columns[name])
    at = rng.randrange(rows or 1)
    if way == 0:
        del columns[name]
    elif way == 1:
        columns[rng.choice([*columns, *NAMES])] = list(columns[name])
    elif way == 2 and rows:
        for cells in columns.values():
            cells.append(cells[at])
    elif way == 3 and rows:
        for cells in columns.values():
            del cells[at]
    elif rows:
        cell = columns[name][at]
        if isinstance(cell, list) and cell and rng.random() < 0.7:
            cell[rng.randrange(len(cell))] = rng.choice(ODD)
        else:
            columns[name][at] = rng.choice((rng.choice(ODD), rng.choice(columns[name])))


def make_trace(rng):
    rows = rng.randrange(4)
    names = [*rng.sample(("iteration", "bound", "value", "nodes", "seconds", "steps", "return"), 4), rng.choice(NAMES)]
    return parquet(arrow({name: [rng.choice(ODD[:20]) for _ in range(rows)] for name in names}, rng), rng)
