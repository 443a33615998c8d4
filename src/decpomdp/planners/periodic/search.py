"""One climb to a deterministic periodic plan, and which climb to make next.

A climb sweeps an open plan (finite horizon) a few times, closes it into a period and sweeps until nothing rises. Then
it is kicked: a random joint departure, sweeps, and what is worth at least as much is kept. A climb is over when
`patience` kicks in a row brought nothing.

Sizes are not known in advance. The first climbs go through SIZES; later ones by turns start afresh, at a size drawn
by how well it did, or go on from one of the best plans with more layers or nodes. Whatever a climb does is a function
of the seed, its number and what was told before it was made.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from decpomdp.core import InputError, checks
from decpomdp.kernels.model import OutcomeModel
from decpomdp.kernels.periodic import Plan, fill_joint, reach
from decpomdp.kernels.periodic_climb import kick, sweeps
from decpomdp.planners.periodic.plans import copied, enlarged, random_plan, room_for
from decpomdp.planners.stopping import PlanClock

SIZES = ((1, 3), (3, 4), (2, 3), (4, 5), (1, 5), (2, 5), (3, 6), (1, 8), (5, 4), (2, 8), (4, 7), (10, 4))
LARGEST = 3_000_000  # numbers in the tables of a plan that is drawn without being asked for
DEEPEST, WIDEST = 16, 12  # layers and nodes of a layer that a plan grows to: a sweep costs the square of the layers
WORK = 5_000  # places of a plan times kicks of a stretch
ELITES = 3  # plans that are gone on from


@dataclass(frozen=True, slots=True)
class PeriodicSettings:
    """Tunables; the same values serve every problem."""

    open_sweeps: int = 5  # of the finite horizon
    sweeps: int = 100  # of the period, at most
    sweeps_after: int = 20  # after a kick, at most
    idle: int = 2  # sweeps without a gain that end the first; after a kick one does
    patience: int = 100  # kicks without a gain that end a climb
    longest: int = 4  # steps of a kick's path
    precision: float = 1e-9  # of the largest possible value: a smaller gain is none
    openness: float = 0.02  # share of every row that EM finds open
    em_share: float = 0.15  # of the time limit that is kept for EM
    em_iterations: int = 200

    def __post_init__(self) -> None:
        for name in ("open_sweeps", "sweeps", "sweeps_after", "idle", "patience", "longest", "em_iterations"):
            checks.whole(name, getattr(self, name), 0 if name in ("open_sweeps", "em_iterations") else 1, 2**31)
        for name in ("precision", "openness", "em_share"):
            if not 0 < checks.number(name, getattr(self, name), 0, 1) < 1:
                raise InputError(f"{name}: expected a number between 0 and 1, got {getattr(self, name)}")


class PeriodicClimb:
    """One climb. `begin`: a closed plan to go on from; None: random."""

    def __init__(
        self, search: "Search", size: tuple[int, Sequence[int]], begin: Plan | None, seed: Sequence[int]
    ) -> None:
        self.search, self.size = search, size
        self.rng = np.random.default_rng(list(seed))
        self.plan = begin if begin is not None else random_plan(search.game, *size, self.rng)
        self.room = room_for(search.game, self.plan)
        self.fresh, self.begun = begin is None, False
        self.value = -np.inf
        self.idle = self.kicks = 0
        self.stretch = max(1, WORK // self.room.places.size)

    def advance(self) -> bool:
        """The first sweeps, or some kicks."""
        if not self.begun:
            self._begin()
            return False
        for _ in range(self.stretch):
            if self.search.clock.over() or self.over():
                break
            self._kick()
        return self.over()

    def over(self) -> bool:
        """Whether kicks have long brought nothing."""
        return self.idle >= self.search.settings.patience

    def promise(self) -> float:
        """The value of the plan so far."""
        return self.value

    def _begin(self) -> None:
        chosen, plan = self.search.settings, copied(self.plan)
        if self.fresh:
            self._swept(plan, False, chosen.open_sweeps, 1, -np.inf)
        value = self._swept(plan, True, chosen.sweeps, chosen.idle, -np.inf)
        self.plan, self.value, self.begun = plan, value, True

    def _kick(self) -> None:
        search, plan = self.search, copied(self.plan)
        self.kicks += 1
        kick(search.game, plan, self.room, search.guide, search.settings.longest, self._bits())
        value = self._swept(plan, True, search.settings.sweeps_after, 1, self.value - search.margin)
        self.idle = 0 if value > self.value + 10 * search.margin else self.idle + 1
        if value >= self.value - search.margin:
            self.plan, self.value = plan, max(value, self.value)
        else:
            self._mark()

    def _swept(self, plan: Plan, closed: bool, most: int, patience: int, hope: float) -> float:
        game, margin = self.search.game, self.search.margin
        stop = self.search.clock.stop
        return float(sweeps(game, plan, self.room, closed, most, patience, hope, margin, self._bits(), stop))

    def _mark(self) -> None:
        """Where the plan that is kept can be: the next kick needs it."""
        game, room = self.search.game, self.room
        for m in range(len(room.v)):
            fill_joint(game, self.plan, m, room.joint)
        reach(game, self.plan, room.joint, True, room.mark, room.places)

    def _bits(self) -> np.uint64:
        return np.uint64(self.rng.integers(2**63))


class Search:
    """What all climbs share: the problem, the sizes, the best plans."""

    def __init__(
        self,
        game: OutcomeModel,
        guide: np.ndarray,
        layers: int | None,
        widths: Sequence[int] | None,
        seed: int,
        clock: PlanClock,
        settings: PeriodicSettings,
    ) -> None:
        self.game, self.guide, self.seed, self.clock, self.settings = game, guide, seed, clock, settings
        self.layers, self.widths = layers, widths
        self.margin = settings.precision * max(float(np.abs(game.reward).max()), 1e-300) / (1 - game.discount)
        self.sizes = self._sizes()
        self.best: dict[tuple[int, tuple[int, ...]], tuple[float, Plan]] = {}  # by size

    def climb(self, number: int) -> PeriodicClimb:
        """The climb to make next."""
        seed = [self.seed, number]
        if number < len(self.sizes) or not self.best:
            return PeriodicClimb(self, self.sizes[number % len(self.sizes)], None, seed)
        rng = np.random.default_rng([*seed, 1])
        ranked = sorted(self.best.items(), key=lambda entry: -entry[1][0])
        if number % 2:
            plan = self._continued(ranked[int(rng.integers(min(ELITES, len(ranked))))][1][1], rng)
            return PeriodicClimb(self, (plan.act.shape[1], [int(w) for w in plan.widths]), plan, seed)
        weights = 0.7 ** np.arange(len(ranked))
        size = ranked[int(rng.choice(len(ranked), p=weights / weights.sum()))][0]
        return PeriodicClimb(self, size, None, seed)

    def tell(self, climb: PeriodicClimb) -> None:
        """Remember the best plan of every size."""
        key = (climb.size[0], tuple(climb.size[1]))
        if climb.begun and climb.value > self.best.get(key, (-np.inf, None))[0]:
            self.best[key] = (climb.value, climb.plan)

    def top(self) -> tuple[float, Plan] | None:
        """The best plan so far; of equal ones the first."""
        return max(self.best.values(), key=lambda entry: entry[0]) if self.best else None

    def _continued(self, plan: Plan, rng: np.random.Generator) -> Plan:
        """The same plan, or one with more freedom that is worth the same."""
        times, more = ((1, 0), (1, 1), (2, 0), (3, 0))[int(rng.integers(4))]
        times, more = (1 if self.layers else times), (0 if self.widths else more)
        widths = [int(w) + more for w in plan.widths]
        layers = plan.act.shape[1] * times
        fits = layers <= DEEPEST and max(widths) <= WIDEST and self._numbers(layers, widths) <= LARGEST
        return enlarged(self.game, plan, times, more, rng) if fits else copied(plan)

    def _sizes(self) -> list[tuple[int, tuple[int, ...]]]:
        """SIZES with what the user fixed, as far as they are not too large; at least one."""
        agents = len(self.game.actions)
        every = [
            (self.layers or layers, tuple(self.widths) if self.widths else (width,) * agents) for layers, width in SIZES
        ]
        fitting = [size for size in dict.fromkeys(every) if self._numbers(*size) <= LARGEST]
        return fitting or [(self.layers or 1, tuple(self.widths) if self.widths else (1,) * agents)]

    def _numbers(self, layers: int, widths: Sequence[int]) -> int:
        joint = int(np.prod([float(w) for w in widths]))
        return layers * joint * (len(self.game.start) + len(self.game.observation_parts))
