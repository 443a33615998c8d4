"""`decpomdp show`."""

from pathlib import Path
from typing import Annotated

import typer

from decpomdp.cli import words


def show(
    team_file: Annotated[Path, typer.Argument(metavar="TEAM.json", help="The team to show.")],
    as_json: words.Json = False,
) -> None:
    """Say in words what each agent's controller does."""
    from decpomdp.io.team import read_team
    from decpomdp.report.text import controller_in_words, team_in_words

    team = read_team(team_file)
    agents = zip(team.agents, team.controllers, strict=True)
    told = [
        {"name": agent.name, "nodes": controller.nodes, "words": controller_in_words(agent, controller)}
        for agent, controller in agents
    ]
    words.tell({"problem": team.problem, "discount": team.discount, "agents": told}, as_json, team_in_words(team))
