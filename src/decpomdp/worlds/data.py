"""Episodes as a latent world reads them: inputs, symbols and reward categories.

Two forms of the same model. *Plain*: the input v of a step is the joint action. *With memory*: v is the last joint
observation (or none) and the joint action, so that the hidden state carries only information that these do not. Part n
of an input is the part that agent n knows: its own action, or its last observation and its action.

Observations come in groups of symbols that are independent given (v, z1): one group per agent, or one joint group, and
one more if episodes end by themselves ("goes on" or "ended").
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import NO_OBSERVATION, Agent, Episodes
from decpomdp.core.agent import joint_numbers, joint_table
from decpomdp.kernels.world_filter import Log

CATEGORIES = 40  # most distinct rewards that are told apart; more are put into bins
BINS = 24  # of equal size
GOES_ON, ENDED = 0, 1


class Form(NamedTuple):
    """How the inputs and the observations are written."""

    memory: bool = False  # the last joint observation is part of the input
    joint: bool = False  # joint observations, not one group per agent


@dataclass(frozen=True, slots=True, eq=False)
class Alphabet:
    """The symbols of a collection of episodes, shared by all parts of it."""

    agents: tuple[Agent, ...]
    discount: float
    values: NDArray[np.float64]  # [r] reward of every category
    edges: NDArray[np.float64] | None  # [r - 1] between bins; None: every distinct reward is a category
    seen: NDArray[np.int64]  # joint observations that occur
    first: bool  # whether agents see something before the first action
    ends: bool  # whether episodes end by themselves

    @property
    def actions(self) -> tuple[int, ...]:
        return tuple(len(agent.actions) for agent in self.agents)

    @property
    def observations(self) -> tuple[int, ...]:
        return tuple(len(agent.observations) for agent in self.agents)

    @property
    def joint_actions(self) -> int:
        return int(np.prod(self.actions))

    def memories(self, form: Form) -> int:
        """Different last observations, "none" included; 1 in the plain form."""
        return len(self.seen) + 1 if form.memory else 1

    def groups(self, form: Form) -> tuple[int, ...]:
        """Sizes of the groups of symbols."""
        sizes = (len(self.seen),) if form.joint else self.observations
        return (*sizes, 2) if self.ends else sizes

    def parts(self, form: Form) -> NDArray[np.int64]:
        """[v + 1, n]: the part of an input that agent n knows; the input before the first action has its own."""
        acts = joint_table(self.actions)  # [u, n]
        sizes = np.array(self.actions)
        if form.memory:
            last = np.concatenate([joint_table(self.observations)[self.seen], [self.observations]])  # [m, n]
            known = (last[:, None] * sizes + acts).reshape(-1, len(sizes))
            sizes = sizes * (np.array(self.observations) + 1)
        else:
            known = acts
        known = np.concatenate([known, [sizes]])
        return known + np.concatenate([[0], np.cumsum(sizes + 1)[:-1]])


def alphabet_of(episodes: Episodes) -> Alphabet:
    """The symbols that occur."""
    values, edges = np.unique(episodes.rewards), None
    if len(values) > CATEGORIES:
        edges = np.unique(np.quantile(episodes.rewards, np.arange(1, BINS) / BINS))
        bins = np.searchsorted(edges, episodes.rewards, side="right")
        totals = np.bincount(bins, episodes.rewards, len(edges) + 1)
        values = totals / np.maximum(np.bincount(bins, minlength=len(edges) + 1), 1)
    firsts = episodes.offsets[:-1]
    first = bool(np.all(episodes.observations[firsts] != NO_OBSERVATION))
    shown = np.ones(episodes.steps, bool)
    shown[firsts] = first
    sizes = [len(agent.observations) for agent in episodes.agents]
    seen = np.unique(joint_numbers(episodes.observations[shown].astype(np.int64).T, sizes))
    ends = bool(np.any(episodes.terminated)) if episodes.terminated is not None else False
    return Alphabet(episodes.agents, episodes.discount, values, edges, seen, first, ends)


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Episodes in one form."""

    alphabet: Alphabet
    form: Form
    log: Log
    groups: tuple[int, ...]  # sizes of the groups of symbols
    parts: NDArray[np.int64]  # [v + 1, n]
    paid: NDArray[np.float64]  # [v, r] uniform on the rewards that occur with an input; sums to one

    @property
    def steps(self) -> int:
        """Rows with an action."""
        return int(np.count_nonzero(self.log.inputs >= 0))

    @property
    def episodes(self) -> int:
        return len(self.log.offsets) - 1

    @property
    def inputs(self) -> int:
        return len(self.parts) - 1

    def share(self, part: float) -> "Records":
        """The first episodes."""
        count = max(1, int(self.episodes * part))
        rows = int(self.log.offsets[count])
        log = Log(
            self.log.offsets[: count + 1], self.log.inputs[:rows], self.log.symbols[:rows], self.log.rewards[:rows]
        )
        return Records(self.alphabet, self.form, log, self.groups, self.parts, self.paid)


def records_of(episodes: Episodes, alphabet: Alphabet, form: Form, chosen: NDArray[np.int64] | None = None) -> Records:
    """The `chosen` episodes (all by default) in one form."""
    chosen = np.arange(episodes.count) if chosen is None else chosen
    ended = np.zeros(episodes.count, bool) if episodes.terminated is None else np.asarray(episodes.terminated)
    lengths, ended = episodes.lengths[chosen], ended[chosen]
    offsets = np.concatenate([[0], np.cumsum(lengths + ended)]).astype(np.int64)
    place = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths + ended)  # [r] step in its episode
    real = place < np.repeat(lengths, lengths + ended)  # [r] not after the end
    rows = (np.repeat(episodes.offsets[chosen], lengths + ended) + place)[real]

    acts = joint_numbers(episodes.actions[rows].astype(np.int64).T, alphabet.actions)
    rewards = np.full(offsets[-1], -1, np.int32)
    edges = (alphabet.values[1:] + alphabet.values[:-1]) / 2 if alphabet.edges is None else alphabet.edges
    rewards[real] = np.searchsorted(edges, episodes.rewards[rows], side="right")

    first = place[real] == 0
    own = episodes.observations[rows].astype(np.int64)  # [row, n]
    own[first] = own[first] if alphabet.first else NO_OBSERVATION
    shown = np.all(own >= 0, axis=1)
    joint = np.full(len(rows), -1, np.int64)
    joint[shown] = np.searchsorted(alphabet.seen, joint_numbers(own[shown].T, alphabet.observations))

    groups = alphabet.groups(form)
    begins = np.concatenate([[0], np.cumsum(groups)[:-1]])
    symbols = np.full((offsets[-1], len(groups)), -1, np.int32)
    seen = joint[:, None] if form.joint else own
    symbols[real, : seen.shape[1]] = np.where(seen >= 0, seen + begins[: seen.shape[1]], -1)
    if alphabet.ends:
        symbols[:, -1] = np.where(place == 0, -1, begins[-1] + np.where(real, GOES_ON, ENDED))

    inputs = np.full(offsets[-1], -1, np.int32)
    last = np.where(joint >= 0, joint, len(alphabet.seen))
    inputs[real] = last * alphabet.joint_actions + acts if form.memory else acts
    paid = np.zeros((alphabet.memories(form) * alphabet.joint_actions, len(alphabet.values)))
    np.add.at(paid, (inputs[real], rewards[real]), 1.0)
    overall = paid.sum(0) + 0.5
    paid = (paid > 0) + 0.5 * overall / overall.sum()
    log = Log(offsets, inputs, symbols, rewards)
    return Records(alphabet, form, log, groups, alphabet.parts(form), paid / paid.sum(-1, keepdims=True))
