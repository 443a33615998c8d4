"""The settings of `logs`."""

from typing import Annotated, ClassVar

from msgspec import Meta

from decpomdp.core.settings import Settings
from decpomdp.interaction.world.settings import World


class Logs(Settings, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="logs"):
    """Recorded episodes: run world models, Dec-SBPR and behaviour cloning, and choose one of their teams.

    Examples
    --------
    >>> import decpomdp as dp
    >>> dp.Logs().max_states
    400
    """

    runner: ClassVar[str] = "decpomdp.interaction.logs.method:LogsMethod"
    limits: ClassVar[tuple[str, ...]] = World.limits

    max_states: Annotated[int, Meta(ge=1, le=2000, description="Maximum number of hidden states of a world.")] = 400
