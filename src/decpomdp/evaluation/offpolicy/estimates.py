"""Three importance-sampling estimates of a team's value, all as sums over episodes.

The importance ratio of the actions up to t is

  w_t = prod over agents n and steps s <= t of  p(a_{n,s} | h_{n,s}, team) / p(a_{n,s} | h_{n,s}, behaviour).

The numerator is the probability of the action given the agent's own history, whatever the hidden node: the normaliser
of the forward filter over the nodes of its controller. The denominator is what the episodes recorded. With w the ratio
of the whole episode, r_t the reward and d the discount:

  ordinary         mean over episodes of  w sum_t d^t r_t                      unbiased, the largest variance
  per-decision     mean over episodes of  sum_t d^t w_t r_t                    unbiased: later actions cannot matter
  self-normalised  sum_t d^t (sum over episodes of w_t r_t) / (sum of w_t)     a small bias, the smallest variance

(Precup, Sutton, Singh 2000.) After its end an episode has rewards of 0 and its last ratio. The bootstrap and the
jackknife use the same sums, with `counts` of every episode.

Intervals: a bootstrap that allows for skewed importance ratios, and one that is guaranteed.

**Bootstrap.** Episodes are resampled with replacement, and the estimates are computed for every resample.

  corrected     quantiles of the new estimates, corrected for bias and skewness (BCa; Efron 1987)
  studentised   quantiles of (new estimate - estimate) / (standard error in the new draw), times the standard error:
                accounts for estimates that are correlated with their errors, as with skewed ratios (Hall 1988)
  spread        Student's t with df = 2 n / (kurtosis - 1) degrees of freedom: the variance of n values is as uncertain
                as that of df + 1 normal values, and df is small when a few episodes dominate

(df: Satterthwaite 1946, with the variance of a sample variance.) The interval is the smallest that contains all three.
If many episodes agree with the team they are nearly equal; if few do, each is too narrow in some cases. Each is
computed for half of the risk, because resamples underestimate the tails: the other half is for episodes that are
missing from the data, and so from every resample (see `support`).

The standard error of the self-normalised estimate is that of its linear part (the delta method), of which episode k has
sum_t w_kt (r_kt - R_t) / (sum of w_t), with R_t the estimate's part of step t.

**Guarantee.** It holds with the given confidence for any number of episodes and any ratios, if the episodes are
independent, the recorded probabilities are those of the behaviour and every reward lies in [low, high]. With W_t the
ratio, d the discount and A = sum_t d^t, two sums are non-negative:

  X = sum_t d^t W_t (r_t - low),   Y = sum_t d^t W_t (high - r_t),   E X <= value - low A,   E Y <= high A - value.

(Equal when the behaviour may take all actions that the team may.) Lower bounds of both means, each with half of the
risk, give low A + X' <= value <= high A - Y'. They come from betting: with C_f(m) = prod_k (1 - f + f X_k / m) and C(m)
its average over a fixed list of shares f, the largest m with C(m) >= 1 / risk is above the mean with probability `risk`
at most (docs/offpolicy.md, with references).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Episodes, InputError, Team
from decpomdp.engines import threads as engine
from decpomdp.filtering.filter import cumulated, filtered, lay_out, tables_of

Floats = NDArray[np.float64]

LARGEST = 600.0  # in logs: a step with larger ratios has all of them scaled down, so that sums are finite; no data
# support such ratios, and the self-normalised estimate does not change

DRAWS_AT_A_TIME = 64
MARGIN = 0.5  # share of the risk that the intervals are made for; coverage is measured in docs/offpolicy.md
NOTHING = 1e-9  # of the standard error: a resample with a smaller one has none: one episode, or equal ones
# shares of a bet: small ones detect a mean slightly above m in noisy values, large ones suit values of low variance
SHARES = np.array([2.0**-j for j in range(16, 0, -1)] + [1 - 2.0**-j for j in range(2, 8)])
HALVINGS = 40  # of the interval from 0 to the values' mean: the bound is exact to 1e-12 of that mean
BLOCK = 4096  # values per batch
HUGE = 1e280  # values are cut here, so that even their sum is finite


def log_chances(episodes: Episodes, team: Team, threads: int | None = None) -> Floats:
    """[r, n]: log probability of every action under the team, given the agent's own history."""
    team.check_fits(episodes)
    unknown = np.isnan(episodes.behaviour)
    if unknown.any():
        row, n = (int(i) for i in np.argwhere(unknown)[0])
        raise InputError(
            f"{episodes.place(row)}, agent {episodes.agents[n].name}: expected the probability with which the "
            f"behaviour took the action, got unknown; off-policy evaluation needs it"
        )
    tables = [tables_of(team, n) for n in range(len(team.agents))]
    with engine.serial_products():
        logs, _ = filtered(lay_out(episodes, max(team.nodes)), tables, False, threads)
    return logs


def log_ratios(episodes: Episodes, chances: Floats) -> Floats:
    """[r]: log ratio of all actions so far in the episode, from `log_chances`; -inf if impossible under the team."""
    return cumulated(chances, episodes) - cumulated(np.log(episodes.behaviour, dtype=np.float64), episodes)


@dataclass(frozen=True, slots=True)
class Weighted:
    """Ratios, rewards and parts in the estimates of every episode, for the first `horizon` steps."""

    rewards: Floats  # [k, t] discounted; 0 after the end
    scaled: Floats  # [k, t] ratio divided by the largest of the step
    top: Floats  # [t] the largest ratio of the step, in logs, LARGEST at most; 0 when none is possible
    gains: Floats  # [k, t] scaled ratio times reward
    shares: Floats  # [k, 2] parts of every episode in the ordinary and in the per-decision estimate

    @property
    def ratios(self) -> Floats:
        """[k, t]"""
        return self.scaled * np.exp(self.top)

    def sample_sizes(self) -> Floats:
        """[t]: effective number of episodes, (sum w)^2 / sum w^2."""
        squares = (self.scaled**2).sum(axis=0)
        return np.where(squares > 0, self.scaled.sum(axis=0) ** 2 / np.maximum(squares, 1e-300), 0.0)

    def estimates(self, counts: Floats) -> Floats:
        """[b, 3]: the ordinary, per-decision and self-normalised estimates when episode k counts counts[b, k] times."""
        means = counts @ self.shares / counts.sum(axis=1, keepdims=True)
        normal = _ratio(counts @ self.gains, counts @ self.scaled).sum(axis=1, keepdims=True)
        return np.concatenate([means, normal], axis=1)

    def without_one(self) -> Floats:
        """[k, 3]: the estimates with episode k left out (the jackknife)."""
        means = (self.shares.sum(axis=0) - self.shares) / (len(self.shares) - 1)
        gains, weights = self.gains.sum(axis=0) - self.gains, self.scaled.sum(axis=0) - self.scaled
        normal = _ratio(gains, weights).sum(axis=1, keepdims=True)
        return np.concatenate([means, normal], axis=1)


def weighted(episodes: Episodes, log_ratios: Floats, horizon: int, discount: float) -> Weighted:
    """Ratios and rewards by episode and step."""
    times, steps = episodes.times(), np.arange(horizon)
    inside = times < horizon
    k, t = np.repeat(np.arange(episodes.count), episodes.lengths)[inside], times[inside]
    rewards = np.zeros((episodes.count, horizon))
    rewards[k, t] = episodes.rewards[inside] * discount ** t.astype(np.float64)
    last = np.minimum(steps, episodes.lengths[:, None] - 1)  # [k, t] the step whose ratio an episode has at t
    logs = log_ratios[episodes.offsets[:-1, None] + last]
    top = logs.max(axis=0)
    top = np.where(np.isfinite(top), top, 0.0)
    scaled = np.exp(logs - top)
    top = np.minimum(top, LARGEST)
    gains = scaled * rewards
    shares = np.stack([scaled[:, -1] * np.exp(top[-1]) * rewards.sum(axis=1), gains @ np.exp(top)], axis=1)
    return Weighted(rewards, scaled, top, gains, shares)


def inverse(weights: Floats) -> Floats:
    """1 / weight; 0 where there is no weight (left over by rounding at most)."""
    return np.where(weights > 1e-13, 1 / np.maximum(weights, 1e-300), 0.0)


def _ratio(gains: Floats, weights: Floats) -> Floats:
    """Gains per weight; 0 where there is no weight."""
    return np.where(weights > 1e-13, gains / np.maximum(weights, 1e-300), 0.0)


def bootstrap(weighted: Weighted, resamples: int, confidence: float, seed: int) -> tuple[Floats, Floats]:
    """[3, 2] intervals and [3] the estimates, in the order of `Weighted.estimates`. An end may be infinite."""
    estimates = weighted.estimates(np.ones((1, len(weighted.rewards))))[0]
    new, errors = (np.concatenate(parts) for parts in zip(*_again(weighted, resamples, seed), strict=True))
    without, level = weighted.without_one(), 1 - MARGIN * (1 - confidence)
    each = [spanned(new[:, i], errors[:, i], estimates[i], without[:, i], level) for i in range(len(estimates))]
    return np.array(each), estimates


def spanned(new: Floats, errors: Floats, estimate: float, without: Floats, confidence: float) -> tuple[float, float]:
    """The smallest interval that contains all three, from resamples [b] and from the jackknife [k]."""
    gap = without.mean() - without  # [k] in proportion to the episode's linear part
    size = max(float(np.abs(gap).max()), 1e-300)
    error = size * float(np.sqrt(((gap / size) ** 2).sum() * (len(gap) - 1) / len(gap)))  # of the jackknife
    ends = np.array(
        [
            corrected(new, estimate, gap / size, confidence),
            studentised(new, errors, estimate, error, confidence),
            spread(estimate, error, gap / size, confidence),
        ]
    )
    return float(ends[:, 0].min()), float(ends[:, 1].max())


def corrected(new: Floats, estimate: float, gap: Floats, confidence: float) -> tuple[float, float]:
    """The bias-corrected and accelerated interval; `gap`: every episode's linear part, in any unit."""
    from scipy.special import ndtr, ndtri

    share = np.mean(new < estimate) + 0.5 * np.mean(new == estimate)
    bias = ndtri(np.clip(share, 1 / (len(new) + 1), len(new) / (len(new) + 1)))
    squares = float((gap**2).sum())
    skew = float((gap**3).sum()) / (6 * squares**1.5) if squares > 0 else 0.0
    ends = bias + ndtri(np.array([(1 - confidence) / 2, (1 + confidence) / 2]))
    levels = ndtr(bias + ends / np.maximum(1 - skew * ends, 1e-3))
    low, high = np.quantile(new, levels)
    return float(low), float(high)


def studentised(new: Floats, errors: Floats, estimate: float, error: float, confidence: float) -> tuple[float, float]:
    """The interval from studentised resamples; infinite if they have no standard error."""
    if error == 0:
        return estimate, estimate
    away = new - estimate
    known = errors > NOTHING * error
    ratios = np.where(known, away / np.where(known, errors, 1.0), np.where(away == 0, 0.0, np.copysign(np.inf, away)))
    low = float(np.quantile(ratios, (1 - confidence) / 2, method="lower"))
    high = float(np.quantile(ratios, (1 + confidence) / 2, method="higher"))
    return estimate - high * error, estimate - low * error


def spread(estimate: float, error: float, gap: Floats, confidence: float) -> tuple[float, float]:
    """Student's interval with degrees of freedom from the kurtosis of the episodes' parts."""
    from scipy.special import stdtrit

    count, squares = len(gap), float((gap**2).sum())
    kurtosis = count * float((gap**4).sum()) / squares**2 if squares > 0 else 1.0
    freedom = min(count - 1.0, 2 * count / max(kurtosis - 1, 1e-9))
    half = float(stdtrit(freedom, (1 + confidence) / 2)) * error
    return estimate - half, estimate + half


def _again(weighted: Weighted, resamples: int, seed: int) -> Iterator[tuple[Floats, Floats]]:
    """Estimates [b, 3] of new draws and their standard errors [b, 3], in batches."""
    rng = np.random.default_rng(seed)
    count = len(weighted.shares)
    size = np.maximum(np.abs(weighted.shares).max(axis=0), 1e-300)  # [2] so that squares stay finite
    parts = (weighted.shares - weighted.shares.mean(axis=0)) / size  # [k, 2]
    for first in range(0, resamples, DRAWS_AT_A_TIME):
        counts = _draws(rng, count, min(DRAWS_AT_A_TIME, resamples - first))
        variance = counts @ parts**2 / count - (counts @ parts / count) ** 2
        errors = size * np.sqrt(np.maximum(variance, 0.0) / count)
        yield weighted.estimates(counts), np.concatenate([errors, _normal_errors(weighted, counts)], axis=1)


def _normal_errors(weighted: Weighted, counts: Floats) -> Floats:
    """[b, 1]: standard error of the self-normalised estimate in every draw."""
    size = max(float(np.abs(weighted.gains).max()), 1e-300)
    per_weight = inverse(counts @ weighted.scaled)  # [b, t]
    means = (counts @ weighted.gains) / size * per_weight
    parts = weighted.gains @ per_weight.T / size - weighted.scaled @ (means * per_weight).T  # [k, b]
    return size * np.sqrt((counts.T * parts**2).sum(axis=0))[:, None]


def _draws(rng: np.random.Generator, count: int, draws: int) -> Floats:
    """[b, k]: how often every episode was drawn."""
    return np.stack([np.bincount(rng.integers(count, size=count), minlength=count) for _ in range(draws)]).astype(float)


def guaranteed(weighted: Weighted, low: Floats, high: Floats, risk: float) -> tuple[float, float]:
    """The interval that fails with probability `risk` at most; low[t], high[t]: range of a step's discounted reward."""
    ratios = weighted.ratios
    with np.errstate(over="ignore"):  # cutting a value keeps a lower bound of its mean valid
        over = np.minimum((ratios * np.maximum(weighted.rewards - low, 0.0)).sum(axis=1), HUGE)
        under = np.minimum((ratios * np.maximum(high - weighted.rewards, 0.0)).sum(axis=1), HUGE)
    above, below = mean_at_least(over, risk / 2), mean_at_least(under, risk / 2)
    least, most = float(low.sum()), float(high.sum())
    return max(least, min(least + above, most)), min(most, max(most - below, least))


def mean_at_least(values: Floats, risk: float) -> float:
    """A lower bound of the mean of independent non-negative `values` that fails with probability `risk` at most."""
    exponent = int(np.frexp(values.max())[1])
    values = np.ldexp(values, -exponent)  # near 1, so that halving stays exact; a power of two rounds nothing
    low, high = 0.0, float(values.mean())  # at the values' own mean no share wins, by concavity
    if high <= 0:
        return 0.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if log_wealth(values, middle) >= -np.log(risk):
            low = middle
        else:
            high = middle
    return float(np.ldexp(low, exponent))


def log_wealth(values: Floats, m: float) -> float:
    """ln C(m)."""
    gains = values / m - 1.0
    blocks = (gains[first : first + BLOCK] for first in range(0, len(gains), BLOCK))
    logs = np.sum([np.log1p(SHARES[:, None] * block).sum(axis=1) for block in blocks], axis=0)  # [share]
    top = float(logs.max())
    return top + float(np.log(np.exp(logs - top).mean()))
