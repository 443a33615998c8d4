"""Exported controllers, compiled and run, take the actions that the library takes."""

import json
import re
import subprocess
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from dectiger_horizon3 import controller as tiger
from oracles import making

import decpomdp as dp
from decpomdp.core import InputError
from decpomdp.report.export import FORMATS, _c_kind, dot_quoted, exported, identifier, tables_of

FLAGS = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-fsanitize=undefined", "-fno-sanitize-recover")
EPISODES, STEPS = 4, 25
HOSTILE = (
    'say "hi"\\',
    "*/ int main(void){} /*",
    "new\nline\r\n# define x",
    "??/??'??!",
    "'''\"\"\" {actions} %s @ID@",
    "tab\tnul\x00bell\x07",
    "größe 世界 \u2028 \ufffe",
    "<b>&amp;\\N</b>",
    "line \\",
)


def some_team(first=False, sure=False):
    rng = np.random.default_rng(6)
    model = making.model(rng, 2, (3, 2, 4), (2, 3, 1))
    team = making.team(rng, model, (4, 1, 3), sparse=True, first=first)
    return team.decided() if sure else team


def hostile_team(sure=False):
    agents = tuple(dp.Agent(f"{label}{n}", HOSTILE, HOSTILE) for n, label in enumerate(("*/\n", 'x"\\')))
    team = dp.Team(agents, tuple(dp.Controller.uniform(len(HOSTILE), len(HOSTILE)) for _ in agents), 0.9, HOSTILE[1])
    return team.decided() if sure else team


def histories(team, place, first):
    """[episode][t]: what the agent sees, -1 for nothing, and what the library's runner then does."""
    rng = np.random.default_rng(1)
    counts = [len(agent.observations) for agent in team.agents]
    seen = [[rng.integers(counts) for _ in range(STEPS)] for _ in range(EPISODES)]
    runner, done = dp.TeamRunner(team, seed=SEED), []
    for episode in seen:
        taken = [runner.act(None if t == 0 and not first else shown)[place] for t, shown in enumerate(episode)]
        done.append(taken)
        runner.reset()
    own = [[int(shown[place]) for shown in episode] for episode in seen]
    return ([[-1, *episode[1:]] for episode in own] if not first else own), done


SEED = 2**64 - 3


def run_python(text, observations):
    module = {}
    exec(compile(text, "controller.py", "exec"), module)
    make = module["Controller"]
    controller = make(seed=SEED) if "seed=0" in text else make()
    actions = []
    for first, *later in observations:
        begun = controller.start() if first < 0 else controller.start(first)
        actions.append([begun, *(controller.step(seen) for seen in later)])
    return actions


def run_c(text, name, observations, folder):
    seeded = f", UINT64_C({SEED}), (uint64_t)k" if "uint64_t seed" in text else ""
    rows = ", ".join("{" + ", ".join(map(str, row)) + "}" for row in observations)
    driver = f"""
#include <stdio.h>
#include "agent.c"
static const int seen[{EPISODES}][{STEPS}] = {{{rows}}};
int main(void)
{{
    {name}_state state;
    for (int k = 0; k < {EPISODES}; k++)
        for (int t = 0; t < {STEPS}; t++)
            printf("%d\\n", t ? {name}_step(&state, seen[k][t]) : {name}_start(&state, seen[k][t]{seeded}));
    if ({name}_step(&state, {name}_observations) != -1 || {name}_step(&state, -1) != -1)
        return 1;
    for (int a = 0; a < {name}_actions; a++)
        printf("%s%c", {name}_action_name(a), 1);
    for (int o = 0; o < {name}_observations; o++)
        printf("%s%c", {name}_observation_name(o), 1);
    return {name}_action_name(-1)[0] || {name}_observation_name({name}_observations)[0];
}}
"""
    (folder / "agent.c").write_text(text)
    (folder / "main.c").write_text(driver)
    subprocess.run(["gcc", *FLAGS, "main.c", "-o", "main"], cwd=folder, check=True, capture_output=True)
    done = subprocess.run([folder / "main"], check=True, capture_output=True)
    *numbers, names = done.stdout.split(b"\n", EPISODES * STEPS)
    actions = np.array([int(line) for line in numbers]).reshape(EPISODES, STEPS)
    return actions.tolist(), names.split(b"\1")[:-1]


@pytest.mark.parametrize(("first", "sure"), [(False, False), (False, True), (True, False), (True, True)])
def test_programs_take_the_same_actions(first, sure, tmp_path):
    """C compiles without a warning."""
    team, place = some_team(first, sure), 0 if first else 2
    agent = team.agents[place]
    python, c = (exported(team, agent.name, form) for form in ("python", "c"))
    observations, actions = histories(team, place, first)
    assert run_python(python, observations) == actions
    taken, names = run_c(c, f"agent{place + 1}", observations, tmp_path)
    assert taken == actions
    assert names == [label.encode() for label in agent.actions + agent.observations]
    assert len({tuple(row) for row in actions}) > 1 or sure
    assert python.isascii()
    assert "import" not in python
    assert "malloc" not in c.replace("no malloc", "")


def test_random_numbers_may_come_from_elsewhere():
    from decpomdp.rollouts.runner import random_bits, stream_key

    module = {}
    exec(exported(some_team(), "agent2", "python"), module)
    ours, theirs = module["Controller"](seed=5), module["Controller"]()
    key = stream_key(5, 0)
    lane = [[random_bits(key, 1 + t * 7 + 3 + i) for i in range(2)] for t in range(10)]
    assert ours.start() == theirs.start_with(None, *lane[0])
    assert [ours.step(0) for _ in range(9)] == [theirs.step_with(0, *bits) for bits in lane[1:]]


@pytest.mark.parametrize("sure", [False, True])
def test_labels_cannot_break_out(sure, tmp_path):
    team = hostile_team(sure)
    for place, agent in enumerate(team.agents):
        observations, actions = histories(team, place, first=False)
        python = exported(team, agent.name, "python")
        assert run_python(python, observations) == actions
        module = {}
        exec(python, module)
        assert module["ACTIONS"] == HOSTILE == module["OBSERVATIONS"]
        name = identifier(team, place)
        assert re.fullmatch("[a-z][A-Za-z0-9_]*", name)
        taken, names = run_c(exported(team, agent.name, "c"), name, observations, tmp_path)
        assert taken == actions
        wanted = [label.split("\0")[0].encode() for label in HOSTILE]  # a C string ends at the first null byte
        assert names == wanted * 2


def test_names_for_programs_differ():
    names = ("a b", "a_b", "a_b_1", "1", "", "é", "if")
    agents = tuple(dp.Agent(name or "-", ("x",), ("y",)) for name in names)
    team = dp.Team(agents, (dp.Controller.uniform(1, 1),) * len(names), 0.9)
    found = [identifier(team, place) for place in range(len(names))]
    assert found == ["a_b_1", "a_b", "a_b_1_3", "agent_1_4", "agent_5", "agent_6", "if"]
    assert len(set(found)) == len(names)


def test_sure_controllers_are_plain_tables():
    def plain(*controller):
        found = tables_of(dp.Controller(*controller))
        return found.tables if found.template == "deterministic" else None

    assert tables_of(tiger()).tables["action"] == (0, 0, 0, 2, 0, 1)
    unmet = np.full((1, 2, 1, 1), 1.0)
    assert plain([1.0], [[1.0, 0.0]], unmet) is not None
    assert plain([1.0], [[0.5, 0.5]], unmet) is None
    assert plain([0.5, 0.5], [[1.0], [1.0]], np.full((2, 1, 1, 2), 0.5)) is None
    move = np.zeros((2, 2, 1, 2))
    move[:, 0, 0] = np.eye(2)[::-1]
    move[:, 1, 0] = 0.5  # after an action that is never taken
    assert plain([1.0, 0.0], [[1.0, 0.0]] * 2, move)["move"] == ((1,), (0,))
    mixed = tables_of(dp.Controller([0.5, 0.5], [[1.0, 0.0]] * 2, move))
    assert len(mixed.tables["entries"]) == 2 + 2 + 4  # one entry for what never happens


def test_json_is_read_back(tmp_path):
    team = some_team(first=True)
    (tmp_path / "c.json").write_text(exported(team, "agent2", "json"))
    back = dp.Team.load(tmp_path / "c.json")
    assert back.controllers == (team.controllers[1],)
    assert back.agents == (team.agents[1],)


WORD = r'"((?:[^"\\]|\\.)*)"'


def test_dot_has_one_edge_per_pair_and_says_why():
    team = dp.Team.of(dp.load("dectiger"), [tiger()] * 2)
    text = exported(team, "agent1", "dot")
    edges = re.findall(rf"n(\d) -> n(\d) \[label={WORD}\];", text)
    assert ("1", "3", "hear-left") in edges
    assert ("3", "0", "any") in edges
    assert len({edge[:2] for edge in edges}) == len(edges) == 9
    assert 'start0 -> n0 [label="start"];' in text
    assert 'n3 [label="open-right\\nnode 3"];' in text


def test_dot_says_chances_and_starts():
    agent = dp.Agent("x", ("a", "b"), ("o", "p"))
    table = np.array([[[[0.25, 0.75], [0.25, 0.75]]] * 2, [[[1.0, 0.0], [0.0, 1.0]]] * 2])
    given = np.array([[1.0, 0.0], [0.5, 0.5]])
    team = dp.Team((agent,), (dp.Controller([0.5, 0.5], [[0.5, 0.5], [1.0, 0.0]], table, given),), 0.9)
    text = exported(team, None, "dot")
    assert 'n0 [label="a 50%\\nb 50%\\nnode 0"];' in text
    assert 'n0 -> n1 [label="any 75%"];' in text
    assert 'n1 -> n0 [label="o"];' in text
    assert 'start0 -> n0 [label="start on o, p 50%"];' in text
    assert 'start1 -> n1 [label="start on p 50%"];' in text


def test_dot_is_quoted_throughout():
    text = exported(hostile_team(), hostile_team().agents[0].name, "dot")
    bare = re.sub(WORD, "Q", text)
    assert re.fullmatch(r"digraph Q \{\n(  [a-z0-9 \[\]=,;>Q-]+\n)+\}\n", bare)
    assert dot_quoted('a"\\\n&') == '"a\\"\\\\ &amp;"'


def test_svg_is_a_drawing_of_its_own():
    team = hostile_team()
    for text in (exported(team, team.agents[0].name, "svg"), exported(some_team(), "agent1", "svg")):
        root = ElementTree.fromstring(text)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert not root.findall(".//{http://www.w3.org/2000/svg}script")
    drawn = ElementTree.fromstring(exported(dp.Team.of(dp.load("dectiger"), [tiger()] * 2), "agent1", "svg"))
    words = "".join(drawn.itertext())
    assert words.count("open-right") >= 1
    assert len(drawn.findall(".//*[@data-node]")) == 6
    large = dp.Controller(np.ones(60) / 60, np.ones((60, 1)), np.full((60, 1, 1, 60), 1 / 60))
    with pytest.raises(InputError, match="svg: expected at most 50 nodes, got 60"):
        exported(dp.Team((dp.Agent("x", ("a",), ("o",)),), (large,), 0.9), None, "svg")


def test_mistakes_are_named():
    team = some_team()
    with pytest.raises(InputError, match="agent: expected one of agent1, agent2, agent3, got none"):
        exported(team, None, "c")
    with pytest.raises(InputError, match=r"agent: expected one of .*, got 'nobody'"):
        exported(team, "nobody", "c")
    with pytest.raises(InputError, match="format: expected one of json, python, c, dot, svg, got 'java'"):
        exported(team, "agent1", "java")
    assert all(exported(team, "agent1", form) for form in FORMATS)
    assert json.loads(exported(team, "agent1", "json"))["agent"]["name"] == "agent1"


WRONG = [1.0, True, False, np.bool_(True), "0", None, 2, -1, -2, np.float64(0), np.zeros(2, int), [0], int]


@pytest.mark.parametrize("explored", [0.0, 0.3])
def test_exported_python_refuses_what_is_no_observation_in_one_line(explored):
    """And nothing has changed then: what follows is as if it had not been asked."""
    model = dp.load("dectiger")
    turns = dp.Controller.deterministic([0, 1], [[1, 0], [0, 1]], 3).exploring(explored)
    module = {}
    exec(exported(dp.Team.of(model, [turns, turns]), "agent1", "python"), module)
    asked, plain = module["Controller"](), module["Controller"]()
    with pytest.raises(RuntimeError, match="start"):
        asked.step(0)
    for controller in (asked, plain):
        controller.start()
    for wrong in WRONG:
        with pytest.raises(ValueError, match=r"^observation: expected a whole number from 0 to 1, got [^\n]*$"):
            asked.step(wrong)
        assert asked.step(np.int64(1)) == plain.step(1)
    for wrong in (1.0, True, 2, -2, "0"):
        with pytest.raises(ValueError, match="observation: expected a whole number from -1 to 1, got"):
            asked.start(wrong)
    assert asked.start(-1) == plain.start()
    assert asked.start(np.int64(-1)) == plain.start(None)
    assert [asked.step(0) for _ in range(9)] == [plain.step(0) for _ in range(9)]


def test_numbers_fit_their_types_of_c():
    assert [_c_kind(size) for size in (256, 257, 65536, 65537)] == ["uint8_t", "uint16_t", "uint16_t", "uint32_t"]
