"""A problem as a PettingZoo environment.

Agent n has Discrete(actions) and Discrete(observations + 1): the last symbol means "no observation", as before the
first action of a model; the other numbers are those of the model. Every agent receives the team's reward. The
episode terminates if the simulator ends it, and is truncated at the horizon.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from decpomdp.core import InputError, Simulator
from decpomdp.core.checks import kind_of, whole
from decpomdp.environments.discretiser import Discretiser
from decpomdp.rollouts.play import DenseSimulator, called


class ProblemEnv(ParallelEnv):  # type: ignore[misc]
    """A simulator as a ParallelEnv, one episode at a time."""

    def __init__(
        self, simulator: Simulator, horizon: int | None, seed: int | None, render_mode: str | None = None
    ) -> None:
        if render_mode is not None and (not isinstance(render_mode, str) or render_mode != "ansi"):
            raise InputError(f'render_mode: expected None or "ansi", got {kind_of(render_mode)}')
        self.simulator, self.horizon, self.render_mode = simulator, horizon, render_mode
        self.metadata = {"name": simulator.name, "render_modes": ["ansi"], "is_parallelizable": True}
        self.possible_agents = [agent.name for agent in simulator.agents]
        self.agents: list[str] = []
        self._members = {agent.name: agent for agent in simulator.agents}
        self._actions = {agent.name: Discrete(len(agent.actions)) for agent in simulator.agents}
        self._observations = {agent.name: Discrete(len(agent.observations) + 1) for agent in simulator.agents}
        self._random = np.random.default_rng(_seed(seed))
        self._time = 0
        self._text = "not started"

    def observation_space(self, agent: str) -> Discrete:
        """The observations of an agent; the last symbol means none."""
        return self._observations[agent]

    def action_space(self, agent: str) -> Discrete:
        """The actions of an agent."""
        return self._actions[agent]

    def discretiser(self, agent: str) -> Discretiser:
        """The problem's own observations, for `from_pettingzoo`; the last symbol is read as none."""
        names = self._members[agent].observations
        return Discretiser(names, lambda seen: None if seen == len(names) else seen)

    def action_names(self, agent: str) -> tuple[str, ...]:
        """The problem's own names of the actions."""
        return self._members[agent].actions

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, int], dict[str, dict]]:
        """Start an episode; the same `seed` and the same actions give the same episode. There are no options."""
        if seed is not None:
            self._random = np.random.default_rng(_seed(seed))
        chosen = int(self._random.integers(2**63)) if seed is None else int(seed)
        shown = called(self.simulator, "reset", 1, chosen)
        self.agents, self._time = list(self.possible_agents), 0
        none = [len(agent.observations) for agent in self.simulator.agents]
        seen = none if shown is None else [int(symbol) for symbol in np.asarray(shown)[0]]
        self._text = f"{self.simulator.name}, step 0{self._hidden()}"
        return dict(zip(self.agents, seen, strict=True)), {name: {} for name in self.agents}

    def step(self, actions: dict[str, int]) -> tuple[dict, dict, dict, dict, dict]:
        """One joint action; observations, rewards, terminations, truncations and infos by agent."""
        if not isinstance(actions, Mapping) or set(actions) != set(self.agents):
            expected = ", ".join(self.agents) or "no agent, before reset and after the end of an episode"
            raise InputError(f"actions: expected a dictionary with an action of {expected}, got {kind_of(actions)}")
        if not self.agents:
            return {}, {}, {}, {}, {}
        sizes = {name: len(agent.actions) for name, agent in self._members.items()}
        names = self.agents
        chosen = [whole(f"action of {name}", actions[name], 0, sizes[name] - 1) for name in names]
        result = called(self.simulator, "step", np.array([chosen]))
        self._time += 1
        reward, ended = float(result.rewards[0]), bool(result.ended[0])
        truncated = not ended and self.horizon is not None and self._time >= self.horizon
        seen = [int(symbol) for symbol in result.observations[0]]
        if self.render_mode is not None:
            self._text = self._step_text(chosen, seen, reward)
        if ended or truncated:
            self.agents = []
        observations = dict(zip(names, seen, strict=True))
        return (
            observations,
            dict.fromkeys(names, reward),
            dict.fromkeys(names, ended),
            dict.fromkeys(names, truncated),
            {name: {} for name in names},
        )

    def render(self) -> str | None:
        """The last step as text, with the hidden state; None without a render mode."""
        return self._text if self.render_mode == "ansi" else None

    def state(self) -> NDArray[np.int64]:
        """[1]: the number of the hidden state of a model, for centralised training."""
        if not isinstance(self.simulator, DenseSimulator):
            raise InputError(f"state: expected a model, got the simulator {self.simulator.name}, which hides its state")
        return self.simulator.states

    def _step_text(self, chosen: list[int], seen: list[int], reward: float) -> str:
        lines = [f"{self.simulator.name}, step {self._time}: reward {reward:g}{self._hidden()}"]
        for agent, action, symbol in zip(self.simulator.agents, chosen, seen, strict=True):
            lines.append(f"  {agent.name}: {agent.actions[action]}, then saw {agent.observations[symbol]}")
        return "\n".join(lines)

    def _hidden(self) -> str:
        if not isinstance(self.simulator, DenseSimulator):
            return ""
        return f", state {self.simulator.model.states[int(self.simulator.states[0])]}"


def _seed(seed: int | None) -> int | None:
    return None if seed is None else whole("seed", seed, 0, 2**64 - 1)
