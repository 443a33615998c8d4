"""Episodes with everything in them: states and nodes too, which agents never see and records do not hold.

`play` plays a team on a model, all episodes side by side; `watching.py` does so on a simulator. `filtered` finds, for
recorded episodes, how likely each agent was in each of its nodes: p(node | what the agent saw and did so far), by
forward filtering.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import NO_OBSERVATION, Controller, DecPOMDP, Episodes, Team
from decpomdp.core.joint import joint_numbers

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Played:
    """Episodes side by side; steps after the end of one hold zeros."""

    states: Ints | None  # [k, t]; None: a simulator does not tell
    observations: Ints  # [k, t, n] seen before acting; NO_OBSERVATION where nothing is
    nodes: Ints  # [k, t, n] in which the action was chosen
    actions: Ints  # [k, t, n]
    rewards: Floats  # [k, t]
    lengths: Ints  # [k]


def play(model: DecPOMDP, team: Team, episodes: int, horizon: int, seed: int) -> Played:
    """`episodes` episodes of `horizon` steps."""
    team.check_fits(model)
    rng, count = np.random.default_rng(seed), len(team.agents)
    shape = tuple(len(agent.actions) for agent in model.agents)
    parts = model.observation_table()  # [y, n]
    state = _drawn(rng, np.broadcast_to(model.start, (episodes, len(model.states))))
    node = np.stack([_drawn(rng, np.broadcast_to(c.initial, (episodes, c.nodes))) for c in team.controllers], axis=1)
    seen = np.full((episodes, count), NO_OBSERVATION)
    steps = []
    for _ in range(horizon):
        taken = np.stack([_drawn(rng, c.action[node[:, n]]) for n, c in enumerate(team.controllers)], axis=1)
        joint = joint_numbers(taken.T, shape)
        steps.append((state, seen, node, taken, model.reward[joint, state]))
        state = _drawn(rng, model.transition[joint, state])
        seen = parts[_drawn(rng, model.observation[joint, state])]
        moves = [c.transition[node[:, n], taken[:, n], seen[:, n]] for n, c in enumerate(team.controllers)]
        node = np.stack([_drawn(rng, rows) for rows in moves], axis=1)
    states, observations, nodes, actions, rewards = (np.stack(column, axis=1) for column in zip(*steps, strict=True))
    return Played(states, observations, nodes, actions, rewards, np.full(episodes, horizon))


def filtered(controller: Controller, observations: Ints, actions: Ints) -> Floats:
    """[k, t, i]: how likely an agent was in node i when it chose actions[k, t], given all until then.

    observations[k, t] was seen before that. Where the controller cannot have acted as recorded, every node is as
    likely as before: the record is of someone else's actions.
    """
    episodes, horizon = actions.shape
    belief = np.broadcast_to(controller.initial, (episodes, controller.nodes))
    if controller.initial_given is not None:
        shown = observations[:, 0] != NO_OBSERVATION
        belief = np.where(shown[:, None], controller.initial_given[observations[:, 0]], belief)
    found = np.empty((episodes, horizon, controller.nodes))
    for t in range(horizon):
        found[:, t] = _updated(belief, controller.action[:, actions[:, t]].T)
        if t + 1 < horizon:
            rows = controller.transition[:, actions[:, t], observations[:, t + 1]]  # [i, k, j]
            belief = np.einsum("ki,ikj->kj", found[:, t], rows)
    return found


def recorded(episodes: Episodes, most: int, horizon: int) -> tuple[Ints, Ints, Floats, Ints]:
    """The first `most` episodes, cut at `horizon`: observations, actions [k, t, n], rewards [k, t] and lengths [k].

    Steps after the end of an episode hold zeros.
    """
    count = min(most, episodes.count)
    lengths = np.minimum(episodes.lengths[:count], horizon)
    inside = np.arange(int(lengths.max())) < lengths[:, None]  # [k, t]
    rows = np.where(inside, episodes.offsets[:count, None] + np.arange(inside.shape[1]), 0)
    observations = np.where(inside[..., None], episodes.observations[rows], 0).astype(np.int64)
    actions = np.where(inside[..., None], episodes.actions[rows], 0).astype(np.int64)
    return observations, actions, np.where(inside, episodes.rewards[rows], 0.0), lengths


def _updated(belief: Floats, likelihood: Floats) -> Floats:
    joint = belief * likelihood
    total = joint.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(total > 0, joint / total, belief)


def _drawn(rng: np.random.Generator, rows: Floats) -> Ints:
    """[k]: one outcome of every distribution rows[k, :]."""
    sums = np.cumsum(rows, axis=1)
    return (rng.random((len(rows), 1)) * sums[:, -1:] >= sums).sum(axis=1)
