"""Runs in a table: one line each. Values that are not finite, or unreliable, are marked."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from decpomdp.io.runs import RunRecord

COLUMNS = ("run", "problem", "method", "value", "how", "nodes", "seconds", "seed", "stopped")
BY_IMPORTANCE = ("run", "value", "method", "problem", "nodes", "seed", "seconds", "stopped", "how")
GAP = 2  # characters between columns
MANY = 8  # agents whose sizes are all listed, at most
SUPPORT = 10.0  # effective number of episodes below which an estimate is marked
NONE, NO_NUMBER, MARK = "none", "not a number", "!"
LEGEND = f"{MARK} estimated from fewer than {SUPPORT:.0f} episodes, effectively: unreliable"


def facts_of(record: RunRecord, folder: Path) -> dict[str, Any]:
    """The facts of a run, unformatted."""
    value = record.value
    return {
        "run": str(folder),
        "problem": record.problem,
        "method": record.method or str(record.settings.get("prior") or ""),  # of a learner from episodes: its prior
        "value": None if value is None else value.value,
        "how": "" if value is None else value.method,
        "nodes": record.nodes,
        "seconds": record.seconds,
        "seed": record.seed,
        "stopped": record.stopped,
        "discount": record.discount,
        "steps": None if record.steps is None else int(record.steps),
        "sample_size": record.sample_size,
    }


def cells(record: RunRecord, folder: Path) -> tuple[str, ...]:
    """The formatted facts of a run: one text per column."""
    facts = facts_of(record, folder)
    seed = facts["seed"]
    return (
        facts["run"],
        facts["problem"] or NONE,
        facts["method"] or NONE,
        value_of(record),
        next(iter(facts["how"].replace(",", " ").split()), NONE),
        sizes_of(facts["nodes"]),
        in_words(facts["seconds"], ".1f"),
        NONE if seed is None else str(seed),
        facts["stopped"] or NONE,
    )


def complete(record: RunRecord, folder: Path) -> tuple[str, ...]:
    """The facts for other programs, not shortened; unknown values are empty, values that are not finite are nan."""
    facts = facts_of(record, folder)
    value = "" if record.value is None else repr(facts["value"]) if facts["value"] is not None else "nan"
    whole = {**facts, "value": value, "nodes": "+".join(map(str, facts["nodes"]))}
    return tuple("" if cell is None else " ".join(str(cell).split()) for cell in whole.values())


def fitting(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """The columns of `cells` that fit into `width`, the most important first; at least two."""
    wide = {name: max(len(name), *(len(row[place]) for row in rows)) for place, name in enumerate(COLUMNS)}
    columns = list(BY_IMPORTANCE[:2])
    for name in BY_IMPORTANCE[2:]:
        if sum(wide[one] + GAP for one in (*columns, name)) - GAP <= width:
            columns.append(name)
    return [name for name in COLUMNS if name in columns]


def value_of(record: RunRecord) -> str:
    """The value, marked if it is unreliable."""
    if record.value is None:
        return NONE
    words = in_words(record.value.value, ".6g")
    return f"{words} {MARK}" if unsupported(record) and words != NO_NUMBER else words


def unsupported(record: RunRecord) -> bool:
    """Whether the value is an estimate from few effective episodes."""
    return record.sample_size is not None and not record.sample_size >= SUPPORT


def in_words(value: float | None, form: str) -> str:
    """A number as a text; None: a number that is not finite.

    >>> in_words(1.5, ".3g"), in_words(None, ".3g"), in_words(float("inf"), ".3g")
    ('1.5', 'not a number', 'infinite')
    """
    if value is None or math.isnan(value):
        return NO_NUMBER
    if math.isinf(value):
        return "infinite" if value > 0 else "minus infinite"
    return format(value, form)


def sizes_of(nodes: Sequence[int]) -> str:
    """Nodes per agent: all sizes or, of many agents, their range.

    >>> sizes_of([3, 4]), sizes_of([2] * 16), sizes_of([1, 2] * 8)
    ('3+4', '2 x 16', '1-2 x 16')
    """
    if len(nodes) <= MANY:
        return "+".join(map(str, nodes))
    low, high = min(nodes), max(nodes)
    return f"{low} x {len(nodes)}" if low == high else f"{low}-{high} x {len(nodes)}"
