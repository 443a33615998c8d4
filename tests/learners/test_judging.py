"""The verdict on a learned team: its value in the chain of contexts, compared with the behaviour's."""

import numpy as np
import pytest
from learners.logged import alternating
from oracles import making

import decpomdp as dp
from decpomdp.core import Controller, Team
from decpomdp.learners import judging
from decpomdp.learners.judging import BETTER, SHRINK, TINY, UNPROVEN, WORSE, Judged, judge, node_path


def turning(first, episodes):
    """Takes the two actions in turn."""
    return Team.of(episodes, [Controller.deterministic([first, 1 - first], [[1], [0]], 2)])


def test_a_good_team_is_better_and_a_bad_one_is_not():
    """Rewarded is a, b, a, b."""
    episodes = alternating()
    right, wrong = (judge(episodes, turning(first, episodes)) for first in (0, 1))
    assert right.verdict == BETTER
    assert wrong.verdict == WORSE
    assert right.low < right.value < right.high
    assert right.behaviour == wrong.behaviour == pytest.approx(episodes.returns().mean())
    assert right.value == pytest.approx(sum(0.9**t for t in range(4)), abs=0.1)  # where 1 is certain
    assert wrong.value == pytest.approx(0, abs=0.1)
    assert right.support == pytest.approx(0.5, abs=0.05)
    assert Judged(1.0, 0.5, 1.5, 0.9, sure=False).verdict == UNPROVEN


def slowly(episodes, team):
    """[h] the recursion of the module's docstring, by dictionaries."""
    rows = []  # joint node, context, whether it agrees, reward, next context or None, known
    longest = max(episodes.lengths)
    for k in range(episodes.count):
        start, end = episodes.offsets[k], episodes.offsets[k + 1]
        nodes = [int(own.initial.argmax()) for own in team.controllers]
        agrees = True
        for row in range(start, end):
            if row > start:
                nodes = [
                    int(own.transition[i, episodes.actions[row - 1, n], episodes.observations[row, n]].argmax())
                    for n, (own, i) in enumerate(zip(team.controllers, nodes, strict=True))
                ]
            wanted = [int(own.action[i].argmax()) for own, i in zip(team.controllers, nodes, strict=True)]
            context = ((*nodes, *episodes.observations[row]), agrees)
            agrees = wanted == list(episodes.actions[row])
            ended = bool(episodes.terminated is not None and episodes.terminated[k]) or end - start < longest
            rows.append([context, agrees, episodes.rewards[row], None, row + 1 < end or ended])
            if row > start:
                rows[-2][3] = context
    first = [rows[start][0] for start in episodes.offsets[:-1]]

    def mean(of, agreeing, context, known):
        def shrunk(towards, keep, shrink=SHRINK):
            values = [of(row) for row in rows if keep(row) and (row[4] or not known)]
            return (sum(values) + shrink * towards) / (len(values) + shrink)

        def agrees(row):
            return row[1] or not agreeing

        every = [of(row) for row in rows if row[4] or not known]
        all_wide = shrunk(np.mean(every), lambda row: row[0][0] == context[0], TINY)
        agreed_wide = shrunk(all_wide, lambda row: row[0][0] == context[0] and agrees(row))
        all_here = shrunk(all_wide, lambda row: row[0] == context, TINY)
        return shrunk(agreed_wide - all_wide + all_here, lambda row: row[0] == context and agrees(row))

    def value(agreeing):
        contexts = {row[0] for row in rows}
        reward = {c: mean(lambda row: row[2], agreeing, c, False) for c in contexts}
        values = reward
        for _ in range(longest - 1):
            later = values
            values = {
                c: reward[c]
                + episodes.discount * mean(lambda row, v=later: v[row[3]] if row[3] else 0.0, agreeing, c, True)
                for c in contexts
            }
        return np.mean([values[c] for c in first])

    return value(True) - value(False) + episodes.returns().mean()


@pytest.mark.parametrize("lengths", [(4, 4), (2, 5)])
def test_against_the_recursion_by_hand(lengths):
    model = dp.load("recycling")
    parts = [dp.simulate(model, "random", 15, length, seed=length) for length in lengths]
    episodes = dp.Episodes.concatenate(parts)
    team = making.team(np.random.default_rng(1), model, 2).decided()
    found = judge(episodes, team)
    assert found.value == pytest.approx(slowly(episodes, team), rel=1e-12)
    assert found.behaviour == pytest.approx(np.mean([part.returns().mean() for part in parts]))


@pytest.mark.parametrize("seed", range(4))
def test_the_truth_is_inside_where_contexts_are_states(seed):
    """The robots see their batteries. No episode agrees with a whole path: importance ratios would say nothing."""
    model = dp.load("recycling")
    team = making.team(np.random.default_rng(seed), model, 2).decided()
    found = judge(dp.simulate(model, "random", 1000, 12, seed=seed), team)
    assert found.low < dp.exact_value(model, team, 12).value < found.high
    assert found.support < 0.2


def test_the_behaviour_itself_has_its_own_value():
    model = dp.load("recycling")
    team = making.team(np.random.default_rng(1), model, 2).decided()
    found = judge(dp.simulate(model, team, 40, 6, seed=1), team)
    assert found.support == 1
    assert found.value == pytest.approx(found.behaviour, rel=1e-8)
    assert not found.sure


def test_a_team_with_which_no_step_agrees_counts_as_the_behaviour():
    episodes = alternating(count=30)
    always = episodes.chosen(np.flatnonzero(np.add.reduceat(episodes.actions[:, 0], episodes.offsets[:-1]) == 0))
    found = judge(always, Team.of(episodes, [Controller.deterministic([1], [[0]], 2)]))
    assert found.support == 0
    assert found.value == pytest.approx(found.behaviour, rel=1e-8)
    assert found.verdict == UNPROVEN


def test_one_step_and_one_episode():
    episodes = alternating(count=50, horizon=1)
    good = Team.of(episodes, [Controller.deterministic([0], [[0]], 2)])
    own = episodes.rewards[episodes.actions[:, 0] == 0]
    shrunk = (own.sum() + 2 * SHRINK * episodes.rewards.mean()) / (len(own) + 2 * SHRINK)
    assert judge(episodes, good).value == pytest.approx(shrunk, abs=0.01)
    assert np.isfinite(judge(episodes.chosen(np.array([0])), good)).all()


def test_nodes_follow_the_first_observation_and_the_recorded_actions():
    model = dp.load("recycling")
    episodes = dp.simulate(model, "random", 5, 4, seed=1)
    own = making.team(np.random.default_rng(2), model, 3).decided().controllers[1]
    shown = Controller(own.initial, own.action, own.transition, np.eye(3)[[2, 1]])
    path = node_path(episodes, 1, own)
    assert (path[episodes.offsets[:-1]] == own.initial.argmax()).all()
    seen = np.array(episodes.observations)
    seen[episodes.offsets[:-1]] = 0
    import dataclasses

    later = dataclasses.replace(episodes, observations=seen)
    assert (node_path(later, 1, shown)[episodes.offsets[:-1]] == 2).all()
    row = int(episodes.offsets[2]) + 1
    move = own.transition[path[row - 1], episodes.actions[row - 1, 1], episodes.observations[row, 1]]
    assert path[row] == move.argmax()


def test_numbers_of_many_columns():
    """A product of 40 sizes would overflow."""
    columns = np.random.default_rng(0).integers(-1, 9, (200, 40))
    columns = np.concatenate([columns, columns])
    numbers = judging._numbered(columns)
    assert len(set(numbers)) == 200
    assert (numbers[:200] == numbers[200:]).all()


def test_the_jackknife_of_a_mean_is_its_standard_error():
    values = np.random.default_rng(0).normal(size=20)
    without_one = (values.sum() - values) / 19
    assert judging._jackknife(without_one) == pytest.approx(values.std(ddof=1) / 20**0.5)
