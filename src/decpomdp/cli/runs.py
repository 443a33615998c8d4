"""What the commands that fill a run folder share."""

import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from decpomdp.cli import resume, words
from decpomdp.cli.interrupts import interrupts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from decpomdp.core import DecPOMDP, Episodes, Fit, Simulator, Watch
    from decpomdp.core.keeping import Keeper
    from decpomdp.io.checkpoints import Checkpoints

MANY = 8  # agents, whose nodes are no longer told one by one
TESTS = {True: 1000, False: 20}  # episodes that say what a team is worth, on a simulator that is quick or not


def given(options: dict[str, Any]) -> dict[str, Any]:
    """The options that were used."""
    return {name: value for name, value in options.items() if value is not None}


def refuse(options: dict[str, Any], what: str) -> None:
    """An option that would do nothing is a mistake."""
    from decpomdp.core import InputError

    for name in given(options):
        raise InputError(f"--{name.replace('_', '-')} does not belong to {what}")


class Place(NamedTuple):
    """Where a run is kept."""

    out: Path
    resume: Path | None  # the unfinished run to go on with, which is the same place
    every: float | None  # seconds from one checkpoint to the next


def kept(
    place: Place,
    shown: tuple[dict[str, str], bool],
    known: Mapping[str, Any],
    work: "Callable[[Watch, Keeper], Fit]",
    judge: "Callable[[Fit], tuple[Fit, dict[str, Any], DecPOMDP | Episodes | Simulator]]",
) -> dict[str, Any]:
    """Do the work, save its result at once, then judge it and write the whole run with its page.

    `shown`: the columns to show, and whether to be quiet; `known`: facts that are clear from the beginning; `judge`
    adds what is known afterwards and says what the page is to play the team on.
    """
    from decpomdp.cli.progress import Progress
    from decpomdp.io.logs import RunLog
    from decpomdp.io.run_folder import finish
    from decpomdp.io.runs import LOG
    from decpomdp.report.keep import keep_fit, keep_run, prepare

    columns, quiet = shown
    prepare()
    with _opened(place) as (folder, keeper), RunLog(resume.given.get(), folder / LOG) as log:
        fit, better = None, False
        with _saying_what_is_missing(folder), interrupts.until_saved():
            try:
                with Progress(columns, quiet) as progress:
                    fit = work(log.watching(progress, columns), keeper)
            finally:
                better = fit is not None and not _got_as_far_before(place, fit)
                if fit is not None and better:
                    with interrupts.save():
                        keep_fit(folder, fit, known)
                        log.close(f"stopped: {fit.stopped}, after {fit.seconds:.1f} s")
        if not better:
            words.note(f"{folder} keeps the team that it had: this time the run did not come further")
            raise KeyboardInterrupt
        if fit.stopped == "interrupted" and not quiet:
            words.note(f"the team is in {folder}; its value and its page follow (Ctrl-C once more: without them)")
        with _saying_what_is_missing(folder):
            judged, more, source = judge(fit)
            facts = {**known, **more}
            keep_run(folder, judged, facts, source)
        if fit.stopped != "interrupted":
            finish(folder)
    return told(facts, judged, folder)


def _got_as_far_before(place: Place, fit: "Fit") -> bool:
    """Whether a run that went on, and was interrupted again, had come as far before: what it had is as good then."""
    from decpomdp.core import InputError
    from decpomdp.io.runs import RUN, TEAM, TRACE, read_trace
    from decpomdp.io.team import read_team

    if place.resume is None or fit.stopped != "interrupted":
        return False
    try:
        read_team(place.resume / TEAM)
        before = max(map(len, read_trace(place.resume / TRACE).values()), default=0)
    except (InputError, OSError):
        return False  # nothing that could be kept
    whole = (place.resume / RUN).exists()  # else it was killed while it wrote them: what is as good completes it
    return before >= len(fit.trace) if whole else before > len(fit.trace)


@contextmanager
def _opened(place: Place) -> "Iterator[tuple[Path, Checkpoints]]":
    """The run's folder, which is ours alone, and who keeps the state of its work."""
    from decpomdp.core import checks
    from decpomdp.io import run_folder
    from decpomdp.io.checkpoints import EVERY, NAMES, Checkpoints

    every = EVERY if place.every is None else checks.number("--checkpoint-every", place.every, 0.0, 1e9)
    if place.resume is None:
        with run_folder.new_run(place.out) as folder:
            run_folder.begin(folder, resume.given.get())
            with _saying_how_to_go_on(folder):
                yield folder, Checkpoints(folder, run_folder.work_of(folder), every)
    else:
        with run_folder.locked(place.resume), _saying_how_to_go_on(place.resume):
            if run_folder.read_begun(place.resume) is None:  # another process finished it before the lock was ours
                raise resume.OverAlready(place.resume)
            if not any((place.resume / name).exists() for name in NAMES):
                words.note(f"{place.resume}: there is no checkpoint, so the run begins again")
            yield place.resume, Checkpoints(place.resume, run_folder.work_of(place.resume), every)


@contextmanager
def _saying_how_to_go_on(folder: Path) -> Iterator[None]:
    """What is left of a run that was cut off is not lost."""
    from decpomdp.core import FormatError
    from decpomdp.io.checkpoints import NAMES
    from decpomdp.io.run_folder import BEGUN

    command = shlex.join(["decpomdp", *resume.given.get()[:1], "--resume", str(folder)])

    def again() -> str:
        kept = any((folder / name).exists() for name in NAMES)
        return f"to {'go on' if kept else 'begin again'}: {command}"

    def left() -> list[str]:
        """Of a run that is stopped wherever it is."""
        team = [f"the team is in {folder / 'team.json'}"] if (folder / "team.json").exists() else []
        return [*team, again()] if (folder / BEGUN).exists() else []

    useless = False
    try:
        with interrupts.leaving(left):
            yield
    except FormatError:  # a file that cannot be used: the same would be said once more
        useless = True
        raise
    finally:
        if (
            not useless
            and (folder / BEGUN).exists()
            and any((folder / name).exists() for name in (*NAMES, "team.json"))
        ):
            words.note(again())


@contextmanager
def _saying_what_is_missing(folder: Path) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        if (folder / "team.json").exists():
            command = shlex.join(["decpomdp", "report", str(folder)])
            words.note(f"the team is in {folder}, without its value; for the page: {command}")
        raise


def told(facts: dict[str, Any], fit: "Fit", out: Path) -> dict[str, Any]:
    """The result of a run, for people and programs."""
    return {**facts, "stopped": fit.stopped, "seconds": fit.seconds, "nodes": list(fit.team.nodes), "out": str(out)}


def test_episodes(simulator: "DecPOMDP | Simulator") -> int:
    """How many say what a team is worth where there is no model."""
    return TESTS[bool(getattr(simulator, "quick", False))]


def sizes(nodes: "Sequence[int]") -> str:
    """Nodes per agent in words: all of them, or of many agents the mean."""
    if len(nodes) <= MANY:
        return "+".join(str(count) for count in nodes)
    return f"{sum(nodes) / len(nodes):.2f} on average ({min(nodes)} to {max(nodes)}, {len(nodes)} agents)"


def lines(result: dict[str, Any], more: list[str]) -> list[str]:
    """The result in words, with what the command has to say beside."""
    nodes, value = sizes(result["nodes"]), result["value"]
    error = f" ± {value['standard_error']:.2g}" if "standard_error" in value else ""
    first = (
        f"value {value['value']:.6g}{error} ({value['method']}), nodes {nodes}, "
        f"{result['seconds']:.1f} s, stopped: {result['stopped']}"
    )
    return [first, *more, f"written to {result['out']}"]
