"""The sparse forms of a model that the kernels read (see `kernels.model`), each built once per model."""

import weakref
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from decpomdp.core.agent import strides_of
from decpomdp.core.model import DecPOMDP
from decpomdp.kernels import sampling
from decpomdp.kernels.model import AliasModel, FactoredModel, OutcomeModel, SparseRows
from decpomdp.kernels.sampling import Sampler

T = TypeVar("T")
Whole = NDArray[np.int64]
Floats = NDArray[np.float64]


def _per_model(build: Callable[[DecPOMDP], T]) -> Callable[[DecPOMDP], T]:
    """Cache a result per model, as long as the model exists."""
    built: dict[int, T] = {}

    @wraps(build)
    def cached(model: DecPOMDP) -> T:
        key = id(model)
        if key not in built:
            built[key] = build(model)
            weakref.finalize(model, built.pop, key, None).atexit = False
        return built[key]

    return cached


def sparse_rows(table: Floats) -> SparseRows:
    """The positive entries of all rows of a table; the last axis holds the columns."""
    rows = table.reshape(-1, table.shape[-1])
    where, columns = np.nonzero(rows)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(where, minlength=len(rows)))])
    return SparseRows(_fixed(offsets.astype(np.int64)), _fixed(columns.astype(np.int64)), _fixed(rows[where, columns]))


@_per_model
def factored_model(model: DecPOMDP) -> FactoredModel:
    """Transition and observation probabilities as separate sparse tables."""
    observation = sparse_rows(model.observation)
    return FactoredModel(
        transition=sparse_rows(model.transition),
        observation=observation,
        reward=model.reward,
        discount=model.discount,
        symbols=model.joint_observations,
        widest=int(np.diff(observation.offsets[:: len(model.states)]).max()),
    )


@_per_model
def outcome_model(model: DecPOMDP) -> OutcomeModel:
    """The possible outcomes of every (u, s) in one list."""
    counts, next_states, observations, chances = zip(
        *(_outcomes(model, u) for u in range(model.joint_actions)), strict=True
    )
    actions = [len(agent.actions) for agent in model.agents]
    return OutcomeModel(
        offsets=_fixed(np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int64)),
        next_state=_fixed(np.concatenate(next_states)),
        observation=_fixed(np.concatenate(observations)),
        chance=_fixed(np.concatenate(chances)),
        reward=model.reward,
        start=model.start,
        actions=_fixed(np.array(actions, np.int64)),
        observations=_fixed(np.array([len(agent.observations) for agent in model.agents], np.int64)),
        action_strides=_fixed(strides_of(actions)),
        action_parts=_fixed(model.action_table()),
        observation_parts=_fixed(model.observation_table()),
        discount=model.discount,
    )


@_per_model
def alias_model(model: DecPOMDP) -> AliasModel:
    """Alias tables of the outcomes, built one joint action at a time to save memory."""
    bits = (model.joint_observations - 1).bit_length()
    rows, entries = [], []
    first = 0
    for u in range(model.joint_actions):
        counts, next_state, observation, chance = _outcomes(model, u)
        own = np.empty((len(chance), 4), np.uint32)
        sampling.fill_rows(counts, chance, (next_state << bits) + observation, own)
        rows.append(np.stack([first + np.cumsum(counts) - counts, counts], axis=1))
        entries.append(own)
        first += len(chance)
    return AliasModel(
        start=sampling.sampler([model.start[None, :]]),
        outcomes=Sampler(np.concatenate(rows).astype(np.int32), np.concatenate(entries)),
        reward=model.reward,
        observation_parts=_fixed(model.observation_table()),
        action_strides=_fixed(strides_of([len(agent.actions) for agent in model.agents])),
        observation_bits=bits,
    )


def _outcomes(model: DecPOMDP, u: int) -> tuple[Whole, Whole, Whole, Floats]:
    """The outcomes of joint action u: how many every state has [s]; s1, y and probability of each [e]."""
    s, s1 = np.nonzero(model.transition[u])
    table = model.transition[u][s, s1, None] * model.observation[u][s1]  # [(s, s1), y]
    place, y = np.nonzero(table)
    counts = np.bincount(s[place], minlength=len(model.states))
    return counts.astype(np.int64), s1[place].astype(np.int64), y.astype(np.int64), table[place, y]


def _fixed(array: NDArray) -> NDArray:
    """The array itself, read-only: it is shared by all users of the same model."""
    array.setflags(write=False)
    return array
