"""Environments of others as simulators: what is passed on, what is refused, and what can be learned there."""

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, MultiDiscrete, Tuple
from pettingzoo import ParallelEnv

import decpomdp as dp
from decpomdp.core import InputError, Simulator


class Relay(ParallelEnv):
    """Agent k lives for k + 2 steps and sees its age plus 10; numbers of actions begin at 5."""

    render_mode = None

    def __init__(self, agents=3, draws=None):
        self.metadata = {"name": "relay"}
        self.possible_agents = list(range(agents))  # names need not be texts
        self.draws = draws
        self.seen_actions = []
        self._spaces = {agent: (Discrete(2, start=5), Discrete(agents + 3, start=10)) for agent in self.possible_agents}

    def action_space(self, agent):
        return self._spaces[agent][0]

    def observation_space(self, agent):
        return self._spaces[agent][1]

    def reset(self, seed=None, options=None):
        self.rng = np.random.default_rng(seed) if self.draws is None else self.draws
        self.agents, self.age = list(self.possible_agents), 0
        return dict.fromkeys(self.agents, 10), {agent: {} for agent in self.agents}

    def step(self, actions):
        self.seen_actions.append(dict(actions))
        assert set(actions) == set(self.agents)
        self.age += 1
        acting, noise = self.agents, float(self.rng.random())
        ended = {agent: self.age >= agent + 2 for agent in acting}
        self.agents = [agent for agent in acting if not ended[agent]]
        rewards = {agent: (actions[agent] - 5) + noise for agent in acting}
        return (
            dict.fromkeys(acting, 10 + self.age),
            rewards,
            ended,
            dict.fromkeys(acting, False),
            {agent: {} for agent in acting},
        )


def test_it_is_a_simulator():
    simulator = dp.from_pettingzoo(Relay, discount=0.5)
    assert isinstance(simulator, Simulator)
    assert (simulator.name, simulator.discount, simulator.repeatable) == ("relay", 0.5, True)
    assert [agent.name for agent in simulator.agents] == ["0", "1", "2"]
    assert simulator.agents[1].actions == ("0", "1")
    assert len(simulator.agents[1].observations) == 6


def test_first_observations_are_kept_and_the_dead_hold_theirs():
    simulator = dp.from_pettingzoo(Relay, reward="sum")
    assert np.array_equal(simulator.reset(2, seed=1), np.zeros((2, 3)))
    ones = np.ones((2, 3), int)
    steps = [simulator.step(ones) for _ in range(5)]
    assert [step.observations[0].tolist() for step in steps] == [[1, 1, 1], [2, 2, 2], [2, 3, 3], [2, 3, 4], [2, 3, 4]]
    assert [step.ended.tolist() for step in steps] == [[False] * 2] * 3 + [[True] * 2] * 2
    living = [int(step.rewards[0]) for step in steps]  # 1 per living agent, and a share of noise below 1 each
    assert [living[0] >= 3, living[2] >= 2, living[3] >= 1, living[4]] == [True, True, True, 0]
    assert set(simulator._pool[0].env.seen_actions[-1].items()) == {(2, 6)}


def test_rewards_become_one():
    summed, mean = (dp.from_pettingzoo(Relay, reward=kind) for kind in ("sum", "mean"))
    first = dp.from_pettingzoo(Relay, reward=lambda rewards: rewards.get(0, -1.0))
    for simulator in (summed, mean, first):
        simulator.reset(4, seed=3)
    steps = [[s.step(np.zeros((4, 3), int)).rewards for s in (summed, mean, first)] for _ in range(4)]
    for total, average, _ in steps:
        assert average == pytest.approx(total / 3)  # of the whole team, whoever is still there
    assert steps[0][2] == pytest.approx(steps[0][1])
    assert steps[3][2].tolist() == [-1.0] * 4
    with pytest.raises(InputError, match='reward: expected "mean", "sum" or a function'):
        dp.from_pettingzoo(Relay, reward="total")


def test_seeds_repeat_and_differ():
    simulator = dp.from_pettingzoo(Relay)
    team = dp.Team.uniform(simulator)
    one = dp.simulate(simulator, team, 20, 10, seed=0)
    assert one == dp.simulate(simulator, team, 20, 10, seed=0)
    assert one == dp.simulate(dp.from_pettingzoo(Relay), team, 20, 10, seed=0)
    assert one != dp.simulate(simulator, team, 20, 10, seed=1)
    assert len(set(one.rewards[one.offsets[:-1]])) > 15  # the episodes of a batch have their own chance


def test_an_environment_that_ignores_its_seed_is_found_out():
    shared = np.random.default_rng(0)
    assert not dp.from_pettingzoo(lambda: Relay(draws=shared)).repeatable
    assert dp.from_pettingzoo(lambda: Relay(draws=shared), repeatable=True).repeatable  # the user knows better


def test_names_of_actions():
    assert dp.from_pettingzoo(Relay, action_names=("rest", "run")).agents[2].actions == ("rest", "run")
    some = dp.from_pettingzoo(Relay, action_names={"1": ("rest", "run")}).agents
    assert (some[0].actions, some[1].actions) == (("0", "1"), ("rest", "run"))
    with pytest.raises(InputError, match="agent 0: expected 2 action names, got 1"):
        dp.from_pettingzoo(Relay, action_names=("rest",))
    with pytest.raises(InputError, match="expected agents among 0, 1, 2, got 'x'"):
        dp.from_pettingzoo(Relay, action_names={"x": ("a", "b")})


class Spaces(Relay):
    """Relay with other spaces for agent 1."""

    def __init__(self, action=None, observation=None):
        super().__init__()
        own = self._spaces[1]
        self._spaces[1] = (action or own[0], observation or own[1])


@pytest.mark.parametrize("space", [Box(-1, 1, (3,)), MultiDiscrete([2, 2]), Tuple([Discrete(2), Discrete(2)])])
def test_spaces_without_numbers_are_refused_by_name(space):
    with pytest.raises(InputError, match=r"agent 1: expected a Discrete action space, got .*; wrap the environment"):
        dp.from_pettingzoo(lambda: Spaces(action=space))
    with pytest.raises(InputError, match=r"agent 1: expected a Discrete observation space, got .*discretise="):
        dp.from_pettingzoo(lambda: Spaces(observation=space))
    parity = dp.Discretiser(("even", "odd"), lambda seen: seen % 2)
    simulator = dp.from_pettingzoo(lambda: Spaces(observation=space), discretise={"1": parity})
    assert simulator.agents[1].observations == ("even", "odd")
    assert simulator.reset(1, 0).tolist() == [[0, 0, 0]]
    assert simulator.step(np.zeros((1, 3), int)).observations.tolist() == [[1, 1, 1]]


def test_mistakes_are_named():
    with pytest.raises(InputError, match="make_env: expected a function that makes an environment, got Relay"):
        dp.from_pettingzoo(Relay())
    with pytest.raises(InputError, match="expected a PettingZoo ParallelEnv or a gymnasium Env, got 3"):
        dp.from_pettingzoo(lambda: 3)
    only = Relay()
    with pytest.raises(InputError, match="expected a new environment at every call"):
        dp.from_pettingzoo(lambda: only)
    with pytest.raises(InputError, match="agent 0: result of the discretiser: expected a whole number from 0 to 1"):
        dp.from_pettingzoo(Relay, discretise=dp.Discretiser(2, lambda seen: seen))
    with pytest.raises(InputError, match="agent 0: expected an observation after an action, got none"):
        dp.from_pettingzoo(Relay, discretise=dp.Discretiser(2, lambda seen: 0 if seen == 10 else None))
    with pytest.raises(InputError, match="discretise: expected a Discretiser"):
        dp.from_pettingzoo(Relay, discretise=len)
    simulator = dp.from_pettingzoo(Relay)
    simulator.reset(1, 0)
    with pytest.raises(InputError, match="actions: episode 0, agent 2: expected an action from 0 to 1, got 2"):
        simulator.step(np.array([[0, 0, 2]]))


class Faulty(Relay):
    """Relay with one thing wrong."""

    def __init__(self, fault):
        super().__init__()
        self.fault = fault

    def reset(self, seed=None, options=None):
        shown, infos = super().reset(seed)
        if self.fault == "no infos":
            return shown
        if self.fault == "reset raises":
            raise RuntimeError("no\npower")
        return {**shown, **({0: 99} if self.fault == "outside at reset" else {})}, infos

    def step(self, actions):
        if self.fault == "step raises":
            raise KeyError("fuel")
        shown, rewards, *ends = super().step(actions)
        if self.fault == "outside":
            shown[1] = 10.5
        if self.fault == "nan":
            rewards[0] = float("nan")
        if self.fault == "four":
            return shown, rewards, *ends[:2]
        if self.fault == "no rewards":
            rewards = dict.fromkeys(rewards)
        if self.fault == "a text":
            rewards[1] = "x"
        if self.fault == "a reward less":
            del rewards[2]
        if self.fault == "an observation less":
            del shown[1]
        return shown, rewards, *ends


FAULTS = {
    "no infos": r"environment relay: reset\(seed=\d+\) failed: ValueError: too many values to unpack",
    "reset raises": r"environment relay: reset\(seed=\d+\) failed: RuntimeError: no power",
    "step raises": r"simulator.py:\d+: environment relay: step\(\{0: [56], .*\}\) failed: KeyError: 'fuel'",
    "outside at reset": r"agent 0: expected an observation in Discrete\(6, start=10\), got 99",
    "outside": r"agent 1: expected an observation in Discrete\(6, start=10\), got 10.5",
    "nan": r"environment relay: expected finite rewards, got \{0: nan",
    "four": r"environment relay: step\(.*\) failed: ValueError: not enough values to unpack",
    "no rewards": r"agent 0: expected a number as reward, got None",
    "a text": r"agent 1: expected a number as reward, got 'x'",
    "a reward less": r"agent 2: expected a reward after an action, got none",
    "an observation less": r"agent 1: expected an observation after an action, got none",
}


def test_an_environment_that_does_wrong_is_named():
    for fault in FAULTS:
        with pytest.raises(InputError, match=FAULTS[fault]) as told:
            dp.from_pettingzoo(lambda fault=fault: Faulty(fault))
        assert len(str(told.value).splitlines()) == 1
        team = dp.Team.uniform(dp.from_pettingzoo(Relay))
        with pytest.raises(InputError, match=FAULTS[fault]):
            dp.play(team, Faulty(fault))


class Leaving(Relay):
    """An agent that has just ended gets neither observation nor reward."""

    def step(self, actions):
        parts = super().step(actions)
        return tuple({agent: part[agent] for agent in self.agents} for part in parts[:2]) + parts[2:]


def test_an_agent_that_has_ended_needs_nothing_more():
    simulator = dp.from_pettingzoo(Leaving)
    assert dp.simulate(simulator, episodes=5, horizon=10).lengths.tolist() == [4] * 5


def test_our_own_problem_comes_back_as_it_was():
    """Through PettingZoo and back: the same agents, no first observation, the same chance."""
    model = dp.load("dectiger")
    simulator = dp.from_pettingzoo(lambda: dp.parallel_env(model), discount=0.9)
    assert simulator.agents == model.agents
    assert simulator.reset(3, 0) is None
    team = dp.Team.uniform(model)
    value = dp.sampled_value(simulator, team, 400, horizon=3, seed=1)
    exact = dp.exact_value(model, team, 3).value
    assert abs(value.value - exact) < 4 * value.standard_error


def test_a_gymnasium_environment_is_a_team_of_one():
    simulator = dp.from_pettingzoo(lambda: gymnasium.make("FrozenLake-v1", is_slippery=False), discount=1.0)
    assert simulator.name == "FrozenLake-v1"
    assert [len(simulator.agents[0].actions), len(simulator.agents[0].observations)] == [4, 16]
    simulator.reset(1, 0)
    steps = [simulator.step(np.array([[action]])) for action in (1, 1, 2, 2, 1, 2)]  # down, right: to the goal
    assert [int(step.observations[0, 0]) for step in steps] == [4, 8, 9, 10, 14, 15]
    assert [float(step.rewards[0]) for step in steps] == [0, 0, 0, 0, 0, 1]
    assert [bool(step.ended[0]) for step in steps] == [False] * 5 + [True]
    simulator.close()
    assert simulator.reset(1, 0).tolist() == [[0]]  # makes new ones


POLE = dp.Discretiser.binned([[], [], [-0.05, 0.0, 0.05], [-0.5, 0.0, 0.5]])


def test_a_pole_is_kept_up_after_learning():
    """CartPole, cut off after 30 steps: random play falls after about 20, a controller of a few nodes hardly ever."""
    simulator = dp.from_pettingzoo(lambda: gymnasium.make("CartPole-v1"), discretise=POLE, discount=0.99, horizon=30)
    fit = dp.learn(simulator, steps=20_000, horizon=30, seed=1)
    env = gymnasium.make("CartPole-v1")
    random, learned = (
        dp.play(team, env, seed=10_000, episodes=60, horizon=30, discretise=POLE)
        for team in (dp.Team.uniform(simulator), fit.team)
    )
    assert random.lengths.mean() < 24
    assert learned.lengths.mean() > 28
    assert fit.team.controllers[0].initial_given is not None


def test_what_to_install_is_said(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pettingzoo", None)
    monkeypatch.delitem(sys.modules, "decpomdp.environments.problem_env", raising=False)
    with pytest.raises(InputError, match=r"pip install decpomdp\[pettingzoo\]"):
        dp.from_pettingzoo(Relay)
    with pytest.raises(InputError, match=r"pip install decpomdp\[pettingzoo\]"):
        dp.parallel_env("dectiger")
