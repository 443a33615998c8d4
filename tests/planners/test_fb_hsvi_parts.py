"""The parts of FB-HSVI, each against its definition."""

import dataclasses
import itertools

import numpy as np
import pytest
from oracles import making
from oracles.policy_trees import best_value

from decpomdp.core.agent import joint_table
from decpomdp.core.sparse import outcome_model
from decpomdp.domains.load import load
from decpomdp.evaluation import exact_value
from decpomdp.kernels import constraints
from decpomdp.kernels import occupancy as kernels
from decpomdp.planners.fb_hsvi import occupancy
from decpomdp.planners.fb_hsvi.bounds import central_bound
from decpomdp.planners.fb_hsvi.occupancy import components, composed, compress, follow, gathered, reward_of, start_of
from decpomdp.planners.fb_hsvi.points import OccupancyPoints
from decpomdp.planners.fb_hsvi.policy_graph import (
    Layer,
    LayeredGraph,
    evaluate_graph,
    folded_team,
    last_layer,
    layer_of,
)
from decpomdp.planners.fb_hsvi.polishing import polished
from decpomdp.planners.fb_hsvi.rules import Ranking, bound_within, game_of, solve
from decpomdp.planners.fb_hsvi.sketches import Sketcher, begin_at_best_layer, look_ahead


def random_rule(rng, occupancy, sizes):
    return tuple(rng.integers(size, size=count) for count, size in zip(occupancy.counts, sizes, strict=True))


def sizes_of(model):
    return [len(agent.actions) for agent in model.agents]


def walk(rng, model, steps, tolerance=None):
    """Random rules; compressed on the way or not."""
    dynamics, occupancy = outcome_model(model), start_of(model)
    for _ in range(steps):
        occupancy, _ = follow(dynamics, occupancy, random_rule(rng, occupancy, sizes_of(model)))
        if tolerance is not None:
            occupancy, _, _ = compress(occupancy, tolerance)
    return dynamics, occupancy


def test_occupancy_states_are_the_probabilities_of_histories():
    rng = np.random.default_rng(0)
    model = making.model(rng, 3, (2, 3), (2, 2), sparse=True)
    dynamics, start = outcome_model(model), start_of(model)
    rule = random_rule(rng, start, sizes_of(model))
    after, labels = follow(dynamics, start, rule)
    u = np.ravel_multi_index([own[0] for own in rule], (2, 3))
    expected = np.einsum("s,st,ty->yt", model.start, model.transition[u], model.observation[u])  # [y, s1]
    found = np.zeros_like(expected)
    for (own, state), weight in zip(zip(after.row_labels(), after.state, strict=True), after.weight, strict=True):
        seen = [int(np.flatnonzero(labels[n] == own[n])[0]) for n in range(2)]
        found[np.ravel_multi_index(seen, (2, 2)), state] += weight
    np.testing.assert_allclose(found, expected, atol=1e-15)
    assert reward_of(dynamics, start, rule) == pytest.approx(float(model.start @ model.reward[u]))


def best_reward(dynamics, occupancy):
    """Over all decision rules, two actions each."""
    cuts = np.cumsum(occupancy.counts)[:-1]
    rules = itertools.product(range(2), repeat=sum(occupancy.counts))
    return max(reward_of(dynamics, occupancy, tuple(np.split(np.array(rule), cuts))) for rule in rules)


@pytest.mark.parametrize("agents", [2, 3])
def test_lossless_compression_keeps_the_optimal_value(agents):
    """The optimum of what is left, with histories kept apart and merged, by brute force over decision rules."""
    rng = np.random.default_rng(agents)
    model = making.model(rng, 2, (2,) * agents, (2,) * agents)
    blind = np.full_like(model.observation, 1 / model.joint_observations)  # what is seen says nothing: all merge
    halves = np.where(np.arange(model.joint_actions)[:, None, None] == 0, blind, model.observation)
    model = type(model)(model.agents, model.states, model.start, model.transition, halves, model.reward, model.discount)
    dynamics, start = outcome_model(model), start_of(model)
    zero = tuple(np.zeros(1, np.int64) for _ in range(agents))
    plain, _ = follow(dynamics, start, zero)
    merged, labelling, moved = compress(plain)
    assert merged.counts == (1,) * agents
    assert moved < 1e-12
    assert all(len(own) == 2 for own in labelling)

    assert best_reward(dynamics, plain) == pytest.approx(best_reward(dynamics, merged), abs=1e-12)


@pytest.mark.parametrize("tolerance", [0.3, 0.6])
def test_lossy_compression_costs_no_more_than_it_says(tolerance):
    rng = np.random.default_rng(1)
    model = making.model(rng, 3, (2, 2), (3, 2))
    dynamics, plain = walk(rng, model, 1)
    merged, labelling, moved = compress(plain, tolerance)
    assert moved > 0
    assert sum(merged.counts) < sum(plain.counts)
    labels = np.stack([labelling[n][plain.row_labels()[:, n]] for n in range(2)], axis=-1)
    again = gathered(labels, plain.state, plain.weight)
    np.testing.assert_allclose(again.weight, merged.weight, atol=1e-14)
    price = moved * np.ptp(model.reward) / 2
    lost = best_reward(dynamics, plain) - best_reward(dynamics, merged)
    assert -1e-12 <= lost <= price + 1e-12


def test_a_cap_is_reached_even_if_tables_of_distributions_are_too_large(monkeypatch):
    rng = np.random.default_rng(1)
    _, plain = walk(rng, making.model(rng, 3, (2, 2), (3, 2)), 3)
    assert min(plain.counts) > 2
    monkeypatch.setattr(occupancy, "LARGEST", 0)
    assert compress(plain, 0.6)[0].counts == plain.counts
    capped, labelling, _ = compress(plain, 1e-4, cap=2)
    assert max(capped.counts) <= 2
    labels = np.stack([labelling[n][plain.row_labels()[:, n]] for n in range(2)], axis=-1)
    np.testing.assert_allclose(gathered(labels, plain.state, plain.weight).weight, capped.weight, atol=1e-14)


def random_game(rng, counts, sizes, tables):
    labels = np.unique(np.stack([rng.integers(c, size=tables) for c in counts], axis=-1), axis=0)
    for n, count in enumerate(counts):  # every label occurs
        extra = np.zeros((count, len(counts)), np.int64)
        extra[:, n] = np.arange(count)
        labels = np.unique(np.concatenate([labels, extra]), axis=0)
    return rng.normal(size=(len(labels), int(np.prod(sizes)))), labels


def all_totals(tables, labels, counts, sizes):
    firsts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    owner = np.repeat(np.arange(len(counts)), counts)
    for choice in itertools.product(*(range(sizes[n]) for n in owner)):
        chosen = np.array(choice)[labels + firsts]
        yield choice, float(tables[np.arange(len(tables)), np.ravel_multi_index(tuple(chosen.T), sizes)].sum())


@pytest.mark.parametrize(
    ("counts", "sizes"), [((3, 4), (3, 2)), ((2, 2, 3), (2, 3, 2)), ((1, 5), (4, 3)), ((6,), (3,))]
)
def test_decision_rules_come_best_first(counts, sizes):
    rng = np.random.default_rng(sum(counts))
    tables, labels = random_game(rng, counts, sizes, 9)
    game = game_of(tables, labels, counts, list(sizes))
    totals = dict(all_totals(tables, labels, counts, sizes))
    ordered = sorted(totals.values(), reverse=True)
    assert solve(game).value == pytest.approx(ordered[0], abs=1e-12)
    assert solve(game).bound == pytest.approx(ordered[0], abs=1e-9)
    assert bound_within(game, game.everything) >= ordered[0] - 1e-12
    ranking, seen = Ranking.of(game), []
    for place in range(min(60, len(ordered))):
        assert ranking.bound(game) == pytest.approx(ordered[place], abs=1e-9)
        taken = ranking.take(game)
        assert taken.value == pytest.approx(totals[tuple(int(c) for c in taken.choice)], abs=1e-12)
        seen.append(tuple(taken.choice))
    assert len(set(seen)) == len(seen)


def test_sharing_out_changes_no_total():
    rng = np.random.default_rng(7)
    tables, labels = random_game(rng, (3, 3), (2, 3), 7)
    game = game_of(tables, labels, (3, 3), [2, 3])
    for choice in itertools.islice(itertools.product(*(range(2),) * 3, *(range(3),) * 3), 50):
        chosen = np.array(choice)
        moved = constraints.total(game.shared, game.scope, game.strides, chosen)
        moved += sum(game.single[v, c] for v, c in enumerate(choice))
        assert moved == pytest.approx(constraints.total(game.tables, game.scope, game.strides, chosen), abs=1e-12)


def test_a_search_cut_short_still_bounds():
    rng = np.random.default_rng(11)
    counts, sizes = (6, 6), [3, 3]
    labels = joint_table(counts)
    tables = rng.normal(size=(36, 9))
    game = game_of(tables, labels, counts, sizes)
    best = solve(game, nodes=10**9)
    short = solve(game, nodes=3)
    assert short.value <= best.value + 1e-12
    assert short.bound >= best.value - 1e-12
    assert best.bound == best.value


def test_the_centralised_bound_is_above_and_falls_with_steps():
    rng = np.random.default_rng(4)
    model = making.model(rng, 3, (2, 2), (2, 2), discount=0.9)
    dynamics = outcome_model(model)
    stepwise, for_ever = central_bound(model, dynamics, 60), central_bound(model, dynamics, None)
    start = start_of(model)
    for horizon in (1, 2):
        bound = kernels.central_value(start.groups, start.state, start.weight, stepwise.at(horizon))
        best = best_value(
            model.start, model.transition, model.observation, model.reward, 0.9, (2, 2), (2, 2), horizon
        )  # fmt: skip
        assert bound >= best - 1e-12
    np.testing.assert_allclose(stepwise.at(60), for_ever.at(None), atol=0.9**60 * 40)
    assert for_ever.least[0] <= -for_ever.spread(None) + for_ever.most[0]


def test_the_sawtooth_is_never_below_the_optimum():
    rng = np.random.default_rng(8)
    model = making.model(rng, 2, (2, 2), (2, 2), discount=1.0)
    dynamics, central = outcome_model(model), central_bound(model, outcome_model(model), 2)
    points = OccupancyPoints(dynamics, central, 0.0)
    lowered = 0
    for seed in range(12):
        start = np.random.default_rng(seed).dirichlet(np.ones(2))
        point = points.point(gathered(np.zeros((2, 2), np.int64), np.arange(2), start), 2)
        optimum = best_value(start, model.transition, model.observation, model.reward, 1.0, (2, 2), (2, 2), 2)
        plain = kernels.central_value(point.occupancy.groups, point.occupancy.state, start, central.at(2))
        assert point.upper >= optimum - 1e-12
        lowered += point.upper < plain - 1e-9
        while point.upper - optimum > 1e-9:  # make this one exact
            edge = points.promising(point)
            target = points.all[edge.target]
            while target.upper - target.lower > 1e-12:
                points.promising(target)
                points.backup(target)
            points.backup(point)
            assert point.upper >= optimum - 1e-9
    assert lowered > 0  # interpolation did something


def test_the_sawtooth_is_the_best_line_through_a_point():
    """The largest share of another point that fits below, at its bound; the rest at the centralised bound."""
    rng = np.random.default_rng(8)
    model = making.model(rng, 3, (2, 2), (2, 2), discount=1.0)
    model = dataclasses.replace(model, reward=model.reward - 20)  # bounds below zero: too large a share is seen
    dynamics, central = outcome_model(model), central_bound(model, outcome_model(model), 2)
    points, known, lowered = OccupancyPoints(dynamics, central, 0.0), [], 0
    vectors = central.at(2)

    def at_corner(weights):  # one joint label: the centralised bound of a belief
        return kernels.central_value(np.array([0, 3]), np.arange(3), weights, vectors)

    for belief in making.rows(rng, 12, 3):
        point = points.point(gathered(np.zeros((3, 2), np.int64), np.arange(3), belief), 2)
        lines = []
        for other, bound in known:
            share = min(belief[s] / other[s] for s in range(3))
            lines.append(share * bound + at_corner(belief - share * other))
        assert point.upper == pytest.approx(min([at_corner(belief), *lines]), abs=1e-12)
        lowered += point.upper < at_corner(belief) - 1e-9
        points.opened(point)
        point.upper -= 0.3  # as after backups
        known.append((belief, point.upper))
    assert lowered > 3


def random_graph(rng, model, counts, back):
    layers = []
    for t, own in enumerate(counts):
        following = counts[t + 1] if t + 1 < len(counts) else ((1,) * len(own) if back is None else counts[back])
        actions = tuple(rng.integers(len(agent.actions), size=c) for agent, c in zip(model.agents, own, strict=True))
        moves = tuple(
            rng.integers(f, size=(c, len(agent.observations)))
            for agent, c, f in zip(model.agents, own, following, strict=True)
        )
        layers.append(Layer(actions, moves))
    return LayeredGraph(tuple(layers), back)


@pytest.mark.parametrize("back", [None, 0, 1, 2])
@pytest.mark.parametrize("agents", [2, 3])
def test_graph_values_folding_and_polishing(agents, back):
    rng = np.random.default_rng(agents)
    model = making.model(rng, 3, (2, 3, 2)[:agents], (2, 2, 3)[:agents], discount=0.8, sparse=True)
    counts = [(1,) * agents, (2,) * agents, (3, 2, 2)[:agents]]
    graph = random_graph(rng, model, counts, back)
    dynamics, start = outcome_model(model), start_of(model)
    horizon = 3 if back is None else None
    plain = evaluate_graph(dynamics, start, graph)
    team = folded_team(model, dynamics, start, graph)
    assert exact_value(model, team, horizon=horizon).value == pytest.approx(plain.value, abs=1e-10)
    least = central_bound(model, dynamics, horizon).least[-1]
    wide = evaluate_graph(dynamics, start, graph, least=least)
    assert wide.value == pytest.approx(plain.value, abs=1e-10)
    better = polished(dynamics, start, wide, least, 5, lambda: None)
    assert better.value > plain.value + 1e-6
    team = folded_team(model, dynamics, start, better.graph)
    assert exact_value(model, team, horizon=horizon).value == pytest.approx(better.value, abs=1e-4)


def test_a_path_of_rules_is_a_graph_with_the_same_value():
    rng = np.random.default_rng(3)
    model = load("dectiger", 1.0)
    dynamics, occupancy, layers, earned = outcome_model(model), start_of(model), [], 0.0
    for _ in range(4):
        rule = random_rule(rng, occupancy, [3, 3])
        earned += reward_of(dynamics, occupancy, rule)
        plain, seen = follow(dynamics, occupancy, rule)
        occupancy, merging, _ = compress(plain)
        layers.append(layer_of(rule, composed(seen, merging)))
    graph = LayeredGraph((*layers[:-1], last_layer(layers[-1])), None)
    assert evaluate_graph(dynamics, start_of(model), graph).value == pytest.approx(earned, abs=1e-10)


def test_a_graph_may_begin_where_it_is_best():
    rng = np.random.default_rng(6)
    model = making.model(rng, 3, (2, 2), (2, 2), discount=0.8)
    dynamics, start = outcome_model(model), start_of(model)
    least = central_bound(model, dynamics, None).least[0]
    moved = 0
    for back in (0, 1, 2):
        graph = random_graph(rng, model, [(1, 1), (2, 2), (3, 2)], back)
        given = evaluate_graph(dynamics, start, graph, least=least)
        other = begin_at_best_layer(start, given)
        if other is not None:
            moved += 1
            value = evaluate_graph(dynamics, start, other).value
            assert value > given.value
            team = folded_team(model, dynamics, start, other)
            assert exact_value(model, team).value == pytest.approx(value, abs=1e-10)
    assert moved > 0


def test_components_of_common_knowledge_are_merged():
    """Two equal components, and one whose labels say nothing about the state."""
    labels = np.array([[0, 0], [0, 0], [1, 1], [1, 1], [2, 2], [2, 3], [3, 2]])
    state = np.array([0, 1, 0, 1, 1, 1, 1])
    weight = np.array([0.1, 0.2, 0.05, 0.1, 0.2, 0.25, 0.1])
    plain = gathered(labels, state, weight)
    assert components(plain).tolist() == [0, 1, 2, 2, 2]
    merged, labelling, moved = compress(plain)
    assert merged.counts == (2, 2)
    assert moved < 1e-12
    assert labelling[0][0] == labelling[0][1] != labelling[0][2] == labelling[0][3]
    np.testing.assert_allclose(np.sort(merged.weight), [0.15, 0.3, 0.55])
    rng = np.random.default_rng(0)
    model = making.model(rng, 2, (2, 2), (1, 1))
    dynamics = outcome_model(model)
    assert best_reward(dynamics, merged) == pytest.approx(best_reward(dynamics, plain), abs=1e-12)


def test_looking_ahead_with_nothing_beyond_is_the_optimum():
    model = load("dectiger", 0.9)
    dynamics = outcome_model(model)
    central = central_bound(model, dynamics, 3, np.zeros(2))
    points = OccupancyPoints(dynamics, central, 0.0)
    root = points.point(compress(start_of(model))[0], 3)
    for _ in range(100):
        points.trial(root, lambda point, earned, fade: point.left != 0 and point.upper > point.lower + 1e-9)
    reward = -2 - 2 * 0.9 + 0.81 * (5.190812500 + 4)
    assert root.lower == pytest.approx(reward, abs=1e-6)
    assert [len(edge.rule[0]) for edge in points.best_edges(root)] == [1, 2, 3]
    sketcher = Sketcher(dynamics, central_bound(model, dynamics, None), root.occupancy, None)
    rules = look_ahead(model, sketcher, 3, 13.0)
    assert len(rules) == 3
    assert len(set(rules[0][0].tolist() + rules[0][1].tolist())) == 1  # both listen first


def test_histories_whose_probability_underflows_are_left_out():
    """Otherwise their conditional distributions are no numbers, and compression to a cap never ends."""
    model = load("dectiger")
    states, weights = np.array([0, 1, 0]), np.array([0.5, 0.5, 5e-324])
    start = gathered(np.array([[0, 0], [1, 1], [2, 2]]), states, weights)
    after, labelling = follow(outcome_model(model), start, (np.zeros(3, np.int64),) * 2)
    assert after.weight.min() > 0
    assert after.weight.sum() == pytest.approx(1)
    assert [labels.tolist()[4:] for labels in labelling] == [[occupancy.ABSENT] * 2] * 2
    assert compress(after, cap=1)[0].counts == (1, 1)
