"""Every table and figure of the paper: cells, data, figures, and the verdicts on its claims.

OUT/cells/     one file per finished cell; never computed again
OUT/data/      NAME.parquet: the rows of every experiment
OUT/figures/   PNG and SVG
OUT/index.html the page, index.md the same as Markdown (made by the room `report`)
OUT/reproduce.json  marks the folder; the effort with which every experiment was last shown

A command names experiments and their effort. The page shows all other experiments as before.
"""

import importlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import msgspec

from decpomdp.core import InputError
from decpomdp.experiments import cells as store
from decpomdp.experiments import pool
from decpomdp.experiments.cells import Cell, codes_of
from decpomdp.experiments.drawing import Picture, draw, pyplot
from decpomdp.experiments.experiment import ClaimVerdict, Effort, Experiment, Kind, TextTable, texts_of
from decpomdp.io.files import from_json, one_line_errors, read_bytes, write_bytes
from decpomdp.io.run_folder import mark
from decpomdp.io.runs import write_trace

MODULES = {"complexity": "table1"}  # modules that are not named like the experiment
NAMES = ("table2", "figure1", "figure2", "appendix", "complexity", "robustness")
MARK, FORMAT = "reproduce.json", "decpomdp-reproduce/1"
MOST_SEEDS = 1000
LIMIT = 2**20  # bytes of a mark
Efforts = Mapping[str, Effort]  # by the names of experiments


class ShownEffort(msgspec.Struct, frozen=True):
    """The effort with which an experiment was last shown."""

    kind: Kind
    seeds: Annotated[int, msgspec.Meta(ge=1, le=MOST_SEEDS)]


class Marker(msgspec.Struct, frozen=True):
    """The content of reproduce.json."""

    format: str = FORMAT
    shown: dict[str, ShownEffort] = {}


@dataclass(frozen=True, slots=True)
class Section:
    """One finished experiment."""

    experiment: Experiment
    kind: Kind
    seeds: int
    cells: int
    tables: list[TextTable]
    pictures: list[Picture]
    claims: list[ClaimVerdict]
    codes: Mapping[str, int]  # number of cells per digest of the code


def names_of(name: str) -> tuple[str, ...]:
    """The experiments of this name; all for "all"."""
    if name != "all" and name not in NAMES:
        raise InputError(f"name: expected one of {', '.join(NAMES)} or all, got {name!r}")
    return NAMES if name == "all" else (name,)


def experiment_named(name: str) -> Experiment:
    """The experiment; its module is imported on first use."""
    experiment: Experiment = importlib.import_module(f"decpomdp.experiments.{MODULES.get(name, name)}").EXPERIMENT
    return experiment


def efforts_of(kind: Kind, seeds: int | None = None) -> dict[str, Effort]:
    """The "quick" or "full" efforts, with the given number of seeds or each experiment's own."""
    if seeds is not None and not 1 <= seeds <= MOST_SEEDS:
        raise InputError(f"seeds: expected a whole number from 1 to {MOST_SEEDS}, got {seeds}")
    given = {} if seeds is None else {"seeds": seeds}
    return {name: texts_of(name).effort(kind) | given for name in NAMES}


def cells_of(names: Sequence[str], efforts: Efforts) -> list[Cell]:
    """All cells of these experiments, seed by seed within each."""
    return [cell for name in names for cell in experiment_named(name).cells(efforts[name])]


def open_folder(folder: Path) -> dict[str, ShownEffort]:
    """Create the folder, or continue an existing one; returns how its experiments were last shown."""
    if not (folder / MARK).exists():
        mark(folder, MARK, _packed(Marker()), "a new, empty or unfinished folder of `decpomdp reproduce`")
    return from_json(read_bytes(folder / MARK, LIMIT), Marker, str(folder / MARK), FORMAT).shown


def _packed(marker: Marker) -> bytes:
    return msgspec.json.format(msgspec.json.encode(marker), indent=1) + b"\n"


def reproduce(
    names: Sequence[str], efforts: Efforts, folder: Path, jobs: pool.Jobs, tell: pool.Tell, kind: Kind = "full"
) -> list[Section]:
    """Compute the missing cells of these experiments and show them; other experiments of the folder stay as before.

    `kind` is the kind of these efforts.
    """
    pyplot()  # fail early if matplotlib is missing
    shown = open_folder(folder)
    pool.run(cells_of(names, efforts), jobs, partial(store.finished, folder), partial(store.save, folder), tell)
    shown |= {name: ShownEffort(kind, efforts[name]["seeds"]) for name in names}
    write_bytes(folder / MARK, _packed(Marker(shown=shown)))
    sections = []
    for name in (name for name in NAMES if name in shown):
        last = shown[name]
        effort = efforts[name] if name in names else efforts_of(last.kind, last.seeds)[name]
        sections.append(section_of(folder, name, effort, last.kind))
    return [section for section in sections if section is not None]


def lost(folder: Path, sections: Sequence[Section]) -> list[str]:
    """One line for every experiment that was shown before and is missing from `sections`."""
    there = {each.experiment.name for each in sections}
    return [
        f"{name} is left out of the page: cells of its {shown.kind} run ({shown.seeds} seeds) are missing"
        for name, shown in open_folder(folder).items()
        if name not in there
    ]


def section_of(folder: Path, name: str, effort: Effort, kind: Kind) -> Section | None:
    """Write an experiment's data and figures; None while cells are missing."""
    experiment = experiment_named(name)
    cells = experiment.cells(effort)
    if not all(store.finished(folder, cell) for cell in cells):
        return None
    computed = [store.load(folder, cell) for cell in cells]
    rows = experiment.rows([(cell, each.result) for cell, each in zip(cells, computed, strict=True)])
    for place in (folder / "data", folder / "figures"):
        with one_line_errors(place):
            place.mkdir(exist_ok=True)
    write_trace(tuple(rows), folder / "data" / f"{name}.parquet")
    pictures = experiment.pictures(rows)
    for picture in pictures:
        draw(picture, folder / "figures")
    tables, verdicts = experiment.tables(rows), experiment.verdicts(rows)
    return Section(experiment, kind, effort["seeds"], len(cells), tables, pictures, verdicts, codes_of(computed))


def made_with(sections: Sequence[Section]) -> str:
    """One line about the code that computed the cells of a page."""
    codes = sum((Counter(each.codes) for each in sections), Counter[str]())
    if len(codes) < 2:
        return f"cells made with code {next(iter(codes))}" if codes else "no cells"
    return "cells made with different code: " + ", ".join(f"{n} with {code}" for code, n in codes.most_common())
