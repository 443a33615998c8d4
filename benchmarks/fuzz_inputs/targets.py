"""One function per reader: any bytes in; True if they were accepted, False if they were refused in one line.

Everything else is a finding and raises: another exception, an error of more than one line, something accepted that is
no valid model, team or episodes, or that does not read back equal after it was written. `benchmarks/fuzz.py` limits
time and memory.
"""

import gzip
import os
import shutil
import tempfile
import zlib
from functools import cache
from pathlib import Path
from unittest import mock

import numpy as np
from oracles import dpomdp_text as oracle

import decpomdp as dp
from decpomdp.core import FormatError, InputError
from decpomdp.core.text import plain
from decpomdp.io.dpomdp import header
from decpomdp.io.dpomdp.read import parse_dpomdp, read_dpomdp
from decpomdp.io.dpomdp.writer import format_dpomdp
from decpomdp.io.logged import validate_logged
from decpomdp.io.runs import RUN, TEAM, TRACE, read_run
from decpomdp.io.tables import read_table, write_table
from decpomdp.io.team import controller_to_json, team_from_json, team_to_json

LONGEST = 2000  # characters of a complaint
SHOWN = 50  # one in so many accepted runs becomes a page, which takes a hundred times longer than reading
SEEN = "seen"  # how complaints call the input


@cache
def folder():
    """Where files are put for readers that want a path; in memory if the system offers that."""
    memory = Path("/dev/shm")
    name = tempfile.mkdtemp(prefix="decpomdp-fuzz-", dir=memory if os.access(memory, os.W_OK) else None)
    import atexit

    atexit.register(shutil.rmtree, name, ignore_errors=True)
    return Path(name)


def put(name, data):
    path = folder() / name
    path.write_bytes(data)
    return path


def in_words(error):
    """A complaint as the command shows it is one line, with no control characters, that ends."""
    shown = plain(" ".join(str(error).split())).replace(str(folder()), "")
    assert shown, "a complaint without words"
    assert not any(ord(letter) < 32 or letter in "\x7f\x85\u2028\u2029" for letter in shown), ascii(shown)
    assert len(shown) <= LONGEST, f"a complaint of {len(shown)} characters: {shown[:200]}"
    return False


def all_in_words(first, found, errors):
    """The one that the reader raised is among all errors."""
    assert found is None
    assert str(first) in map(str, errors), errors
    for error in errors:
        in_words(error)
    return False


def distributions(*tables):
    for table in tables:
        assert np.all(np.isfinite(table))
        assert np.all(table >= 0)
        np.testing.assert_allclose(table.sum(axis=-1), 1, rtol=0, atol=1e-11)


# -- .dpomdp -----------------------------------------------------------------------------------------------------------


def dpomdp(data):
    """`read_dpomdp`, compared with an oracle that reads the format slowly: no silent wrong model, no false refusal."""
    path = put("input.dpomdp", data)
    try:
        with mock.patch.multiple(header, TABLE_BYTES=1 << 16, AGENTS=8):
            model = read_dpomdp(path)
    except FormatError as error:
        if told(data) is not None and "tables of at most" not in str(error) and "at most 8 agents" not in str(error):
            raise AssertionError(f"refused, though it is a model: {error}") from None
        return in_words(error)
    expected = told(data, surely=True)
    if expected is not None:
        compare(model, expected)
    distributions(model.start, model.transition, model.observation)
    assert np.all(np.isfinite(model.reward))
    again = parse_dpomdp(format_dpomdp(model))
    assert (again.digest(), again.states, again.agents) == (model.digest(), model.states, model.agents)
    assert again.discount == model.discount
    return True


def told(data, surely=False):
    """What the oracle makes of it: None if it refuses or cannot decide. With `surely`, refusing is a finding."""
    try:
        text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8-sig")
        found = oracle.meaning(text)
    except oracle.Undecided:
        return None
    except (oracle.Refused, UnicodeDecodeError, EOFError, OSError) as error:
        if surely:
            raise AssertionError(f"accepted, though it is no model: {error!r}") from None
        return None
    return found if np.all(np.isfinite(found["reward"])) and np.all(found["scale"] < 1e300) else None


def compare(model, expected):
    """The model is the one that the oracle found."""
    assert [agent.name for agent in model.agents] == expected["names"]
    assert [list(agent.actions) for agent in model.agents] == expected["actions"]
    assert [list(agent.observations) for agent in model.agents] == expected["observations"]
    assert list(model.states) == expected["states"]
    assert model.discount == expected["discount"]
    for name in ("start", "transition", "observation"):
        np.testing.assert_allclose(getattr(model, name), expected[name], rtol=1e-12, atol=1e-15, err_msg=name)
    assert np.all(np.abs(model.reward - expected["reward"]) <= 1e-12 * expected["scale"] + 1e-300), "reward"


# -- teams -------------------------------------------------------------------------------------------------------------


def team(data):
    return _json_team(data, team_to_json)


def controller(data):
    return _json_team(data, lambda found: controller_to_json(found, found.agents[0].name))


def _json_team(data, write):
    try:
        found = team_from_json(data, SEEN)
    except FormatError as error:
        return in_words(error)
    for own in found.controllers:
        distributions(own.initial, own.action, own.transition)
    assert 0 <= found.discount <= 1
    again = team_from_json(write(found), SEEN)
    assert write(again) == write(found)
    return True


# -- episodes ----------------------------------------------------------------------------------------------------------


def episodes(data):
    """`read_episodes`, and the list of everything that is wrong."""
    path = put("input.parquet", data)
    try:
        found = dp.Episodes.load(path)
    except FormatError as error:
        return all_in_words(error, *validate_logged(path))
    valid_episodes(found)
    found.save(folder() / "again.parquet")
    assert dp.Episodes.load(folder() / "again.parquet") == found
    return True


def valid_episodes(found):
    assert found.offsets[0] == 0
    assert np.all(np.diff(found.offsets) > 0)
    assert np.all(np.isfinite(found.rewards))
    known = found.behaviour[~np.isnan(found.behaviour)]
    assert np.all((known > 0) & (known <= 1))
    for n, agent in enumerate(found.agents):
        assert np.all((found.actions[:, n] >= 0) & (found.actions[:, n] < len(agent.actions)))
        seen = np.delete(found.observations[:, n], found.offsets[:-1])
        assert np.all((seen >= 0) & (seen < len(agent.observations)))


def table_csv(data):
    return _table(put("input.csv", data), "again.csv")


def table_parquet(data):
    return _table(put("table.parquet", data), "again-table.parquet")


def _table(path, name):
    try:
        found = read_table(path, 0.9)
    except FormatError as error:
        return all_in_words(error, *validate_logged(path, discount=0.9))
    valid_episodes(found)
    write_table(found, folder() / name)
    again = read_table(folder() / name, 0.9, found.agents)
    for part in ("offsets", "observations", "actions", "rewards", "terminated"):
        assert np.array_equal(getattr(again, part), getattr(found, part)), part
    assert np.array_equal(again.behaviour, found.behaviour, equal_nan=True)
    return True


# -- run folders -------------------------------------------------------------------------------------------------------


@cache
def run_folder():
    """A good run of a small team, of which one file at a time is replaced."""
    place = folder() / "run"
    shutil.copytree(Path(__file__).parents[2] / "tests/fuzz/corpus/run_folder", place)
    return place


def run_record(data):
    """run.json with a good team and trace: read, and now and then shown as a page where it was accepted."""
    return _shown(RUN, data)


def run_trace(data):
    """trace.parquet with a good run.json."""
    return _shown(TRACE, data)


def run_team(data):
    """team.json in a run folder whose run.json speaks of another team."""
    return _shown(TEAM, data)


def _shown(name, data):
    from decpomdp.report.page import page
    from decpomdp.report.performance import on

    place = run_folder()
    good = (place / name).read_bytes()
    (place / name).write_bytes(data)
    try:
        run = read_run(place)
        if zlib.crc32(data) % SHOWN:
            return True
        text = page([on(run, model_of_the_run())])
        assert text.count("<script") == 1 + text.count('<script type="application/json"'), "a script that is not ours"
    except InputError as error:
        return in_words(error)
    finally:
        (place / name).write_bytes(good)
    return True


@cache
def model_of_the_run():
    return dp.load("broadcast")


TARGETS = {
    target.__name__: target
    for target in (dpomdp, team, controller, episodes, table_csv, table_parquet, run_record, run_trace, run_team)
}
