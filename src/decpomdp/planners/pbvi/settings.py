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

    runner: ClassVar[str] = "decpomdp.planners.pbvi.method:PbviMethod"
    limits: ClassVar[tuple[str, ...]] = ("seconds", "iterations")

    epsilon: Annotated[Positive, Meta(description="Stop when the gap between the bounds is at most this.")] = 0.01
    beliefs: Annotated[Annotated[int, Meta(ge=1, le=10_000_000)], Meta(description="Maximum number of beliefs.")] = 5000
    nodes: Annotated[
        Annotated[int, Meta(ge=1, le=100_000)] | None,
        Meta(
            description="Maximum number of nodes of the policy graph; default: limited by a table of 8 million numbers."
        ),
    ] = None
