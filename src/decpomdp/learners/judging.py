"""The value of a learned team, estimated from its training episodes and compared with that of the behaviour.

A recorded history determines the nodes of a deterministic team. A step *agrees* with the team if all agents took the
actions of their nodes. The *context* c of a step: the nodes and last observations of all agents, and whether the
previous step agreed. With means over the agreeing steps in a context, of the reward r and over the next contexts c',

  V_h(c) = mean r + discount * mean V_{h-1}(c'),   V_0 = 0,   h steps to go

is the value of the team in a Markov chain whose states are the contexts. It needs no behaviour probabilities and,
unlike importance ratios of whole histories, only that single steps agree. It assumes that the hidden state depends on
the past through the context alone, and that no agent acted on more than its own history.

Means are shrunk: SHRINK steps are added to every context, with the mean over all its steps plus the difference between
agreeing and all steps in the wider context (without the previous step), which is shrunk in the same way. A team with
which no step agrees therefore has the value of the behaviour. The same recursion over all steps estimates the
behaviour, whose value is known; its error is subtracted.

The interval is that of a jackknife over groups of episodes, widened on both sides by the change of the estimate if the
previous step, or also the observations, are left out of the contexts: where these matter, earlier steps may too. All
of it is taken WIDER times, as contexts do not contain everything: without the factor 62 of 75 intervals held.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from decpomdp.core import Controller, Episodes, Row, Team
from decpomdp.learners.rows import Floats

Ints = NDArray[np.int64]

SHRINK = 5.0  # steps added to every context
TINY = 1e-200  # the same where only means over no steps are replaced
ROUNDING = 1e-12
GROUPS = 20  # of episodes in the jackknife
WIDTH = 2.09  # standard errors of a 95 % interval with so many groups
WIDER = 1.5  # factor of the interval, for what contexts do not contain
BETTER, UNPROVEN, WORSE = "better than the behaviour", "not proven better than the behaviour", "cloned behaviour"


class Judged(NamedTuple):
    """Estimates of discounted returns over the length of the longest episode."""

    value: float  # of the team
    low: float
    high: float
    behaviour: float  # mean return of the episodes
    sure: bool  # whether the interval of the difference is above 0
    support: float = 1.0  # share of the steps that agree with the team

    @property
    def verdict(self) -> str:
        """`BETTER`, `UNPROVEN` or `WORSE`."""
        if self.value < self.behaviour - ROUNDING * (abs(self.value) + abs(self.behaviour)):
            return WORSE
        return BETTER if self.sure else UNPROVEN

    def facts(self) -> Row:
        """As facts of a fit."""
        return {
            "estimate": self.value,
            "estimate_low": self.low,
            "estimate_high": self.high,
            "behaviour": self.behaviour,
            "support": self.support,
            "verdict": self.verdict,
        }


def judge(episodes: Episodes, team: Team) -> Judged:
    """Estimate the value of a deterministic team."""
    nodes = np.stack([node_path(episodes, n, own) for n, own in enumerate(team.controllers)], axis=1)  # [r, n]
    wanted = [own.action.argmax(axis=1)[nodes[:, n]] for n, own in enumerate(team.controllers)]
    agrees = (np.stack(wanted, axis=1) == episodes.actions).all(axis=1)
    joint = _numbered(nodes)
    seen = _numbered(np.column_stack([joint, episodes.observations]))
    before = np.append(True, agrees[:-1])
    before[episodes.offsets[:-1]] = True
    contexts = _numbered(np.column_stack([seen, before]))
    groups = np.arange(episodes.count) * GROUPS // episodes.count  # [k]
    groups = np.random.default_rng(0).permutation(groups)
    left_out = [-1, *(g for g in range(GROUPS) if (groups == g).any() and (groups != g).any())]
    chain = _Chain(episodes, seen, contexts, agrees)
    gains = [chain.gain((groups != g) * 1.0) for g in left_out]
    returns = episodes.returns()
    behaviour = float(returns.mean())
    value = gains[0] + behaviour
    means = [returns[groups != g].mean() for g in left_out[1:]]
    wider = [_Chain(episodes, joint, own, agrees).gain(np.ones(episodes.count)) for own in (seen, joint)]
    sensitivity = max(abs(gains[0] - other) for other in wider)
    error = WIDER * (WIDTH * _jackknife(np.array(gains[1:]) + means) + sensitivity)
    return Judged(
        value=value,
        low=value - error,
        high=value + error,
        behaviour=behaviour,
        sure=gains[0] > WIDTH * _jackknife(np.array(gains[1:])) + sensitivity,
        support=float(agrees.mean()),
    )


def node_path(episodes: Episodes, n: int, controller: Controller) -> Ints:
    """[r]: the node of a deterministic controller after the recorded actions and observations of agent n."""
    starts, lengths = episodes.offsets[:-1], episodes.lengths
    moves = controller.transition.argmax(axis=-1)  # [i, a, o]
    nodes = np.zeros(episodes.steps, np.int64)
    nodes[starts] = controller.initial.argmax()
    if controller.initial_given is not None:
        seen = episodes.observations[starts, n]
        nodes[starts] = np.where(seen >= 0, controller.initial_given.argmax(axis=1)[seen], nodes[starts])
    for t in range(1, int(lengths.max())):
        rows = starts[lengths > t] + t
        nodes[rows] = moves[nodes[rows - 1], episodes.actions[rows - 1, n], episodes.observations[rows, n]]
    return nodes


class _Chain:
    """The contexts of all steps as states of a Markov chain."""

    def __init__(self, episodes: Episodes, wide: Ints, contexts: Ints, agrees: NDArray[np.bool_]) -> None:
        self.contexts, self.agrees, self.size = contexts, agrees, int(contexts.max()) + 1
        self.rewards, self.discount = episodes.rewards, episodes.discount
        self.first = episodes.offsets[:-1]  # [k] row
        self.episode = np.repeat(np.arange(episodes.count), episodes.lengths)  # [r]
        self.horizon = int(episodes.lengths.max())
        last = episodes.offsets[1:] - 1
        ended = episodes.lengths < self.horizon
        if episodes.terminated is not None:
            ended = ended | episodes.terminated
        # [r] `goes_on`: a step follows; `known`: it follows, or the return ends here (terminated, or a short episode)
        self.goes_on = np.ones(episodes.steps, bool)
        self.goes_on[last] = False
        self.known = self.goes_on.copy()
        self.known[last[ended]] = True
        self.after = np.append(contexts[1:], 0)
        self.wide = np.zeros(self.size, np.int64)  # [c] the wider context
        self.wide[contexts] = wide

    def gain(self, weights: Floats) -> float:
        """Value of the team minus that of the behaviour, with episodes weighted by weights[k]."""
        own = weights[self.episode]  # [r]
        agreeing = own * self.agrees
        return self._value(agreeing, own, weights) - self._value(own, own, weights)

    def _value(self, agreeing: Floats, every: Floats, weights: Floats) -> float:
        """Value over contexts; agreeing[r] and every[r] are the weights of the agreeing and of all steps."""
        now = _Shrinking(self._sums(agreeing), self._sums(every), self.wide)
        rewards = now.means(self._sums(agreeing * self.rewards), self._sums(every * self.rewards))
        later = _Shrinking(self._sums(agreeing * self.known), self._sums(every * self.known), self.wide)
        agreed, all_ = (self._moves(own * self.goes_on) for own in (agreeing, every))
        values = rewards
        for _ in range(self.horizon - 1):
            values = rewards + self.discount * later.means(agreed @ values, all_ @ values)
        return float(np.average(values[self.contexts[self.first]], weights=weights))

    def _sums(self, values: Floats) -> Floats:
        """[c]: of values[r]."""
        return np.bincount(self.contexts, values, self.size).astype(np.float64)

    def _moves(self, weights: Floats) -> csr_array:
        """[c, c']: summed weights[r]."""
        rows = np.flatnonzero(weights > 0)
        table = (weights[rows], (self.contexts[rows], self.after[rows]))
        return csr_array(table, shape=(self.size, self.size))


class _Shrinking:
    """Means over the agreeing steps of a context."""

    def __init__(self, agreeing: Floats, every: Floats, wide: Ints) -> None:
        self.agreeing, self.every, self.wide, self.size = agreeing, every, wide, int(wide.max()) + 1
        self.wide_agreeing, self.wide_every = self._summed(agreeing), self._summed(every)

    def means(self, agreeing: Floats, every: Floats) -> Floats:
        """[c], from sums over the agreeing and over all steps of each context."""
        overall = np.full(self.size, every.sum() / max(float(self.every.sum()), TINY))
        all_wide = _shrunk(self._summed(every), self.wide_every, overall, TINY)
        agreed_wide = _shrunk(self._summed(agreeing), self.wide_agreeing, all_wide)
        all_here = _shrunk(every, self.every, all_wide[self.wide], TINY)
        return _shrunk(agreeing, self.agreeing, (agreed_wide - all_wide)[self.wide] + all_here)

    def _summed(self, values: Floats) -> Floats:
        return np.bincount(self.wide, values, self.size).astype(np.float64)


def _shrunk(sums: Floats, counts: Floats, towards: Floats, steps: float = SHRINK) -> Floats:
    return (sums + steps * towards) / (counts + steps)


def _jackknife(values: Floats) -> float:
    """Standard error, from leave-one-group-out values."""
    return float(np.sqrt(max(len(values) - 1, 0) * values.var())) if len(values) else 0.0


def _numbered(columns: NDArray[np.integer]) -> Ints:
    """[r]: equal numbers for equal rows."""
    numbers = np.zeros(len(columns), np.int64)
    for column in columns.T.astype(np.int64):
        numbers = numbers * (int(column.max()) - int(column.min()) + 1) + column - column.min()
        numbers = np.unique(numbers, return_inverse=True)[1].reshape(-1)
    return numbers
