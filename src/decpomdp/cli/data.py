"""`decpomdp data info`, `decpomdp data validate` and `decpomdp data convert`."""

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from decpomdp.cli import options as shared
from decpomdp.cli import words
from decpomdp.cli.words import decimal

if TYPE_CHECKING:
    from decpomdp.core import Agent, Episodes


app = typer.Typer(help="Inspect, check and convert recorded episodes.", no_args_is_help=True)

SHOWN = 12  # labels shown of an alphabet: the most frequent ones


def reading(
    file: Annotated[
        Path,
        typer.Argument(
            help="Episodes (.parquet), a long table (.csv, .csv.gz, .csv.zst, .parquet) or a Minari folder."
        ),
    ],
    discount: Annotated[float | None, typer.Option(help="Discount of data without one (long, minari).")] = None,
    like: Annotated[
        str | None,
        typer.Option(
            help="Take agents, labels and discount of a long table from a problem, a .dpomdp file, a team.json or an "
            "episodes file."
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=COLUMN", help="Name of a column in the file, such as observation=obs; may be repeated."
        ),
    ] = None,
    bins: shared.Bins = None,
) -> tuple[dict[str, Any], bool]:
    """The arguments for the reader, and whether the discount of 1 in them is assumed; the options of all commands."""
    from decpomdp.io.logged import kind_of

    agents, factor, name = (None, None, None) if like is None else _described_by(like)
    chosen = factor if discount is None else discount
    assumed = chosen is None and kind_of(file) != "episodes"
    options = {"path": file, "agents": agents, "name": name, "columns": _columns(column), "bins": bins}
    return {**options, "discount": 1.0 if assumed else chosen}, assumed


def data_command(command: Callable[..., None]) -> Callable[..., None]:
    """Add a command with the options of `reading`."""
    return app.command()(shared.with_options(command, inspect.signature(reading).parameters.values()))


@data_command
def info(as_json: shared.Json = False, **options: Any) -> None:
    """Summarise recorded episodes: agents, counts, returns, and over how many steps they support a team."""
    from decpomdp.evaluation.offpolicy.support import facts_of
    from decpomdp.io.logged import read_logged

    arguments, assumed = reading(**options)
    facts = facts_of(read_logged(**arguments))
    result: dict[str, Any] = {"file": str(options["file"]), "discount_assumed": assumed, **facts}
    words.tell(result, as_json, lines_of(result))


@data_command
def validate(**options: Any) -> None:
    """Check a file of recorded episodes; print OK, or the error with its place (of a long table, one per column)."""
    from decpomdp.io.logged import validate_logged

    episodes, errors = validate_logged(**reading(**options)[0])
    for error in errors:
        words.fail(str(error))
    if episodes is None:
        raise typer.Exit(2)
    words.tell({}, False, [f"OK: {options['file']}: {_counted(episodes)}"])


@data_command
def convert(
    target: Annotated[
        Path,
        typer.Argument(
            metavar="OUT", help="A new file: .csv, .csv.gz or .csv.zst for a long table, .parquet for episodes."
        ),
    ],
    to: Annotated[
        str | None, typer.Option(help="Kind to write: episodes or long. Default: from the name of OUT.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace OUT if it exists.")] = False,
    **options: Any,
) -> None:
    """Convert recorded episodes: long tables and Minari datasets to episodes, episodes to long tables."""
    from decpomdp.core import InputError, checks
    from decpomdp.io.files import is_csv, is_logged
    from decpomdp.io.logged import read_logged

    if to is None and not is_logged(target):
        raise InputError(f"{target}: expected a name that ends in .csv or .parquet (or pass --to)")
    csv = is_csv(str(target))
    long = csv if to is None else checks.one_of("--to", to, ("episodes", "long")) == "long"
    if csv and not long:
        raise InputError(f"--to: expected long for {target}; episodes are Parquet files")
    if target.exists() and not overwrite:
        raise InputError(f"{target}: expected a new file, got an existing one; --overwrite replaces it")
    arguments, assumed = reading(**options)
    if assumed and not long:
        raise InputError(f"{options['file']} contains no discount; pass --discount or --like")
    episodes = read_logged(**arguments)
    episodes.save(target, long=long)
    words.tell({}, False, [f"{_counted(episodes)}: written to {target}"])


def _described_by(like: str) -> tuple[tuple["Agent", ...], float, str]:
    """Agents, discount and name of a team, an episodes file or a problem."""
    from decpomdp.domains.load import load
    from decpomdp.io.episodes import read_episodes
    from decpomdp.io.team import read_team

    if like.lower().endswith(".json"):
        team = read_team(like)
        return team.agents, team.discount, team.problem
    source = read_episodes(like) if like.lower().endswith(".parquet") else load(like)
    return source.agents, source.discount, source.name


def _columns(options: list[str] | None) -> dict[str, str]:
    from decpomdp.core import InputError

    pairs = [text.partition("=") for text in options or ()]
    for name, sign, column in pairs:
        if not (name and sign and column):
            raise InputError(f"--column: expected NAME=COLUMN, such as observation=obs, got {name + sign + column!r}")
    return {name: column for name, _, column in pairs}


def _counted(episodes: "Episodes") -> str:
    agents = ", ".join(agent.name for agent in episodes.agents)
    return f"{episodes.count} episodes, {episodes.steps} steps, agents {agents}"


def lines_of(facts: Mapping[str, Any]) -> list[str]:
    """The facts about recorded episodes as lines of text."""
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
        *_behaviour(facts["behaviour"]),
        *(line for agent in facts["agents"] for line in _agent(agent)),
        *(f"{key}: {value}" for key, value in facts["facts"].items()),
    ]


def _behaviour(facts: Mapping[str, Any]) -> list[str]:
    if not facts["known"]:
        return ["behaviour probabilities: unknown; learning does not need them, estimates of the value do"]
    if facts["known"] < facts["of"]:
        return [f"behaviour probabilities: known for {facts['known']} of {facts['of']} actions"]
    return [
        f"behaviour probabilities: known, {facts['min']:.4g} to {facts['max']:.4g}",
        f"off-policy estimates of a deterministic team: reliable over about {facts['supported_steps']} steps",
    ]


def _agent(facts: Mapping[str, Any]) -> list[str]:
    unseen = f"; no observation before the first action: {facts['nothing_seen']}" if facts["nothing_seen"] else ""
    return [
        f"{facts['name']}",
        f"  actions      {_counts(facts['actions'])}",
        f"  observations {_counts(facts['observations'])}{unseen}",
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
