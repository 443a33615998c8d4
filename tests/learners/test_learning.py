"""Learning from episodes as a user does it: sizes, starts, off-policy data, hard data, determinism."""

import dataclasses
import re

import numpy as np
import pytest
from learners import data

import decpomdp as dp
from decpomdp.core import Agent, Episodes, InputError, Team
from decpomdp.core.errors import LearningWarning
from decpomdp.filtering.filter import log_likelihood
from decpomdp.learners import (
    ExpectationMaximisation,
    Fixed,
    LearnSettings,
    StickBreaking,
    dirichlet_process,
    learn_from_episodes,
    prior_named,
)
from decpomdp.learners.behaviour import estimated, log_behaviour, log_mixture
from decpomdp.learners.sweep import evaluate
from decpomdp.learners.trace import weakest_step
from decpomdp.learners.weighing import steps_of, weigh

quiet = pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")


def logged(problem="broadcast", count=400, horizon=8, seed=1, team=None):
    model = dp.load(problem)
    return model, dp.simulate(model, team or Team.uniform(model), count, horizon, seed=seed)


@quiet
def test_truncation_fifty_ends_with_the_size_the_data_support():
    _, episodes = logged("dectiger", 300, 6)
    fit = learn_from_episodes(episodes, settings=LearnSettings(truncation=50, sweeps=60))
    first, last = fit.trace[0], fit.trace[-1]
    assert first["truncation"] == 50
    assert last["mean_nodes"] < 10
    assert last["truncation"] < 14
    assert fit.posterior.sizes == tuple(int(size) for size in last["nodes"].split("+"))
    assert all(size <= wanted for size, wanted in zip(fit.team.nodes, fit.posterior.sizes, strict=True))


def alternating(count=500, horizon=4):
    """Random actions; rewarded is a, b, a, b: one node cannot do that, two can."""
    rng = np.random.default_rng(0)
    did = rng.integers(0, 2, count * horizon)
    return Episodes(
        (Agent("x", ("a", "b"), ("o",)),),
        np.arange(count + 1) * horizon,
        np.where(np.arange(count * horizon) % horizon == 0, -1, 0)[:, None],
        did[:, None],
        np.full((count * horizon, 1), 0.5),
        (did == np.arange(count * horizon) % 2).astype(float),
        0.9,
    )


def test_the_truncation_grows_when_every_node_is_used():
    settings = LearnSettings(truncation=2, sweeps=100)
    prior = dirichlet_process(c=1.0, d=1.0, reading="rate")
    fit = learn_from_episodes(alternating(), prior, "random", settings=settings)
    bounds = [row["bound"] for row in fit.trace]
    assert fit.trace[0]["truncation"] == 2
    assert max(row["truncation"] for row in fit.trace) == 3
    assert fit.trace[-1]["nodes"] == "2"
    assert bounds == sorted(bounds)
    assert fit.decided.nodes == (2,)


@pytest.mark.parametrize("begin", ["best", "random"])
@pytest.mark.parametrize("truncation", [3, 10, 50])
def test_the_size_is_what_the_data_support_whatever_the_truncation(begin, truncation):
    fit = learn_from_episodes(alternating(), begin=begin, settings=LearnSettings(truncation=truncation))
    assert fit.posterior.sizes == (2,)
    assert fit.trace[-1]["bound"] == pytest.approx(592.2, abs=0.5)


@quiet
@pytest.mark.parametrize("sigma", [0.5, 2.0])
@pytest.mark.parametrize("truncation", [3, 50])
def test_the_size_is_the_same_with_another_sigma(sigma, truncation):
    settings = LearnSettings(truncation=truncation)
    fit = learn_from_episodes(alternating(), StickBreaking(sigma=sigma), settings=settings, threads=1)
    assert fit.stopped == "converged"
    assert fit.posterior.sizes == (2,)
    assert fit.decided.nodes == (2,)


@pytest.mark.parametrize("begin", ["best", "random", "team"])
@pytest.mark.parametrize("prior", ["stick-breaking", "dp"])
def test_a_single_node_grows_where_the_data_support_more(begin, prior):
    """A split gives the start node the action that was taken more often, here the wrong one to begin with."""
    episodes = alternating()
    first = Team.uniform(episodes) if begin == "team" else begin
    fit = learn_from_episodes(episodes, prior, first, settings=LearnSettings(truncation=1))
    bounds = np.array([row["bound"] for row in fit.trace])
    assert fit.trace[0]["truncation"] == 1
    assert fit.posterior.sizes == (2,)
    assert fit.decided.controllers[0].action.argmax(axis=1).tolist() == [0, 1]
    assert (np.diff(bounds) >= -1e-10 * np.abs(bounds[1:])).all()
    assert fit.stopped == "converged"
    many = learn_from_episodes(episodes, prior, settings=LearnSettings(truncation=10))
    assert bounds[-1] == pytest.approx(many.trace[-1]["bound"], abs=0.5)


def test_without_a_fresh_beginning_a_single_node_stays(monkeypatch):
    monkeypatch.setattr("decpomdp.learners.loop.Loop._begun_afresh", lambda *_: iter(()))
    fit = learn_from_episodes(alternating(), settings=LearnSettings(truncation=1))
    assert fit.posterior.sizes == (1,)


def test_a_single_node_may_grow_beyond_twice_its_truncation():
    """Rewarded is a, b, c in turn: three nodes are needed, one is given."""
    rng = np.random.default_rng(0)
    count, horizon = 1500, 3
    did = rng.integers(0, 3, count * horizon)
    wanted = np.arange(count * horizon) % horizon
    episodes = Episodes(
        (Agent("x", ("a", "b", "c"), ("o",)),),
        np.arange(count + 1) * horizon,
        np.where(wanted == 0, -1, 0)[:, None],
        did[:, None],
        np.full((count * horizon, 1), 1 / 3),
        (did == wanted).astype(float),
        0.9,
    )
    ends = [learn_from_episodes(episodes, settings=LearnSettings(truncation=nodes)) for nodes in (1, 20)]
    assert ends[0].posterior.sizes == ends[1].posterior.sizes == (3,)
    assert ends[0].trace[-1]["bound"] == pytest.approx(ends[1].trace[-1]["bound"], abs=0.5)


@quiet
def test_more_nodes_than_the_data_support_are_not_kept():
    """What is earned does not depend on memory: a single node is right, and stays, although splits are offered."""
    rng = np.random.default_rng(1)
    did = rng.integers(0, 2, 2000)
    episodes = dataclasses.replace(alternating(), actions=did[:, None], rewards=(did == 0).astype(float))
    for truncation in (1, 50):
        fit = learn_from_episodes(episodes, settings=LearnSettings(truncation=truncation))
        assert fit.posterior.sizes == (1,)


def test_with_cut_ratios_the_best_is_kept_and_a_fall_is_told():
    model = dp.load("dectiger")
    data = dp.simulate(model, dp.Team.uniform(model), 1000, 10, seed=2)
    settings = LearnSettings(cap=2.0, sweeps=40)
    with pytest.warns(LearningWarning) as told:
        fit = learn_from_episodes(data, "em:4", settings=settings)
    bounds = [row["bound"] for row in fit.trace]
    assert any("the bound fell" in str(warning.message) for warning in told)
    assert max(bounds) > bounds[-1]
    best = bounds.index(max(bounds))
    again = learn_from_episodes
    with pytest.warns(LearningWarning):
        shorter = again(data, "em:4", settings=LearnSettings(cap=2.0, sweeps=max(1, best)))
    assert shorter.team == fit.team


def test_the_unit_of_the_rewards_does_not_matter():
    from dataclasses import replace

    data = alternating()
    plain, huge = (
        learn_from_episodes(replace(data, rewards=unit * data.rewards), settings=LearnSettings(truncation=5))
        for unit in (1.0, 1e100)
    )
    assert len(plain.trace) == len(huge.trace)
    assert plain.posterior.sizes == huge.posterior.sizes


def test_good_data_give_a_good_team():
    """From episodes of a good team with little exploration, a good team is learned, above its teacher's value."""
    from dectiger_horizon3 import controller

    model = dp.load("dectiger")
    teacher = Team.of(model, [controller()] * 2)
    episodes = dp.simulate(model, teacher.exploring(0.02), 3000, 10, seed=5)
    fit = learn_from_episodes(episodes, begin=teacher, settings=LearnSettings(truncation=8, cap=5.0))
    assert fit.stopped == "converged"
    assert max(fit.trace, key=lambda row: row["bound"])["sample_size"] > 500
    assert fit.decided.nodes == (6, 6)
    assert dp.evaluate(fit.decided, model).value == pytest.approx(13.4486, abs=1e-3)
    assert dp.evaluate(fit.team, model).value > dp.evaluate(teacher.exploring(0.02), model).value


@quiet
@pytest.mark.parametrize("prior", ["stick-breaking", "dp", "fixed:4", "em:4"])
def test_the_same_for_any_number_of_threads(prior, monkeypatch):
    monkeypatch.setattr("decpomdp.filtering.layout.CHUNK_EPISODES", 64)
    _, episodes = logged(count=300)
    settings = LearnSettings(truncation=6 if prior_named(prior).nodes is None else None, sweeps=12)
    fits = [
        learn_from_episodes(episodes, prior_named(prior), "random", settings=settings, seed=4, threads=threads)
        for threads in (1, 2, 5)
    ]
    assert fits[0].team == fits[1].team == fits[2].team
    assert [row["bound"] for row in fits[0].trace] == [row["bound"] for row in fits[1].trace]
    other = learn_from_episodes(episodes, prior_named(prior), "random", settings=settings, seed=5)
    assert other.trace[0]["bound"] != fits[0].trace[0]["bound"]  # the end may be the same: whatever began best


@quiet
def test_a_given_team_is_the_beginning():
    model, episodes = logged("recycling", 200, 5)
    rng = np.random.default_rng(0)
    from oracles import making

    begin = making.team(rng, model, (3, 2))
    fit = learn_from_episodes(episodes, begin=begin, settings=LearnSettings(truncation=2, sweeps=1))
    assert fit.trace[0]["truncation"] == 3
    with pytest.raises(InputError, match="team does not fit problem recycling"):
        learn_from_episodes(episodes, begin=Team.uniform(dp.load("marsrovers")))


# ---- off-policy ----


def test_effective_sample_size_cap_and_self_normalisation_by_definition():
    rng = np.random.default_rng(3)
    episodes = data.episodes(rng, 2, count=40, longest=5)
    steps = steps_of(episodes, log_behaviour(episodes))
    log_team = np.cumsum(rng.normal(-1, 1, episodes.steps))
    ratio = log_team - steps.log_behaviour
    times = episodes.times()
    for cap in (None, 2.0):
        used = np.exp(ratio) if cap is None else np.minimum(np.exp(ratio), cap)
        for normalise in (False, True):
            found = weigh(steps, log_team, cap, normalise)
            wanted = used.copy()
            for t in range(times.max() + 1):
                here = times == t
                size = used[here].sum() ** 2 / (used[here] ** 2).sum()
                assert found.sample_sizes[t] == pytest.approx(size, rel=1e-10)
                if normalise:
                    wanted[here] /= used[here].mean()
            terms = steps.gain * wanted
            assert found.nu == pytest.approx(terms / terms.sum() * episodes.count, rel=1e-10)
            assert np.exp(found.log_value) == pytest.approx(terms.sum() / episodes.count, rel=1e-10)
            assert found.value == pytest.approx((steps.discounted * wanted).sum() / episodes.count, rel=1e-10)


@quiet
@pytest.mark.parametrize("prior", ["stick-breaking", "fixed:3", "em:3"])
@pytest.mark.parametrize("options", [{}, {"cap": 3.0}, {"normalise": True}])
def test_the_value_in_the_trace_is_that_of_the_team(prior, options):
    """By definition, from what comes out: the team's probabilities over the recorded ones, times the rewards."""
    _, episodes = logged("recycling", 200, 5)
    fit = learn_from_episodes(episodes, prior, settings=LearnSettings(sweeps=12, **options))
    ratios = np.exp(log_likelihood(episodes, fit.team) - log_behaviour(episodes))
    times = episodes.times()
    ratios = np.minimum(ratios, options.get("cap", np.inf))
    if "normalise" in options:
        ratios /= (np.bincount(times, ratios) / np.bincount(times))[times]
    earned = (ratios * episodes.rewards * episodes.discount**times).sum() / episodes.count
    best = max(fit.trace, key=lambda row: row["bound"])
    assert best["value"] == pytest.approx(earned, rel=1e-6)  # recorded probabilities are of single precision


def test_the_value_is_not_that_of_the_sub_normalised_controllers():
    """With little evidence exp(E ln ...) sums to much less than one; the value of what is returned does not."""
    _, episodes = logged("broadcast", 300, 3)
    settings = LearnSettings(evidence=1.0, truncation=2, sweeps=5)
    fit = learn_from_episodes(episodes, settings=settings)
    work = data.task(episodes, evidence=1.0)
    below = evaluate(work, fit.posterior.agents).weighed.value
    assert fit.trace[-1]["value"] > 1.2 * below > 0


def test_ratios_beyond_every_float_do_not_overflow():
    rng = np.random.default_rng(3)
    episodes = data.episodes(rng, 2, count=10, longest=4)
    steps = steps_of(episodes, log_behaviour(episodes))
    log_team = steps.log_behaviour + np.where(np.arange(episodes.steps) % 2, 5000.0, -5000.0)
    found = weigh(steps, log_team)
    assert np.isfinite(found.log_value)
    assert found.nu.sum() == pytest.approx(episodes.count)


def test_mixture_denominator_is_the_mixture_of_products():
    from oracles import making

    model = dp.load("broadcast")
    rng = np.random.default_rng(6)
    teams = [making.team(rng, model, 2), Team.uniform(model)]
    batches = [
        dp.simulate(model, team, count, 5, seed=n) for n, (team, count) in enumerate(zip(teams, (30, 10), strict=True))
    ]
    together, found = log_mixture(batches, teams)
    assert together.count == 40
    shares = [0.75, 0.25]
    wanted = np.zeros(together.steps)
    for share, team in zip(shares, teams, strict=True):
        wanted += share * np.exp(log_likelihood(together, team))
    assert found == pytest.approx(np.log(wanted), rel=1e-12)
    own = log_likelihood(batches[0], teams[0])
    assert own == pytest.approx(log_behaviour(batches[0]), abs=1e-5)  # recorded in single precision
    with pytest.raises(InputError, match="expected one team for each of 2 batches, got 1"):
        log_mixture(batches, teams[:1])


@quiet
def test_several_batches_in_one_fit():
    model = dp.load("broadcast")
    from oracles import making

    teams = [making.team(np.random.default_rng(1), model, 2), Team.uniform(model)]
    batches = [dp.simulate(model, team, 100, 6, seed=n) for n, team in enumerate(teams)]
    settings = LearnSettings(truncation=4, sweeps=5)
    mixed = learn_from_episodes(batches, behaviours=teams, settings=settings)
    plain = learn_from_episodes(batches, settings=settings)
    assert mixed.trace[-1]["sample_size"] != plain.trace[-1]["sample_size"]


def unknown(episodes):
    return dataclasses.replace(episodes, behaviour=np.full(episodes.behaviour.shape, np.nan))


@quiet
def test_unknown_behaviour_is_never_a_silent_one():
    _, episodes = logged(count=2000)
    hidden = unknown(episodes)
    with pytest.raises(InputError, match=r"episode 0, step 0, agent agent1: .*unknown.*estimate_behaviour"):
        learn_from_episodes(hidden)
    guessed = estimated(hidden)
    assert guessed.behaviour == pytest.approx(episodes.behaviour, abs=0.1)  # uniform: one half each
    assert "estimated" in guessed.facts["behaviour"]
    fit = learn_from_episodes(hidden, settings=LearnSettings(estimate_behaviour=True, sweeps=3, truncation=4))
    assert fit.settings["estimate_behaviour"] is True


def test_collapsed_weights_are_told():
    _, episodes = logged("dectiger", 300, 12)
    with pytest.warns(LearningWarning, match=r"at step \d+ the effective sample size is 1\.\d of 300"):
        learn_from_episodes(episodes, settings=LearnSettings(truncation=12, sweeps=10))


def test_warning_and_trace_speak_of_the_same_step():
    """Equal numbers; what was said of another step, or of steps that hardly count, was misleading."""
    _, episodes = logged("dectiger", 300, 12)
    with pytest.warns(LearningWarning, match="few episodes") as told:
        fit = learn_from_episodes(episodes, settings=LearnSettings(truncation=12, sweeps=10))
    text = next(str(warning.message) for warning in told if "few episodes" in str(warning.message))
    step, size = re.search(r"at step (\d+) the effective sample size is ([\d.]+) of 300", text).groups()
    best = max(fit.trace, key=lambda row: row["bound"])
    assert f"{best['sample_size']:.1f}" == size
    assert best["sample_size"] == best["sample_sizes"][int(step)] == min(best["sample_sizes"])


def test_the_weakest_step_is_one_that_counts():
    sizes, running = np.array([900.0, 400.0, 3.0, 2.0, 1.0]), np.array([1000, 800, 600, 60, 1])
    assert weakest_step(sizes, running, 0.9) == 2  # 3 of 600; later ones are rarely reached
    assert weakest_step(sizes, np.array([1000, 800, 600, 100, 2]), 0.9) == 3  # 2 of 100, now often enough
    assert weakest_step(sizes, running, 0.05) == 0  # nothing after the first step is worth anything
    assert weakest_step(np.array([50.0, 7.0, 9.0]), np.array([50, 7, 40]), 1.0) == 2  # 7 of 7 have not collapsed
    assert weakest_step(np.array([50.0, 30.0]), np.array([50, 40]), 1.0) == 1  # none has: the smallest


# ---- hard data ----


def flat(rewards, offsets=(0, 2, 3), terminated=None):
    rows = offsets[-1]
    return Episodes(
        agents=(Agent("x", ("a", "b"), ("o", "p")),),
        offsets=offsets,
        observations=np.where(np.isin(np.arange(rows), offsets), -1, 0)[:, None],
        actions=np.arange(rows)[:, None] % 2,
        behaviour=np.full((rows, 1), 0.5),
        rewards=rewards,
        discount=0.9,
        terminated=terminated,
    )


@pytest.mark.parametrize("reward", [0.0, 3.5, -2.0])
def test_rewards_all_equal_are_nothing_to_learn_from(reward):
    with pytest.raises(InputError, match=f"nothing to learn from: every reward is {reward:g}"):
        learn_from_episodes(flat([reward] * 3))


def going(discount, noise=0.5, cut=lambda rng: 8, count=1000):
    """Every step costs about 1; `go` ends the episode with probability 0.5, `wait` never: to go is better."""
    rng = np.random.default_rng(0)
    did, lengths, ended = [], [], []
    for _ in range(count):
        begun, end, longest = len(did), False, cut(rng)
        while not end and len(did) - begun < longest:
            did.append(rng.integers(0, 2))
            end = bool(did[-1] and rng.random() < 0.5)
        lengths.append(len(did) - begun)
        ended.append(end)
    offsets = np.append(0, np.cumsum(lengths))
    return Episodes(
        agents=(Agent("x", ("wait", "go"), ("o",)),),
        offsets=offsets,
        observations=np.where(np.isin(np.arange(offsets[-1]), offsets), -1, 0)[:, None],
        actions=np.array(did)[:, None],
        behaviour=np.full((offsets[-1], 1), 0.5),
        rewards=-1 - noise * rng.random(offsets[-1]),
        discount=discount,
        terminated=np.array(ended),
    )


@quiet  # no episode goes on for long once it is better to end
@pytest.mark.parametrize("discount", [0.95, 1.0])
@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_costly_episodes_that_end_by_themselves_are_to_be_short(discount, noise):
    settings = LearnSettings(cap=10.0, truncation=3, sweeps=60)
    fit = learn_from_episodes(going(discount, noise), settings=settings, threads=1)
    assert fit.decided.controllers[0].action[:, 1].tolist() == [1.0]


def test_at_discount_one_all_rewards_are_shifted_alike():
    """An episode's gains sum to its return and a constant, the same for all."""
    episodes = going(1.0, count=200)
    gains = np.add.reduceat(steps_of(episodes, np.zeros(episodes.steps)).gain, episodes.offsets[:-1])
    returns = np.add.reduceat(episodes.rewards, episodes.offsets[:-1])
    assert gains - returns == pytest.approx(-8 * episodes.rewards.min())


def test_cuts_at_different_lengths_are_told_at_discount_one():
    told = (
        r"discount 1, rewards shifted by 1\.\d+ a step, and episodes that were cut off at different lengths \(2 steps, "
    )
    for discount in (0.95, 1.0):
        episodes = going(discount, cut=lambda rng: int(rng.integers(2, 9)), count=200)
        if discount == 1:
            with pytest.warns(LearningWarning, match=told):
                steps_of(episodes, np.zeros(episodes.steps))
        else:
            steps_of(episodes, np.zeros(episodes.steps))


@quiet
def test_a_lower_floor_weighs_equal_rewards_alike():
    fit = learn_from_episodes(flat([1.0] * 3), settings=LearnSettings(floor=0.0, truncation=2, sweeps=3))
    assert fit.trace[-1]["value"] > 0
    with pytest.raises(InputError, match=r"floor: expected at most the smallest reward 1\.0, got 2"):
        learn_from_episodes(flat([1.0] * 3), settings=LearnSettings(floor=2.0))


@quiet
def test_episodes_of_length_one():
    fit = learn_from_episodes(flat([1.0, 0.0, 1.0, 0.0], (0, 1, 2, 3, 4)), settings=LearnSettings(truncation=3))
    assert fit.decided.nodes == (1,)
    assert fit.decided.controllers[0].action[0, 0] == 1  # action a earned the rewards


def test_an_early_end_is_not_a_loss():
    """Rewards of -1 a step until the end: shifted by -1, a short episode must still weigh more than a long one."""
    episodes = flat([-1.0, -1.0, -1.0], (0, 2, 3), terminated=[True, True])
    steps = steps_of(episodes, log_behaviour(episodes))
    totals = np.add.reduceat(steps.gain, [0, 2])
    assert totals[1] - totals[0] == pytest.approx(episodes.returns()[1] - episodes.returns()[0])
    assert totals[1] > totals[0]


def test_actions_outside_the_alphabet_are_named():
    with pytest.raises(InputError, match="episode 1, step 0, agent x: expected an action from 0 to 1, got 2"):
        dataclasses.replace(flat([1.0, 2.0, 3.0]), actions=np.array([[0], [1], [2]]))


@quiet
@pytest.mark.parametrize("agents", [1, 3, 100])
def test_any_number_of_agents(agents):
    rng = np.random.default_rng(agents)
    sizes = [(2 + n % 3, 1 + n % 2) for n in range(agents)]
    team = tuple(
        Agent(f"agent{n}", tuple(map(str, range(a))), tuple(f"o{i}" for i in range(o)))
        for n, (a, o) in enumerate(sizes)
    )
    count, horizon = 50, 4
    rows = count * horizon
    seen = np.stack([rng.integers(0, o, rows) for _, o in sizes], axis=1)
    seen[::horizon] = -1
    episodes = Episodes(
        team,
        np.arange(count + 1) * horizon,
        seen,
        np.stack([rng.integers(0, a, rows) for a, _ in sizes], axis=1),
        np.stack([np.full(rows, 1 / a) for a, _ in sizes], axis=1),
        rng.random(rows),
        0.9,
    )
    fit = learn_from_episodes(episodes, settings=LearnSettings(truncation=3, sweeps=4))
    bounds = [row["bound"] for row in fit.trace]
    assert len(fit.team.controllers) == agents
    assert bounds == sorted(bounds)


@quiet
def test_first_observations_choose_the_first_node():
    """The right action is shown before it must be taken: only a start that depends on what is seen can use that."""
    rng = np.random.default_rng(0)
    count = 600
    seen, did = rng.integers(0, 2, (count, 1)), rng.integers(0, 2, (count, 1))
    episodes = Episodes(
        (Agent("x", ("a", "b"), ("o", "p")),),
        np.arange(count + 1),
        seen,
        did,
        np.full((count, 1), 0.5),
        (seen == did).astype(float).ravel(),
        0.9,
    )
    fit = learn_from_episodes(episodes, settings=LearnSettings(truncation=4))
    controller = fit.decided.controllers[0]
    for o in (0, 1):
        assert controller.action[controller.initial_given[o].argmax(), o] == 1


# ---- posterior ----


@quiet
def test_the_posterior_can_be_sampled_and_narrows_with_evidence():
    _, episodes = logged(count=300, horizon=5)
    spreads = []
    for evidence in (30.0, 30_000.0):
        settings = LearnSettings(evidence=evidence, sweeps=20)
        fit = learn_from_episodes(episodes, Fixed(3), "random", settings=settings, seed=2)
        rng = np.random.default_rng(0)
        draws = [fit.posterior.sample(rng) for _ in range(50)]
        assert all(draw.agents == episodes.agents for draw in draws)
        spreads.append(np.mean([np.std([d.controllers[n].action for d in draws], axis=0).mean() for n in (0, 1)]))
    assert spreads[1] < 0.5 * spreads[0]


def test_an_interrupt_keeps_the_best_so_far():
    _, episodes = logged(count=100)

    def watch(row):
        if row["sweep"] == 3:
            raise KeyboardInterrupt

    with pytest.warns(LearningWarning):
        fit = learn_from_episodes(episodes, settings=LearnSettings(truncation=4), watch=watch)
    assert fit.stopped == "interrupted"
    assert len(fit.trace) == 4


@quiet
def test_a_time_limit_is_kept():
    _, episodes = logged(count=100)
    fit = learn_from_episodes(episodes, settings=LearnSettings(truncation=4, tolerance=0.0), time_limit=0.0)
    assert fit.stopped == "time limit"
    assert len(fit.trace) == 2


@pytest.mark.parametrize(
    ("text", "kind"),
    [("stick-breaking", StickBreaking), ("dp", StickBreaking), ("fixed:5", Fixed), ("em", ExpectationMaximisation)],
)
def test_priors_by_name(text, kind):
    prior = prior_named(text)
    assert isinstance(prior, kind)
    assert prior.text in (text, "em:5")
