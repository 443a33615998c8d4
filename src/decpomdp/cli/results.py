"""Commands on saved teams and runs: `decpomdp show`, `export`, `report` and `runs`."""

import os
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from decpomdp.cli import options, words

if TYPE_CHECKING:
    from decpomdp.io.runs import RunRecord
    from decpomdp.report.performance import ShownRun


def export(
    team_file: Annotated[Path, typer.Argument(metavar="TEAM.json", help="The team.")],
    agent: Annotated[str | None, typer.Option(help="Name of the agent; optional if there is only one.")] = None,
    form: Annotated[
        str, typer.Option("--format", help="json, python (one module), c (one C99 file), dot (Graphviz) or svg.")
    ] = "json",
    out: Annotated[Path | None, typer.Option(help="Write to this file instead of printing.")] = None,
    as_json: options.Json = False,
) -> None:
    """Write one agent's controller as a program, graph or table without dependencies."""
    from decpomdp.io.files import write_bytes
    from decpomdp.io.team import read_team
    from decpomdp.report.export import exported, place_of

    team = read_team(team_file)
    text = exported(team, agent, form)
    place = place_of(team, agent)
    name, nodes = team.agents[place].name, team.nodes[place]
    if out is None and not as_json:
        sys.stdout.write(text)
        return
    if out is not None:
        write_bytes(out, text.encode())
    result = {"agent": name, "nodes": nodes, "format": form, "out": None if out is None else str(out)}
    summary = result if out is not None else {**result, "text": text}
    words.tell(summary, as_json, [f"{name} ({nodes} node{'s' if nodes > 1 else ''}) as {form}, written to {out}"])


def show(
    team_file: Annotated[Path, typer.Argument(metavar="TEAM.json", help="The team to show.")],
    as_json: options.Json = False,
) -> None:
    """Describe each agent's controller in plain text."""
    from decpomdp.io.team import read_team
    from decpomdp.report.text import controller_in_words, team_in_words

    team = read_team(team_file)
    agents = zip(team.agents, team.controllers, strict=True)
    described = [
        {"name": agent.name, "nodes": controller.nodes, "words": controller_in_words(agent, controller)}
        for agent, controller in agents
    ]
    words.tell({"problem": team.problem, "discount": team.discount, "agents": described}, as_json, team_in_words(team))


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders; several runs are compared.")],
    out: Annotated[
        Path | None, typer.Option(help="File of the page; default: report.html in the folder of a single run.")
    ] = None,
    problem: Annotated[str | None, typer.Option(help=options.PROBLEM + " Default: the problem of the run.")] = None,
    animate: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.svg|FILE.gif",
            help="Also write an episode of a single run as an animation (grid and street problems only).",
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Write the page of a run (curves, controllers, replay), or one page that compares several runs."""
    from decpomdp.core import InputError
    from decpomdp.io.files import write_bytes
    from decpomdp.io.run_folder import locked
    from decpomdp.io.runs import read_run
    from decpomdp.report.page import write_page
    from decpomdp.report.performance import shown

    if len(runs) > 1 and out is None:
        raise InputError("--out: expected a file for the page of several runs, got none")
    if len(runs) > 1 and animate is not None:
        raise InputError(f"--animate: expected a single run, got {len(runs)}")
    if animate is not None and animate.suffix not in (".svg", ".gif"):
        raise InputError(f"--animate: expected a file that ends in .svg or .gif, got {animate}")
    own = runs[0] if out is None else _run_of(out, runs)
    # locked: a process that writes to this run also writes its page
    with locked(own) if own is not None and own.is_dir() else nullcontext():
        sources = [shown(read_run(folder), problem) for folder in runs]
        animation = None if animate is None else _animation(sources[0], animate)
        page = write_page(sources, out)
    for one in sources:
        if one.missing:
            words.note(f"{one.run.folder}: no replay: {one.missing}")
    result = {"page": str(page), "runs": [str(folder) for folder in runs], "bytes": page.stat().st_size}
    lines = [f"written to {page}"]
    if animation is not None and animate is not None:
        write_bytes(animate, animation)
        result |= {"animation": str(animate), "animation_bytes": len(animation)}
        lines.append(f"animation written to {animate}")
    words.tell(result, as_json, lines)


def _run_of(out: Path, runs: list[Path]) -> Path | None:
    """The run whose folder the page is written to, after resolving links; None: another folder."""
    folder = os.path.dirname(os.path.realpath(out))
    return next((run for run in runs if os.path.realpath(run) == folder), None)


def _animation(shown: "ShownRun", path: Path) -> bytes:
    from decpomdp.report.animation import animated_gif, animated_svg
    from decpomdp.report.replay import animated_replay

    replay, title = animated_replay(shown), shown.run.record.problem or shown.run.name
    return animated_svg(replay, title).encode() if path.suffix == ".svg" else animated_gif(replay, title)


def list_runs(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to search, with all folders below it.")],
    as_json: options.Json = False,
) -> None:
    """List and compare the runs below a folder.

    A terminal shows the columns that fit; a file or a pipe gets all columns, separated by tabs.
    """
    from decpomdp.core import InputError
    from decpomdp.io.runs import RUN, find_runs, read_record
    from decpomdp.report.listing import facts_of

    listed = []
    for place in find_runs(folder):
        try:
            listed.append((read_record(place / RUN), place.relative_to(folder) if place != folder else place))
        except InputError as error:
            words.note(f"skipped: {error}")
    if as_json:
        words.tell({"runs": [facts_of(record, place) for record, place in listed]}, True, ())
    elif not listed:
        words.tell({}, False, [f"no runs below {folder}"])
    elif sys.stdout.isatty():
        _print_table(listed)
    else:
        _print_tabs(listed)


def _print_table(listed: "list[tuple[RunRecord, Path]]") -> None:
    from shutil import get_terminal_size

    from decpomdp.report.listing import COLUMNS, LEGEND, cells, fitting, unsupported

    rows = [cells(record, place) for record, place in listed]
    columns = fitting(rows, get_terminal_size().columns)
    words.table(columns, [[row[COLUMNS.index(name)] for name in columns] for row in rows])
    if any(unsupported(record) for record, _ in listed):
        words.note(LEGEND)
    hidden = [name for name in COLUMNS if name not in columns]
    if hidden:
        words.note(f"columns not shown: {', '.join(hidden)}; use a wider terminal, a pipe or --json")


def _print_tabs(listed: "list[tuple[RunRecord, Path]]") -> None:
    from decpomdp.report.listing import complete, facts_of

    lines = ["\t".join(facts_of(*listed[0])), *("\t".join(complete(record, place)) for record, place in listed)]
    words.tell({}, False, lines)
