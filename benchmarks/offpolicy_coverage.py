"""How often do off-policy intervals hold the exact value? Over many data sets: the table of docs/offpolicy.md.

    python benchmarks/offpolicy_coverage.py [data sets per case] [cases by number, such as 0,3]

Data sets that come with a warning are counted apart.
"""

import sys
import warnings
from typing import NamedTuple

import numpy as np

import decpomdp as dp
from decpomdp.domains.load import load_model
from decpomdp.evaluation.offpolicy import Estimate

CONFIDENCE, RESAMPLES = 0.9, 300
KINDS = ("ordinary", "per_decision", "self_normalised", "guaranteed")


class Case(NamedTuple):
    problem: str
    team: dp.Team
    behaviour: dp.Team
    episodes: int
    horizon: int
    words: str


def cases() -> list[Case]:
    careful = _same("recycling", [0, 1], [[0, 1], [0, 1]], 0.3)
    listening = _same("dectiger", [0, 0, 1, 0, 2], [[1, 3], [2, 0], [0, 0], [0, 4], [0, 0]], 0.3)
    sending = _same("broadcast", [0, 1], [[0, 1], [1, 0]], 0.2)
    anything = {name: dp.Team.uniform(load_model(name)) for name in ("recycling", "dectiger", "broadcast")}
    return [
        Case("broadcast", sending, sending.exploring(0.4), 500, 6, "exploring 0.4"),
        Case("broadcast", sending, anything["broadcast"], 1000, 4, "random"),
        Case("recycling", careful, careful.exploring(0.5), 300, 4, "exploring 0.5"),
        Case("recycling", careful, anything["recycling"], 1000, 4, "random"),
        Case("dectiger", listening, listening.exploring(0.5), 1000, 3, "exploring 0.5"),
        Case("dectiger", listening, anything["dectiger"], 1000, 3, "random"),
        Case("dectiger", listening, anything["dectiger"], 4000, 3, "random"),
    ]


def measure(case: Case, sets: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """[set, 4] whether each interval holds the value and its width, [set] whether warned, and effective episodes."""
    model = load_model(case.problem)
    span = (float(model.reward.min()), float(model.reward.max()))
    value = dp.exact_value(model, case.team, case.horizon).value
    held, widths, warned, sizes = [], [], [], []
    for number in range(sets):
        logged = dp.simulate(model, case.behaviour, case.episodes, case.horizon, seed=5000 + number)
        told = dp.offpolicy_value(logged, case.team, None, span, CONFIDENCE, RESAMPLES, seed=number)
        ends = [(told.guaranteed if kind == "guaranteed" else _ends(getattr(told, kind))) for kind in KINDS]
        held.append([low <= value <= high for low, high in ends])
        widths.append([high - low for low, high in ends])
        warned.append(bool(told.warnings))
        sizes.append(told.sample_size)
    return np.array(held), np.array(widths), np.array(warned), np.array(sizes)


def _ends(estimate: Estimate) -> tuple[float, float]:
    return estimate.low, estimate.high


def _same(problem: str, actions: list[int], moves: list[list[int]], explore: float) -> dp.Team:
    """Both agents with the same controller, which acts at random now and then."""
    model = load_model(problem)
    controller = dp.Controller.deterministic(actions, moves, len(model.agents[0].actions))
    return dp.Team.of(model, [controller, controller]).exploring(explore)


def main() -> None:
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    chosen = [int(number) for number in sys.argv[2].split(",")] if len(sys.argv) > 2 else range(len(cases()))
    print("| data | effective | data sets | " + " | ".join(kind.replace("_", " ") for kind in KINDS) + " |")
    print("|---|---|---|" + "---|" * len(KINDS))
    for case in [cases()[number] for number in chosen]:
        held, widths, warned, sizes = measure(case, sets)
        for some, words in ((~warned, "not warned"), (warned, "warned")):
            if some.any():
                low, middle, high = np.percentile(sizes[some], [0, 50, 100])
                told = [f"{100 * held[some, i].mean():.0f} % ({np.median(widths[some, i]):.2g})" for i in range(4)]
                data = f"{case.problem}, {case.episodes} of {case.horizon} steps, {case.words}"
                size = f"{middle:.0f} ({low:.0f} to {high:.0f})"
                print(f"| {data} | {size} | {some.sum()} {words} | {' | '.join(told)} |", flush=True)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
