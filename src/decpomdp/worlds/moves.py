"""Changes of the number of states: noisy copies (starts and splits) and merges.

A start is many noisy copies of the one-state world; a split is two copies of every state. Noise is log-normal. It may
be shared by all inputs with the same part of an agent, so that many rare inputs change together, or by all inputs, so
that a state has the same meaning after any action. `stay` is a bias towards the copy with the same number.
"""

import numpy as np
from numpy.typing import NDArray

from decpomdp.core.agent import joint_table
from decpomdp.kernels.world_rows import add_by_part, merge_gains
from decpomdp.worlds.data import Records
from decpomdp.worlds.posterior import Floats, Posterior, Tables
from decpomdp.worlds.sweep import Sweeps

BY_INPUT, BY_PART, BY_STATE = range(3)  # how the noise is shared
OVERLAP = 0.3  # of observations: states with less are not merged
SEE_PRIOR, PAY_PRIOR = 0.1, 0.3  # of merge proposals
CHEAP = 100_000  # transitions up to which a single pair is tried without an estimated gain
ENTROPY_ROWS = 20_000  # on which the entropy of pairs is measured


def one_state(records: Records) -> Tables:
    """Rows of a world with one state: all the same."""
    inputs = records.inputs
    see = tuple(np.full((inputs + 1, 1, size), 1.0 / size) for size in records.groups)
    return Tables(np.ones(1), np.ones((inputs, 1, 1)), see, records.paid[:, None, :].copy())


def copies(
    records: Records, tables: Tables, times: int, rng: np.random.Generator, noise: float, tie: int, stay: float
) -> Tables:
    """`times` noisy copies of every state; state i of copy c has the number c * S + i."""
    states = tables.states
    of = np.tile(np.arange(states), times)
    copy = np.repeat(np.arange(times), states)

    def noisy(shape: tuple[int, ...], own: int | None = None) -> Floats:
        """[v, *shape]"""
        inputs, parts = len(records.parts), records.parts
        if tie == BY_STATE:
            return np.exp(noise * rng.standard_normal(shape))[None]
        if tie == BY_INPUT:
            return np.exp(noise * rng.standard_normal((inputs, *shape)))
        agents = range(parts.shape[1]) if own is None else [own]
        factors = np.ones((inputs, *shape))
        for n in agents:
            factors *= np.exp(noise * rng.standard_normal((int(parts.max()) + 1, *shape)))[parts[:, n]]
        return factors

    def rows(table: Floats) -> Floats:
        return table / table.sum(-1, keepdims=True)

    same = (1.0 + stay * times * (copy[:, None] == copy[None])) / times  # [z, z1]
    move = tables.move[:, of][:, :, of] * same * noisy((len(of), len(of)))[: len(tables.move)]
    see = []
    for g, table in enumerate(tables.see):
        own = g if g < records.parts.shape[1] and not records.form.joint else None
        see.append(rows(table[:, of] * noisy((len(of), table.shape[-1]), own)))
    pay = tables.pay[:, of] * np.exp(noise * rng.standard_normal((len(tables.pay), len(of), tables.pay.shape[-1])))
    start = tables.start[of] * np.exp(noise * rng.standard_normal(len(of)))
    return Tables(start / start.sum(), rows(move), tuple(see), rows(pay))


def merge_pairs(sweeps: Sweeps, posterior: Posterior, failed: int = 0) -> list[tuple[float, int, int]]:
    """Disjoint pairs of states to merge, the best first, with the estimated gain of the bound.

    If no pair is estimated to gain, the best single one is proposed where trying is cheap; after `failed` single pairs,
    the next one.
    """
    records, counts, states = sweeps.records, posterior.counts, posterior.states
    parts = records.parts
    agents = parts.shape[1]

    def by_part(table: Floats, own: int | None) -> Floats:
        out = np.zeros((int(parts.max()) + 1, *table.shape[1:]))
        known = parts[: len(table)] if own is None else parts[: len(table), own : own + 1]
        add_by_part(np.ascontiguousarray(table), np.ascontiguousarray(known), out)
        return out[out.sum((1, 2)) > 0] / (agents if own is None else 1)

    widest = max(records.groups)
    see = [
        np.pad(by_part(table, g if g < agents and not records.form.joint else None),
               ((0, 0), (0, 0), (0, widest - table.shape[-1])))
        for g, table in enumerate(counts.see)
    ]  # fmt: skip
    pooled = counts.pay.sum(1)
    overall = pooled.sum(0) + 0.5
    pay_prior = PAY_PRIOR * (pooled + 0.5 * overall / overall.sum()) / (pooled.sum(-1, keepdims=True) + 0.5)
    gains = np.full((states, states), -np.inf)
    merge_gains(
        counts.start, by_part(counts.move, None), np.concatenate(see), counts.pay, pay_prior, SEE_PRIOR, OVERLAP, gains
    )  # fmt: skip
    part = Sweeps(records.share(min(1.0, ENTROPY_ROWS / len(records.log.inputs))), sweeps.threads, sweeps.stop)
    lost = part.confusion(posterior.weights()) * (records.steps / part.records.steps)
    gains -= lost + lost.T
    pairs, used = list[tuple[float, int, int]](), set[int]()
    order = np.argsort(-gains, axis=None, kind="stable")[failed:]
    for i, j in zip(*(axis.tolist() for axis in np.unravel_index(order, gains.shape)), strict=True):
        if not gains[i, j] > 0:
            if not pairs and records.inputs * states**2 <= CHEAP and gains[i, j] > -np.inf:
                pairs.append((float(gains[i, j]), i, j))
            break
        if i not in used and j not in used:
            used |= {i, j}
            pairs.append((float(gains[i, j]), i, j))
            if failed:
                break
    return pairs


def merged(counts: Tables, pairs: list[tuple[float, int, int]]) -> Tables:
    """Counts of the world in which the second state of each pair is merged into the first."""
    to = np.arange(counts.states)
    for _, i, j in pairs:
        to[j] = i
    return summed(counts, np.unique(to, return_inverse=True)[1])


def summed(counts: Tables, to: NDArray[np.int64]) -> Tables:
    """Counts of the world in which state z is the state to[z]."""
    into: NDArray[np.float64] = np.eye(int(to.max()) + 1)[to]
    see = tuple(np.ascontiguousarray(into.T @ group) for group in counts.see)
    move = np.ascontiguousarray(into.T @ (counts.move @ into))
    return Tables(counts.start @ into, move, see, np.ascontiguousarray(into.T @ counts.pay))


def other_form(records: Records, tables: Tables) -> Tables:
    """The same world with joint observations, or with one group per agent: `records` have the new form."""
    alphabet = records.alphabet
    own = joint_table(alphabet.observations)[alphabet.seen]  # [y, n]
    rest = tables.see[len(alphabet.agents) if records.form.joint else 1 :]
    if records.form.joint:
        joint = np.prod([table[:, :, own[:, n]] for n, table in enumerate(tables.see[: len(alphabet.agents)])], axis=0)
        see = [joint / np.maximum(joint.sum(-1, keepdims=True), 1e-300)]
    else:
        see = [tables.see[0] @ np.eye(size)[own[:, n]] for n, size in enumerate(alphabet.observations)]
    return tables._replace(see=(*see, *rest))
