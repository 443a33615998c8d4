"""`decpomdp learn` and `decpomdp plan`: options in, a run in a folder out.

The settings of the methods are options, generated with their ranges, defaults and descriptions (`command_of`).
"""

import inspect
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from decpomdp.cli import options as shared
from decpomdp.cli import words

if TYPE_CHECKING:
    from decpomdp.core.settings import Settings

LIMITS, AFTER = "Limits", "After the run"
LEARN_ONLY = ("bins", "steps", "posterior", "engine", "scheduler")  # options that `plan` does not have


def learn(**options: Any) -> None:
    """Learn one small controller per agent, by playing a problem or from recorded episodes.

    Ctrl-C saves the best team so far. To continue a run that was interrupted or killed, use --resume.
    """
    _run("learn", **options)


def plan(**options: Any) -> None:
    """Plan a team for a problem from its model.

    Ctrl-C saves the best team so far. To continue a run that was interrupted or killed, use --resume.
    """
    _run("plan", **options)


def _run(
    command: str,
    source: Annotated[
        str | None, typer.Argument(metavar="PROBLEM|EPISODES", help=shared.PROBLEM + " Or a file of recorded episodes.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the run: team.json, report.html, run.json, ... Required, except with --resume."),
    ] = None,
    method: Annotated[str | None, typer.Option(help="The method.")] = None,
    seed: shared.OptionalSeed = None,
    discount: shared.Discount = None,
    bins: shared.Bins = None,
    begin: Annotated[
        str | None,
        typer.Option(
            metavar="TEAM", help="Start from this team.json (sbpr, em), or from a policy of the problem (sbpr)."
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            min=0, help="Seconds, compiling not counted; the best team so far is saved.", rich_help_panel=LIMITS
        ),
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of joint steps to play.", rich_help_panel=LIMITS)
    ] = None,
    iterations: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of iterations.", rich_help_panel=LIMITS)
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Default: all cores.")] = None,
    as_json: shared.Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress display.")] = False,
    resume: Annotated[
        Path | None, typer.Option(metavar="RUN", help="Resume an unfinished run with its original options.")
    ] = None,
    checkpoint_every: Annotated[
        float | None, typer.Option(min=0, help="Seconds between checkpoints. Default: 5.", show_default=False)
    ] = None,
    value: Annotated[bool, typer.Option(help="Compute the team's value.", rich_help_panel=AFTER)] = True,
    posterior: Annotated[
        bool,
        typer.Option(
            "--posterior",
            help="Play fresh episodes of the team and report how many nodes they support; takes about 20 s.",
            rich_help_panel=AFTER,
        ),
    ] = False,
    report: Annotated[bool, typer.Option(help="Write the page report.html.", rich_help_panel=AFTER)] = True,
    engine: shared.Engine = None,
    scheduler: shared.Scheduler = None,
    **fields: Any,
) -> None:
    """Start or resume a run and print its result; the parameters are the options of both commands."""
    from decpomdp.api import RunSetup
    from decpomdp.cli import after, runs  # imported late: they load numpy
    from decpomdp.core.run import Budget, Inputs

    if resume is not None:
        given = {"out": out, "method": method, "seed": seed, "discount": discount, "bins": bins, "begin": begin}
        limits = {"time_limit": time_limit, "steps": steps, "iterations": iterations}
        runs.reject_given({**given, **limits, **fields})
        run = runs.resumed(command, resume, threads, source)
    else:
        source, folder = runs.check_required(source, out, discount)
        opened = runs.opened(command, source, discount, bins=bins)
        settings = runs.settings_of(command, opened, method, fields)
        inputs = Inputs(seed or 0, threads, begin=None if begin is None else runs.team_at(begin, opened))
        budget = Budget(seconds=time_limit, steps=steps, iterations=iterations)
        setup = RunSetup(opened, settings, inputs, budget)
        run = runs.started(command, source, folder, setup, bins, begin or "")
    with runs.on_engine(run, engine, scheduler) as ready:
        result = runs.execute(ready, runs.Options(checkpoint_every, quiet, value, posterior, report))
    words.tell(result, as_json, after.lines_of(result))
    if result["stopped"] == "interrupted":
        raise SystemExit(words.INTERRUPTED)
    if not result["learned"]:
        raise SystemExit(words.NOTHING_LEARNED)


def command_of(name: str, detailed: bool) -> Callable[..., None]:
    """`learn` or `plan` with its options; `detailed`: also the settings of its methods, which import numpy."""
    hidden = ("command", "fields") if name == "learn" else ("command", "fields", *LEARN_ONLY)
    options = {p.name: p for p in inspect.signature(_run).parameters.values() if p.name not in hidden}
    if name == "plan":
        argument = typer.Argument(metavar="PROBLEM", help=shared.PROBLEM)
        options["source"] = options["source"].replace(annotation=Annotated[str | None, argument])
    if detailed:
        methods, names = _methods(name)
        options["method"] = options["method"].replace(annotation=Annotated[str | None, typer.Option(help=names)])
        options |= shared.settings_options(methods)
    return shared.with_options(learn if name == "learn" else plan, options.values())


def _methods(command: str) -> "tuple[list[type[Settings]], str]":
    """The methods of a command, and their names for the help; the first one is the default."""
    from decpomdp.api import LOGGED, MANY_AGENTS, PLANNING, PLAYING

    def names(methods: Collection[str]) -> str:
        first, *others = methods
        return f"{', '.join([f'{first} (default)', *others])}."

    if command == "plan":
        return [*PLANNING.values()], names(PLANNING)
    many = f"Default with more than {MANY_AGENTS} agents: sbpr."
    return [*PLAYING.values(), *LOGGED.values()], f"Problem: {names(PLAYING)} Episodes: {names(LOGGED)} {many}"
