"""The work of a cell of the appendix: one unbroken sequence of batches, its team valued on the way.

    best replayed episode -> [behaviour with exploration -> 50 episodes -> posterior]  again and again

It is one round of the paper's loop as `interaction.sbpr` plays it, without its later rounds and without keeping the
best team: what is valued is the policy of the iteration. The last one is tested as table 2 tests its teams, for the
error that a published mean of 100 test episodes has.
"""

from typing import Any

from decpomdp.core import DecPOMDP, Team
from decpomdp.core.run import Inputs
from decpomdp.domains.load import load_model
from decpomdp.engines.threads import serial_products
from decpomdp.evaluation import exact_value, sampled_value
from decpomdp.experiments.cells import Settings
from decpomdp.experiments.published import DISCOUNT, TEST_EPISODES, TEST_STEPS
from decpomdp.interaction.afford import BATCH
from decpomdp.interaction.episode_player import EpisodePlayer
from decpomdp.interaction.sbpr.iteration import Learner, Round, Start
from decpomdp.interaction.sbpr.settings import SbprLoop, SbprTuning
from decpomdp.interaction.sbpr.starts import replays
from decpomdp.learners import StickBreaking

ROUGH, WELL = 50, 500  # test episodes of a replay: many roughly, the better ones well
TESTING = 1_000_000  # added to the seed, as in table 2: tests have chances of their own


def work(settings: Settings) -> list[dict[str, Any]]:
    """One row per iteration; settings are problem, seed, iterations, every (iterations between values)."""
    model, chosen = load_model(settings["problem"], DISCOUNT), SbprTuning()
    player = EpisodePlayer(model, Inputs(settings["seed"], 1))
    learner = Learner(player, StickBreaking(), SbprLoop())
    state = learner.begin(Start(_best_replay(player, chosen), chosen.openness, chosen.replaying, True))
    found, count = [], settings["iterations"]
    for number in range(count):
        optimism = chosen.quantile * max(0.0, 1 - number / (chosen.sobering * count))
        with serial_products():
            state, facts = learner.iterate(state, BATCH, optimism, number >= chosen.settling)
        row = {key: facts[key] for key in ("exploration", "mean_nodes", "sample_size")}
        values: dict[str, float | None] = {"value": None, "decided": None}
        if number in (0, count - 1) or (number + 1) % settings["every"] == 0:
            values = {name: exact_value(model, team).value for name, team in _teams(learner, state).items()}
        found.append({"iteration": number + 1, **row, **values})
    found[-1] |= _errors(model, _teams(learner, state), settings["seed"])
    return found


def _teams(learner: Learner, state: Round) -> dict[str, Team]:
    """What is valued of a posterior."""
    mean = learner.posterior(state.counts).mean()
    return {"value": mean, "decided": mean.decided()}


def _errors(model: DecPOMDP, teams: dict[str, Team], seed: int) -> dict[str, float]:
    """The standard error of a mean of test episodes, as many and as long as the paper's."""
    return {
        f"{name}_error": sampled_value(model, team, TEST_EPISODES, TEST_STEPS, seed + TESTING, threads=1).standard_error
        for name, team in teams.items()
    }


def _best_replay(player: EpisodePlayer, chosen: SbprTuning) -> Team:
    """The chain of actions, among those of the best random episodes, that earns most when it is played again."""
    horizon = player.horizon(None, chosen.testing_tail, chosen.longest)
    episodes = player.play(Team.uniform(player.simulator), chosen.random_episodes, max(chosen.lengths))
    teams = [team for length in chosen.lengths for team in replays(episodes, length, chosen.elites)]
    for tests, keep in ((ROUGH, 10), (WELL, 1)):
        seed = player.seed()
        played = sorted((player.tested(team, tests, horizon, seed) for team in teams), key=lambda one: -one.value)
        teams = [one.team for one in played[:keep]]
    return teams[0]
