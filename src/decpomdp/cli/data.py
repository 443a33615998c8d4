"""`decpomdp data info`, `decpomdp data validate` and `decpomdp data convert`."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from decpomdp.cli import words
from decpomdp.cli.words import decimal

if TYPE_CHECKING:
    from decpomdp.core import Agent, Episodes
    from decpomdp.io.logged import Given


app = typer.Typer(help="Look at, check and convert logged episodes.", no_args_is_help=True)

File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="Episodes (.parquet), a long table (.csv, .csv.gz, .csv.zst, .parquet) or a Minari folder."
    ),
]
Kind = Annotated[
    str | None, typer.Option("--from", help="What the file is: episodes, long or minari. Default: found out.")
]
Discount = Annotated[float | None, typer.Option("--discount", help="Discount of data without one (long, minari).")]
Like = Annotated[
    str | None,
    typer.Option(
        "--like",
        help="Take agents, labels and discount of a long table from this: a problem, a .dpomdp file, a team.json or an "
        "episodes file.",
    ),
]
Column = Annotated[
    list[str] | None,
    typer.Option("--column", metavar="OURS=THEIRS", help="What a column of a long table is called; may be repeated."),
]


SHOWN = 12  # labels of an alphabet, the most frequent ones


@app.command()
def info(
    file: File,
    kind: Kind = None,
    discount: Discount = None,
    like: Like = None,
    column: Column = None,
    as_json: words.Json = False,
) -> None:
    """Show what is in logged episodes: agents, counts, returns, and how far they can support another team."""
    from decpomdp.evaluation.logged import facts_of

    episodes, assumed = _read(file, kind, discount, like, column)
    result: dict[str, Any] = {"file": str(file), "discount_assumed": assumed, **facts_of(episodes)}
    words.tell(result, as_json, data_in_words(result))


@app.command()
def validate(
    file: File, kind: Kind = None, discount: Discount = None, like: Like = None, column: Column = None
) -> None:
    """Check a file of recorded episodes; print OK, or every error with its row and column."""
    from decpomdp.io.logged import validate_logged

    episodes, errors = validate_logged(file, _given(file, kind, discount, like, column)[0])
    for error in errors:
        words.fail(str(error))
    if episodes is None:
        raise typer.Exit(2)
    words.tell({}, False, [f"OK: {file}: {episodes.count} episodes, {episodes.steps} steps, {_names(episodes)}"])


@app.command()
def convert(
    source: File,
    target: Annotated[
        Path,
        typer.Argument(
            metavar="OUT", help="A new file: .csv, .csv.gz or .csv.zst for a long table, .parquet for episodes."
        ),
    ],
    kind: Kind = None,
    to: Annotated[
        str | None, typer.Option("--to", help="What to write: episodes or long. Default: by the name of OUT.")
    ] = None,
    discount: Discount = None,
    like: Like = None,
    column: Column = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace OUT if it exists.")] = False,
) -> None:
    """Convert logged episodes: long tables and Minari datasets to episodes, episodes to long tables."""
    from decpomdp.core import InputError
    from decpomdp.io.episodes import write_episodes
    from decpomdp.io.files import is_csv
    from decpomdp.io.tables import write_table

    wanted = to or _kind_by_name(target)
    if wanted not in ("episodes", "long"):
        raise InputError(f"--to: expected episodes or long, got {wanted!r}")
    if wanted == "episodes" and is_csv(str(target)):
        raise InputError(f"--to: expected long for {target}; episodes are Parquet files")
    if target.exists() and not overwrite:
        raise InputError(f"{target}: expected a new file, got an existing one; --overwrite replaces it")
    episodes, assumed = _read(source, kind, discount, like, column)
    if assumed and wanted == "episodes":
        raise InputError(f"{source} contains no discount; pass --discount or --like")
    (write_episodes if wanted == "episodes" else write_table)(episodes, target)
    words.tell(
        {}, False, [f"{episodes.count} episodes, {episodes.steps} steps, {_names(episodes)}: written to {target}"]
    )


def _kind_by_name(target: Path) -> str:
    from decpomdp.core import InputError
    from decpomdp.io.files import is_csv, is_logged

    if not is_logged(target):
        raise InputError(f"{target}: expected a name that ends in .csv or .parquet (or pass --to)")
    return "long" if is_csv(str(target)) else "episodes"


def _read(
    file: Path, kind: str | None, discount: float | None, like: str | None, column: list[str] | None
) -> tuple["Episodes", bool]:
    """The episodes, and whether a discount of 1 had to be assumed because none was given."""
    from decpomdp.io.logged import read_logged

    given, assumed = _given(file, kind, discount, like, column)
    return read_logged(file, given), assumed


def _given(
    file: Path, kind: str | None, discount: float | None, like: str | None, column: list[str] | None
) -> tuple["Given", bool]:
    """Information for the reader besides the file, and whether it contains an assumed discount of 1."""
    from decpomdp.io.kinds import kind_of
    from decpomdp.io.logged import Given

    found = kind or kind_of(file)
    agents, factor, name = (None, None, None) if like is None else _likeness(like)
    said = factor if discount is None else discount
    assumed = said is None and found != "episodes"
    return Given(kind, 1.0 if assumed else said, agents, name, _columns(column)), assumed


def _likeness(like: str) -> tuple[tuple["Agent", ...], float, str]:
    """Agents, discount and name of a team, an episodes file or a problem."""
    from decpomdp.domains.load import load
    from decpomdp.io.episodes import read_episodes
    from decpomdp.io.team import read_team

    if like.lower().endswith(".json"):
        team = read_team(like)
        return team.agents, team.discount, team.problem
    found = read_episodes(like) if like.lower().endswith(".parquet") else load(like)
    return found.agents, found.discount, found.name


def _columns(given: list[str] | None) -> dict[str, str]:
    from decpomdp.core import InputError

    pairs = [text.partition("=") for text in given or ()]
    for ours, sign, theirs in pairs:
        if not (ours and sign and theirs):
            raise InputError(f"--column: expected OURS=THEIRS, such as observation=obs, got {ours + sign + theirs!r}")
    return {ours: theirs for ours, _, theirs in pairs}


def _names(episodes: "Episodes") -> str:
    return f"agents {', '.join(agent.name for agent in episodes.agents)}"


def data_in_words(facts: Mapping[str, Any]) -> list[str]:
    """Lines about the facts of logged episodes."""
    lengths, returns, rewards = facts["lengths"], facts["returns"], facts["rewards"]
    error = "" if returns["standard_error"] is None else f" +- {decimal(returns['standard_error'])} (standard error)"
    assumed = " (assumed: the file contains none)" if facts["discount_assumed"] else ""
    joint = facts["joint_actions"]
    return [
        f"{facts['name'] or facts['file']}: {facts['episodes']} episodes, {facts['steps']} steps, "
        f"{len(facts['agents'])} agents, discount {facts['discount']:g}{assumed}",
        f"lengths {lengths['min']} to {lengths['max']}, mean {lengths['mean']:.4g}; "
        f"{facts['terminated']} terminated, {facts['truncated']} truncated",
        f"returns {decimal(returns['min'])} to {decimal(returns['max'])}, mean {decimal(returns['mean'])}{error}",
        f"rewards {rewards['min']:g} to {rewards['max']:g}, mean {decimal(rewards['mean'])}",
        f"joint actions seen: {joint['seen']} of {joint['possible']}",
        *_behaviour(facts["behaviour"], facts["episodes"]),
        *(line for agent in facts["agents"] for line in _agent(agent)),
        *(f"{key}: {value}" for key, value in facts["facts"].items()),
    ]


def _behaviour(facts: Mapping[str, Any], episodes: int) -> list[str]:
    if not facts["known"]:
        return ["behaviour probabilities: unknown; learning has to estimate them, off-policy evaluation cannot"]
    if facts["known"] < facts["of"]:
        return [f"behaviour probabilities: known for {facts['known']} of {facts['of']} actions"]
    return [
        f"behaviour probabilities: known, {facts['min']:.4g} to {facts['max']:.4g}",
        f"a team that never varies is supported for about {facts['supported_steps']} steps (10 of {episodes} episodes)",
    ]


def _agent(facts: Mapping[str, Any]) -> list[str]:
    nothing = f"; nothing before the first action: {facts['nothing_seen']}" if facts["nothing_seen"] else ""
    return [
        f"{facts['name']}",
        f"  actions      {_counts(facts['actions'])}",
        f"  observations {_counts(facts['observations'])}{nothing}",
    ]


def _counts(counts: Mapping[str, int]) -> str:
    """`listen 120, open-left 3, never: open-right`; the most frequent of many."""
    seen = [(label, count) for label, count in counts.items() if count]
    never = [label for label, count in counts.items() if not count]
    shown = seen if len(seen) <= SHOWN else sorted(seen, key=lambda pair: -pair[1])[:SHOWN]
    parts = [f"{label} {count}" for label, count in shown]
    parts += [f"and {len(seen) - len(shown)} more"] if len(shown) < len(seen) else []
    parts += [f"never: {' '.join(never[:SHOWN])}{' ...' if len(never) > SHOWN else ''}"] if never else []
    return ", ".join(parts)
