"""The JSON of a team, both ways: a whole team, or one agent's controller alone.

    {"format": "decpomdp-team/1", "problem": name, "discount": number, "agents": [agent, ...]}
    {"format": "decpomdp-controller/1", "problem": name, "discount": number, "agent": agent}
    agent = {"name", "actions": [label], "observations": [label], "initial": [i], "action": [i][a],
             "transition": [i][a][o][j], and "initial_given": [o][i] only where the controller has it}

Numbers are written with as few digits as give the same float back, so a team read is equal to the team written, and
equal teams give equal bytes. Rows of numbers stay on one line, so that people can read them. Reading is strict: a
file that is not exactly this is refused with the place inside, `agents[1].action[i=2] sums to 0.98, expected 1`.
"""

import json
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Agent, Controller, FormatError, InputError, Team
from decpomdp.core.checks import of_kind, one_of
from decpomdp.io.files import from_json

TEAM_FORMAT = "decpomdp-team/1"
CONTROLLER_FORMAT = "decpomdp-controller/1"
_AXES = {"i": "node", "a": "action", "o": "observation", "j": "node"}


class _AgentRecord(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
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


def team_to_json(team: Team) -> bytes:
    """The content of team.json."""
    of_kind("team", team, Team)
    agents = [_record(agent, controller) for agent, controller in zip(team.agents, team.controllers, strict=True)]
    return _bytes(_TeamRecord(TEAM_FORMAT, team.problem, team.discount, agents))


def team_from_json(data: bytes, source: str) -> Team:
    """The team in the content of a team.json; `source` names it in errors."""
    record = from_json(data, _TeamRecord, source, TEAM_FORMAT)
    return _team(record.agents, [f"agents[{n}]" for n in range(len(record.agents))], record, source)


def controller_to_json(team: Team, agent_name: str) -> bytes:
    """The content of the file of one agent's controller."""
    names = [agent.name for agent in of_kind("team", team, Team).agents]
    place = names.index(one_of("agent", agent_name, names))
    record = _record(team.agents[place], team.controllers[place])
    return _bytes(_ControllerRecord(CONTROLLER_FORMAT, team.problem, team.discount, record))


def controller_from_json(data: bytes, source: str) -> Team:
    """The controller in the content of such a file, as a team of one agent; `source` names it in errors."""
    record = from_json(data, _ControllerRecord, source, CONTROLLER_FORMAT)
    return _team([record.agent], ["agent"], record, source)


def _record(agent: Agent, controller: Controller) -> _AgentRecord:
    given = controller.initial_given
    return _AgentRecord(
        name=agent.name,
        actions=list(agent.actions),
        observations=list(agent.observations),
        initial=_numbers(controller.initial),
        action=_numbers(controller.action),
        transition=_numbers(controller.transition),
        initial_given=None if given is None else _numbers(given),
    )


def _numbers(table: NDArray[np.float64]) -> list[Any]:
    return (table + 0.0).tolist()  # + 0.0 turns -0.0 into 0.0: equal teams give equal bytes


def _bytes(record: msgspec.Struct) -> bytes:
    return (_layout(msgspec.to_builtins(record), "") + "\n").encode()


def _layout(value: Any, indent: str) -> str:
    """JSON with one line per row of numbers or labels, two spaces further in per level of what is around them."""
    deeper = indent + "  "
    if isinstance(value, dict):
        items = [f"{json.dumps(name)}: {_layout(item, deeper)}" for name, item in value.items()]
    elif isinstance(value, list) and isinstance(value[0], dict | list):  # no list of a team is empty
        items = [_layout(item, deeper) for item in value]
    else:
        return json.dumps(value, ensure_ascii=False)
    start, end = "{}" if isinstance(value, dict) else "[]"
    return f"{start}\n{deeper}" + f",\n{deeper}".join(items) + f"\n{indent}{end}"


def _team(agents: list[_AgentRecord], places: list[str], record: _TeamRecord | _ControllerRecord, source: str) -> Team:
    members = [_member(agent, place, source) for agent, place in zip(agents, places, strict=True)]
    try:
        return Team(
            tuple(agent for agent, _ in members),
            tuple(controller for _, controller in members),
            record.discount,
            record.problem,
        )
    except InputError as error:
        raise FormatError(source, None, str(error)) from None


def _member(record: _AgentRecord, place: str, source: str) -> tuple[Agent, Controller]:
    try:
        agent = Agent(record.name, tuple(record.actions), tuple(record.observations))
    except InputError as error:
        raise FormatError(source, None, f"{place}: {error}") from None
    try:
        return agent, _controller(record)
    except InputError as error:
        raise FormatError(source, None, f"{place}.{error}") from None


def _controller(record: _AgentRecord) -> Controller:
    nodes, actions, observations = len(record.initial), len(record.actions), len(record.observations)
    if not nodes:
        raise InputError("initial: expected at least one node, got none")
    _check_sizes("action", record.action, "ia", (nodes, actions))
    _check_sizes("transition", record.transition, "iaoj", (nodes, actions, observations, nodes))
    given = record.initial_given
    if given is not None:
        _check_sizes("initial_given", given, "oi", (observations, nodes))
    start = None if given is None else np.array(given)
    return Controller(np.array(record.initial), np.array(record.action), np.array(record.transition), start)


def _check_sizes(name: str, rows: list[Any], axes: str, sizes: tuple[int, ...], at: tuple[str, ...] = ()) -> None:
    """Refuse nested lists that are not a full table: numpy would say that they are ragged, but not where."""
    if len(rows) != sizes[0]:
        where = f"[{', '.join(at)}]" if at else ""
        raise InputError(f"{name}{where}: expected {sizes[0]} entries, one per {_AXES[axes[0]]}, got {len(rows)}")
    if len(sizes) > 1:
        for place, row in enumerate(rows):
            _check_sizes(name, row, axes[1:], sizes[1:], (*at, f"{axes[0]}={place}"))
