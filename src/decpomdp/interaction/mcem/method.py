"""MCEM: Monte-Carlo expectation-maximisation on controllers of a fixed size. A RECONSTRUCTION.

After Wu, Zilberstein and Jennings (IJCAI 2013), of which only the outline was at hand: episodes are simulated with the
controllers themselves, so the node path is *observed* and no forward-backward pass is needed. With rewards scaled to
0..1 by the smallest and largest of the data, r~, a decision taken at step t is worth
w_t = sum_{t' >= t} discount^t' r~_t'. Each agent's next controller is the weighted counts of its own
decisions, agents independent of each other:

  action'[i, a] ~ action[i, a] (mean of w over the visits of node i that chose a)^stride, transition and start likewise.

With stride 1 and frequencies instead of probabilities this is the sum of w, plain Monte-Carlo EM. Dividing by how often
a decision happened to be taken removes both the sampling noise of the frequencies and the effect of exploration;
stride > 1 is over-relaxed EM, because rewards far above the smallest make EM's own steps tiny.

The behaviour takes a uniform action with probability epsilon, and with the same probability the next node with the
highest upper confidence on visit counts N:

  argmax_j transition[i, a, o, j] + c sqrt(ln(1 + N[i, a, o]) / (1 + N[i, a, o, j])).
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import count

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Controller, DecPOMDP, InputError, Simulator, Team
from decpomdp.core.checks import settled
from decpomdp.core.fit import Fit, Row, Watch, unwatched
from decpomdp.core.keeping import UNKEPT, Keeper
from decpomdp.core.minimal import simplified
from decpomdp.interaction.mcem_counts import Lived, Tables, counted, lived, normalised, reward_range
from decpomdp.interaction.mcem_state import Climb, McemState, go_on, state_of
from decpomdp.interaction.sbpr_crowd_scale import affordable
from decpomdp.interaction.sbpr_play import TIME, Finished, Ground, Tested, contested, tested
from decpomdp.interaction.sbpr_starts import replays
from decpomdp.rollouts import DenseSimulator

Floats = NDArray[np.float64]

FEWEST = 2  # episodes, updates and tests on a simulator that is too slow for more
LAST = 2.0  # times the last iteration: with less time than that what was learned is tested
REPLAYING = 1 / 3  # of the time, after which no more replays are tested
JUDGED = 3  # teams in the test of what was learned: the best so far, its likeliest choices, the team itself
TESTED = 10  # teams that are tested by the end of the first start: chance, the best replays, what was learned

LIMITS: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("episodes", "updates", "longest", "tests", "elites", "patience", "random_episodes"), (1, 10**9)),
    **dict.fromkeys(("exploration", "least"), (0, 1 - 1e-12)),
    **dict.fromkeys(("random_share", "openness"), (0, 1)),
    **dict.fromkeys(("learning_tail", "testing_tail"), (1e-12, 1 - 1e-12)),
    "nodes": (1, 1000),
    "confidence": (0, 1e12),
    "stride": (1e-12, 1e12),
}


@dataclass(frozen=True, slots=True)
class McemSettings:
    """Tunables; the same values serve every problem."""

    nodes: int = 3  # of every agent (the published results)
    episodes: int = 200  # simulated in an iteration
    updates: int = 150  # iterations from one random start
    exploration: float = 0.2  # at first: share of uniform actions, and of upper-confidence moves; falls to 0
    confidence: float = 1.0  # c, the weight of the upper-confidence bonus
    stride: float = 15.0  # over-relaxation of EM: rewards far above the smallest make its own steps tiny
    least: float = 1e-3  # share of every choice that is never given up
    learning_tail: float = 0.05  # discount^T of simulated episodes
    testing_tail: float = 1e-3  # of test episodes
    longest: int = 1000  # steps of an episode, whatever the discount
    tests: int = 1000  # test episodes of a comparison
    random_episodes: int = 20_000  # of which the best become starts
    random_share: float = 0.1  # of the limits that they may use up
    elites: int = 20  # best episodes that are played again as controllers
    openness: float = 0.3  # share of every choice that such a start leaves open
    patience: int = 10  # starts without a better team until the search has converged

    def __post_init__(self) -> None:
        settled(self, LIMITS)


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
    keeper: Keeper = UNKEPT,
) -> Fit:
    """Learn a team of controllers of fixed size by Monte-Carlo EM, from best episodes and random starts by turns.

    It stops at a limit or when several starts in a row were no better. An interrupt (Ctrl-C) returns the best team so
    far: the one with the highest mean return in test episodes. `keeper` is offered the state before every iteration,
    and gives back the one to go on from.
    """
    if iterations is not None and iterations < 1:
        raise InputError(f"iterations: expected a whole number of at least 1, got {iterations}")
    chosen = settings or McemSettings()
    ground = Ground(problem, time_limit, steps, seed, threads)
    chosen = scaled(chosen, ground, iterations, horizon)
    run = Mcem(ground, iterations, horizon, chosen, watch, keeper)
    stopped = run.run()
    limits: Row = {"time_limit": time_limit, "steps": steps, "iterations": iterations, "horizon": horizon}
    facts: Row = {"method": "mcem", "seed": seed, **limits, **asdict(chosen)}
    return Fit(simplified(run.best.team), tuple(run.trace), stopped, ground.seconds(), facts)


def scaled(settings: McemSettings, ground: Ground, iterations: int | None, horizon: int | None) -> McemSettings:
    """Smaller numbers, and shorter tests, where a simulator is too slow to finish one start (see `sbpr_crowd_scale`).

    A third each goes to the updates, to the replays and to the tests, so that even little time leads to a team that
    was learned, and to a word about it. A model whose steps are not counted is played as the settings have it.
    """
    if isinstance(ground.simulator, DenseSimulator) and ground.limit is None:
        return settings
    length = ground.horizon(horizon, settings.learning_tail, settings.longest)
    chains = 2 * max(1, settings.nodes - 1)  # replays of one elite
    parts = settings.updates * settings.episodes, settings.elites * chains * settings.episodes, TESTED * settings.tests
    spent = affordable(ground, iterations, settings.episodes, length)
    episodes = (1 - settings.random_share) * spent / length  # the rest is for random episodes, to begin with
    ratios = [episodes / len(parts) / part for part in parts]
    if min(ratios) >= 1:
        return settings

    def fewer(number: int, ratio: float, least: int = FEWEST) -> int:
        return min(number, max(least, int(ratio * number)))

    root = min(1.0, max(1e-9, ratios[0])) ** 0.5  # fewer updates with fewer episodes each
    return replace(
        settings,
        episodes=fewer(settings.episodes, root),
        updates=fewer(settings.updates, root),
        elites=fewer(settings.elites, ratios[1] / root, 1),
        tests=fewer(settings.tests, ratios[2]),
        random_episodes=fewer(settings.random_episodes, ratios[1]),
        testing_tail=max(settings.testing_tail, settings.learning_tail),
    )


class Mcem:
    """One run."""

    def __init__(
        self,
        ground: Ground,
        iterations: int | None,
        horizon: int | None,
        settings: McemSettings,
        watch: Watch,
        keeper: Keeper = UNKEPT,
    ) -> None:
        self.ground, self.iterations, self.settings = ground, iterations, settings
        self.watch, self.keeper = watch, keeper
        self.learning = ground.horizon(horizon, settings.learning_tail, settings.longest)
        self.testing = ground.horizon(horizon, settings.testing_tail, settings.longest)
        self.range = (np.inf, -np.inf)  # smallest and largest reward so far
        self.best = Tested(Team.uniform(ground.simulator))
        self.trace: list[Row] = []
        self.iteration = self.start = self.failures = 0
        self.replayed: list[Team] = []
        ground.heartbeat = self._show

    def run(self) -> str:
        """Start after start; says why it ended."""
        kept = self.keeper.restore(McemState)
        if kept is not None:
            go_on(self, kept)
        try:
            return self._climbs(None if kept is None else kept.climb)
        except Finished as reason:
            return str(reason)
        except KeyboardInterrupt:
            return "interrupted"

    def _climbs(self, under_way: Climb | None) -> str:
        if under_way is None:
            self._consider(self.best.team)
        else:
            self._judge(self._learnt(under_way))
        starts = self.starts()
        while self.failures < self.settings.patience:
            self.ground.check()
            tables = next(starts)
            self.start += 1
            self._judge(self._learnt(Climb(0, tables, [np.zeros(table.move.shape) for table in tables])))
        return "converged"

    def _judge(self, team: Team) -> None:
        self.failures = 0 if self._consider(team.decided(), team) else self.failures + 1

    def starts(self) -> Iterator[list[Tables]]:
        """By turns one of the best episodes and a random start, from the number `start` on."""
        self.replayed = self.replayed or self._replayed()
        for number in count(self.start):
            place, random = divmod(number, 2)
            if random or place >= len(self.replayed):
                yield [self._random(n) for n in range(len(self.ground.simulator.agents))]
            else:
                yield [self._softened(controller) for controller in self.replayed[place].controllers]

    def _replayed(self) -> list[Team]:
        """The best episodes of up to as many steps as there are nodes, best mean return first."""
        chosen = self.settings
        uniform = Team.uniform(self.ground.simulator)
        episodes = self.ground.play_some(uniform, chosen.random_episodes, chosen.nodes, chosen.random_share)
        seed = self.ground.seed()
        lengths = range(min(2, chosen.nodes), chosen.nodes + 1)
        played: list[Tested] = []
        for team in (team for length in lengths for team in replays(episodes, length, chosen.elites)):
            played.append(tested(self.ground, team, chosen.episodes, self.testing, seed))
            if self.ground.share() > REPLAYING:  # to make a team of thousands takes longer than to test it
                break
        ordered = sorted(played, key=lambda one: -one.value)
        self._consider(*(one.team for one in ordered[:4]))
        return [one.team for one in ordered[: chosen.patience]]

    def _softened(self, controller: Controller) -> Tables:
        """A controller with some of every choice left open, filled up to the fixed size."""
        room, share = self.settings.nodes - controller.nodes, self.settings.openness

        def soft(table: Floats) -> Floats:
            return (1 - share) * table + share / table.shape[-1]

        first = np.tile(np.pad(controller.initial, (0, room)), (1 + controller.observations, 1))
        act = np.pad(controller.action, ((0, room), (0, 0)), constant_values=1 / controller.actions)
        move = np.zeros((self.settings.nodes, *controller.transition.shape[1:3], self.settings.nodes))
        move[..., 0] = 1.0
        move[: controller.nodes] = np.pad(controller.transition, ((0, 0), (0, 0), (0, 0), (0, room)))
        return Tables(first, soft(act), soft(move))

    def _learnt(self, climb: Climb) -> Team:
        """EM from one start."""
        tables, visits = climb.tables, climb.visits
        for number in range(climb.number, self.settings.updates):
            self.keeper.offer(partial(state_of, self, Climb(number, tables, visits)))
            if self.iterations is not None and self.iteration >= self.iterations:
                raise Finished("iterations")
            if number > 0 and not self._affords_update():
                break
            begin = self.ground.seconds()
            try:
                tables = self.updated(tables, visits, number)
            except Finished as reason:
                if str(reason) == TIME and number > 0:  # late or not: else it was for nothing
                    self._judge(self.team(tables))
                raise
            if self.ground.left() < LAST * (self.ground.seconds() - begin):
                break
        return self.team(tables)

    def _affords_update(self) -> bool:
        """Whether the steps are enough for an iteration and for the test without which it would be for nothing."""
        more = self.settings.episodes * self.learning + JUDGED * self.settings.tests * self.testing
        return self.ground.limit is None or self.ground.steps + more <= self.ground.limit

    def updated(self, tables: list[Tables], visits: list[Floats], number: int) -> list[Tables]:
        """One iteration, the number-th from this start: simulate, count, maximise. `visits` is added to."""
        rate = self.settings.exploration * (1 - number / self.settings.updates)
        behaviour = [self._behaviour(t, v, rate) for t, v in zip(tables, visits, strict=True)]
        played = lived(self.ground, self.team(behaviour), self.settings.episodes, self.learning)
        self.range = reward_range(played, self.range)
        after = [self._maximised(n, t, played) for n, t in enumerate(tables)]
        for n, seen in enumerate(visits):
            seen += played.moves(n, seen.shape)
        self.iteration += 1
        self._record(rate)
        return after

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

    def _maximised(self, n: int, tables: Tables, played: Lived) -> Tables:
        self.ground.check()
        values = counted(played, n, tables, self.ground.discount, self.range)
        stride, least = self.settings.stride, self.settings.least
        return Tables._make(normalised(old, value, stride, least) for old, value in zip(tables, values, strict=True))

    def team(self, tables: list[Tables]) -> Team:
        """The tables as a team."""
        shown = self.ground.shown
        controllers = [Controller(t.first[0], t.act, t.move, t.first[1:] if shown else None) for t in tables]
        return Team.of(self.ground.simulator, controllers)

    def _consider(self, *teams: Team) -> bool:
        """Test `teams` beside the best so far."""
        known, tests, seed = self.best.team, self.settings.tests, self.ground.seed()
        best, *others = contested(self.ground, [known, *teams], tests, self.testing, seed)
        winner = max(others, key=lambda one: one.value)
        better = winner.value > best.value
        self.best = winner if better else best
        return better

    def _show(self) -> None:
        """For whoever looks on, while something takes long."""
        now: Row = {"phase": "working", "seconds": round(self.ground.seconds(), 3), "steps": self.ground.steps}
        self.watch({"iteration": self.iteration, **now, "value": self.best.value, "error": self.best.error})

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
        self.ground.told()
        self.watch(row)
