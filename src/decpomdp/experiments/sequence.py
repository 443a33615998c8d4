"""The work of a cell of the appendix: one unbroken sequence of batches, its team valued on the way.

    best replayed episode -> [behaviour with exploration -> 50 episodes -> posterior]  again and again

It is one round of the paper's loop as `interaction.sbpr` plays it, without its later rounds and without keeping the
best team: what is valued is the policy of the iteration.
"""

from typing import Any

from decpomdp.core import Team
from decpomdp.domains.load import load_model
from decpomdp.engines.threads import serial_products
from decpomdp.evaluation import exact_value
from decpomdp.experiments.cells import Settings
from decpomdp.experiments.published import DISCOUNT
from decpomdp.interaction.sbpr_play import Ground, tested
from decpomdp.interaction.sbpr_round import Learner, Start
from decpomdp.interaction.sbpr_settings import SbprSettings
from decpomdp.interaction.sbpr_starts import replays
from decpomdp.learners import StickBreaking

ROUGH, WELL = 50, 500  # test episodes of a replay: many roughly, the better ones well


def work(settings: Settings) -> list[dict[str, Any]]:
    """One row per iteration; settings are problem, seed, iterations, every (iterations between values)."""
    model, chosen = load_model(settings["problem"], DISCOUNT), SbprSettings()
    ground = Ground(model, None, None, settings["seed"], 1)
    learner = Learner(ground, StickBreaking(), chosen, ground.horizon(None, chosen.learning_tail, chosen.longest))
    state = learner.begin(Start(_best_replay(ground, chosen), chosen.openness, chosen.replaying, True))
    found, count = [], settings["iterations"]
    for number in range(count):
        optimism = chosen.quantile * max(0.0, 1 - number / (chosen.sobering * count))
        with serial_products():
            state, facts = learner.iterate(state, optimism, number >= chosen.settling)
        row = {key: facts[key] for key in ("exploration", "mean_nodes", "sample_size")}
        values: dict[str, float | None] = {"value": None, "decided": None}
        if number == 0 or (number + 1) % settings["every"] == 0:
            mean = learner.posterior(state.counts).mean()
            teams = {"value": mean, "decided": mean.decided()}
            values = {name: exact_value(model, team).value for name, team in teams.items()}
        found.append({"iteration": number + 1, **row, **values})
    return found


def _best_replay(ground: Ground, chosen: SbprSettings) -> Team:
    """The chain of actions, among those of the best random episodes, that earns most when it is played again."""
    horizon = ground.horizon(None, chosen.testing_tail, chosen.longest)
    episodes = ground.play(Team.uniform(ground.simulator), chosen.random_episodes, max(chosen.lengths))
    teams = [team for length in chosen.lengths for team in replays(episodes, length, chosen.elites)]
    for tests, keep in ((ROUGH, 10), (WELL, 1)):
        seed = ground.seed()
        played = sorted((tested(ground, team, tests, horizon, seed) for team in teams), key=lambda one: -one.value)
        teams = [one.team for one in played[:keep]]
    return teams[0]
