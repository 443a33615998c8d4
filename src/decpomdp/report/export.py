"""One agent's controller in a form that needs nothing of this library: source code, a graph, or the plain table.

    json    the table (decpomdp-controller/1), read back by `Team.load`
    python  one module without imports       c    one C99 file without malloc
    dot     a graph for Graphviz             svg  a drawing

Both programs take the same actions as `TeamRunner` with the same seed and episode, to the last bit.

A program contains integers: a plain table if the controller is deterministic, else alias tables. Deterministic: node i
takes action[i] and moves to move[i][o]. Stochastic: the alias tables from which rollouts draw, one row per
distribution, so that the program takes the very same decisions. A row (first, count) owns the entries from first to
first + count - 1; 64 random bits choose the entry by their upper half and decide by their lower half (below `cut`: the
entry's own outcome, else the other one).

The C file has constant tables and no floating point, and allows any number of instances. Its labels are string literals
in which everything but letters, digits and a few harmless signs is an octal escape: no label can end its string, begin
a trigraph or close a comment. The Python module writes labels with `ascii`; Graphviz labels are quoted.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from string import Template

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Agent, Controller, InputError, Team
from decpomdp.core.checks import one_of
from decpomdp.io.team import controller_to_json
from decpomdp.report.graph import MOST_NODES, boxes_of, graph_of, links_of
from decpomdp.report.markup import NO_XML, light, own_file
from decpomdp.report.performance import unknown_use
from decpomdp.rollouts.runner import Entry, alias_rows, start_table

HARMLESS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-+.,:;=()<>[]{}|#!$&@^~")
WIDTH = 110  # columns of a table
SVG_STYLE = "svg { background: #ffffff; }"
FORMATS = ("json", "python", "c", "dot", "svg")


@dataclass(frozen=True, slots=True)
class SureTables:
    """A controller that never draws."""

    start: list[int]  # [1] or [1 + o]: first node; after o
    action: list[int]  # [i]
    move: list[list[int]]  # [i][o]


@dataclass(frozen=True, slots=True)
class ChanceTables:
    """A controller that does. Rows: starts, then acts [i], then moves [i, a, o]."""

    starts: int  # rows of starts: 1 or 1 + o
    rows: list[tuple[int, int]]  # first entry, number of entries
    entries: list[Entry]


def sure_tables(controller: Controller) -> SureTables | None:
    """The plain table; None if any choice that can be met is left to chance."""
    starts, taken = start_table(controller), controller.action.argmax(axis=1)
    moves = controller.transition[np.arange(controller.nodes), taken]  # [i, o, j]
    if not all(_is_sure(table) for table in (starts, controller.action, moves)):
        return None
    return SureTables(starts.argmax(axis=1).tolist(), taken.tolist(), moves.argmax(axis=2).tolist())


def chance_tables(controller: Controller) -> ChanceTables:
    """Alias tables; moves after actions that a node never takes lead to node 0, in one entry each."""
    moves = controller.transition.copy()
    moves[controller.action == 0] = np.eye(controller.nodes)[0]
    starts = start_table(controller)
    rows: list[tuple[int, int]] = []
    entries: list[Entry] = []
    for table in (starts, controller.action, moves.reshape(-1, controller.nodes)):
        for row in alias_rows(table):
            rows.append((len(entries), len(row)))
            entries += row
    return ChanceTables(len(starts), rows, entries)


def filled(templates: Sequence[str], **values: object) -> str:
    """Templates one after the other, with their ${names} replaced; nothing in a value is replaced again."""
    folder = files("decpomdp.report").joinpath("templates")
    return Template("".join(folder.joinpath(name).read_text(encoding="utf-8") for name in templates)).substitute(values)


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


def _is_sure(table: NDArray[np.float64]) -> bool:
    return bool(np.all(table.max(axis=-1) == 1.0))


def c_source(team: Team, place: int) -> str:
    """The file of agent number `place`."""
    agent, controller, name = team.agents[place], team.controllers[place], identifier(team, place)
    sure = sure_tables(controller)
    if sure is not None:
        rows = ["{" + ", ".join(map(str, row)) + "}" for row in sure.move]
        kind = _c_kind(controller.nodes)
        moves = f"static const {kind} {name}_node_move[{len(rows)}][{len(sure.move[0])}] = {{{_c_list(rows)}}};"
        tables = [
            _c_table(kind, f"{name}_start_node", sure.start),
            _c_table(_c_kind(max(sure.action) + 1), f"{name}_node_action", sure.action),
            moves,
        ]
        template, starts, row = "deterministic.c", len(sure.start), "observation + 1"
    else:
        drawn = chance_tables(controller)
        (first, count), (mine, other, cut) = zip(*drawn.rows, strict=True), zip(*drawn.entries, strict=True)
        kind = _c_kind(max(*mine, *other) + 1)
        tables = [
            _c_table("uint32_t", f"{name}_row_first", first),
            _c_table("uint32_t", f"{name}_row_count", count),
            _c_table(kind, f"{name}_entry_own", mine),
            _c_table(kind, f"{name}_entry_other", other),
            _c_table("uint32_t", f"{name}_entry_cut", [f"{value}U" for value in cut]),
        ]
        template, starts, row = "stochastic.c", drawn.starts, "(uint32_t)(observation + 1)"
    return filled(
        (template, "names.c"),
        id=name,
        name=quoted(agent.name),
        problem=quoted(team.problem),
        nodes=controller.nodes,
        actions=len(agent.actions),
        observations=len(agent.observations),
        action_names=_c_list([quoted(label) for label in agent.actions]),
        observation_names=_c_list([quoted(label) for label in agent.observations]),
        tables="\n".join(tables) + "\n",
        row=row if starts > 1 else "0",
        starts=starts,
        lanes=1 + 2 * len(team.agents),
        lane=1 + 2 * place,
    )


def quoted(label: str) -> str:
    """A C string literal that means `label` in UTF-8."""
    signs = (chr(byte) if chr(byte) in HARMLESS else f"\\{byte:03o}" for byte in label.encode())
    return '"' + "".join(signs) + '"'


def _c_table(kind: str, name: str, values: Sequence[object]) -> str:
    return f"static const {kind} {name}[{len(values)}] = {{{_c_list([str(value) for value in values])}}};"


def _c_kind(size: int) -> str:
    return "uint8_t" if size <= 1 << 8 else "uint16_t" if size <= 1 << 16 else "uint32_t"


def _c_list(parts: Sequence[str]) -> str:
    """Comma-separated, on lines of their own when they are too long for one."""
    lines = [""]
    for part in parts:
        if lines[-1] and len(lines[-1]) + len(part) > WIDTH:
            lines.append("")
        lines[-1] += f"{part}, "
    lines[-1] = lines[-1].removesuffix(", ")
    return lines[0] if len(lines) == 1 else "".join(f"\n    {line.rstrip()}" for line in lines)


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
            ("deterministic.py.txt", "checks.py.txt"),
            start=tuple(sure.start),
            action=tuple(sure.action),
            move=tuple(tuple(row) for row in sure.move),
            **words,
        )
    drawn = chance_tables(controller)
    return filled(
        ("stochastic.py.txt", "checks.py.txt"),
        starts=drawn.starts,
        rows=tuple(drawn.rows),
        entries=tuple(drawn.entries),
        nodes=controller.nodes,
        lanes=1 + 2 * len(team.agents),
        lane=1 + 2 * place,
        **words,
    )


def dot_source(agent: Agent, controller: Controller) -> str:
    """The graph: boxes name actions, edges observations."""
    use = unknown_use(controller)
    boxes, links = boxes_of(agent, controller, use), links_of(agent, controller, use)
    lines = [f"digraph {dot_quoted(agent.name)} {{", "  node [shape=box, style=rounded];"]
    lines += [f"  n{box.node} [label={dot_quoted(*box.words, f'node {box.node}')}];" for box in boxes]
    starts = {box.node: box.start for box in boxes if box.start is not None}
    lines += [f"  start{i} [shape=point]; start{i} -> n{i} [label={dot_quoted(words)}];" for i, words in starts.items()]
    lines += [f"  n{link.source} -> n{link.goal} [label={dot_quoted(*link.words)}];" for link in links]
    return "\n".join([*lines, "}"]) + "\n"


def dot_quoted(*parts: str) -> str:
    """A quoted string of Graphviz, one line per part: nothing in it is read as an escape or an entity."""
    kept = (re.sub("[\x00-\x1f\x7f]", "\ufffd", part.replace("\n", " ")) for part in parts)
    safe = (part.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;") for part in kept)
    return '"' + "\\n".join(safe) + '"'


def svg_source(agent: Agent, controller: Controller) -> str:
    """The drawing; links as likely as if every observation were equally likely."""
    graph = graph_of(agent, controller, unknown_use(controller), "controller")
    if graph is None:
        raise InputError(
            f"svg: expected at most {MOST_NODES} nodes, got {controller.nodes} for {agent.name}; "
            "the formats dot and json have no limit"
        )
    opened, rest = graph.drawn.translate(NO_XML).split(">", 1)
    return (
        f'{opened} xmlns="http://www.w3.org/2000/svg"><style>{light(own_file("graph.css"))}{SVG_STYLE}</style>{rest}\n'
    )


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
