"""`decpomdp learn` and `decpomdp plan`: options in, a run in a folder out.

The settings of the methods are options, generated with their ranges, defaults and descriptions (`with_fields`).
"""

import inspect
import os
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_args, get_origin

import typer

from decpomdp.cli import after, engine, runs, words

if TYPE_CHECKING:
    import msgspec

    from decpomdp.api import Entry, Source
    from decpomdp.core.run import Inputs
    from decpomdp.core.settings import About, Settings

LIMITS, AFTER = "Limits", "After the run"

Command = TypeVar("Command", bound=Callable[..., Any])


PLAIN = (int, float, bool, str)
UNBOUNDED = 1e9  # larger upper limits of settings are not shown


Out = Annotated[
    Path | None,
    typer.Option(
        "--out", help="Folder for the run: team.json, report.html, run.json, ... Required, except with --resume."
    ),
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        "--time-limit",
        min=0,
        help="Seconds, compiling not counted; the best team so far is saved.",
        rich_help_panel=LIMITS,
    ),
]
Threads = Annotated[int | None, typer.Option("--threads", min=1, help="Default: all cores.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress display.")]
Resume = Annotated[
    Path | None, typer.Option("--resume", metavar="RUN", help="Resume an unfinished run with its original options.")
]
Every = Annotated[
    float | None,
    typer.Option("--checkpoint-every", min=0, help="Seconds between checkpoints. Default: 5.", show_default=False),
]
Value = Annotated[bool, typer.Option("--value/--no-value", help="Compute the team's value.", rich_help_panel=AFTER)]
Posterior = Annotated[
    bool,
    typer.Option(
        "--posterior",
        help="Play fresh episodes of the team and report how many nodes they support; takes about 20 s.",
        rich_help_panel=AFTER,
    ),
]
Report = Annotated[
    bool, typer.Option("--report/--no-report", help="Write the page report.html.", rich_help_panel=AFTER)
]
Method = Annotated[str | None, typer.Option("--method", help="The method.")]
Iterations = Annotated[
    int | None, typer.Option("--iterations", min=1, help="Maximum number of iterations.", rich_help_panel=LIMITS)
]


def learn(
    source: Annotated[
        str | None,
        typer.Argument(metavar="PROBLEM|EPISODES", help=words.PROBLEM + " Or a file of recorded episodes."),
    ] = None,
    out: Out = None,
    method: Method = None,
    seed: words.OptionalSeed = None,
    discount: words.Discount = None,
    bins: Annotated[
        int | None,
        typer.Option("--bins", min=2, help="The observations of a table are numbers: put them into so many bins."),
    ] = None,
    begin: Annotated[
        str | None,
        typer.Option(
            "--begin", metavar="TEAM", help="sbpr: start from this team.json, or from a policy of the problem."
        ),
    ] = None,
    time_limit: TimeLimit = None,
    steps: Annotated[
        int | None,
        typer.Option("--steps", min=1, help="Maximum number of joint steps to play.", rich_help_panel=LIMITS),
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

    Ctrl-C saves the best team so far. To continue a run that was interrupted or killed, use --resume.
    """
    given = {"source": source, "out": out, "method": method, "seed": seed, "discount": discount, "begin": begin}
    limits = {"time_limit": time_limit, "steps": steps, "iterations": iterations}
    options = runs.Options(threads, checkpoint_every, quiet, value, posterior, report)
    result = _run("learn", {**given, "bins": bins}, limits, fields, resume, options, engine_name, scheduler)
    words.tell(result, as_json, after.lines_of(result))


def plan(
    problem: Annotated[str | None, typer.Argument(help=words.PROBLEM)] = None,
    out: Out = None,
    method: Method = None,
    seed: words.OptionalSeed = None,
    discount: words.Discount = None,
    begin: Annotated[str | None, typer.Option("--begin", metavar="TEAM", help="em: start from this team.json.")] = None,
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

    Ctrl-C saves the best team so far. To continue a run that was interrupted or killed, use --resume.
    """
    given = {"source": problem, "out": out, "method": method, "seed": seed, "discount": discount, "begin": begin}
    limits = {"time_limit": time_limit, "iterations": iterations}
    options = runs.Options(threads, checkpoint_every, quiet, value, False, report)
    result = _run("plan", given, limits, fields, resume, options)
    words.tell(result, as_json, after.lines_of(result))


def _run(
    command: str,
    given: dict[str, Any],
    limits: dict[str, Any],
    fields: dict[str, Any],
    resume: Path | None,
    options: runs.Options,
    engine_name: str | None = None,
    scheduler: str | None = None,
) -> dict[str, Any]:
    """Start or resume a run; its result for the output."""
    from decpomdp.core import InputError
    from decpomdp.core.run import Inputs

    inputs = Inputs(threads=options.threads)
    if resume is not None:
        work, folder = _resumed(command, {**given, **limits, **fields}, resume, inputs), resume
    else:
        work, folder = _started(command, given, limits, fields, inputs), given["out"]
    if engine_name == engine.DASK and "engine" not in work.settings.inputs:
        raise InputError(f"--engine {engine.DASK}: not supported by {work.settings.method}")
    with engine.opened(engine_name, scheduler, options.threads) as cluster:
        work = work._replace(inputs=work.inputs._replace(engine=cluster))
        return runs.execute(work, folder, resume is not None, options)


def _resumed(command: str, given: dict[str, Any], folder: Path, inputs: "Inputs") -> runs.Work:
    """An unfinished run, with the settings that it was started with; its source is given again only if it is code."""
    from decpomdp.core import InputError
    from decpomdp.domains.load import is_code

    source = given["source"]
    code = source if source is not None and is_code(source) else None
    for name, value in given.items():
        if value is not None and not (name == "source" and code):
            option = "PROBLEM" if name == "source" else f"--{name.replace('_', '-')}"
            raise InputError(f"{option}: not allowed with --resume, which uses the settings of the run")
    work = runs.resumed(command, folder, inputs, code)
    if work is None:
        raise runs.AlreadyFinished(folder)
    return work


def _started(
    command: str, given: dict[str, Any], limits: dict[str, Any], fields: dict[str, Any], inputs: "Inputs"
) -> runs.Work:
    """A new run."""
    from collections.abc import Sequence

    from decpomdp.api import LOGGED, PLANNING, PLAYING, default_method
    from decpomdp.core import Episodes
    from decpomdp.core.run import Budget

    def choose(opened: "Source") -> "tuple[Entry, Settings]":
        if command == "plan":
            return _chosen(PLANNING, given["method"], "fb-hsvi", fields)
        known = LOGGED if isinstance(opened, Episodes | Sequence) else PLAYING
        return _chosen(known, given["method"], default_method(opened), fields)

    source, discount = given["source"], given["discount"]
    _check_required(source, given["out"], discount)
    budget = Budget(seconds=limits["time_limit"], steps=limits.get("steps"), iterations=limits["iterations"])
    inputs = inputs._replace(seed=given["seed"] or 0)
    return runs.started(command, source, discount, budget, given["begin"], choose, inputs, given.get("bins"))


def _check_required(source: str | None, out: Path | None, discount: float | None) -> None:
    """A new run needs a source and a folder, and a table a discount: one message says all that is missing."""
    from decpomdp.core import InputError
    from decpomdp.io.files import is_logged
    from decpomdp.io.logged import kind_of

    if source is None:
        raise InputError("expected a problem or a file, got none (see --help)")
    missing = ["--out: expected the folder for the run, such as runs/first, got none"] if out is None else []
    recorded = os.path.isdir(source) or (is_logged(source) and os.path.exists(source))
    if discount is None and recorded and kind_of(source) != "episodes":
        missing.append(f"--discount: expected a number, such as 0.95, because {source} contains none")
    if missing:
        raise InputError("; ".join(missing))


def _chosen(
    known: "dict[str, Entry]", method: str | None, default: str, fields: dict[str, Any]
) -> "tuple[Entry, Settings]":
    """The method with its settings; an option of another method is rejected."""
    from decpomdp.api import chosen, owner_of
    from decpomdp.core import InputError, checks

    name = checks.one_of("--method", default if method is None else method, tuple(known))
    kind = known[name].settings
    found = given(fields, kind)
    for field in found:
        if field not in kind.__struct_fields__:
            other = owner_of(known, field)
            hint = f"; it is one of --method {other}" if other else ""
            raise InputError(f"--{field.replace('_', '-')}: not a setting of {name}{hint}")
    try:
        return chosen(known, name, name, found)
    except InputError as error:
        field, _, rest = str(error).partition(":")
        option = f"--{field.replace('_', '-')}" if field in found else field
        raise InputError(f"{option}:{rest.replace(' or None, got', ', got')}") from None


def with_fields(command: Command, methods: "dict[str, type[Settings]]", names: str) -> Callable[..., Any]:
    """The command with every field of every method as an option, in place of its `**fields`.

    `names` is the help of --method.
    """
    import msgspec

    owners: dict[str, list[tuple[str, msgspec.structs.FieldInfo]]] = {}
    for name, kind in methods.items():
        for field in msgspec.structs.fields(kind):
            if not isinstance(field.default, msgspec.Struct):  # nested tuning settings are not options
                owners.setdefault(field.name, []).append((name, field))
    named = with_parameters(command, [_parameter(uses) for uses in owners.values()])
    own = inspect.signature(named).parameters
    option = own["method"].replace(annotation=Annotated[str | None, typer.Option("--method", help=names)])
    named.__signature__ = inspect.Signature(list({**own, "method": option}.values()))  # type: ignore[attr-defined]
    return named


def with_parameters(command: Command, more: Iterable[inspect.Parameter] = ()) -> Callable[..., Any]:
    """The command with these parameters in place of its `**fields`; without them for the list of commands."""
    own = [p for p in inspect.signature(command).parameters.values() if p.kind is not p.VAR_KEYWORD]

    @wraps(command)
    def changed(*args: Any, **options: Any) -> Any:
        return command(*args, **options)

    changed.__signature__ = inspect.Signature([*own, *more])  # type: ignore[attr-defined]
    return changed


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
    found = {name: value for name, value in fields.items() if value is not None}
    return {
        name: _numbers(value) if isinstance(value, str) and _holds_numbers(types.get(name)) else value
        for name, value in found.items()
    }


def _holds_numbers(kind: Any) -> bool:
    """Whether a text is parsed as numbers: if another method takes several, the option is a text for all methods."""
    return kind is int or _takes_several(kind)


def _takes_several(kind: Any) -> bool:
    return any(get_origin(part) in (tuple, list) for part in (kind, *get_args(kind)))


def _numbers(text: str) -> Any:
    """A whole number, or several separated by commas; other text is returned unchanged, for the settings to reject."""
    parts = text.split(",")
    if not all(part.strip().isdigit() for part in parts):
        return text
    return int(parts[0]) if len(parts) == 1 else tuple(map(int, parts))
