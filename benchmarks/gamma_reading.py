"""Is d in eta ~ Gamma(c, d) a scale or a rate? The table of docs/formulas.md.

    python benchmarks/gamma_reading.py        (prints Markdown; under a minute)

Every line is three fits (seeds 0, 1, 2 of the data) with the paper's c = 0.1 and d = 1e-6 in one of the two readings:
1000 episodes of 10 steps, truncation 20, at most 150 sweeps, importance ratios capped at 10 (uncapped, with kappa =
1000, one or two episodes carry all the weight in the end, whatever the prior). Other settings favour the rate more
often; docs/formulas.md counts them.
"""

import sys
import warnings
from pathlib import Path

import numpy as np

import decpomdp as dp
from decpomdp.learners import StickBreaking

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))
from dectiger_horizon3 import controller

SEEDS = (0, 1, 2)
EPISODES, STEPS, TRUNCATION, CAP = 1000, 10, 20, 10.0
HEAD = (
    "problem",
    "begin",
    "kappa",
    "d is a",
    "sizes",
    "nodes in use (seed 0)",
    "bound",
    "value of the mean",
    "of the argmax",
)


def cases():
    """(name, how it begins, model, behaviour, begin)."""
    tiger = dp.load("dectiger")
    good = dp.Team.of(tiger, [controller(), controller()])
    yield "dectiger", "good team", tiger, good.exploring(0.05), good
    for name in ("dectiger", "broadcast", "recycling"):
        model = dp.load(name)
        yield name, "random", model, dp.Team.uniform(model), "random"


def fit(data, begin, reading, kappa):
    team = None if isinstance(begin, str) else begin
    prior, start = StickBreaking(reading=reading), "best" if team else begin
    settings = dp.Sbpr(prior=prior, start=start, evidence=kappa, truncation=TRUNCATION, cap=CAP, sweeps=150)
    return dp.learn(data, settings, begin=team)


def ranges(nodes):
    """0, 2-4, 7"""
    cuts = np.flatnonzero(np.diff(nodes) > 1) + 1
    return ", ".join(f"{run[0]}" if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in np.split(nodes, cuts))


def span(values, digits=1):
    """The middle of three values, and their range."""
    low, middle, high = np.sort(values)
    return f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def line(name, told, model, sets, begin, kappa, reading):
    fits = [fit(data, begin, reading, kappa) for data in sets]
    nodes = "; ".join(
        f"{ranges(kept)} of {agent.nodes}"
        for kept, agent in zip(fits[0].posterior.occupied(), fits[0].posterior.agents, strict=True)
    )
    cells = (
        name,
        told,
        f"{kappa:g}",
        reading,
        ", ".join(f.trace[-1]["nodes"] for f in fits),
        nodes,
        span([f.trace[-1]["bound"] for f in fits]),
        span([dp.evaluate(f.team, model).value for f in fits], 2),
        span([dp.evaluate(f.decided, model).value for f in fits], 2),
    )
    print("| " + " | ".join(cells) + " |", flush=True)


def main():
    warnings.simplefilter("ignore")  # collapsed weights are not the question here
    print("| " + " | ".join(HEAD) + " |")
    print("|" + "---|" * len(HEAD))
    for name, told, model, behaviour, begin in cases():
        sets = [dp.simulate(model, behaviour, EPISODES, STEPS, seed) for seed in SEEDS]
        for kappa in (1.0, 30.0, float(EPISODES)):
            for reading in ("scale", "rate"):
                line(name, told, model, sets, begin, kappa, reading)


if __name__ == "__main__":
    main()
