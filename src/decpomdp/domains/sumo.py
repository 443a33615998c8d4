"""Traffic lights in SUMO by name: `sumo:4`, `sumo:10`, `sumo:4:signs`. What is behind the names is `decpomdp.sumo`."""

from decpomdp.core import InputError
from decpomdp.sumo.grid import DISCOUNT, NAME, SumoGrid
from decpomdp.sumo.reading import QUEUES


def named(text: str, discount: float | None = None) -> SumoGrid:
    """`sumo:SIDE` or `sumo:SIDE:READING`."""
    base, *parts = text.split(":")
    if base != NAME or len(parts) > 2 or not all(parts):
        raise InputError(f"problem: expected {NAME}:4, {NAME}:10 or {NAME}:SIDE:READING, got {text!r}")
    side = int(parts[0]) if parts and parts[0].isascii() and parts[0].isdigit() else parts[0] if parts else 4
    reading = parts[1] if len(parts) == 2 else QUEUES
    return SumoGrid(side, DISCOUNT if discount is None else discount, reading)  # type: ignore[arg-type]
