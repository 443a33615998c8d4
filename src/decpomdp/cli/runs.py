"""What the commands that fill a run folder share."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from decpomdp.core import Fit

MANY = 8  # agents, whose nodes are no longer told one by one


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


def sizes(nodes: "Sequence[int]") -> str:
    """Nodes per agent in words: all of them, or of many agents the mean."""
    if len(nodes) <= MANY:
        return "+".join(str(count) for count in nodes)
    return f"{sum(nodes) / len(nodes):.2f} on average ({min(nodes)} to {max(nodes)}, {len(nodes)} agents)"


def lines(result: dict[str, Any], more: list[str]) -> list[str]:
    """The result in words, with what the command has to say beside."""
    nodes = sizes(result["nodes"])
    first = (
        f"value {result['value']['value']:.6g} ({result['value']['method']}), nodes {nodes}, "
        f"{result['seconds']:.1f} s, stopped: {result['stopped']}"
    )
    return [first, *more, f"written to {result['out']}"]
