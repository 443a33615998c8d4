"""What a `.dpomdp` text means, read as slowly and plainly as the format is described: every table as a whole.

No state is shared between lines but the tables themselves, R is held with all its four axes, and nothing is read
ahead. `meaning` gives the tables or says Refused; `Undecided` where rounding alone decides.
"""

import itertools
import math
import re

import numpy as np

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
CLOSE = 1e-6  # how far from 1 a sum may be
NARROW = 1e-13  # sums this near that border may fall on either side


class Refused(Exception):
    """The text is no model."""


class Undecided(Exception):
    """Rounding decides whether the text is a model."""


def said(text):
    """The labels of a text, and the tables T, O and R that its statements fill."""
    if "\0" in text:
        raise Refused("a NUL character")
    if re.search(r"\r(?!\n|\Z)", text):
        raise Refused("a carriage return without a line feed")
    lines = [line.partition("#")[0].strip() for line in text.removeprefix("\ufeff").split("\n")]
    rest = [line for line in lines if line]
    told = _header(rest)
    u, s, y = math.prod(map(len, told["actions"])), len(told["states"]), math.prod(map(len, told["observations"]))
    tables = {"T": np.zeros((u, s, s)), "O": np.zeros((u, s, y)), "R": np.zeros((u, s, s, y))}
    while rest:
        _statement(rest, told, tables)
    return told, tables


def meaning(text):
    """The model in a text, as a dictionary of labels and tables."""
    told, tables = said(text)
    told["transition"], told["observation"] = _rows(tables["T"]), _rows(tables["O"])
    joint = told["transition"][..., None] * told["observation"][:, None]  # [u, s, s1, y]
    with np.errstate(all="ignore"):
        told["reward"] = (joint * tables["R"]).sum(axis=(2, 3)) * told.pop("sign")
        told["scale"] = (joint * np.abs(tables["R"])).sum(axis=(2, 3))  # of what was added up
    return told


def number(word, low, high):
    """The number that a word is, within limits."""
    if not NUMBER.fullmatch(word.strip(" \t")) or not low <= float(word) <= high:
        raise Refused(f"{word!r} is not a number from {low} to {high}")
    return float(word)


def place(word, labels):
    """The place of a label, given by itself or by its place."""
    if word in labels:
        return labels.index(word)
    if not re.fullmatch("[0-9]+", word) or int(word) >= len(labels):
        raise Refused(f"{word!r} is none of {labels}")
    return int(word)


def places(text, labels):
    """All states that a field names."""
    return range(len(labels)) if text.strip() == "*" else [place(text.strip(), labels)]


def joint_places(text, alphabets):
    """All joint indices that a field names."""
    words, sizes = text.split(), [len(labels) for labels in alphabets]
    if words == ["*"]:
        return range(math.prod(sizes))
    if len(words) == len(alphabets):
        own = [places(word, labels) for word, labels in zip(words, alphabets, strict=True)]
        return [int(np.ravel_multi_index(parts, sizes)) for parts in itertools.product(*own)]
    if len(words) != 1:
        raise Refused(f"{text!r} is no joint index")
    return [place(words[0], [str(i) for i in range(math.prod(sizes))])]


def _take(rest):
    if not rest:
        raise Refused("the text ends too early")
    return rest.pop(0)


def _entry(rest, key):
    head, colon, text = _take(rest).partition(":")
    if head.split() != [key] or not colon:
        raise Refused(f"no {key}")
    return text


def _is_number(word):
    return bool(NUMBER.fullmatch(word))


def _labels(text):
    words = text.split()
    if not words or ":" in text:
        raise Refused("no labels")
    if len(words) == 1 and _is_number(words[0]):
        if not re.fullmatch("[0-9]+", words[0]) or not 0 < int(words[0][:30]) < 10**5:
            raise Refused("no count")
        return [str(i) for i in range(int(words[0]))]
    if len(set(words)) < len(words) or any(word == "*" or '"' in word or _is_number(word) for word in words):
        raise Refused("labels that are not distinct names")
    return words


def _header(rest):
    text = _entry(rest, "agents")
    names = _labels(text)
    if _is_number(text.strip()):
        names = [f"agent{n + 1}" for n in range(len(names))]
    discount = number(_entry(rest, "discount"), 0, 1)
    values = _entry(rest, "values").strip()
    if values not in ("reward", "cost"):
        raise Refused("neither reward nor cost")
    states = _labels(_entry(rest, "states"))
    start = _start(rest, states)
    alphabets = []
    for key in ("actions", "observations"):
        if _entry(rest, key).strip():
            raise Refused("labels on the line of the key")
        alphabets.append([_labels(_take(rest)) for _ in names])
    return {
        "names": names,
        "discount": discount,
        "sign": 1 if values == "reward" else -1,
        "states": states,
        "start": start,
        "actions": alphabets[0],
        "observations": alphabets[1],
    }


def _start(rest, states):
    head, colon, text = _take(rest).partition(":")
    form, words = head.split(), text.split()
    if not colon or form not in (["start"], ["start", "include"], ["start", "exclude"]):
        raise Refused("no start")
    if form == ["start"]:
        if not words:
            return _distribution(_take(rest), len(states))
        named = len(words) == 1 and (words[0] in states or re.fullmatch("[0-9]+", words[0]))
        if not named:
            return _distribution(text, len(states))
    chosen = np.zeros(len(states))
    for word in words:
        chosen[place(word, states)] = 1
    chosen = 1 - chosen if form[-1] == "exclude" else chosen
    if not words or not chosen.any():
        raise Refused("no state to start in")
    return chosen / chosen.sum()


def _distribution(text, size):
    if text.split() == ["uniform"]:
        return np.full(size, 1 / size)
    return _rows(_row(text, size, 0, 1 + CLOSE))


def _row(text, size, low, high):
    words = text.split()
    if len(words) != size:
        raise Refused(f"{len(words)} numbers, not {size}")
    return np.array([number(word, low, high) for word in words])


def _rows(table):
    """The table with rows that sum to one."""
    sums = np.array([math.fsum(row) for row in table.reshape(-1, table.shape[-1])])
    off = np.abs(sums - 1)
    if np.any(off > CLOSE + NARROW):
        raise Refused("a row that is no distribution")
    if np.any(off > CLOSE - NARROW):
        raise Undecided
    return table / sums.reshape(table.shape[:-1])[..., None]


def _statement(rest, told, tables):
    parts = _take(rest).split(":")
    letter, fields = parts[0].strip(), parts[1:]
    if letter not in tables:
        raise Refused(f"no statement {letter!r}")
    table, keywords = tables[letter], () if letter == "R" else ("uniform", "identity")
    axes = table.ndim
    if len(fields) > axes + 1:
        raise Refused("too many colons")
    if len(fields) == axes + 1:
        value = number(fields.pop(), *_limits(letter))
    else:
        keyword = fields.pop().strip() if fields and fields[-1].strip() in ("", *keywords) else ""
        if not axes - 2 <= len(fields) < axes:
            raise Refused("neither number, row nor matrix")
        chosen = _chosen(letter, fields, told)
        value = _block(rest, letter, keyword, table.shape[len(fields) :], keywords)
        for index in itertools.product(*chosen):
            table[index] = value
        return
    for index in itertools.product(*_chosen(letter, fields, told)):
        table[index] = value


def _limits(letter):
    return (-1e40, 1e40) if letter == "R" else (0, 1 + CLOSE)


def _chosen(letter, fields, told):
    """For every field the places that it names."""
    kinds = {"T": "uss", "O": "usy", "R": "ussy"}[letter]
    alphabets = {"u": told["actions"], "y": told["observations"]}
    return [
        places(field, told["states"]) if kind == "s" else joint_places(field, alphabets[kind])
        for kind, field in zip(kinds, fields, strict=False)
    ]


def _block(rest, letter, keyword, shape, keywords):
    """The row or matrix of a statement: a keyword, or the numbers on the next lines."""
    first = keyword or _take(rest)
    if first in keywords:
        if first == "identity" and (len(shape) == 1 or shape[0] != shape[1]):
            raise Refused("no square matrix")
        return np.eye(shape[0]) if first == "identity" else np.full(shape, 1 / shape[-1])
    rows = [first] + [_take(rest) for _ in range(shape[0] - 1 if len(shape) == 2 else 0)]
    return np.array([_row(row, shape[-1], *_limits(letter)) for row in rows]).reshape(shape)
