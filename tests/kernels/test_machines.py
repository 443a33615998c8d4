"""Machines play what they say, against the chance that their position gives them."""

import numpy as np
import pytest
from oracles import making

from decpomdp.core.sparse import alias_model
from decpomdp.evaluation import exact_value
from decpomdp.interaction.search.machines import Machine, pack, team_of
from decpomdp.kernels import machines as kernels
from decpomdp.kernels.machines import PlayedBatch, RandomWindow


def random_plan(rng, model, nodes):
    return tuple(
        Machine(
            rng.integers(len(agent.actions), size=nodes + 1),
            rng.integers(1, nodes + 1, (nodes + 1, len(agent.observations) + 1)),
        )
        for agent in model.agents
    )


def values(model, plan, window, first, episodes, horizon, seed=3):
    out = np.empty(episodes)
    machines = pack(plan, model)
    kernels.values(alias_model(model), machines, window, np.uint64(seed), first, horizon, model.discount, out)
    return out


def recorded(model, plan, window, numbers, horizon, seed=3):
    shape = (len(numbers), horizon, len(plan))
    played = PlayedBatch(
        *(np.empty(shape, np.int16) for _ in range(3)), np.empty(shape[:2]), np.empty(shape[0], np.int64)
    )
    kernels.record(alias_model(model), pack(plan, model), window, np.uint64(seed), np.array(numbers), played)
    return played


@pytest.mark.parametrize("actions", [(3,), (2, 3), (2, 2, 3), (2, 1, 2, 2)])
def test_mean_return_is_the_exact_value(actions):
    rng = np.random.default_rng(len(actions))
    model = making.model(rng, 3, actions, actions[::-1], sparse=True)
    plan = random_plan(rng, model, 3)
    returns = values(model, plan, RandomWindow(0, 0, np.zeros(len(actions))), 0, 40_000, 12)
    wanted = exact_value(model, team_of(plan, model, False), 12).value
    assert abs(returns.mean() - wanted) < 4 * returns.std() / np.sqrt(len(returns))


def test_an_episode_depends_on_its_number_alone():
    rng = np.random.default_rng(0)
    model = making.model(rng, 3, (2, 3), (3, 2))
    plan, window = random_plan(rng, model, 3), RandomWindow(2, 5, np.array([0.5, 1.0]))
    whole = values(model, plan, window, 0, 50, 9)
    parts = [values(model, plan, window, first, count, 9) for first, count in ((0, 7), (7, 33), (40, 10))]
    assert np.array_equal(np.concatenate(parts), whole)
    assert not np.array_equal(values(model, plan, window, 0, 50, 9, seed=4), whole)


def test_a_record_is_the_episode_that_was_valued():
    rng = np.random.default_rng(1)
    model = making.model(rng, 3, (2, 3), (3, 2))
    plan, window = random_plan(rng, model, 3), RandomWindow(2, 5, np.array([0.5, 1.0]))
    played = recorded(model, plan, window, [4, 17, 30], 9)
    weights = np.where(np.arange(9) < window.begin, 0, model.discount ** np.arange(9))
    assert played.rewards @ weights == pytest.approx(values(model, plan, window, 0, 50, 9)[[4, 17, 30]])
    for n, machine in enumerate(plan):
        before = np.zeros(3, int)
        for t in range(9):
            assert np.array_equal(played.nodes[:, t, n], machine.move[before, played.observations[:, t, n]])
            before = played.nodes[:, t, n].astype(int)
            if not window.begin <= t < window.end:
                assert np.array_equal(played.actions[:, t, n], machine.action[before])


def test_a_window_explores_at_its_rate():
    rng = np.random.default_rng(2)
    model = making.model(rng, 2, (4, 4), (2, 2))
    plan = random_plan(rng, model, 1)
    played = recorded(model, plan, RandomWindow(1, 3, np.array([0.0, 0.8])), range(20_000), 4)
    for n, machine in enumerate(plan):
        other = (played.actions[:, :, n] != machine.action[1]).mean(axis=0)
        wanted = [0, 0.6, 0.6, 0] if n == 1 else [0, 0, 0, 0]  # a random action is another one three times in four
        assert other == pytest.approx(wanted, abs=4 * 0.5 / np.sqrt(20_000))


def test_edges_are_counted_from_the_root_on():
    seen = np.array([[-1, 0, 1], [-1, 1, 0]], np.int16)[:, :, None]
    nodes = np.array([[1, 2, 1], [1, 1, 2]], np.int16)[:, :, None]
    played = PlayedBatch(seen, nodes, nodes, np.zeros((2, 3)), np.array([3, 2]))
    visits = np.zeros((1, 3, 3), np.int64)
    kernels.count_edges(played, visits)
    assert visits[0].tolist() == [[0, 0, 2], [1, 1, 0], [0, 1, 0]]
