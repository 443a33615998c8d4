"""Memories remember what they say, for any alphabet; more memory acts as before. Chains repeat their episode."""

import itertools

import numpy as np
import pytest

import decpomdp as dp
from decpomdp.interaction.search.machines import (
    BEGIN,
    Machine,
    clock,
    constant,
    hours,
    opening,
    product,
    split,
    tree,
    unfold,
    window,
)
from decpomdp.interaction.search.players import DensePlayer
from decpomdp.interaction.search.starts import chain, skeletons
from decpomdp.kernels.machines import RandomWindow
from decpomdp.rollouts import DenseSimulator


def walk(machine, symbols):
    """Nodes after the start and after each symbol."""
    node = machine.move[0, -1]
    path = [node]
    for symbol in symbols:
        node = machine.move[node, symbol]
        path.append(node)
    return path


@pytest.mark.parametrize(("memory", "nodes"), [(tree(3), 7), (window(2), 7), (clock(4, 0), 4), (clock(2, 1), 5)])
def test_sizes(memory, nodes):
    _, machine = unfold(BEGIN, memory, 2, 45)
    assert machine.nodes == nodes  # clock x last: nothing was seen at the first hour only
    assert unfold(BEGIN, memory, 2, nodes - 1) is None


def test_a_tree_forgets_when_its_period_is_over():
    _, machine = unfold(BEGIN, tree(3), 2, 45)
    path = walk(machine, [0, 1, 1, 0, 1, 0, 1, 1])
    assert path[0] == path[3] == path[6]
    assert path[1] == path[4] != path[7]  # after 0, 0 and 1
    assert len(set(path[:3])) == 3


def test_a_window_knows_the_last_symbols_and_nothing_else():
    _, machine = unfold(BEGIN, window(2), 3, 45)
    rng = np.random.default_rng(0)
    symbols = rng.integers(3, size=200)
    path = walk(machine, symbols)[2:]
    pairs = list(itertools.pairwise(symbols))
    meaning = dict(zip(pairs, path[: len(pairs)], strict=False))
    assert len(set(meaning.values())) == 9
    assert all(meaning[pair] == node for pair, node in zip(pairs, path, strict=False))


@pytest.mark.parametrize("memory", [tree(2), tree(3), window(1), clock(3, 1), opening(2, 1)])
def test_a_first_observation_counts_like_any_other(memory):
    _, machine = unfold(BEGIN, memory, 3, 45)
    starts = machine.move[0, :-1]
    assert len(set(starts)) == 3
    assert machine.move[0, -1] not in starts


@pytest.mark.parametrize("alphabets", [[2, 2], [2, 5], [8, 8], [1], [3, 1, 60]])
def test_every_agent_gets_a_memory_that_fits(alphabets):
    plans = list(skeletons(alphabets, 45))
    keys = {tuple(machine.move.tobytes() for machine in plan) for _, plan, _ in plans}
    assert len(keys) == len(plans) > 5
    for _, plan, _ in plans:
        for observations, machine in zip(alphabets, plan, strict=True):
            assert machine.observations == observations
            assert machine.nodes <= max(45, observations + 1)
            assert machine.move.min() >= 1
            assert machine.move.max() <= machine.nodes


def test_a_chain_repeats_the_best_episode():
    player = DensePlayer(DenseSimulator(dp.load("boxpushing")))
    plan = chain(player, 3, 20_000, seed=1)
    for machine in plan:
        assert machine.nodes == 3
        assert machine.move[:, 0].tolist() == [1, 2, 3, 1]
    best = player.elites(constant(player), RandomWindow(0, 3, np.ones(2)), 20_000, 3, 1, 1)
    assert [machine.action[1:].tolist() for machine in plan] == best.actions[0].T.tolist()
    everything = player.returns(constant(player), 20_000, 3, 1, window=RandomWindow(0, 3, np.ones(2)))
    assert best.rewards[0] @ 0.9 ** np.arange(3) == pytest.approx(everything.max())


def random_machine(rng, nodes=4, observations=3, actions=3):
    return Machine(rng.integers(actions, size=nodes + 1), rng.integers(1, nodes + 1, (nodes + 1, observations + 1)))


def acts(machine, symbols):
    """Actions along a history; the first symbol may be -1: nothing."""
    node, result = 0, []
    for symbol in symbols:
        node = machine.move[node, symbol]
        result.append(machine.action[node])
    return result


def histories(rng, observations):
    for _ in range(50):
        yield [-1 if rng.random() < 0.5 else rng.integers(observations), *rng.integers(observations, size=15)]


@pytest.mark.parametrize("memory", [window(1), window(2), clock(3, 0), tree(2)])
def test_a_product_acts_as_before(memory):
    rng = np.random.default_rng(0)
    machine = random_machine(rng)
    larger = product(machine, memory, 200)
    assert larger.nodes > machine.nodes
    for history in histories(rng, 3):
        assert acts(larger, history) == acts(machine, history)
    assert product(machine, memory, larger.nodes - 1) is None


def test_a_split_acts_as_before_and_knows_where_it_came_from():
    rng = np.random.default_rng(1)
    machine = random_machine(rng)
    larger = split(machine, {1, 2}, 200)
    for history in histories(rng, 3):
        assert acts(larger, history) == acts(machine, history)
    incoming = np.bincount(larger.move.ravel(), minlength=larger.nodes + 1)
    assert larger.nodes > machine.nodes
    assert incoming[1:].min() >= 1


@pytest.mark.parametrize("period", [2, 5])
def test_hours_are_the_time_since_the_start(period):
    machine = Machine(np.array([0, 0, 1]), np.array([[1, 2, 1], [1, 2, 1], [2, 1, 1]]))
    larger = product(machine, clock(period, 0), 50)
    hour_of = hours(larger, period)
    rng = np.random.default_rng(0)
    node = larger.move[0, -1]
    for t in range(30):
        assert hour_of[node] == t % period
        node = larger.move[node, rng.integers(2)]
