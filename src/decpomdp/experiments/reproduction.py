"""Every table and figure of the paper: cells, data, figures, and what there is to say about them.

OUT/cells/     one file per finished cell, with the code that made it; never computed again
OUT/data/      NAME.parquet: the rows of every experiment
OUT/figures/   PNG and SVG
OUT/index.html the page, index.md the same as Markdown (made by the room `report`)
OUT/reproduce.json  whose folder this is, and with which effort every experiment was last shown

A command names experiments and an effort for them. The others stay on the page as they were last shown.
"""

import importlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from decpomdp.core import InputError
from decpomdp.experiments.cells import Cell, check_results, results_of
from decpomdp.experiments.crew import Tell, run_cells
from decpomdp.experiments.drawing import draw, pyplot
from decpomdp.experiments.experiment import Claim, Experiment, Picture, Table
from decpomdp.experiments.origin import codes_of, made_words, reused_words
from decpomdp.io.files import from_json, in_words, read_bytes, write_bytes
from decpomdp.io.run_folder import mark
from decpomdp.io.runs import write_trace

NAMES = ("table2", "figure1", "figure2", "appendix", "complexity", "robustness")
MARK, FORMAT = "reproduce.json", "decpomdp-reproduce/1"
MOST_SEEDS = 1000
LIMIT = 2**20  # bytes of a mark
Kind = Literal["quick", "full"]
Efforts = Mapping[str, Any]  # name -> effort


class Record(msgspec.Struct, frozen=True):
    """With which effort an experiment was last shown."""

    kind: Kind
    seeds: Annotated[float, msgspec.Meta(ge=1, le=MOST_SEEDS, multiple_of=1)]  # `from_json` makes all numbers floats


class Mark(msgspec.Struct, frozen=True):
    """What reproduce.json says; folders that are older than the records have none."""

    format: str
    shown: dict[str, Record] = {}


@dataclass(frozen=True, slots=True)
class Shown:
    """One finished experiment."""

    experiment: Experiment
    kind: Kind
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


def efforts_of(kind: Kind, seeds: int | None = None) -> dict[str, Any]:
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
    if not (folder / MARK).exists():
        mark(folder, MARK, _mark({}), "a new, empty or unfinished folder of `decpomdp reproduce`")
    read_mark(folder)


def read_mark(folder: Path) -> Mark:
    """What the mark of a folder of ours says; FormatError if it is no mark."""
    return from_json(read_bytes(folder / MARK, LIMIT), Mark, str(folder / MARK), FORMAT)


def _mark(records: Mapping[str, Record]) -> bytes:
    told = {name: {"kind": record.kind, "seeds": int(record.seeds)} for name, record in records.items()}
    return json.dumps({"format": FORMAT, "shown": told}, indent=1).encode() + b"\n"


def reproduce(
    names: Sequence[str], efforts: Efforts, folder: Path, jobs: int, tell: Tell, kind: Kind = "full"
) -> list[Shown]:
    """Compute what is missing of these experiments, write data and figures; all finished ones, the others as before.

    `kind` is what the efforts are, and those of experiments of which no record says how they were last shown.
    """
    pyplot()  # better missed now than after the work
    open_folder(folder)
    run_cells(folder, cells_of(names, efforts), jobs, tell)
    records = read_mark(folder).shown
    found = [
        shown(folder, name, efforts[name], kind) if name in names else _as_before(folder, name, records.get(name), kind)
        for name in NAMES
    ]
    finished = [each for each in found if each is not None]
    now = {each.experiment.name: Record(each.kind, each.seeds) for each in finished}
    write_bytes(folder / MARK, _mark({**records, **now}))
    return finished


def lost(folder: Path, shown: Sequence[Shown]) -> list[str]:
    """One line for every experiment that was once shown and is not among these."""
    there = {each.experiment.name for each in shown}
    return [
        f"{name} is not on the page any more: cells of its {record.kind} run ({record.seeds:g} seeds) are missing"
        for name, record in read_mark(folder).shown.items()
        if name not in there
    ]


def _as_before(folder: Path, name: str, record: Record | None, kind: Kind) -> Shown | None:
    """An experiment that nobody named."""
    if record is None:
        return shown(folder, name, efforts_of(kind)[name], kind)
    return shown(folder, name, efforts_of(record.kind, int(record.seeds))[name], record.kind)


def shown(folder: Path, name: str, effort: Any, kind: Kind) -> Shown | None:
    """Write an experiment's data and figures; None while cells are missing."""
    experiment = experiment_named(name)
    results = results_of(folder, experiment.cells(effort))
    if results is None:
        return None
    check_results(folder, results)
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
    return Shown(experiment, kind, effort.seeds, len(results), tables, pictures, claims, codes)


def reused(folder: Path, names: Sequence[str], efforts: Efforts) -> str | None:
    """One line when finished cells are about to be used that other code made; None if there are none."""
    return reused_words(codes_of(folder, cells_of(names, efforts)))


def made_with(shown: Sequence[Shown]) -> str:
    """One line: with which code the cells of a page were made."""
    codes: Counter[str] = Counter()
    for each in shown:
        codes.update(each.codes)
    return made_words(dict(codes.most_common()))
