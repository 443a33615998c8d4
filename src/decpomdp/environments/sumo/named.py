"""Traffic lights in SUMO by name: `sumo:4`, `sumo:10`, `sumo:4:signs`, `sumo:4:queues:400`.

What is behind the names is `decpomdp.environments.sumo`.
"""

from decpomdp.core import InputError
from decpomdp.environments.sumo.grid import DISCOUNT, NAME, RATE, SumoGrid
from decpomdp.environments.sumo.reading import QUEUES


def named(text: str, discount: float | None = None) -> SumoGrid:
    """`sumo:SIDE`, `sumo:SIDE:READING` or `sumo:SIDE:READING:RATE`."""
    base, *parts = text.split(":")
    if base != NAME or len(parts) > 3 or not all(parts):
        raise InputError(f"problem: expected {NAME}:4, {NAME}:10 or {NAME}:SIDE:READING:RATE, got {text!r}")
    side = int(parts[0]) if parts and parts[0].isascii() and parts[0].isdigit() else parts[0] if parts else 4
    reading = parts[1] if len(parts) > 1 else QUEUES
    rate = _rate(parts[2]) if len(parts) > 2 else RATE
    return SumoGrid(side, DISCOUNT if discount is None else discount, reading, rate)  # type: ignore[arg-type]


def _rate(text: str) -> float | str:
    """The number, if it is one; else what was given, for the grid to refuse."""
    try:
        return float(text)
    except ValueError:
        return text
