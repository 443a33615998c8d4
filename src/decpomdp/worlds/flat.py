"""A latent world as a Dec-POMDP.

Plain form: its states are the hidden states. With memory: pairs (last joint observation, hidden state) that occur often
enough; each emits its observation. Episodes that end lead to an absorbing state without reward. A first observation is
emitted by an extra first step, in which actions have no effect and no reward is paid (`FIRST_STEP`); `after_first_step`
turns a team for such a world into one that has an observation before its first action.

Probabilities below `cut` are set to zero: posterior means have no zeros, and planners are fast only on sparse tables.
"""

from typing import NamedTuple

import numpy as np

from decpomdp.core import Controller, DecPOMDP, Team
from decpomdp.core.agent import joint_table
from decpomdp.worlds.calibration import KNOWN
from decpomdp.worlds.data import ENDED, Alphabet, Form
from decpomdp.worlds.posterior import Floats, Posterior, Tables

CUT = {False: 1e-3, True: 1e-2}  # by `Form.memory`
SMALL = 1e-3  # products of transition and observation below this are left out, with memory
VISITS = 5e-5  # share of the steps: pairs that occur less often are left out
FIRST_STEP, END, UNKNOWN = "first_step", "end", "unknown"


def world_of(
    alphabet: Alphabet,
    posterior: Posterior,
    tables: Tables | None = None,
    name: str = "",
    paid: Floats | None = None,
    cautious: bool = False,
) -> DecPOMDP:
    """The Dec-POMDP of these tables (the posterior mean by default), with other rewards paid[v, z] if given.

    In a `cautious` (pessimistic) world, steps that are rare in the episodes lead to an absorbing state that pays the
    mean reward of the episodes.
    """
    form, cut = posterior.form, CUT[posterior.form.memory]
    tables = (posterior.mean() if tables is None else tables).mapped(lambda rows: _cut(rows, cut))
    paid = alphabet.expected(tables.pay) if paid is None else paid
    seen = _joint_observations(alphabet, form, tables)  # [v + 1, z, y]
    goes_on = 1 - tables.see[-1][..., ENDED] if alphabet.ends else np.ones(seen.shape[:2])  # [v + 1, z]
    visits = posterior.counts.pay.sum(-1)  # [v, z]
    if form.memory:
        flat = _with_memory(alphabet, posterior, tables, seen, goes_on, paid, visits)
    else:
        flat = _plain(alphabet, tables, seen, goes_on, paid, visits)
    labels, start, move, shows, reward, visits = flat
    if cautious:
        unknown = np.clip(1 - visits / KNOWN, 0.0, 1.0)  # [u, s]
        labels, start = [*labels, UNKNOWN], np.append(start, 0.0)
        move = np.concatenate([move * (1 - unknown[..., None]), unknown[..., None]], axis=-1)
        move = np.concatenate([move, np.broadcast_to(np.eye(len(labels))[-1], (len(move), 1, len(labels)))], axis=1)
        mean = alphabet.expected(posterior.counts.pay).sum() / posterior.counts.pay.sum()
        shows, reward = _shown(shows), np.pad(reward, ((0, 0), (0, 1)), constant_values=mean)
    if alphabet.first:
        labels, start, reward = [*labels, FIRST_STEP], np.append(0 * start, 1.0), np.pad(reward, ((0, 0), (0, 1)))
        move = np.pad(move, ((0, 0), (0, 1), (0, 1)))
        move[:, -1, : len(flat.start)] = _rows(flat.start)
        shows = _shown(shows)
    if alphabet.ends:
        move = np.pad(move, ((0, 0), (0, 1), (0, 1)))
        move[:, :, -1] = 1 - move.sum(-1)
        shows = _shown(shows)
        labels, start, reward = [*labels, END], np.append(start, 0.0), np.pad(reward, ((0, 0), (0, 1)))
    observation = np.zeros((alphabet.joint_actions, len(labels), int(np.prod(alphabet.observations))))
    observation[:, :, alphabet.seen] = shows
    move = _rows(np.clip(move, 0, None))
    return DecPOMDP(
        alphabet.agents, tuple(labels), start / start.sum(), move, observation, reward, alphabet.discount, name
    )


def _shown(shows: Floats) -> Floats:
    """With one more state, which emits the first symbol."""
    shows = np.pad(shows, ((0, 0), (0, 1), (0, 0)))
    shows[:, -1, 0] = 1
    return shows


def _cut(rows: Floats, cut: float) -> Floats:
    return _rows(np.where(rows < min(cut, 1 / rows.shape[-1]), 0.0, rows))


def _rows(table: Floats) -> Floats:
    """Rows that sum to one; an empty row becomes uniform."""
    total = table.sum(-1, keepdims=True)
    return np.where(total > 0, table / np.maximum(total, 1e-300), 1.0 / table.shape[-1])


def _joint_observations(alphabet: Alphabet, form: Form, tables: Tables) -> Floats:
    """[v + 1, z, y]: probability of every joint observation that occurs."""
    if form.joint:
        return tables.see[0]
    own = joint_table(alphabet.observations)[alphabet.seen]  # [y, n]
    joint = np.ones((*tables.see[0].shape[:2], len(own)))
    for n in range(own.shape[1]):
        joint *= tables.see[n][:, :, own[:, n]]
    return joint


class Flat(NamedTuple):
    """Tables over the states of a Dec-POMDP; transitions lack the probability to end."""

    labels: list[str]
    start: Floats  # [s]
    move: Floats  # [u, s, s1]
    shows: Floats  # [u, s1, y]
    reward: Floats  # [u, s]
    visits: Floats  # [u, s] in the episodes


def _plain(alphabet: Alphabet, tables: Tables, seen: Floats, goes_on: Floats, paid: Floats, visits: Floats) -> Flat:
    """Hidden states. With a first observation there are copies of them, which are left after one step."""
    labels = [f"s{z}" for z in range(tables.states)]
    move, shows, start = tables.move * goes_on[:-1, None, :], _rows(seen[:-1]), tables.start
    if alphabet.first:
        labels += [f"{label}_first" for label in labels]
        move = np.pad(np.tile(move, (1, 2, 1)), ((0, 0), (0, 0), (0, tables.states)))
        shows = np.concatenate([shows, np.broadcast_to(_rows(seen[-1]), shows.shape)], axis=1)
        paid, visits, start = np.tile(paid, (1, 2)), np.tile(visits, (1, 2)), np.concatenate([0 * start, start])
    return Flat(labels, start, move, shows, paid, visits)


def _with_memory(
    alphabet: Alphabet,
    posterior: Posterior,
    tables: Tables,
    seen: Floats,
    goes_on: Floats,
    paid: Floats,
    all_visits: Floats,
) -> Flat:
    """Pairs of the last joint observation (or none, before the first one) and the hidden state."""
    states, actions, memories = tables.states, alphabet.joint_actions, alphabet.memories(posterior.form)
    visits = all_visits.reshape(memories, actions, states)  # [m, u, z]
    last, hidden = np.nonzero(visits.sum(1) > max(0.5, VISITS * posterior.steps))  # [s] both
    real = last < memories - 1
    names = [f"y{y}" for y in alphabet.seen] + ["start"]  # joint observations by number
    labels = [f"{names[m]}_z{z}" for m, z in zip(last, hidden, strict=True)]
    shape = (memories, actions)
    to = tables.move.reshape(*shape, states, states)[last, :, hidden]  # [s, u, z1]
    onward = (seen * goes_on[..., None])[:-1].reshape(*shape, states, -1)[last]  # [s, u, z1, y]
    move = np.zeros((actions, len(last), len(last)))
    for s in range(len(last)):
        move[:, s, real] = to[s][:, hidden[real]] * onward[s][:, hidden[real], last[real]]
    ended = 1 - (to * goes_on[:-1].reshape(*shape, states)[last]).sum(-1).T  # [u, s]
    move = _rows(np.where(move < SMALL, 0.0, move)) * (1 - ended[..., None])
    shows = np.zeros((actions, len(last), len(alphabet.seen)))
    shows[:, np.arange(len(last)), np.where(real, last, 0)] = 1
    start = np.where(real, 0.0, tables.start[hidden])
    if alphabet.first:
        start = np.where(real, tables.start[hidden] * seen[-1, hidden, np.where(real, last, 0)], 0.0)
    reward = paid.reshape(*shape, states)[last, :, hidden].T
    return Flat(labels, start, move, shows, reward, visits[last, :, hidden].T)


def after_first_step(team: Team) -> Team:
    """A team for a world with an extra first step, changed to observe before its first action."""
    controllers = [
        Controller(c.initial, c.action, c.transition, np.einsum("i,ia,iaoj->oj", c.initial, c.action, c.transition))
        for c in team.controllers
    ]
    return Team(team.agents, tuple(controllers), team.discount, team.problem)


def before_first_step(team: Team) -> Team:
    """The team changed for a world with an extra first step: its first observation is that of the extra step."""
    controllers = []
    for c in team.controllers:
        first = np.broadcast_to(c.initial, (c.observations, c.nodes)) if c.initial_given is None else c.initial_given
        action = np.concatenate([c.action, np.eye(c.actions)[:1]])
        transition = np.zeros((c.nodes + 1, c.actions, c.observations, c.nodes + 1))
        transition[:-1, :, :, :-1] = c.transition
        transition[-1, :, :, :-1] = first
        controllers.append(Controller(np.eye(c.nodes + 1)[-1], action, transition))
    return Team(team.agents, tuple(controllers), team.discount, team.problem)


def rounded(world: DecPOMDP, decimals: int = 2) -> DecPOMDP:
    """The world with rounded probabilities: symmetries become exact, so that planners can merge histories."""

    def rows(table: Floats) -> Floats:
        return _rows(np.round(table, decimals))

    return DecPOMDP(
        world.agents, world.states, rows(world.start), rows(world.transition), rows(world.observation), world.reward,
        world.discount, world.name,
    )  # fmt: skip
