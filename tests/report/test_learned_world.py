"""The learned world on the page."""

from dataclasses import replace

import numpy as np
import pytest

import decpomdp as dp
from decpomdp.io.runs import RunRecord
from decpomdp.report.learned_world import IMAGINED, fit_of, state_uses
from decpomdp.report.performance import Trajectories
from report.making import written


def test_the_true_world_predicts_what_was_logged():
    world = dp.load("recycling")
    episodes = dp.simulate(world, "random", episodes=300, horizon=10, seed=1)
    (expected, paid), (chances, came) = fit_of(world, episodes)
    assert expected.mean() == pytest.approx(paid.mean(), abs=4 * paid.std() / len(paid) ** 0.5)
    for low, high in ((0.0, 0.3), (0.3, 0.7), (0.7, 1.0)):
        part = (chances >= low) & (chances <= high)
        error = (chances[part] * (1 - chances[part])).sum() ** 0.5
        assert abs(chances[part].sum() - came[part].sum()) < 4 * error
    assert came.sum() == episodes.steps - episodes.count  # exactly one of them each time
    wrong = replace(world, reward=world.reward + 1.0)
    (expected, paid), _ = fit_of(wrong, episodes)
    assert expected.mean() > paid.mean() + 4 * paid.std() / len(paid) ** 0.5


def test_states_are_described_by_the_episodes_of_the_team():
    world = dp.load("dectiger")
    episodes = dp.Episodes(
        agents=world.agents, offsets=np.array([0, 3, 4]), discount=0.9, actions=np.zeros((4, 2), int),
        observations=np.array([[-1, -1], [0, 1], [0, 1], [-1, -1]]), rewards=np.array([-2.0, 4.0, 6.0, -2.0]),
        behaviour=np.ones((4, 2)),
    )  # fmt: skip
    played = Trajectories(episodes, np.zeros((4, 2), int), ((0, 1, 1), (0,)))
    first, second = state_uses(world, played)
    assert (first.state, second.state) == (0, 1)
    assert first.share == pytest.approx(2 / (2 + 0.9 + 0.81))
    assert (first.seen, first.reward, second.reward) == ("nothing", -2.0, 5.0)
    assert second.seen == f"{world.agents[0].observations[0]} / {world.agents[1].observations[1]}"
    assert first.onward == f"{world.states[1]} 100%"


def test_the_page_shows_the_world_and_says_that_the_replay_is_imagined(tmp_path):
    world = dp.load("dectiger")
    episodes = dp.simulate(world, "random", episodes=30, horizon=5, seed=1)
    facts = {
        "value": -20.0,
        "low": -21.0,
        "high": -19.0,
        "worlds": 2,
        "outside": 0.1,
        "why": "Chosen: x.",
        "trust": "y.",
    }
    fit = dp.WorldFit(dp.Team.uniform(world), facts=facts, world=world)
    (tmp_path / "run").mkdir()
    world.save(tmp_path / "run" / "world.dpomdp")
    record = RunRecord(source="e.parquet", problem="dectiger", discount=0.9, seed=0, method="logs", facts=facts)
    page = (written(tmp_path / "run", fit, record, episodes).folder / "report.html").read_text()
    for words in (
        "Chosen: x.",
        "Learned world",
        "95 % interval -21 to -19",
        "about equally well: 1",
        IMAGINED,
        "grouped by what was predicted from the steps before",
    ):
        assert words in page
