"""Table 1: how the time of one iteration grows with K, N, T, |Z| and |S|, compared with the paper's orders.

A cell measures one iteration of the learner and its parts on random data of a given size; only for |S|, episodes are
played on a (random) model with that many states. Times are processor seconds on one thread, the least of several.

Exponents are slopes on logarithmic axes, over all sizes and from each size to the next. The paper's exponents are those
of its worst case or, with a reward at the end only, of its best case. Between the two largest sizes overheads matter
least, but that exponent depends on two measurements. So the one over all sizes counts, too; either alone is "partly".
"""

from collections.abc import Callable
from functools import partial
from time import process_time
from typing import Any

import msgspec
import numpy as np

from decpomdp.core import Agent, DecPOMDP, Episodes, Team
from decpomdp.core.agent import numbered
from decpomdp.experiments.cells import Cell, Settings
from decpomdp.experiments.drawing import Curve, Panel, Picture
from decpomdp.experiments.experiment import Effort, Evidence, Experiment, Item, TextTable, judged, text_table, texts_of
from decpomdp.experiments.published import COMPLEXITY, ORDERS
from decpomdp.experiments.rows import ResultRows, exponent, flat
from decpomdp.filtering.filter import cumulated, filtered, lay_out
from decpomdp.learners import StickBreaking, behaviour
from decpomdp.learners.posterior import AgentPosterior, Counts, updated
from decpomdp.learners.sweep import Task, count, evaluate, update
from decpomdp.learners.weighing import by_reward, weigh
from decpomdp.rollouts import simulate

ACTIONS, SYMBOLS = 4, 3
TEXTS = texts_of("complexity")
NEAR, SQUARE = TEXTS.limits["near"], TEXTS.limits["square"]
NAMES = {
    "K": "episodes K",
    "N": "agents N",
    "T": "length T, reward at every step",
    "T terminal": "length T, reward at the end only",
    "Z": "nodes |Z|",
    "S": "states |S|",
}


class Times(msgspec.Struct, frozen=True):
    """The result of a cell: seconds of an iteration and of its parts."""

    whole_seconds: float
    count_seconds: float
    filter_seconds: float
    weigh_seconds: float
    bound_seconds: float


def cells(effort: Effort) -> list[Cell]:
    """Varied quantity x its sizes x seeds; each runs alone."""
    planned = []
    for seed in range(effort["seeds"]):
        for vary, sizes in effort["sizes"].items():
            for size in sizes:
                held = {**effort["base"], "S": None, vary.partition(" ")[0]: size, "terminal": vary == "T terminal"}
                settings = {"vary": vary, "size": size, "repeats": effort["repeats"], "seed": seed, **held}
                cost = held["K"] * held["N"] * held["T"] * held["Z"] ** 2 / 7.2e7  # of the base: about 35 ms
                planned.append(Cell(work, settings, 0.3 + 0.1 * effort["repeats"] * cost, alone=True))
    return planned


def work(settings: Settings) -> Times:
    """Settings are K, N, T, Z, S (None: no model), terminal, repeats, seed."""
    rng = np.random.default_rng(settings["seed"])
    data = _played(settings, rng) if settings["S"] else _random(settings, rng)
    steps = by_reward(data, behaviour.log_behaviour(data))
    task = Task(lay_out(data, settings["Z"]), steps, float(data.count), 1.0, 1)
    posterior = tuple(_posterior(agent, settings["Z"], rng) for agent in data.agents)
    return _timed(task, posterior, settings["repeats"])


def _timed(task: Task, posterior: tuple[AgentPosterior, ...], repeats: int) -> Times:
    """The least time of every part; the first round is discarded, because it may load compiled code."""
    tables = evaluate(task, posterior).tables
    logs, _ = filtered(task.layout, tables, False, 1)
    rounds = []
    for _ in range(repeats + 1):
        evaluating, evaluated = _took(partial(evaluate, task, posterior))
        counting, counts = _took(partial(count, task, evaluated))
        updating, _ = _took(partial(update, evaluated, counts))
        filtering, _ = _took(partial(filtered, task.layout, tables, False, 1))
        weighing, _ = _took(lambda: weigh(task.steps, cumulated(logs, task.layout.episodes), 1.0))
        bounding, _ = _took(lambda: sum(agent.divergence() for agent in posterior))
        rounds.append((evaluating + counting + updating, counting, filtering, weighing, bounding))
    return Times(*(min(part) for part in zip(*rounds[1:], strict=True)))


def _took(part: Callable[[], Any]) -> tuple[float, Any]:
    began = process_time()
    result = part()
    return process_time() - began, result


def _random(settings: Settings, rng: np.random.Generator) -> Episodes:
    """Random actions, observations and rewards."""
    episodes, horizon, agents = settings["K"], settings["T"], settings["N"]
    count = episodes * horizon
    seen = rng.integers(0, SYMBOLS, (count, agents), dtype=np.int16)
    seen[::horizon] = -1
    rewards = rng.random(count)
    if settings["terminal"]:
        rewards[np.arange(count) % horizon != horizon - 1] = 0.0
    return Episodes(
        _agents(agents),
        np.arange(episodes + 1) * horizon,
        seen,
        rng.integers(0, ACTIONS, (count, agents), dtype=np.int16),
        np.full((count, agents), 1 / ACTIONS, np.float32),
        rewards,
        0.99,
    )


def _played(settings: Settings, rng: np.random.Generator) -> Episodes:
    """Episodes of a random problem with S states; the learner does not observe states."""
    agents, states = _agents(settings["N"]), settings["S"]
    joint, seen = ACTIONS ** len(agents), SYMBOLS ** len(agents)
    transition = rng.dirichlet(np.ones(states), size=(joint, states))
    observation = rng.dirichlet(np.ones(seen), size=(joint, states))
    start, reward = np.eye(states)[0], rng.random((joint, states))
    model = DecPOMDP(agents, numbered(states), start, transition, observation, reward, 0.9)
    return simulate(model, Team.uniform(model), settings["K"], settings["T"], settings["seed"], 1)


def _agents(number: int) -> tuple[Agent, ...]:
    return tuple(Agent(f"agent{n}", numbered(ACTIONS), numbered(SYMBOLS)) for n in range(number))


def _posterior(agent: Agent, nodes: int, rng: np.random.Generator) -> AgentPosterior:
    """A posterior that uses all its nodes."""
    counts = Counts(
        np.zeros((SYMBOLS, nodes)),
        rng.gamma(5.0, size=(nodes, ACTIONS)),
        rng.gamma(5.0, size=(nodes, ACTIONS, SYMBOLS, nodes)),
    )
    return updated(agent, StickBreaking().priors(agent), counts)


def times_of(rows: ResultRows, vary: str, part: str) -> tuple[list[int], list[float]]:
    """The sizes and the times of a part, the least over seeds."""
    groups = rows.where(vary=vary).groups("size")
    return sorted(groups), [min(groups[size].column(f"{part}_seconds")) for size in sorted(groups)]


def slope(rows: ResultRows, vary: str, part: str) -> float:
    """The exponent of a part's time over all sizes."""
    return exponent(*times_of(rows, vary, part))


def local_slopes(rows: ResultRows, vary: str, part: str) -> list[float]:
    """The exponents between each size and the next."""
    sizes, times = times_of(rows, vary, part)
    return [exponent(sizes[i : i + 2], times[i : i + 2]) for i in range(len(sizes) - 1)]


def order_of(part: str, vary: str) -> float:
    """The paper's exponent of a part, or of the whole iteration; a sum over agents grows with their number.

    >>> order_of("count", "T"), order_of("count", "T terminal"), order_of("bound", "N"), order_of("weigh", "Z")
    (2.0, 1.0, 1.0, 0.0)
    """
    if part == "whole":
        return ORDERS[vary]
    _, best, worst = COMPLEXITY[part]
    factors = (best if vary == "T terminal" else worst).replace("sum", "N").split()
    powers = {name: float(power or 1) for name, _, power in (factor.partition("^") for factor in factors)}
    return powers.get(vary.partition(" ")[0], 0.0)


def tables(rows: ResultRows) -> list[TextTable]:
    """The paper's table, and our exponents."""
    orders = tuple((f"{symbol} ({part})", best, worst) for part, (symbol, best, worst) in COMPLEXITY.items())
    lines = []
    for vary, some in rows.groups("vary").items():
        parts = {part: f"{slope(rows, vary, part):.2f} ({order_of(part, vary):g})" for part in COMPLEXITY}
        whole = {"order": ORDERS[vary], "slope": slope(rows, vary, "whole")}
        times = [1e3 * seconds for seconds in some.column("whole_seconds")]
        spans = {"sizes": some["size"], "least": min(times), "most": max(times)}
        lines.append({"name": NAMES[vary], **spans, **whole, **parts})
    return [
        TextTable("The paper's orders", ("part", "best case", "worst case"), orders),
        text_table("Exponents", TEXTS.columns["exponents"], lines, TEXTS.words["parts"]),
    ]


def pictures(rows: ResultRows) -> list[Picture]:
    """Time against each size, on logarithmic axes."""
    panels = [_panel(rows, vary) for vary in rows.distinct("vary")]
    lines = tuple(tuple(panels[i : i + 3]) for i in range(0, len(panels), 3))
    return [Picture("complexity", TEXTS.words["caption"], lines)]


def _panel(rows: ResultRows, vary: str) -> Panel:
    curves = []
    for part in ("whole", "filter", "count"):
        sizes, times = times_of(rows, vary, part)
        name = f"{part}: {slope(rows, vary, part):.2f}"
        curves.append(Curve(name, tuple(map(float, sizes)), tuple(1e3 * seconds for seconds in times)))
    return Panel(NAMES[vary], vary.partition(" ")[0], "ms", tuple(curves), logarithmic="xy")


def _growth(rows: ResultRows, part: str, *varied: str) -> Evidence | None:
    """The exponents of a part for each varied quantity that was measured, against the paper's orders."""
    items = [_exponents(rows, vary, part) for vary in varied if rows.where(vary=vary)]
    if not items:
        return None
    remark = ""
    if all(item.holds["slower"] for item in items):
        remark = TEXTS.words["slower"]
    elif part == "weigh" and all(item.holds["steeper"] for item in items):
        remark = TEXTS.words["with_length"]
    orders = " and ".join(dict.fromkeys(f"{order_of(part, vary):g}" for vary in varied))
    return Evidence(items, orders=orders, remark=f" {remark}".rstrip())


def _exponents(rows: ResultRows, vary: str, part: str) -> Item:
    """Over all sizes and from each size to the next."""
    over_all, local, order = slope(rows, vary, part), local_slopes(rows, vary, part), order_of(part, vary)
    holds = {
        "near": abs(over_all - order) <= NEAR,
        "near at the largest": abs(local[-1] - order) <= NEAR,
        "slower": max(local) < order - NEAR,
        "steeper": over_all > order + NEAR,
        "at least linear": min(local) >= 1.0 - NEAR,
        "at most square": max(local) <= SQUARE + NEAR,
    }
    return Item(holds, name=NAMES[vary], slope=over_all, words=", ".join(f"{each:.2f}" for each in local))


rows, judge = partial(flat, keys=("vary", "size", "K", "N", "T", "Z", "S", "seed")), partial(judged, least_seeds=1)
EXPERIMENT = Experiment("complexity", cells, rows, tables, {"growth": _growth}, pictures, judge)
