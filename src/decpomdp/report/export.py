"""One agent's controller in a form that needs nothing of ours: source code, a graph, or the plain table.

    json    the table (decpomdp-controller/1), read back by `read_controller`
    python  one module without imports       c    one C99 file without malloc
    dot     a graph for Graphviz             svg  a drawing

Both programs take the same actions as `TeamRunner` with the same seed and episode, to the last bit.
"""

from decpomdp.core import Agent, Controller, InputError, Team
from decpomdp.io.team import controller_to_json
from decpomdp.report.export_c import c_source
from decpomdp.report.export_dot import dot_source
from decpomdp.report.export_python import python_source
from decpomdp.report.export_svg import svg_source

FORMATS = ("json", "python", "c", "dot", "svg")


def exported(team: Team, agent_name: str | None, form: str) -> str:
    """The controller of one agent as a text; the name may be left out when there is only one."""
    place = place_of(team, agent_name)
    agent, controller = team.agents[place], team.controllers[place]
    if form == "json":
        return controller_to_json(team, agent.name).decode()
    if form == "python":
        return python_source(team, place)
    if form == "c":
        return c_source(team, place)
    if form in ("dot", "svg"):
        return _picture(agent, controller, form)
    raise InputError(f"format: expected one of {', '.join(FORMATS)}, got {form!r}")


def place_of(team: Team, agent_name: str | None) -> int:
    """Which agent is meant."""
    names = [agent.name for agent in team.agents]
    if agent_name is None and len(names) == 1:
        return 0
    if agent_name not in names:
        got = "none" if agent_name is None else repr(agent_name)
        raise InputError(f"agent: expected one of {', '.join(names)}, got {got}")
    return names.index(agent_name)


def _picture(agent: Agent, controller: Controller, form: str) -> str:
    return dot_source(agent, controller) if form == "dot" else svg_source(agent, controller)
