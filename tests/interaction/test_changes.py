"""More memory at no loss: the same actions on every history. Mutations stay within the machine."""

import numpy as np
import pytest

from decpomdp.interaction.search import changes
from decpomdp.interaction.search.machines import Machine
from decpomdp.interaction.search.memories import clock, tree, window


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
    larger = changes.product(machine, memory, 200)
    assert larger.nodes > machine.nodes
    for history in histories(rng, 3):
        assert acts(larger, history) == acts(machine, history)
    assert changes.product(machine, memory, larger.nodes - 1) is None


def test_a_split_acts_as_before_and_knows_where_it_came_from():
    rng = np.random.default_rng(1)
    machine = random_machine(rng)
    larger = changes.split(machine, {1, 2}, 200)
    for history in histories(rng, 3):
        assert acts(larger, history) == acts(machine, history)
    incoming = np.bincount(larger.move.ravel(), minlength=larger.nodes + 1)
    assert larger.nodes > machine.nodes
    assert incoming[1:].min() >= 1


def test_nothing_chosen_nothing_split():
    rng = np.random.default_rng(2)
    machine = random_machine(rng)
    assert changes.split(machine, set(), 200).nodes <= machine.nodes


def test_mutants_differ_in_one_entry_and_stay_closed():
    rng = np.random.default_rng(3)
    machine = random_machine(rng)
    kinds = set()
    for _ in range(300):
        mutant = changes.mutate(machine, 3, rng)
        assert mutant.move.min() >= 1
        assert mutant.move.max() <= mutant.nodes
        grown = mutant.nodes - machine.nodes
        differing = (mutant.action[:5] != machine.action).sum(), (mutant.move[:5] != machine.move).sum()
        assert sum(differing) <= 1
        kinds.add((grown, *(int(d) for d in differing)))
    assert kinds >= {(0, 1, 0), (0, 0, 1), (1, 0, 1)}


@pytest.mark.parametrize("period", [2, 5])
def test_hours_are_the_time_since_the_start(period):
    machine = Machine(np.array([0, 0, 1]), np.array([[1, 2, 1], [1, 2, 1], [2, 1, 1]]))
    larger = changes.product(machine, clock(period, 0), 50)
    hours = changes.hours(larger, period)
    rng = np.random.default_rng(0)
    node = larger.move[0, -1]
    for t in range(30):
        assert hours[node] == t % period
        node = larger.move[node, rng.integers(2)]
