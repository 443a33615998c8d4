"""Team files: a complete team (team.json), or the controller of one agent.

    {"format": "decpomdp-team/1", "problem": name, "discount": number, "agents": [agent, ...]}
    {"format": "decpomdp-controller/1", "problem": name, "discount": number, "agent": agent}
    agent = {"name", "actions": [label], "observations": [label], "initial": [i], "action": [i][a],
             "transition": [i][a][o][j], and "initial_given": [o][i] only if the controller has it}

Numbers are written with as few digits as give the same float back, so a team read is equal to the team written, and
equal teams give equal bytes. Each row of numbers is one line. Reading is strict; errors give the place inside the
file: `agents[1].action[i=2] sums to 0.98, expected 1`.
"""

import json
import os
from typing import Any

import msgspec
import numpy as np

from decpomdp.core import Agent, Controller, FormatError, InputError, Team
from decpomdp.core.checks import of_kind, one_of
from decpomdp.io.files import FilePath, from_json, path_of, read_bytes, write_bytes

LIMIT = 256 * 2**20  # bytes of a file
TEAM_FORMAT = "decpomdp-team/1"
CONTROLLER_FORMAT = "decpomdp-controller/1"
_AXES = {"i": "node", "a": "action", "o": "observation", "j": "node"}


class _AgentRecord(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    actions: list[str]
    observations: list[str]
    initial: list[float]  # [i]
    action: list[list[float]]  # [i][a]
    transition: list[list[list[list[float]]]]  # [i][a][o][j]
    initial_given: list[list[float]] | None = None  # [o][i]


class _TeamRecord(msgspec.Struct, forbid_unknown_fields=True):
    format: str
    problem: str
    discount: float
    agents: list[_AgentRecord]


class _ControllerRecord(msgspec.Struct, forbid_unknown_fields=True):
    format: str
    problem: str
    discount: float
    agent: _AgentRecord


def write_team(team: Team, path: FilePath, agent: str | None = None) -> None:
    """Write the team, or the controller of one agent, to `path`, completely or not at all."""
    write_bytes(path, team_to_json(team) if agent is None else controller_to_json(team, agent))


def read_team(path: FilePath) -> Team:
    """The team in a team file, or the team of one agent in the file of its controller."""
    if os.path.isdir(path_of(path)):  # a run folder
        path = os.path.join(path_of(path), "team.json")
    return team_from_json(read_bytes(path, LIMIT), path_of(path))


def team_to_json(team: Team) -> bytes:
    """The content of team.json."""
    agents = [_record(*member) for member in zip(of_kind("team", team, Team).agents, team.controllers, strict=True)]
    return _bytes({"format": TEAM_FORMAT, "problem": team.problem, "discount": team.discount, "agents": agents})


def team_from_json(data: bytes, source: str) -> Team:
    """The team in the content of a team file or of a controller file; `source` names it in errors."""
    if CONTROLLER_FORMAT.encode() in data[:200]:
        one = from_json(data, _ControllerRecord, source, CONTROLLER_FORMAT)
        return _team(one, {"agent": one.agent}, source)
    record = from_json(data, _TeamRecord, source, TEAM_FORMAT)
    return _team(record, {f"agents[{n}]": agent for n, agent in enumerate(record.agents)}, source)


def controller_to_json(team: Team, agent_name: str) -> bytes:
    """The content of the controller file of one agent."""
    names = [agent.name for agent in of_kind("team", team, Team).agents]
    n = names.index(one_of("agent", agent_name, names))
    agent = _record(team.agents[n], team.controllers[n])
    return _bytes({"format": CONTROLLER_FORMAT, "problem": team.problem, "discount": team.discount, "agent": agent})


def _record(agent: Agent, controller: Controller) -> dict[str, Any]:
    tables = {name: getattr(controller, name) for name in ("initial", "action", "transition", "initial_given")}
    # + 0.0 turns -0.0 into 0.0: equal teams give equal bytes
    numbers = {name: (table + 0.0).tolist() for name, table in tables.items() if table is not None}
    return {"name": agent.name, "actions": list(agent.actions), "observations": list(agent.observations), **numbers}


def _bytes(record: dict[str, Any]) -> bytes:
    return (_layout(record, "") + "\n").encode()


def _layout(value: Any, indent: str) -> str:
    """JSON with one line per row of numbers or labels, indented by two spaces per level."""
    deeper = indent + "  "
    if isinstance(value, dict):
        items = [f"{json.dumps(name)}: {_layout(item, deeper)}" for name, item in value.items()]
    elif isinstance(value, list) and isinstance(value[0], dict | list):  # no list of a team is empty
        items = [_layout(item, deeper) for item in value]
    else:
        return json.dumps(value, ensure_ascii=False)
    start, end = "{}" if isinstance(value, dict) else "[]"
    return f"{start}\n{deeper}" + f",\n{deeper}".join(items) + f"\n{indent}{end}"


def _team(record: _TeamRecord | _ControllerRecord, agents: dict[str, _AgentRecord], source: str) -> Team:
    members: list[tuple[Agent, Controller]] = []
    place = ""
    try:
        for where, one in agents.items():
            place = f"{where}: "
            agent = Agent(one.name, tuple(one.actions), tuple(one.observations))
            place = f"{where}."
            members.append((agent, _controller(one)))
        place = ""
        return Team(
            tuple(agent for agent, _ in members),
            tuple(controller for _, controller in members),
            record.discount,
            record.problem,
        )
    except InputError as error:
        raise FormatError(source, None, f"{place}{error}") from None


def _controller(record: _AgentRecord) -> Controller:
    nodes, actions, observations = len(record.initial), len(record.actions), len(record.observations)
    if not nodes:
        raise InputError("initial: expected at least one node, got none")
    _check_sizes("action", record.action, "ia", (nodes, actions))
    _check_sizes("transition", record.transition, "iaoj", (nodes, actions, observations, nodes))
    given = None
    if record.initial_given is not None:
        _check_sizes("initial_given", record.initial_given, "oi", (observations, nodes))
        given = np.array(record.initial_given)
    return Controller(np.array(record.initial), np.array(record.action), np.array(record.transition), given)


def _check_sizes(name: str, rows: list[Any], axes: str, sizes: tuple[int, ...], at: tuple[str, ...] = ()) -> None:
    """Raise InputError with the place of a nested list of wrong length; numpy's error has no place."""
    if len(rows) != sizes[0]:
        where = f"[{', '.join(at)}]" if at else ""
        raise InputError(f"{name}{where}: expected {sizes[0]} entries, one per {_AXES[axes[0]]}, got {len(rows)}")
    if len(sizes) > 1:
        for place, row in enumerate(rows):
            _check_sizes(name, row, axes[1:], sizes[1:], (*at, f"{axes[0]}={place}"))
