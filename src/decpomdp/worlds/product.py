"""The world of one agent, and the product of such worlds (`tuples.py`).

The world of agent n is fitted to its own actions and observations, without rewards. If transitions and observations of
agents are (nearly) independent, the states of the team are tuples of the states of these worlds.
"""

import numpy as np

from decpomdp.core.agent import joint_table
from decpomdp.kernels.world_filter import Log
from decpomdp.worlds.data import Alphabet, Form, Records
from decpomdp.worlds.posterior import Tables

EVEN = 5.0  # Dirichlet parameter of random rows; a bias towards staying in the same state leads to poor local optima


def own_records(records: Records, n: int) -> Records:
    """The actions and observations of agent n, from plain records with one group of symbols per agent."""
    all_agents, log, form = records.alphabet, records.log, Form()
    size = all_agents.observations[n]
    values, edges = np.zeros((all_agents.actions[n], 1)), np.zeros((all_agents.actions[n], 0))  # no rewards
    own = Alphabet(
        (all_agents.agents[n],), all_agents.discount, values, edges, np.arange(size), all_agents.first, all_agents.ends
    )
    acts = joint_table(all_agents.actions)[:, n]
    inputs = np.where(log.inputs >= 0, acts[log.inputs], -1).astype(np.int32)
    groups = [n, len(records.groups) - 1] if all_agents.ends else [n]
    begins, own_begins = np.cumsum([0, *records.groups])[groups], np.array([0, size])[: len(groups)]
    symbols = log.symbols[:, groups]
    symbols = np.where(symbols >= 0, symbols - begins + own_begins, -1).astype(np.int32)
    rewards = np.where(log.rewards >= 0, 0, -1).astype(np.int32)
    paid = np.ones((len(all_agents.agents[n].actions), 1))
    return Records(own, form, Log(log.offsets, inputs, symbols, rewards), own.groups(form), own.parts(form), paid)


def product_of(records: Records, worlds: list[Tables]) -> Tables:
    """The world whose states are tuples of the agents' states; rewards are those that occur with an input."""
    acts, states = joint_table(records.alphabet.actions), joint_table([world.states for world in worlds])  # [., n]
    start, move = np.ones(len(states)), np.ones((len(acts), len(states), len(states)))
    see = list[np.ndarray]()
    ends = np.zeros((len(acts) + 1, len(states), 2))
    for n, world in enumerate(worlds):
        z = states[:, n]
        inputs = np.append(acts[:, n], len(world.move))  # the last one is before the first action
        start *= world.start[z]
        move *= world.move[acts[:, n]][:, z][:, :, z]
        see.append(np.ascontiguousarray(world.see[0][inputs][:, z]))
        if records.alphabet.ends:
            ends += world.see[1][inputs][:, z] / len(worlds)
    if records.alphabet.ends:
        see.append(ends)
    pay = np.repeat(records.paid[:, None], len(states), axis=1)
    return Tables(start, move, tuple(see), pay, states)


def random_product(records: Records, worlds: list[Tables], values: int, rng: np.random.Generator) -> Tables:
    """The product, with every state divided into so many hidden `values` with random moves and rewards."""
    tables = product_of(records, [_with_values(world, values, rng) for world in worlds])
    pay = tables.pay * np.exp(rng.standard_normal(tables.pay.shape))
    return tables._replace(pay=pay / pay.sum(-1, keepdims=True))


def _with_values(world: Tables, values: int, rng: np.random.Generator) -> Tables:
    """A world whose states are pairs of a state of the given one and a hidden value that moves at random."""
    even, states = np.full(values, EVEN), world.states
    start = world.start[:, None] * rng.dirichlet(even, states)
    move = world.move[:, :, None, :, None] * rng.dirichlet(even, (len(world.move), states, values, states))
    see = tuple(np.repeat(table, values, axis=1) for table in world.see)
    pay = np.repeat(world.pay, values, axis=1)
    return Tables(start.ravel(), move.reshape(len(move), states * values, -1), see, pay)
