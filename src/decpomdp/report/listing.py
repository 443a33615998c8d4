"""Runs beside each other: one line each."""

from pathlib import Path
from typing import Any

from decpomdp.io.runs import RunRecord

COLUMNS = ("run", "problem", "method", "value", "how", "nodes", "seconds", "seed", "stopped")


def told(record: RunRecord, folder: Path) -> dict[str, Any]:
    """The facts of a run, for programs."""
    value = record.value
    return {
        "run": str(folder),
        "problem": record.problem,
        "method": method_of(record),
        "value": None if value is None else value.value,
        "how": "" if value is None else value.method,
        "nodes": record.nodes,
        "seconds": record.seconds,
        "seed": record.seed,
        "stopped": record.stopped,
        "discount": record.discount,
        "steps": record.steps,
    }


def cells(record: RunRecord, folder: Path) -> tuple[str, ...]:
    """The same for people: one text per column."""
    facts = told(record, folder)
    value, seed = facts["value"], facts["seed"]
    return (
        facts["run"],
        facts["problem"],
        facts["method"],
        "" if value is None else f"{value:.6g}",
        next(iter(facts["how"].replace(",", " ").split()), ""),
        "+".join(map(str, facts["nodes"])),
        f"{facts['seconds']:.1f}",
        "" if seed is None else str(seed),
        facts["stopped"],
    )


def method_of(record: RunRecord) -> str:
    """How the team came about; what learns from episodes is named by its prior."""
    return record.method or str(record.settings.get("prior") or "")
