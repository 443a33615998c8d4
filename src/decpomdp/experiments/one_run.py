"""The work of a cell of table 2: learn or plan one team, and say what it is worth.

Its value is exact and, beside it, as the paper measured: the mean of 100 test episodes of 1000 steps. Seconds are those
of the processor, on one thread: whatever else the machine does, a method gets as much as was meant for it. A learner
that is limited by them goes on until they are used up, however often it has failed to find anything better.
"""

from functools import cache
from time import process_time
from typing import Any

import numpy as np

from decpomdp.api import PLANNING, PLAYING, chosen, execute
from decpomdp.core import DecPOMDP, Fit
from decpomdp.core.run import Budget, Inputs
from decpomdp.domains.load import load_model
from decpomdp.evaluation import exact_value, sampled_value
from decpomdp.experiments.cells import Settings
from decpomdp.experiments.published import DISCOUNT, TEST_EPISODES, TEST_STEPS
from decpomdp.interaction.mcem.settings import McemTuning
from decpomdp.interaction.sbpr.settings import SbprTuning
from decpomdp.learners import BayesFit

SMALL: dict[str, dict[str, Any]] = {  # a run that only loads what is compiled
    "sbpr": {
        "iterations": 1,
        "tests": 50,
        "tuning": SbprTuning(random_episodes=200, lengths=(3,), elites=1, generations=0),
    },
    "mcem": {"iterations": 1, "tests": 50, "tuning": McemTuning(random_episodes=200, elites=1)},
    "search": {"steps": 10_000},
    "periem": {"restarts": 1},
    "fb-hsvi": {"iterations": 1},
}
ENDLESS = 1_000_000  # failures in a row, which no limit of time leaves room for


def work(settings: Settings) -> dict[str, Any]:
    """One team: settings are `problem`, `method`, `seed` and `limits`, what the method takes."""
    model = load_model(settings["problem"], DISCOUNT)
    _warm(settings["method"])
    began = process_time()
    fit = _fitted(model, settings["method"], settings["seed"], settings["limits"])
    seconds = process_time() - began
    exact = exact_value(model, fit.team)
    played = sampled_value(model, fit.team, TEST_EPISODES, TEST_STEPS, settings["seed"] + 1_000_000, threads=1)
    posterior = fit.posterior if isinstance(fit, BayesFit) else None
    return {
        "value": exact.value,
        "sampled": played.value,
        "sampled_error": played.standard_error,
        "nodes": float(np.mean(fit.team.nodes)),
        "inferred": None if posterior is None else float(np.mean(posterior.sizes)),
        "stopped": fit.stopped,
        "seconds": seconds,
    }


def _fitted(model: DecPOMDP, method: str, seed: int, limits: dict[str, Any]) -> Fit:
    seconds = limits.get("processor_seconds")
    fields = {key: value for key, value in limits.items() if key not in ("processor_seconds", "steps", "iterations")}
    if seconds is not None and method in ("sbpr", "mcem"):
        fields["patience"] = ENDLESS
    entry, settings = chosen(PLAYING if method in PLAYING else PLANNING, method, method, fields)
    budget = Budget(cpu_seconds=seconds, steps=limits.get("steps"), iterations=limits.get("iterations"))
    return execute(model, entry, settings, Inputs(seed, 1), budget)


@cache
def _warm(method: str) -> None:
    """Compiled code is loaded once per process; that time belongs to no cell."""
    _fitted(load_model("broadcast", DISCOUNT), method, 0, SMALL[method])
