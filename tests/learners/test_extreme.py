"""Very long episodes, very many agents, numbers of very different size: against sixty digits, or by what must hold."""

from decimal import Decimal

import numpy as np
import pytest
from learners import data
from oracles import decimals

from decpomdp.core import Agent, Episodes
from decpomdp.learners import ExpectationMaximisation
from decpomdp.learners.behaviour import log_behaviour
from decpomdp.learners.posterior import Counts, updated
from decpomdp.learners.sweep import count, evaluate
from decpomdp.learners.weighing import by_reward, weigh

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


def compare(episodes, log_team, alpha=1.0):
    """weigh against the decimals; the ratios are taken from log_team."""
    steps = by_reward(episodes, log_behaviour(episodes))
    found = weigh(steps, log_team, alpha)
    with decimals.localcontext(decimals.DIGITS):
        gains, power = [Decimal(float(gain)) for gain in steps.gain], Decimal(alpha)
        pairs = zip(log_team, steps.log_behaviour, strict=True)
        logs = [power * (Decimal(float(x)) - Decimal(float(y))) for x, y in pairs]
        whole = (sum(gains) / episodes.count).ln()
    nu, log_value = decimals.weights(gains, logs, episodes.count)
    assert found.nu == pytest.approx(np.array(nu, float), rel=NEAR, abs=1e-290)
    assert alpha * found.log_mean == pytest.approx(float(log_value - whole), rel=NEAR, abs=NEAR)
    assert found.nu.sum() == pytest.approx(episodes.count, rel=NEAR)
    return found


@pytest.mark.parametrize("alpha", [1.0, 0.1])
@pytest.mark.parametrize("spread", [1.0, 700.0, 2000.0])
@pytest.mark.parametrize("sizes", [0, 39])
def test_weights_of_any_size(alpha, spread, sizes):
    """Ratios from e^-2000 to e^2000, rewards from 1e-39 to 1e39, or all alike."""
    rng = np.random.default_rng(int(spread) + sizes)
    lengths = np.array([4, 2, 4, 1, 3])
    rewards = 10.0 ** rng.uniform(-sizes, sizes, 14) * rng.integers(0, 2, 14)
    rewards[[0, 4]] = 0.0, 1.0
    compare(one_agent(rng.integers(0, 2, 14), rewards, lengths), rng.uniform(-spread, spread, 14), alpha)


@pytest.mark.parametrize("gap", [600.0, 745.0, 800.0, 5000.0])
def test_what_earns_is_far_less_likely_than_what_does_not(gap):
    episodes = one_agent([0, 1, 0], [0.0, 1.0, 0.5], [1, 1, 1])
    found = compare(episodes, np.array([0.0, -gap, -gap - 3]))
    assert found.log_mean < -gap + 3


CONTROLLERS = {
    "a node that is never reached and likes the data better": ([[0.5, 0.5], [1, 0]], [[1, 0], [0, 1]]),
    "a node that is hardly reached and likes the data better": ([[0.5, 0.5], [1, 0]], [[1, 1e-200], [0, 1]]),
    "actions that hardly happen": ([[1e-300, 1], [1, 1e-300]], [[0.5, 0.5], [0.5, 0.5]]),
    "hardly ever elsewhere": ([[0.9, 0.1], [0.1, 0.9]], [[1, 1e-150], [1e-150, 1]]),
}


@pytest.mark.parametrize("name", CONTROLLERS)
@pytest.mark.parametrize("steps", [12, 3000])
def test_counts_against_sixty_digits(name, steps):
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
