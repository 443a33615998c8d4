"""A controller as one Python module without imports. Every label is written with `ascii`: no text can end a literal."""

from decpomdp.core import Team
from decpomdp.report.export.tables import chance_tables, filled, sure_tables

RANDOM_NOTE = """\
# Chance: decision t of an episode uses two numbers of 64 bits, SplitMix64 at a place of its own, so that the same seed
# and the same episode give the actions that decpomdp.TeamRunner(team, seed, episode) takes. To draw them elsewhere,
# give both to start_with and step_with.
"""


def python_source(team: Team, place: int) -> str:
    """The module of agent number `place`."""
    agent, controller = team.agents[place], team.controllers[place]
    words = {
        "name": ascii(agent.name),
        "problem": ascii(team.problem),
        "actions": ascii(agent.actions),
        "observations": ascii(agent.observations),
    }
    sure = sure_tables(controller)
    if sure is not None:
        return filled(
            ("head.py.txt", "deterministic.py.txt", "checks.py.txt"),
            start=tuple(sure.start),
            action=tuple(sure.action),
            move=tuple(tuple(row) for row in sure.move),
            example="",
            more="",
            **words,
        )
    drawn = chance_tables(controller)
    return filled(
        ("head.py.txt", "stochastic.py.txt", "checks.py.txt"),
        starts=drawn.starts,
        rows=tuple(drawn.rows),
        entries=tuple(drawn.entries),
        nodes=controller.nodes,
        lanes=1 + 2 * len(team.agents),
        lane=1 + 2 * place,
        example="seed=0",
        more=RANDOM_NOTE,
        **words,
    )
