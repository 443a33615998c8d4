"""Random episodes, the Parquet files that hold them, also with a column changed by hand; labels that are hard to keep.

Imported as `.made_episodes`: the name of this folder is that of a module of the standard library, too.
"""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from decpomdp.core import NO_OBSERVATION, Agent, Episodes, FormatError
from decpomdp.io.episodes import read_episodes, write_episodes

AGENTS = (Agent("left", ["stay", "go"], ["p", "q", "r"]), Agent("right", ["x", "y", "z"], ["p", "é"]))


def episodes(agents=AGENTS, count=20, seed=0, lengths=None):
    """Random episodes with everything that may happen: first observations for all, some or none, unknown behaviour."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 7, count) if lengths is None else lengths
    count, offsets = len(lengths), np.concatenate([[0], np.cumsum(lengths)])
    shape = (int(offsets[-1]), len(agents))
    observations = np.stack([rng.integers(0, len(agent.observations), shape[0]) for agent in agents], axis=-1)
    observations[offsets[:-1]] = np.where(rng.random((count, len(agents))) < 0.5, NO_OBSERVATION, 1)
    behaviour = rng.uniform(1e-6, 1, shape).astype(np.float32)
    behaviour[rng.random(shape) < 0.2] = np.nan
    return Episodes(
        agents=agents,
        offsets=offsets,
        observations=observations,
        actions=np.stack([rng.integers(0, len(agent.actions), shape[0]) for agent in agents], axis=-1),
        behaviour=behaviour,
        rewards=rng.normal(size=shape[0]) * 10.0 ** rng.integers(-300, 40, shape[0]),
        discount=0.1 + 0.2,
        terminated=rng.random(count) < 0.5,
        name="näme",
        facts={"seed": str(seed), "note": 'a "quoted" \n 日本'},
    )


def written(path, held=None):
    """The Arrow table of a good file."""
    write_episodes(episodes() if held is None else held, path)
    return pq.read_table(path)


def with_column(table, name, values, kind=None):
    column = values if isinstance(values, pa.Array) else pa.array(values, kind)
    return table.set_column(table.schema.get_field_index(name), name, column)


def refusal(path):
    with pytest.raises(FormatError) as caught:
        read_episodes(path)
    assert caught.value.path == str(path)
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(f"{path}: ")


ODD = (
    Agent("left", ["stay", "go, or not", "never"], ["p", "q", "r"]),
    Agent("right", ["x", "y"], ["1st", 'é "2"']),
)


def odd_episodes(count=20, seed=0):
    """Random episodes with labels that are hard to keep in a table; the first agent never does the last action."""
    held = episodes(ODD, count, seed)
    actions = np.minimum(held.actions, 1)
    return replace(held, actions=actions, discount=0.9, name="", facts={"imported from": "x"})


def same(one, other):
    return replace(one, facts={}, name="") == replace(other, facts={}, name="")
