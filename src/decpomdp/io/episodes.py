"""Episodes as a Parquet file: one row per (episode, t), so that any tool that reads tables can read them.

    episode_id int32            the rows of an episode stand together
    t int32                     0, 1, 2, ... within the episode
    observation list<int16>[N]  what the agents saw before they acted; null: nothing was seen (only at t = 0)
    action list<int16>[N]
    action_prob list<float32>[N]  probability with which the behaviour took that action; null: unknown
    reward float64
    terminated, truncated bool  on the last row of an episode: it ended by itself, or it was cut off

Compressed with zstd, with a checksum on every page. The metadata holds one JSON object under the key "decpomdp":
format, agents with their labels, discount, name, facts and the version that wrote it. A file made by another tool may
use other widths of numbers, lists without a fixed size, null for a whole list, and further columns, but has to
carry that object.
"""

import os
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Any, Self

import msgspec

from decpomdp.core import Agent, Episodes, FormatError, InputError
from decpomdp.core.agent import team_of_agents
from decpomdp.core.episodes import checked_facts
from decpomdp.core.model import checked_discount
from decpomdp.io.files import FilePath, in_words, replacing

EPISODES_FORMAT = "decpomdp-episodes/1"
KEY = b"decpomdp"
COLUMNS = ("episode_id", "t", "observation", "action", "action_prob", "reward", "terminated", "truncated")
GROUP = 2**17  # rows that are compressed and written together: what a writer holds in memory


class _AgentLabels(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    actions: tuple[str, ...]
    observations: tuple[str, ...]


class _About(msgspec.Struct, forbid_unknown_fields=True):
    format: str
    agents: list[_AgentLabels]
    discount: float
    name: str
    facts: dict[str, str]
    software: str


def write_episodes(episodes: Episodes, path: FilePath) -> None:
    """Write all episodes to `path`, completely or not at all."""
    with EpisodeWriter(path, episodes.agents, episodes.discount, episodes.name, episodes.facts) as writer:
        writer.add(episodes)


class EpisodeWriter:
    """Writes episodes to one file as they come, holding only the latest rows in memory.

    A context manager: the file appears when the block ends well, and not at all otherwise. What is in the file does
    not depend on how the episodes were divided among the calls of `add`.
    """

    def __init__(
        self,
        path: FilePath,
        agents: Iterable[Agent],
        discount: float,
        name: str = "",
        facts: Mapping[str, str] | None = None,
    ) -> None:
        self.path = path
        self.agents = team_of_agents(agents)
        self.discount = checked_discount(discount)
        self.count = 0  # episodes so far
        labels = [_AgentLabels(agent.name, agent.actions, agent.observations) for agent in self.agents]
        told = dict(checked_facts(facts or {}))
        self._about = _About(EPISODES_FORMAT, labels, self.discount, name, told, _software())
        self._stack = ExitStack()
        self._writer: Any = None
        self._waiting: list[Any] = []  # tables not yet written

    def __enter__(self) -> Self:
        import pyarrow as pa
        import pyarrow.parquet as pq

        schema = _schema(len(self.agents), self._about)
        options = {"compression": "zstd", "write_page_checksum": True}
        with ExitStack() as stack:
            temporary = stack.enter_context(replacing(self.path))
            sink = stack.enter_context(pa.OSFile(str(temporary), "wb"))
            self._writer = stack.enter_context(pq.ParquetWriter(sink, schema, **options))
            self._stack = stack.pop_all()
        return self

    def add(self, episodes: Episodes) -> None:
        """Append `episodes`; agents and discount must be those of the file. Name and facts of a part are not kept."""
        if self._writer is None:
            raise InputError("episodes: expected an EpisodeWriter inside its with block, got one outside")
        if episodes.agents != self.agents or episodes.discount != self.discount:
            raise InputError("episodes: expected the agents and discount of the file, got different ones")
        self._waiting.append(_table(episodes, self.count, self._writer.schema))
        self.count += episodes.count
        if sum(len(table) for table in self._waiting) >= GROUP:
            self._write(rest=False)

    def _write(self, rest: bool) -> None:
        import pyarrow as pa

        table = pa.concat_tables(self._waiting)
        ready = len(table) if rest else len(table) // GROUP * GROUP
        with in_words(self.path):
            self._writer.write_table(table.slice(0, ready).combine_chunks(), row_group_size=GROUP)
        self._waiting = [table.slice(ready)]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            with suppress(InputError):  # the caller's error is the one to hear about
                self._stack.__exit__(kind, error, trace)
        else:
            with self._stack:
                if not self.count:
                    raise InputError(f"cannot write {os.fspath(self.path)}: expected at least one episode, got none")
                self._write(rest=True)
        self._writer = None


def read_episodes(path: FilePath) -> Episodes:
    """The episodes in the file at `path`; FormatError says what is wrong with it, in which row and column."""
    source = os.fspath(path)
    columns = _Columns(source, _load(path, source))
    about = _about(columns, source)
    try:
        agents = team_of_agents(Agent(*msgspec.structs.astuple(agent)) for agent in about.agents)
        offsets = _offsets(columns)
        return Episodes(
            agents=agents,
            offsets=offsets,
            observations=_observations(columns, agents, offsets),
            actions=_actions(columns, agents),
            behaviour=_behaviour(columns, agents),
            rewards=_rewards(columns),
            discount=about.discount,
            terminated=_terminated(columns, offsets),
            name=about.name,
            facts=about.facts,
        )
    except FormatError:
        raise
    except InputError as error:
        raise FormatError(source, None, str(error)) from None
