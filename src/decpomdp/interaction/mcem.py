"""MCEM: Monte-Carlo expectation-maximisation on controllers of a fixed size. A RECONSTRUCTION.

After Wu, Zilberstein and Jennings (IJCAI 2013), of which only the outline was at hand: episodes are simulated with the
controllers themselves, so the node path is *observed* and no forward-backward pass is needed. With rewards scaled to
0..1 by the smallest and largest of the data, r~, a decision taken at step t is worth

  w_t = (p / p_b) sum_{t' >= t} discount^t' r~_t'

where p / p_b is the ratio of the controllers' choices so far to those of the behaviour. Each agent's next controller
is the weighted counts of its own decisions: start[i], action[i, a] and transition[i, a, o, j] are proportional to the sum of w
over the steps that made them. The behaviour chooses next nodes with an upper-confidence bonus on visit counts,

  argmax_j transition[i, a, o, j] + c sqrt(ln N[i, a, o] / (1 + N[i, a, o, j])),

the share of a batch that is spent on it falling with the visits, and actions epsilon-greedily.
"""

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Controller, DecPOMDP, InputError, Simulator, Team
from decpomdp.core.fit import Fit, Row, Watch, unwatched
from decpomdp.core.minimal import minimised
from decpomdp.interaction.mcem_counts import Lived, Tables, counted, lived, normalised, reward_range
from decpomdp.interaction.sbpr_play import Finished, Ground, Tested, tested

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class McemSettings:
    """Tunables; the same values serve every problem."""

    nodes: int = 3  # of every agent (the published results)
    episodes: int = 200  # simulated in an iteration
    updates: int = 150  # iterations from one random start
    exploration: float = 0.2  # at first: share of uniform actions, and of upper-confidence moves; falls to 0
    confidence: float = 1.0  # c, the weight of the upper-confidence bonus
    least: float = 1e-3  # share of every choice that is never given up
    learning_tail: float = 0.05  # discount^T of simulated episodes
    testing_tail: float = 1e-3  # of test episodes
    longest: int = 1000  # steps of an episode, whatever the discount
    tests: int = 1000  # test episodes of a comparison
    patience: int = 10  # random starts without a better team until the search has converged

    def __post_init__(self) -> None:
        for name in ("nodes", "episodes", "updates", "tests", "patience", "longest"):
            if getattr(self, name) < 1:
                raise InputError(f"{name}: expected a whole number of at least 1, got {getattr(self, name)}")
        for name in ("exploration", "least"):
            if not 0 <= getattr(self, name) < 1:
                raise InputError(f"{name}: expected a number from 0 to below 1, got {getattr(self, name)}")


def mcem(
    problem: DecPOMDP | Simulator,
    *,
    time_limit: float | None = None,
    iterations: int | None = None,
    steps: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    watch: Watch = unwatched,
    horizon: int | None = None,
    settings: McemSettings | None = None,
) -> Fit:
    """Learn a team of controllers of fixed size by Monte-Carlo EM from random starts.

    It stops at a limit or when several starts in a row were no better. An interrupt (Ctrl-C) returns the best team so
    far: the one with the highest mean return in test episodes.
    """
    if iterations is not None and iterations < 1:
        raise InputError(f"iterations: expected a whole number of at least 1, got {iterations}")
    chosen = settings or McemSettings()
    ground = Ground(problem, time_limit, steps, seed, threads)
    run = Mcem(ground, iterations, horizon, chosen, watch)
    stopped = run.run()
    facts: Row = {"method": "mcem", "seed": seed, "time_limit": time_limit, "steps": steps, **asdict(chosen)}
    return Fit(minimised(run.best.team), tuple(run.trace), stopped, ground.seconds(), facts)


class Mcem:
    """One run."""

    def __init__(
        self, ground: Ground, iterations: int | None, horizon: int | None, settings: McemSettings, watch: Watch
    ) -> None:
        self.ground, self.iterations, self.settings, self.watch = ground, iterations, settings, watch
        self.learning = ground.horizon(horizon, settings.learning_tail, settings.longest)
        self.testing = ground.horizon(horizon, settings.testing_tail, settings.longest)
        self.range = (np.inf, -np.inf)  # smallest and largest reward so far
        self.best = Tested(Team.uniform(ground.simulator))
        self.trace: list[Row] = []
        self.iteration = self.start = 0

    def run(self) -> str:
        """Start after start; says why it ended."""
        failures = 0
        try:
            self._consider(self.best.team)
            while failures < self.settings.patience:
                self.start += 1
                team = self._from_random()
                better = self._consider(team.decided(), team)
                failures = 0 if better else failures + 1
        except Finished as reason:
            return str(reason)
        except KeyboardInterrupt:
            return "interrupted"
        return "converged"

    def _from_random(self) -> Team:
        """EM from one random start."""
        tables = [self._random(n) for n in range(len(self.ground.simulator.agents))]
        visits = [np.zeros(table.move.shape) for table in tables]
        for number in range(self.settings.updates):
            if self.iterations is not None and self.iteration >= self.iterations:
                raise Finished("iterations")
            rate = self.settings.exploration * (1 - number / self.settings.updates)
            behaviour = [self._behaviour(t, v, rate) for t, v in zip(tables, visits, strict=True)]
            played = lived(self.ground, self._team(behaviour), self.settings.episodes, self.learning)
            self.range = reward_range(played, self.range)
            tables = [self._maximised(n, t, behaviour[n], played) for n, t in enumerate(tables)]
            for n, seen in enumerate(visits):
                seen += played.moves(n, seen.shape)
            self.iteration += 1
            self._record(rate)
        return self._team(tables)

    def _random(self, n: int) -> Tables:
        agent, rng, z = self.ground.simulator.agents[n], self.ground.rng, self.settings.nodes
        actions, symbols = len(agent.actions), len(agent.observations)
        first = rng.dirichlet(np.ones(z), size=1 + symbols)
        if not self.ground.shown:
            first[:] = np.eye(z)[0]  # without loss: nodes have no names yet
        return Tables(
            first, rng.dirichlet(np.ones(actions), size=z), rng.dirichlet(np.ones(z), size=(z, actions, symbols))
        )

    def _behaviour(self, tables: Tables, visits: Floats, rate: float) -> Tables:
        """Epsilon-greedy actions; next nodes with an upper-confidence bonus on how often they were tried."""
        bonus = np.sqrt(np.log1p(visits.sum(axis=-1, keepdims=True)) / (1 + visits))
        likeliest = (tables.move + self.settings.confidence * bonus).argmax(axis=-1)
        actions, nodes = tables.act.shape[1], tables.move.shape[-1]
        return Tables(
            tables.first,
            (1 - rate) * tables.act + rate / actions,
            (1 - rate) * tables.move + rate * np.eye(nodes)[likeliest],
        )

    def _maximised(self, n: int, tables: Tables, behaviour: Tables, played: Lived) -> Tables:
        counts = counted(played, n, tables, behaviour, self.ground.discount, self.range)
        least = self.settings.least
        return Tables._make(normalised(c, old, least) for c, old in zip(counts, tables, strict=True))

    def _team(self, tables: list[Tables]) -> Team:
        shown = self.ground.shown
        controllers = [Controller(t.first[0], t.act, t.move, t.first[1:] if shown else None) for t in tables]
        return Team.of(self.ground.simulator, controllers)

    def _consider(self, *teams: Team) -> bool:
        """Test `teams` beside the best so far."""
        seed = self.ground.seed()
        best, *others = (
            tested(self.ground, team, self.settings.tests, self.testing, seed) for team in (self.best.team, *teams)
        )
        winner = max(others, key=lambda one: one.value)
        better = winner.value > best.value
        self.best = winner if better else best
        return better

    def _record(self, rate: float) -> None:
        row: Row = {
            "iteration": self.iteration,
            "start": self.start,
            "seconds": round(self.ground.seconds(), 3),
            "steps": self.ground.steps,
            "exploration": rate,
            "nodes": "+".join([str(self.settings.nodes)] * len(self.ground.simulator.agents)),
            "value": self.best.value,
            "error": self.best.error,
        }
        self.trace.append(row)
        self.watch(row)
