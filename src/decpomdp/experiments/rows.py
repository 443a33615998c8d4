"""The rows of an experiment: one flat mapping per result or per point of a curve, written as Parquet.

A column's name gives its mean with an interval: rows["value"]. Texts name it in braces: {ours[value]},
{ours[value].most:.2f}, {ours.first[limit]}.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

import msgspec

from decpomdp.experiments.cells import Cell
from decpomdp.experiments.means import Comparison, Mean, compare, mean_of

Results = Sequence[tuple[Cell, Any]]


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
        """The first row, for what all have in common."""
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
        """The rows of every value of a column, or of every tuple of values of several, in order of appearance."""
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

    def by_seed(self, key: str) -> dict[int, float]:
        """The mean of a column for every seed."""
        return {seed: mean.value for seed, mean in self.means(key, "seed").items()}

    def against(self, other: "ResultRows", key: str = "value") -> Comparison:
        """This method against another that learned from the same episodes, seed by seed."""
        ours, theirs = self.by_seed(key), other.by_seed(key)
        both = [seed for seed in ours if seed in theirs]
        return compare([ours[seed] for seed in both], [theirs[seed] for seed in both], same_data=True)


def flat(results: Results, *keys: str, **renamed: str) -> ResultRows:
    """One row per result, or per element of a result that is a list, with these settings of its cell (or None)."""
    return ResultRows(
        {key: cell.settings.get(key) for key in keys}
        | msgspec.structs.asdict(point)
        | {name: cell.settings.get(key) for name, key in renamed.items()}
        for cell, result in results
        for point in (result if isinstance(result, list) else [result])
    )
