"""Which team is chosen, and the interval of its value: rules on values of the candidates in the drawn worlds."""

from collections.abc import Sequence

import numpy as np

from decpomdp.worlds.posterior import Floats

FB_HSVI, OTHER_PLANNERS = "fb-hsvi", ("periem", "search")  # the first is preferred in near-ties
WORSE = 0.5  # share of the drawn worlds, those with the lowest values, over which a team's score is the mean
MOST_NODES, LOSS = 100, 0.02  # nodes per agent; share of the gain over the behaviour that fewer nodes may cost
WIDTH = 2.0  # standard deviations of the interval


def worse_mean(values: Floats, weights: Floats) -> Floats:
    """[c]: mean of values[k, w, c] over the worse half of draws and worlds, where world w has the weight weights[w].

    A plan exploits the errors of its own world, so worlds in which it earns less decide.
    """
    flat = values.reshape(-1, values.shape[-1])  # [kw, c]
    mass = np.tile(weights / len(values), len(values))
    order = np.argsort(flat, axis=0, kind="stable")
    used = np.diff(np.minimum(np.cumsum(mass[order], axis=0), WORSE), axis=0, prepend=0.0)
    result: Floats = (used * np.take_along_axis(flat, order, axis=0)).sum(0) / WORSE
    return result


def small_enough(scores: Floats, nodes: Sequence[Sequence[int]], behaviour: float) -> list[int]:
    """Candidates c without teams too large to read, if a smaller one loses little of the gain over the behaviour."""
    small = [c for c, counts in enumerate(nodes) if max(counts) <= MOST_NODES]
    best = float(scores.max())
    close = bool(small) and best - scores[small].max() <= LOSS * max(best - behaviour, 0.0)
    return small if close else list(range(len(nodes)))


def contenders(values: Floats, weights: Floats, origins: list[str]) -> list[int]:
    """Candidates c without the teams of PeriEM and the search that are not clearly better than FB-HSVI's best one.

    Clearly: the gain over it, in values[k, w, c], is positive in the mean over the worse half of draws and worlds.
    """
    first = [c for c, origin in enumerate(origins) if origin.startswith(FB_HSVI)]
    if not first:
        return list(range(len(origins)))
    best = first[int(np.argmax(worse_mean(values[..., first], weights)))]
    gains = worse_mean(values - values[..., best : best + 1], weights)  # [c]
    return [c for c, origin in enumerate(origins) if gains[c] > 0 or not origin.startswith(OTHER_PLANNERS)]


def interval(
    values: Sequence[float], drawn: Floats, resampled: Sequence[float], likeliest: float
) -> tuple[float, float]:
    """Ends of the union over the admitted worlds w of: the value, and two standard deviations on either side.

    Deviations are over the draws k of a world, drawn[k, w], and over bootstrap samples. The best world also has its
    value without priors.
    """
    spread = WIDTH * np.sqrt(drawn.var(0, ddof=1) + np.var(resampled, ddof=1))  # [w]
    low, high = np.array(values), np.array(values)
    low[0], high[0] = min(low[0], likeliest), max(high[0], likeliest)
    return float((low - spread).min()), float((high + spread).max())
