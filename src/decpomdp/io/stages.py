"""Reading a file stage by stage: one list of checks, for whoever stops at the first fault and for whoever wants all.

A reader of logged data is a list of stages in a fixed order: the file as a whole, what it says about itself, its
columns from left to right, and at last what they make together. Every stage makes one thing out of things that earlier
ones made, or raises a FormatError. `made` raises the first of these errors. `all_made` goes on with every stage that
does not need what could not be made, and its list begins with the very error that `made` raises.

What no later stage needs is let go at once: a table is not held while the episodes made of it are checked.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from decpomdp.core import FormatError


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of reading: what it makes, out of what."""

    name: str
    needs: tuple[str, ...]  # names of earlier stages, given to `make` in this order
    make: Callable[..., Any]


def made(stages: Sequence[Stage]) -> Any:
    """What the last stage makes; FormatError of the first that fails.

    >>> made([Stage("text", (), lambda: "12"), Stage("number", ("text",), int)])
    12
    """
    held: dict[str, Any] = {}
    for place, stage in enumerate(stages):
        held[stage.name] = _make(stage, held)
        _let_go(held, stages[place + 1 :])
    return held[stages[-1].name]


def all_made(stages: Sequence[Stage]) -> tuple[Any, list[FormatError]]:
    """What the last stage makes and no errors; or None and all errors, in the order of the stages.

    >>> def refuse(*_):
    ...     raise FormatError("log.csv", None, "no")
    >>> stages = [Stage("t", (), refuse), Stage("order", ("t",), refuse), Stage("reward", (), refuse)]
    >>> found, errors = all_made(stages)
    >>> found, len(errors)
    (None, 2)
    """
    held: dict[str, Any] = {}
    errors: list[FormatError] = []
    for place, stage in enumerate(stages):
        if all(need in held for need in stage.needs):
            try:
                held[stage.name] = _make(stage, held)
            except FormatError as error:
                errors.append(error)
        _let_go(held, stages[place + 1 :])
    return (None if errors else held[stages[-1].name]), errors


def _make(stage: Stage, held: dict[str, Any]) -> Any:
    return stage.make(*(held[need] for need in stage.needs))


def _let_go(held: dict[str, Any], rest: Sequence[Stage]) -> None:
    wanted = {need for stage in rest for need in stage.needs}
    for name in [name for name in held if rest and name not in wanted]:
        del held[name]
