"""Long tables that are almost right, CSV and Parquet."""

import csv
import io

import pyarrow as pa

from fuzz_inputs.odd import NAMES, NUMBERS, flipped
from fuzz_inputs.parquet_files import parquet


def make_rows(rng):
    """A long table as a list of rows, the header first; every cell a text."""
    header = ["episode", "t", "agent", "observation", "action", "reward"]
    more = [name for name in ("action_prob", "terminated", "truncated") if rng.random() < 0.5]
    labels = rng.choice((["0", "1"], ["go", "stay"], ["0.0", "1.0"], ["<b>", "a,b"], ["1", "go"], ["07", "1e3"]))
    rows = [header + more]
    for k in range(rng.choice((1, 2, 3))):
        length = rng.choice((1, 2, 3))
        for t in range(length):
            for agent in ("x", "y")[: rng.choice((1, 2, 2))]:
                seen = "" if t == 0 and rng.random() < 0.7 else rng.choice((*labels, "-1"))
                cells = [str(k), str(t), agent, seen, rng.choice(labels), rng.choice(("1", "1", "", "1e300", "0.5"))]
                last = "true" if t == length - 1 else "false"
                usual = {"action_prob": rng.choice(("0.5", "1", "", "1e-40")), "terminated": last, "truncated": "0"}
                rows.append(cells + [usual[name] for name in more])
    return rows


def make_csv(rng):
    return _csv(make_rows(rng))


def _csv(rows):
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode(errors="surrogateescape")


def change_csv(data, rng):
    try:
        rows = list(csv.reader(io.StringIO(data.decode(errors="surrogateescape"))))
    except csv.Error:
        return flipped(data, rng)
    return _csv(_changed_rows(rows or [[]], rng))


def _changed_rows(rows, rng):
    at, way = rng.randrange(len(rows)), rng.randrange(7)
    if way == 0:
        del rows[at]
    elif way == 1:
        rows.append(list(rows[at]))
    elif way == 2:
        rows[1:] = rng.sample(rows[1:], len(rows[1:]))
    elif way == 3 and rows[at]:
        column = rng.randrange(len(rows[at]))
        for row in rows:
            del row[column : column + 1]
    elif rows[at]:
        column = rng.randrange(len(rows[at]))
        rows[at][column] = rng.choice(
            (rng.choice(NAMES), rng.choice(NUMBERS), rng.choice(rows)[column:][:1] or [""], "")
        )
        rows[at][column] = rows[at][column] if isinstance(rows[at][column], str) else rows[at][column][0]
    return rows


def make_table(rng):
    header, *rows = make_rows(rng)
    columns = {name: [row[place] or None for row in rows] for place, name in enumerate(header)}
    return parquet(pa.table({name: _typed(name, cells, rng) for name, cells in columns.items()}), rng)


def _typed(name, cells, rng):
    """A column of texts as whole numbers or numbers, if it can be and by chance."""
    kinds = {
        "t": [pa.int32(), pa.int64(), pa.uint8(), pa.float64()],
        "reward": [pa.float64(), pa.float32(), pa.float16()],
    }
    for kind in rng.sample([*kinds.get(name, []), pa.int16(), pa.float64(), pa.string(), pa.large_string()], 2):
        try:
            return pa.array(cells, pa.string()).cast(kind)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue
    return pa.array(cells, pa.string())
