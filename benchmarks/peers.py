"""Other ways to learn from logs, on the same logs: values against the number of episodes.

    python benchmarks/peers.py --ways clone "q last" "q window" --seeds 1
    python benchmarks/peers.py --figure docs/pictures/peers.png        runs what is missing, then draws

clone       behaviour cloning: the mean of Dec-SBPR with equal utilities, 5 s of processor time
q last      tabular Q-learning of every agent from the team's rewards; its memory is the last observation
q window    the same with the last two observations
cql         conservative Q-learning with a recurrent net (`cql.py`); needs torch
logs        `decpomdp learn LOGS`, 60 s of processor time on one thread

Q-learning backs up actions that occur at least three times; an unknown memory falls back to its last observation.
Values are exact, those of `cql` means of 5000 played episodes of 60 steps (0.2 % of a value is missing).
Finished cells are kept in `peers.jsonl`, one line each; all so far are from one busy core, those of `clone`, `cql` and
`logs` with one seed. Under a time limit `logs` can differ from run to run.
"""

import argparse
import itertools
import json
import time
import warnings
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
from logs import NOISE, logs, team_of

import decpomdp as dp
from decpomdp.core import run
from decpomdp.domains.references import best_value

TITLES = {
    "dectiger": "Dec-Tiger",
    "recycling": "Recycling",
    "broadcast": "Broadcast",
    "boxpushing": "Box pushing",
    "gridsmall": "GridSmall",
    "marsrovers": "Mars rovers",
    "random": "random",
    "30 %": "good team, 30 % noise",
    "mixed": "half random, half 10 % noise",
}
BEHAVIOURS = ("random", "30 %", "mixed")
PROBLEMS = tuple(name for name in TITLES if name not in BEHAVIOURS)
LOOKS = {  # way: label, colour and mark in the figure
    "clone": ("behaviour cloning", "#999999", "s--"),
    "q last": ("Q-learning, last observation", "#e69f00", "^:"),
    "q window": ("Q-learning, last two", "#d55e00", "v:"),
    "cql": ("CQL, recurrent net", "#0072b2", "D-."),
    "logs": ("decpomdp learn LOGS", "#009e73", "o-"),
}
LIMIT, CLONING = 60.0, 5.0  # processor seconds of `logs` and of the clone
SWEEPS, FEWEST = 300, 3  # of Q-learning; occurrences of a pair that is backed up


def cloned(data: dp.Episodes, seed: int) -> dp.Team:
    return dp.learn(data, dp.Sbpr(utility="equal", judge=False), seed=seed, threads=1, time_limit=CLONING).team


def q_learned(data: dp.Episodes, window: int) -> dp.Team:
    """Every agent alone; its memory is a number in base |O| + 1 of its last observations, 0 for none."""
    controllers = []
    for n, agent in enumerate(data.agents):
        base, actions = len(agent.observations) + 1, len(agent.actions)
        choice = np.zeros(1, int)
        for width in range(1, window + 1):
            q = _q_values(data, n, width)  # [m, a] -inf: unknown
            known = np.isfinite(q).any(1)
            choice = np.where(known, q.argmax(1), choice[np.arange(len(q)) % len(choice)])
        count = base**window
        onward = [[(m * base + o + 1) % count for o in range(base - 1)] for m in range(count)]
        controller = dp.Controller.deterministic(choice.tolist(), onward, actions)
        controllers.append(replace(controller, initial_given=np.eye(count)[1:base]))
    return dp.Team.of(data, controllers)


def _q_values(data: dp.Episodes, n: int, window: int) -> np.ndarray:
    base, actions = len(data.agents[n].observations) + 1, len(data.agents[n].actions)
    count, starts, ends = base**window, data.offsets[:-1], data.offsets[1:] - 1
    memory, seen = np.zeros(data.steps, int), data.observations[:, n].astype(int) + 1
    for first, last in zip(starts, ends, strict=True):
        at = 0
        for r in range(first, last + 1):
            memory[r] = at = (at * base + seen[r]) % count
    pair = memory * actions + data.actions[:, n]
    onward, followed = np.ones(data.steps, bool), np.ones(data.steps, bool)
    onward[ends] = False
    followed[ends] = data.terminated  # what follows a truncated episode is unknown
    times, continued = (np.bincount(pair[which], minlength=count * actions) for which in (slice(None), followed))
    rewards = np.bincount(pair, data.rewards, count * actions) / np.maximum(times, 1)
    moves = np.zeros((count * actions, count))
    rows = np.flatnonzero(onward)
    np.add.at(moves, (pair[rows], memory[rows + 1]), 1.0)
    moves /= np.maximum(continued, 1)[:, None]
    q = np.where(times >= FEWEST, 0.0, -np.inf)
    for _ in range(SWEEPS):
        best = q.reshape(count, actions).max(1)
        q = np.where(times >= FEWEST, rewards + data.discount * moves @ np.where(np.isfinite(best), best, 0.0), -np.inf)
    return q.reshape(count, actions)


def by_cql(data: dp.Episodes, problem: str, seed: int) -> float:
    import cql

    return cql.value(cql.learned(data, seed), dp.DenseSimulator(problem), seed)[0]


def by_us(data: dp.Episodes, problem: str, seed: int) -> float:
    return _exact(dp.learn(data, seed=seed, threads=1, time_limit=LIMIT).team, problem)


def _exact(team: dp.Team, problem: str) -> float:
    return dp.evaluate(team, problem).value


WAYS = {  # name: value of what it learns; the cheap ones first
    "clone": lambda data, problem, seed: _exact(cloned(data, seed), problem),
    "q last": lambda data, problem, seed: _exact(q_learned(data, 1), problem),
    "q window": lambda data, problem, seed: _exact(q_learned(data, 2), problem),
    "cql": by_cql,
    "logs": by_us,
}


class Cell(NamedTuple):
    """One log and one way to learn from it."""

    seed: int
    way: str
    problem: str
    behaviour: str
    episodes: int


def behaved(problem: str, behaviour: str, team: dp.Team) -> float:
    """The exact value of a behaviour."""
    if behaviour == "mixed":
        return float(np.mean([behaved(problem, each, team) for each in ("random", "10 %")]))
    acted = dp.Team.uniform(dp.load(problem)) if behaviour == "random" else team.exploring(NOISE[behaviour])
    return _exact(acted, problem)


def drawn(values: dict[Cell, float], teams: Path, path: Path) -> None:
    """Value against the number of episodes: a row per problem, a column per behaviour, medians and ranges over seeds.

    Values far below the others, such as those of most behaviours and clones, are drawn at the lower edge.
    """
    from matplotlib.figure import Figure

    problems = [name for name in PROBLEMS if any(cell.problem == name for cell in values)]
    behaviours = [name for name in BEHAVIOURS if any(cell.behaviour == name for cell in values)]
    counts = sorted({cell.episodes for cell in values})
    figure = Figure(figsize=(7.6, 0.7 + 1.55 * len(problems)), layout="constrained")
    axes = figure.subplots(len(problems), len(behaviours), squeeze=False, sharex=True, sharey="row")
    for row, problem in zip(axes, problems, strict=True):
        model, expert = dp.load(problem), team_of(problem, teams)
        best = best_value(model) or _exact(expert, problem)
        shown = [value for cell, value in values.items() if cell.problem == problem and cell.way != "clone"]
        floor = best - 1.3 * (best - float(np.quantile(shown, 0.1)))
        for axis, behaviour in zip(row, behaviours, strict=True):
            axis.axhline(best, color="0.75", lw=1, label="best known")
            axis.axhline(max(behaved(problem, behaviour, expert), floor), color="0.5", lw=1, ls=":", label="behaviour")
            for place, (way, (label, colour, mark)) in enumerate(LOOKS.items()):
                seeds = defaultdict(list)
                for cell, value in values.items():
                    if cell[1:4] == (way, problem, behaviour):
                        seeds[counts.index(cell.episodes)].append(max(value, floor))
                at = sorted(seeds)
                middle = np.array([np.median(seeds[each]) for each in at])
                ends = np.array([(min(seeds[each]), max(seeds[each])) for each in at]).reshape(-1, 2).T
                where = np.array(at) + 0.06 * (place - 2)
                style = {"color": colour, "lw": 1.6 if way == "logs" else 1.0, "ms": 3.5, "label": label}
                axis.errorbar(where, middle, abs(ends - middle), fmt=mark, elinewidth=0.8, **style)
            axis.set_xticks(range(len(counts)), [str(count) for count in counts])
            axis.set_ylim(floor - 0.06 * (best - floor), best + 0.08 * (best - floor))
            axis.spines[["top", "right"]].set_visible(False)
            axis.tick_params(labelsize=7)
        row[0].set_ylabel(TITLES[problem], fontsize=9)
    for axis, behaviour in zip(axes[0], behaviours, strict=True):
        axis.set_title(TITLES[behaviour], fontsize=9)
    for axis in axes[-1]:
        axis.set_xlabel("episodes", fontsize=8)
    handles = dict(zip(*axes[0, 0].get_legend_handles_labels()[::-1], strict=True))
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="*", default=PROBLEMS)
    parser.add_argument("--behaviours", nargs="*", default=BEHAVIOURS)
    parser.add_argument("--episodes", nargs="*", type=int, default=[100, 300, 1000, 3000])
    parser.add_argument("--seeds", nargs="*", type=int, default=[1, 2, 3])
    parser.add_argument("--ways", nargs="*", choices=WAYS, default=list(WAYS))
    parser.add_argument("--teams", type=Path, default=Path("build/teams"))
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).with_suffix(".jsonl"), help="finished cells are not run again"
    )
    parser.add_argument("--figure", type=Path, help="draw all finished cells")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    run.time = SimpleNamespace(monotonic=time.process_time, process_time=time.process_time, sleep=time.sleep)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.touch()
    rows = [json.loads(line) for line in given.out.read_text().splitlines()]
    values = {Cell(*row["cell"]): row["value"] for row in rows}
    cells = itertools.product(given.seeds, given.ways, given.problems, given.behaviours, given.episodes)
    for cell in itertools.starmap(Cell, cells):
        if cell not in values:
            data = logs(cell.problem, team_of(cell.problem, given.teams), cell.behaviour, cell.episodes, cell.seed)
            began = time.process_time()
            values[cell] = WAYS[cell.way](data, cell.problem, cell.seed)
            row = {"cell": cell, "value": values[cell], "seconds": round(time.process_time() - began, 1)}
            with given.out.open("a") as file:
                file.write(json.dumps(row) + "\n")
    groups = defaultdict(list)
    for cell, value in values.items():
        groups[cell._replace(seed=0)].append(value)
    for cell, found in groups.items():
        spread = f"median {np.median(found):.2f} ({min(found):.2f} to {max(found):.2f}), {len(found)} seeds"
        print(f"{cell.problem} {cell.behaviour} {cell.episodes} {cell.way}: {spread}")
    if given.figure:
        drawn(values, given.teams, given.figure)


if __name__ == "__main__":
    main()
