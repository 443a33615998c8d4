"""Figure 1 and its appendix: Mars rovers, learning from recorded episodes, sizes inferred or given.

K episodes of the semi-random behaviour (PBVI followed with probability 0.3). EM with |Z| nodes from random starts,
Dec-SBPR and its special case with one concentration (DP) from the best episodes with truncation 50. Value of the
posterior mean, exact; time to convergence. K = 300 is the paper's figure, K = 30 and 100 its appendix.
"""

from dataclasses import dataclass
from typing import Any

from decpomdp.core.fit import Row
from decpomdp.experiments.cells import Cell
from decpomdp.experiments.experiment import (
    Curve,
    Experiment,
    Panel,
    Picture,
    Results,
    Rows,
    Table,
    chosen,
    column,
    distinct,
)
from decpomdp.experiments.figure1_claims import claims
from decpomdp.experiments.judging import mean_of
from decpomdp.experiments.published import FOLLOW, TRUNCATION, C, D

WORK = "decpomdp.experiments.off_policy:work"
NAMES = {"sbpr": "Dec-SBPR", "dp": "DP", "em": "EM"}
ABOUT = (
    "No cap on the importance ratios, as in the paper. Values are exact, of the posterior mean. The effective sample "
    "size is the smallest over steps: how many of the K episodes carry the weight of the learned team. Error bars are "
    "standard deviations over seeds; every seed has its own episodes and its own start."
)


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is run."""

    seeds: int = 10
    problem: str = "marsrovers"
    episodes: tuple[int, ...] = (30, 100, 300)
    steps: int = 20
    sizes: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20)
    sweeps: int = 500
    tolerance: float = 1e-5
    truncation: int = TRUNCATION
    follow: float = FOLLOW


QUICK = Effort(seeds=3, sizes=(1, 2, 3, 5, 8, 12), sweeps=100, tolerance=1e-4)
FULL = Effort()


def cells(effort: Effort) -> list[Cell]:
    """Number of episodes x method (and size) x seed."""
    found = []
    for seed in range(effort.seeds):
        for episodes in effort.episodes:
            shared = settings(effort.problem, episodes, effort.steps, seed, effort.follow)
            shared |= {"sweeps": effort.sweeps, "tolerance": effort.tolerance}
            weight = episodes / 300
            em = ({**shared, "method": "em", "nodes": size} for size in effort.sizes)
            found += [Cell(WORK, each, 0.5 + 0.15 * each["nodes"]) for each in em]
            for method in ("sbpr", "dp"):
                given = {"method": method, "c": C, "d": D, "reading": "scale", "truncation": effort.truncation}
                found.append(Cell(WORK, {**shared, **given}, 1.0 + 0.06 * effort.sweeps * weight))
    return found


def settings(problem: str, episodes: int, steps: int, seed: int, follow: float) -> dict[str, Any]:
    """What the data of a cell are."""
    return {
        "problem": problem,
        "episodes": episodes,
        "steps": steps,
        "seed": seed,
        "follow": follow,
        "cap": None,
    }


def rows(results: Results) -> list[Row]:
    """One row per fit."""
    keys = ("problem", "episodes", "steps", "follow", "method", "seed")
    return [
        {**{key: cell.settings[key] for key in keys}, "preset": cell.settings.get("nodes"), **result}
        for cell, result in results
    ]


def tables(rows: Rows) -> list[Table]:
    """One line per number of episodes, method and size."""
    header = ("K", "method", "|Z|", "value", "sd", "best", "likeliest choices", "sample size", "sweeps", "s")
    keys = (
        (k, method, size) for k in distinct(rows, "episodes") for method in NAMES for size in _presets(rows, method)
    )
    lines = [_line(chosen(rows, episodes=k, method=method, preset=size)) for k, method, size in keys]
    note = "Sizes of EM are given, those of Dec-SBPR and DP are inferred (mean over agents and seeds)."
    return [Table("Sizes given and inferred", header, tuple(lines), note)]


def _presets(rows: Rows, method: str) -> list[int | None]:
    return sorted(distinct(chosen(rows, method=method), "preset"), key=lambda size: size or 0)


def _line(some: Rows) -> tuple[str, ...]:
    value, preset = mean_of(column(some, "value")), some[0]["preset"]
    size = f"{preset}" if preset is not None else f"{mean_of(column(some, 'inferred')).value:.1f} inferred"
    means = [mean_of(column(some, key)).value for key in ("decided", "sample_size", "sweeps", "seconds")]
    told = [f"{value.value:.2f}", f"{value.spread:.2f}", f"{value.most:.2f}"]
    told += [f"{means[0]:.2f}", f"{means[1]:.1f}", f"{means[2]:.0f}", f"{means[3]:.2f}"]
    return str(some[0]["episodes"]), NAMES[str(some[0]["method"])], size, *told


def pictures(rows: Rows) -> list[Picture]:
    """Values above, times below; one column per number of episodes."""
    counts = distinct(rows, "episodes")
    top = tuple(_panel(chosen(rows, episodes=k), f"K = {k}", "value", "value") for k in counts)
    low = tuple(_panel(chosen(rows, episodes=k), "", "seconds", "processor seconds to the end") for k in counts)
    caption = (
        "Mars rovers from semi-random episodes: value (above) and time (below) of EM with a given number of nodes, of "
        "Dec-SBPR and of DP, whose sizes are inferred. Error bars and bands: one standard deviation over seeds."
    )
    return [Picture("figure1", caption, (top, low))]


def _panel(some: Rows, title: str, key: str, up: str) -> Panel:
    em = chosen(some, method="em")
    sizes = sorted(distinct(em, "preset"))
    means = [mean_of(column(chosen(em, preset=size), key)) for size in sizes]
    x = tuple(float(size) for size in sizes)
    curves = [Curve("EM, mean", x, tuple(m.value for m in means), tuple(m.spread for m in means))]
    if key == "value":
        curves.append(Curve("EM, best", x, tuple(m.most for m in means), style="dotted"))
    for method in ("sbpr", "dp"):
        m = mean_of(column(chosen(some, method=method), key))
        curves.append(Curve(NAMES[method], (x[0], x[-1]), (m.value,) * 2, (m.spread,) * 2, "level"))
    return Panel(title, "|Z| of EM", up, tuple(curves), from_zero=key != "value")


EXPERIMENT = Experiment(
    "figure1",
    "Figure 1: sizes inferred and sizes given, Mars rovers",
    ABOUT,
    {"quick": QUICK, "full": FULL},
    cells,
    rows,
    tables,
    pictures,
    claims,
)
