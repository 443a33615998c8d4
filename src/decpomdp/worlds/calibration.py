"""Whether a world may be trusted in steps that the episodes hardly have: a check on held-out episodes.

A *rare* step is a pair (input, hidden state) with fewer than `KNOWN` expected visits in the episodes of the fit. Its
rows are borrowed from other rows. Held-out episodes have rare steps too. With the predicted reward x_i and the actual
reward y_i of held-out step i, and the probability w_i that the step is rare, the slope of y on x, weighted by w, is
about 1 if borrowed rows predict well, and about 0 if they do not.
"""

import numpy as np
from numpy.typing import NDArray

from decpomdp.worlds.data import Records
from decpomdp.worlds.posterior import Floats, Posterior

KNOWN = 1.0  # visits from which a step is known
STEPS, SLOPE, ERRORS = 100.0, 0.8, 2.0  # rare held-out steps, and the slope less so many standard errors, at least


def trusted(posterior: Posterior, heldout: Records) -> bool:
    """Whether predictions of rare steps hold on held-out episodes."""
    predicted, paid, rare = rare_steps(posterior, heldout)
    if rare.sum() < STEPS:
        return False
    slope, error = weighted_slope(predicted, paid, rare)
    return slope - ERRORS * error >= SLOPE


def rare_steps(posterior: Posterior, records: Records) -> tuple[Floats, Floats, Floats]:
    """Of every step: the reward that is expected before it is seen, the reward, the probability that it is rare."""
    log, tables, values = records.log, posterior.mean(), records.alphabet.values
    see, pay = np.concatenate(tables.see, axis=-1), tables.pay @ values
    rare = posterior.counts.pay.sum(-1) < KNOWN  # [v, z]
    starts, lengths = log.offsets[:-1], np.diff(log.offsets)
    belief = np.tile(tables.start, (records.episodes, 1))  # [k, z] before the observations of a step
    rows = list[Floats]()
    for t in range(int(lengths.max())):
        k = np.nonzero(t < lengths)[0]
        k = k[log.inputs[starts[k] + t] >= 0]
        now = starts[k] + t
        before, v = (np.full(len(k), records.inputs) if t == 0 else log.inputs[now - 1]), log.inputs[now]
        here = belief[k]
        for symbols in log.symbols[now].T:
            shown = symbols >= 0
            here[shown] *= see[before[shown], :, symbols[shown]]
        here = _rows(here)
        rows.append(np.stack([(here * pay[v]).sum(1), values[log.rewards[now]], (here * rare[v]).sum(1)]))
        here = _rows(here * tables.pay[v, :, log.rewards[now]])
        for each in np.unique(v):
            belief[k[v == each]] = here[v == each] @ tables.move[each]
    predicted, paid, share = np.concatenate(rows, axis=1)
    return predicted, paid, share


def weighted_slope(x: Floats, y: Floats, weights: Floats) -> tuple[float, float]:
    """The slope of y on x and its standard error (robust against unequal variances); 0 if x does not vary."""
    x, y = x - np.average(x, weights=weights), y - np.average(y, weights=weights)
    spread = float((weights * x**2).sum())
    if spread <= 1e-12:
        return 0.0, 0.0
    slope = float((weights * x * y).sum()) / spread
    return slope, float(np.sqrt((weights**2 * x**2 * (y - slope * x) ** 2).sum())) / spread


def _rows(table: NDArray[np.float64]) -> Floats:
    total = table.sum(1, keepdims=True)
    return np.where(total > 0, table / np.maximum(total, 1e-300), 1.0 / table.shape[1])
