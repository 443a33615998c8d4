"""Problems from rules: the tables they make, for two and more agents, and the messages of wrong rules."""

from itertools import product

import numpy as np
import pytest

import decpomdp as dp

SIDES = ("left", "right")
LAMP = {  # two agents press buttons; ann sees the lamp, bob does not
    "states": SIDES,
    "actions": SIDES,
    "observations": {"ann": SIDES, "bob": ("dark",)},
    "start": {"left": 0.25, "right": 0.75},
    "transition": lambda state: {"left": 0.5, "right": 0.5},
    "observation": lambda next_state: (next_state, "dark"),
    "reward": lambda state, actions: 1 if actions == (state, state) else 0,
}

STILL = {"transition": lambda state: state, "observation": lambda: ("left", "dark"), "reward": lambda: 0}


def test_tables_are_those_written_by_hand():
    model = dp.from_rules(**LAMP, discount=0.8, name="lamp")
    assert model == dp.DecPOMDP(
        (dp.Agent("ann", SIDES, SIDES), dp.Agent("bob", SIDES, ("dark",))),
        SIDES,
        np.array([0.25, 0.75]),
        np.full((4, 2, 2), 0.5),
        np.tile(np.eye(2), (4, 1, 1)),
        np.array([[1, 0], [0, 0], [0, 0], [0, 1]]),
        0.8,
        "lamp",
    )


def walkers(agents: int) -> dp.DecPOMDP:
    """Agents on three cells that step or stay; slips differ by agent; each hears its own cell, noisily."""
    cells = range(3)

    def transition(agent, state, action):
        here = state[agent]
        there = min(here + 1, 2) if action == "step" else here
        return here if there == here else {there: 0.9 - 0.1 * agent, here: 0.1 + 0.1 * agent}

    return dp.from_rules(
        agents=agents,
        states=product(cells, repeat=agents),
        actions=("stay", "step"),
        observations=("low", "high"),
        start=(0,) * agents,
        transition=transition,
        observation=lambda agent, next_state: {"high": next_state[agent] / 2, "low": 1 - next_state[agent] / 2},
        reward=[lambda action: -1 if action == "step" else 0, lambda next_state: 10 * (set(next_state) == {2})],
    )


@pytest.mark.parametrize("agents", [1, 2, 3])
def test_rules_of_one_agent_are_multiplied_and_added(agents):
    model = walkers(agents)
    cells, acts = list(product(range(3), repeat=agents)), list(product(range(2), repeat=agents))
    rng = np.random.default_rng(agents)
    for _ in range(50):
        u, s, t = rng.integers(len(acts)), rng.integers(len(cells)), rng.integers(len(cells))
        expected = 1.0
        for n, a in enumerate(acts[u]):
            here, there = cells[s][n], cells[t][n]
            goal, slip = (min(here + 1, 2), 0.1 + 0.1 * n) if a else (here, 0.0)
            expected *= 1.0 * (there == here) if goal == here else (1 - slip) * (there == goal) + slip * (there == here)
        assert model.transition[u, s, t] == pytest.approx(expected, abs=1e-12)
        y = rng.integers(2**agents)
        heard = [int(bit) for bit in np.binary_repr(y, agents)]
        sees = [cells[t][n] / 2 if bit else 1 - cells[t][n] / 2 for n, bit in enumerate(heard)]
        assert model.observation[u, t, y] == pytest.approx(np.prod(sees), abs=1e-12)
        arrives = model.transition[u, s, -1]
        assert model.reward[u, s] == pytest.approx(10 * arrives - sum(acts[u]), abs=1e-12)
    assert model.states[1] == "-".join(["0"] * (agents - 1) + ["1"])


def test_an_answer_must_suit_every_agent_that_it_is_given_to():
    own = {"ann": ("loud", "quiet"), "bob": ("dark", "quiet")}
    rules = {**LAMP, "observations": own, "observation": lambda action: "loud" if action == "left" else "quiet"}
    with pytest.raises(dp.InputError, match=r"observations of bob .dark, quiet., got 'loud'"):
        dp.from_rules(**rules)


def test_sets_are_uniform_and_tuples_with_distributions_are_independent():
    start = ({"a", "b"}, {"c": 0.1, "d": 0.9})
    model = dp.from_rules(**{**LAMP, **STILL, "states": product("ab", "cd"), "start": start})
    assert model.start.tolist() == [0.05, 0.45, 0.05, 0.45]
    assert model.states == ("a-c", "a-d", "b-c", "b-d")
    assert np.array_equal(model.transition[3], np.eye(4))


def test_probabilities_of_equal_values_in_a_list_are_added():
    pairs = [("left", 0.5), ("right", 0.25), ("left", 0.25)]
    assert dp.from_rules(**{**LAMP, "start": pairs}).start.tolist() == [0.75, 0.25]
    start = ([("a", 0.9), ("a", 0.1)], {"c", "d"})
    model = dp.from_rules(**{**LAMP, **STILL, "states": product("ab", "cd"), "start": start})
    assert model.start.tolist() == [0.5, 0.5, 0, 0]


def test_tuples_may_be_nested():
    seen = [("near", "red"), ("near", "blue"), ("far", "red"), ("far", "blue")]

    def observation(next_state):
        return ("near", {"red": 0.25, "blue": 0.75}), "dark"

    rules = {**LAMP, "observations": {"ann": seen, "bob": ("dark",)}, "observation": observation}
    assert dp.from_rules(**rules).observation[0, 0].tolist() == [0.25, 0.75, 0, 0]


def test_correlated_observations_are_a_dictionary_of_tuples():
    both = {("left", "dark"): 0.5, ("right", "dark"): 0.5}
    assert dp.from_rules(**{**LAMP, "observation": lambda: both}).observation[0, 0].tolist() == [0.5, 0.5]


def test_a_reward_may_be_a_distribution():
    assert dp.from_rules(**{**LAMP, "reward": lambda: {1: 0.25, -1: 0.75}}).reward[0, 0] == -0.5


def test_products_are_printed_decimals():
    model = dp.from_rules(**{**LAMP, "start": {"left": 0.1 * 0.9, "right": 1 - 0.1 * 0.9}})
    assert model.start.tolist() == [0.09, 0.91]
    thirds = dp.from_rules(**{**LAMP, **STILL, "states": ["a", "b", "c"], "start": {"a", "b", "c"}})
    assert thirds.start == pytest.approx([1 / 3] * 3, rel=1e-15)


def test_a_scene_is_drawn(tmp_path):
    model = dp.from_rules(
        **LAMP, scene=lambda state: [{"kind": "agent", "column": SIDES.index(state), "row": 0}, {"kind": "box", **AT}]
    )
    assert model.scene.size == (2, 2)
    assert model.scene.things[1][0] == {"kind": "agent", "column": 1, "row": 0, "label": 1}
    from decpomdp.report.scenes import grid_film

    film = grid_film(model, [[0, 1]])
    assert len(film.captions[0]) == 2
    assert grid_film(dp.from_rules(**LAMP), [[0, 1]]) is None
    assert model.with_discount(0.5).scene is model.scene
    assert model == dp.from_rules(**LAMP)


AT = {"column": 0, "row": 1, "label": "lamp"}


def paid(state):
    return "much"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"transition": lambda state, actions: {"left": 0.5, "right": 0.48}},
            "transition(state='left', actions=('left', 'left')): expected probabilities that sum to 1, got 0.98",
        ),
        (
            {"transition": lambda state: "lft"},
            "transition(state='left'): expected one of the 2 states (left, right), got 'lft'; did you mean 'left'?",
        ),
        (
            {"transition": lambda state: {"left": 1.5, "right": -0.5}},
            "transition(state='left'): expected a probability of 'left' from 0 to 1, got 1.5",
        ),
        ({"transition": lambda s: s}, "transition: expected arguments among state, actions, agent, action, got 's'"),
        (
            {"observation": lambda state: state},
            "observation: expected arguments among actions, next_state, agent, action, got 'state'; what is seen "
            "depends on next_state",
        ),
        (
            {"observation": lambda next_state: next_state},
            "observation(next_state='left'): expected a tuple of 2 observations, one per agent (or a rule that takes "
            "`agent`), got 'left'",
        ),
        (
            {"observation": lambda agent, next_state: next_state},
            "observation(agent=1, next_state='left'): expected one of the 1 observations of bob (dark), got 'left'",
        ),
        (
            {"reward": lambda state: None},
            "reward(state='left'): expected a finite number, got nothing (None): is a `return` missing?",
        ),
        (
            {"reward": [lambda state: 1, paid]},
            "reward[1] paid(state='left'): expected a finite number, got 'much'",
        ),
        ({"start": set()}, "start: expected at least one value, got an empty set"),
        ({"states": ("left", "left")}, "states: expected distinct names, got 'left' twice"),
        ({"states": ([1], [2])}, "states: expected texts, numbers or tuples of them, got ([1], [2])"),
        ({"agents": ("ann", "eve")}, "observations: expected those of ann, eve, got ann, bob"),
        (
            {"scene": lambda state: [{"kind": "cat"}]},
            "scene(state='left'): expected dictionaries with a kind among agent, box, site, zone, got {'kind': 'cat'}",
        ),
        (
            {"states": range(40_000), "start": 0},
            "transition: expected at most 268435456 numbers, got 4 x 40000 x 40000; write a simulator instead",
        ),
    ],
)
def test_a_wrong_rule_is_named_with_its_question(change, message):
    with pytest.raises(dp.InputError) as caught:
        dp.from_rules(**{**LAMP, **change})
    assert str(caught.value) == message


def test_an_error_inside_a_rule_says_where():
    with pytest.raises(ZeroDivisionError) as caught:
        dp.from_rules(**{**LAMP, "reward": lambda state, actions: 1 / (state == "left")})
    assert caught.value.__notes__ == ["in reward(state='right', actions=('left', 'left'))"]


def test_a_rule_is_asked_once_for_each_question():
    asked = []

    def observation(agent, next_state):
        asked.append((agent, next_state))
        return next_state if agent == 0 else "dark"

    dp.from_rules(**{**LAMP, "observation": observation})
    assert sorted(asked) == [(0, "left"), (0, "right"), (1, "left"), (1, "right")]
