"""The posterior of a team's controllers.

An agent's factors are rows of distributions: action[i, :], move[(i, a, o), :] and, if there is an observation before
the first action, first[o, :]. Otherwise the start node is node 0, as in the paper.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Agent, Controller, Fit, Row, Team
from decpomdp.core.minimal import simplified
from decpomdp.kernels.expectation import FilterTables
from decpomdp.learners.rows import Dirichlet, DirichletPrior, Floats, Point, PointPrior
from decpomdp.learners.sticks import Sticks, SticksPrior

RowPrior = DirichletPrior | PointPrior | SticksPrior
RowPosterior = Dirichlet | Point | Sticks


@dataclass(frozen=True, slots=True)
class Counts:
    """Soft counts of one agent, times the evidence strength."""

    firsts: Floats  # [o, i]
    visits: Floats  # [i, a]
    moves: Floats  # [i, a, o, j]

    @property
    def nodes(self) -> int:
        """Nodes in the truncation."""
        return len(self.visits)

    def chosen(self, nodes: NDArray[np.int64]) -> "Counts":
        """The counts of `nodes`, in this order."""
        return Counts(self.firsts[:, nodes], self.visits[nodes], self.moves[nodes][..., nodes])

    def grouped(self, members: Floats) -> "Counts":
        """The counts of groups of nodes; members[node, group] is 1 or 0."""
        moves = np.einsum("ig,iaoj,jh->gaoh", members, self.moves, members)
        return Counts(self.firsts @ members, members.T @ self.visits, moves)

    def merged(self, gone: int, into: int) -> "Counts":
        """Node `gone` (not the first) merged into node `into`."""
        firsts, visits, moves = self.firsts.copy(), self.visits.copy(), self.moves.copy()
        firsts[:, into] += firsts[:, gone]
        visits[into] += visits[gone]
        moves[into] += moves[gone]
        moves[..., into] += moves[..., gone]
        return Counts(firsts, visits, moves).chosen(np.delete(np.arange(self.nodes), gone))


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

    def log_evidence(self) -> float:
        """Log probability of the soft counts under the prior."""
        parts = [(self.action, self.counts.visits), (self.move, self.counts.moves.reshape(-1, self.nodes))]
        if self.first is not None:
            parts.append((self.first, self.counts.firsts))
        return sum(_gained(rows, counts) for rows, counts in parts) - self.divergence()

    def ordered(self) -> "AgentPosterior":
        """The nodes by decreasing use, the start node first, if that makes the counts likelier; otherwise unchanged.

        Renaming nodes changes no likelihood; the bound rises by the change of the log evidence.
        """
        use = self.counts.visits.sum(axis=1)
        use[0] = np.inf
        order = np.argsort(-use, kind="stable")
        if not self.priors.move.sized or np.array_equal(order, np.arange(self.nodes)):
            return self
        other = updated(self.agent, self.priors, self.counts.chosen(order))
        return other if other.log_evidence() > self.log_evidence() else self

    def merges(self) -> list["AgentPosterior"]:
        """All merges of two nodes with the same likeliest action, by decreasing evidence of the merged counts."""
        use, likeliest = self.counts.visits.sum(axis=1), self.counts.visits.argmax(axis=1)
        pairs = [
            (gone, into)
            for gone, into in itertools.permutations(np.flatnonzero(use > 0).tolist(), 2)
            if gone > 0 and likeliest[gone] == likeliest[into] and (use[gone] <= use[into] or into == 0)
        ]
        merges = [updated(self.agent, self.priors, self.counts.merged(*pair)) for pair in pairs]
        return sorted(merges, key=lambda merge: -merge.log_evidence())

    def expected(self) -> FilterTables:
        """Expect: the sub-normalised controller exp(E ln ...)."""
        first = None if self.first is None else np.exp(self.first.expected_log())
        return self._tables(np.exp(self.action.expected_log()), np.exp(self.move.expected_log()), first)

    def occupancy(self) -> Floats:
        """[i]: each node's share of all soft visits."""
        visits = self.counts.visits.sum(axis=1)
        total = visits.sum()
        return visits / total if total > 0 else np.eye(len(visits))[0]

    def mean(self, kept: NDArray[np.int64]) -> Controller:
        """The point estimate on the nodes `kept`: posterior means, transitions renormalised."""
        first = None if self.first is None else self.first.mean()
        return self._controller(self.action.mean(), self.move.mean(), first, kept)

    def sample(self, rng: np.random.Generator, kept: NDArray[np.int64]) -> Controller:
        """A controller drawn from the posterior, on the nodes `kept`."""
        first = None if self.first is None else self.first.sample(rng)
        return self._controller(self.action.sample(rng), self.move.sample(rng), first, kept)

    def _tables(self, action: Floats, move: Floats, first: Floats | None) -> FilterTables:
        z, symbols = self.nodes, len(self.agent.observations)
        initial = np.zeros((1 + symbols, z))
        initial[:, 0] = 1.0
        if first is not None:
            initial[1:] = first
        matrices = np.ascontiguousarray(move.reshape(z, -1, z).transpose(1, 0, 2))
        back = np.ascontiguousarray(matrices.transpose(0, 2, 1))
        return FilterTables(initial, np.ascontiguousarray(action.T), matrices, back)

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
        """The occupied nodes of every agent, the start node included."""
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
        From episodes: the team that always takes the likeliest choice (or the cloned behaviour, see `facts`).
    posterior
        The posterior of the controllers.
    trace, stopped, seconds, settings, seed, facts
        As in `Fit`; from episodes the trace has, for every sweep, the bound, the inferred sizes and the effective
        number of episodes, and the facts have the estimated value, its interval and the verdict.

    Examples
    --------
    >>> import decpomdp as dp
    >>> model = dp.load("broadcast")
    >>> episodes = dp.simulate(model, dp.Team.uniform(model), 500, 5, seed=1)
    >>> fit = dp.learn(episodes, "sbpr")
    >>> len(fit.team.controllers), len(fit.mean.controllers), fit.trace[-1]["sample_size"] > 100
    (2, 2, True)
    """

    posterior: TeamPosterior | None = None

    @property
    def mean(self) -> Team | None:
        """The team of posterior means: stochastic where the data do not decide."""
        return None if self.posterior is None else simplified(self.posterior.mean())


def updated(agent: Agent, priors: Priors, counts: Counts, before: AgentPosterior | None = None) -> AgentPosterior:
    """The posterior after `counts`. EM keeps the rows of `before` (of the same size) that have no counts."""
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


def _gained(rows: RowPosterior, counts: Floats) -> float:
    """Sum of counts * E ln w."""
    return float((counts * np.where(counts > 0, rows.expected_log(), 0.0)).sum())


def _renormalised(table: Floats) -> Floats:
    """Rows that sum to one; a row of zeros leads to the first node."""
    totals = table.sum(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = table / totals
    return np.where(totals > 1e-290, shares, np.eye(table.shape[-1])[0])
