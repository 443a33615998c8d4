"""The settings of `world`."""

from typing import Annotated, ClassVar

from msgspec import Meta

from decpomdp.core.settings import Settings


class World(Settings, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="world"):
    """Recorded episodes: fit latent worlds, plan in them, evaluate the plans. Needs no behaviour probabilities.

    Examples
    --------
    >>> import decpomdp as dp
    >>> dp.World(max_states=50).draws
    10
    """

    runner: ClassVar[str] = "decpomdp.interaction.world.method:WorldMethod"
    limits: ClassVar[tuple[str, ...]] = ("seconds", "iterations")  # an iteration is a stage of a fit or one plan
    default_seconds: ClassVar[float | None] = 120.0

    max_states: Annotated[int, Meta(ge=1, le=2000, description="Maximum number of hidden states of a world.")] = 400
    draws: Annotated[
        int, Meta(ge=2, le=1000, description="Worlds drawn from the posterior for the interval of the value.")
    ] = 10
