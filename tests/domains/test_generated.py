"""Generated problems: a name fixes the numbers, every kind takes two to four agents, and sizes stay within bounds."""

import numpy as np
import pytest

import decpomdp as dp
from decpomdp.domains import generated, registry
from decpomdp.domains.registry import KINDS

DIGESTS = {  # with seed 2
    "sensing": "9cb8af22dc8cc62b",
    "meeting": "f7756234e83699a7",
    "relay": "cdebe42a7f77dffc",
    "resource": "f0fd5d5feb7e6eed",
    "door": "1c2ae0fc34e622f2",
    "positions": "71191ade84dbfa16",
    "far": "401b39839cf2f4e1",
    "random": "0a6b48d6846f5d19",
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_a_problem_for_two_to_four_agents(kind):
    for agents in (2, 3, 4):
        model = registry.build(f"generated:{kind},agents={agents},seed=3")
        assert len(model.agents) == agents
        assert 2 <= len(model.states) <= generated.MOST_STATES
        assert model.reward.max() > model.reward.min()
        assert registry.build(model.name).digest() == model.digest()


@pytest.mark.parametrize("kind", KINDS)
def test_seeds_differ_and_equal_seeds_agree(kind):
    digests = [registry.build(f"generated:{kind},seed={seed}").digest() for seed in (1, 3, 5, 1)]
    assert len(set(digests)) == 3
    assert digests[0] == digests[3]


def test_names_say_everything():
    assert registry.canonical("generated:far") == "generated:far,agents=2,size=5,seed=1"
    assert registry.canonical("generated:far,3,6,17") == "generated:far,agents=3,size=6,seed=17"
    assert registry.split_names("generated:far,agents=3,seed=17,dectiger") == (
        "generated:far,agents=3,seed=17",
        "dectiger",
    )
    assert dp.load("generated:meeting,agents=3,seed=17").name == "generated:meeting,agents=3,size=4,seed=17"


def test_sizes_are_bounded():
    with pytest.raises(dp.InputError, match="expected 2 to 256 states, got 4096; change size"):
        registry.build("generated:meeting,agents=3,size=16")
    assert len(registry.build("generated:random,size=128").states) == 128


def test_a_digest_is_pinned():
    """References and published tables are void if numbers change."""
    found = {kind: registry.build(f"generated:{kind},seed=2").digest()[:16] for kind in KINDS}
    assert found == DIGESTS


def test_no_constant_joint_action_earns_anything_in_random_tables():
    model = registry.build("generated:random,agents=3,seed=5")
    moves = np.eye(len(model.states)) - model.discount * model.transition
    values = np.linalg.solve(moves, model.reward[..., None])[..., 0] @ model.start
    assert np.abs(values).max() < 0.06  # rewards have two decimals
    assert np.abs(model.reward).max() > 2


def test_a_team_that_counts_opens_the_lock():
    """The combination as a cycle, whatever is seen; no constant action earns anything."""
    model = registry.build("generated:far,seed=1")
    right = [int(np.argmax(model.transition[:, s, s + 1])) for s in range(4)]  # joint actions
    right.append(int(np.argmax(model.reward[:, 4])))
    parts = model.action_table()[right]  # [s, n]
    cycle = [[(node + 1) % 5] * 2 for node in range(5)]
    controllers = [dp.Controller.deterministic(parts[:, n].tolist(), cycle, 2) for n in range(2)]
    assert dp.evaluate(dp.Team.of(model, controllers), model).value > 3
    for moves, paid in zip(model.transition, model.reward, strict=True):
        assert abs(model.start @ np.linalg.solve(np.eye(5) - 0.9 * moves, paid)) < 1e-9
