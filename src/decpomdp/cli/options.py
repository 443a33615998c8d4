"""Options: those that several commands share, and those that follow from the settings of the methods."""

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

import typer

if TYPE_CHECKING:
    import msgspec

    from decpomdp.core.settings import About, Settings
    from decpomdp.engines.cluster import Cluster

PROBLEM = "A built-in problem (see `decpomdp list`), a .dpomdp file, or Python code that builds one (file.py:function)."
THREADS, DASK = "threads", "dask"
EXECUTION = "Execution"
PLAIN = (int, float, bool, str)
UNBOUNDED = 1e9  # larger upper limits of settings are not shown
TITLES = {"sbpr-loop": "sbpr (by playing)", "sbpr": "sbpr (from episodes)"}  # of settings in the help

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of all random numbers.")]
OptionalSeed = Annotated[
    int | None, typer.Option("--seed", min=0, help="Seed of all random numbers. Default: 0.", show_default=False)
]
Bins = Annotated[
    int | None, typer.Option(min=2, help="The observations of a table are numbers: put them into this many bins.")
]
Discount = Annotated[float | None, typer.Option("--discount", help="Discount to use instead of the problem's own.")]
Engine = Annotated[
    str | None,
    typer.Option(
        "--engine",
        help="threads (default): threads of this machine; dask: a Dask cluster. The result is the same.",
        show_default=False,
        rich_help_panel=EXECUTION,
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="tcp://HOST:PORT",
        help="Scheduler of the Dask cluster; default: start workers on this machine.",
        rich_help_panel=EXECUTION,
    ),
]


@contextmanager
def cluster_of(engine: str | None, scheduler: str | None, workers: int | None = None) -> "Iterator[Cluster | None]":
    """The cluster that --engine and --scheduler select, open within the context; None: threads of this machine."""
    from decpomdp.core import InputError, checks

    if engine is None or checks.one_of("--engine", engine, (THREADS, DASK)) == THREADS:
        if scheduler is not None:
            raise InputError(f"--scheduler: only with --engine {DASK}")
        yield None
        return
    from decpomdp.engines.cluster import Cluster, EngineError

    try:
        with Cluster(scheduler, workers) as cluster:
            yield cluster
    except EngineError as error:
        raise InputError(str(error)) from None


def jobs_here(jobs: int | None, scheduler: str | None) -> int | None:
    """The number of workers to start on this machine; rejected for an existing cluster."""
    from decpomdp.core import InputError

    if jobs is not None and scheduler is not None:
        raise InputError("--jobs: not with --scheduler; the cluster has its own number of workers")
    return jobs


def with_options(command: Callable[..., Any], more: Iterable[inspect.Parameter]) -> Callable[..., Any]:
    """The command with these parameters in place of its `**` parameter."""

    @wraps(command)
    def changed(*args: Any, **options: Any) -> Any:
        return command(*args, **options)

    own = [p for p in inspect.signature(command).parameters.values() if p.kind is not p.VAR_KEYWORD]
    ordered = sorted([*more, *own], key=lambda parameter: parameter.default is not parameter.empty)
    changed.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
    return changed


def settings_options(methods: "Iterable[type[Settings]]") -> dict[str, inspect.Parameter]:
    """Every field of every method as an option, except nested tuning settings."""
    import msgspec

    owners: dict[str, dict[str, msgspec.structs.FieldInfo]] = {}  # field -> the methods that have it
    for kind in methods:
        tag = str(kind.__struct_config__.tag)
        for field in msgspec.structs.fields(kind):
            if not isinstance(field.default, msgspec.Struct):
                owners.setdefault(field.name, {})[TITLES.get(tag, tag)] = field
    return {name: _option(name, uses) for name, uses in owners.items()}


def _option(name: str, uses: "dict[str, msgspec.structs.FieldInfo]") -> inspect.Parameter:
    """The option of one field, which several methods may have; the settings check its range."""
    from decpomdp.core.settings import about

    kinds = {title: about(field.type) for title, field in uses.items()}
    first, plain = next(iter(kinds.values())).kind, all(_is_plain(known.kind) for known in kinds.values())
    texts = {title: (known.description, _default(uses[title].default)) for title, known in kinds.items()}
    words, default = next(iter(texts.values()))
    if len(set(texts.values())) > 1:
        words, default = " ".join(f"{title}: {''.join(text)}" for title, text in texts.items()), ""
    if any(_takes_several(known.kind) for known in kinds.values()):
        words += " One number, or one per agent: 2,3."
    option = typer.Option(
        metavar=_metavar(kinds.values()) if plain else None,
        help=words + default,
        show_default=False,
        rich_help_panel=f"Settings of {', '.join(kinds)}",
    )
    kind = first if plain else str
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, option]
    )


def _is_plain(kind: Any) -> bool:
    return kind in PLAIN or get_origin(kind) is Literal


def _metavar(kinds: "Iterable[About]") -> str | None:
    """Type and range of a number, such as INT 1..64; None for other types, or if methods differ."""
    first, *others = {(known.kind, known.least, known.most) for known in kinds}
    kind, least, most = first
    if others or kind not in (int, float) or least is None or least <= -UNBOUNDED:
        return None
    high = "" if most is None or most >= UNBOUNDED else f"{most:g}"
    return f"{kind.__name__.upper()} {0 if least < 1 / UNBOUNDED else least:g}..{high}"


def _default(value: Any) -> str:
    words = {True: "yes", False: "no"}[value] if isinstance(value, bool) else value
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
