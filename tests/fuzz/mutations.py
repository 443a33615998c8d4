"""Input that is almost right: pieces of the grammars, changed here and there, so that checks beyond the first are met.

`mutate(target, data, rng)` gives new bytes for a target of `targets.py`, made from `data` or afresh. Everything random
comes from `rng`, a `random.Random`: that of hypothesis, which can shrink, or one with a seed.
"""

import io
import json
import re

NAMES = [
    "a", "b", "listen", "uniform", "identity", "*", "0", "1", "007", "-1", "1.0", "1e0", "nan", "inf", "agent1",
    "../../etc/passwd", "<script>alert(1)</script>", "$(reboot)", "`id`", "\x1b[2J", "é", "\u202e", "\u2028", "\x85",
    "a b", 'a"b', "a'b", "a\\", "a\nb", "--out", "x" * 300, "T", "R", ":", "#", "", " ", "{}", "%s", "\x7f", "\uff11",
]  # fmt: skip
NUMBERS = [
    "0", "1", "0.5", "0.25", "1.0000001", "0.9999999", "1.000002", "-0", "-0.0", "-1", "2", "1e300", "-1e300",
    "1.7976931348623157e308", "1e309", "-1e309", "5e-324", "1e-310", "nan", "inf", "-inf", "0x1p-2", "1_000", ".5",
    "5.", "+1", "1e", "e", ".", "1e-7", "0.33333333", "1" * 30, "1" * 400, "0.1e1", "\uff11", "1,5",
]  # fmt: skip
ODD = [
    None, True, False, 0, 1, -1, 2, 0.5, -0.0, 1e-7, 1 + 1e-7, 1 - 1e-7, 1 + 2e-6, 5e-324, 1e300, -1e300, 10**30,
    10**400, 2**31, 2**63, float("nan"), float("inf"), -float("inf"), "", "x", "1", "\ud800", "\0", "a\nb", "\x1b[2J",
    "<b>", "../..", [], [[]], {}, [1.0], [0.5, 0.5], ["a"], ["a", "a"], {"format": 1}, [[[[1.0]]]], "nan", 1.5,
]  # fmt: skip


def mutate(target, data, rng):
    """New bytes for this target."""
    change = rng.random()
    if change < 0.05:
        return flipped(data, rng)
    if change < 0.35:
        return CHANGES[target](MAKERS[target](rng), rng)
    if change < 0.4:
        return MAKERS[target](rng)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        data = CHANGES[target](data, rng)
    return data


def flipped(data, rng):
    """Bytes changed, cut out, doubled or cut off, whatever they mean."""
    data = bytearray(data or b"\0")
    for _ in range(rng.choice((1, 1, 2, 8))):
        at = rng.randrange(len(data) or 1)
        way = rng.randrange(5)
        if way == 0 and data:
            data[at] ^= 1 << rng.randrange(8)
        elif way == 1:
            data[at : at + 1] = bytes([rng.randrange(256)])
        elif way == 2:
            del data[at : at + rng.randrange(1, 9)]
        elif way == 3:
            data[at:at] = data[at : at + rng.randrange(1, 33)]
        else:
            data = data[:at] if rng.random() < 0.3 else data
    return bytes(data)


# -- .dpomdp -----------------------------------------------------------------------------------------------------------


def make_dpomdp(rng):
    """A whole file with random sizes and statements; most rows sum to one."""
    agents, s = rng.choice((1, 1, 2, 2, 3)), rng.choice((1, 2, 2, 3))
    labels = _labels(rng, "s", s)
    actions = [_labels(rng, "a", rng.choice((1, 2, 3))) for _ in range(agents)]
    seen = [_labels(rng, "o", rng.choice((1, 2, 2))) for _ in range(agents)]
    head = [
        f"agents: {agents}" if rng.random() < 0.7 else f"agents: {' '.join('xyz'[:agents])}",
        f"discount: {rng.choice(('0.9', '1', '0', '1.0', '0.999999', '.5'))}",
        f"values: {rng.choice(('reward', 'reward', 'cost'))}",
        f"states: {_told(labels)}",
        *_start(rng, labels),
        *("actions:", *map(_told, actions)),
        *("observations:", *map(_told, seen)),
    ]
    body = ["T: * :", "uniform", "O: * :", "uniform"] if rng.random() < 0.8 else []
    for _ in range(rng.randrange(7)):
        body += _statement(rng, labels, actions, seen)
    return "\n".join(head + body).encode(errors="replace") + b"\n" * rng.randrange(2)


def _labels(rng, letter, count):
    return [str(i) for i in range(count)] if rng.random() < 0.4 else [f"{letter}{i}" for i in range(count)]


def _told(labels):
    return str(len(labels)) if labels[0] == "0" else " ".join(labels)


def _start(rng, labels):
    some = " ".join(rng.sample(labels, rng.randrange(1, len(labels) + 1)))
    return rng.choice((
        ["start: uniform"], ["start:", "uniform"], [f"start: {some}"], [f"start include: {some}"],
        [f"start exclude: {some}"], ["start:", _row(rng, len(labels))], [f"start: {_row(rng, len(labels))}"],
    ))  # fmt: skip


def _row(rng, size):
    """A distribution, mostly."""
    if rng.random() < 0.1:
        return " ".join(rng.choice(NUMBERS) for _ in range(size))
    parts = [rng.choice((0, 1, 1, 2, 5)) for _ in range(size)]
    total = sum(parts) or 1
    parts = [*parts[:-1], parts[-1] if sum(parts) else 1]
    return " ".join(repr(part / total) for part in parts)


def _statement(rng, states, actions, seen):
    """One statement of any form."""
    letter = rng.choice("TORR")
    s, y = len(states), _product(seen)
    fields = [_joint(rng, actions), _one(rng, states)]
    fields += [] if letter != "R" else [_one(rng, states)]
    last = _one(rng, states) if letter == "T" else _joint(rng, seen)
    columns, form = s if letter == "T" else y, rng.randrange(4)
    if form == 0:
        return [f"{letter}: {' : '.join([*fields, last])} : {rng.choice(NUMBERS)}"]
    if form == 1:
        start = f"{letter}: {' : '.join(fields)}" + rng.choice((" :", "", " : "))
        return [start, "uniform" if rng.random() < 0.3 else _row(rng, columns)]
    start = f"{letter}: {' : '.join(fields[:-1])}" + rng.choice((" :", ""))
    if form == 2:
        return rng.choice(([start, "uniform"], [start, "identity"], [f"{letter}: {fields[0]} : identity"]))
    return [start, *(_row(rng, columns) for _ in range(s))]


def _product(alphabets):
    total = 1
    for labels in alphabets:
        total *= len(labels)
    return total


def _one(rng, labels):
    return rng.choice(("*", rng.choice(labels), str(rng.randrange(len(labels)))))


def _joint(rng, alphabets):
    if rng.random() < 0.4:
        return rng.choice(("*", str(rng.randrange(_product(alphabets)))))
    return " ".join(_one(rng, labels) for labels in alphabets)


def change_dpomdp(data, rng):
    """One change of lines, fields, words or numbers."""
    lines = data.decode(errors="surrogateescape").split("\n")
    at, way = rng.randrange(len(lines)), rng.randrange(10)
    if way == 0:
        del lines[at]
    elif way == 1:
        lines.insert(at, lines[rng.randrange(len(lines))])
    elif way == 2:
        other = rng.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    elif way == 3:
        lines[at] = _replaced(lines[at], r"[^\s:]+", rng.choice(NAMES + NUMBERS), rng)
    elif way == 4:
        lines[at] = _replaced(lines[at], r"[0-9.eE+-]+", rng.choice(NUMBERS), rng)
    elif way == 5:
        words = data.decode(errors="surrogateescape").split()
        lines[at] = _replaced(lines[at], r"[^\s:]+", rng.choice(words or ["*"]), rng)
    elif way == 6:
        lines[at] += rng.choice((" # said", "#", " ", "\r", "\t", ":", " :", "\x0b", "\u2003"))
    elif way == 7:
        lines[at : at + 1] = lines[at].split(":", 1)
    elif way == 8:
        lines[at:at] = rng.choice((["T: * :", "uniform"], ["O: * :", "uniform"], ["R: * : * : * : * : 1e308"], [""]))
    else:
        lines.append(rng.choice(("T: 0 : 0 : 0 : 1", "O: * : * : * : 1", "R: * : * :", "T: * : identity", "T: *")))
    return "\n".join(lines).encode(errors="surrogateescape")


def _replaced(line, what, new, rng):
    found = list(re.finditer(what, line))
    if not found:
        return line + new
    one = rng.choice(found)
    return line[: one.start()] + new + line[one.end() :]


# -- JSON --------------------------------------------------------------------------------------------------------------


def make_team(rng, whole=True):
    agents = [_agent(rng, n) for n in range(rng.choice((1, 2, 3)) if whole else 1)]
    told = {"problem": rng.choice(("p", "", "<b>", "../x")), "discount": rng.choice((0, 0.5, 0.999999, 1))}
    if whole:
        return _dumped({"format": "decpomdp-team/1", **told, "agents": agents})
    return _dumped({"format": "decpomdp-controller/1", **told, "agent": agents[0]})


def _agent(rng, n):
    i, a, o = rng.choice((1, 1, 2, 3)), rng.choice((1, 2)), rng.choice((1, 2))
    result = {
        "name": rng.choice([name for name in NAMES if name]) + str(n),
        "actions": _distinct(rng, a),
        "observations": _distinct(rng, o),
        "initial": _part(rng, i),
        "action": [_part(rng, a) for _ in range(i)],
        "transition": [[[_part(rng, i) for _ in range(o)] for _ in range(a)] for _ in range(i)],
    }
    if rng.random() < 0.3:
        result["initial_given"] = [_part(rng, i) for _ in range(o)]
    return result


def _distinct(rng, count):
    return rng.sample([name for name in NAMES if name], count)


def _part(rng, size):
    parts = [rng.choice((0, 1, 3, 1e-7, 5e-324)) for _ in range(size)]
    total = sum(parts)
    return [part / total for part in parts] if total > 0.5 else [1.0] + [0.0] * (size - 1)


def _dumped(value):
    return json.dumps(value).encode()


def make_controller(rng):
    return make_team(rng, whole=False)


def change_json(data, rng):
    """One value, name or list somewhere inside is changed."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return flipped(data, rng)
    holder = {"": document}
    place, key = _place(holder, rng)
    way = rng.randrange(8)
    if way < 3:
        place[key] = rng.choice(ODD)
    elif way == 3:
        del place[key]
    elif way == 4 and isinstance(place[key], list) and place[key]:
        place[key].append(rng.choice(place[key]))
    elif way == 5 and isinstance(place[key], list):
        rng.shuffle(place[key])
    elif way == 6 and isinstance(place[key], dict):
        place[key][rng.choice(NAMES)] = rng.choice(ODD)
    elif isinstance(place[key], str):
        place[key] = rng.choice(NAMES)
    elif isinstance(place[key], float | int) and abs(place[key]) < 1e300:
        place[key] = place[key] + rng.choice((1e-7, -1e-7, 2e-6, 1, -1, 1e-13))
    text = json.dumps(holder.get(""), ensure_ascii=rng.random() < 0.5)
    if rng.random() < 0.05:  # a name twice, deep nesting, a number of other writing
        text = rng.choice(
            (text.replace('"format"', '"format": 1, "format"'), "[" * 3000 + text, text.replace("1", "1e0"))
        )
    return text.encode(errors="surrogatepass")


def _place(holder, rng):
    """A random place inside: what holds it, and its key there."""
    place, key = holder, ""
    while isinstance(place[key], dict | list) and place[key] and rng.random() < 0.85:
        place = place[key]
        key = rng.choice(list(place)) if isinstance(place, dict) else rng.randrange(len(place))
    return place, key


def make_settings(rng):
    from fuzz.targets import kinds_of_settings

    if rng.random() < 0.15:
        text = rng.choice(("fixed:", "em:", "dp", "em", "stick-breaking", "")) + rng.choice(["", *NUMBERS])
        return _dumped({"prior": text})
    from dataclasses import fields

    name, kind = rng.choice(sorted(kinds_of_settings().items()))
    some = rng.sample(fields(kind), rng.randrange(1, min(4, len(fields(kind)) + 1)))
    return _dumped({"kind": name, "values": {field.name: _setting(field.default, rng) for field in some}})


def _setting(usual, rng):
    if rng.random() < 0.5 and isinstance(usual, float | int):
        return usual * rng.choice((1, 2, 0.5, -1, 0, 1e300))
    return rng.choice(ODD)


def make_begun(rng):
    told = {
        "format": "decpomdp-begun/1",
        "arguments": ["learn", "dectiger"],
        "folder": rng.choice(("/", "\0", "\ud800")),
    }
    return _dumped({**told, "files": {"a": "0"}, "versions": {"python": "3"}})


def make_run(rng):
    """A run.json with every field that there is."""
    return _dumped({
        "format": "decpomdp-run/1", "stopped": rng.choice(NAMES), "seconds": rng.choice((0, 1.5, 1e300)),
        "nodes": [rng.choice((1, 2, -1, 10**9)) for _ in range(2)], "problem": rng.choice(NAMES),
        "source": rng.choice(NAMES), "method": rng.choice(NAMES), "digest": "", "discount": 0.9, "seed": 1, "steps": 3,
        "value": {"value": rng.choice((1.0, None, 1e300)), "method": "exact", "error": 1e-9, "standard_error": None},
        "upper_bound": rng.choice((None, 2, 1e308)), "bound": None, "sample_size": None,
        "posterior": rng.choice((None, _belief(rng))), "settings": {rng.choice(NAMES): rng.choice(ODD)},
        "versions": {"numpy": "<b>"},
    })  # fmt: skip


def _belief(rng):
    number = (0, 1, 2, -1, 10**6)
    node = {
        "node": rng.choice(number),
        "visits": rng.choice((0.5, -1, 1e300)),
        "actions": [[rng.choice(number), 0.5, rng.choice((0.1, 2)), 0.9]],
        "time": rng.choice((None, [0.1, 0.2, 0.3])),
    }
    agent = {"same_nodes": rng.random() < 0.5, "nodes": [node] * rng.randrange(3)}
    return {"draws": rng.choice(number), "level": 0.9, "agents": [agent] * rng.randrange(4)}


# -- tables ------------------------------------------------------------------------------------------------------------


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
    import csv

    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode(errors="surrogateescape")


def change_csv(data, rng):
    import csv

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


def _parquet(table, rng):
    import pyarrow.parquet as pq

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


def make_table(rng):
    import pyarrow as pa

    header, *rows = make_rows(rng)
    columns = {name: [row[place] or None for row in rows] for place, name in enumerate(header)}
    return _parquet(pa.table({name: _typed(pa, name, cells, rng) for name, cells in columns.items()}), rng)


def _typed(pa, name, cells, rng):
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


def make_episodes(rng):
    """An episodes file as another tool could write it."""
    import pyarrow as pa

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
    return _parquet(_arrow(pa, columns, rng).replace_schema_metadata({"decpomdp": json.dumps(about)}), rng)


def _arrow(pa, columns, rng):
    """Python values as a table; what Arrow cannot put into one column becomes text."""
    made = {}
    for name, cells in columns.items():
        try:
            made[name] = pa.array(cells)
            if rng.random() < 0.1:
                made[name] = made[name].cast(rng.choice(_kinds(pa)))
        except (pa.ArrowException, OverflowError, UnicodeEncodeError, TypeError, ValueError):
            made.setdefault(name, pa.array([ascii(cell) for cell in cells]))
    return pa.table(made)


def _kinds(pa):
    """Types that a column may have."""
    plain = (pa.int8(), pa.float16(), pa.string(), pa.uint64(), pa.bool_(), pa.large_string(), pa.binary())
    rare = (pa.timestamp("ns"), pa.timestamp("s"), pa.date32(), pa.date64(), pa.time64("ns"), pa.duration("ns"))
    return (*plain, *rare, pa.decimal128(9, 2), pa.dictionary(pa.int8(), pa.string()))


def change_parquet(data, rng):
    """A cell, a column, a row or the metadata are changed; or bytes, of which most lie in the footer."""
    import pyarrow as pa
    import pyarrow.parquet as pq

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
        return _parquet(_arrow(pa, columns, rng).replace_schema_metadata(about), rng)
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
    import pyarrow as pa

    rows = rng.randrange(4)
    names = [*rng.sample(("iteration", "bound", "value", "nodes", "seconds", "steps", "return"), 4), rng.choice(NAMES)]
    return _parquet(_arrow(pa, {name: [rng.choice(ODD[:20]) for _ in range(rows)] for name in names}, rng), rng)


# -- checkpoints -------------------------------------------------------------------------------------------------------


def make_checkpoint(rng):
    import msgspec

    state = msgspec.msgpack.encode([_packed(rng, 0) for _ in range(rng.randrange(10))])
    body = {"number": rng.choice((0, 1, 2**62)), "work": rng.choice(("work", "work", "other")), "state": state}
    return bytes([rng.randrange(256)]) + msgspec.msgpack.encode(body)


def _packed(rng, depth):
    """Something that may stand in a state: arrays, lists of them, numbers, texts."""
    way = rng.randrange(6 if depth < 3 else 4)
    if way == 0:
        kind = rng.choice(("<f8", "<i8", "|b1", "O", "<U3", "f8,i4", "(2,)f8", "V8", "", "{", "<M8[s]", ">f8", "f99"))
        return [
            kind,
            rng.choice(([2], [1, 2], [-1], [2**40], [0], 2, None)),
            rng.choice((bytes(16), b"", "x", bytes(7))),
        ]
    if way == 1:
        return rng.choice((0, 1, 1.5, True, None, -1, 2**63))
    if way == 2:
        return rng.choice(("", "x", "iteration"))
    if way == 3:
        return {rng.choice(("a", "bound")): rng.choice((1, None, 0.5, "x"))}
    return [_packed(rng, depth + 1) for _ in range(rng.randrange(4))]


def change_checkpoint(data, rng):
    """One value inside the state is changed; digests fit again (see the target)."""
    import msgspec

    try:
        envelope = msgspec.msgpack.decode(data[1:])
        holder = {"": msgspec.msgpack.decode(envelope["state"])}
    except (msgspec.MsgspecError, KeyError, TypeError, ValueError, RecursionError):
        return flipped(data, rng)
    place, key = _place(holder, rng)
    way = rng.randrange(4)
    if way == 0 and place is not holder:
        del place[key]
    elif way == 1 and isinstance(place[key], bytes):
        place[key] = flipped(place[key], rng)
    else:
        place[key] = _packed(rng, 1)
    try:
        body = {**envelope, "state": msgspec.msgpack.encode(holder[""])}
        return bytes([rng.randrange(128) if rng.random() < 0.3 else data[0]]) + msgspec.msgpack.encode(body)
    except (OverflowError, TypeError, ValueError):
        return flipped(data, rng)


MAKERS = {
    "dpomdp": make_dpomdp,
    "team": make_team,
    "controller": make_controller,
    "episodes": make_episodes,
    "table_csv": make_csv,
    "table_parquet": make_table,
    "settings": make_settings,
    "run_record": make_run,
    "run_trace": make_trace,
    "run_team": make_team,
    "begun": make_begun,
    "checkpoint": make_checkpoint,
}
CHANGES = {
    "dpomdp": change_dpomdp,
    "team": change_json,
    "controller": change_json,
    "episodes": change_parquet,
    "table_csv": change_csv,
    "table_parquet": change_parquet,
    "settings": change_json,
    "run_record": change_json,
    "run_trace": change_parquet,
    "run_team": change_json,
    "begun": change_json,
    "checkpoint": change_checkpoint,
}
