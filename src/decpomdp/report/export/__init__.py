"""One agent's controller in a form that needs nothing of this library: source code, a graph, or the plain table.

    json    the table (decpomdp-controller/1), read back by `Team.load`
    python  one module without imports       c    one C99 file without malloc
    dot     a graph for Graphviz             svg  a drawing

Both programs take the same actions as `TeamRunner` with the same seed and episode, to the last bit.
"""

from decpomdp.core import InputError, Team
from decpomdp.core.checks import one_of
from decpomdp.io.team import controller_to_json
from decpomdp.report.export.c import c_source
from decpomdp.report.export.dot import dot_source
from decpomdp.report.export.python import python_source
from decpomdp.report.export.svg import svg_source

FORMATS = ("json", "python", "c", "dot", "svg")


def exported(team: Team, agent_name: str | None, form: str) -> str:
    """The controller of one agent as a text; `agent_name` None: the only one there is. See `Team.exported`."""
    place = place_of(team, agent_name)
    one_of("format", form, FORMATS)
    if form == "json":
        return controller_to_json(team, team.agents[place].name).decode()
    if form in ("dot", "svg"):
        draw = dot_source if form == "dot" else svg_source
        return draw(team.agents[place], team.controllers[place])
    return (python_source if form == "python" else c_source)(team, place)


def place_of(team: Team, agent_name: str | None) -> int:
    """The agent's number."""
    names = [agent.name for agent in team.agents]
    if agent_name is None and len(names) == 1:
        return 0
    if agent_name is None:
        raise InputError(f"agent: expected one of {', '.join(names)}, got none")
    return names.index(one_of("agent", agent_name, names))
