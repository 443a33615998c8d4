"""One agent's controller as a file that does not need this library: source code, a graph, or a table.

    json    the table (decpomdp-controller/1), read back by `Team.load`
    python  one module without imports       c    one C99 file without malloc
    dot     a graph for Graphviz             svg  a drawing

Both programs take the same actions as `TeamRunner` with the same seed and episode, to the last bit.

A program contains integers. Deterministic controllers: node i takes action[i] and moves to move[i][o]. Stochastic ones:
the same alias tables as in rollouts, one row per distribution, so that the program takes the same decisions. A row
(first, count) has the entries from first to first + count - 1; the upper half of 64 random bits chooses the entry, the
lower half its outcome (below `cut`: the entry's own outcome, otherwise the other one).

The C file has constant tables and no floating point, and allows any number of instances. Its labels are string literals
in which everything but letters, digits and a few safe characters is an octal escape: no label can end its string, begin
a trigraph or close a comment. The Python module writes labels with `ascii`; Graphviz labels are quoted.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np

from decpomdp.core import Controller, InputError, Team
from decpomdp.core.checks import one_of
from decpomdp.io.team import controller_to_json
from decpomdp.report.graph import MOST_NODES, boxes_of, graph_of, links_of
from decpomdp.report.markup import NO_XML, light, own_file
from decpomdp.report.performance import unknown_use
from decpomdp.rollouts.runner import Entry, alias_rows, start_table

HARMLESS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-+.,:;=()<>[]{}|#!$&@^~")
WIDTH = 110  # columns of a table
SVG_STYLE = "svg { background: #ffffff; }"


@dataclass(frozen=True, slots=True)
class ProgramTables:
    """The tables of a program, by the names that its template uses.

    Deterministic: start [1] or [1 + o], first node (after o); action [i]; move [i][o]. Stochastic: rows (first entry,
    number of entries) of starts, then acts [i], then moves [i, a, o]; entries.
    """

    template: str  # "deterministic" or "stochastic"
    starts: int  # rows of starts: 1 or 1 + o
    tables: Mapping[str, tuple[Any, ...]]


def tables_of(controller: Controller) -> ProgramTables:
    """A plain table, or alias tables if any reachable choice is random.

    Moves after actions that a node never takes lead to node 0, in one entry each.
    """
    starts, taken, moves = start_table(controller), controller.action.argmax(axis=1), controller.transition.copy()
    met = moves[np.arange(controller.nodes), taken]  # [i, o, j] moves after these actions
    if all(np.all(table.max(axis=-1) == 1.0) for table in (starts, controller.action, met)):
        goals = tuple(map(tuple, met.argmax(axis=2).tolist()))
        plain = {"start": tuple(starts.argmax(axis=1).tolist()), "action": tuple(taken.tolist()), "move": goals}
        return ProgramTables("deterministic", len(starts), plain)
    moves[controller.action == 0] = np.eye(controller.nodes)[0]
    rows: list[tuple[int, int]] = []
    entries: list[Entry] = []
    for table in (starts, controller.action, moves.reshape(-1, controller.nodes)):
        for row in alias_rows(table):
            rows.append((len(entries), len(row)))
            entries += row
    return ProgramTables("stochastic", len(starts), {"rows": tuple(rows), "entries": tuple(entries)})


def filled(templates: Sequence[str], **values: object) -> str:
    """The joined templates with their ${names} replaced; names inside values are not replaced."""
    folder = files("decpomdp.report").joinpath("templates")
    return Template("".join(folder.joinpath(name).read_text(encoding="utf-8") for name in templates)).substitute(values)


def _numbers(team: Team, place: int, program: ProgramTables) -> dict[str, int]:
    """Sizes, and where the agent's random numbers are."""
    sizes = {"nodes": team.controllers[place].nodes, "starts": program.starts}
    return {**sizes, "lanes": 1 + 2 * len(team.agents), "lane": 1 + 2 * place}


def identifier(team: Team, place: int) -> str:
    """A C identifier from an agent's name, different for every agent of the team."""
    taken: set[str] = set()
    for n, agent in enumerate(team.agents[: place + 1]):
        plain = re.sub(r"[^A-Za-z0-9]+", "_", agent.name).strip("_")
        name = plain if plain[:1].isalpha() else f"agent_{plain}".rstrip("_")
        if name != agent.name or name in taken:
            name = f"{name}_{n + 1}"
        while name in taken:
            name += "_"
        taken.add(name)
    return name


def c_source(team: Team, place: int) -> str:
    """The file of agent number `place`."""
    agent, name, program = team.agents[place], identifier(team, place), tables_of(team.controllers[place])
    if program.template == "deterministic":
        start, action, move = program.tables.values()
        kind, row = _c_kind(team.nodes[place]), "observation + 1"
        columns = [(kind, "start_node", start), (_c_kind(max(action) + 1), "node_action", action)]
        columns.append((kind, "node_move", move))
    else:
        (first, count), (own, other, cut) = (zip(*table, strict=True) for table in program.tables.values())
        kind, row = _c_kind(max(*own, *other) + 1), "(uint32_t)(observation + 1)"
        columns = [("uint32_t", "row_first", first), ("uint32_t", "row_count", count)]
        columns += [(kind, "entry_own", own), (kind, "entry_other", other)]
        columns.append(("uint32_t", "entry_cut", tuple(f"{value}U" for value in cut)))
    return filled(
        (f"{program.template}.c", "names.c"),
        id=name,
        name=quoted(agent.name),
        problem=quoted(team.problem),
        actions=len(agent.actions),
        observations=len(agent.observations),
        action_names=_c_list([quoted(label) for label in agent.actions]),
        observation_names=_c_list([quoted(label) for label in agent.observations]),
        tables="".join(_c_table(kind, f"{name}_{column}", values) for kind, column, values in columns),
        row=row if program.starts > 1 else "0",
        **_numbers(team, place, program),
    )


def quoted(label: str) -> str:
    """A C string literal that means `label` in UTF-8."""
    signs = (chr(byte) if chr(byte) in HARMLESS else f"\\{byte:03o}" for byte in label.encode())
    return '"' + "".join(signs) + '"'


def _c_table(kind: str, name: str, values: Sequence[Any]) -> str:
    """A constant of numbers, or of rows of numbers."""
    rows = isinstance(values[0], tuple)
    parts = ["{" + ", ".join(map(str, row)) + "}" for row in values] if rows else list(map(str, values))
    size = f"[{len(values)}][{len(values[0])}]" if rows else f"[{len(values)}]"
    return f"static const {kind} {name}{size} = {{{_c_list(parts)}}};\n"


def _c_kind(size: int) -> str:
    return "uint8_t" if size <= 1 << 8 else "uint16_t" if size <= 1 << 16 else "uint32_t"


def _c_list(parts: Sequence[str]) -> str:
    """Comma-separated; on separate lines if too long for one."""
    lines = [""]
    for part in parts:
        if lines[-1] and len(lines[-1]) + len(part) > WIDTH:
            lines.append("")
        lines[-1] += f"{part}, "
    lines[-1] = lines[-1].removesuffix(", ")
    return lines[0] if len(lines) == 1 else "".join(f"\n    {line.rstrip()}" for line in lines)


def python_source(team: Team, place: int) -> str:
    """The module of agent number `place`."""
    agent, program = team.agents[place], tables_of(team.controllers[place])
    words = {"name": agent.name, "problem": team.problem, "actions": agent.actions, "observations": agent.observations}
    escaped = {key: ascii(value) for key, value in words.items()}
    return filled(
        (f"{program.template}.py.txt", "checks.py.txt"), **escaped, **program.tables, **_numbers(team, place, program)
    )


def dot_source(team: Team, place: int) -> str:
    """The graph: boxes name actions, edges observations."""
    agent, controller = team.agents[place], team.controllers[place]
    use = unknown_use(controller)
    boxes, links = boxes_of(agent, controller, use), links_of(agent, controller, use)
    lines = [f"digraph {dot_quoted(agent.name)} {{", "  node [shape=box, style=rounded];"]
    lines += [f"  n{box.node} [label={dot_quoted(*box.words, f'node {box.node}')}];" for box in boxes]
    starts = {box.node: box.start for box in boxes if box.start is not None}
    lines += [f"  start{i} [shape=point]; start{i} -> n{i} [label={dot_quoted(words)}];" for i, words in starts.items()]
    lines += [f"  n{link.source} -> n{link.goal} [label={dot_quoted(*link.words)}];" for link in links]
    return "\n".join([*lines, "}"]) + "\n"


def dot_quoted(*parts: str) -> str:
    """A quoted string of Graphviz, one line per part, with escapes and entities quoted."""
    kept = (re.sub("[\x00-\x1f\x7f]", "\ufffd", part.replace("\n", " ")) for part in parts)
    safe = (part.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;") for part in kept)
    return '"' + "\\n".join(safe) + '"'


def svg_source(team: Team, place: int) -> str:
    """The drawing, with equally likely observations."""
    agent, controller = team.agents[place], team.controllers[place]
    graph = graph_of(agent, controller, unknown_use(controller), "controller")
    if graph is None:
        raise InputError(
            f"svg: expected at most {MOST_NODES} nodes, got {controller.nodes} for {agent.name}; "
            "the formats dot and json have no limit"
        )
    opened, rest = graph.drawn.translate(NO_XML).split(">", 1)
    style = f"<style>{light(own_file('graph.css'))}{SVG_STYLE}</style>"
    return f'{opened} xmlns="http://www.w3.org/2000/svg">{style}{rest}\n'


WRITERS: dict[str, Callable[[Team, int], str]] = {
    "json": lambda team, place: controller_to_json(team, team.agents[place].name).decode(),
    "python": python_source,
    "c": c_source,
    "dot": dot_source,
    "svg": svg_source,
}
FORMATS = tuple(WRITERS)


def exported(team: Team, agent_name: str | None, form: str) -> str:
    """The controller of one agent as a text; `agent_name` None: the only agent. See `Team.exported`."""
    place = place_of(team, agent_name)
    return WRITERS[one_of("format", form, FORMATS)](team, place)


def place_of(team: Team, agent_name: str | None) -> int:
    """The agent's number."""
    names = [agent.name for agent in team.agents]
    if agent_name is None and len(names) == 1:
        return 0
    if agent_name is None:
        raise InputError(f"agent: expected one of {', '.join(names)}, got none")
    return names.index(one_of("agent", agent_name, names))
