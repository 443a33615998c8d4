"""Everything that is wrong with a file of logged episodes, one complaint per column: what a reader stops at, and more.

Readers stop at the first problem. Here the other columns are looked at too, as far as they can be without it.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from decpomdp.core import Agent, Episodes, FormatError
from decpomdp.io.episode_columns import Columns
from decpomdp.io.files import FilePath
from decpomdp.io.kinds import KEY, kind_of
from decpomdp.io.logged import read_logged
from decpomdp.io.table_columns import LongColumns

Check = Callable[[], Any]


def checked(
    path: FilePath,
    kind: str | None = None,
    discount: float | None = None,
    agents: Sequence[Agent] | None = None,
    name: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> tuple[Episodes | None, list[str]]:
    """The episodes at `path` (see `read_logged`), or None and what is wrong with them."""
    try:
        return read_logged(path, kind, discount, agents, name, columns), []
    except FormatError as error:
        first = str(error)
    found = kind_of(path) if kind is None else kind
    more: list[str] = []
    with suppress(FormatError):  # nothing of it can be read: the first complaint says so
        if found == "episodes":
            more = _complaints(_episodes(path))
        elif found == "long":
            more = _complaints(_long(path, {} if columns is None else columns))
    return None, list(dict.fromkeys([first, *more]))


def _complaints(checks: Iterable[Check]) -> list[str]:
    said = []
    for check in checks:
        try:
            check()
        except FormatError as error:
            said.append(str(error))
    return said


def _episodes(path: FilePath) -> list[Check]:
    """The checks of our own file; those of symbols need to know the agents."""
    columns = Columns.load(path)
    checks: list[Check] = [columns.offsets, columns.rewards, lambda: columns.terminated(columns.offsets())]
    with suppress(ValueError, KeyError, TypeError, RecursionError):  # the metadata are wrong: said by the reader
        told = json.loads(columns.metadata[KEY])["agents"]
        agents = [Agent(one["name"], one["actions"], one["observations"]) for one in told]
        checks += [
            lambda: columns.observations(agents, columns.offsets()),
            lambda: columns.actions(agents),
            lambda: columns.behaviour(agents),
        ]
    return checks


def _long(path: FilePath, names: Mapping[str, str]) -> list[Check]:
    """The checks of every column of a long table by itself."""
    columns = LongColumns.load(path, names)
    checks: list[Check] = [
        lambda: columns.labels("episode"),
        lambda: columns.times("t"),
        lambda: columns.labels("agent"),
        lambda: columns.labels("observation", empty=True),
        lambda: columns.labels("action"),
        lambda: columns.numbers("reward"),
    ]
    if columns.has("action_prob"):
        checks.append(lambda: columns.numbers("action_prob", unknown=True))
    checks += [partial(columns.flags, name) for name in ("terminated", "truncated") if columns.has(name)]
    return checks
