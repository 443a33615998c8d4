"""Episodes: observations, actions and rewards as flat arrays, with offsets.

Row r is one step of one episode; episode k owns the rows offsets[k] to offsets[k + 1]. observations[r] are
those *before* actions[r]; NO_OBSERVATION in the first row of an episode whose environment gives no observation before
the first action. The observation after the last action is not recorded: no decision depends on it. behaviour[r, n] is
the probability of that action of agent n given its own history; NaN if it is unknown.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import checks
from decpomdp.core.agent import Agent, check_symbols, team_of_agents
from decpomdp.core.errors import InputError
from decpomdp.core.model import Value, checked_discount

NO_OBSERVATION = -1
PER_ROW = ("observations", "actions", "behaviour", "rewards")


@dataclass(frozen=True, slots=True, eq=False)
class Episodes(Value):
    """A frozen, validated collection of episodes of any lengths (at least one step each).

    Row r is one step of one episode; episode k owns the rows offsets[k] to offsets[k + 1].

    Attributes
    ----------
    agents
        The agents that acted.
    offsets
        [k + 1]: where episodes begin and end.
    observations
        [r, n]: those *before* the action of the same row; NO_OBSERVATION (-1) is allowed in a first row.
    actions
        [r, n]: the actions.
    behaviour
        [r, n]: probability of that action given the agent's own history; NaN: unknown.
    rewards
        [r]: rewards of the team.
    discount
        Discount factor of the rewards.
    terminated
        [k]: whether the episode terminated; otherwise it was truncated.
    name, facts
        Name of the problem, and other facts about the origin of the data.

    Examples
    --------
    >>> import decpomdp as dp
    >>> agent = dp.Agent("robot", ("stay", "go"), ("dark", "light"))
    >>> logged = dp.Episodes(
    ...     agents=(agent,),
    ...     offsets=[0, 2, 3],  # an episode of two steps and one of one
    ...     observations=[[-1], [1], [-1]],
    ...     actions=[[1], [0], [0]],
    ...     behaviour=[[0.5], [0.5], [0.5]],
    ...     rewards=[0.0, 1.0, 2.0],
    ...     discount=0.9,
    ... )
    >>> logged.count, logged.lengths.tolist(), logged.returns().tolist()
    (2, [2, 1], [0.9, 2.0])
    """

    agents: tuple[Agent, ...]
    offsets: NDArray[np.int64]  # [k + 1]
    observations: NDArray[np.int16]  # [r, n]
    actions: NDArray[np.int16]  # [r, n]
    behaviour: NDArray[np.float32]  # [r, n] NaN: unknown
    rewards: NDArray[np.float64]  # [r]
    discount: float
    terminated: NDArray[np.bool_] | None = None  # [k] False: truncated; None: all truncated
    name: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)  # about the origin of the data

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "agents", team_of_agents(self.agents))
        put(self, "discount", checked_discount(self.discount))
        checks.line("name", self.name)
        put(self, "facts", checked_facts(self.facts))
        put(self, "offsets", _offsets(self.offsets))
        rows, n = int(self.offsets[-1]), len(self.agents)
        put(self, "observations", checks.array("observations", self.observations, "r, n", (rows, n), np.int16))
        put(self, "actions", checks.array("actions", self.actions, "r, n", (rows, n), np.int16))
        put(self, "rewards", checks.rewards("rewards", self.rewards, "r", (rows,)))
        put(self, "behaviour", _behaviour(self, rows, n))
        ended = np.zeros(self.count, bool) if self.terminated is None else self.terminated
        put(self, "terminated", checks.array("terminated", ended, "k", (self.count,), np.bool_))
        unseen, first = np.zeros((rows, n), bool), self.offsets[:-1]
        unseen[first] = self.observations[first] == NO_OBSERVATION
        check_symbols(self.place, "action", self.actions, self.agents)
        check_symbols(self.place, "observation", self.observations, self.agents, unseen)

    @property
    def count(self) -> int:
        """Number of episodes."""
        return len(self.offsets) - 1

    @property
    def steps(self) -> int:
        """Number of joint steps in all episodes together."""
        return int(self.offsets[-1])

    @property
    def lengths(self) -> NDArray[np.int64]:
        """[k]: steps of every episode."""
        return np.diff(self.offsets)

    def times(self) -> NDArray[np.int64]:
        """[r]: the step t of every row within its episode."""
        return np.arange(self.steps) - np.repeat(self.offsets[:-1], self.lengths)

    def returns(self) -> NDArray[np.float64]:
        """[k]: discounted sum of rewards of every episode."""
        weighted = self.rewards * self.discount ** self.times().astype(np.float64)
        return np.add.reduceat(weighted, self.offsets[:-1])

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        discount: float | None = None,
        agents: "Sequence[Agent] | None" = None,
        name: str | None = None,
        columns: Mapping[str, str] | None = None,
        bins: int | None = None,
    ) -> "Episodes":
        """Recorded episodes of any kind: an episodes file, a long table (CSV or Parquet) or a Minari dataset.

        Parameters
        ----------
        path
            The file, or the folder of a Minari dataset.
        discount
            Discount factor. Tables and Minari datasets need one; for an episodes file, it replaces the stored one.
        agents
            Agents of a table: names, actions and observations in order; None: those that occur in it.
        name
            Name of the problem (tables and Minari datasets).
        columns
            Names of columns in a table that differ from the standard names: `{"observation": "obs"}`.
        bins
            The observations of a table are numbers, and every agent's are put into at most so many bins of about equal
            size. Their labels hold the edges: `Discretiser.of(agent)` feeds a learned team with numbers.

        Returns
        -------
        Episodes
            The episodes.

        Raises
        ------
        FormatError
            The file cannot be read or is inconsistent; the message has row and column.

        Examples
        --------
        >>> import tempfile
        >>> import decpomdp as dp
        >>> episodes = dp.simulate("dectiger", episodes=10, horizon=5, seed=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     episodes.save(f"{folder}/e.parquet")
        ...     dp.Episodes.load(f"{folder}/e.parquet") == episodes
        True
        """
        from decpomdp.io.logged import read_logged

        if name is not None:
            checks.of_kind("name", name, str)
        return read_logged(path, discount=discount, agents=agents, name=name, columns=columns, bins=bins)

    def save(self, path: str | os.PathLike[str], long: bool | None = None) -> None:
        """Write the episodes: to an episodes file (Parquet), or to a long table (CSV, or Parquet with `long=True`)."""
        from decpomdp.io.episodes import write_episodes
        from decpomdp.io.files import is_csv
        from decpomdp.io.tables import write_table

        if is_csv(os.fspath(path)) if long is None else long:
            write_table(self, path)
        else:
            write_episodes(self, path)

    def chosen(self, numbers: NDArray[np.int64]) -> "Episodes":
        """The episodes with the given numbers, in that order."""
        rows = np.concatenate([np.arange(self.offsets[k], self.offsets[k + 1]) for k in numbers])
        return replace(
            self,
            offsets=np.concatenate([[0], np.cumsum(self.lengths[numbers])]),
            terminated=None if self.terminated is None else self.terminated[numbers],
            **{name: getattr(self, name)[rows] for name in PER_ROW},
        )

    @staticmethod
    def concatenate(parts: "Sequence[Episodes]") -> "Episodes":
        """All episodes of `parts`, in order; agents and discount must agree. Name and facts are those of the first."""
        if isinstance(parts, Episodes | str) or not isinstance(parts, Iterable):
            raise InputError(f"episodes: expected a list of Episodes to join, got {checks.kind_of(parts)}")
        parts = [checks.of_kind(f"episodes[{place}]", part, Episodes) for place, part in enumerate(parts)]
        if not parts:
            raise InputError("episodes: expected at least one collection to join, got none")
        first = parts[0]
        for part in parts[1:]:
            if part.agents != first.agents or part.discount != first.discount:
                raise InputError("episodes: expected collections with the same agents and discount, got different ones")
        if len(parts) == 1:
            return first
        lengths = np.concatenate([part.lengths for part in parts])
        tables: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts]) for name in (*PER_ROW, "terminated")
        }
        return replace(first, offsets=np.concatenate([[0], np.cumsum(lengths)]), **tables)

    def place(self, row: int) -> str:
        """The place of a row for error messages: episode and step."""
        k = int(np.searchsorted(self.offsets, row, side="right")) - 1
        return f"episode {k}, step {row - int(self.offsets[k])}"


concatenate = Episodes.concatenate


def checked_facts(facts: Mapping[str, str]) -> Mapping[str, str]:
    """A read-only copy of `facts`, with every key and every value checked to be a string."""
    if not isinstance(facts, Mapping):
        raise InputError(f"facts: expected a mapping from text to text, got {type(facts).__name__}")
    return MappingProxyType({checks.text("facts", key): checks.text(f"facts[{key!r}]", facts[key]) for key in facts})


def _offsets(value: NDArray[np.int64]) -> NDArray[np.int64]:
    offsets = checks.array("offsets", value, "k", (None,), np.int64)
    if len(offsets) < 2 or offsets[0] != 0:
        raise InputError(f"offsets: expected 0 followed by the end of every episode, got {offsets[:3]}")
    short = np.diff(offsets) < 1
    if np.any(short):
        k = int(np.argmax(short))
        raise InputError(f"episode {k}: expected at least one step, got {int(offsets[k + 1] - offsets[k])}")
    return offsets


def _behaviour(episodes: Episodes, rows: int, n: int) -> NDArray[np.float32]:
    behaviour = checks.array("behaviour", episodes.behaviour, "r, n", (rows, n), np.float32, finite=False)
    known = ~np.isnan(behaviour)
    wrong = known & ~((behaviour > 0) & (behaviour <= 1))
    if np.any(wrong):
        row, agent = (int(i) for i in np.unravel_index(int(np.argmax(wrong)), behaviour.shape))
        raise InputError(
            f"{episodes.place(row)}, agent {episodes.agents[agent].name}: expected a behaviour probability "
            f"above 0 and up to 1 (or NaN: unknown), got {behaviour[row, agent]}"
        )
    return behaviour
