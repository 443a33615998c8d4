"""Every form of a `.dpomdp` file has an example here, with the numbers it must give; the published model files."""

import os
from pathlib import Path

import numpy as np
import pytest

from decpomdp.core import Agent, FormatError
from decpomdp.io.dpomdp.read import parse_dpomdp, read_dpomdp
from decpomdp.io.dpomdp.writer import format_dpomdp

RAIN_OR_SUN = "agents: 2\ndiscount: 0.9\nvalues: reward\nstates: rain sun fog\nstart:\nuniform\n"
ALPHABETS = "actions:\nstay go\n3\nobservations:\ndry wet\n1\n"  # 6 joint actions, 2 joint observations
DEFAULTS = "T: * :\nuniform\nO: * :\nuniform\n"


def model(statements="", head=RAIN_OR_SUN, alphabets=ALPHABETS, **options):
    return parse_dpomdp(head + alphabets + DEFAULTS + statements, **options)


def with_start(lines):
    return model(head=RAIN_OR_SUN.replace("start:\nuniform\n", lines))


def test_header_gives_labels_and_discount():
    got = model()
    assert got.agents == (Agent("agent1", ("stay", "go"), ("dry", "wet")), Agent("agent2", ("0", "1", "2"), ("0",)))
    assert got.states == ("rain", "sun", "fog")
    assert got.discount == 0.9
    assert got.name == ""
    assert not got.reward.any()


def test_words_may_be_quoted():
    head = RAIN_OR_SUN.replace("reward", '"reward"').replace("rain sun fog", '"rain" "sun" fog').replace("2", '"2"')
    quoted = 'actions:\n"stay" "go"\n3\nobservations:\n"dry" "wet"\n1\n'
    got = model('R: "go" 1 :"sun": * : * : "4"\n', head, quoted)
    assert got.digest() == model("R: go 1 : sun : * : * : 4\n").digest()


def test_start():
    for lines, expected in [
        ("start:\n0.5 0.25 0.25\n", [0.5, 0.25, 0.25]),
        ("start:\nuniform\n", [1 / 3, 1 / 3, 1 / 3]),
        ("start: sun\n", [0, 1, 0]),
        ("start include: 0 fog\n", [0.5, 0, 0.5]),
        ("start exclude: fog\n", [0.5, 0.5, 0]),
        ("start:\n\n# the weather\n+1e-1 .4 0.5 # sums to one\n", [0.1, 0.4, 0.5]),
    ]:
        np.testing.assert_array_equal(with_start(lines).start, expected)


def test_state_called_uniform_is_a_state():
    got = parse_dpomdp(
        "agents: 1\ndiscount: 1\nvalues: reward\nstates: a uniform\nstart: uniform\nactions:\n1\nobservations:\n1\n"
        "T: * : uniform :\n0.25 0.75\nT: * : a : uniform\nO: * : uniform\n"
    )
    assert got.start.tolist() == [0, 1]
    assert got.transition[0].tolist() == [[0.5, 0.5], [0.25, 0.75]]


# joint action (stay, 2) is 2, (go, 0) is 3; each of these turns exactly the named joint actions into the identity
def test_joint_actions():
    for words, which in [
        ("*", range(6)),
        ("4", [4]),
        ("go 1", [4]),
        ("stay *", [0, 1, 2]),
        ("* 2", [2, 5]),
        ("  stay\t2  ", [2]),
    ]:
        got = model(f"T:{words}:\nidentity\n")
        for u in range(6):
            expected = np.eye(3) if u in which else np.full((3, 3), 1 / 3)
            np.testing.assert_array_equal(got.transition[u], expected)


def test_transition_forms():
    for statement, expected in [
        ("T: 0 :\nidentity\n", np.eye(3)),
        ("T: 0 : identity\n", np.eye(3)),
        ("T: 0\n\n0 0 1\n# upside\n0 1 0   # down\n\n1 0 0\n", np.eye(3)[::-1]),
        ("T: 0 : * : * : 0\nT: 0 : * : sun : 1\n", [[0, 1, 0]] * 3),
        ("T: 0 : * :\n0.5 0 0.5\n", [[0.5, 0, 0.5]] * 3),
        ("T: 0 : sun\n0.5 0 0.5\n", [[1 / 3] * 3, [0.5, 0, 0.5], [1 / 3] * 3]),
        ("T : 0 : 1 :\n0.5 0 0.5\nT: 0 : 1 :\nuniform\n", [[1 / 3] * 3] * 3),
        ("T: 0 : identity\nT: 0 : uniform\n", [[1 / 3] * 3] * 3),
        (
            "T: 0 :\nidentity\nT: stay 0: fog:fog:0.25\nT: stay 0:fog:rain:75e-2\n",
            [[1, 0, 0], [0, 1, 0], [0.75, 0, 0.25]],
        ),
    ]:
        got = model(statement)
        np.testing.assert_array_equal(got.transition[0], expected)
        np.testing.assert_array_equal(got.transition[1:], np.full((5, 3, 3), 1 / 3))


# T and O are uniform, so an expectation is a mean over 3 next states and 2 joint observations
def test_reward_forms():
    for statement, expected in [
        ("R: 0 : * : * : * : -2\n", [-2, -2, -2]),
        ("R: stay 0: sun : * : * : +20\n", [0, 20, 0]),
        ("R: 0 : sun : fog : wet 0 : 6\n", [0, 1, 0]),
        ("R: 0 : * : * : wet * : 4\n", [2, 2, 2]),
        ("R: 0 : rain : fog :\n2 4\n", [1, 0, 0]),
        ("R: 0 : fog :\n1 2\n3 4\n5 6\nR: 0 : fog : sun : 1 : 10\n", [0, 0, 4.5]),
        ("R: 0 : fog :\n1 2\n3 4\n5 6\nR: 0 : fog : * : * : 7\n", [0, 0, 7]),
        ("R: 0 : * : * : * : 6\nR: 0 : sun : rain : dry 0 : 0\n", [6, 5, 6]),
        ("R: 0 : sun : * : * : 1e3\nR:0:sun:*:*:1e-3\n", [0, 0.001, 0]),
    ]:
        got = model(statement)
        np.testing.assert_allclose(got.reward[0], expected, rtol=1e-14)  # sums of six products
        assert not got.reward[1:].any()


def test_rewards_that_do_not_depend_on_what_follows_are_exact():
    rewards = [[u + s / 7 for s in range(3)] for u in range(6)]
    text = "".join(f"R: {u} : {s} : * : * : {rewards[u][s]!r}\n" for u in range(6) for s in range(3))
    got = model(text + "R: * : fog : rain : * : 5\n")  # depends, in one state
    assert got.reward[:, :2].tolist() == [row[:2] for row in rewards]


def test_costs_are_negated_rewards():
    cost = model("R: 0 : sun : * : * : 20\n", head=RAIN_OR_SUN.replace("values: reward", "values: cost"))
    assert cost.reward[0].tolist() == [0, -20, 0]
    assert not np.signbit(cost.reward[1:]).any()


def test_expected_rewards_use_the_normalised_rows():
    got = model("T: 0 : sun :\n0.3333333 0.3333333 0.3333333\nR: 0 : sun : * :\n6 6\n")
    assert got.reward[0, 1] == pytest.approx(6, rel=1e-14)


def test_line_ends_comments_and_blank_lines_change_nothing():
    for ending in ["\n", "\r\n", " \t \n", " # why\n", "\n\n#\n"]:
        plain = RAIN_OR_SUN + ALPHABETS + DEFAULTS + "R: 0 : fog :\n1 2\n3 4\n5 6\n"
        assert parse_dpomdp(plain.replace("\n", ending)) == parse_dpomdp(plain)
        assert parse_dpomdp("\ufeff" + ending + plain.rstrip("\n")) == parse_dpomdp(plain)


def test_names_may_be_any_words():
    odd = "states: é漢 s*1 nan 5x\nstart: nan\nactions:\n1e a_b\n-\nobservations:\n[ ]\n*- \U0001f600\n"
    text = "agents: 2\ndiscount: 0\nvalues: reward\n" + odd + "T: 1e - : identity\nT: a_b * : é漢\n0 0 0 1\n"
    text += "".join(f"T: a_b - : {s} : s*1 : 1\n" for s in ("s*1", "nan", "5x")) + "O: * : uniform\n"
    got = parse_dpomdp(text)
    assert got.states == ("é漢", "s*1", "nan", "5x")
    assert got.agents[1].observations == ("*-", "\U0001f600")
    assert got.start.tolist() == [0, 0, 1, 0]
    assert got.transition[1].argmax(axis=1).tolist() == [3, 1, 1, 1]


FOLDER = Path(os.environ.get("DECPOMDP_REFERENCE_PROBLEMS", "no-reference-problems"))
PUBLISHED = {  # states, actions and observations per agent
    "dectiger.dpomdp": (2, 3, 2),
    "broadcastChannel.dpomdp": (4, 2, 2),
    "recycling.dpomdp": (4, 3, 2),
    "GridSmall.dpomdp": (16, 5, 2),
    "boxPushingUAI07.dpomdp.gz": (100, 4, 5),
    "Mars.dpomdp.gz": (256, 6, 8),
}


def reference(name):
    if not (FOLDER / name).is_file():
        pytest.skip(f"reference file {name} is not on this machine (set DECPOMDP_REFERENCE_PROBLEMS)")
    return FOLDER / name


@pytest.mark.parametrize("name", PUBLISHED)
def test_sizes_and_round_trip(name):
    model = read_dpomdp(reference(name))
    states, actions, observations = PUBLISHED[name]
    assert len(model.states) == states
    assert [len(agent.actions) for agent in model.agents] == [actions] * 2
    assert [len(agent.observations) for agent in model.agents] == [observations] * 2
    assert model.name == name.partition(".")[0]
    again = parse_dpomdp(format_dpomdp(model))
    assert again.digest() == model.digest()
    assert again.agents == model.agents


def test_the_example_of_the_format_is_refused_where_it_is_wrong():
    with pytest.raises(FormatError) as caught:
        read_dpomdp(reference("example.dpomdp"))
    assert caught.value.line == 199
    assert caught.value.message == "expected an action of agent2, by name or index from 0 to 1, got '2'"
