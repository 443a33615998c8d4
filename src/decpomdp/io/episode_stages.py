"""The stages of reading an episodes file (see `stages`), and what its metadata say.

In this order: what kind of file it is, whether it can be read, what its metadata say, its columns from left to right,
and whether all of it is what was written.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import msgspec

from decpomdp.core import Agent, Episodes, FormatError, InputError, checks
from decpomdp.core.agent import team_of_agents
from decpomdp.core.episodes import checked_facts
from decpomdp.core.model import checked_discount
from decpomdp.io.episode_columns import Columns
from decpomdp.io.episode_digest import DIGEST_KEY, digest_of
from decpomdp.io.files import FilePath, from_json, path_of
from decpomdp.io.kinds import KEY, conversion
from decpomdp.io.stages import Stage

EPISODES_FORMAT = "decpomdp-episodes/1"
PARTS = ("offsets", "observations", "actions", "behaviour", "rewards", "terminated")  # of episodes, one stage each


class AgentLabels(msgspec.Struct, forbid_unknown_fields=True):
    """An agent in the metadata."""

    name: str
    actions: tuple[str, ...]
    observations: tuple[str, ...]


class About(msgspec.Struct, forbid_unknown_fields=True):
    """The metadata."""

    format: str
    agents: list[AgentLabels]
    discount: float
    name: str
    facts: dict[str, str]
    software: str


class _Told(NamedTuple):
    """What a file says about its rows, checked."""

    agents: tuple[Agent, ...]
    discount: float
    name: str
    facts: Mapping[str, str]
    data: bytes  # as it stands in the file
    digest: str | None  # of that and all rows; None: the file has none


def stages_of_episodes(path: FilePath) -> list[Stage]:
    """The stages of reading an episodes file: the file, what it says, its columns from left to right, the digest."""
    source = path_of(path)
    return [
        Stage("kind", (), lambda: _check_kind(source)),
        Stage("columns", ("kind",), lambda _: Columns.load(source)),
        Stage("told", ("columns",), _told),
        Stage("offsets", ("columns",), Columns.offsets),
        Stage("observations", ("columns", "told", "offsets"), lambda c, told, ends: c.observations(told.agents, ends)),
        Stage("actions", ("columns", "told"), lambda columns, told: columns.actions(told.agents)),
        Stage("behaviour", ("columns", "told"), lambda columns, told: columns.behaviour(told.agents)),
        Stage("rewards", ("columns",), Columns.rewards),
        Stage("terminated", ("columns", "offsets"), Columns.terminated),
        Stage("episodes", ("told", *PARTS), partial(_episodes, source)),
    ]


def _check_kind(source: str) -> None:
    other = conversion(source)
    if other is not None:
        raise FormatError(source, None, f"expected an episodes file, {other}")


def _told(columns: Columns) -> _Told:
    data, digest = columns.metadata.get(KEY), columns.metadata.get(DIGEST_KEY)
    if data is None:
        said = f'metadata: expected agents, labels and discount under "{KEY}", got nothing'
        raise FormatError(columns.source, None, said)
    try:
        about = from_json(data, About, columns.source, EPISODES_FORMAT)
        return _Told(
            team_of_agents(Agent(agent.name, agent.actions, agent.observations) for agent in about.agents),
            checked_discount(about.discount),
            checks.line("name", about.name),
            checked_facts(about.facts),
            data,
            None if digest is None else digest.decode(errors="replace"),
        )
    except InputError as error:
        said = error.message if isinstance(error, FormatError) else str(error)
        raise FormatError(columns.source, None, f"metadata: {said}") from None


def _episodes(source: str, told: _Told, *parts: Any) -> Episodes:
    """The parts together; those changed since they were written are refused. Files of other tools have no digest."""
    arrays: dict[str, Any] = dict(zip(PARTS, parts, strict=True))
    same: dict[str, Any] = {"agents": told.agents, "discount": told.discount, "name": told.name, "facts": told.facts}
    try:
        episodes = Episodes(**same, **arrays)
    except InputError as error:
        raise FormatError(source, None, str(error)) from None
    if told.digest is not None and told.digest != digest_of(episodes, told.data):
        raise FormatError(
            source,
            None,
            "expected the rows and metadata that were written, got others: the file was changed or damaged "
            f'(if the change is meant, leave the metadata "{DIGEST_KEY}" out)',
        )
    return episodes
