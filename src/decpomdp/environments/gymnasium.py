"""A gymnasium environment as a PettingZoo environment with one agent: a team of one."""

from typing import Any

import gymnasium
from gymnasium.spaces import Space
from pettingzoo import ParallelEnv

AGENT = "agent"


class OneAgentEnv(ParallelEnv):  # type: ignore[misc]
    """The environment `inner`, its agent called "agent"."""

    def __init__(self, inner: gymnasium.Env) -> None:
        self.inner = inner
        name = inner.spec.id if inner.spec is not None else type(inner.unwrapped).__name__
        self.metadata = {**inner.metadata, "name": name}
        self.possible_agents = [AGENT]
        self.agents: list[str] = []
        self.render_mode = inner.render_mode

    def observation_space(self, agent: str) -> Space:
        """The observations of the agent."""
        return self.inner.observation_space

    def action_space(self, agent: str) -> Space:
        """The actions of the agent."""
        return self.inner.action_space

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict, dict]:
        """Start an episode."""
        observation, info = self.inner.reset(seed=seed, options=options)
        self.agents = [AGENT]
        return {AGENT: observation}, {AGENT: info}

    def step(self, actions: dict[str, Any]) -> tuple[dict, dict, dict, dict, dict]:
        """Take the agent's action."""
        if not self.agents:
            return {}, {}, {}, {}, {}
        observation, reward, terminated, truncated, info = self.inner.step(actions[AGENT])
        if terminated or truncated:
            self.agents = []
        return {AGENT: observation}, {AGENT: float(reward)}, {AGENT: terminated}, {AGENT: truncated}, {AGENT: info}

    def render(self) -> Any:
        """The environment's own rendering."""
        return self.inner.render()

    def close(self) -> None:
        """Close the environment."""
        self.inner.close()
