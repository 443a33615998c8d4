"""Very long episodes, very many agents, numbers of very different size: against sixty digits, or by what must hold."""

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from learners import data
from oracles import decimals

from decpomdp.core import Agent, Episodes, InputError
from decpomdp.learners import ExpectationMaximisation, StickBreaking
from decpomdp.learners.behaviour import log_behaviour
from decpomdp.learners.posterior import Counts, updated
from decpomdp.learners.sweep import count, evaluate
from decpomdp.learners.weighing import steps_of, weigh

AGENT = Agent("x", ("a", "b"), ("o",))
NEAR = 1e-11  # logs of size 2000 are known to 2e-13, and so are the weights that they are logs of


def one_agent(actions, rewards, lengths=None, discount=0.9, terminated=None):
    """Episodes of one agent that sees nothing; behaviour 1/2."""
    rows = len(actions)
    offsets = np.concatenate([[0], np.cumsum([rows] if lengths is None else lengths)])
    seen = np.zeros((rows, 1), int)
    seen[offsets[:-1]] = -1
    did, chances = np.asarray(actions)[:, None], np.full((rows, 1), 0.5)
    return Episodes((AGENT,), offsets, seen, did, chances, np.asarray(rewards, float), discount, terminated)


def by_hand(likes, moves):
    """The posterior of EM whose controller has these tables; node 0 is the first."""
    likes, moves = np.array(likes, float), np.array(moves, float)
    counts = Counts(np.zeros((1, len(likes))), likes, np.tile(moves[:, None, None, :], (1, 2, 1, 1)))
    return updated(AGENT, ExpectationMaximisation(len(likes)).priors(AGENT), counts)


def compare(episodes, log_team, normalise=False):
    """weigh against the decimals; the ratios are taken from log_team."""
    steps = steps_of(episodes, log_behaviour(episodes))
    found = weigh(steps, log_team, None, normalise)
    base, discount = Decimal(steps.floor), Decimal(episodes.discount)
    times = episodes.times()
    with decimals.localcontext(decimals.DIGITS):
        gains = [discount ** int(t) * (Decimal(float(r)) - base) for t, r in zip(times, episodes.rewards, strict=True)]
        logs = [Decimal(float(x)) - Decimal(float(y)) for x, y in zip(log_team, steps.log_behaviour, strict=True)]
        if normalise:
            mean = [sum(x.exp() for x, at in zip(logs, times, strict=True) if at == t) for t in range(times.max() + 1)]
            logs = [x - (mean[t] / int((times == t).sum())).ln() for x, t in zip(logs, times, strict=True)]
    nu, log_value = decimals.weights(gains, logs, episodes.count)
    assert found.nu == pytest.approx(np.array(nu, float), rel=NEAR, abs=1e-290)
    assert found.log_value == pytest.approx(float(log_value), rel=NEAR, abs=NEAR)
    assert found.nu.sum() == pytest.approx(episodes.count, rel=NEAR)
    assert not np.isnan(found.value)
    return found


def test_weights_of_any_size():
    """Ratios from e^-2000 to e^2000, rewards from 1e-150 to 1e150, or all alike."""
    for sizes in [0, 150]:
        for spread in [1.0, 700.0, 2000.0]:
            for normalise in [False, True]:
                rng = np.random.default_rng(int(spread) + sizes)
                lengths = np.array([4, 2, 4, 1, 3])
                rewards = 10.0 ** rng.uniform(-sizes, sizes, 14) * rng.integers(0, 2, 14)
                rewards[[0, 4]] = 0.0, 1.0
                compare(
                    one_agent(rng.integers(0, 2, 14), rewards, lengths), rng.uniform(-spread, spread, 14), normalise
                )


def test_what_earns_is_far_less_likely_than_what_does_not():
    for gap in [600.0, 745.0, 800.0, 5000.0]:
        episodes = one_agent([0, 1, 0], [0.0, 1.0, 0.5], [1, 1, 1])
        found = compare(episodes, np.array([0.0, -gap, -gap - 3]))
        assert found.log_value < -gap + 2


def test_rewards_that_count_as_nothing_are_still_refused():
    episodes = one_agent([0, 0, 0], [0.0, 0.0, 1.0], discount=0.0)
    with pytest.raises(InputError, match="nothing to learn from"):
        steps_of(episodes, log_behaviour(episodes))


def test_a_value_too_large_for_a_number_is_infinite_and_not_nothing():
    episodes = one_agent([0, 1, 0, 1], [1.0, -5.0, 2.0, -1.0], [2, 2])
    steps = steps_of(episodes, log_behaviour(episodes))
    assert weigh(steps, np.array([1000.0, 900.0, 990.0, 800.0])).value == np.inf
    assert weigh(steps, np.array([1000.0, 1900.0, 990.0, 1800.0])).value == -np.inf


CONTROLLERS = {
    "a node that is never reached and likes the data better": ([[0.5, 0.5], [1, 0]], [[1, 0], [0, 1]]),
    "a node that is hardly reached and likes the data better": ([[0.5, 0.5], [1, 0]], [[1, 1e-200], [0, 1]]),
    "actions that hardly happen": ([[1e-300, 1], [1, 1e-300]], [[0.5, 0.5], [0.5, 0.5]]),
    "hardly ever elsewhere": ([[0.9, 0.1], [0.1, 0.9]], [[1, 1e-150], [1e-150, 1]]),
}


def test_counts_against_sixty_digits():
    for steps in [12, 3000]:
        for name in CONTROLLERS:
            likes, moves = CONTROLLERS[name]
            rng = np.random.default_rng(1)
            actions = np.zeros(steps, int) if "better" in name else rng.integers(0, 2, steps)
            episodes = one_agent(actions, rng.random(steps), discount=1.0)
            posterior = by_hand(likes, moves)
            work = data.task(episodes, evidence=1.0)
            found = evaluate(work, (posterior,))
            (counted,) = count(work, found)
            tables = found.tables[0]
            controller = tables.initial[0], tables.act.T, tables.move.reshape(2, 1, 2, 2).transpose(2, 0, 1, 3)
            wanted = decimals.visits(controller, actions, np.zeros(steps, int), found.weighed.nu)
            for action in (0, 1):
                there = np.array(wanted[actions == action].sum(axis=0) + Decimal(0), float)
                assert counted.visits[:, action] == pytest.approx(there, rel=1e-9, abs=1e-12 * steps)
            assert np.isfinite(counted.moves).all()
            assert counted.visits.sum() == pytest.approx(found.weighed.nu @ work.steps.steps_so_far, rel=1e-9)
            assert counted.moves.sum() == pytest.approx(found.weighed.nu @ (work.steps.steps_so_far - 1), rel=1e-9)


def test_the_comparison_can_fail():
    episodes = one_agent([0, 1, 0], [0.0, 1.0, 0.5], [1, 1, 1])
    steps = steps_of(episodes, log_behaviour(episodes))
    with pytest.raises(AssertionError):
        compare(replace(episodes, rewards=steps.gain * np.array([1, 1, 1 + 1e-9])), np.full(3, np.nan))
    with pytest.raises(AssertionError):
        assert weigh(steps, np.array([0.0, -5.0, -9.0])).nu == pytest.approx(
            weigh(steps, np.array([0.0, -5.0, -9.0 - 1e-9])).nu, rel=NEAR
        )


def crowd(agents, rows, episodes=1, seed=0):
    """Many agents that act at random."""
    rng = np.random.default_rng(seed)
    team = tuple(Agent(f"x{n}", ("a", "b"), ("o", "p")) for n in range(agents))
    seen = rng.integers(0, 2, (rows * episodes, agents))
    did = rng.integers(0, 2, (rows * episodes, agents))
    offsets = np.arange(episodes + 1) * rows
    seen[offsets[:-1]] = -1
    return Episodes(team, offsets, seen, did, np.full(did.shape, 0.5), rng.random(rows * episodes), 1.0)


def balanced(episodes, nodes):
    """A sweep whose numbers are finite and whose counts are those of the weights."""
    work = data.task(episodes)
    found = evaluate(work, data.posterior(np.random.default_rng(1), episodes, StickBreaking(), nodes))
    assert np.isfinite(found.bound)
    assert found.weighed.nu.sum() == pytest.approx(episodes.count, rel=1e-12)
    scale = work.evidence / episodes.count
    for counted in count(work, found):
        assert np.isfinite(counted.moves).all()
        assert (counted.visits >= 0).all()
        assert counted.visits.sum() == pytest.approx(scale * (found.weighed.nu @ work.steps.steps_so_far), rel=1e-9)
        assert counted.moves.sum() == pytest.approx(
            scale * (found.weighed.nu @ (work.steps.steps_so_far - 1)), rel=1e-9
        )


def test_ten_thousand_steps_of_few_nodes():
    balanced(crowd(2, 10_000), 4)


def test_four_hundred_agents():
    balanced(crowd(400, 50, 3), 3)


def test_two_hundred_nodes():
    balanced(crowd(1, 300), 200)


@pytest.mark.slow
def test_four_hundred_agents_for_ten_thousand_steps():
    balanced(crowd(400, 10_000), 3)


@pytest.mark.slow
def test_ten_thousand_steps_of_two_hundred_nodes():
    balanced(crowd(2, 10_000, 2), 200)
