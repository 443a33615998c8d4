"""Where a fit begins: what is in the first posterior, and what is compiled before."""

import shutil

import numpy as np
import pytest
from learners import data
from oracles import making

from decpomdp.core import Agent, Episodes
from decpomdp.core.run import NamedToy, _second_process
from decpomdp.learners import Fixed, StickBreaking
from decpomdp.learners.posterior import TeamPosterior
from decpomdp.learners.start import beginning


def mean_of(first):
    return TeamPosterior(first, 0.9, "", 0.0).mean()


def test_the_best_episode_is_replayed():
    """Two of forty episodes earn something, in two ways: the tree follows each while the observations agree."""
    agent = Agent("x", ("a", "b", "c"), ("o", "p"))
    good = {0: ((2, 0, 1), (-1, 1, 0)), 1: ((2, 1, 1), (-1, 0, 0))}
    bad = ((0, 0, 0), (-1, 0, 0))
    did, saw = (np.concatenate([good.get(k, bad)[part] for k in range(40)]) for part in (0, 1))
    rewards = np.repeat([1.0, 0.9, *[0.0] * 38], 3)
    episodes = Episodes(
        (agent,), 3 * np.arange(41), saw[:, None], did[:, None], np.full((120, 1), 1 / 3), rewards, discount=0.9
    )
    (controller,) = mean_of(beginning(episodes, Fixed(8), "best", 8)).decided().controllers
    for actions, seen in good.values():
        node = 0
        for t, action in enumerate(actions):
            assert controller.action[node].argmax() == action
            if t < 2:
                node = int(controller.transition[node, action, seen[t + 1]].argmax())


def test_a_clock_does_at_every_step_what_the_best_episodes_did():
    episodes = data.episodes(np.random.default_rng(1), 2, count=30, longest=7)
    team = mean_of(beginning(episodes, Fixed(4), "clock", 4))
    best = int(np.argmax(episodes.returns()))
    assert episodes.count // 20 == 1
    rows = slice(episodes.offsets[best], episodes.offsets[best + 1])
    for n, controller in enumerate(team.controllers):
        did, nodes = episodes.actions[rows, n], np.arange(episodes.lengths[best]) % 4
        for node in range(4):
            shares = np.bincount(did[nodes == node], minlength=controller.actions) / max(1, (nodes == node).sum())
            wanted = shares if (nodes == node).any() else np.full(controller.actions, 1 / controller.actions)
            assert controller.action[node] == pytest.approx(0.9 * wanted + 0.1 / controller.actions, abs=0.01)
            assert np.all(controller.transition[node].argmax(-1) == (node + 1) % 4)


def test_a_tree_that_would_outgrow_the_truncation_goes_back_to_the_start():
    episodes = data.episodes(np.random.default_rng(0), 1, count=30, longest=4)
    first = beginning(episodes, StickBreaking(), "best", 2)
    assert first[0].nodes == 2
    assert np.isfinite(first[0].divergence())


@pytest.mark.parametrize("shown", [False, True])
def test_a_given_team_is_found_again(shown):
    """Softened, with its likeliest start first, and empty nodes behind."""
    rng = np.random.default_rng(4)
    episodes = data.episodes(rng, 2, first=shown)
    team = making.team(rng, episodes, (3, 2), first=shown)
    first = beginning(episodes, Fixed(4), team, 4)
    for agent, controller, symbols in zip(first, team.controllers, (2, 3), strict=True):
        order = [int(controller.initial.argmax())]
        order += [i for i in range(controller.nodes) if i not in order]
        assert agent.nodes == 4
        got = agent.action.mean()[: controller.nodes]
        assert got == pytest.approx(0.9 * controller.action[order] + 0.1 / controller.actions, abs=0.01)
        assert (agent.first is not None) == shown
        moves = agent.move.mean().reshape(4, controller.actions, symbols, 4)[
            : controller.nodes, ..., : controller.nodes
        ]
        wanted = 0.9 * controller.transition[order][..., order] + 0.1 / controller.nodes
        assert moves == pytest.approx(wanted, abs=0.01)


def test_random_beginnings_follow_the_seed():
    episodes = data.episodes(np.random.default_rng(0), 2)
    one, again, other = (mean_of(beginning(episodes, Fixed(3), "random", 3, seed)) for seed in (1, 1, 2))
    assert one == again
    assert one != other


@pytest.mark.parametrize(("program", "marks"), [("true", 1), ("false", 0)])
def test_a_second_process_compiles_once_and_again_if_it_failed(tmp_path, monkeypatch, program, marks):
    monkeypatch.setattr("decpomdp.kernels.compiled.FOLDER", str(tmp_path))
    monkeypatch.setattr("decpomdp.core.run.default_threads", lambda: 2)
    monkeypatch.setattr("sys.executable", shutil.which(program))
    with _second_process(NamedToy("decpomdp.learners.method", "toy", 2), None):
        pass
    assert len(list(tmp_path.glob("*.compiled"))) == marks
