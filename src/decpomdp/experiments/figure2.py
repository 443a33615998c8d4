"""Figure 2: traffic with a hundred lights (a reconstruction); test reward and controller size per iteration.

Three learners on the same grid, with the same number of episodes per iteration and the same test episodes:

  sbpr-heuristic    Dec-SBPR that begins with the behaviour of the hand-coded rule
  sbpr-exploration  Dec-SBPR that begins at random and relies on exploration
  mcem              Monte-Carlo EM, three nodes per agent

After every few iterations the learner's team plays test episodes, as it is and with its likeliest choices only; the
better of both results is the point of the curve. The best iteration is not stored: a curve may fall. The policies that
need no learning are drawn as horizontal lines (levels).

Dec-SBPR's settings were tuned with seed 0, which is one of the seeds. So every claim is judged with and without it, and
the lower verdict counts.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from time import process_time

import msgspec
import numpy as np

from decpomdp.core import Controller, Team
from decpomdp.core.minimal import simplified
from decpomdp.core.run import Inputs, unlimited
from decpomdp.domains.traffic import ACTIONS, COLUMN, OBSERVATIONS, ROW, Traffic
from decpomdp.engines.threads import serial_products
from decpomdp.experiments.cells import Cell, Settings
from decpomdp.experiments.drawing import Panel, Picture, curve, level
from decpomdp.experiments.experiment import (
    LEAST_SEEDS,
    ClaimVerdict,
    Comparisons,
    Effort,
    Evidence,
    Experiment,
    Item,
    TextTable,
    judged,
    not_judged,
    sides,
    texts_of,
)
from decpomdp.experiments.rows import ROUNDING, ResultRows, above, compare, flat, mean_of
from decpomdp.interaction.afford import mcem_sizes
from decpomdp.interaction.episode_player import EpisodePlayer
from decpomdp.interaction.mcem.method import McemMethod
from decpomdp.interaction.mcem.settings import Mcem
from decpomdp.interaction.sbpr.many_method import ManyLearner
from decpomdp.interaction.sbpr.settings import SbprLoop, SbprTuning
from decpomdp.learners import StickBreaking

NAMES = {
    "sbpr-heuristic": "Dec-SBPR, heuristic first",
    "sbpr-exploration": "Dec-SBPR, exploration only",
    "mcem": "MCEM, 3 nodes",
}
POLICIES = ("random", "all-row", "all-column", "heuristic", "clock")  # that need no learning
LONGEST = 1000  # steps of a test episode
DRAWN = ("clock", "heuristic", "random")
TEXTS = texts_of("figure2")
FEW = TEXTS.limits["few"]
TUNED = 0  # the seed with which settings were tuned, on 10 x 10 lights
LESSER = ("no", "partly", "yes")


class CurvePoint(msgspec.Struct, frozen=True):
    """One test on one curve."""

    method: str
    seed: int
    iteration: int
    seconds: float  # of the processor, for learning without the tests
    value: float
    error: float  # standard error of the value
    nodes: float = 0.0  # per controller: occupied in the posterior, or the fixed size
    acting: float = 0.0  # per controller of the tested team after merging equivalent nodes
    sample_size: float | None = None  # smallest effective number of episodes over agents and steps


def cells(effort: Effort) -> list[Cell]:
    """Method x seed, and the policies that need no learning."""
    shared = {key: value for key, value in effort.items() if key != "seeds"}
    cost = 3.3e-5 * effort["iterations"] * effort["episodes"] * effort["side"] ** 2
    fixed = {"side": effort["side"], "tests": 4 * effort["tests"], "seed": 0, "policies": list(POLICIES)}
    grid = product(range(effort["seeds"]), NAMES)
    learned = [Cell(learning, {"method": method, "seed": seed, **shared}, cost) for seed, method in grid]
    return [*learned, Cell(fixed_policies, fixed, 3.0)]


Learned = tuple[Team, float, float | None]  # team, nodes, sample size


def learning(settings: Settings) -> list[CurvePoint]:
    """The points of one curve."""
    method, seed = settings["method"], settings["seed"]
    grid, inputs = Traffic(settings["side"]), Inputs(seed, 1)
    player = EpisodePlayer(grid, inputs)
    learner = _mcem(grid, inputs, settings) if method == "mcem" else _sbpr(grid, player, settings)
    horizon = player.horizon(None, SbprTuning().testing_tail, LONGEST)
    points, spent = [], 0.0
    for iteration in range(1, settings["iterations"] + 1):
        begin = process_time()
        team, nodes, size = next(learner)
        spent += process_time() - begin
        if iteration % settings["every"] == 0 or iteration == 1:
            played = [player.tested(one, settings["tests"], horizon, seed) for one in (team, team.decided())]
            best = max(played, key=lambda one: one.value)
            acting = float(np.mean(simplified(best.team).nodes))
            points.append(CurvePoint(method, seed, iteration, spent, best.value, best.error, nodes, acting, size))
    return points


def _sbpr(grid: Traffic, player: EpisodePlayer, settings: Settings) -> Iterator[Learned]:
    batch, heuristic = settings["episodes"], settings["method"] == "sbpr-heuristic"
    learner = ManyLearner(player, StickBreaking(), SbprLoop(batch=batch))
    start = learner.start_from(grid.policies()["heuristic"]) if heuristic else learner.start()
    state = learner.begin_many(start, batch)
    while True:
        with serial_products():
            state, facts, _ = learner.iterate_many(state, batch)
        posterior = learner.posterior(state.counts)
        size = facts["sample_size"]
        yield posterior.mean(), float(np.mean(posterior.sizes)), float(size) if isinstance(size, float) else None


def _mcem(grid: Traffic, inputs: Inputs, settings: Settings) -> Iterator[Learned]:
    chosen, now = Mcem(episodes=settings["episodes"], updates=settings["iterations"]), unlimited()
    method = McemMethod(grid, chosen, inputs)
    state = method.init(now)._replace(sizes=mcem_sizes(chosen, method.player))
    while True:
        state, row = method.step(state, now)
        if row is not None and state.climb is not None:
            yield method.team(state.climb.tables), float(chosen.nodes), None


def fixed_policies(settings: Settings) -> list[CurvePoint]:
    """Policies that need no learning, as points of iteration 0: those of the problem, and a clock for all lights."""
    grid, seed = Traffic(settings["side"]), settings["seed"]
    player = EpisodePlayer(grid, Inputs(seed))
    horizon = player.horizon(None, SbprTuning().testing_tail, LONGEST)
    after = [[COLUMN] * len(OBSERVATIONS), [ROW] * len(OBSERVATIONS)]  # row, column, row ... for any observation
    clock = Controller.deterministic([ROW, COLUMN], after, len(ACTIONS))
    teams = {**grid.policies(), "clock": Team.of(grid, [clock] * len(grid.agents))}
    tested = {name: player.tested(teams[name], settings["tests"], horizon, seed) for name in settings["policies"]}
    return [CurvePoint(name, seed, 0, 0.0, one.value, one.error) for name, one in tested.items()]


def learned_rows(rows: ResultRows) -> ResultRows:
    """The rows of learners, without those of fixed policies."""
    return ResultRows(row for row in rows if row["method"] in NAMES)


def tables(rows: ResultRows) -> list[TextTable]:
    """Values along the curves, sizes at the end, and the levels."""
    iterations = learned_rows(rows).distinct("iteration")
    shown = dict.fromkeys([*iterations[:: max(1, len(iterations) // 8)], iterations[-1]])
    lines = [(str(i), *(f"{rows.where(method=m, iteration=i)['value']:.1f}" for m in NAMES)) for i in shown]
    last = rows.where(iteration=iterations[-1])
    for key, words in (("nodes", "nodes at the end"), ("acting", "nodes that act differently"), ("seconds", "s")):
        lines.append((words, *(f"{last.where(method=method)[key].value:.2f}" for method in NAMES)))
    fixed = (row for row in rows if row["method"] not in NAMES)
    policies = tuple((str(row["method"]), f"{row['value']:.1f} ± {1.96 * row['error']:.1f}") for row in fixed)
    side = rows.first["side"]
    return [
        TextTable(f"{side} x {side} lights: test reward", ("iteration", *NAMES.values()), tuple(lines)),
        TextTable("Policies that need no learning", ("policy", "value"), policies),
    ]


def pictures(rows: ResultRows) -> list[Picture]:
    """Test reward, controller size."""
    places = learned_rows(rows).column("iteration")
    levels = [level(name, places, row["value"]) for name in DRAWN for row in rows.where(method=name)]
    value = [curve(rows.where(method=method), "iteration", "value", name) for method, name in NAMES.items()]
    size = [curve(rows.where(method=method), "iteration", "nodes", name) for method, name in NAMES.items()]
    size[0] = replace(size[0], style="wide")  # the curves of Dec-SBPR may coincide
    caption = TEXTS.words["caption"].format(side=rows.first["side"])
    panels = (
        Panel("", "iteration", "test reward", (*value, *levels)),
        Panel("", "iteration", "nodes per agent", tuple(size), span=(0, None)),
    )
    return [Picture("figure2", caption, (panels,))]


def _at_end(rows: ResultRows, method: str) -> list[float]:
    return rows.where(method=method).ends("iteration")[1].column("value")


def _handicap(rows: ResultRows) -> str:
    """The handicaps of MCEM."""
    some = rows.where(method="mcem")
    before, last = some.distinct("iteration")[-2:]
    values = [some.where(iteration=i).column("value") for i in (before, last)]
    gain = mean_of([new - old for old, new in zip(*values, strict=True)]).value
    return TEXTS.words["rising" if gain > ROUNDING else "still"].format(gain=gain, before=before)


def _order(rows: ResultRows) -> Evidence:
    ends = {method: _at_end(rows, method) for method in NAMES}
    against = {other: compare(ends["sbpr-heuristic"], ends[other]) for other in ("sbpr-exploration", "mcem")}
    items = [Item(sides(one.side), name=NAMES[other], against=one) for other, one in against.items()]
    values = "; ".join(f"{NAMES[method]} {mean_of(end):.1f}" for method, end in ends.items())
    return Evidence(items, ends=values, handicap=_handicap(rows))


def _above_level(rows: ResultRows, name: str) -> Evidence:
    """Compare with a policy that needs no learning, whose value has a test error, too."""
    learned, value = mean_of(_at_end(rows, "sbpr-heuristic")), rows.where(method=name).tested("value", "error")
    return Evidence([Item(sides(above(learned, value)))], learned=learned, name=name, value=value.value, rows=rows)


def _soon(rows: ResultRows) -> Evidence:
    some, mcem = rows.where(method="sbpr-exploration"), _at_end(rows, "mcem")
    tested = {i: compare(points.column("value"), mcem).side for i, points in some.groups("iteration").items()}
    behind = max((i for i, side in tested.items() if side != "above"), default=0)
    ahead = next((i for i in tested if i > behind), None)  # permanently
    holds = {"in a few": ahead is not None and ahead <= FEW, "for good": ahead is not None}
    when = "never permanently" if ahead is None else f"from iteration {ahead} on"
    first, end = ", ".join(str(i) for i in list(tested)[:4]), max(tested)
    return Evidence([Item(holds)], mcem=mean_of(mcem), when=when, first=first, end=end, handicap=_handicap(rows))


def _sizes(rows: ResultRows) -> Evidence:
    some = rows.where(method="sbpr-exploration")
    sizes = [mean.value for mean in some.means("nodes", "iteration").values()]
    end, preset = some.ends("iteration")[1]["nodes"].value, rows.where(method="mcem")["nodes"].value
    moved = max(sizes) - min(sizes) > ROUNDING
    holds = {"smaller": end < preset - ROUNDING, "shrunk": end < sizes[0] - ROUNDING, "moved": moved}
    inferred = TEXTS.words["moved" if moved else "unmoved"]
    return Evidence([Item(holds)], end=end, preset=preset, first=sizes[0], inferred=inferred)


def judged_without_tuned_seed(experiment: Experiment, rows: ResultRows) -> list[ClaimVerdict]:
    """The lower of the verdicts with and without the seed used for tuning."""
    others = ResultRows(row for row in rows if row["method"] in POLICIES or row["seed"] != TUNED)
    seeds, left = (len(learned_rows(some).distinct("seed")) for some in (rows, others))
    verdicts = judged(experiment, rows, 0)
    again = judged(experiment, others, 0) if left >= LEAST_SEEDS else [None] * len(verdicts)
    lesser = [_lesser(one, two, left) for one, two in zip(verdicts, again, strict=True)]
    return lesser if seeds >= LEAST_SEEDS else [not_judged(verdict, seeds) for verdict in lesser]


def _lesser(one: ClaimVerdict, two: ClaimVerdict | None, left: int) -> ClaimVerdict:
    words = TEXTS.words
    numbers = words["with_seed"].format(numbers=one.numbers, seed=TUNED) + " "
    if two is None:
        return replace(one, numbers=numbers + words["too_few"].format(left=left))
    seen = min(one.seen, two.seen, key=LESSER.index)
    return replace(one, seen=seen, numbers=numbers + words["lesser"].format(one=one.seen, two=two.seen))


rows = partial(flat, side="side")
COMPARISONS: Comparisons = {"order": _order, "above_level": _above_level, "soon": _soon, "sizes": _sizes}
EXPERIMENT = Experiment("figure2", cells, rows, tables, COMPARISONS, pictures, judged_without_tuned_seed)
