"""The sweep's oracles of node paths, values and counts against hand-worked numbers, identities and derivatives.

Every kind of check is also run once on a deliberately wrong variant, which it must reject.
"""

import itertools

import numpy as np
import pytest
from oracles import sweeps
from oracles.sweep_cases import DISCOUNT, FLOOR, agree, differ, random_controller, random_episodes


@pytest.fixture
def rng():
    return np.random.default_rng(20)


# ---- node paths ----

HAND = (
    np.array([0.6, 0.4]),
    np.array([[1.0, 0.0], [0.5, 0.5]]),
    np.array([[0.9, 0.1], [0.2, 0.8]]),
    np.array(
        [[[[0.7, 0.3], [0.1, 0.9]], [[0.5, 0.5], [0.4, 0.6]]], [[[0.3, 0.7], [0.8, 0.2]], [[1.0, 0.0], [0.0, 1.0]]]]
    ),
)


def test_paths_by_hand():
    _, both = sweeps.path_likelihoods(HAND, [0, 1], [-1, 1])
    # initial, action 0, move after (0, o=1), action 1
    want = {
        (0, 0): 0.6 * 0.9 * 0.1 * 0.1,
        (0, 1): 0.6 * 0.9 * 0.9 * 0.8,
        (1, 0): 0.4 * 0.2 * 0.8 * 0.1,
        (1, 1): 0.4 * 0.2 * 0.2 * 0.8,
    }
    assert both.keys() == want.keys()
    for path, p in want.items():
        agree(both[path], p)
    differ(both[0, 0], sweeps.path_likelihoods(HAND, [0, 1], [-1, 0])[1][0, 0])  # an observation one place off
    agree(sweeps.step_probabilities(HAND, [0, 1], [-1, 1]), [0.62, sum(want.values()) / 0.62])
    agree(sweeps.phi(HAND, [0, 1], [-1, 1], 1, 0)[1], (want[1, 0] + want[1, 1]) / sum(want.values()))
    agree(sweeps.xi(HAND, [0, 1], [-1, 1], 1, 0)[0, 1], want[0, 1] / sum(want.values()))


def test_first_observation_chooses_the_start():
    agree(sweeps.step_probabilities(HAND, [0], [-1]), [0.6 * 0.9 + 0.4 * 0.2])
    agree(sweeps.step_probabilities(HAND, [0], [0]), [0.9])
    agree(sweeps.step_probabilities(HAND, [0], [1]), [0.5 * 0.9 + 0.5 * 0.2])
    agree(sweeps.step_probabilities((HAND[0], None, *HAND[2:]), [0], [1]), [0.62])


def test_impossible_action():
    sure = (np.ones(1), None, np.array([[1.0, 0.0]]), np.ones((1, 2, 1, 1)))
    agree(sweeps.step_probabilities(sure, [0, 1, 0], [-1, 0, 0]), [1, 0, 0])


@pytest.mark.parametrize("start", [-1, 0, 1])
def test_all_actions_together_are_certain(rng, start):
    seen = [start, 1, 0, 1]

    def everything(controller):
        return sum(
            sweeps.prefix_likelihoods(controller, actions, seen)[-1] for actions in itertools.product((0, 1), repeat=4)
        )

    agree(everything(random_controller(rng, nodes=3)), 1)
    differ(everything(random_controller(rng, nodes=3, total=0.99)), 1)


def test_marginals_of_the_posterior_fit_together(rng):
    given = random_controller(rng, nodes=3, total=0.8), [0, 1, 1, 0], [1, 0, 1, 1]
    for t in range(4):
        for tau in range(t):
            pair = sweeps.xi(*given, t, tau)
            agree(pair.sum(), 1)
            agree(pair.sum(axis=1), sweeps.phi(*given, t, tau))
            agree(pair.sum(axis=0), sweeps.phi(*given, t, tau + 1))
    differ(sweeps.xi(*given, 3, 1).sum(axis=0), sweeps.phi(*given, 3, 1))
    differ(sweeps.phi(*given, 3, 1), sweeps.phi(*given, 2, 1))  # later actions matter


# ---- value, re-weighted rewards, counts ----


def test_value_is_a_product_of_step_ratios(rng):
    episodes, controllers = random_episodes(rng), [random_controller(rng, total=0.7), random_controller(rng, nodes=3)]

    def by_steps(last):
        total = 0.0
        for episode in episodes:
            ratios = np.ones(len(episode["rewards"]))
            for n, controller in enumerate(controllers):
                columns = episode["actions"][:, n], episode["observations"][:, n]
                ratios *= sweeps.step_probabilities(controller, *columns) / episode["behaviour"][:, n]
            for t, reward in enumerate(episode["rewards"]):
                total += DISCOUNT**t * (reward - FLOOR) * np.prod(ratios[: t + last])
        return total / len(episodes)

    agree(sweeps.value(episodes, controllers, DISCOUNT, FLOOR), by_steps(1))
    differ(sweeps.value(episodes, controllers, DISCOUNT, FLOOR), by_steps(0))  # the ratio of step t left out


def test_reweighted_rewards_average_to_one(rng):
    episodes, controllers = random_episodes(rng), [random_controller(rng), random_controller(rng)]
    weights = sweeps.shifted_rewards(episodes, DISCOUNT, FLOOR)
    agree(weights[0][2], 0.81 * (episodes[0]["rewards"][2] + 1.5))
    nus = sweeps.reweighted(episodes, controllers, weights)
    agree(np.concatenate(nus).sum() / len(episodes), 1)
    differ(np.concatenate(nus).sum(), 1)
    scaled = sweeps.reweighted(episodes, controllers, [7 * weight for weight in weights])
    agree(np.concatenate(scaled), np.concatenate(nus))


def slopes(episodes, controllers, weights, agent, table):
    """d ln V~ / d ln x for every entry x of one table of a controller, by central differences."""
    original, step = controllers[agent][table], 1e-5
    result = np.zeros_like(original)
    for at in np.ndindex(original.shape):
        logs = []
        for sign in (1, -1):
            changed = original.copy()
            changed[at] *= np.exp(sign * step)
            parts = list(controllers[agent])
            parts[table] = changed
            team = [*controllers[:agent], tuple(parts), *controllers[agent + 1 :]]
            logs.append(np.log(sweeps.value_of_weights(episodes, team, weights)))
        result[at] = (logs[0] - logs[1]) / (2 * step)
    return result


@pytest.mark.parametrize("agent", [0, 1, 2])
def test_counts_are_logarithmic_derivatives_of_the_value(rng, agent):
    episodes = random_episodes(rng, agents=3, lengths=(3, 2, 1))
    controllers = [random_controller(rng, nodes=nodes, total=0.9) for nodes in (2, 3, 1)]
    weights = sweeps.shifted_rewards(episodes, DISCOUNT, FLOOR)
    visits, moves, firsts = sweeps.counts(episodes, controllers, weights, agent)
    tolerance = 1e-8  # of central differences with step 1e-5
    agree(visits, slopes(episodes, controllers, weights, agent, 2), tolerance)
    agree(moves, slopes(episodes, controllers, weights, agent, 3), tolerance)
    agree(firsts, slopes(episodes, controllers, weights, agent, 1), tolerance)
    differ(1.001 * moves, slopes(episodes, controllers, weights, agent, 3), tolerance)
    differ(visits, slopes(episodes, controllers, weights[:1] + [0 * w for w in weights[1:]], agent, 2), tolerance)


def test_episodes_without_weight_do_not_count(rng):
    sure = (np.ones(1), None, np.array([[1.0, 0.0]]), np.ones((1, 2, 2, 1)))
    episodes = random_episodes(rng, lengths=(2, 2), agents=1)
    episodes[0]["actions"][:], episodes[1]["actions"][:] = 0, 1  # the second is impossible
    visits, _, _ = sweeps.counts(episodes, [sure], [np.ones(2), np.ones(2)], 0)
    agree(visits[0, 1], 0)
    agree(visits[0, 0], np.dot([1, 2], sweeps.reweighted(episodes, [sure], [np.ones(2), np.ones(2)])[0]) / 2)
