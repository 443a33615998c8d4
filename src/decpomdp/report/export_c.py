"""A controller as one C99 file: constant tables, no malloc, no floating point, any number of instances.

Labels are written as string literals in which everything but letters, digits and a few harmless signs is an octal
escape: no label can end its string, begin a trigraph or close a comment.
"""

import re
from collections.abc import Sequence

from decpomdp.core import Agent, Team
from decpomdp.report.export_tables import ChanceTables, SureTables, chance_tables, identifier, sure_tables

HARMLESS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-+.,:;=()<>[]{}|#!$&@^~")
WIDTH = 110  # columns of a table

HEAD = """\
/* Controller of agent @NAME@, problem @PROBLEM@.
 * Written by decpomdp. C99, no other files, no malloc.
 *
 *   @ID@_state state;
 *   int action = @ID@_start(&state, @FIRST@);
 *   action = @ID@_step(&state, observation);
 *
 * Give -1 as the first observation when nothing is seen before the first action. Actions and observations are numbers
 * from 0; an observation out of range gives -1 and changes nothing.
@MORE@ */
#include <stdint.h>

enum { @ID@_nodes = @NODES@, @ID@_actions = @ACTIONS@, @ID@_observations = @OBSERVATIONS@ };
"""

SURE = """
typedef struct { int node; } @ID@_state;

int @ID@_start(@ID@_state *state, int observation);
int @ID@_step(@ID@_state *state, int observation);
const char *@ID@_action_name(int action);
const char *@ID@_observation_name(int observation);

@TABLES@
int @ID@_start(@ID@_state *state, int observation)
{
    if (observation < -1 || observation >= @ID@_observations)
        return -1;
    state->node = @ID@_start_node[@ROW@];
    return @ID@_node_action[state->node];
}

int @ID@_step(@ID@_state *state, int observation)
{
    if (observation < 0 || observation >= @ID@_observations)
        return -1;
    state->node = @ID@_node_move[state->node][observation];
    return @ID@_node_action[state->node];
}
"""

CHANCE_NOTE = """\
 *
 * Chance: decision t of an episode uses two numbers of 64 bits, SplitMix64 at a place of its own, so that the same
 * seed and the same episode give the actions that decpomdp.TeamRunner(team, seed, episode) takes. To draw them
 * elsewhere, use the functions that end in _with.
"""

CHANCE = """
typedef struct { uint64_t key, time; int node, last; } @ID@_state;

int @ID@_start(@ID@_state *state, int observation, uint64_t seed, uint64_t episode);
int @ID@_step(@ID@_state *state, int observation);
int @ID@_start_with(@ID@_state *state, int observation, uint64_t move_bits, uint64_t action_bits);
int @ID@_step_with(@ID@_state *state, int observation, uint64_t move_bits, uint64_t action_bits);
const char *@ID@_action_name(int action);
const char *@ID@_observation_name(int observation);

@TABLES@
#define @ID@_GOLDEN UINT64_C(0x9E3779B97F4A7C15)

static uint64_t @ID@_mix(uint64_t value)
{
    value = (value ^ (value >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94D049BB133111EB);
    return value ^ (value >> 31);
}

static uint64_t @ID@_bits(const @ID@_state *state, uint64_t lane)
{
    return @ID@_mix(state->key + (1 + state->time * @LANES@ + lane) * @ID@_GOLDEN);
}

static int @ID@_pick(uint32_t row, uint64_t bits)
{
    uint32_t place = @ID@_row_first[row] + (uint32_t)(((bits >> 32) * @ID@_row_count[row]) >> 32);
    return (uint32_t)bits < @ID@_entry_cut[place] ? (int)@ID@_entry_own[place] : (int)@ID@_entry_other[place];
}

static int @ID@_act(@ID@_state *state, uint32_t row, uint64_t move_bits, uint64_t action_bits)
{
    state->node = @ID@_pick(row, move_bits);
    state->last = @ID@_pick(@STARTS@ + (uint32_t)state->node, action_bits);
    return state->last;
}

int @ID@_start_with(@ID@_state *state, int observation, uint64_t move_bits, uint64_t action_bits)
{
    if (observation < -1 || observation >= @ID@_observations)
        return -1;
    return @ID@_act(state, @ROW@, move_bits, action_bits);
}

int @ID@_step_with(@ID@_state *state, int observation, uint64_t move_bits, uint64_t action_bits)
{
    uint32_t place;
    if (observation < 0 || observation >= @ID@_observations)
        return -1;
    place = ((uint32_t)state->node * @ID@_actions + (uint32_t)state->last) * @ID@_observations + (uint32_t)observation;
    return @ID@_act(state, @STARTS@ + @ID@_nodes + place, move_bits, action_bits);
}

int @ID@_start(@ID@_state *state, int observation, uint64_t seed, uint64_t episode)
{
    if (observation < -1 || observation >= @ID@_observations)
        return -1;
    state->key = @ID@_mix(@ID@_mix(seed + @ID@_GOLDEN) + episode * @ID@_GOLDEN);
    state->time = 0;
    return @ID@_start_with(state, observation, @ID@_bits(state, @LANE@), @ID@_bits(state, @LANE@ + 1));
}

int @ID@_step(@ID@_state *state, int observation)
{
    if (observation < 0 || observation >= @ID@_observations)
        return -1;
    state->time++;
    return @ID@_step_with(state, observation, @ID@_bits(state, @LANE@), @ID@_bits(state, @LANE@ + 1));
}
"""

NAMES = """
const char *@ID@_action_name(int action)
{
    static const char *const names[] = {@ACTION_NAMES@};
    return action < 0 || action >= @ID@_actions ? "" : names[action];
}

const char *@ID@_observation_name(int observation)
{
    static const char *const names[] = {@OBSERVATION_NAMES@};
    return observation < 0 || observation >= @ID@_observations ? "" : names[observation];
}
"""


def c_source(team: Team, place: int) -> str:
    """The file of agent number `place`."""
    agent, controller = team.agents[place], team.controllers[place]
    name = identifier(team, place)
    sure = sure_tables(controller)
    if sure is not None:
        body, parts = SURE, _sure(sure, name)
    else:
        body, parts = CHANCE, _chance(chance_tables(controller), name)
        parts |= {"LANES": str(1 + 2 * len(team.agents)), "LANE": str(1 + 2 * place), "MORE": CHANCE_NOTE}
    parts |= {"ID": name, "NODES": str(controller.nodes), **_words(team, agent)}
    return _filled(HEAD + body + NAMES, {"FIRST": "-1", "MORE": "", **parts})


def quoted(label: str) -> str:
    """A C string literal that means `label` in UTF-8."""
    signs = (chr(byte) if chr(byte) in HARMLESS else f"\\{byte:03o}" for byte in label.encode())
    return '"' + "".join(signs) + '"'


def _words(team: Team, agent: Agent) -> dict[str, str]:
    return {
        "NAME": quoted(agent.name),
        "PROBLEM": quoted(team.problem),
        "ACTIONS": str(len(agent.actions)),
        "OBSERVATIONS": str(len(agent.observations)),
        "ACTION_NAMES": _list([quoted(label) for label in agent.actions]),
        "OBSERVATION_NAMES": _list([quoted(label) for label in agent.observations]),
    }


def _sure(tables: SureTables, name: str) -> dict[str, str]:
    rows = ["{" + ", ".join(map(str, row)) + "}" for row in tables.move]
    kind = _kind(len(tables.action))
    lines = [
        _table(kind, f"{name}_start_node[{len(tables.start)}]", tables.start),
        _table(_kind(max(tables.action) + 1), f"{name}_node_action[{len(tables.action)}]", tables.action),
        f"static const {kind} {name}_node_move[{len(rows)}][{len(tables.move[0])}] = {{{_list(rows)}}};",
    ]
    row = "observation + 1" if len(tables.start) > 1 else "0"
    return {"TABLES": "\n".join(lines) + "\n", "ROW": row}


def _chance(tables: ChanceTables, name: str) -> dict[str, str]:
    first, count = zip(*tables.rows, strict=True)
    own, other, cut = zip(*tables.entries, strict=True)
    most = max(max(own), max(other)) + 1
    lines = [
        _table("uint32_t", f"{name}_row_first[{len(first)}]", first),
        _table("uint32_t", f"{name}_row_count[{len(count)}]", count),
        _table(_kind(most), f"{name}_entry_own[{len(own)}]", own),
        _table(_kind(most), f"{name}_entry_other[{len(other)}]", other),
        _table("uint32_t", f"{name}_entry_cut[{len(cut)}]", [f"{value}U" for value in cut]),
    ]
    row = "(uint32_t)(observation + 1)" if tables.starts > 1 else "0"
    return {"TABLES": "\n".join(lines) + "\n", "ROW": row, "STARTS": str(tables.starts), "FIRST": "-1, seed, episode"}


def _table(kind: str, name: str, values: Sequence[object]) -> str:
    return f"static const {kind} {name} = {{{_list([str(value) for value in values])}}};"


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


def _filled(template: str, parts: dict[str, str]) -> str:
    """The template with its @WORDS@; what is put in is not looked at again, whatever it says."""
    return re.sub(r"@([A-Z_]+)@", lambda found: parts[found[1]], template)
