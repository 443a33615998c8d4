"""One function per reader: any bytes in; True if they were accepted, False if they were refused in words.

Everything else is a finding and raises: another exception, a complaint of more than one line or without end, something
accepted that is no valid model, team, episodes or settings, or that does not read back equal after it was written.
Time and memory are limited from outside (`benchmarks/fuzz.py`, `test_fuzz.py`).
"""

import gzip
import hashlib
import json
import math
import os
import shutil
import tempfile
import warnings
import zlib
from dataclasses import fields
from functools import cache
from pathlib import Path

import msgspec
import numpy as np
from oracles import dpomdp_text as oracle

import decpomdp as dp
from decpomdp.core import FormatError, InputError
from decpomdp.core.plain import plain
from decpomdp.io.checkpoints import FORMAT, NAMES, Checkpoints, Envelope
from decpomdp.io.complaints import checked
from decpomdp.io.dpomdp import Limits, format_dpomdp, parse_dpomdp, read_dpomdp
from decpomdp.io.logged import Given
from decpomdp.io.run_folder import BEGUN, read_begun
from decpomdp.io.runs import RUN, TEAM, TRACE, read_run, read_trace
from decpomdp.io.tables import read_table, write_table
from decpomdp.io.team_json import controller_from_json, controller_to_json, team_from_json, team_to_json

SMALL = Limits(file_bytes=1 << 20, lines=1 << 15, line_length=1 << 16, table_bytes=1 << 16, agents=8)
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


def all_in_words(first, found, complaints):
    """The list of everything that is wrong begins with what the reader stopped at."""
    assert found is None
    assert complaints[0] == str(first), complaints
    for complaint in complaints:
        in_words(complaint)
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
        model = read_dpomdp(path, limits=SMALL)
    except FormatError as error:
        if told(data) is not None and "tables of at most" not in str(error) and "at most 8 agents" not in str(error):
            raise AssertionError(f"refused, though it is a model: {error}") from None
        return in_words(error)
    expected = told(data, surely=True)
    if expected is not None:
        compare(model, expected)
    distributions(model.start, model.transition, model.observation)
    assert np.all(np.isfinite(model.reward))
    again = parse_dpomdp(format_dpomdp(model), limits=SMALL)
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
    return _json_team(data, team_from_json, team_to_json)


def controller(data):
    return _json_team(data, controller_from_json, lambda found: controller_to_json(found, found.agents[0].name))


def _json_team(data, read, write):
    try:
        found = read(data, SEEN)
    except FormatError as error:
        return in_words(error)
    for own in found.controllers:
        distributions(own.initial, own.action, own.transition)
    assert 0 <= found.discount <= 1
    written = write(found)
    assert read(written, SEEN) == found
    assert write(read(written, SEEN)) == written
    return True


# -- episodes ----------------------------------------------------------------------------------------------------------


def episodes(data):
    """`read_episodes`, and the list of everything that is wrong."""
    path = put("input.parquet", data)
    try:
        found = dp.read_episodes(path)
    except FormatError as error:
        return all_in_words(error, *checked(path, Given("episodes")))
    valid_episodes(found)
    dp.write_episodes(found, folder() / "again.parquet")
    assert dp.read_episodes(folder() / "again.parquet") == found
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
        return all_in_words(error, *checked(path, Given("long", 0.9)))
    valid_episodes(found)
    write_table(found, folder() / name)
    again = read_table(folder() / name, 0.9, found.agents)
    for part in ("offsets", "observations", "actions", "rewards", "terminated"):
        assert np.array_equal(getattr(again, part), getattr(found, part)), part
    assert np.array_equal(again.behaviour, found.behaviour, equal_nan=True)
    return True


# -- settings ----------------------------------------------------------------------------------------------------------


def kinds_of_settings():
    from decpomdp.interaction.mcem import McemSettings
    from decpomdp.interaction.sbpr_settings import SbprSettings

    return {
        "learn": dp.LearnSettings,
        "sbpr": SbprSettings,
        "mcem": McemSettings,
        "stick-breaking": dp.StickBreaking,
        "fixed": dp.Fixed,
        "em": dp.ExpectationMaximisation,
    }


def settings(data):
    """`{"kind": ..., "values": {field: value}}`, or `{"prior": name}`."""
    try:
        given = json.loads(data)
    except (ValueError, RecursionError):
        return False
    if not isinstance(given, dict):
        return False
    try:
        if "prior" in given:
            assert dp.prior_named(given["prior"]).text.partition(":")[0] == given["prior"].partition(":")[0]
            return True
        kind = kinds_of_settings().get(str(given.get("kind")), dp.LearnSettings)
        known = {field.name for field in fields(kind)}
        values = given.get("values")
        needed = {"nodes": 3} if kind is dp.Fixed else {}
        chosen = {key: value for key, value in values.items() if key in known} if isinstance(values, dict) else {}
        made = kind(**(needed | chosen))
    except InputError as error:
        return in_words(error)
    for field in fields(made):
        value = getattr(made, field.name)
        assert not (isinstance(value, float) and math.isnan(value)), field.name
        assert not isinstance(value, bytes | dict), field.name
        if field.name not in ("reading", "precision"):
            assert not isinstance(value, str | list), f"{field.name} is {value!r}"
    return True


# -- run folders -------------------------------------------------------------------------------------------------------


@cache
def run_folder():
    """A good run of a small team, of which one file at a time is replaced."""
    place = folder() / "run"
    shutil.copytree(Path(__file__).parent / "corpus" / "run_folder", place)
    return place


def run_record(data):
    """run.json beside a good team and trace: read, and now and then shown as a page where it was accepted."""
    return _shown(RUN, data)


def run_trace(data):
    """trace.parquet beside a good run.json."""
    return _shown(TRACE, data)


def run_team(data):
    """team.json in a run folder whose run.json speaks of another team."""
    return _shown(TEAM, data)


def _shown(name, data):
    from decpomdp.report.page import page
    from decpomdp.report.sources import on

    place = run_folder()
    good = (place / name).read_bytes()
    (place / name).write_bytes(data)
    try:
        run = read_run(place)
        if zlib.crc32(data) % SHOWN:
            return True
        text = page([on(run, model_of_the_run())])
        assert text.count("<script") == 1 + text.count('<script type="application/json"'), "a script of somebody else"
    except InputError as error:
        return in_words(error)
    finally:
        (place / name).write_bytes(good)
    return True


@cache
def model_of_the_run():
    return dp.load("broadcast")


def trace(data):
    path = put("trace.parquet", data)
    try:
        columns = read_trace(path)
    except FormatError as error:
        return in_words(error)
    assert len({len(values) for values in columns.values()}) <= 1
    return True


def begun(data):
    place = folder() / "begun"
    place.mkdir(exist_ok=True)
    (place / BEGUN).write_bytes(data)
    try:
        found = read_begun(place)
    except FormatError as error:
        return in_words(error)
    assert all(isinstance(word, str) for word in found.arguments)
    return True


# -- checkpoints -------------------------------------------------------------------------------------------------------


@cache
def kinds_of_states():
    from decpomdp.interaction import mcem_state, sbpr_state
    from decpomdp.interaction.search import method as search_state
    from decpomdp.learners import fit_state
    from decpomdp.planners import em_state, pbvi_state, periodic_state
    from decpomdp.planners.fb_hsvi import method as fb_hsvi_state

    rooms = (mcem_state, sbpr_state, search_state, fit_state, em_state, fb_hsvi_state, pbvi_state, periodic_state)
    return [
        kind
        for room in rooms
        for name, kind in sorted(vars(room).items())
        if isinstance(kind, type) and name.endswith("State") and kind.__module__ == room.__name__
    ]


def checkpoint(data):
    """The first byte says which state is asked for, and whether the digest is made to fit what follows."""
    which, body = (data[0], data[1:]) if data else (0, b"")
    kind = kinds_of_states()[which % 128 % len(kinds_of_states())]
    place = folder() / "checkpoints"
    place.mkdir(exist_ok=True)
    sealed = FORMAT + hashlib.sha256(body).hexdigest().encode() + b"\n" + body
    (place / NAMES[0]).write_bytes(sealed if which < 128 else body)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            state = Checkpoints(place, "work").restore(kind)
        except InputError as error:
            return in_words(error)
    if state is None:
        return in_words(said[0].message)
    assert isinstance(state, kind)
    msgspec.msgpack.decode(body, type=Envelope)
    return True


TARGETS = {
    target.__name__: target
    for target in (
        dpomdp,
        team,
        controller,
        episodes,
        table_csv,
        table_parquet,
        settings,
        run_record,
        run_trace,
        run_team,
        begun,
        checkpoint,
    )
}
