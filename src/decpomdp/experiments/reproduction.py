"""Every table and figure of the paper: cells, data, figures, and what there is to say about them.

OUT/cells/     one file per finished cell, with the code that made it; never computed again
OUT/data/      NAME.parquet: the rows of every experiment
OUT/figures/   PNG and SVG
OUT/index.html the page, index.md the same as Markdown (made by the room `report`)
"""

import importlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from decpomdp.core import FormatError, InputError
from decpomdp.experiments.cells import Cell, content_of, results_of
from decpomdp.experiments.crew import Tell, run_cells
from decpomdp.experiments.drawing import draw, pyplot
from decpomdp.experiments.experiment import Claim, Experiment, Picture, Results, Table
from decpomdp.experiments.origin import codes_of, made_words, reused_words
from decpomdp.io.files import in_words, write_bytes
from decpomdp.io.run_folder import check_all_links
from decpomdp.io.runs import write_trace

NAMES = ("table2", "figure1", "figure2", "appendix", "complexity", "robustness")
MARK, FORMAT = "reproduce.json", "decpomdp-reproduce/1"
MOST_SEEDS = 1000
Efforts = Mapping[str, Any]  # name -> effort


@dataclass(frozen=True, slots=True)
class Shown:
    """One finished experiment."""

    experiment: Experiment
    seeds: int
    cells: int
    tables: list[Table]
    pictures: list[Picture]
    claims: list[Claim]
    codes: Mapping[str, int]  # how many cells were made by which code


def names_of(name: str) -> tuple[str, ...]:
    """The experiments that a user means."""
    if name != "all" and name not in NAMES:
        raise InputError(f"name: expected one of {', '.join(NAMES)} or all, got {name!r}")
    return NAMES if name == "all" else (name,)


def experiment_named(name: str) -> Experiment:
    """Imported when it is wanted."""
    found: Experiment = importlib.import_module(f"decpomdp.experiments.{name}").EXPERIMENT
    return found


def efforts_of(kind: str, seeds: int | None = None) -> dict[str, Any]:
    """How much is run: "quick" or "full", with the given number of seeds or each experiment's own."""
    if seeds is not None and not 1 <= seeds <= MOST_SEEDS:
        raise InputError(f"seeds: expected a whole number from 1 to {MOST_SEEDS}, got {seeds}")
    found = {name: experiment_named(name).efforts[kind] for name in NAMES}
    return found if seeds is None else {name: replace(effort, seeds=seeds) for name, effort in found.items()}


def cells_of(names: Sequence[str], efforts: Efforts) -> list[Cell]:
    """All cells of these experiments, seed by seed within each."""
    return [cell for name in names for cell in experiment_named(name).cells(efforts[name])]


def open_folder(folder: Path) -> None:
    """Make the folder, or go on in one of ours."""
    mark = content_of(folder / MARK)
    if mark is not None and mark.get("format") == FORMAT:
        check_all_links(folder)
        return
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder}: expected a new, empty or unfinished folder of `decpomdp reproduce`, got another")
    with in_words(folder):
        folder.mkdir(parents=True, exist_ok=True)
    write_bytes(folder / MARK, json.dumps({"format": FORMAT}).encode() + b"\n")


def reproduce(names: Sequence[str], efforts: Efforts, folder: Path, jobs: int, tell: Tell) -> list[Shown]:
    """Compute what is missing, write data and figures; everything finished that belongs to these efforts."""
    pyplot()  # better missed now than after the work
    open_folder(folder)
    run_cells(folder, cells_of(names, efforts), jobs, tell)
    found = [shown(folder, name, efforts[name]) for name in NAMES if name in efforts]
    return [each for each in found if each is not None]


def shown(folder: Path, name: str, effort: Any) -> Shown | None:
    """Write an experiment's data and figures; None while cells are missing."""
    experiment = experiment_named(name)
    results = results_of(folder, experiment.cells(effort))
    if results is None:
        return None
    _check_results(folder, results)
    rows = experiment.rows(results)
    for place in (folder / "data", folder / "figures"):
        with in_words(place):
            place.mkdir(exist_ok=True)
    write_trace(tuple(rows), folder / "data" / f"{name}.parquet")
    pictures = experiment.pictures(rows)
    for picture in pictures:
        draw(picture, folder / "figures")
    codes = codes_of(folder, [cell for cell, _ in results])
    tables, claims = experiment.tables(rows), experiment.claims(rows)
    return Shown(experiment, effort.seeds, len(results), tables, pictures, claims, codes)


def _check_results(folder: Path, results: Results) -> None:
    """Every cell says what the others of its work say; a file that someone emptied does not."""
    usual = {work: _usual([result for cell, result in results if cell.work == work]) for work, _ in _works(results)}
    for cell, result in results:
        if not (keys := _keys(result)) or not keys >= usual[cell.work]:
            words = "expected the result of a finished cell, got one without its numbers; delete it"
            raise FormatError(str(folder / cell.place), None, words)


def _works(results: Results) -> list[tuple[str, int]]:
    return Counter(cell.work for cell, _ in results).most_common()


def _usual(results: Sequence[Any]) -> frozenset[str]:
    """What most of these results say."""
    return Counter(_keys(result) for result in results).most_common(1)[0][0]


def _keys(result: Any) -> frozenset[str]:
    """What a result, or every point of one, says."""
    points = result if isinstance(result, list) else [result]
    if not points or not all(isinstance(point, dict) for point in points):
        return frozenset()
    return frozenset.intersection(*(frozenset(point) for point in points))


def reused(folder: Path, names: Sequence[str], efforts: Efforts) -> str | None:
    """One line when finished cells are about to be used that other code made; None if there are none."""
    return reused_words(codes_of(folder, cells_of(names, efforts)))


def made_with(shown: Sequence[Shown]) -> str:
    """One line: with which code the cells of a page were made."""
    codes: Counter[str] = Counter()
    for each in shown:
        codes.update(each.codes)
    return made_words(dict(codes.most_common()))
