"""`.dpomdp` files that are almost right."""

import re

from fuzz_inputs.odd import NAMES, NUMBERS


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
