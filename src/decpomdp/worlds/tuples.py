"""A fit whose hidden states are tuples with one part per agent (`parts.py`).

The first values of a part are the states of the world of its agent, fitted to the agent's own actions and observations
alone. What these do not reveal, rewards may: every such state is then divided into two, three or four hidden values
with random rows, as long as the bound rises.

    EM    keeps the parts independent; random starts compete on a share of the episodes
    VB    the parts are a base of the priors, and rows may deviate from it
    then two values of a part are merged, and observations are joint or per agent, if the bound rises

EM from noisy copies of whole states misses such states, or learns each of their rows on its own: of two buffers that
only rewards show it finds three of four, of three agents with three places each half of the 27.
"""

import math
from itertools import combinations
from typing import cast

import numpy as np
from numpy.typing import NDArray

from decpomdp.worlds.data import Form
from decpomdp.worlds.moves import other_form, summed
from decpomdp.worlds.posterior import Posterior, Tables, strong_prior, weak_prior
from decpomdp.worlds.product import product_of, random_product
from decpomdp.worlds.sweep import FEW, Sweeps

HIDDEN = (1, 2, 3, 4)  # values into which every state of an agent's own world is divided
STARTS, FEW_STARTS, START_STEPS = 12, 4, 12_000  # random starts, with few and many tuples; steps on which they compete
MOST, LARGEST, MOST_HIDDEN = 128, 1e7, 64  # tuples; numbers in their transitions; tuples with hidden values
EM_SWEEPS, VB_SWEEPS, MERGE_SWEEPS, FORM_SWEEPS, TOLERANCE = 160, 60, 8, 6, 1e-4
MORE = 4  # factor of fewer sweeps with many states
STRONG = 8  # states up to which EM has strong priors
FAILURES = 4  # merges that may fail


def tuple_fit(sweeps: dict[Form, Sweeps], worlds: list[Tables], seed: int, most: int) -> Posterior | None:
    """The best fit whose states are tuples of the states of the agents' own `worlds`; None: there are too many."""
    best, own = None, math.prod(world.states for world in worlds)
    for values in HIDDEN if own > 1 else HIDDEN[1:]:
        states = own * values ** len(worlds)
        inputs = sweeps[Form()].records.inputs
        if states > min(most, MOST if values == 1 else MOST_HIDDEN) or inputs * states**2 > LARGEST:
            break
        fit = _learned(sweeps, _start(sweeps[Form()], worlds, values, seed))
        if best is not None and fit.bound < best.bound:
            break
        best = fit
    return best


def _start(sweeps: Sweeps, worlds: list[Tables], values: int, seed: int) -> Tables:
    """The likeliest of several starts after EM on a share of the episodes."""
    if values == 1:
        return product_of(sweeps.records, worlds)
    share = min(1.0, START_STEPS / sweeps.records.steps)
    part, best, top = Sweeps(sweeps.records.share(share), sweeps.threads, sweeps.stop), None, -np.inf
    few = math.prod(world.states * values for world in worlds) <= FEW
    for number in range(STARTS if few else FEW_STARTS):
        rng = np.random.default_rng([seed, 3, values, number])
        tables = _em(part, random_product(part.records, worlds, values, rng))
        log = float(part.logs(tables).sum())
        if log > top:
            best, top = tables, log
    return cast(Tables, best)


def _learned(sweeps: dict[Form, Sweeps], start: Tables) -> Posterior:
    """EM, VB, merges, and the form of the observations."""
    plain, joint = sweeps[Form()], sweeps[Form(joint=True)]
    counts = plain.expected(_em(plain, start))[1]
    trial = _merged(plain, plain.vb(counts, VB_SWEEPS, TOLERANCE))
    other = joint.vb(joint.expected(other_form(joint.records, trial.mean()))[1], FORM_SWEEPS, TOLERANCE)
    return max(trial, other, key=lambda one: one.bound)


def _em(sweeps: Sweeps, tables: Tables) -> Tables:
    """Tables after EM with independent parts."""
    strong = tables.states <= STRONG
    prior = strong_prior(sweeps.records, tables.states) if strong else weak_prior(Form())
    count = EM_SWEEPS if tables.states <= FEW else EM_SWEEPS // MORE
    return sweeps.mean(sweeps.em(tables, prior, count, TOLERANCE, prune=False, tied=True), prior, tied=True)


def _merged(sweeps: Sweeps, trial: Posterior) -> Posterior:
    """Values of a part merged while the bound rises, the most similar first."""
    proposals = similar_values(trial)[:FAILURES]
    while proposals:
        other = sweeps.vb(merged_part(trial.counts, *proposals.pop(0)), MERGE_SWEEPS, TOLERANCE)
        if other.bound > trial.bound:
            trial, proposals = other, similar_values(other)[:FAILURES]
    return trial


def merged_part(counts: Tables, n: int, one: int, other: int) -> Tables:
    """Counts of the world in which two values of the part of agent n are the same."""
    tuples = _tuples(counts).copy()
    tuples[tuples[:, n] == other, n] = one
    tuples[:, n] = np.unique(tuples[:, n], return_inverse=True)[1]
    tuples, to = np.unique(tuples, axis=0, return_inverse=True)
    return summed(counts, to)._replace(tuples=tuples)


def similar_values(posterior: Posterior) -> list[tuple[int, int, int]]:
    """An agent and two values of its part, the most similar ones first: rewards, observations and next tuples."""
    mean, visits, tuples = posterior.mean(), posterior.counts.pay.sum(-1), _tuples(posterior.counts)
    found = list[tuple[float, int, int, int]]()
    for n in range(tuples.shape[1]):
        rest = np.delete(tuples, n, axis=1)
        for one, other in combinations(np.unique(tuples[:, n]).tolist(), 2):
            first, second = np.flatnonzero(tuples[:, n] == one), np.flatnonzero(tuples[:, n] == other)
            x, y = np.nonzero((rest[first][:, None] == rest[second]).all(-1))
            x, y = first[x], second[y]  # tuples that differ in this value only
            weight = np.minimum(visits[:, x], visits[:, y])  # [v, pair]
            distance = np.abs(mean.pay[:, x] - mean.pay[:, y]).sum(-1)
            distance += sum(np.abs(see[:-1][:, x] - see[:-1][:, y]).sum(-1) for see in mean.see)
            found.append((float((weight * distance).sum()), n, one, other))
    return [pair for _, *pair in sorted(found)]  # type: ignore[misc]


def _tuples(tables: Tables) -> NDArray[np.int64]:
    return cast("NDArray[np.int64]", tables.tuples)
