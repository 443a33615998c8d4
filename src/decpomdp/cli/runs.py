"""A run in a folder: `learn` and `plan` start one or resume one, save its result, then add its value and its page.

`run.json` holds source, settings, seed and budget from the start, so `--resume` needs nothing else. The result is saved
as soon as the run ends. The steps after it (value, posterior of the team, page) have time limits, are shown while they
run and can be switched off. A step that fails or is interrupted loses nothing: the run is finished.
"""

import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from decpomdp.cli import words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from decpomdp.api import Entry, Source
    from decpomdp.core import DecPOMDP, Episodes, Fit, Row, Simulator, Team
    from decpomdp.core.run import Budget, Inputs
    from decpomdp.core.settings import Settings
    from decpomdp.io.runs import RunRecord, ValueRecord

MANY = 8  # agents, whose nodes are no longer listed one by one
TESTS = {True: 1000, False: 20}  # test episodes on a fast and on a slow simulator
VALUE_SECONDS, POSTERIOR_SECONDS, PAGE_SECONDS = 60.0, 20.0, 30.0  # for the steps after the run
TERMINATED = 143  # exit code after SIGTERM
CODE = "{code}"  # in a hint: the name of the code that a run was learned from

Result = TypeVar("Result")


class Options(NamedTuple):
    """Options of a run that its result does not depend on."""

    threads: int | None
    every: float | None  # seconds between checkpoints
    quiet: bool
    value: bool  # compute the value of the team
    posterior: bool  # compute the posterior of the team that was found
    report: bool  # make the page


class Work(NamedTuple):
    """What to run."""

    record: "RunRecord"
    source: "DecPOMDP | Simulator | Episodes"
    entry: "Entry"
    settings: "Settings"
    inputs: "Inputs"
    budget: "Budget"


def started(
    command: str,
    source: str,
    discount: float | None,
    seed: int,
    budget: "Budget",
    begin: str | None,
    choose: "Callable[[Source], tuple[Entry, Settings]]",
    inputs: "Inputs",
) -> Work:
    """A new run from the options of a command."""
    import msgspec

    from decpomdp.domains.references import best_value
    from decpomdp.io.runs import RunRecord, versions

    opened = _opened(command, source, discount, named=True)
    entry, settings = choose(opened)
    team = None if begin is None else _team(begin, opened)
    record = RunRecord(
        command=command,
        source=source,
        working_folder=os.getcwd(),
        problem=opened.name,
        digest=_digest(opened),
        discount=opened.discount,
        best_known=best_value(opened) if settings.method != "pbvi" else None,  # which plans for one agent
        method=settings.method,
        seed=seed,
        settings=msgspec.to_builtins(settings),
        budget={name: limit for name, limit in msgspec.to_builtins(budget).items() if limit is not None},
        begin=begin or "",
        begin_digest="" if team is None else _team_digest(team),
        versions=versions(),
        finished=False,
    )
    return Work(record, opened, entry, settings, inputs._replace(seed=seed, begin=team), budget)


def resumed(command: str, folder: Path, inputs: "Inputs", code: str | None = None) -> Work | None:
    """The unfinished run in a folder; None if it is finished. A run of code needs its name again."""
    import msgspec

    from decpomdp.api import ENTRIES, entry_of
    from decpomdp.core import InputError
    from decpomdp.core.run import Budget
    from decpomdp.io.run_folder import check_same, unfinished

    record = unfinished(folder)
    if record is None:
        return None
    if record.command != command:
        raise InputError(f"{folder}: expected a run of `decpomdp {command}`, got one of `decpomdp {record.command}`")
    if code is None:
        refuse_code(folder, f"decpomdp {command} {CODE} --resume {shlex.quote(str(folder))}")
    source = _path(record, record.source) if code is None else code
    opened = _opened(command, source, record.discount, named=code is not None)
    check_same(record, _digest(opened))
    team = _team(_path(record, record.begin), opened) if record.begin else None
    if team is not None and _team_digest(team) != record.begin_digest:
        raise InputError(f"{record.begin}: changed since the run started; cannot resume")
    try:
        settings: Settings = msgspec.convert(record.settings, _union(ENTRIES))
        budget = msgspec.convert(record.budget, Budget)
    except msgspec.ValidationError as error:
        raise InputError(f"{folder / 'run.json'}: {error}") from None
    seed = record.seed or 0
    return Work(record, opened, entry_of(settings), settings, inputs._replace(seed=seed, begin=team), budget)


def execute(work: Work, folder: Path, resuming: bool, options: Options) -> dict[str, Any]:
    """Run, save the result at once, then add value, posterior and page. Returns the result for the output."""
    from decpomdp.io.run_folder import locked, new_run, unfinished
    from decpomdp.io.runs import write_record

    if resuming:
        with locked(folder), _resume_hint(work, folder):
            if unfinished(folder) is None:  # another process finished it before the lock was ours
                raise AlreadyFinished(folder)
            return _in_folder(work, folder, resuming, options)
    with new_run(folder), _resume_hint(work, folder):
        write_record(folder, work.record)
        return _in_folder(work, folder, resuming, options)


class AlreadyFinished(Exception):  # noqa: N818 - it is no error
    """The run to resume is finished."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder}: the run is finished; nothing to do")


def _in_folder(work: Work, folder: Path, resuming: bool, options: Options) -> dict[str, Any]:
    from decpomdp.api import execute as run_method
    from decpomdp.api import run_id, taught
    from decpomdp.io.checkpoints import EVERY, CheckpointFolder
    from decpomdp.io.run_folder import RunLog
    from decpomdp.io.runs import LOG, write_fit, write_record

    every = EVERY if options.every is None else options.every
    identity = run_id(work.source, work.settings, work.inputs, work.budget)
    checkpoint = CheckpointFolder(folder, identity, every)
    if resuming and not checkpoint.exists:
        words.note(f"{folder}: there is no checkpoint, so the run starts again")
    with RunLog(sys.argv[1:], folder / LOG) as log, words.display(options.quiet, work.record.best_known) as display:
        fit = run_method(
            work.source,
            work.entry,
            work.settings,
            work.inputs,
            work.budget,
            checkpoint=checkpoint,
            watch=log.watch,
            display=display,
        )
        log.close(f"stopped: {fit.stopped}, after {fit.seconds:.1f} s")
    if resuming and fit.stopped in ("interrupted", "terminated") and len(fit.trace) < _rows_before(folder):
        words.note(f"no improvement over the saved result; {folder} is unchanged")
        raise KeyboardInterrupt
    record = work.record
    record.learned = record.command == "plan" or taught(fit)
    record.steps = _last(fit, "steps")
    if not record.learned:
        words.note("nothing was learned within the limits: the team is the initial one; allow more time or steps")
    record = write_fit(folder, fit, record)
    if fit.stopped == "terminated":
        words.note(f"the team is in {folder / 'team.json'}")
        raise SystemExit(TERMINATED)
    try:
        _after(work, folder, fit, record, options)
    finally:  # the result is saved: the run is finished, whatever happens to its value and its page
        if fit.stopped != "interrupted":
            record.finished = True
            write_record(folder, record)
            checkpoint.clear()
    return _result(record, fit, folder)


def _after(work: Work, folder: Path, fit: "Fit", record: "RunRecord", options: Options) -> None:
    """Add value, posterior and page to a saved result; each has a time limit, and one that fails is a line."""
    from decpomdp.io.runs import write_record

    if fit.stopped == "interrupted":
        words.note(f"the team is in {folder}; its value and its page follow (Ctrl-C again: skip them)")
    steps, command = _Steps(work, options.quiet), shlex.join(["decpomdp", "report", str(folder)])
    try:
        if options.posterior:
            fit = (
                steps.run("posterior", lambda: _with_posterior(work, fit, options.threads), 2 * POSTERIOR_SECONDS)
                or fit
            )
        if options.value:
            _add_value(work, fit, record, steps)
            write_record(folder, record)
        if options.report:
            _add_page(folder, fit, record, steps, command)
    except KeyboardInterrupt:
        words.note(f"the team is in {folder}, without its value or page; for the page: {command}")
        raise


class _Steps:
    """Runs the steps after a run. A step that reaches its limit goes on playing on its thread, so later ones do not."""

    def __init__(self, work: Work, quiet: bool) -> None:
        self.source: Any = work.source
        self.quiet = quiet

    def run(self, name: str, task: "Callable[[], Result]", seconds: float) -> "Result | None":
        """The result of a step; None after a line with the reason if it failed."""
        try:
            return words.bounded(name, task, seconds, self.quiet)
        except TimeoutError as error:
            self.source = None
            words.note(str(error))
        except Exception as error:
            words.note(f"{name}: {type(error).__name__}: {error}")
        return None


def _with_posterior(work: Work, fit: "Fit", threads: int | None) -> "Fit":
    """The fit with the posterior that fresh episodes of the team support; unchanged where it does not apply."""
    from contextlib import suppress
    from dataclasses import replace

    from decpomdp.core import Episodes, InputError

    simulator = work.source
    if work.record.command == "plan" or isinstance(simulator, Episodes):
        return fit
    if len(simulator.agents) > MANY:  # the joint ratios of more agents leave nothing to read
        return replace(fit, posterior=None) if hasattr(fit, "posterior") else fit  # type: ignore[call-arg]
    if not work.record.learned:
        return fit
    from decpomdp.interaction.posterior_of_team import read_out

    with suppress(InputError):  # rewards that never vary
        return read_out(simulator, fit, seed=work.inputs.seed, threads=threads, time_limit=POSTERIOR_SECONDS)
    return fit


def _add_value(work: Work, fit: "Fit", record: "RunRecord", steps: _Steps) -> None:
    """The value of the team: it is computed again, whatever the method estimated."""
    from decpomdp.core import DecPOMDP, Episodes
    from decpomdp.io.runs import ValueRecord

    if isinstance(work.source, Episodes):
        if not fit.trace:
            return
        if record.method == "world":
            record.value = _value_in_world(fit)
            return
        last = fit.trace[-1]
        record.bound, record.sample_size = _number(last["bound"]), _number(last["sample_size"])
        record.sweeps = int(_number(last["sweep"]))
        if "estimate" in fit.facts:
            record.value = ValueRecord(value=_number(fit.facts["estimate"]), method="estimated from held-out episodes")
        return
    posterior = getattr(fit, "posterior", None)
    record.posterior_nodes = None if posterior is None else list(posterior.sizes)
    if fit.trace and fit.trace[-1].get("upper") is not None:
        record.upper_bound, record.gap = _last(fit, "upper"), _last(fit, "gap")
    source, team, seed = work.source, fit.team, work.inputs.seed ^ 1
    if isinstance(source, DecPOMDP):
        horizon = getattr(work.settings, "horizon", None) if record.command == "plan" else None
        if record.command == "plan":
            from decpomdp.planners.centralised import played_by

            source = played_by(source, team)
        record.problem, record.horizon = source.name, horizon
        model = source
        record.value = steps.run("exact value", lambda: _exact(model, team, horizon), VALUE_SECONDS)
    elif steps.source is None:
        words.note("no value: the simulator is still playing for the posterior")
    else:
        simulator = source
        record.value = steps.run("test episodes", lambda: _sampled(simulator, team, seed), VALUE_SECONDS)


def _value_in_world(fit: "Fit") -> "ValueRecord | None":
    """The value that the logs support, in the world that was fitted to them."""
    from decpomdp.io.runs import ValueRecord

    value, high = fit.facts.get("value"), fit.facts.get("high")
    if not isinstance(value, float):
        return None
    error = (high - value) / 2 if isinstance(high, float) else None
    return ValueRecord(value=value, standard_error=error, method="exact, in the world fitted to the episodes")


def _exact(model: "DecPOMDP", team: "Team", horizon: int | None) -> "ValueRecord":
    from decpomdp.evaluation import exact_value
    from decpomdp.io.runs import ValueRecord

    exact = exact_value(model, team, horizon)
    span = "" if horizon is None else f", over {horizon} steps"
    return ValueRecord(value=exact.value, error=exact.error, method=f"{exact.precision}, from the model{span}")


def _sampled(simulator: "Simulator", team: "Team", seed: int) -> "ValueRecord":
    """The mean return of fresh test episodes: as many as half of the time allows."""
    from decpomdp.evaluation import sampled_value
    from decpomdp.io.runs import ValueRecord

    began = time.monotonic()
    sampled = sampled_value(
        simulator,
        team,
        test_episodes(simulator),
        seed=seed,
        watch=lambda _: time.monotonic() - began > VALUE_SECONDS / 2,
    )
    method = f"mean of {sampled.episodes} fresh episodes of {sampled.horizon} steps"
    return ValueRecord(value=sampled.value, standard_error=sampled.standard_error, method=method)


def _add_page(folder: Path, fit: "Fit", record: "RunRecord", steps: _Steps, command: str) -> None:
    """Write the page: with a replay if the team can be played within the limit, otherwise without."""
    from decpomdp.report.page import report_of, save_report

    slow = f"the simulator is too slow to play the team here; `{command}` plays it"
    made = steps.run("page", lambda: report_of(folder, fit, record, steps.source, slow), PAGE_SECONDS)
    if made is None and steps.source is None:
        made = steps.run("page without replay", lambda: report_of(folder, fit, record, None, slow), PAGE_SECONDS)
    if made is None or steps.run("page", lambda: save_report(folder, record, *made), PAGE_SECONDS) is None:
        words.note(f"the run has no page; to make it: {command}")


def refuse_code(path: Path, hint: str) -> None:
    """Code that a run was learned from runs only if it is named again; the hint says how."""
    from decpomdp.core import InputError
    from decpomdp.domains.load import is_code
    from decpomdp.io.runs import RUN, read_record

    file = (path if path.is_dir() else path.parent) / RUN
    source = read_record(file).source if file.is_file() else ""
    if is_code(source):
        told = hint.replace(CODE, shlex.quote(source))
        raise InputError(f"{path}: learned from {source}, code that runs only if it is named: {told}")


def _opened(command: str, source: str, discount: float | None, named: bool) -> Any:
    """The source of a run; `named`: a person named it now, so that it may be code."""
    from decpomdp.api import source_of
    from decpomdp.domains.code import load_named
    from decpomdp.domains.load import is_code, opened_model

    if named and is_code(source):
        built = load_named(source, discount)
        return opened_model(built) if command == "plan" else built  # type: ignore[arg-type]
    return opened_model(source, discount) if command == "plan" else source_of(source, discount)


def _team(name: str, source: Any) -> "Team":
    from decpomdp.core import Episodes
    from decpomdp.io.team import read_team
    from decpomdp.rollouts.collect import team_for

    return read_team(name) if isinstance(source, Episodes) else team_for(name, source)


def _digest(source: Any) -> str:
    from decpomdp.io.runs import source_digest

    return source_digest(source)


def _team_digest(team: "Team") -> str:
    from decpomdp.io.runs import team_digest

    return team_digest(team)


def _path(record: "RunRecord", name: str) -> str:
    """A name as it is, the path of a file in full: a run may be resumed from another folder."""
    path = Path(record.working_folder, name)
    return str(path) if path.is_file() else name


def _union(entries: "Sequence[Entry]") -> Any:
    from typing import Union

    return Union[tuple(entry.settings for entry in entries)]  # noqa: UP007


def _rows_before(folder: Path) -> int:
    """Rows of the trace that an earlier interrupt saved; 0 if there is no usable result."""
    from decpomdp.core import InputError
    from decpomdp.io.runs import read_run

    try:
        return max(map(len, read_run(folder).trace.values()), default=0)
    except (InputError, OSError):
        return 0


@contextmanager
def _resume_hint(work: Work, folder: Path) -> Iterator[None]:
    """Print how to resume a run that was interrupted."""
    from decpomdp.io.run_folder import can_resume

    try:
        yield
    finally:
        if can_resume(folder):
            words.note(f"to resume: {shlex.join(['decpomdp', work.record.command, '--resume', str(folder)])}")


def _number(cell: Any) -> float:
    return float(cell)


def _last(fit: "Fit", column: str) -> float | None:
    """The last value of a column of the trace."""
    last: Row = fit.trace[-1] if fit.trace else {}
    value = last.get(column)
    return value if isinstance(value, int | float) else None


def _result(record: "RunRecord", fit: "Fit", folder: Path) -> dict[str, Any]:
    import msgspec

    known = {name: value for name, value in msgspec.to_builtins(record).items() if value is not None}
    return {**known, "nodes": list(fit.team.nodes), "out": str(folder)}


def test_episodes(simulator: "DecPOMDP | Simulator") -> int:
    """How many test episodes to play where there is no model."""
    return TESTS[bool(getattr(simulator, "quick", False))]


def _from_episodes(result: dict[str, Any]) -> list[str]:
    """What a team from recorded episodes is based on."""
    facts = result["facts"]
    found = [f"{result['sample_size']:.0f} of {facts['episodes']} episodes carry the result (effective sample size)"]
    if "estimate" not in facts:
        return [*found, "no estimate of its value: not judged, or action probabilities unknown"]
    span = f"{facts['estimate_low']:.6g} to {facts['estimate_high']:.6g}"
    said = {
        "cloned behaviour": "the estimate is lower, so the cloned behaviour is returned instead",
    }.get(facts["verdict"], facts["verdict"])
    return [*found, f"95 % interval {span}, the behaviour earned {facts['behaviour']:.6g}: {said}"]


def sizes(nodes: "Sequence[int]") -> str:
    """Nodes per agent in words: all of them, or for many agents the mean."""
    if len(nodes) <= MANY:
        return "+".join(str(count) for count in nodes)
    return f"{sum(nodes) / len(nodes):.2f} on average ({min(nodes)} to {max(nodes)}, {len(nodes)} agents)"


def lines(result: dict[str, Any]) -> list[str]:
    """The result in words."""
    value, nodes = result.get("value"), sizes(result["nodes"])
    text = "no value"
    if value is not None:
        error = f" ± {value['standard_error']:.2g}" if value.get("standard_error") is not None else ""
        text = f"value {value['value']:.6g}{error} ({value['method']})"
    found = [f"{text}, nodes {nodes}, {result['seconds']:.1f} s, stopped: {result['stopped']}"]
    if "upper_bound" in result and result["upper_bound"] is not None:
        found.append(f"upper bound {result['upper_bound']:.6g}, gap {result['gap']:.3g}")
    if result["facts"].get("peri") is not None:
        soft = result["facts"].get("periem")
        text = "not reached" if soft is None else format(soft, ".6g")
        found.append(f"Peri {result['facts']['peri']:.6g}, PeriEM {text}")
    if "posterior_nodes" in result:
        found.append(f"nodes that fresh episodes support (posterior): {sizes(result['posterior_nodes'])}")
    if "sample_size" in result:
        found += _from_episodes(result)
    return [*found, f"written to {result['out']}"]
