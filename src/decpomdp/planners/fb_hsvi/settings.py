"""The settings of `fb-hsvi`."""

from typing import Annotated, ClassVar

from msgspec import Meta

from decpomdp.core.settings import Settings


class FbHsvi(Settings, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="fb-hsvi"):
    """Heuristic search value iteration over occupancy states: a team, and a certified bound on every team's value.

    Examples
    --------
    >>> import decpomdp as dp
    >>> round(dp.plan("dectiger", dp.FbHsvi(horizon=2), discount=1.0).facts["upper"], 6)
    -4.0
    """

    runner: ClassVar[str] = "decpomdp.planners.fb_hsvi.method:FbHsviMethod"
    limits: ClassVar[tuple[str, ...]] = ("seconds", "iterations")  # an iteration is a round of sketches and trials

    horizon: Annotated[
        Annotated[int, Meta(ge=1, le=10_000)] | None,
        Meta(description="Steps; default: an infinite horizon, which needs a discount below 1."),
    ] = None
    epsilon: Annotated[
        float, Meta(ge=0, le=1e12, description="Stop when the gap between the bounds is at most this.")
    ] = 0.01
    tolerance: Annotated[
        float,
        Meta(
            ge=0, le=1e12, description="Mass that one merging of labels may move in the certified search; 0: lossless."
        ),
    ] = 0.0
