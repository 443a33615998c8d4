"""Episodes as data of a latent world: inputs, symbols and reward categories.

Two forms of the same model. *Plain*: the input v of a step is the joint action. *With memory*: v is the last joint
observation (or none) and the joint action, so that the hidden state needs to carry only the remaining information. Part
n of an input is what agent n knows of it: its own action, or its last observation and its action.

Observations come in groups of symbols that are independent given (v, z1): one group per agent, or one joint group, and
one more if episodes can terminate ("goes on" or "ended").
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import NO_OBSERVATION, Agent, Episodes
from decpomdp.core.agent import joint_numbers, joint_table
from decpomdp.kernels.world_filter import Log

CATEGORIES = 40  # distinct rewards, at most; more are grouped into levels
LEVELS = 8  # of a joint action, at most
WITHIN = 0.1  # standard deviation within a level, relative to the overall one
TAIL = 0.01  # share of the rewards at either end that is clipped in the overall deviation
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
    values: NDArray[np.float64]  # [u, r] reward of every category after a joint action
    edges: NDArray[np.float64]  # [u, r - 1] between categories
    seen: NDArray[np.int64]  # joint observations that occur
    first: bool  # whether agents observe before the first action
    ends: bool  # whether episodes can terminate

    @property
    def actions(self) -> tuple[int, ...]:
        return tuple(len(agent.actions) for agent in self.agents)

    @property
    def observations(self) -> tuple[int, ...]:
        return tuple(len(agent.observations) for agent in self.agents)

    @property
    def joint_actions(self) -> int:
        return int(np.prod(self.actions))

    def categories(self, rewards: NDArray[np.float64], acts: NDArray[np.int64]) -> NDArray[np.int64]:
        """[i]: the category of rewards[i] after joint action acts[i]."""
        result = np.empty(len(rewards), np.int64)
        for u in np.unique(acts):
            result[acts == u] = np.searchsorted(self.edges[u], rewards[acts == u], side="right")
        return result

    def expected(self, pay: NDArray[np.float64]) -> NDArray[np.float64]:
        """[v, z]: sum over categories of pay[v, z, r] times their rewards."""
        by_action = pay.reshape(-1, *self.values.shape[:1], *pay.shape[1:])  # [m, u, z, r]
        return (by_action @ self.values[..., None])[..., 0].reshape(pay.shape[:2])

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
    values = np.unique(episodes.rewards)
    edges = (values[1:] + values[:-1]) / 2
    actions = [len(agent.actions) for agent in episodes.agents]
    values, edges = (np.broadcast_to(row, (int(np.prod(actions)), len(row))) for row in (values, edges))
    if values.shape[1] > CATEGORIES:
        acts = joint_numbers(episodes.actions.astype(np.int64).T, actions)
        values, edges = reward_levels(episodes.rewards, acts, len(values))
    firsts = episodes.offsets[:-1]
    first = bool(np.all(episodes.observations[firsts] != NO_OBSERVATION))
    shown = np.ones(episodes.steps, bool)
    shown[firsts] = first
    sizes = [len(agent.observations) for agent in episodes.agents]
    seen = np.unique(joint_numbers(episodes.observations[shown].astype(np.int64).T, sizes))
    ends = bool(np.any(episodes.terminated)) if episodes.terminated is not None else False
    return Alphabet(episodes.agents, episodes.discount, values, edges, seen, first, ends)


class Level(NamedTuple):
    """A range of rewards of one joint action."""

    gain: float  # decrease of the sum of squares by the best cut
    act: int
    low: int  # of the first reward, in order
    high: int
    cut: int  # the first reward of its upper part


def reward_levels(
    rewards: NDArray[np.float64], acts: NDArray[np.int64], actions: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """[u, r] means and [u, r - 1] edges of levels of continuous rewards.

    The level whose best cut lowers the sum of squares within levels most is cut in two, until that sum is small. For a
    few values with noise the levels are these values; a rare but large reward has its own level.
    """
    order = np.lexsort((rewards, acts))
    x, u = rewards[order], acts[order]
    sums = np.concatenate([[0.0], np.cumsum(x - x.mean())])

    def level(low: int, high: int) -> Level:
        at = np.arange(low + 1, high)
        at = at[x[at] > x[at - 1]]
        if not len(at):
            return Level(0.0, int(u[low]), low, high, low)
        left, right = sums[at] - sums[low], sums[high] - sums[at]
        gains = left**2 / (at - low) + right**2 / (high - at) - (left + right) ** 2 / (high - low)
        best = int(gains.argmax())
        return Level(float(gains[best]), int(u[low]), low, high, int(at[best]))

    begins = np.append(np.flatnonzero(np.diff(u, prepend=-1)), len(x)).tolist()
    levels, counts = [level(*ends) for ends in pairwise(begins)], np.ones(actions, np.int64)
    overall = len(x) * float(np.clip(x, *np.quantile(x, (TAIL, 1 - TAIL))).var())
    within = float(sum(((x[low:high] - x[low:high].mean()) ** 2).sum() for low, high in pairwise(begins)))
    while within > WITHIN**2 * overall:
        best = max((cuttable for cuttable in levels if counts[cuttable.act] < LEVELS), default=None)
        if best is None or best.gain <= 0:
            break
        levels.remove(best)
        levels += [level(best.low, best.cut), level(best.cut, best.high)]
        counts[best.act] += 1
        within -= best.gain
    values = np.full((actions, int(counts.max())), float(rewards.mean()))
    edges = np.full((actions, values.shape[1] - 1), np.inf)
    used = np.zeros(actions, np.int64)
    for one in sorted(levels, key=lambda level: level.low):
        values[one.act, used[one.act]] = x[one.low : one.high].mean()
        if used[one.act]:
            edges[one.act, used[one.act] - 1] = (x[one.low - 1] + x[one.low]) / 2
        used[one.act] += 1
    return values, edges


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
    rewards[real] = alphabet.categories(episodes.rewards[rows], acts)

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
    paid = np.zeros((alphabet.memories(form) * alphabet.joint_actions, alphabet.values.shape[1]))
    np.add.at(paid, (inputs[real], rewards[real]), 1.0)
    overall = paid.sum(0) + 0.5
    paid = (paid > 0) + 0.5 * overall / overall.sum()
    log = Log(offsets, inputs, symbols, rewards)
    return Records(alphabet, form, log, groups, alphabet.parts(form), paid / paid.sum(-1, keepdims=True))
