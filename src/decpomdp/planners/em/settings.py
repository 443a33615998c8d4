"""The settings of `em`."""

from typing import Annotated, ClassVar

from msgspec import Meta

from decpomdp.core.settings import Count, Settings, Whole

Nodes = Annotated[int, Meta(ge=1, le=1000)]


class Em(Settings, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="em"):
    """Expectation maximisation on the model, from random controllers of a fixed size or from a given team.

    Examples
    --------
    >>> import decpomdp as dp
    >>> dp.plan("broadcast", dp.Em(nodes=2, restarts=1), seed=1).facts["starts"]
    1
    """

    runner: ClassVar[str] = "decpomdp.planners.em.method:EmMethod"
    inputs: ClassVar[tuple[str, ...]] = ("begin",)

    nodes: Annotated[Nodes | tuple[Nodes, ...], Meta(description="Nodes of every controller.")] = 3
    iterations_per_start: Annotated[Whole, Meta(description="Maximum number of iterations per start.")] = 1000
    restarts: Annotated[
        Count | None, Meta(description="Random starts; default: 10, or as many as the time limit allows.")
    ] = None
    least: Annotated[
        float,
        Meta(ge=0, le=1e12, description="Relative gain over ten iterations below which a start has converged."),
    ] = 1e-7
    stride: Annotated[
        float, Meta(ge=1, le=1e12, description="Longest step tried, as a power of EM's ratios; 1 is plain EM.")
    ] = 1024.0
