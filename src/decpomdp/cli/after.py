"""The steps after a run of `learn` or `plan`: posterior, value and page, and the result as lines of text.

The run is already saved. Each step has a time limit and is shown while it runs; if it fails, one line says why. A step
that reaches its limit continues on its thread, so later steps do not use the simulator.
"""

import shlex
import time
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from decpomdp.cli import words
from decpomdp.core import DecPOMDP, Episodes, Fit, InputError, Row, Simulator, Team
from decpomdp.core.progress import Progress
from decpomdp.core.run import on_thread
from decpomdp.io.runs import RunRecord, ValueRecord, write_record
from decpomdp.planners.common import played_by

if TYPE_CHECKING:
    from decpomdp.cli.runs import FolderRun, Options

MANY = 8  # agents up to which nodes are listed one by one
FEWEST, MOST, TEST_SECONDS = 20, 1000, 10.0  # test episodes of a simulator: as many as take this time
VALUE_SECONDS, POSTERIOR_SECONDS, PAGE_SECONDS = 60.0, 20.0, 30.0  # time limits
TICK = 0.1  # seconds between two looks at the clock
VERDICTS = {"cloned behaviour": "the estimate is lower, so the cloned behaviour is returned instead"}

Result = TypeVar("Result")


def finish(run: "FolderRun", fit: Fit, options: "Options") -> None:
    """Add posterior, value and page to a saved run, as the options say."""
    folder, steps = run.folder, AfterRun(run, options.quiet)
    command = shlex.join(["decpomdp", "report", str(folder)])
    if fit.stopped == "interrupted":
        words.note(f"the team is saved in {folder}; computing its value and page (Ctrl-C again to skip)")
    try:
        if options.posterior:
            fit = steps.run("posterior", lambda: _with_posterior(run, fit), 2 * POSTERIOR_SECONDS) or fit
        if options.value:
            _add_value(run, fit, steps)
            write_record(folder, run.record)
        if options.report:
            _add_page(run, fit, steps, command)
    except KeyboardInterrupt:
        words.note(f"the team is saved in {folder}, without value or page; to make the page: {command}")
        raise


class AfterRun:
    """Runs the steps after a run within their time limits."""

    def __init__(self, run: "FolderRun", quiet: bool) -> None:
        self.source: Any = run.setup.source  # None after a step that may still be using it
        self.quiet = quiet

    def run(self, name: str, task: Callable[[], Result], seconds: float) -> Result | None:
        """The result of a step, shown while it runs; None if it failed or took too long, after one line about it."""
        future, began = on_thread(task, words.ABANDONED), time.monotonic()
        with nullcontext() if self.quiet else Progress() as progress:
            while wait([future], timeout=TICK).not_done:
                elapsed = time.monotonic() - began
                if elapsed > seconds:
                    self.source = None
                    words.note(f"{name}: not complete after {seconds:g} s")
                    return None
                if progress is not None and elapsed > words.QUIET:
                    progress({"seconds": elapsed, "phase": f"{name} (at most {seconds:g} s)"})
        try:
            return future.result()
        except Exception as error:
            kind = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
            words.note(f"{name}: {kind}{error}")
            return None


def _with_posterior(run: "FolderRun", fit: Fit) -> Fit:
    """The fit with the posterior from fresh episodes of its team; unchanged if there is none to compute."""
    simulator: Any = run.setup.source
    if run.record.command == "plan" or isinstance(simulator, Episodes):
        return fit
    if len(simulator.agents) > MANY:  # joint importance ratios of so many agents contain no information
        return replace(fit, posterior=None) if hasattr(fit, "posterior") else fit  # type: ignore[call-arg]
    if not run.record.learned:
        return fit
    from decpomdp.interaction.posterior_of_team import read_out

    with suppress(InputError):  # constant rewards
        inputs = run.setup.inputs
        return read_out(simulator, fit, seed=inputs.seed, threads=inputs.threads, time_limit=POSTERIOR_SECONDS)
    return fit


def _add_value(run: "FolderRun", fit: Fit, steps: AfterRun) -> None:
    """The value of the team, computed independently of the method's own estimate."""
    record, source = run.record, cast(DecPOMDP | Simulator | Episodes, run.setup.source)
    if isinstance(source, Episodes):
        if fit.trace:
            _add_value_from_episodes(fit, record)
        return
    posterior = getattr(fit, "posterior", None)
    record.posterior_nodes = None if posterior is None else list(posterior.sizes)
    if fit.trace and fit.trace[-1].get("upper") is not None:
        record.upper_bound, record.gap = last_number(fit, "upper"), last_number(fit, "gap")
    if isinstance(source, DecPOMDP):
        model, horizon = source, None
        if record.command == "plan":
            model = played_by(source, fit.team)
        if record.command == "plan" or source.discount >= 1:
            horizon = getattr(run.setup.settings, "horizon", None)
        record.problem, record.horizon = model.name, horizon
        record.value = steps.run("exact value", lambda: _exact(model, fit.team, horizon), VALUE_SECONDS)
    elif steps.source is None:
        words.note("no value: the simulator is still in use by the posterior")
    else:
        seed = run.setup.inputs.seed ^ 1
        record.value = steps.run("test episodes", lambda: sampled(source, fit.team, seed), VALUE_SECONDS)


def _add_value_from_episodes(fit: Fit, record: RunRecord) -> None:
    """The value in the fitted world, or the method's estimate from the episodes."""
    facts = fit.facts
    if record.method == "world" or facts.get("planned_by"):
        value = facts.get("value")
        if isinstance(value, float):
            record.value = ValueRecord(value=value, method="in the likeliest fitted world")
        return
    record.bound, record.sample_size = last_number(fit, "bound"), last_number(fit, "sample_size")
    sweeps, estimate = last_number(fit, "sweep"), facts.get("estimate")
    record.sweeps = None if sweeps is None else int(sweeps)
    if isinstance(estimate, int | float):
        how = f"estimated from the episodes, over {facts['horizon']} steps"
        record.value = ValueRecord(value=float(estimate), method=how)


def _exact(model: DecPOMDP, team: Team, horizon: int | None) -> ValueRecord:
    from decpomdp.evaluation import exact_value

    exact = exact_value(model, team, horizon)
    span = "" if horizon is None else f", over {horizon} steps"
    return ValueRecord(value=exact.value, error=exact.error, method=f"{exact.precision}, from the model{span}")


def sampled(simulator: Simulator, team: Team, seed: int) -> ValueRecord:
    """The mean return of fresh test episodes; no more are started after half of the time limit."""
    from decpomdp.evaluation import sampled_value

    began = time.monotonic()
    result = sampled_value(
        simulator,
        team,
        fresh_episodes(simulator, team),
        seed=seed,
        watch=lambda _: time.monotonic() - began > VALUE_SECONDS / 2,
    )
    method = f"mean of {result.episodes} fresh episodes of {result.horizon} steps"
    return ValueRecord(value=result.value, standard_error=result.standard_error, method=method)


def fresh_episodes(simulator: Simulator, team: Team, horizon: int | None = None) -> int:
    """The default number of test episodes for a problem without a model."""
    from decpomdp.evaluation.sampled import episodes_within

    return max(FEWEST, episodes_within(TEST_SECONDS, simulator, team, MOST, horizon))


def _add_page(run: "FolderRun", fit: Fit, steps: AfterRun, command: str) -> None:
    """Write the page, without a replay if playing the team takes too long."""
    from decpomdp.report.page import report_of, save_report

    folder, record = run.folder, run.record
    slow = f"the simulator is too slow for a replay within the time limit; `{command}` adds one"
    page = steps.run("page", lambda: report_of(folder, fit, record, steps.source, slow), PAGE_SECONDS)
    if page is None and steps.source is None:
        page = steps.run("page without replay", lambda: report_of(folder, fit, record, None, slow), PAGE_SECONDS)
    if page is None or steps.run("page", lambda: save_report(folder, record, *page), PAGE_SECONDS) is None:
        words.note(f"the run has no page; to make it: {command}")


def last_number(fit: Fit, column: str) -> float | None:
    """The last value of a column of the trace; None if it is not a number."""
    row: Row = fit.trace[-1] if fit.trace else {}
    value = row.get(column)
    return value if isinstance(value, int | float) else None


def lines_of(result: dict[str, Any]) -> list[str]:
    """The result of a run as lines of text."""
    value, facts, text = result.get("value"), result["facts"], "no value"
    if value is not None:
        error = f" +- {value['standard_error']:.2g}" if value.get("standard_error") is not None else ""
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
        lines += _estimated(result)
    return [*lines, f"written to {result['out']}"]


def _estimated(result: dict[str, Any]) -> list[str]:
    """Sample size and estimate of a team from recorded episodes."""
    facts = result["facts"]
    size = f"the result rests on about {result['sample_size']:.0f} of {facts['episodes']} episodes"
    lines = [f"{size} (effective sample size)"]
    if "estimate" not in facts:
        return [*lines, f"no estimate of the value: {_no_estimate(result)}"]
    verdict = VERDICTS.get(facts["verdict"], facts["verdict"])
    interval = f"95 % interval of that estimate {facts['estimate_low']:.6g} to {facts['estimate_high']:.6g}"
    return [*lines, f"{interval}, the behaviour earned {facts['behaviour']:.6g}: {verdict}"]


def _no_estimate(result: dict[str, Any]) -> str:
    """Why a team from recorded episodes has no estimate of its value."""
    from decpomdp.learners.method import FEWEST

    facts = result["facts"]
    if not result["settings"]["judge"]:
        return "judging is off"
    if result.get("begin"):
        return "the run began with a team (--begin)"
    if facts["episodes"] < FEWEST:
        return f"the log has fewer than {FEWEST} episodes"
    return "the run was stopped before"


def sizes(nodes: Sequence[int]) -> str:
    """The number of nodes of every agent; for many agents their mean and range."""
    if len(nodes) <= MANY:
        return "+".join(str(count) for count in nodes)
    return f"{sum(nodes) / len(nodes):.2f} on average ({min(nodes)} to {max(nodes)}, {len(nodes)} agents)"
