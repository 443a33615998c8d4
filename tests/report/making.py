"""Runs as commands leave them behind, also with labels that mean harm."""

import numpy as np
from msgspec import structs

import decpomdp as dp
from decpomdp.core import Fit
from decpomdp.core.scene import Street, StreetMap, StreetScene
from decpomdp.io.runs import RunRecord, ValueRecord, read_run, write_fit
from decpomdp.report.page import report_of, save_report
from decpomdp.report.performance import watch
from decpomdp.report.replay import replay_from
from decpomdp.rollouts import as_simulator

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
    fit = Fit(team, search_trace() if trace is None else trace, "steps", 1.25)
    value = ValueRecord(value=dp.evaluate(team, model).value, method="exact, from the model")
    record = RunRecord(
        problem=model.name, source=model.name, digest=model.digest(), discount=model.discount,
        method="search", steps=39000, value=value, seed=seed, settings={"method": "search"},
    )  # fmt: skip
    return written(folder, fit, structs.replace(record, **facts), model)


def written(folder, fit, record, source):
    """The run as a command leaves it behind, with its page."""
    record = write_fit(folder, fit, record)
    save_report(folder, record, *report_of(folder, fit, record, source))
    return read_run(folder)


def kept_on(folder, simulator, team, trace=None, seed=1, **facts):
    """A run of `team` on a simulator."""
    folder.mkdir(parents=True, exist_ok=True)
    fit = Fit(team, search_trace() if trace is None else trace, "steps", 1.25)
    value = ValueRecord(value=1.5, method="mean of fresh episodes", standard_error=0.25)
    record = RunRecord(
        problem=simulator.name, source=simulator.name, discount=simulator.discount, method="sbpr-loop",
        steps=39000, value=value, seed=seed, settings={"method": "sbpr-loop"},
    )  # fmt: skip
    return written(folder, fit, structs.replace(record, **facts), simulator)


def replay_on(source, team, steps, seed=0):
    """The replay of one episode."""
    return replay_from(watch(as_simulator(source), team, 1, steps, seed, scenes=True), team, source)


class NastyStreets:
    """Eight lights in a row whose names mean harm: too many for a card each."""

    name, discount, repeatable = NASTY, 0.9, True
    agents = tuple(
        dp.Agent(f"{NASTY}{n}", (f"{NASTY}go", f"{NASTY}stop"), (f"{NASTY}dark", f"{NASTY}bright")) for n in range(8)
    )

    def reset(self, episodes, seed):
        self.actions = np.full((episodes, 8), -1)

    def step(self, actions):
        self.actions = np.asarray(actions)
        return dp.Step(self.actions * 0, self.actions.sum(axis=1) * 1.0, np.zeros(len(actions), bool))

    def street_map(self):
        street = Street(f"{NASTY}street", (-1.0, 0.0), (0.0, 0.0), (8.0, 0.0))
        return StreetMap(tuple((float(n), 0.0) for n in range(8)), (street,), 4)

    def street_scene(self, episode=0):
        return StreetScene((3,), tuple(self.actions[episode].tolist()))
