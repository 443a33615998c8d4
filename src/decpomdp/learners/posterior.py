"""The posterior of a team's controllers.

An agent's factors are rows of distributions: action[i, :], move[(i, a, o), :] and, if there is an observation before
the first action, first[o, :]. Otherwise the start node is node 0, as in the paper.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Agent, Controller, Fit, Row, Team
from decpomdp.kernels.expectation import Tables
from decpomdp.learners.rows import Dirichlet, DirichletPrior, Floats, Point, PointPrior
from decpomdp.learners.sticks import Sticks, SticksPrior

RowPrior = DirichletPrior | PointPrior | SticksPrior
RowPosterior = Dirichlet | Point | Sticks


@dataclass(frozen=True, slots=True)
class Counts:
    """Soft counts of one agent (evidence strength included)."""

    firsts: Floats  # [o, i]
    visits: Floats  # [i, a]
    moves: Floats  # [i, a, o, j]

    @property
    def nodes(self) -> int:
        """Nodes in the truncation."""
        return len(self.visits)

    def chosen(self, nodes: NDArray[np.int64]) -> "Counts":
        """The counts of the given nodes, in the given order."""
        return Counts(self.firsts[:, nodes], self.visits[nodes], self.moves[nodes][..., nodes])

    def merged(self, gone: int) -> "Counts":
        """One node less: `gone`, not the first, is merged into the node with the most similar actions."""
        use = self.visits.sum(axis=1)
        shares = self.visits / np.maximum(use, 1e-300)[:, None]
        distance = np.abs(shares - shares[gone]).sum(axis=1)
        distance[gone] = np.inf
        target = int(distance.argmin())
        firsts, visits, moves = self.firsts.copy(), self.visits.copy(), self.moves.copy()
        firsts[:, target] += firsts[:, gone]
        visits[target] += visits[gone]
        moves[target] += moves[gone]
        moves[..., target] += moves[..., gone]
        return Counts(firsts, visits, moves).chosen(np.delete(np.arange(self.nodes), gone))

    def split(self) -> "Counts":
        """One node more: the node that takes a second action most often leaves that action to a new node.

        Moves to it are divided between the two in the proportion of their visits.
        """
        node = int(np.sort(self.visits, axis=1)[:, -2].argmax()) if self.visits.shape[1] > 1 else 0
        action = int(np.argsort(self.visits[node])[-min(2, self.visits.shape[1])])
        own = np.arange(self.visits.shape[1]) == action
        share = self.visits[node, action] / max(self.visits[node].sum(), 1e-300)
        visits = np.vstack([self.visits, self.visits[node] * own])
        visits[node] *= ~own
        moves = np.concatenate([self.moves, (self.moves[node] * own[:, None, None])[None]])
        moves[node] *= (~own)[:, None, None]
        return Counts(_divided(self.firsts, node, share), visits, _divided(moves, node, share))


@dataclass(frozen=True, slots=True)
class Priors:
    """The priors of one agent's rows."""

    action: RowPrior
    move: RowPrior


@dataclass(frozen=True, slots=True)
class AgentPosterior:
    """The posterior of one agent's controller."""

    agent: Agent
    priors: Priors
    counts: Counts
    action: RowPosterior  # row i
    move: RowPosterior  # row (i * A + a) * O + o
    first: RowPosterior | None  # row o; None: the agent starts in node 0

    @property
    def nodes(self) -> int:
        """Nodes in the truncation."""
        return self.counts.nodes

    def divergence(self) -> float:
        """KL of all factors from their priors."""
        return self.action.divergence() + self.move.divergence() + (self.first.divergence() if self.first else 0.0)

    def expected(self) -> Tables:
        """Expect: the sub-normalised controller exp(E ln ...)."""
        first = None if self.first is None else np.exp(self.first.expected_log())
        return self._tables(np.exp(self.action.expected_log()), np.exp(self.move.expected_log()), first)

    def occupancy(self) -> Floats:
        """[i]: each node's share of all soft visits."""
        visits = self.counts.visits.sum(axis=1)
        total = visits.sum()
        return visits / total if total > 0 else np.eye(len(visits))[0]

    def mean(self, kept: NDArray[np.int64]) -> Controller:
        """The point estimate on the given nodes: posterior means, moves renormalised."""
        first = None if self.first is None else self.first.mean()
        return self._controller(self.action.mean(), self.move.mean(), first, kept)

    def sample(self, rng: np.random.Generator, kept: NDArray[np.int64]) -> Controller:
        """A controller drawn from the posterior, on the given nodes."""
        first = None if self.first is None else self.first.sample(rng)
        return self._controller(self.action.sample(rng), self.move.sample(rng), first, kept)

    def _tables(self, action: Floats, move: Floats, first: Floats | None) -> Tables:
        z, symbols = self.nodes, len(self.agent.observations)
        initial = np.zeros((1 + symbols, z))
        initial[:, 0] = 1.0
        if first is not None:
            initial[1:] = first
        matrices = np.ascontiguousarray(move.reshape(z, -1, z).transpose(1, 0, 2))
        back = np.ascontiguousarray(matrices.transpose(0, 2, 1))
        return Tables(initial, np.ascontiguousarray(action.T), matrices, back)

    def _controller(self, action: Floats, move: Floats, first: Floats | None, kept: NDArray[np.int64]) -> Controller:
        shape = (self.nodes, len(self.agent.actions), len(self.agent.observations), self.nodes)
        moves = _renormalised(move.reshape(shape)[kept][..., kept])
        initial = np.eye(len(kept))[int(np.flatnonzero(kept == 0)[0])]
        given = None if first is None else _renormalised(first[:, kept])
        return Controller(initial, action[kept], moves, given)


@dataclass(frozen=True, slots=True)
class TeamPosterior:
    """The posterior of all agents' controllers.

    Attributes
    ----------
    agents
        One posterior per agent.
    discount, problem
        Of the episodes.
    threshold
        Share of visits above which a node counts as occupied.

    Examples
    --------
    >>> import numpy as np
    >>> import decpomdp as dp
    >>> model = dp.load("broadcast")
    >>> episodes = dp.simulate(model, dp.Team.uniform(model), 500, 3, seed=1)
    >>> posterior = dp.learn(episodes, dp.Sbpr(prior=dp.Fixed(2), sweeps=5)).posterior
    >>> draws = [posterior.sample(np.random.default_rng(seed)) for seed in range(3)]
    >>> draws[0] == draws[1], draws[0].nodes == posterior.sizes
    (False, True)
    """

    agents: tuple[AgentPosterior, ...]
    discount: float
    problem: str
    threshold: float  # share of visits above which a node counts as occupied

    def occupied(self) -> list[NDArray[np.int64]]:
        """The occupied nodes of every agent; the start node always is."""
        return [occupied_nodes(agent.occupancy(), self.threshold) for agent in self.agents]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Inferred number of nodes of every agent."""
        return tuple(len(nodes) for nodes in self.occupied())

    def mean(self) -> Team:
        """The team of posterior means on the occupied nodes."""
        return self._team([a.mean(kept) for a, kept in zip(self.agents, self.occupied(), strict=True)])

    def sample(self, rng: np.random.Generator) -> Team:
        """A team drawn from the posterior."""
        return self._team([a.sample(rng, kept) for a, kept in zip(self.agents, self.occupied(), strict=True)])

    def _team(self, controllers: list[Controller]) -> Team:
        return Team(tuple(a.agent for a in self.agents), tuple(controllers), self.discount, self.problem)


@dataclass(frozen=True, slots=True)
class BayesFit(Fit):
    """A fit with its posterior.

    Attributes
    ----------
    team
        The posterior mean: stochastic where the data are not conclusive.
    decided
        The team that always takes the likeliest choice.
    posterior
        The posterior of the controllers.
    trace, stopped, seconds, settings, seed, facts
        As in `Fit`; the trace has, for every sweep, the bound, the empirical value of the team of posterior means, the
        sizes, and the effective sample size: at every step, and at the weakest of those that count.

    Examples
    --------
    >>> import decpomdp as dp
    >>> model = dp.load("broadcast")
    >>> episodes = dp.simulate(model, dp.Team.uniform(model), 500, 5, seed=1)
    >>> fit = dp.learn(episodes, dp.Sbpr(cap=5.0, truncation=5, sweeps=20))
    >>> len(fit.decided.controllers), fit.trace[-1]["sample_size"] > 10
    (2, True)
    """

    posterior: TeamPosterior | None = None
    decided: Team | None = None


def updated(agent: Agent, priors: Priors, counts: Counts, before: AgentPosterior | None = None) -> AgentPosterior:
    """The posterior after `counts`. `before`, if of the same size, carries the posterior of the hyperparameters."""
    old = before if before is not None and before.nodes == counts.nodes else None
    shows_first = counts.firsts.sum() > 0  # DEPARTS: the paper's start node is always the first
    first = priors.move.updated(counts.firsts, old.first if old else None) if shows_first else None
    return AgentPosterior(
        agent=agent,
        priors=priors,
        counts=counts,
        action=priors.action.updated(counts.visits, old.action if old else None),
        move=priors.move.updated(counts.moves.reshape(-1, counts.nodes), old.move if old else None),
        first=first,
    )


def size_facts(sizes: Sequence[int]) -> Row:
    """Numbers of nodes as columns of a trace."""
    return {"nodes": "+".join(map(str, sizes)), "mean_nodes": float(np.mean(sizes))}


def occupied_nodes(occupancy: Floats, threshold: float) -> NDArray[np.int64]:
    """Node 0 and every node whose share of visits exceeds `threshold`."""
    kept = occupancy > threshold
    kept[0] = True
    return np.flatnonzero(kept)


def _divided(table: Floats, node: int, share: float) -> Floats:
    """A new last column that takes `share` of column `node`."""
    wider = np.concatenate([table, share * table[..., node : node + 1]], axis=-1)
    wider[..., node] *= 1 - share
    return wider


def _renormalised(table: Floats) -> Floats:
    """Rows that sum to one; a row of zeros leads to the first node."""
    totals = table.sum(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = table / totals
    return np.where(totals > 1e-290, shares, np.eye(table.shape[-1])[0])
