"""A dense model as a simulator, with a compiled `play`."""

import os

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Agent, DecPOMDP, InputError, Simulator, Step
from decpomdp.core.agent import checked_actions
from decpomdp.core.checks import kind_of, whole
from decpomdp.core.sparse import alias_model
from decpomdp.domains.load import load_model
from decpomdp.engines import threads as engine
from decpomdp.kernels import rollout
from decpomdp.kernels.rollout import Paths, Players, cut_paths
from decpomdp.kernels.sampling import key_of, streams

PIECE = 16384  # joint steps that one thread plays at a time, about


class DenseSimulator:
    """Plays a DecPOMDP from precomputed tables; implements the Simulator protocol.

    Functions that take a problem use it for models. Use it directly to step by hand, or to hide the model from a method
    that should only simulate.

    Parameters
    ----------
    model
        A model, the name of a built-in one, or a `.dpomdp` file.

    Examples
    --------
    >>> import decpomdp as dp
    >>> simulator = dp.DenseSimulator(dp.load("dectiger"))
    >>> simulator.reset(episodes=1, seed=3)
    >>> observations, rewards, ended = simulator.step([[0, 0]])
    >>> observations.shape, rewards.tolist()
    ((1, 2), [-2.0])
    """

    repeatable = plays_teams = True

    def __init__(self, model: DecPOMDP | str | os.PathLike[str]) -> None:
        self.model = load_model(model)
        self.world = alias_model(self.model)
        self._keys = np.zeros(0, np.uint64)
        self._time = 0
        self._states = np.zeros(0, np.int64)

    def __reduce__(self) -> "tuple[type[DenseSimulator], tuple[DecPOMDP], dict[str, object]]":
        """Pickle only the model: its tables are larger and quick to rebuild."""
        return DenseSimulator, (self.model,), {"_keys": self._keys, "_time": self._time, "_states": self._states}

    @property
    def agents(self) -> tuple[Agent, ...]:
        """The agents of the model."""
        return self.model.agents

    @property
    def discount(self) -> float:
        """The model's discount."""
        return self.model.discount

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model.name

    @property
    def states(self) -> NDArray[np.int64]:
        """[k]: the hidden states of the batch, for recordings; no policy may use them."""
        return self._states.copy()

    def reset(self, episodes: int, seed: int) -> None:
        """Start a batch. A model has no observation before the first action."""
        count, key = whole("episodes", episodes, 1, 2**40), whole("seed", seed, 0, 2**64 - 1)
        self._keys, self._time, self._states = streams(key_of(key), np.arange(count)), 0, np.empty(count, np.int64)
        rollout.begin(self.world, self._keys, self._states)

    def step(self, actions: NDArray[np.integer]) -> Step:
        """Take actions[k, n]; a model's episodes never terminate."""
        chosen = checked_actions(actions, len(self._states), self.agents, np.int16)
        observations, rewards = np.empty(chosen.shape, np.int16), np.empty(len(chosen))
        counter = 1 + self._time * (1 + 2 * len(self.agents))
        rollout.advance(self.world, self._keys, counter, self._states, chosen, observations, rewards)
        self._time += 1
        return Step(observations, rewards, np.zeros(len(chosen), bool))

    def play(
        self,
        players: Players,
        episodes: int,
        horizon: int,
        seed: int,
        first: int = 0,
        behaviour: bool = False,
        threads: int | None = None,
    ) -> Paths:
        """Episodes first, first + 1, ... of the sequence that `seed` fixes, with the sampled node paths.

        Independent of the number of threads, and of how `first` and `episodes` divide the sequence.
        """
        paths, parts = cut_paths(seed, first, episodes, horizon, len(self.agents), behaviour, PIECE // horizon)
        engine.run(lambda k: rollout.play(self.world, players, *parts[k], horizon), len(parts), threads)
        return paths


def as_simulator(problem: DecPOMDP | Simulator) -> Simulator:
    """A model as a DenseSimulator; a simulator itself."""
    if isinstance(problem, DecPOMDP):
        return DenseSimulator(problem)
    if isinstance(problem, type) or not isinstance(problem, Simulator):
        raise InputError(f"problem: expected a DecPOMDP or a Simulator, got {kind_of(problem)}")
    return problem
