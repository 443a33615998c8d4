"""MCEM: Monte-Carlo expectation-maximisation on controllers of a fixed size. A RECONSTRUCTION.

After Wu, Zilberstein and Jennings (IJCAI 2013), from the outline only: episodes are simulated with the controllers
themselves, so the node path is *observed* and no forward-backward pass is needed. With rewards scaled to
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

Starts are best episodes, replayed, and random tables in turn. After the updates of a start its team is tested; the run
has converged when several starts in a row were no better.
"""

from typing import NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from decpomdp.core import Controller, DecPOMDP, Episodes, Simulator, Team, concatenate
from decpomdp.core.fit import Fit, Row
from decpomdp.core.minimal import simplified
from decpomdp.core.run import Cut, Inputs, Now
from decpomdp.interaction.afford import McemSizes, mcem_sizes
from decpomdp.interaction.episode_player import OUT_OF_TIME, EpisodeMethod, EpisodePlayer, Tested, warm_up_problem
from decpomdp.interaction.mcem.settings import Mcem
from decpomdp.interaction.sbpr.starts import best_actions, chain
from decpomdp.rollouts.play import EpisodeBatch, play, players_of

Floats = NDArray[np.float64]

LARGEST = 3.0  # factor by which a probability may grow in one update, at most
DOUBT = 5.0  # decisions with the mean of the row that are added to every choice

REPLAYING = 1 / 3  # of the time, after which no more replays are tested
JUDGED = 3  # teams in the test of a learned team: the best so far, its likeliest choices, the team itself
BEST = 4  # replays that are tested again


class NodeTables(NamedTuple):
    """One agent's controller."""

    first: Floats  # [1 + o, i] row 0: no observation before the first action
    act: Floats  # [i, a]
    move: Floats  # [i, a, o, j]


class Recorded(EpisodeBatch):
    """Episodes with the nodes that were visited."""

    @property
    def last(self) -> NDArray[np.int64]:
        """[k]: last row of every episode."""
        return np.cumsum(self.lengths) - 1

    def times(self) -> NDArray[np.int64]:
        """[r]: the step of every row."""
        return np.arange(len(self.paths.rewards)) - np.repeat(self.last + 1 - self.lengths, self.lengths)

    def onward(self) -> NDArray[np.int64]:
        """Rows that are followed by another of the same episode."""
        inner = np.ones(len(self.paths.rewards), bool)
        inner[self.last] = False
        return np.flatnonzero(inner)

    def moves(self, n: int, shape: tuple[int, ...]) -> Floats:
        """[i, a, o, j]: number of these moves of agent n."""
        return _tally(self.move_places(n, shape), np.ones(len(self.onward())), shape)

    def move_places(self, n: int, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Flat index of (i, a, o, j) for every row of `onward`."""
        here, node, action = self.onward(), self.paths.nodes[:, n], self.paths.actions[:, n]
        return np.ravel_multi_index(
            (node[here], action[here], self.paths.observations[here + 1, n], node[here + 1]), shape
        )


def play_recorded(player: EpisodePlayer, team: Team, episodes: int, horizon: int) -> Recorded:
    """Play `team` and record its node paths."""
    player.check(episodes * horizon)
    seed, threads = player.seed(), player.threads
    batch = play(player.simulator, players_of(team), episodes, horizon, seed, behaviour=False, threads=threads)
    recorded = Recorded(*batch)
    player.steps += len(recorded.paths.rewards)
    return recorded


def reward_range(played: Recorded, so_far: tuple[float, float]) -> tuple[float, float]:
    """Smallest and largest reward of all data; after its end an episode earns 0."""
    rewards = played.paths.rewards
    low, high = min(so_far[0], float(rewards.min())), max(so_far[1], float(rewards.max()))
    return (min(low, 0.0), max(high, 0.0)) if played.terminated.any() else (low, high)


def worth(played: Recorded, discount: float, bounds: tuple[float, float]) -> Floats:
    """[r]: discounted sum of the scaled rewards from the row on."""
    low, high = bounds
    width = (high - low) or 1.0
    scaled = discount ** played.times().astype(np.float64) * (played.paths.rewards - low) / width
    if played.terminated.any() and discount < 1:
        ended = played.last[played.terminated]
        after = discount ** played.lengths[played.terminated].astype(np.float64)
        scaled[ended] += after / (1 - discount) * -low / width
    sums = np.cumsum(scaled)
    return np.repeat(sums[played.last], played.lengths) - sums + scaled


def mean_worths(
    played: Recorded, n: int, tables: NodeTables, discount: float, bounds: tuple[float, float]
) -> NodeTables:
    """Mean worth of each of agent n's decisions, relative to the mean of its row.

    Times the controller's probabilities these are the expected weighted counts, free of the effect of exploration and
    of the sampling noise of the choices.
    """
    value = worth(played, discount, bounds)
    usual = discount ** played.times().astype(np.float64)
    node, action = played.paths.nodes[:, n].astype(np.int64), played.paths.actions[:, n].astype(np.int64)
    starts = played.last + 1 - played.lengths
    after = played.onward() + 1
    first = np.ravel_multi_index((played.paths.observations[starts, n] + 1, node[starts]), tables.first.shape)
    act = np.ravel_multi_index((node, action), tables.act.shape)
    move = played.move_places(n, tables.move.shape)
    return NodeTables(
        _relative(first, value[starts], usual[starts], tables.first),
        _relative(act, value, usual, tables.act),
        _relative(move, value[after], usual[after], tables.move),
    )


def normalised(table: Floats, worth: Floats, stride: float, least: float) -> Floats:
    """The next probabilities: over-relaxed EM, `stride` times as far (in logs) as `worth` says."""
    moved = table * np.minimum(worth**stride, LARGEST)
    shares = moved / np.maximum(moved.sum(axis=-1, keepdims=True), 1e-300)
    return (1 - least) * shares + least / table.shape[-1]


def _relative(places: NDArray[np.int64], value: Floats, usual: Floats, table: Floats) -> Floats:
    """Mean value per decision over the mean of its row, shrunk towards that mean."""
    total, visits = _tally(places, value, table.shape), _tally(places, usual, table.shape)
    row = total.sum(axis=-1, keepdims=True) / np.maximum(visits.sum(axis=-1, keepdims=True), 1e-300)
    shrunk = (total + DOUBT * row) / (visits + DOUBT)
    mean = (table * shrunk).sum(axis=-1, keepdims=True)
    return np.where(mean > 0, shrunk / np.maximum(mean, 1e-300), 1.0)


def _tally(places: NDArray[np.int64], weights: Floats, shape: tuple[int, ...]) -> Floats:
    sums: Floats = np.bincount(places, weights, int(np.prod(shape))).astype(np.float64)
    return sums.reshape(shape)


class ReplayStart(NamedTuple):
    """A best episode to be replayed."""

    actions: NDArray[np.int64]  # [t, n]
    loop: bool


class Replays(NamedTuple):
    """The search for starts among random episodes."""

    episodes: list[Episodes]  # empty once the chains are made
    chains: list[ReplayStart]  # still to be tested
    seed: int  # of their tests
    tested: list[Tested]


class McemClimb(NamedTuple):
    """EM from one start."""

    number: int  # of its next iteration
    tables: list[NodeTables]
    visits: list[Floats]  # [n][i, a, o, j]


class McemState(NamedTuple):
    """Between two steps."""

    random: np.random.Generator
    best: Tested
    sizes: McemSizes | None = None  # chosen in the first step
    seconds: float = float("inf")  # the time limit
    replays: Replays | None = None  # while they are tested
    starts: list[Team] | None = None  # the best replays
    start: int = 0  # number of the next start
    failures: int = 0  # starts in a row without a better team
    climb: McemClimb | None = None
    rewards: tuple[float, float] = (float("inf"), float("-inf"))  # smallest and largest so far
    steps: int = 0
    iterations: int = 0
    stopped: str = ""


class McemMethod(EpisodeMethod):
    """One run: a step is an iteration, a test, a piece of random episodes or the test of a replay."""

    state: type = McemState

    def __init__(self, problem: DecPOMDP | Simulator, settings: Mcem, inputs: Inputs) -> None:
        super().__init__(problem, inputs)
        self.settings = settings
        self.learning = self.player.horizon(settings.horizon, settings.tuning.learning_tail, settings.tuning.longest)

    def toy(self) -> "McemMethod":
        """This method with the smallest sizes, to compile everything."""
        tuning = replace(self.settings.tuning, random_episodes=2, elites=1)
        tiny = Mcem(nodes=2, episodes=2, updates=1, horizon=2, tests=2, patience=1, tuning=tuning)
        toy = McemMethod(warm_up_problem(self.player.simulator), tiny, Inputs(threads=self.inputs.threads))
        toy.at_once = 5
        return toy

    def init(self, now: Now) -> McemState:
        """Begin with the uniform team."""
        return McemState(np.random.default_rng(self.inputs.seed), Tested(Team.uniform(self.player.simulator)))

    def result(self, state: McemState) -> tuple[Fit, None]:
        """The best team so far."""
        facts: Row = {} if state.sizes is None else state.sizes._asdict()
        return Fit(simplified(state.best.team), facts=facts), None

    def advance(self, state: McemState, now: Now) -> tuple[McemState, Row | None]:
        """The next iteration, test or search for starts."""
        sizes = state.sizes
        if sizes is None:
            sizes = mcem_sizes(self.settings, self.player)
            state = state._replace(sizes=sizes, seconds=now.seconds)
            return self._compared(state, sizes, [state.best.team])[0], None
        if state.starts is None:
            return self._find_starts(state, sizes, state.replays or Replays([], [], 0, []), now), None
        climb = state.climb or self._begin(state, state.starts)
        state = state._replace(climb=climb)
        more = sizes.episodes * self.learning + JUDGED * sizes.tests * sizes.testing  # an iteration and its test
        if climb.number == sizes.updates or (climb.number > 0 and not self.player.affords(more)):
            return self._judge(state, sizes, climb), None
        try:
            return self._update(state, sizes, climb)
        except Cut:
            if climb.number == 0 or now.stop[0] not in OUT_OF_TIME:
                raise
            return self._judge(state, sizes, climb), None  # late: otherwise the start is lost

    def _find_starts(self, state: McemState, sizes: McemSizes, replays: Replays, now: Now) -> McemState:
        """Random episodes; the best of up to as many steps as there are nodes, replayed; the best mean returns."""
        nodes, tuning = self.settings.nodes, self.settings.tuning
        used = 1 - now.seconds / state.seconds  # of the time; NaN without a limit
        if not replays.chains:
            uniform = Team.uniform(self.player.simulator)
            share = tuning.random_share
            part = self.player.random_piece(uniform, replays.episodes, sizes.random_episodes, nodes, share, used)
            if part is not None:
                return state._replace(replays=replays._replace(episodes=[*replays.episodes, part]))
            seed, episodes = self.player.seed(), concatenate(replays.episodes)
            lengths = range(min(2, nodes), nodes + 1)
            best = [actions for length in lengths for actions in best_actions(episodes, length, sizes.elites)]
            chains = [ReplayStart(actions, loop) for actions in best for loop in (True, False)]
            return state._replace(replays=Replays([], chains, seed, []))
        if replays.tested and (len(replays.tested) == len(replays.chains) or used > REPLAYING):
            ordered = sorted(replays.tested, key=lambda one: -one.value)
            state, _ = self._compared(state, sizes, [one.team for one in ordered[:BEST]])
            return state._replace(replays=None, starts=[one.team for one in ordered[: self.settings.patience]])
        self.player.now.check()
        team = chain(self.player.simulator, *replays.chains[len(replays.tested)])
        tested = self.player.tested(team, sizes.episodes, sizes.testing, replays.seed)
        return state._replace(replays=replays._replace(tested=[*replays.tested, tested]))

    def _begin(self, state: McemState, starts: list[Team]) -> McemClimb:
        """Alternately one of the best episodes and a random start."""
        place, random = divmod(state.start, 2)
        if random or place >= len(starts):
            tables = [self._random(n) for n in range(len(self.player.simulator.agents))]
        else:
            tables = [self._softened(controller) for controller in starts[place].controllers]
        return McemClimb(0, tables, [np.zeros(table.move.shape) for table in tables])

    def _softened(self, controller: Controller) -> NodeTables:
        """A controller mixed with uniform choices, filled up to the fixed size."""
        missing, share = self.settings.nodes - controller.nodes, self.settings.tuning.openness

        def soft(table: Floats) -> Floats:
            return (1 - share) * table + share / table.shape[-1]

        first = np.tile(np.pad(controller.initial, (0, missing)), (1 + controller.observations, 1))
        act = np.pad(controller.action, ((0, missing), (0, 0)), constant_values=1 / controller.actions)
        move = np.zeros((self.settings.nodes, *controller.transition.shape[1:3], self.settings.nodes))
        move[..., 0] = 1.0
        move[: controller.nodes] = np.pad(controller.transition, ((0, 0), (0, 0), (0, 0), (0, missing)))
        return NodeTables(first, soft(act), soft(move))

    def _random(self, n: int) -> NodeTables:
        agent, rng, z = self.player.simulator.agents[n], self.player.random, self.settings.nodes
        actions, symbols = len(agent.actions), len(agent.observations)
        first = rng.dirichlet(np.ones(z), size=1 + symbols)
        if not self.player.shown:
            first[:] = np.eye(z)[0]  # without loss: nodes have no names yet
        return NodeTables(
            first, rng.dirichlet(np.ones(actions), size=z), rng.dirichlet(np.ones(z), size=(z, actions, symbols))
        )

    def _update(self, state: McemState, sizes: McemSizes, climb: McemClimb) -> tuple[McemState, Row]:
        """One iteration: simulate, count, maximise. The last one of a start is counted after its test."""
        rate = self.settings.exploration * (1 - climb.number / sizes.updates)
        behaviour = [self._behaviour(t, v, rate) for t, v in zip(climb.tables, climb.visits, strict=True)]
        played = play_recorded(self.player, self.team(behaviour), sizes.episodes, self.learning)
        rewards = reward_range(played, state.rewards)
        tables = [self._maximised(n, t, played, rewards) for n, t in enumerate(climb.tables)]
        for n, seen in enumerate(climb.visits):
            seen += played.moves(n, seen.shape)
        after = McemClimb(climb.number + 1, tables, climb.visits)
        row: Row = {
            "iteration": state.iterations + 1,
            "start": state.start + 1,
            "steps": self.player.steps,
            "exploration": rate,
            "nodes": "+".join([str(self.settings.nodes)] * len(tables)),
            "value": state.best.value,
            "error": state.best.error,
        }
        counted = state.iterations + (after.number < sizes.updates)
        return state._replace(climb=after, rewards=rewards, iterations=counted), row

    def _behaviour(self, tables: NodeTables, visits: Floats, rate: float) -> NodeTables:
        """Epsilon-greedy actions; next nodes with an upper-confidence bonus on how often they were tried."""
        bonus = np.sqrt(np.log1p(visits.sum(axis=-1, keepdims=True)) / (1 + visits))
        likeliest = (tables.move + self.settings.tuning.confidence * bonus).argmax(axis=-1)
        actions, nodes = tables.act.shape[1], tables.move.shape[-1]
        return NodeTables(
            tables.first,
            (1 - rate) * tables.act + rate / actions,
            (1 - rate) * tables.move + rate * np.eye(nodes)[likeliest],
        )

    def _maximised(self, n: int, tables: NodeTables, played: Recorded, rewards: tuple[float, float]) -> NodeTables:
        self.player.now.check()
        values = mean_worths(played, n, tables, self.player.discount, rewards)
        stride, least = self.settings.tuning.stride, self.settings.tuning.least
        return NodeTables._make(
            normalised(old, value, stride, least) for old, value in zip(tables, values, strict=True)
        )

    def team(self, tables: list[NodeTables]) -> Team:
        """The tables as a team."""
        shown = self.player.shown
        controllers = [Controller(t.first[0], t.act, t.move, t.first[1:] if shown else None) for t in tables]
        return Team.of(self.player.simulator, controllers)

    def _judge(self, state: McemState, sizes: McemSizes, climb: McemClimb) -> McemState:
        """The end of a start: test its team and its likeliest choices."""
        team = self.team(climb.tables)
        state, better = self._compared(state, sizes, [team.decided(), team])
        failures = 0 if better else state.failures + 1
        return state._replace(
            climb=None,
            start=state.start + 1,
            failures=failures,
            iterations=state.iterations + (climb.number == sizes.updates),
            stopped="converged" if failures == self.settings.patience else "",
        )

    def _compared(self, state: McemState, sizes: McemSizes, teams: list[Team]) -> tuple[McemState, bool]:
        """Test `teams` against the best so far: the better one, and whether it is new."""
        best, winner = self.player.compared(state.best.team, teams, sizes.tests, sizes.testing)
        better = winner.value > best.value
        return state._replace(best=winner if better else best), better
