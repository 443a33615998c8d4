"""Hyperplanes: against brute force over mappings, paths and policies, and what the search makes of them."""

import itertools

import numpy as np
import pytest
from oracles import making

from decpomdp.core import Controller, Team
from decpomdp.core.run import Inputs, unlimited
from decpomdp.core.sparse import outcome_model
from decpomdp.domains.load import load
from decpomdp.evaluation import exact_value
from decpomdp.io.checkpoints import decode, encode
from decpomdp.planners.common import first_team
from decpomdp.planners.fb_hsvi import hyperplanes as module
from decpomdp.planners.fb_hsvi.bounds import central_bound
from decpomdp.planners.fb_hsvi.hyperplanes import Hyperplanes, hyperplane, start_in
from decpomdp.planners.fb_hsvi.method import FbHsviMethod, FbHsviState
from decpomdp.planners.fb_hsvi.occupancy import compress, follow, start_of
from decpomdp.planners.fb_hsvi.points import OccupancyPoints, policy_from_bounds
from decpomdp.planners.fb_hsvi.policy_graph import evaluate_graph, folded_team
from decpomdp.planners.fb_hsvi.settings import FbHsvi


@pytest.fixture(scope="module")
def broadcast():
    """A method after two rounds, and its state."""
    method = FbHsviMethod(load("broadcast", 0.9), FbHsvi(epsilon=1e-3), Inputs(threads=1))
    state = method.init(unlimited())
    while state.iterations < 2 and not state.stopped:
        state, _ = method.step(state, unlimited())
    return method, state


def problem(agents, seed, discount=0.4):
    """Two actions each."""
    seen = (2, 2) if agents == 2 else (2, 1, 1)
    return making.model(np.random.default_rng(seed), 2, (2,) * agents, seen, discount)


def team_for(model, nodes, seed):
    """Deterministic controllers at random."""
    rng = np.random.default_rng(seed)
    return Team.of(
        model,
        [
            Controller.deterministic(
                rng.integers(len(agent.actions), size=count).tolist(),
                rng.integers(count, size=(count, len(agent.observations))).tolist(),
                len(agent.actions),
                int(rng.integers(count)),
            )
            for agent, count in zip(model.agents, nodes, strict=True)
        ],
    )


def somewhere(model, seed, steps=1):
    """An occupancy state after random rules."""
    rng, dynamics, occupancy = np.random.default_rng(seed), outcome_model(model), start_of(model)
    for _ in range(steps):
        rule = tuple(
            rng.integers(len(agent.actions), size=count)
            for agent, count in zip(model.agents, occupancy.counts, strict=True)
        )
        occupancy = compress(follow(dynamics, occupancy, rule)[0])[0]
    return dynamics, occupancy


def solved(model, team):
    """[s, q]: the values from every pair, by one linear equation."""
    pairs = list(itertools.product(range(len(model.states)), *(range(count) for count in team.nodes)))
    seen = list(itertools.product(*(range(len(agent.observations)) for agent in model.agents)))
    number = {pair: k for k, pair in enumerate(pairs)}
    matrix, rewards = np.eye(len(pairs)), np.empty(len(pairs))
    for k, (s, *nodes) in enumerate(pairs):
        own = [int(c.action[i].argmax()) for c, i in zip(team.controllers, nodes, strict=True)]
        u = np.ravel_multi_index(own, [c.actions for c in team.controllers])
        rewards[k] = model.reward[u, s]
        for s1, (y, parts) in itertools.product(range(len(model.states)), enumerate(seen)):
            after = [
                int(c.transition[i, a, o].argmax())
                for c, i, a, o in zip(team.controllers, nodes, own, parts, strict=True)
            ]
            chance = model.transition[u, s, s1] * model.observation[u, s1, y]
            matrix[k, number[s1, *after]] -= model.discount * chance
    return np.linalg.solve(matrix, rewards).reshape(len(model.states), -1)


@pytest.mark.parametrize("agents", [2, 3])
@pytest.mark.parametrize("discount", [0.0, 0.5, 0.95])
def test_values_are_below_the_solution_and_close_to_it(agents, discount):
    rng = np.random.default_rng(agents)
    model = making.model(rng, 3, (2, 3, 2)[:agents], (2, 2, 1)[:agents], discount, sparse=True)
    team = team_for(model, (3, 2, 2)[:agents], 1)
    found, true = hyperplane(outcome_model(model), team).values, solved(model, team)
    assert np.all(found <= true + 1e-14)
    np.testing.assert_allclose(found, true, atol=1e-8)


@pytest.mark.parametrize(("agents", "seed"), [(2, 0), (2, 1), (2, 2), (3, 0), (3, 1)])
def test_the_mapping_found_is_no_better_than_the_best_and_no_agent_alone_can_better_it(agents, seed):
    model = problem(agents, seed)
    dynamics, occupancy = somewhere(model, seed)
    plane = hyperplane(dynamics, team_for(model, (3,) * agents, seed))
    labels = occupancy.row_labels()

    def worth(nodes):
        joint = np.ravel_multi_index([nodes[n][labels[:, n]] for n in range(agents)], (3,) * agents)
        return float(occupancy.weight @ plane.values[occupancy.state, joint])

    start = start_in(plane, occupancy)
    assert start.value == pytest.approx(worth(start.nodes), abs=1e-14)
    own = [[np.array(c) for c in itertools.product(range(3), repeat=count)] for count in occupancy.counts]
    best = max(worth(nodes) for nodes in itertools.product(*own))
    assert start.value <= best + 1e-14
    for n in range(agents):
        alone = max(worth([*start.nodes[:n], other, *start.nodes[n + 1 :]]) for other in own[n])
        assert alone <= start.value + 1e-12
    blind = max(worth([np.full(count, i) for count, i in zip(occupancy.counts, q, strict=True)])
                for q in itertools.product(range(3), repeat=agents))  # fmt: skip
    assert start.value >= blind - 1e-14


def test_at_the_start_it_is_the_value_of_the_team_or_of_a_better_beginning(broadcast):
    model, team = load("broadcast", 0.9), broadcast[1].best.team
    dynamics, start = outcome_model(model), start_of(model)
    plane = hyperplane(dynamics, team)
    first = np.ravel_multi_index([int(c.initial.argmax()) for c in team.controllers], team.nodes)
    value = exact_value(model, team).value
    assert float(start.weight @ plane.values[start.state, first]) == pytest.approx(value, abs=1e-6)
    assert start_in(plane, start).value >= value - 1e-6
    for count in (2, 3):
        small = problem(count, 3)
        team = team_for(small, (2,) * count, 0)
        begun = start_in(hyperplane(outcome_model(small), team), start_of(small))
        best = max(
            exact_value(small, Team.of(small, [
                Controller(np.eye(2)[i], c.action, c.transition) for c, i in zip(team.controllers, place, strict=True)
            ])).value
            for place in itertools.product(range(2), repeat=count)
        )  # fmt: skip
        assert begun.value == pytest.approx(best, abs=1e-8)


def test_the_latest_are_kept_and_restored_in_order():
    model = problem(2, 0)
    dynamics, occupancy = somewhere(model, 0, steps=2)
    planes = Hyperplanes(dynamics)
    teams = [team_for(model, (2, 2), number) for number in range(module.LATEST + 3)]
    for team in teams:
        planes.add(team)
        planes.add(team)  # known
    assert planes.added == len(teams)
    assert planes.teams == teams[3:]
    again = Hyperplanes(dynamics)
    again.restore(planes.teams, planes.added)
    for one, other in zip(planes.latest, again.latest, strict=True):
        np.testing.assert_array_equal(one.values, other.values)
    latest = planes.best(occupancy, planes.added - 1)
    assert latest is not None
    assert latest.plane is planes.latest[-1]
    assert planes.best(occupancy, planes.added) is None
    assert planes.best(occupancy).value == max(start_in(plane, occupancy).value for plane in again.latest)


@pytest.mark.parametrize("agents", [2, 3])
def test_points_promise_no_more_than_their_policy_is_worth(agents):
    model = problem(agents, 1, discount=0.8)
    dynamics = outcome_model(model)
    planes = Hyperplanes(dynamics)
    central = central_bound(model, dynamics, None)
    points = OccupancyPoints(dynamics, central, 0.0, hyperplanes=planes)
    start = compress(start_of(model))[0]
    root = points.point(start, None)
    assert root.lower == central.least[0]
    grown = []
    for number in range(6):
        planes.add(team_for(model, (2,) * agents, number))
        points.trial(root, lambda point, earned, fade: fade > 0.2)
        graph = policy_from_bounds(points, root)
        value = evaluate_graph(dynamics, start, graph).value
        assert root.lower <= value + 1e-9
        assert root.upper >= value - 1e-9
        team = folded_team(model, dynamics, start, graph)
        assert exact_value(model, team).value == pytest.approx(value, abs=1e-8)
        grown.append(root.lower)
    assert grown == sorted(grown)
    assert all(point.lower <= point.upper + 1e-9 for point in points.all)
    assert root.lower > planes.best(start).value + 1e-6  # backups have carried more up than the teams say at the root


def test_a_loop_of_points_is_a_team():
    """With one state every rule leads back to the root: the best rule for ever is a loop of one layer."""
    model = making.model(np.random.default_rng(0), 1, (2, 3), (2, 2), 0.5)
    dynamics, start = outcome_model(model), compress(start_of(model))[0]
    planes = Hyperplanes(dynamics)
    points = OccupancyPoints(dynamics, central_bound(model, dynamics, None), 0.0, hyperplanes=planes)
    root = points.point(start, None)
    assert policy_from_bounds(points, root) is None  # no team, no edge
    points.trial(root, lambda point, earned, fade: fade > 1e-6)
    planes.add(first_team(model))
    graph = policy_from_bounds(points, root)
    assert (len(graph.layers), graph.back) == (1, 0)
    assert evaluate_graph(dynamics, start, graph).value == pytest.approx(2 * model.reward.max())
    assert model.reward[0, 0] < model.reward.max()  # else the constant team would have been as good


def test_restored_hyperplanes_are_the_same(broadcast):
    method, state = broadcast
    again = FbHsviMethod(method.model, method.settings, method.inputs)
    again.step(decode(encode(state), FbHsviState)._replace(stopped="", most_points=0, trials=0), unlimited())
    assert again.points.hyperplanes.added == state.hyperplanes_added
    for one, other in zip(again.points.hyperplanes.latest, method.points.hyperplanes.latest, strict=True):
        assert one.team == other.team
        np.testing.assert_array_equal(one.values, other.values)
