"""Runs as commands leave them behind, also with labels that mean harm."""

from dataclasses import replace

import decpomdp as dp
from decpomdp.core import Fit
from decpomdp.io.runs import read_run
from decpomdp.report.keep import keep_run

NASTY = "</script><img src=x onerror=alert(1)><b>'\"&"


def search_trace(rows=40):
    return tuple(
        {"seconds": 0.1 * r, "steps": 1000 * r, "phase": "hops", "value": -20 + r**0.5, "error": 1 / (1 + r),
         "nodes": f"{1 + r // 10}+{1 + r // 20}", "accepted": r // 3}
        for r in range(rows)
    )  # fmt: skip


def kept(folder, model, team, trace=None, seed=1, **facts):
    """A run of `team` on `model`, as a command leaves it behind."""
    folder.mkdir(parents=True, exist_ok=True)
    fit = Fit(team, search_trace() if trace is None else trace, "steps", 1.25, {"method": "search", "seed": seed})
    value = {"value": dp.evaluate(team, model).value, "method": "exact, from the model, after learning"}
    told = {
        "problem": model.name, "source": model.name, "digest": model.digest(), "discount": model.discount,
        "method": "search", "steps": 39000, "value": value, "seed": seed, **facts,
    }  # fmt: skip
    keep_run(folder, fit, told, model)
    return read_run(folder)


def nasty_model():
    model = dp.load("dectiger")
    agents = tuple(
        dp.Agent(f"{NASTY}{n}", tuple(f"{NASTY}a{a}" for a in range(3)), tuple(f"{NASTY}o{o}" for o in range(2)))
        for n in range(2)
    )
    return replace(model, agents=agents, states=(f"{NASTY}s0", f"{NASTY}s1"), name=NASTY)
