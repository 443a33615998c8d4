"""What the commands that fill a run folder share."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decpomdp.core import Fit


def given(options: dict[str, Any]) -> dict[str, Any]:
    """The options that were used."""
    return {name: value for name, value in options.items() if value is not None}


def refuse(options: dict[str, Any], what: str) -> None:
    """An option that would do nothing is a mistake."""
    from decpomdp.core import InputError

    for name in given(options):
        raise InputError(f"--{name.replace('_', '-')} does not belong to {what}")


def told(facts: dict[str, Any], fit: "Fit", out: Path) -> dict[str, Any]:
    """The result of a run, for people and programs."""
    return {**facts, "stopped": fit.stopped, "seconds": fit.seconds, "nodes": list(fit.team.nodes), "out": str(out)}


def lines(result: dict[str, Any], more: list[str]) -> list[str]:
    """The result in words, with what the command has to say beside."""
    nodes = "+".join(str(count) for count in result["nodes"])
    first = (
        f"value {result['value']['value']:.6g} ({result['value']['method']}), nodes {nodes}, "
        f"{result['seconds']:.1f} s, stopped: {result['stopped']}"
    )
    return [first, *more, f"written to {result['out']}"]
