"""Which sketches FB-HSVI makes, and in which order: a list without noise, then the same again with noise.

Later ones follow the latest trial of the certified search, so they differ even where noise does nothing.
"""

from dataclasses import replace

from decpomdp.planners.fb_hsvi.sketches import Sketch

SKETCHES = (
    Sketch(4, 0.02, pairs=60),  # a quick look
    Sketch(8, 0.02),
    Sketch(16, 0.08),
    Sketch(16, 0.02),
    Sketch(16, 0.04, ahead=5),
    Sketch(32, 0.08),
    Sketch(8, 0.05, ahead=7),
    Sketch(64, 0.1),
    Sketch(12, 0.02),
)
NOISES = (1e-4, 1e-3, 1e-2)  # of later sketches
ROUND = 2  # sketches at a time


def numbers_of(iteration: int) -> range:
    """The sketches of a round, counted from 1; the first round is one quick look."""
    if iteration == 1:
        return range(1)
    first = 1 + (iteration - 2) * ROUND
    return range(first, first + ROUND)


def sketch_of(number: int) -> tuple[Sketch, bool]:
    """A sketch, and whether it is one of the later ones.

    >>> sketch_of(0)[0].cap, sketch_of(len(SKETCHES) + 2)[0].noise
    (4, 0.0001)
    """
    again, place = divmod(number, len(SKETCHES))
    sketch = SKETCHES[place]
    return (replace(sketch, noise=NOISES[(again - 1) % len(NOISES)]), True) if again else (sketch, False)
