"""`decpomdp show` and `decpomdp export`: a team as plain text, and a controller as a program, graph or table."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from decpomdp.cli import words


def export(
    team_file: Annotated[Path, typer.Argument(metavar="TEAM.json", help="The team.")],
    agent: Annotated[
        str | None, typer.Option("--agent", help="Name of the agent; optional if there is only one.")
    ] = None,
    form: Annotated[
        str, typer.Option("--format", help="json, python (one module), c (one C99 file), dot (Graphviz) or svg.")
    ] = "json",
    out: Annotated[Path | None, typer.Option("--out", help="Write to this file instead of printing.")] = None,
    as_json: words.Json = False,
) -> None:
    """Write one agent's controller as a program, graph or table without dependencies."""
    from decpomdp.io.files import write_bytes
    from decpomdp.io.team import read_team
    from decpomdp.report.export import exported, place_of

    team = read_team(team_file)
    text = escaped(exported(team, agent, form), form)
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


def escaped(text: str, form: str) -> str:
    r"""Replace control characters and invisible characters in labels by escapes of the format.

    Graphviz and XML read numeric character references; exported programs contain no such characters.

    >>> escaped('n0 [label="\u202etfel"];\n', "dot"), escaped('["\u202etfel"]\n', "json")
    ('n0 [label="&#8238;tfel"];\n', '["\\u202etfel"]\n')
    """
    from decpomdp.core.text import CONTROL

    escape = "\\u{:04x}" if form == "json" else "&#{};"
    return CONTROL.sub(lambda match: match[0] if match[0] == "\n" else escape.format(ord(match[0])), text)


def show(
    team_file: Annotated[Path, typer.Argument(metavar="TEAM.json", help="The team to show.")],
    as_json: words.Json = False,
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
