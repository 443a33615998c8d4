"""The list of problems: names, summaries, errors, and the numbers of every problem pinned by a digest."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from decpomdp import domains
from decpomdp.core import DecPOMDP, InputError

# A digest that changes means that every value ever reported for that problem is void.
DIGESTS = {
    "dectiger": "17f86b82167e83f77024cb47cafed5e2122fa391e26f1462a1485c7b7783ebb2",
    "broadcast": "100f268bfb090ed065e0dcb3c39c582491cf701b6c82d77c51d1e91717a1dd62",
    "recycling": "f4626c69922d3fa9a6586458a602b8ed9815258f3767626759cfa96d11cab6fb",
    "gridsmall": "94bd4c13d422b68866f66719d93866bf7db86ac5a082b9123ba622729b188a1f",
    "boxpushing": "1536dfa308dbbf5f3fdec59ef91cf9d46fbfcd9a3f4c0c784bacc65d42e912ff",
    "marsrovers": "06ea955984d36ea302af26a9a81eff9c8aad8069814202738aef61718ec376e0",
}


def test_names_are_in_the_usual_order():
    assert domains.problems() == ("dectiger", "broadcast", "recycling", "gridsmall", "boxpushing", "marsrovers")


@pytest.mark.parametrize("name", domains.problems())
def test_numbers_are_pinned(name):
    problem = domains.build(name)
    assert problem.name == name
    assert problem.digest() == DIGESTS[name]


def test_digest_notices_the_last_bit_of_one_number():
    for name in domains.problems():
        for table in ["start", "transition", "observation", "reward"]:
            problem = domains.build(name)
            changed = getattr(problem, table).copy()
            place = np.argmax(np.abs(changed))
            changed.flat[place] = np.nextafter(changed.flat[place], 0.0)
            assert replace(problem, **{table: changed}).digest() != DIGESTS[name]
            assert replace(problem, **{table: getattr(problem, table).copy()}).digest() == DIGESTS[name]


def test_summary_tells_the_true_sizes():
    for name in domains.problems():
        problem = domains.build(name)
        first = problem.agents[0]
        sizes = f"({len(problem.states)} states, {len(first.actions)} actions, {len(first.observations)} observations)"
        assert domains.summary(name).endswith(sizes)
        assert "\n" not in domains.summary(name)


def test_every_problem_has_two_alike_agents_and_exact_decimals():
    for name in domains.problems():
        problem = domains.build(name)
        assert [agent.name for agent in problem.agents] == ["agent1", "agent2"]
        assert problem.agents[0].actions == problem.agents[1].actions
        assert problem.agents[0].observations == problem.agents[1].observations
        for table in (problem.start, problem.transition, problem.observation, problem.reward):
            expected = name == "gridsmall" and table is problem.reward  # an expectation over next states
            assert expected or all(len(repr(number)) <= 8 for number in np.unique(table).tolist()), name


def test_discount_is_given_or_usual():
    assert domains.build("broadcast").discount == 0.9
    assert domains.build("broadcast", 0.5).discount == 0.5
    assert domains.build("broadcast", 0.0).discount == 0.0
    with pytest.raises(InputError, match="discount"):
        domains.build("broadcast", 1.5)


def test_unknown_name_lists_the_known_and_the_closest():
    for wrong, meant in [("dec-tiger", "dectiger"), ("DecTiger", "dectiger"), ("mars", "marsrovers")]:
        for lookup in [domains.build, domains.summary]:
            with pytest.raises(InputError) as caught:
                lookup(wrong)
            message = str(caught.value)
            assert ", ".join(domains.problems()) in message
            assert f"got {wrong!r} (did you mean {meant}?)" in message
            assert "\n" not in message


@pytest.mark.parametrize("wrong", ["", "zzzz", "independent", "../core/model", None])
def test_hopeless_name_is_refused_without_a_guess(wrong):
    with pytest.raises(InputError) as caught:
        domains.build(wrong)
    assert f"got {wrong!r}" in str(caught.value)


def test_listing_builds_nothing():
    program = (
        "import sys; from decpomdp import domains; [domains.summary(name) for name in domains.problems()];"
        "print(*[m for m in sys.modules if m.startswith('decpomdp.domains.')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "decpomdp.domains.registry"


def test_build_gives_a_model():
    assert isinstance(domains.build("dectiger"), DecPOMDP)
