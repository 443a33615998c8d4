"""The settings of `pbvi`."""

from typing import Annotated, ClassVar

from msgspec import Meta

from decpomdp.core.settings import Positive, Settings


class Pbvi(Settings, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="pbvi"):
    """Point-based value iteration for one agent that sees and does everything.

    Examples
    --------
    >>> import decpomdp as dp
    >>> dp.plan("broadcast", dp.Pbvi(epsilon=0.1)).stopped
    'converged'
    """

    limits: ClassVar[tuple[str, ...]] = ("seconds", "iterations")

    epsilon: Annotated[Positive, Meta(description="Stop when the gap between the bounds is at most this.")] = 0.01
    beliefs: Annotated[Annotated[int, Meta(ge=1, le=10_000_000)], Meta(description="Most beliefs in the set.")] = 5000
    nodes: Annotated[
        Annotated[int, Meta(ge=1, le=100_000)] | None,
        Meta(description="Most nodes of the policy graph; default: as many as a dense table of 8 million numbers has."),
    ] = None
