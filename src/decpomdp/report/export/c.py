"""A controller as one C99 file: constant tables, no malloc, no floating point, any number of instances.

Labels are written as string literals in which everything but letters, digits and a few harmless signs is an octal
escape: no label can end its string, begin a trigraph or close a comment.
"""

from collections.abc import Sequence

from decpomdp.core import Team
from decpomdp.report.export.tables import chance_tables, filled, identifier, sure_tables

HARMLESS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-+.,:;=()<>[]{}|#!$&@^~")
WIDTH = 110  # columns of a table
RANDOM_NOTE = """\
 *
 * Chance: decision t of an episode uses two numbers of 64 bits, SplitMix64 at a place of its own, so that the same
 * seed and the same episode give the actions that decpomdp.TeamRunner(team, seed, episode) takes. To draw them
 * elsewhere, use the functions that end in _with.
"""


def c_source(team: Team, place: int) -> str:
    """The file of agent number `place`."""
    agent, controller, name = team.agents[place], team.controllers[place], identifier(team, place)
    sure = sure_tables(controller)
    if sure is not None:
        rows = ["{" + ", ".join(map(str, row)) + "}" for row in sure.move]
        kind = _kind(controller.nodes)
        moves = f"static const {kind} {name}_node_move[{len(rows)}][{len(sure.move[0])}] = {{{_list(rows)}}};"
        tables = [
            _table(kind, f"{name}_start_node", sure.start),
            _table(_kind(max(sure.action) + 1), f"{name}_node_action", sure.action),
            moves,
        ]
        starts, own = len(sure.start), {"more": "", "first": "-1"}
        row = "observation + 1"
    else:
        drawn = chance_tables(controller)
        (first, count), (mine, other, cut) = zip(*drawn.rows, strict=True), zip(*drawn.entries, strict=True)
        kind = _kind(max(*mine, *other) + 1)
        tables = [
            _table("uint32_t", f"{name}_row_first", first),
            _table("uint32_t", f"{name}_row_count", count),
            _table(kind, f"{name}_entry_own", mine),
            _table(kind, f"{name}_entry_other", other),
            _table("uint32_t", f"{name}_entry_cut", [f"{value}U" for value in cut]),
        ]
        starts, own = drawn.starts, {"more": RANDOM_NOTE, "first": "-1, seed, episode"}
        row = "(uint32_t)(observation + 1)"
    return filled(
        ("head.c", "deterministic.c" if sure is not None else "stochastic.c", "names.c"),
        id=name,
        name=quoted(agent.name),
        problem=quoted(team.problem),
        nodes=controller.nodes,
        actions=len(agent.actions),
        observations=len(agent.observations),
        action_names=_list([quoted(label) for label in agent.actions]),
        observation_names=_list([quoted(label) for label in agent.observations]),
        tables="\n".join(tables) + "\n",
        row=row if starts > 1 else "0",
        starts=starts,
        lanes=1 + 2 * len(team.agents),
        lane=1 + 2 * place,
        **own,
    )


def quoted(label: str) -> str:
    """A C string literal that means `label` in UTF-8."""
    signs = (chr(byte) if chr(byte) in HARMLESS else f"\\{byte:03o}" for byte in label.encode())
    return '"' + "".join(signs) + '"'


def _table(kind: str, name: str, values: Sequence[object]) -> str:
    return f"static const {kind} {name}[{len(values)}] = {{{_list([str(value) for value in values])}}};"


def _kind(size: int) -> str:
    return "uint8_t" if size <= 1 << 8 else "uint16_t" if size <= 1 << 16 else "uint32_t"


def _list(parts: Sequence[str]) -> str:
    """Comma-separated, on lines of their own when they are too long for one."""
    lines = [""]
    for part in parts:
        if lines[-1] and len(lines[-1]) + len(part) > WIDTH:
            lines.append("")
        lines[-1] += f"{part}, "
    lines[-1] = lines[-1].removesuffix(", ")
    return lines[0] if len(lines) == 1 else "".join(f"\n    {line.rstrip()}" for line in lines)
