"""One climb to a deterministic periodic plan, and which climb to make next.

A climb sweeps an open plan (finite horizon) a few times, closes it into a period and sweeps until the value stops
rising. Then come kicks: a random joint change, sweeps, and the result is accepted if its value is no lower. A climb is
over after `patience` kicks in a row without a gain.

The first climbs use the sizes in SIZES; later ones alternate between a random plan, of a size drawn by rank, and one of
the best plans with more layers or nodes. A climb is a function of the seed, its number and the best plans before it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.kernels.model import DiscountedModel
from decpomdp.kernels.periodic import LayeredPlan, PlanBuffers, fill_joint, reach
from decpomdp.kernels.periodic_climb import kick, sweeps
from decpomdp.planners.periodic.plans import buffers_for, copied, enlarged, random_plan
from decpomdp.planners.periodic.settings import PeriEmTuning

SIZES = ((1, 3), (3, 4), (2, 3), (4, 5), (1, 5), (2, 5), (3, 6), (1, 8), (5, 4), (2, 8), (4, 7), (10, 4))
LARGEST = 3_000_000  # numbers in the tables of a plan whose size the search chooses
DEEPEST, WIDEST = 16, 12  # layers and nodes of a layer that a plan grows to: a sweep costs the square of the layers
WORK = 5_000  # places of a plan times kicks of a stretch
ELITES = 3  # best plans from which climbs start

Size = tuple[int, tuple[int, ...]]  # layers, and nodes of a layer per agent
Stop = NDArray[np.int64]  # [1]; not 0: end early


class PlanClimb(NamedTuple):
    """The state of a climb. Values are solved from the last solution, so its arrays are part of it."""

    number: int
    size: Size
    plan: LayeredPlan
    random: np.random.Generator
    v: NDArray[np.float64]  # [m, s, q]
    f: NDArray[np.float64]  # [m, s, q]
    mark: NDArray[np.bool_]  # [m, s, q]
    fresh: bool  # whether it started from a random plan
    begun: bool = False
    value: float = -np.inf
    idle: int = 0  # kicks without a gain
    kicks: int = 0

    def bits(self) -> np.uint64:
        return np.uint64(self.random.integers(2**63))


class BestPlan(NamedTuple):
    """The best plan of a size."""

    size: Size
    value: float
    plan: LayeredPlan


class PlanSearch:
    """Starts and advances climbs on a problem."""

    def __init__(
        self,
        model: DiscountedModel,
        guide: NDArray[np.int64],  # [s]
        layers: int | None,
        widths: tuple[int, ...] | None,
        seed: int,
        tuning: PeriEmTuning,
    ) -> None:
        self.model, self.guide, self.seed, self.tuning = model, guide, seed, tuning
        self.layers, self.widths = layers, widths
        self.margin = tuning.precision * max(float(np.abs(model.reward).max()), 1e-300) / (1 - model.discount)
        self.sizes = self._sizes()

    def climb(self, number: int, best: Sequence[BestPlan]) -> PlanClimb:
        """The climb with this number; it depends on the best plans so far."""
        if number < len(self.sizes) or not best:
            return self.new_climb(number, self.sizes[number % len(self.sizes)])
        rng = np.random.default_rng([self.seed, number, 1])
        ranked = sorted(best, key=lambda entry: -entry.value)
        if number % 2:
            plan = self._continued(ranked[int(rng.integers(min(ELITES, len(ranked))))].plan, rng)
            return self.new_climb(number, (plan.act.shape[1], tuple(int(w) for w in plan.widths)), plan)
        weights = 0.7 ** np.arange(len(ranked))
        return self.new_climb(number, ranked[int(rng.choice(len(ranked), p=weights / weights.sum()))].size)

    def new_climb(self, number: int, size: Size, begin: LayeredPlan | None = None) -> PlanClimb:
        """A climb from a closed plan, or from a random one."""
        random = np.random.default_rng([self.seed, number])
        plan = random_plan(self.model, *size, random) if begin is None else begin
        buffers = buffers_for(self.model, plan)
        return PlanClimb(number, size, plan, random, buffers.v, buffers.f, buffers.mark, begin is None)

    def buffers(self, climb: PlanClimb) -> PlanBuffers:
        return buffers_for(self.model, climb.plan)._replace(v=climb.v, f=climb.f, mark=climb.mark)

    def advanced(self, climb: PlanClimb, buffers: PlanBuffers, stop: Stop) -> PlanClimb:
        """The climb after its first sweeps, or after some kicks."""
        if not climb.begun:
            return self._begun(climb, buffers, stop)
        for _ in range(max(1, WORK // buffers.places.size)):
            if stop[0] or self.over(climb):
                break
            climb = self._kicked(climb, buffers, stop)
        return climb

    def over(self, climb: PlanClimb) -> bool:
        return climb.idle >= self.tuning.patience

    def _begun(self, climb: PlanClimb, buffers: PlanBuffers, stop: Stop) -> PlanClimb:
        tuning, plan = self.tuning, copied(climb.plan)
        if climb.fresh:
            self._swept(climb, plan, buffers, False, tuning.open_sweeps, 1, -np.inf, stop)
        value = self._swept(climb, plan, buffers, True, tuning.sweeps, tuning.idle, -np.inf, stop)
        return climb._replace(plan=plan, value=value, begun=True)

    def _kicked(self, climb: PlanClimb, buffers: PlanBuffers, stop: Stop) -> PlanClimb:
        plan = copied(climb.plan)
        kick(self.model, plan, buffers, self.guide, self.tuning.longest, climb.bits())
        lowest = climb.value - self.margin
        value = self._swept(climb, plan, buffers, True, self.tuning.sweeps_after, 1, lowest, stop)
        idle = 0 if value > climb.value + 10 * self.margin else climb.idle + 1
        climb = climb._replace(kicks=climb.kicks + 1, idle=idle)
        if value >= lowest:
            return climb._replace(plan=plan, value=max(value, climb.value))
        mark_reached(self.model, climb.plan, buffers)  # the next kick needs it
        return climb

    def _swept(
        self,
        climb: PlanClimb,
        plan: LayeredPlan,
        buffers: PlanBuffers,
        closed: bool,
        most: int,
        patience: int,
        hope: float,
        stop: Stop,
    ) -> float:
        """Sweep `plan` in place; returns its value."""
        return float(sweeps(self.model, plan, buffers, closed, most, patience, hope, self.margin, climb.bits(), stop))

    def _continued(self, plan: LayeredPlan, rng: np.random.Generator) -> LayeredPlan:
        """The same plan, or an enlarged one of the same value."""
        times, more = ((1, 0), (1, 1), (2, 0), (3, 0))[int(rng.integers(4))]
        times, more = (1 if self.layers else times), (0 if self.widths else more)
        widths = [int(w) + more for w in plan.widths]
        layers = plan.act.shape[1] * times
        fits = layers <= DEEPEST and max(widths) <= WIDEST and self._numbers(layers, widths) <= LARGEST
        return enlarged(self.model, plan, times, more, rng) if fits else copied(plan)

    def _sizes(self) -> list[Size]:
        """SIZES with the layers or widths of the settings, without those that are too large; at least one."""
        agents = len(self.model.actions)
        every = [(self.layers or layers, self.widths or (width,) * agents) for layers, width in SIZES]
        fitting = [size for size in dict.fromkeys(every) if self._numbers(*size) <= LARGEST]
        return fitting or [(self.layers or 1, self.widths or (1,) * agents)]

    def _numbers(self, layers: int, widths: Sequence[int]) -> int:
        joint = int(np.prod([float(w) for w in widths]))
        return layers * joint * (len(self.model.start) + len(self.model.observation_parts))


def mark_reached(model: DiscountedModel, plan: LayeredPlan, buffers: PlanBuffers) -> None:
    """Mark the places that a closed plan reaches, in buffers.mark."""
    for m in range(len(buffers.v)):
        fill_joint(model, plan, m, buffers.joint)
    reach(model, plan, buffers.joint, True, buffers.mark, buffers.places)


def with_climb(best: Sequence[BestPlan], climb: PlanClimb) -> list[BestPlan]:
    """The best plan of every size, in the order in which the sizes were tried."""
    values = {entry.size: entry.value for entry in best}
    if not climb.begun or climb.value <= values.get(climb.size, -np.inf):
        return list(best)
    new = BestPlan(climb.size, climb.value, climb.plan)
    if climb.size not in values:
        return [*best, new]
    return [new if entry.size == climb.size else entry for entry in best]
