"""`decpomdp learn` and `decpomdp plan`: options in, a run in a folder out.

The settings of the methods are options, generated with their ranges, defaults and descriptions (`command_of`).
"""

import inspect
import os
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

import typer

from decpomdp.cli import after, engine, runs, words

if TYPE_CHECKING:
    import msgspec

    from decpomdp.api import Source
    from decpomdp.core.settings import About, Settings

LIMITS, AFTER = "Limits", "After the run"
LEARN_ONLY = ("bins", "steps", "posterior", "engine_name", "scheduler")  # options that `plan` does not have
PLAIN = (int, float, bool, str)
UNBOUNDED = 1e9  # larger upper limits of settings are not shown
TITLES = {"sbpr-loop": "sbpr (by playing)", "sbpr": "sbpr (from episodes)"}  # of settings in the help


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
        str | None, typer.Argument(metavar="PROBLEM|EPISODES", help=words.PROBLEM + " Or a file of recorded episodes.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the run: team.json, report.html, run.json, ... Required, except with --resume."),
    ] = None,
    method: Annotated[str | None, typer.Option(help="The method.")] = None,
    seed: words.OptionalSeed = None,
    discount: words.Discount = None,
    bins: words.Bins = None,
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
    as_json: words.Json = False,
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
    engine_name: engine.Engine = None,
    scheduler: engine.Scheduler = None,
    **fields: Any,
) -> None:
    """Start or resume a run and print its result; the parameters are the options of both commands."""
    from decpomdp.api import RunSetup
    from decpomdp.core import InputError
    from decpomdp.core.run import Budget, Inputs

    inputs = Inputs(seed or 0, threads)
    if resume is not None:
        given = {"out": out, "method": method, "seed": seed, "discount": discount, "bins": bins, "begin": begin}
        limits = {"time_limit": time_limit, "steps": steps, "iterations": iterations}
        _reject_given({**given, **limits, **fields})
        work, folder = runs.resumed(command, resume, inputs, source), resume
    else:
        source, folder = _check_required(source, out, discount)
        opened = runs.opened(command, source, discount, bins=bins)
        settings = _settings(command, opened, method, fields)
        inputs = inputs._replace(begin=None if begin is None else runs.team_at(begin, opened))
        budget = Budget(seconds=time_limit, steps=steps, iterations=iterations)
        work = runs.started(command, source, RunSetup(opened, settings, inputs, budget), bins, begin or "")
    if engine_name == engine.DASK and "engine" not in work.setup.settings.inputs:
        raise InputError(f"--engine {engine.DASK}: not supported by {work.setup.settings.method}")
    options = runs.Options(checkpoint_every, quiet, value, posterior, report)
    with engine.opened(engine_name, scheduler, threads) as cluster:
        setup = work.setup._replace(inputs=work.setup.inputs._replace(engine=cluster))
        result = runs.execute(work._replace(setup=setup), folder, resume is not None, options)
    words.tell(result, as_json, after.lines_of(result))
    if result["stopped"] == "interrupted":
        raise SystemExit(runs.INTERRUPTED)
    if not result["learned"]:
        raise SystemExit(runs.NOTHING_LEARNED)


def _reject_given(options: dict[str, Any]) -> None:
    """A resumed run has the settings that it was started with."""
    from decpomdp.core import InputError

    for name, value in options.items():
        if value is not None:
            option = f"--{name.replace('_', '-')}"
            raise InputError(f"{option}: not allowed with --resume, which uses the settings of the run")


def _check_required(source: str | None, out: Path | None, discount: float | None) -> tuple[str, Path]:
    """A new run needs a source and a folder, and a table a discount: one message says all that is missing."""
    from decpomdp.api import holds_episodes
    from decpomdp.core import InputError
    from decpomdp.io.logged import kind_of

    if source is None:
        raise InputError("expected a problem or a file, got none (see --help)")
    missing = ["--out: expected the folder for the run, such as runs/first, got none"] if out is None else []
    recorded = holds_episodes(source) and os.path.exists(source)
    if discount is None and recorded and kind_of(source) != "episodes":
        missing.append(f"--discount: expected a number, such as 0.95, because {source} contains none")
    if missing or out is None:
        raise InputError("; ".join(missing))
    return source, out


def _settings(command: str, source: "Source", method: str | None, fields: dict[str, Any]) -> "Settings":
    """The settings of the method; an option of another method is rejected."""
    from decpomdp.api import chosen, methods_for
    from decpomdp.core import InputError, checks

    known, default = methods_for(command, source)
    name = checks.one_of("--method", default if method is None else method, tuple(known))
    found = given(fields, known[name])
    try:
        return chosen(known, name, name, found)
    except InputError as error:
        field, _, rest = str(error).partition(":")
        option = f"--{field.replace('_', '-')}" if field in found else field
        raise InputError(f"{option}:{rest.replace(' or None, got', ', got')}") from None


def command_of(name: str, detailed: bool) -> Callable[..., None]:
    """`learn` or `plan` with its options; `detailed`: also the settings of its methods, which import numpy."""
    hidden = ("command", "fields") if name == "learn" else ("command", "fields", *LEARN_ONLY)
    options = {p.name: p for p in inspect.signature(_run).parameters.values() if p.name not in hidden}
    if name == "plan":
        argument = typer.Argument(metavar="PROBLEM", help=words.PROBLEM)
        options["source"] = options["source"].replace(annotation=Annotated[str | None, argument])
    if detailed:
        methods, names = _methods(name)
        options["method"] = options["method"].replace(annotation=Annotated[str | None, typer.Option(help=names)])
        options |= _fields(methods)
    return words.with_options(learn if name == "learn" else plan, options.values())


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


def _fields(methods: "Iterable[type[Settings]]") -> dict[str, inspect.Parameter]:
    """Every field of every method as an option, except nested tuning settings."""
    import msgspec

    owners: dict[str, list[tuple[str, msgspec.structs.FieldInfo]]] = {}
    for kind in methods:
        tag = str(kind.__struct_config__.tag)
        for field in msgspec.structs.fields(kind):
            if not isinstance(field.default, msgspec.Struct):
                owners.setdefault(field.name, []).append((TITLES.get(tag, tag), field))
    return {name: _parameter(uses) for name, uses in owners.items()}


def _parameter(uses: "list[tuple[str, msgspec.structs.FieldInfo]]") -> inspect.Parameter:
    """The option of one field, which several methods may have; the settings check its range."""
    from decpomdp.core.settings import about

    kinds = {name: about(field.type) for name, field in uses}
    first = next(iter(kinds.values())).kind
    plain = all(known.kind in PLAIN or get_origin(known.kind) is Literal for known in kinds.values())
    alike = (
        len({(known.description, str(field.default)) for known, (_, field) in zip(kinds.values(), uses, strict=True)})
        == 1
    )
    if alike:
        words, default = next(iter(kinds.values())).description, uses[0][1].default
    else:
        words = " ".join(f"{name}: {kinds[name].description}{_default(field.default)}" for name, field in uses)
        default = None
    several = any(_takes_several(known.kind) for known in kinds.values())
    option = typer.Option(
        metavar=_metavar(kinds.values()) if plain else None,
        help=words + (" One number, or one per agent: 2,3." if several else "") + _default(default),
        show_default=False,
        rich_help_panel=f"Settings of {', '.join(kinds)}",
    )
    kind = first if plain else str
    return inspect.Parameter(
        uses[0][1].name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, option]
    )


def _metavar(kinds: "Iterable[About]") -> str | None:
    """Type and range of a number, such as INT 1..64; None for other types, or if methods differ."""
    first, *others = {(known.kind, known.least, known.most) for known in kinds}
    kind, least, most = first
    if others or kind not in (int, float) or least is None or least <= -UNBOUNDED:
        return None
    high = "" if most is None or most >= UNBOUNDED else f"{most:g}"
    return f"{kind.__name__.upper()} {0 if least < 1 / UNBOUNDED else least:g}..{high}"


def _default(value: Any) -> str:
    words = {True: "yes", False: "no"}.get(value, value) if isinstance(value, bool) else value
    return "" if value is None else f" Default: {words}."


def given(fields: dict[str, Any], kind: "type[Settings]") -> dict[str, Any]:
    """The fields that were set, as the settings take them: "2,3" as (2, 3)."""
    import msgspec

    from decpomdp.core.settings import about

    types = {field.name: about(field.type).kind for field in msgspec.structs.fields(kind)}
    numbers = {name for name, kind in types.items() if kind is int or _takes_several(kind)}
    return {  # if a method takes several numbers, the option is a text for all methods
        name: _numbers(value) if isinstance(value, str) and name in numbers else value
        for name, value in fields.items()
        if value is not None
    }


def _takes_several(kind: Any) -> bool:
    return any(get_origin(part) in (tuple, list) for part in (kind, *get_args(kind)))


def _numbers(text: str) -> Any:
    """A whole number, or several separated by commas; other text is returned unchanged, for the settings to reject."""
    parts = text.split(",")
    if not all(part.strip().isdigit() for part in parts):
        return text
    return int(parts[0]) if len(parts) == 1 else tuple(map(int, parts))
