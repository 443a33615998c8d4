"""The rows of an experiment, means over seeds with intervals, and comparisons of them.

Rows are flat mappings, one per result or per point of a curve, written as Parquet. A column's name gives its mean with
an interval: rows["value"]. Texts name it in braces: {ours[value]}, {ours[value].most:.2f}, {ours.first[limit]}.

The paper gives one number per entry, the mean of 100 test episodes, without an error. Ours are means over seeds. The
interval is at 95 %: Student's t for the spread over seeds and, because the paper's number is a mean of 100 episodes
too, the standard error of such a mean:

    half = t(0.975, n - 1) s / sqrt(n)  (+)  1.96 e,    (+): root of the sum of squares

A published value agrees if it lies within ours +- half. Otherwise ours is higher or lower. With one seed the interval
contains only the error of the test.

Two of our methods are compared by the interval of the difference of their means. If both learned from the same
episodes, it is that of the mean difference, seed by seed. Otherwise it is Welch's, with v, w: s^2 / n of each:

    half = t(0.975, f) sqrt(v + w)  (+)  1.96 e,    f = (v + w)^2 / (v^2 / (n - 1) + w^2 / (m - 1))

(B. L. Welch, The generalization of Student's problem when several different population variances are involved,
Biometrika 34, 1947; f after Satterthwaite.) If one of them is a single number, the interval is that of the other.

One very bad seed can widen an interval so that it contains 0. So a rank test of the seeds is used, too (Mann-Whitney,
two-sided, 5 %), and against a single number a sign test: all of at least five seeds on one side. One method is above
if the interval or one of these tests says so. Spreads over seeds are compared by the ratio of their variances, Fisher's
F at 95 %.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import msgspec
import numpy as np

from decpomdp.experiments.cells import Cell

ROUNDED = 0.0051  # published values have two digits
NORMAL = 1.96
CHANCE = 0.05  # significance level of the rank test
ENOUGH = 5  # fewest seeds of the sign test; all on a given side by chance: 1 of 32
ROUNDING = 1e-6  # largest difference of values of the same team
Results = Sequence[tuple[Cell, Any]]


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of some runs, with its interval."""

    value: float
    half: float  # width of the interval to either side
    spread: float  # standard deviation over seeds; 0 for one
    least: float
    most: float
    count: int
    test_error: float = 0.0  # of the value that it is compared with

    @property
    def low(self) -> float:
        """The low end of the interval."""
        return self.value - self.half

    def __format__(self, form: str) -> str:
        """12.34 +- 0.56"""
        value, half = (format(number, form or ".2f") for number in (self.value, self.half))
        return value if self.count < 2 else f"{value} ± {half}"


def mean_of(values: Sequence[float], test_error: float = 0.0) -> Mean:
    """The mean of one number per seed; `test_error`: standard error of the value that it is compared with.

    >>> f"{mean_of([1.0, 2.0, 3.0])}, {mean_of([1.0]):.1f}"
    '2.00 ± 2.48, 1.0'
    """
    from scipy.special import stdtrit

    known = np.asarray(values, np.float64)
    count = len(known)
    spread = float(known.std(ddof=1)) if count > 1 else 0.0
    seeds = float(stdtrit(count - 1, 0.975)) * spread / math.sqrt(count) if count > 1 else 0.0
    half = math.hypot(seeds, NORMAL * test_error)
    return Mean(float(known.mean()), half, spread, float(known.min()), float(known.max()), count, test_error)


def side_of(gap: float, within: float = 0.0) -> str:
    """Whether the first of two numbers is "above" or "below" the other, or "level" with it."""
    return "level" if abs(gap) <= within else "above" if gap > 0 else "below"


def verdict(published: float, ours: Mean) -> str:
    """Whether a published value agrees, or ours is higher or lower."""
    return {"level": "agrees", "above": "higher", "below": "lower"}[side_of(ours.value - published, ours.half)]


def size_verdict(published: float, ours: Mean) -> str:
    """Whether a published size agrees, or ours has more or fewer nodes."""
    if ours.least <= published <= ours.most:
        return "agrees"
    return "more" if ours.value > published else "fewer"


def above(one: Mean, other: Mean) -> str:
    """How two of our means compare: level if the interval of the difference contains 0."""
    return side_of(one.value - other.value, max(half_of_difference(one, other), ROUNDING))


def half_of_difference(one: Mean, other: Mean) -> float:
    """Half the width of Welch's 95 % interval of the difference of two means, with the errors of tests if any.

    >>> half = half_of_difference(mean_of([1.0, 2.0, 3.0]), mean_of([1.0, 3.0, 5.0]))  # f = 50 / 17
    >>> round(half, 4)
    4.1554
    """
    from scipy.special import stdtrit

    tests = NORMAL * math.hypot(one.test_error, other.test_error)
    parts = [(mean.spread**2 / mean.count, mean.count - 1) for mean in (one, other) if mean.spread > 0]
    if not parts:
        return tests
    whole = sum(part for part, _ in parts)
    freedom = 1 / sum((part / whole) ** 2 / own for part, own in parts)  # ratios: tiny squares underflow
    return math.hypot(float(stdtrit(freedom, 0.975)) * math.sqrt(whole), tests)


@dataclass(frozen=True, slots=True)
class Comparison:
    """How one of our methods compares with another over seeds."""

    side: str  # "above", "below" or "level"
    higher: int  # on so many seeds
    lower: int
    count: int

    def __str__(self) -> str:
        """below, higher on 0 and lower on 5 of 5 seeds"""
        return f"{self.side}, higher on {self.higher} and lower on {self.lower} of {self.count} seeds"


def compare(one: Sequence[float], other: Sequence[float], same_data: bool = False) -> Comparison:
    """Two of our methods, one number per seed in the same order; the other may have a single one, for all seeds.

    >>> str(compare([1.0, 2.0, 3.0, 4.0, -90.0], [5.0, 5.1, 5.2, 5.3, 5.4]))
    'below, higher on 0 and lower on 5 of 5 seeds'
    """
    against = list(other) if len(other) > 1 else [other[0]] * len(one)
    gaps = [ours - theirs for ours, theirs in zip(one, against, strict=True)]
    pair = (gaps, [0.0]) if same_data else (one, other)
    side = above(mean_of(pair[0]), mean_of(pair[1]))
    higher, lower = sum(gap > ROUNDING for gap in gaps), sum(gap < -ROUNDING for gap in gaps)
    if side == "level" and len(other) > 1:
        side = _ranked(one, other)
    elif side == "level" and len(gaps) >= ENOUGH and len(gaps) in (higher, lower):
        side = side_of(higher - lower)
    return Comparison(side, higher, lower, len(gaps))


def _ranked(one: Sequence[float], other: Sequence[float]) -> str:
    """Compare by the ranks of all seeds; values of the same team are ties."""
    from scipy.stats import mannwhitneyu

    ours, theirs = (np.round(np.asarray(values, np.float64) / ROUNDING) for values in (one, other))
    if np.ptp(np.concatenate([ours, theirs])) == 0:
        return "level"
    test = mannwhitneyu(ours, theirs, alternative="two-sided")
    return "level" if test.pvalue >= CHANCE else side_of(float(test.statistic) - len(ours) * len(theirs) / 2)


def steadier(ours: Sequence[float], theirs: Sequence[Sequence[float]]) -> tuple[float, float]:
    """The ratio of their variance over seeds (pooled over groups) to ours, and the significant ratio (F, 95 %).

    >>> ratio, needed = steadier([1.0, 2.0, 3.0], [[1.0, 3.0, 5.0], [11.0, 13.0, 15.0]])
    >>> round(ratio, 6), round(needed, 2)
    (4.0, 19.25)
    """
    from scipy.special import fdtri

    own, pooled = len(ours) - 1, sum(len(group) - 1 for group in theirs)
    if own < 1 or pooled < 1:
        return 0.0, math.inf
    squares = sum((len(group) - 1) * float(np.var(group, ddof=1)) for group in theirs if len(group) > 1)
    variance = float(np.var(ours, ddof=1))
    ratio = squares / pooled / variance if variance > 0 else math.inf
    return ratio, float(fdtri(pooled, own, 0.95))


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """The slope of the straight line through the points on logarithmic axes.

    >>> round(exponent([1, 2, 4, 8], [3, 12, 48, 192]), 6)
    2.0
    """
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


class ResultRows:
    """Mappings with the same keys."""

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self._rows = tuple(rows)

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, key: str) -> Mean:
        """The mean of a column with its interval."""
        return mean_of(self.column(key))

    @property
    def first(self) -> Mapping[str, Any]:
        """The first row, for values that all rows share."""
        return self._rows[0]

    def where(self, **wanted: Any) -> "ResultRows":
        """The rows with these values."""
        return ResultRows(row for row in self if all(row[key] == value for key, value in wanted.items()))

    def distinct(self, key: str) -> list[Any]:
        """The different values of a column, in order of appearance."""
        return list(dict.fromkeys(row[key] for row in self))

    def column(self, key: str) -> list[float]:
        """A column of numbers, without missing ones."""
        return [float(row[key]) for row in self if row[key] is not None]

    def ends(self, key: str) -> tuple["ResultRows", "ResultRows"]:
        """The rows with the least and with the greatest value of a column."""
        values = self.distinct(key)
        return self.where(**{key: min(values)}), self.where(**{key: max(values)})

    def groups(self, *keys: str) -> dict[Any, "ResultRows"]:
        """The rows by the value of a column, or by the tuple of values of several, in order of appearance."""
        groups: dict[Any, list[Mapping[str, Any]]] = {}
        for row in self:
            groups.setdefault(itemgetter(*keys)(row), []).append(row)
        return {group: ResultRows(rows) for group, rows in groups.items()}

    def means(self, key: str, *by: str) -> dict[Any, Mean]:
        """The mean of a column in every group."""
        return {group: some[key] for group, some in self.groups(*by).items()}

    def tested(self, key: str, error: str) -> Mean:
        """The mean, with an interval for a published mean of test episodes: `error` is the column of their error."""
        return mean_of(self.column(key), self[error].value if self.column(error) else 0.0)

    def against(self, other: "ResultRows", key: str = "value") -> Comparison:
        """This method against another that learned from the same episodes, seed by seed."""
        ours, theirs = self.means(key, "seed"), other.means(key, "seed")
        both = [seed for seed in ours if seed in theirs]
        return compare([ours[seed].value for seed in both], [theirs[seed].value for seed in both], same_data=True)


def flat(results: Results, keys: Sequence[str] = (), **renamed: str) -> ResultRows:
    """One row per result, or per element of a result that is a list, with these settings of its cell (or None)."""
    return ResultRows(
        {key: cell.settings.get(key) for key in keys}
        | msgspec.structs.asdict(point)
        | {name: cell.settings.get(key) for name, key in renamed.items()}
        for cell, result in results
        for point in (result if isinstance(result, list) else [result])
    )
