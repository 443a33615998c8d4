"""The steps after a run of `learn` or `plan`: posterior, value and page, and the result as lines of text.

The run is already saved. Each step has a time limit and is shown while it runs; if it fails, one line says why. A step
that reaches its limit continues on its thread, so later steps do not use the simulator.
"""

import shlex
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from decpomdp.cli import words

if TYPE_CHECKING:
    from decpomdp.cli.runs import Options, Work
    from decpomdp.core import DecPOMDP, Fit, Row, Simulator, Team
    from decpomdp.io.runs import RunRecord, ValueRecord

MANY = 8  # agents up to which nodes are listed one by one
TEST_EPISODES = {True: 1000, False: 20}  # on a fast and on a slow simulator
VALUE_SECONDS, POSTERIOR_SECONDS, PAGE_SECONDS = 60.0, 20.0, 30.0  # time limits
VERDICTS = {"cloned behaviour": "the estimate is lower, so the cloned behaviour is returned instead"}

Result = TypeVar("Result")


def finish(work: "Work", folder: Path, fit: "Fit", record: "RunRecord", options: "Options") -> None:
    """Add posterior, value and page to a saved run, as the options say."""
    from decpomdp.io.runs import write_record

    if fit.stopped == "interrupted":
        words.note(f"the team is saved in {folder}; computing its value and page (Ctrl-C again to skip)")
    steps, command = AfterRun(work, options.quiet), shlex.join(["decpomdp", "report", str(folder)])
    try:
        if options.posterior:
            task = lambda: _with_posterior(work, fit, options.threads)  # noqa: E731
            fit = steps.run("posterior", task, 2 * POSTERIOR_SECONDS) or fit
        if options.value:
            _add_value(work, fit, record, steps)
            write_record(folder, record)
        if options.report:
            _add_page(folder, fit, record, steps, command)
    except KeyboardInterrupt:
        words.note(f"the team is saved in {folder}, without value or page; to make the page: {command}")
        raise


class AfterRun:
    """Runs the steps after a run within their time limits."""

    def __init__(self, work: "Work", quiet: bool) -> None:
        self.source: Any = work.source  # None after a step that may still be using it
        self.quiet = quiet

    def run(self, name: str, task: Callable[[], Result], seconds: float) -> Result | None:
        """The result of a step; None if it failed, after one line with the reason."""
        try:
            return words.bounded(name, task, seconds, self.quiet)
        except TimeoutError as error:
            self.source = None
            words.note(str(error))
        except Exception as error:
            words.note(f"{name}: {type(error).__name__}: {error}")
        return None


def _with_posterior(work: "Work", fit: "Fit", threads: int | None) -> "Fit":
    """The fit with the posterior from fresh episodes of its team; unchanged if there is none to compute."""
    from contextlib import suppress
    from dataclasses import replace

    from decpomdp.core import Episodes, InputError

    simulator = work.source
    if work.record.command == "plan" or isinstance(simulator, Episodes):
        return fit
    if len(simulator.agents) > MANY:  # joint importance ratios of so many agents contain no information
        return replace(fit, posterior=None) if hasattr(fit, "posterior") else fit  # type: ignore[call-arg]
    if not work.record.learned:
        return fit
    from decpomdp.interaction.posterior_of_team import read_out

    with suppress(InputError):  # constant rewards
        return read_out(simulator, fit, seed=work.inputs.seed, threads=threads, time_limit=POSTERIOR_SECONDS)
    return fit


def _add_value(work: "Work", fit: "Fit", record: "RunRecord", steps: AfterRun) -> None:
    """The value of the team, computed independently of the method's own estimate."""
    from decpomdp.core import DecPOMDP, Episodes
    from decpomdp.io.runs import ValueRecord

    if isinstance(work.source, Episodes):
        if not fit.trace:
            return
        if record.method == "world" or fit.facts.get("planned_by"):
            record.value = _value_in_world(fit)
            return
        record.bound, record.sample_size = last_number(fit, "bound"), last_number(fit, "sample_size")
        sweeps, estimate = last_number(fit, "sweep"), fit.facts.get("estimate")
        record.sweeps = None if sweeps is None else int(sweeps)
        if isinstance(estimate, int | float):
            held, others, longest = (fit.facts[name] for name in ("held_out", "learned_from", "horizon"))
            how = f"estimated over {longest} steps, on {held} held-out episodes, for a team learned from the other "
            record.value = ValueRecord(value=float(estimate), method=f"{how}{others}")
        return
    posterior = getattr(fit, "posterior", None)
    record.posterior_nodes = None if posterior is None else list(posterior.sizes)
    if fit.trace and fit.trace[-1].get("upper") is not None:
        record.upper_bound, record.gap = last_number(fit, "upper"), last_number(fit, "gap")
    source, team, seed = work.source, fit.team, work.inputs.seed ^ 1
    if isinstance(source, DecPOMDP):
        horizon = getattr(work.settings, "horizon", None) if record.command == "plan" else None
        if record.command == "plan":
            from decpomdp.planners.common import played_by

            source = played_by(source, team)
        record.problem, record.horizon = source.name, horizon
        model = source
        record.value = steps.run("exact value", lambda: _exact(model, team, horizon), VALUE_SECONDS)
    elif steps.source is None:
        words.note("no value: the simulator is still in use by the posterior")
    else:
        simulator = source
        record.value = steps.run("test episodes", lambda: sampled(simulator, team, seed), VALUE_SECONDS)


def _value_in_world(fit: "Fit") -> "ValueRecord | None":
    """The value of the team in the world that was fitted to the recorded episodes."""
    from decpomdp.io.runs import ValueRecord

    value, high = fit.facts.get("value"), fit.facts.get("high")
    if not isinstance(value, float):
        return None
    error = (high - value) / 2 if isinstance(high, float) else None
    return ValueRecord(value=value, standard_error=error, method="expected in the likeliest fitted world")


def _exact(model: "DecPOMDP", team: "Team", horizon: int | None) -> "ValueRecord":
    from decpomdp.evaluation import exact_value
    from decpomdp.io.runs import ValueRecord

    exact = exact_value(model, team, horizon)
    span = "" if horizon is None else f", over {horizon} steps"
    return ValueRecord(value=exact.value, error=exact.error, method=f"{exact.precision}, from the model{span}")


def sampled(simulator: "Simulator", team: "Team", seed: int) -> "ValueRecord":
    """The mean return of fresh test episodes; no more are started after half of the time limit."""
    from decpomdp.evaluation import sampled_value
    from decpomdp.io.runs import ValueRecord

    began = time.monotonic()
    result = sampled_value(
        simulator,
        team,
        test_episodes(simulator),
        seed=seed,
        watch=lambda _: time.monotonic() - began > VALUE_SECONDS / 2,
    )
    method = f"mean of {result.episodes} fresh episodes of {result.horizon} steps"
    return ValueRecord(value=result.value, standard_error=result.standard_error, method=method)


def test_episodes(simulator: "DecPOMDP | Simulator") -> int:
    """The default number of test episodes for a problem without a model."""
    return TEST_EPISODES[bool(getattr(simulator, "quick", False))]


def _add_page(folder: Path, fit: "Fit", record: "RunRecord", steps: AfterRun, command: str) -> None:
    """Write the page, without a replay if playing the team takes too long."""
    from decpomdp.report.page import report_of, save_report

    slow = f"the simulator is too slow for a replay within the time limit; `{command}` adds one"
    page = steps.run("page", lambda: report_of(folder, fit, record, steps.source, slow), PAGE_SECONDS)
    if page is None and steps.source is None:
        page = steps.run("page without replay", lambda: report_of(folder, fit, record, None, slow), PAGE_SECONDS)
    if page is None or steps.run("page", lambda: save_report(folder, record, *page), PAGE_SECONDS) is None:
        words.note(f"the run has no page; to make it: {command}")


def last_number(fit: "Fit", column: str) -> float | None:
    """The last value of a column of the trace; None if it is not a number."""
    row: Row = fit.trace[-1] if fit.trace else {}
    value = row.get(column)
    return value if isinstance(value, int | float) else None


def lines_of(result: dict[str, Any]) -> list[str]:
    """The result of a run as lines of text."""
    value, facts, text = result.get("value"), result["facts"], "no value"
    if value is not None:
        error = f" ± {value['standard_error']:.2g}" if value.get("standard_error") is not None else ""
        text = f"value {value['value']:.6g}{error} ({value['method']})"
    lines = [f"{text}, nodes {sizes(result['nodes'])}, {result['seconds']:.1f} s, stopped: {result['stopped']}"]
    if "upper_bound" in result and result["upper_bound"] is not None:
        lines.append(f"upper bound {result['upper_bound']:.6g}, gap {result['gap']:.3g}")
    if facts.get("peri") is not None:
        refined = "not reached" if facts.get("periem") is None else format(facts["periem"], ".6g")
        lines.append(f"Peri {facts['peri']:.6g}, PeriEM {refined}")
    if "posterior_nodes" in result:
        lines.append(f"nodes supported by fresh episodes (posterior): {sizes(result['posterior_nodes'])}")
    if "why" in facts:
        lines += [str(facts["why"]), str(facts["trust"])]
    elif "sample_size" in result:
        lines += _held_out(result)
    return [*lines, f"written to {result['out']}"]


def _held_out(result: dict[str, Any]) -> list[str]:
    """Sample size and estimate of a team from recorded episodes."""
    facts = result["facts"]
    size = f"the result rests on about {result['sample_size']:.0f} of {facts['episodes']} episodes"
    lines = [f"{size} (effective sample size)"]
    if "estimate" not in facts:
        return [*lines, f"no estimate of the value: {_no_estimate(result)}"]
    verdict = VERDICTS.get(facts["verdict"], facts["verdict"])
    interval = f"95 % interval of that estimate {facts['estimate_low']:.6g} to {facts['estimate_high']:.6g}"
    there = f"shrunk towards the behaviour, which earned {facts['behaviour']:.6g} there"
    return [*lines, f"{interval}, {there}: {verdict}"]


def _no_estimate(result: dict[str, Any]) -> str:
    """Why a team from recorded episodes has no estimate of its value."""
    from decpomdp.learners.method import FEWEST

    facts = result["facts"]
    if not result["settings"]["judge"]:
        return "judging is off"
    if result.get("begin"):
        return "the run began with a team (--begin)"
    if not facts["behaviour_known"]:
        return "the log has no action_prob; --estimate-behaviour guesses them"
    if facts["episodes"] < FEWEST:
        return f"the log has fewer than {FEWEST} episodes"
    return "the run was stopped before"


def sizes(nodes: Sequence[int]) -> str:
    """The number of nodes of every agent; for many agents their mean and range."""
    if len(nodes) <= MANY:
        return "+".join(str(count) for count in nodes)
    return f"{sum(nodes) / len(nodes):.2f} on average ({min(nodes)} to {max(nodes)}, {len(nodes)} agents)"
