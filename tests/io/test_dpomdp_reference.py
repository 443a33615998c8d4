"""The published model files, where this machine has them: sizes, speed, and there and back again."""

import os
from pathlib import Path

import pytest

from decpomdp.core import FormatError
from decpomdp.io.dpomdp.read import parse_dpomdp, read_dpomdp
from decpomdp.io.dpomdp.writer import format_dpomdp

FOLDER = Path(os.environ.get("DECPOMDP_REFERENCE_PROBLEMS", "no-reference-problems"))
SIZES = {  # states, actions and observations per agent
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


@pytest.mark.parametrize("name", SIZES)
def test_sizes_and_round_trip(name):
    model = read_dpomdp(reference(name))
    states, actions, observations = SIZES[name]
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
