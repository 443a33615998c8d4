"""Time limits: batches and tests are cut, the last iteration is tested, batch sizes follow the time of iterations.

The stop flag and the time left are set by these tests, so that nothing depends on how busy the machine is.
"""

import numpy as np
import pytest

from decpomdp.core import Team
from decpomdp.core.run import INTERRUPTED, TIME_LIMIT, Cut, Inputs, unlimited
from decpomdp.domains.traffic import Traffic
from decpomdp.interaction.episode_player import EpisodePlayer
from decpomdp.interaction.mcem.method import McemMethod
from decpomdp.interaction.mcem.settings import Mcem, McemTuning
from decpomdp.interaction.sbpr.many_method import ManyAgentsMethod
from decpomdp.interaction.sbpr.settings import ManyAgents, SbprLoop, SbprTuning

pytestmark = pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")
PIECE = 10  # episodes
PAUSE = 3
BRIEF = SbprLoop(
    batch=100, tests=60, patience=1, tuning=SbprTuning(settling=5, many=ManyAgents(pause=PAUSE, patience=2))
)
FEW = Mcem(episodes=30, tests=60, updates=20, tuning=McemTuning(random_episodes=100, elites=1))


class Slow(Traffic):
    """A grid of which a few episodes are played at a time; sets a stop flag after some pieces."""

    piece = PIECE
    flag, left, reason = None, 0, TIME_LIMIT

    def stop_after(self, pieces, now, reason=TIME_LIMIT):
        self.flag, self.left, self.reason = now.stop, pieces, reason

    def play(self, *args, **options):
        self.left -= 1
        if self.flag is not None and self.left == 0:
            self.flag[0] = self.reason
        return super().play(*args, **options)


def player_of(grid, **left):
    player = EpisodePlayer(grid, Inputs(0, 1))
    player.begin(player.random, 0, unlimited()._replace(**left))
    return player


def test_a_batch_is_cut_when_the_run_ends():
    grid = Slow(3)
    player = player_of(grid)
    grid.stop_after(4, player.now)
    with pytest.raises(Cut):
        player.play(Team.uniform(grid), 500, 10)
    assert player.steps == 4 * PIECE * 10
    whole = player_of(grid)
    grid.stop_after(50, whole.now)
    assert whole.play(Team.uniform(grid), 500, 10).count == 500  # just in time


@pytest.mark.parametrize("pieces", [1, 3])
def test_a_comparison_is_decided_by_the_pieces_played_in_time(pieces):
    """At least one, however late it is."""
    grid = Slow(3)
    teams, player = [grid.policies()[name] for name in ("random", "heuristic")], player_of(grid)
    grid.stop_after(2 * pieces, player.now)
    found = player.all_tested(teams, 500, 10, 7)
    assert player.steps == 2 * pieces * PIECE * 10
    assert found[1].value == player_of(Slow(3)).tested(teams[1], pieces * PIECE, 10, 7).value > found[0].value


def method_of(name, grid):
    if name == "sbpr":
        return ManyAgentsMethod(grid, BRIEF, Inputs())
    return McemMethod(grid, FEW, Inputs())


def run_to_iteration(method, count):
    state, now = method.init(unlimited()), unlimited()
    while state.iterations < count:
        state, _ = method.step(state, now)
    return state


@pytest.mark.parametrize("name", ["sbpr", "mcem"])
def test_with_little_time_left_the_learned_team_is_tested(name):
    method = method_of(name, Slow(3))
    state = run_to_iteration(method, 1)
    before = state.best
    state, row = method.step(state, unlimited()._replace(seconds=1.0, pace=0.6))
    assert np.isfinite(state.best.value)
    assert state.best != before
    assert state.iterations == 1
    if name == "sbpr":
        assert (state.stopped, row["iteration"], row["value"]) == ("time limit", 1, state.best.value)


@pytest.mark.parametrize("name", ["sbpr", "mcem"])
def test_an_iteration_that_is_cut_by_time_leads_to_a_short_test(name):
    grid = Slow(3)
    method = method_of(name, grid)
    state, now = run_to_iteration(method, 1), unlimited()
    steps, before = state.steps, state.best
    grid.stop_after(1, now)
    after, _ = method.step(state, now)
    assert after.best != before
    assert after.steps <= steps + PIECE * 29 + 3 * PIECE * 66 + (0 if name == "sbpr" else 30 * 29)
    state, now = run_to_iteration(method, 1), unlimited()
    grid.stop_after(1, now, INTERRUPTED)
    with pytest.raises(Cut):
        method.step(state, now)


def test_batches_follow_the_time_of_iterations_if_time_is_the_only_limit():
    method = ManyAgentsMethod(Slow(3), BRIEF, Inputs())
    state = run_to_iteration(method, 1)
    assert state.batch == BRIEF.batch
    counted = unlimited()._replace(seconds=1e6, iterations=5)
    assert method.step(state, counted)[0].batch == BRIEF.batch
    alone = unlimited()._replace(seconds=1e6)
    assert method.step(state._replace(seconds=1e-9), alone)[0].batch < BRIEF.batch
