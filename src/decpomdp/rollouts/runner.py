"""A team that acts step by step, in the user's own loop: observations in, actions out.

The random numbers are those of the rollouts: 64 bits per decision, a function of (seed, episode, step, lane), agent n
moving on lane 1 + 2n and acting on lane 2 + 2n. Given the observations of episode k of `simulate(..., seed=seed)`, a
runner therefore takes the same actions. It is plain Python, the algorithm of exported controllers.
"""

from collections.abc import Mapping, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Agent, Controller, InputError, Team
from decpomdp.core.checks import kind_of, of_kind, whole
from decpomdp.core.controller import READ
from decpomdp.kernels.sampling import sampler

WORD = 0xFFFFFFFFFFFFFFFF
LOW = 0xFFFFFFFF
GOLDEN = 0x9E3779B97F4A7C15
MIX1, MIX2 = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB

NOTHING = -1  # no observation, before the first action
Entry = tuple[int, int, int]  # own outcome, other outcome, threshold: own if the lower 32 bits are below it
Seen = int | None  # an observation; -1 or None: no observation


class TeamRunner:
    """The controllers of a team with their current nodes.

    Parameters
    ----------
    team
        The team to run.
    seed, episode
        Seed of the team's random choices: the same as in that episode of `simulate` with the same seed.

    Examples
    --------
    >>> import decpomdp as dp
    >>> runner = dp.TeamRunner(dp.Team.uniform(dp.load("dectiger")), seed=1)
    >>> first = runner.act()  # a model has no observation before the first action
    >>> later = runner.act([0, 1])
    >>> by_name = runner.act({"agent1": 0, "agent2": 1})
    >>> sorted(by_name)
    ['agent1', 'agent2']
    """

    def __init__(self, team: Team, seed: int = 0, episode: int = 0) -> None:
        self.team = of_kind("team", team, Team, READ)
        self._seed = whole("seed", seed, 0, WORD)
        self._members = [_Member(agent, c) for agent, c in zip(team.agents, team.controllers, strict=True)]
        self._names = {agent.name: n for n, agent in enumerate(team.agents)}
        self._lanes = 1 + 2 * len(self._members)
        self.episode = self.step = 0
        self.reset(episode)

    def reset(self, episode: int | None = None) -> None:
        """Start the next episode, or the given one."""
        self.episode = self.episode + 1 if episode is None else whole("episode", episode, 0, 2**63)
        self.step = 0
        self._key = stream_key(self._seed, self.episode)
        for member in self._members:
            member.node = -1

    @overload
    def act(self, observations: Sequence[Seen] | NDArray[np.integer] | None = None) -> list[int]: ...
    @overload
    def act(self, observations: Mapping[str, Seen]) -> dict[str, int]: ...
    def act(
        self, observations: Sequence[Seen] | NDArray[np.integer] | Mapping[str, Seen] | None = None
    ) -> list[int] | dict[str, int]:
        """The next actions: a list for a list in the team's order, a dictionary for a dictionary by name.

        Before the first action there may be no observation: None for all agents, None or -1 for one agent, as in
        episodes and in exported controllers. An agent that a dictionary leaves out does not act in this step and keeps
        its node.
        """
        if isinstance(observations, Mapping):
            seen = {self._place(name): shown for name, shown in observations.items()}
        else:
            seen = dict(enumerate(self._listed(observations)))
        checked = {n: self._members[n].checked(shown) for n, shown in seen.items()}
        counter = 1 + self.step * self._lanes
        actions = {}
        for n, shown in checked.items():  # all observations are checked before the first agent moves
            bits = (random_bits(self._key, counter + 1 + 2 * n), random_bits(self._key, counter + 2 + 2 * n))
            actions[n] = self._members[n].decide(shown, *bits)
        self.step += 1
        if isinstance(observations, Mapping):
            return {self.team.agents[n].name: action for n, action in actions.items()}
        return list(actions.values())

    @property
    def nodes(self) -> tuple[int, ...]:
        """The node of every agent; -1 before its first action."""
        return tuple(member.node for member in self._members)

    @property
    def probabilities(self) -> tuple[float, ...]:
        """Of every agent's last action given its own history; NaN before its first action."""
        return tuple(member.probability if member.node >= 0 else float("nan") for member in self._members)

    def _place(self, name: str) -> int:
        if not isinstance(name, str) or name not in self._names:
            raise InputError(f"observations: expected agents among {', '.join(self._names)}, got {kind_of(name)}")
        return self._names[name]

    def _listed(self, observations: Sequence[Seen] | NDArray[np.integer] | None) -> Sequence[Seen]:
        if observations is None:
            return [None] * len(self._members)
        if isinstance(observations, str | bytes) or not isinstance(observations, Sequence | np.ndarray):
            raise InputError(f"observations: expected a list or a dictionary, got {kind_of(observations)}")
        if getattr(observations, "ndim", 1) == 0 or len(observations) != len(self._members):
            raise InputError(f"observations: expected one per agent, {len(self._members)}, got {len(observations)}")
        return observations  # type: ignore[return-value]


class _Member:
    """One agent: its tables, its node, and the distribution of its node given its history."""

    __slots__ = ("acts", "agent", "belief", "controller", "last", "moves", "node", "probability", "starts")

    def __init__(self, agent: Agent, controller: Controller) -> None:
        self.agent, self.controller = agent, controller
        self.starts = alias_rows(start_table(controller))
        self.moves = alias_rows(controller.transition.reshape(-1, controller.nodes))
        self.acts = alias_rows(controller.action)
        self.node = self.last = -1
        self.belief = controller.initial
        self.probability = float("nan")

    def checked(self, seen: Seen) -> int:
        """The observation as a number; -1 for none, before the first action only."""
        if seen is None and self.node < 0:
            return NOTHING
        least = NOTHING if self.node < 0 else 0
        return whole(f"observation of {self.agent.name}", seen, least, self.controller.observations - 1)

    def decide(self, seen: int, move_bits: int, action_bits: int) -> int:
        """Move, then act."""
        controller = self.controller
        if self.node < 0:
            row = 1 + seen if controller.initial_given is not None else 0
            self.node = pick_entry(self.starts[row], move_bits)
            starts = controller.initial_given
            self.belief = controller.initial if starts is None or seen < 0 else starts[seen]
        else:
            row = (self.node * controller.actions + self.last) * controller.observations + seen
            self.node = pick_entry(self.moves[row], move_bits)
            self.belief = self.belief @ controller.transition[:, self.last, seen]
        self.last = pick_entry(self.acts[self.node], action_bits)
        weights = self.belief * controller.action[:, self.last]
        self.probability = float(weights.sum())
        self.belief = weights / self.probability
        return self.last


def start_table(controller: Controller) -> NDArray[np.float64]:
    """First nodes: row 0 without a first observation, row 1 + o after o if the controller uses it."""
    if controller.initial_given is None:
        return controller.initial[None, :]
    return np.concatenate([controller.initial[None, :], controller.initial_given])


def alias_rows(table: NDArray[np.float64]) -> list[list[Entry]]:
    """The alias tables of the rows of table[row, outcome], as the kernels draw from them."""
    rows, entries = sampler([np.ascontiguousarray(table)])
    plain = [(own, other, cut) for own, other, cut, _ in entries.tolist()]
    return [plain[first : first + count] for first, count in rows.tolist()]


def pick_entry(row: list[Entry], bits: int) -> int:
    """The outcome that 64 random bits draw from a row."""
    own, other, cut = row[(bits >> 32) * len(row) >> 32]
    return own if bits & LOW < cut else other


def stream_key(seed: int, episode: int) -> int:
    """The key of one episode's random numbers."""
    return _mix((_mix((seed + GOLDEN) & WORD) + episode * GOLDEN) & WORD)


def random_bits(key: int, counter: int) -> int:
    """The counter-th 64 random bits of a stream."""
    return _mix((key + counter * GOLDEN) & WORD)


def _mix(value: int) -> int:
    """SplitMix64."""
    value = ((value ^ value >> 30) * MIX1) & WORD
    value = ((value ^ value >> 27) * MIX2) & WORD
    return value ^ value >> 31
