"""A run in a folder: `learn` and `plan` start one or resume one, save its result, then add its value and its page.

`run.json` holds source, settings, seed and budget from the start, so `--resume` needs nothing else. The result is saved
as soon as the run ends; the steps after it are in `after.py`.
"""

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from decpomdp.cli import after, words

if TYPE_CHECKING:
    from decpomdp.api import RunSetup
    from decpomdp.core import Fit, Team
    from decpomdp.core.run import Inputs
    from decpomdp.core.settings import Settings
    from decpomdp.io.runs import RunRecord

NOTHING_LEARNED, INTERRUPTED, TERMINATED = 1, 130, 143  # exit codes; the last two: after Ctrl-C and SIGTERM
CODE = "{code}"  # in a hint: replaced by the name of the code, such as mine.py:build


class Options(NamedTuple):
    """Options that do not change the result of a run."""

    every: float | None  # seconds between checkpoints
    quiet: bool
    value: bool  # compute the value of the team
    posterior: bool  # compute the posterior of the learned team
    report: bool  # write the page


class Work(NamedTuple):
    """A setup with the record of its run folder."""

    record: "RunRecord"
    setup: "RunSetup"


def started(command: str, source: str, setup: "RunSetup", bins: int | None = None, begin: str = "") -> Work:
    """A new run; `source` and `begin` are the names of its source and of the team to begin with."""
    import msgspec

    from decpomdp.domains.references import best_value
    from decpomdp.io.runs import RunRecord, source_digest, team_digest, versions

    opened: Any = setup.source
    _, settings, inputs, budget = setup
    facts = getattr(opened, "facts", {})
    for fact, meaning in (("binned", "numbers in bins, symbols per agent"), ("columns not used", "columns not used")):
        if fact in facts and os.path.isfile(source):
            words.note(f"{meaning}: {facts[fact]}")
    record = RunRecord(
        command=command,
        source=source,
        working_folder=os.getcwd(),
        problem=opened.name,
        digest=source_digest(opened),
        discount=opened.discount,
        bins=bins,
        best_known=best_value(opened) if settings.method != "pbvi" else None,  # pbvi: one agent
        method=settings.method,
        seed=inputs.seed,
        settings=msgspec.to_builtins(settings),
        budget={name: limit for name, limit in msgspec.to_builtins(budget).items() if limit is not None},
        begin=begin,
        begin_digest="" if inputs.begin is None else team_digest(inputs.begin),
        versions=versions(),
        finished=False,
    )
    return Work(record, setup)


def resumed(command: str, folder: Path, inputs: "Inputs", code: str | None = None) -> Work:
    """The unfinished run in a folder. Its source is given again only if it is `code`."""
    from typing import Union

    import msgspec

    from decpomdp.api import LOGGED, PLANNING, PLAYING, RunSetup
    from decpomdp.core import InputError
    from decpomdp.core.run import Budget
    from decpomdp.domains.load import is_code
    from decpomdp.io.run_folder import check_same, unfinished
    from decpomdp.io.runs import source_digest, team_digest

    if code is not None and not is_code(code):
        raise InputError("PROBLEM: not allowed with --resume, which uses the settings of the run")
    record = unfinished(folder)
    if record is None:
        raise AlreadyFinished(folder)
    if record.command != command:
        raise InputError(f"{folder}: expected a run of `decpomdp {command}`, got a run of `decpomdp {record.command}`")
    if code is None:
        reject_code(folder, f"decpomdp {command} {CODE} --resume {shlex.quote(str(folder))}")
    source = _path(record, record.source) if code is None else code
    problem = opened(command, source, record.discount, named=code is not None, bins=record.bins)
    check_same(record, source_digest(problem))
    team = team_at(_path(record, record.begin), problem) if record.begin else None
    if team is not None and team_digest(team) != record.begin_digest:
        raise InputError(f"{record.begin}: changed since the run started; cannot resume")
    try:
        every: Any = Union[(*PLAYING.values(), *LOGGED.values(), *PLANNING.values())]
        settings: Settings = msgspec.convert(record.settings, every)
        budget = msgspec.convert(record.budget, Budget)
    except msgspec.ValidationError as error:
        raise InputError(f"{folder / 'run.json'}: {error}") from None
    return Work(record, RunSetup(problem, settings, inputs._replace(seed=record.seed or 0, begin=team), budget))


def execute(work: Work, folder: Path, resuming: bool, options: Options) -> dict[str, Any]:
    """Run, save the result at once, then add value, posterior and page. Returns the result for the output."""
    from decpomdp.io.run_folder import locked, new_run, unfinished
    from decpomdp.io.runs import write_record

    if resuming:
        with locked(folder), _resume_hint(work, folder):
            if unfinished(folder) is None:  # another process finished it before this one had the lock
                raise AlreadyFinished(folder)
            return _in_folder(work, folder, resuming, options)
    with new_run(folder), _resume_hint(work, folder):
        write_record(folder, work.record)
        return _in_folder(work, folder, resuming, options)


class AlreadyFinished(Exception):  # noqa: N818 - not an error
    """The run to resume is finished."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder}: the run is finished; nothing to do")


def _in_folder(work: Work, folder: Path, resuming: bool, options: Options) -> dict[str, Any]:
    from decpomdp.api import execute as run_method
    from decpomdp.api import taught
    from decpomdp.core.progress import Progress
    from decpomdp.io.checkpoints import EVERY, CheckpointFolder
    from decpomdp.io.run_folder import RunLog
    from decpomdp.io.runs import LOG, write_fit, write_record

    every = EVERY if options.every is None else options.every
    checkpoint = CheckpointFolder(folder, work.setup.checksum(), every)
    if resuming and not checkpoint.exists:
        words.note(f"{folder}: no checkpoint; the run starts from the beginning")
    shown = nullcontext() if options.quiet else Progress(best=work.record.best_known)
    with RunLog(sys.argv[1:], folder / LOG) as log, shown as display:
        fit = run_method(work.setup, checkpoint=checkpoint, watch=log.watch, display=display)
        log.close(f"stopped: {fit.stopped}, after {fit.seconds:.1f} s")
    if resuming and fit.stopped in ("interrupted", "terminated") and len(fit.trace) < _rows_before(folder):
        words.note(f"no improvement over the saved result; {folder} is unchanged")
        raise KeyboardInterrupt
    record = work.record
    record.learned = record.command == "plan" or taught(fit)
    record.steps = after.last_number(fit, "steps")
    if not record.learned:
        words.note("nothing was learned within the limits: the team is the initial one; allow more time or steps")
    record = write_fit(folder, fit, record)
    if fit.stopped == "terminated":
        words.note(f"the team is saved in {folder / 'team.json'}")
        raise SystemExit(TERMINATED)
    try:
        after.finish(work, folder, fit, record, options)
    finally:  # the result is saved: the run is finished even if a later step fails
        if fit.stopped != "interrupted":
            record.finished = True
            write_record(folder, record)
            checkpoint.clear()
    return _result(record, fit, folder)


def reject_code(path: Path, hint: str) -> None:
    """Reject a run that was learned from code: code is run only when it is named; the hint says how."""
    from decpomdp.core import InputError
    from decpomdp.domains.load import is_code
    from decpomdp.io.runs import RUN, read_record

    file = (path if path.is_dir() else path.parent) / RUN
    source = read_record(file).source if file.is_file() else ""
    if is_code(source):
        command = hint.replace(CODE, shlex.quote(source))
        raise InputError(f"{path}: learned from {source}; code is run only when it is named: {command}")


def opened(
    command: str, source: str, discount: float | None = None, *, named: bool = True, bins: int | None = None
) -> Any:
    """The source of a run; it may be code only if the user has `named` it in this command."""
    from decpomdp.api import source_of
    from decpomdp.domains.code import load_named
    from decpomdp.domains.load import is_code, load_model

    if named and is_code(source):
        built = load_named(source, discount)
        return load_model(built) if command == "plan" else built  # type: ignore[arg-type]
    return load_model(source, discount) if command == "plan" else source_of(source, discount, bins)


def team_at(name: str, source: Any) -> "Team":
    """The team to begin with: a file, or a policy of the problem."""
    from decpomdp.core import Episodes
    from decpomdp.io.team import read_team
    from decpomdp.rollouts.collect import team_for

    return read_team(name) if isinstance(source, Episodes) else team_for(name, source)


def _path(record: "RunRecord", name: str) -> str:
    """The full path of a file or dataset, because a run may be resumed from another folder; other names unchanged."""
    from decpomdp.domains.registry import is_built_in

    path = Path(record.working_folder, name)
    return str(path) if path.exists() and not is_built_in(name) else name


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
    """Print how to resume a run that was interrupted; code must be named again."""
    from decpomdp.domains.load import is_code
    from decpomdp.io.run_folder import can_resume

    try:
        yield
    finally:
        if can_resume(folder):
            code = [work.record.source] if is_code(work.record.source) else []
            words.note(f"to resume: {shlex.join(['decpomdp', work.record.command, *code, '--resume', str(folder)])}")


def _result(record: "RunRecord", fit: "Fit", folder: Path) -> dict[str, Any]:
    import msgspec

    known = {name: value for name, value in msgspec.to_builtins(record).items() if value is not None}
    return {**known, "nodes": list(fit.team.nodes), "out": str(folder)}
