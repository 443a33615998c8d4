"""A run in a folder: `learn` and `plan` start one or resume one, save its result, then add its value and its page.

`run.json` holds source, settings, seed and budget from the start, so `--resume` needs nothing else. The result is saved
as soon as the run ends; the steps after it are in `after.py`.
"""

import os
import shlex
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple, Union

import msgspec
import typer

from decpomdp import api
from decpomdp.cli import after, words
from decpomdp.cli.options import DASK, cluster_of, given
from decpomdp.core import Episodes, InputError, Team, checks
from decpomdp.core.errors import LearningWarning
from decpomdp.core.progress import Progress
from decpomdp.core.run import Budget, Inputs
from decpomdp.core.settings import Settings
from decpomdp.domains.load import is_code, load_model
from decpomdp.domains.references import best_value
from decpomdp.domains.registry import is_built_in
from decpomdp.io import run_folder
from decpomdp.io.checkpoints import EVERY, CheckpointFolder
from decpomdp.io.logged import kind_of
from decpomdp.io.run_folder import RunLog
from decpomdp.io.runs import (
    LOG,
    RUN,
    TEAM,
    RunRecord,
    read_record,
    read_run,
    source_digest,
    team_digest,
    versions,
    write_fit,
    write_record,
)
from decpomdp.io.team import read_team
from decpomdp.rollouts.collect import team_for

CODE = "{code}"  # in a hint: replaced by the name of the code, such as mine.py:build
NOTES = {"binned": "numbers in bins, symbols per agent", "columns not used": "columns not used"}  # about a table


class FolderRun(NamedTuple):
    """A run, with its folder and the record that is stored there."""

    folder: Path
    record: RunRecord
    setup: api.RunSetup
    resuming: bool = False


class Options(NamedTuple):
    """Options that do not change the result of a run."""

    every: float | None = None  # seconds between checkpoints
    quiet: bool = False
    value: bool = True  # compute the value of the team
    posterior: bool = False  # compute the posterior of the learned team
    report: bool = True  # write the page


def check_required(source: str | None, out: Path | None, discount: float | None) -> tuple[str, Path]:
    """A new run needs a source and a folder, and a table a discount: one message says all that is missing."""
    if source is None:
        raise InputError("expected a problem or a file, got none (see --help)")
    missing = ["--out: expected the folder for the run, such as runs/first, got none"] if out is None else []
    recorded = api.holds_episodes(source) and os.path.exists(source)
    if discount is None and recorded and kind_of(source) != "episodes":
        missing.append(f"--discount: expected a number, such as 0.95, because {source} contains none")
    if missing or out is None:
        raise InputError("; ".join(missing))
    return source, out


def started(
    command: str, source: str, folder: Path, setup: api.RunSetup, bins: int | None = None, begin: str = ""
) -> FolderRun:
    """A new run; `source` and `begin` are the names of its source and of the team to begin with."""
    problem: Any = setup.source
    _, settings, inputs, budget = setup
    facts = getattr(problem, "facts", {})
    for fact, meaning in NOTES.items():
        if fact in facts and os.path.isfile(source):
            words.note(f"{meaning}: {facts[fact]}")
    record = RunRecord(
        command=command,
        source=source,
        working_folder=os.getcwd(),
        problem=problem.name,
        digest=source_digest(problem),
        discount=problem.discount,
        bins=bins,
        best_known=best_value(problem) if settings.method != "pbvi" else None,  # pbvi: one agent
        method=settings.method,
        seed=inputs.seed,
        settings=msgspec.to_builtins(settings),
        budget={name: limit for name, limit in msgspec.to_builtins(budget).items() if limit is not None},
        begin=begin,
        begin_digest="" if inputs.begin is None else team_digest(inputs.begin),
        versions=versions(),
        finished=False,
    )
    return FolderRun(folder, record, setup)


def settings_of(command: str, source: api.Source, method: str | None, fields: dict[str, Any]) -> Settings:
    """The settings of the method; an option of another method is rejected."""
    known, default = api.methods_for(command, source)
    name = checks.one_of("--method", default if method is None else method, tuple(known))
    values = given(fields, known[name])
    try:
        return api.chosen(known, name, name, values)
    except InputError as error:
        field, _, rest = str(error).partition(":")
        raise InputError(
            f"{_flag(field) if field in values else field}:{rest.replace(' or None, got', ', got')}"
        ) from None


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def reject_given(options: dict[str, Any]) -> None:
    """A resumed run has the settings that it was started with."""
    for name, value in options.items():
        if value is not None:
            raise InputError(f"{_flag(name)}: not allowed with --resume, which uses the settings of the run")


def resumed(command: str, folder: Path, threads: int | None, code: str | None = None) -> FolderRun:
    """The unfinished run in a folder. Its source is given again only if it is `code`."""
    if code is not None and not is_code(code):
        raise InputError("PROBLEM: not allowed with --resume, which uses the settings of the run")
    record = _unfinished(folder)
    if record.command != command:
        raise InputError(f"{folder}: expected a run of `decpomdp {command}`, got a run of `decpomdp {record.command}`")
    if code is None:
        source_at(folder, f"decpomdp {command} {CODE} --resume {shlex.quote(str(folder))}")
    source = _path(record, record.source) if code is None else code
    problem = opened(command, source, record.discount, named=code is not None, bins=record.bins)
    run_folder.check_same(record, source_digest(problem))
    team = team_at(_path(record, record.begin), problem) if record.begin else None
    if team is not None and team_digest(team) != record.begin_digest:
        raise InputError(f"{record.begin}: changed since the run started; cannot resume")
    try:
        every: Any = Union[(*api.PLAYING.values(), *api.LOGGED.values(), *api.PLANNING.values())]
        settings: Settings = msgspec.convert(record.settings, every)
        budget = msgspec.convert(record.budget, Budget)
    except msgspec.ValidationError as error:
        raise InputError(f"{folder / RUN}: {error}") from None
    inputs = Inputs(record.seed or 0, threads, begin=team)
    return FolderRun(folder, record, api.RunSetup(problem, settings, inputs, budget), resuming=True)


def _unfinished(folder: Path) -> RunRecord:
    """The record of the run to resume; ends the command if the run is finished."""
    record = run_folder.unfinished(folder)
    if record is None:
        words.note(f"{folder}: the run is finished; nothing to do")
        raise typer.Exit
    return record


@contextmanager
def on_engine(run: FolderRun, engine: str | None, scheduler: str | None) -> Iterator[FolderRun]:
    """The run on threads or on the cluster that the options select."""
    setup = run.setup
    if engine == DASK and "engine" not in setup.settings.inputs:
        raise InputError(f"--engine {DASK}: not supported by {setup.settings.method}")
    if engine == DASK and is_code(run.record.source):
        hint = "use dp.learn with a simulator from an installed module"
        raise InputError(f"--engine {DASK}: workers cannot load {run.record.source}; {hint}")
    with cluster_of(engine, scheduler, setup.inputs.threads) as cluster:
        yield run._replace(setup=setup._replace(inputs=setup.inputs._replace(engine=cluster)))


def execute(run: FolderRun, options: Options) -> dict[str, Any]:
    """Run, save the result at once, then add value, posterior and page. Returns the result for the output."""
    with run_folder.locked(run.folder) if run.resuming else run_folder.new_run(run.folder), _resume_hint(run):
        if run.resuming:
            _unfinished(run.folder)  # another process may have finished it before this one had the lock
        else:
            write_record(run.folder, run.record)
        return _in_folder(run, options)


def _in_folder(run: FolderRun, options: Options) -> dict[str, Any]:
    folder, record = run.folder, run.record
    checkpoint = CheckpointFolder(folder, run.setup.checksum(), EVERY if options.every is None else options.every)
    if run.resuming and not checkpoint.exists:
        words.note(f"{folder}: no checkpoint; the run starts from the beginning")
    shown = nullcontext() if options.quiet else Progress(best=record.best_known)
    with RunLog(sys.argv[1:], folder / LOG) as log, shown as display, warnings.catch_warnings():
        if run.setup.settings.method == "logs":  # its warning is part of the output
            warnings.simplefilter("ignore", LearningWarning)
        fit = api.execute(run.setup, checkpoint=checkpoint, watch=log.watch, display=display)
        log.close(f"stopped: {fit.stopped}, after {fit.seconds:.1f} s")
    if run.resuming and fit.stopped in ("interrupted", "terminated") and len(fit.trace) < _rows_before(folder):
        words.note(f"no improvement over the saved result; {folder} is unchanged")
        raise KeyboardInterrupt
    record.learned = record.command == "plan" or api.taught(fit)
    record.steps = after.last_number(fit, "steps")
    if not record.learned:
        words.note("nothing was learned within the limits: the team is the initial one; allow more time or steps")
    write_fit(folder, fit, record)
    if fit.stopped == "terminated":
        words.note(f"the team is saved in {folder / TEAM}")
        raise SystemExit(words.TERMINATED)
    try:
        after.finish(run, fit, options)
    finally:  # the result is saved: the run is finished even if a later step fails
        if fit.stopped != "interrupted":
            record.finished = True
            write_record(folder, record)
            checkpoint.clear()
    known = {name: value for name, value in msgspec.to_builtins(record).items() if value is not None}
    return {**known, "nodes": list(fit.team.nodes), "out": str(folder)}


def _rows_before(folder: Path) -> int:
    """Rows of the trace that an earlier interrupt saved; 0 if there is no usable result."""
    try:
        return max(map(len, read_run(folder).trace.values()), default=0)
    except (InputError, OSError):
        return 0


def source_at(path: Path, hint: str) -> str:
    """The source of the run that a file or folder belongs to; empty: of no run.

    Code is rejected: it is run only when it is named. The hint says how.
    """
    file = (path if path.is_dir() else path.parent) / RUN
    if not file.is_file():
        return ""
    record = read_record(file)
    if is_code(record.source):
        command = hint.replace(CODE, shlex.quote(record.source))
        raise InputError(f"{path}: learned from {record.source}; code is run only when it is named: {command}")
    return _path(record, record.source)


def opened(
    command: str, source: str, discount: float | None = None, *, named: bool = True, bins: int | None = None
) -> Any:
    """The source of a run; it may be code only if the user has `named` it in this command."""
    if named and is_code(source):
        from decpomdp.domains.load import load_named

        built = load_named(source, discount)
        return load_model(built) if command == "plan" else built  # type: ignore[arg-type]
    return load_model(source, discount) if command == "plan" else api.source_of(source, discount, bins)


def team_at(name: str, source: Any) -> Team:
    """The team to begin with: a file, or a policy of the problem."""
    return read_team(name) if isinstance(source, Episodes) else team_for(name, source)


def _path(record: RunRecord, name: str) -> str:
    """The full path of a file or dataset, because a run may be resumed from another folder; other names unchanged."""
    path = Path(record.working_folder, name)
    return str(path) if path.exists() and not is_built_in(name) else name


@contextmanager
def _resume_hint(run: FolderRun) -> Iterator[None]:
    """Print how to resume a run that was interrupted; code must be named again."""
    try:
        yield
    finally:
        if run_folder.can_resume(run.folder):
            code = [run.record.source] if is_code(run.record.source) else []
            resume = ["decpomdp", run.record.command, *code, "--resume", str(run.folder)]
            words.note(f"to resume: {shlex.join(resume)}")
