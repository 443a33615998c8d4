"""The settings of `periem`; docs/planners.md explains the tunables, which have the same values for every problem."""

from typing import Annotated, ClassVar

from msgspec import Meta

from decpomdp.core.settings import Count, Settings, Tuning, Whole

Layers = Annotated[int, Meta(ge=1, le=10_000)]
Width = Annotated[int, Meta(ge=1, le=1000)]
Open = Annotated[float, Meta(ge=1e-12, le=1 - 1e-12)]  # a share that is neither 0 nor 1


class PeriEmTuning(Tuning, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Tunables of the sweeps, the kicks and EM."""

    open_sweeps: Annotated[Whole, Meta(description="Sweeps of the finite horizon.")] = 5
    sweeps: Annotated[Count, Meta(description="Maximum number of sweeps of the period.")] = 100
    sweeps_after: Annotated[Count, Meta(description="Maximum number of sweeps after a kick.")] = 20
    idle: Annotated[
        Count, Meta(description="Sweeps without a gain that end the initial sweeps; after a kick one is enough.")
    ] = 2
    patience: Annotated[Count, Meta(description="Kicks without a gain that end a climb.")] = 100
    longest: Annotated[Count, Meta(description="Maximum length of a kick's path.")] = 4
    precision: Annotated[Open, Meta(description="Smallest gain that counts, of the largest possible value.")] = 1e-9
    openness: Annotated[Open, Meta(description="Uniform share of every row in the start of EM.")] = 0.02
    em_share: Annotated[Open, Meta(description="Share of the time limit that is reserved for EM.")] = 0.15
    em_iterations: Annotated[Whole, Meta(description="Maximum number of iterations of EM.")] = 200


class PeriEm(Settings, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="periem"):
    """Controllers in layers: deterministic sweeps with kicks, then EM from the best plan.

    Examples
    --------
    >>> import decpomdp as dp
    >>> fit = dp.plan("broadcast", dp.PeriEm(restarts=1), seed=1)
    >>> fit.facts["peri"] > 9
    True
    """

    runner: ClassVar[str] = "decpomdp.planners.periodic.method:PeriEmMethod"

    layers: Annotated[Layers | None, Meta(description="Layers of a plan; default: chosen by the search.")] = None
    width: Annotated[
        Width | tuple[Width, ...] | None, Meta(description="Nodes of a layer; default: chosen by the search.")
    ] = None
    restarts: Annotated[Count | None, Meta(description="Climbs; default: 24, or as many as the time limit allows.")] = (
        None
    )
    tuning: PeriEmTuning = PeriEmTuning()
