"""What fuzzing and hostile names found, one test each; the inputs themselves are in the corpus."""

import json
import re
import resource
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import decpomdp as dp
from decpomdp.cli.main import code_of
from decpomdp.core import FormatError, InputError
from decpomdp.core.plain import plain
from decpomdp.evaluation.sampled import mean_return
from decpomdp.interaction.mcem.settings import Mcem
from decpomdp.interaction.sbpr.settings import SbprLoop, SbprTuning
from decpomdp.interaction.search.settings import SearchTuning
from decpomdp.io.complaints import checked
from decpomdp.io.files import read_bytes
from decpomdp.io.logged import Given
from decpomdp.io.tables import read_table
from decpomdp.io.team import controller_to_json
from decpomdp.io.team_json import controller_from_json
from decpomdp.report.facts import LOG_BYTES, log
from fuzz.targets import checkpoint

CORPUS = Path(__file__).parent / "corpus"


def test_half_a_character_in_json_is_refused():
    data = (CORPUS / "controller" / "found-surrogate").read_bytes()
    with pytest.raises(FormatError, match=r"^c\.json: expected texts of Unicode characters, got another$"):
        controller_from_json(data, "c.json")
    team = dp.Team.uniform(dp.load("dectiger"))
    told = json.loads(controller_to_json(team, "agent1")) | {"problem": "\ud83d\ude00"}
    assert controller_from_json(json.dumps(told).encode(), "c").problem == "\U0001f600"  # both halves are a character


READING = """
import resource, sys
from decpomdp.io.files import read_bytes
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
assert read_bytes(sys.argv[1], 1 << 31) == b"small"
"""


def test_a_small_file_takes_little_memory_whatever_its_limit(tmp_path):
    (tmp_path / "f").write_bytes(b"small")
    subprocess.run([sys.executable, "-c", READING, tmp_path / "f"], check=True)
    (tmp_path / "f").write_bytes(bytes(11))
    assert read_bytes(tmp_path / "f", 11) == bytes(11)
    with pytest.raises(FormatError, match="expected at most 10 bytes, got a larger file"):
        read_bytes(tmp_path / "f", 10)


def test_deeply_nested_metadata_is_one_complaint():
    found, complaints = checked(CORPUS / "episodes" / "found-deep", Given("episodes"))
    assert found is None
    assert complaints[0].endswith("metadata: expected at most 32 levels of nesting, got more")


def test_whole_numbers_as_half_floats_are_read_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        episodes = read_table(CORPUS / "table_parquet" / "found-half-floats", 0.9)
    assert episodes.rewards.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("kind", "values", "complaint"),
    [
        (SbprTuning, {"replays": None}, "replays: expected a whole number from 1 to 1e+12, got None"),
        (SbprLoop, {"batch": 1.5}, "batch: expected a whole number from 1 to 1e+12 or None, got 1.5"),
        (SbprTuning, {"lengths": 3}, "lengths: expected a list of: a whole number from 1 to 1e+12, got 3"),
        (SbprTuning, {"lengths": (3, 0)}, "lengths: expected a list of: a whole number from 1 to 1e+12, got (3, 0)"),
        (SbprTuning, {"cap": float("nan")}, "cap: expected a finite number from 1e-12 to 1e+12, got nan"),
        (SearchTuning, {"islands": "007"}, "islands: expected a whole number from 1 to 1e+12, got '007'"),
        (SearchTuning, {"certain": float("inf")}, "certain: expected a finite number from 1e-12 to 1e+12, got inf"),
        (SearchTuning, {"tails": ()}, "tails: expected a list of: a whole number from 0 to 1e+12, got ()"),
        (Mcem, {"exploration": {"a": 1}}, "exploration: expected a finite number from 0 to 1, got {'a': 1}"),
        (Mcem, {"nodes": True}, "nodes: expected a whole number from 1 to 1000, got True"),
    ],
)
def test_settings_are_numbers_in_their_range(kind, values, complaint):
    with pytest.raises(InputError, match=f"^{re.escape(complaint)}$"):
        kind(**values)


def test_control_characters_are_written_out():
    assert plain("a\x1b[2J\x9b\u202e\ud800\tb") == "a\\x1b[2J\\x9b\\u202e\\ud800\tb"
    assert plain("plain <b> é \u4e2d") == "plain <b> é \u4e2d"


def test_a_path_too_long_for_any_file_is_a_mistake_not_a_lost_output(capsys):
    for arguments in (["info", "x" * 5000], ["show", "x" * 5000], ["report", "x" * 5000], ["runs", "x" * 5000]):
        assert code_of(arguments) == 2
        said = capsys.readouterr()
        assert (said.out, len(said.err.splitlines())) == ("", 1)


def test_a_file_name_may_hold_control_characters(tmp_path):
    path = tmp_path / "a\nb\x1b\x7fc.dpomdp"
    dp.write_dpomdp(dp.load("dectiger"), path)
    assert dp.load(path).name == "a b c"


def test_only_the_end_of_a_log_is_read(tmp_path):
    with (tmp_path / "log.txt").open("wb") as file:
        file.truncate(1 << 40)  # a terabyte of nothing
        file.seek(0, 2)
        file.write(b"the end")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert str(log(tmp_path)).endswith("the end</pre></details>")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1000 * LOG_BYTES / 1024


def test_the_mean_of_huge_returns_is_finite():
    value, error = mean_return([np.array([1e300, -1e300, 3e300])])
    assert (value, error) == pytest.approx((1e300, 2e300 / np.sqrt(3)))
    assert mean_return([np.array([1.0, 2.0])]) == (1.5, 0.5)


def test_an_array_whose_shape_is_no_list_is_a_damaged_checkpoint():
    assert not checkpoint((CORPUS / "checkpoint" / "found-shape").read_bytes())  # refused in words, not by a KeyError


def test_what_is_said_of_nested_metadata_does_not_depend_on_the_stack():
    path = CORPUS / "episodes" / "found-levels"  # as many levels as a parser can take, or one too many
    with pytest.raises(FormatError) as error:
        dp.read_episodes(path)
    _, complaints = checked(path, Given("episodes"))
    assert complaints[0] == str(error.value)
    assert [words.partition("column ")[2].partition(":")[0] for words in complaints] == ["", "reward", "truncated"]


def test_the_type_of_an_array_is_no_program():
    assert not checkpoint((CORPUS / "checkpoint" / "found-type").read_bytes())  # numpy made a SyntaxError of it
