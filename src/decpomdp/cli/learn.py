"""`decpomdp learn` and `decpomdp plan`: options in, a run in a folder out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from decpomdp.cli import engine, runs, words

if TYPE_CHECKING:
    from decpomdp.api import Entry, Source
    from decpomdp.core.run import Inputs
    from decpomdp.core.settings import Settings

LIMITS, AFTER = "Limits", "After the run"

Out = Annotated[Path | None, typer.Option("--out", help="Folder for the run: team.json, report.html, run.json, ...")]
TimeLimit = Annotated[
    float | None,
    typer.Option("--time-limit", min=0, help="Seconds; the best team so far is kept.", rich_help_panel=LIMITS),
]
Threads = Annotated[int | None, typer.Option("--threads", min=1, help="Default: all cores.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress display.")]
Resume = Annotated[
    Path | None, typer.Option("--resume", metavar="RUN", help="Resume an unfinished run, with the options it had.")
]
Every = Annotated[
    float | None, typer.Option("--checkpoint-every", min=0, help="Seconds between checkpoints.", show_default="5")
]
Value = Annotated[bool, typer.Option("--value/--no-value", help="Compute the team's value.", rich_help_panel=AFTER)]
Posterior = Annotated[
    bool,
    typer.Option(
        "--posterior",
        help="Play fresh episodes of the team and report how many nodes they support (about 20 s).",
        rich_help_panel=AFTER,
    ),
]
Report = Annotated[bool, typer.Option("--report/--no-report", help="Make the page.", rich_help_panel=AFTER)]
Iterations = Annotated[int | None, typer.Option("--iterations", min=1, help="Most iterations.", rich_help_panel=LIMITS)]


def learn(
    source: Annotated[
        str | None,
        typer.Argument(metavar="PROBLEM|EPISODES", help=words.PROBLEM + " Or a file of recorded episodes."),
    ] = None,
    out: Out = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            help="search, sbpr (Dec-SBPR; on a simulator the paper's loop) or mcem. Default: search for a problem, "
            "sbpr for episodes and for more than 8 agents.",
        ),
    ] = None,
    seed: words.OptionalSeed = None,
    discount: words.Discount = None,
    begin: Annotated[
        str | None,
        typer.Option(
            "--begin", metavar="TEAM", help="sbpr: begin with this team.json, or a policy that comes with the problem."
        ),
    ] = None,
    time_limit: TimeLimit = None,
    steps: Annotated[
        int | None,
        typer.Option("--steps", min=1, help="Most joint steps to play.", rich_help_panel=LIMITS),
    ] = None,
    iterations: Iterations = None,
    threads: Threads = None,
    as_json: words.Json = False,
    quiet: Quiet = False,
    resume: Resume = None,
    checkpoint_every: Every = None,
    value: Value = True,
    posterior: Posterior = False,
    report: Report = True,
    engine_name: engine.Engine = None,
    scheduler: engine.Scheduler = None,
    **fields: Any,
) -> None:
    """Learn one small controller per agent, by playing a problem or from recorded episodes.

    Ctrl-C keeps the best team so far. An unfinished run, killed or interrupted, is resumed with --resume.
    """
    from collections.abc import Sequence

    from decpomdp.api import LOGGED, PLAYING, default_method
    from decpomdp.core import Episodes, InputError
    from decpomdp.core.run import Budget, Inputs

    def choose(opened: "Source") -> "tuple[Entry, Settings]":
        known = LOGGED if isinstance(opened, Episodes | Sequence) else PLAYING
        return _chosen(known, method, default_method(opened), fields)

    limits: dict[str, Any] = {"seconds": time_limit, "steps": steps, "iterations": iterations}
    options = runs.Options(threads, checkpoint_every, quiet, value, posterior, report)
    inputs = Inputs(threads=threads)
    given = {"source": source, "out": out, "method": method, "seed": seed, "discount": discount, "begin": begin}
    if resume is not None:
        code = _code(source)
        given = given if code is None else {**given, "source": None}
        _check_alone({**given, "time_limit": time_limit, "steps": steps, "iterations": iterations, **fields})
        work, folder = _unfinished("learn", resume, inputs, code), resume
    else:
        name, folder = _required(source, out)
        work = runs.started("learn", name, discount, seed or 0, Budget(**limits), begin, choose, inputs)
    if engine_name == engine.DASK and "engine" not in work.settings.inputs:
        raise InputError(f"--engine {engine.DASK}: not for {work.settings.method}")
    with engine.opened(engine_name, scheduler, threads) as cluster:
        work = work._replace(inputs=work.inputs._replace(engine=cluster))
        result = runs.execute(work, folder, resume is not None, options)
    words.tell(result, as_json, runs.lines(result))


def plan(
    problem: Annotated[str | None, typer.Argument(help=words.PROBLEM)] = None,
    out: Out = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method", help="fb-hsvi (default), periem, em, or pbvi (one agent that sees and does everything)."
        ),
    ] = None,
    seed: words.OptionalSeed = None,
    discount: words.Discount = None,
    begin: Annotated[str | None, typer.Option("--begin", metavar="TEAM", help="em: begin with this team.json.")] = None,
    time_limit: TimeLimit = None,
    iterations: Iterations = None,
    threads: Threads = None,
    as_json: words.Json = False,
    quiet: Quiet = False,
    resume: Resume = None,
    checkpoint_every: Every = None,
    value: Value = True,
    report: Report = True,
    **fields: Any,
) -> None:
    """Plan a team for a problem from its model.

    Ctrl-C keeps the best team so far. An unfinished run, killed or interrupted, is resumed with --resume.
    """
    from decpomdp.api import PLANNING
    from decpomdp.core.run import Budget, Inputs

    limits: dict[str, Any] = {"seconds": time_limit, "iterations": iterations}
    options, inputs = runs.Options(threads, checkpoint_every, quiet, value, False, report), Inputs(threads=threads)
    given = {"problem": problem, "out": out, "method": method, "seed": seed, "discount": discount, "begin": begin}
    if resume is not None:
        code = _code(problem)
        given = given if code is None else {**given, "problem": None}
        _check_alone({**given, "time_limit": time_limit, "iterations": iterations, **fields})
        work, folder = _unfinished("plan", resume, inputs, code), resume
    else:
        name, folder = _required(problem, out)
        work = runs.started(
            "plan",
            name,
            discount,
            seed or 0,
            Budget(**limits),
            begin,
            lambda _: _chosen(PLANNING, method, "fb-hsvi", fields),
            inputs,
        )
    result = runs.execute(work, folder, resume is not None, options)
    words.tell(result, as_json, runs.lines(result))


def _chosen(
    known: "dict[str, Entry]", method: str | None, default: str, fields: dict[str, Any]
) -> "tuple[Entry, Settings]":
    """The method with its settings; an option of another method is refused."""
    from decpomdp.api import chosen
    from decpomdp.cli.options import given
    from decpomdp.core import InputError, checks

    name = checks.one_of("--method", default if method is None else method, tuple(known))
    kind = known[name].settings
    found = given(fields, kind)
    for field in found:
        if field not in kind.__struct_fields__:
            raise InputError(f"--{field.replace('_', '-')}: not a setting of {name}")
    try:
        return chosen(known, name, name, found)
    except InputError as error:
        field, _, rest = str(error).partition(":")
        option = f"--{field.replace('_', '-')}" if field in found else field
        raise InputError(f"{option}:{rest.replace(' or None, got', ', got')}") from None


def _required(source: str | None, out: Path | None) -> tuple[str, Path]:
    """A new run needs a source and a folder."""
    from decpomdp.core import InputError

    if source is None:
        raise InputError("expected a problem or a file, got none (see --help)")
    if out is None:
        raise InputError("--out: expected the folder for the run, got none")
    return source, out


def _check_alone(given: dict[str, Any]) -> None:
    """A resumed run has the settings it started with."""
    from decpomdp.core import InputError

    for name, value in given.items():
        if value is not None:
            option = name.upper() if name in ("source", "problem") else f"--{name.replace('_', '-')}"
            raise InputError(f"{option}: not allowed with --resume, which uses the settings of the run")


def _code(source: str | None) -> str | None:
    """The source of a resumed run if it is code, which has to be named again."""
    from decpomdp.domains.load import is_code

    return source if source is not None and is_code(source) else None


def _unfinished(command: str, folder: Path, inputs: "Inputs", code: str | None) -> runs.Work:
    work = runs.resumed(command, folder, inputs, code)
    if work is None:
        raise runs.AlreadyFinished(folder)
    return work
