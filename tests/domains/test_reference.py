"""Every number and label equals the published model file, on a machine that has the files."""

import os
from pathlib import Path

import numpy as np
import pytest

from decpomdp.domains import registry
from decpomdp.io.dpomdp.read import read_dpomdp

FOLDER = Path(os.environ.get("DECPOMDP_REFERENCE_PROBLEMS", "no-reference-problems"))
FILES = {
    "dectiger": "dectiger.dpomdp",
    "broadcast": "broadcastChannel.dpomdp",
    "recycling": "recycling.dpomdp",
    "gridsmall": "GridSmall.dpomdp",
    "boxpushing": "boxPushingUAI07.dpomdp.gz",
    "marsrovers": "Mars.dpomdp.gz",
}


@pytest.mark.parametrize("name", registry.PAPER)
def test_equals_the_published_file(name):
    path = FOLDER / FILES[name]
    if not path.exists():
        pytest.skip(f"reference file {FILES[name]} is not on this machine")
    built, read = registry.build(name), read_dpomdp(path, discount=0.9)
    assert built.agents == read.agents
    assert built.states == read.states
    assert built.discount == read.discount
    for table in ("start", "transition", "observation", "reward"):
        assert np.array_equal(getattr(built, table), getattr(read, table)), table
    assert built.digest() == read.digest()
