"""`import decpomdp as dp`: its names, and that a wrong object is refused in one line, whatever it is.

The functions that users call first get a good call. Then one argument after the other is replaced by each of a battery
of wrong objects: the call must succeed or raise InputError with a message of one line, and nothing else. Constructors
and settings check themselves (core/test_*.py).
"""

import dataclasses
import inspect
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from msgspec import Struct  # settings are tested in core/test_settings.py

import decpomdp as dp

MODEL = dp.load("dectiger")
TEAM = dp.Team.uniform(MODEL)
EPISODES = dp.simulate(MODEL, episodes=20, horizon=3)
AGENTS = MODEL.agents
CONTROLLER = dp.Controller.uniform(3, 2)


class Shape:
    """Looks like a simulator and is none."""

    agents, discount, name, repeatable = "ab", "high", None, True
    reset = step = None

    def __init__(self, *given):
        pass


BATTERY = {
    "None": None,
    "a text": "nonsense",
    "an empty text": "",
    "a null byte": "a\0b",
    "a number as a text": "3",
    "a problem's name": "dectiger",
    "bytes": b"dectiger",
    "a path": Path("no/such/file"),
    "a folder": Path("."),
    "a number": 3,
    "a negative number": -1,
    "a broken number": 0.5,
    "nan": float("nan"),
    "infinity": float("inf"),
    "a truth": True,
    "nothing": [],
    "texts": ["a", "b"],
    "a ragged list": [[1.0], [1.0, 2.0]],
    "an array": np.array([0.5, np.nan]),
    "an array of one": np.array([3]),
    "a masked array": np.ma.masked_array([[0.5, 0.5]], [[True, False]]),
    "a table": np.zeros((2, 3)),
    "a dictionary": {"agent1": 0},
    "an object": object(),
    "a class": Shape,
    "a likeness": Shape(),
    "a function": lambda *given: None,
    "a model": MODEL,
    "a simulator": dp.DenseSimulator(MODEL),
    "a team": TEAM,
    "a controller": CONTROLLER,
    "episodes": EPISODES,
}


def good_calls(folder):
    """Name -> function, and arguments that work."""
    team, data = folder / "team.json", folder / "e.parquet"
    quick = {"seed": 0, "time_limit": 0.2, "threads": 1}
    return {
        "Team.of": (dp.Team.of, {"problem": MODEL, "controllers": [CONTROLLER] * 2}),
        "load": (dp.load, {"problem": "dectiger", "discount": 0.5}),
        "simulate": (
            dp.simulate,
            {"problem": MODEL, "team": TEAM, "episodes": 2, "horizon": 2, "seed": 0, "threads": 1}
            | {"explore": 0.1, "discount": 0.5},
        ),
        "evaluate": (dp.evaluate, {"team": TEAM, "problem": MODEL, "horizon": 2}),
        "parallel_env": (dp.parallel_env, {"problem": MODEL, "horizon": 2, "seed": 0, "render_mode": "ansi"}),
        "play": (
            dp.play,
            {"team": TEAM, "env": dp.parallel_env(MODEL, horizon=2), "seed": 0, "episodes": 1, "horizon": 2}
            | {"discretise": None, "reward": "mean"},
        ),
        "Team.load": (dp.Team.load, {"path": team}),
        "Episodes.load": (dp.Episodes.load, {"path": data}),
        "learn": (
            dp.learn,
            {"source": "broadcast", "method": "search", "discount": 0.5, "progress": False, "watch": id, "steps": 1000}
            | quick,
        ),
        "learn from episodes": (
            dp.learn,
            {"source": EPISODES, "method": dp.Sbpr(sweeps=1, truncation=2), "watch": id} | quick,
        ),
        "plan": (
            partial(dp.plan, restarts=1),  # ends soon, even where a wrong object is a long time limit
            {"problem": "broadcast", "method": "em", "discount": 0.5, "progress": False, "watch": id} | quick,
        ),
    }


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where good files are, and where files with the names of wrong objects may be written."""
    monkeypatch.chdir(tmp_path)
    TEAM.save(tmp_path / "team.json")
    EPISODES.save(tmp_path / "e.parquet")
    MODEL.save(tmp_path / "m.dpomdp")
    return tmp_path


CALLS = [(name, argument) for name, (_, given) in good_calls(Path("x")).items() for argument in given]


@pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")
@pytest.mark.parametrize("name", list(dict.fromkeys(name for name, _ in CALLS)))
def test_good_calls_are_good(name, folder):
    function, given = good_calls(folder)[name]
    function(**given)


@pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")
@pytest.mark.parametrize(("name", "argument"), CALLS, ids=lambda part: part)
def test_wrong_objects_are_refused_in_one_line(name, argument, folder):
    wrong = []
    for kind, thing in BATTERY.items():
        function, given = good_calls(folder)[name]
        try:
            function(**{**given, argument: thing})
        except dp.InputError as error:
            if len(str(error).splitlines()) != 1 or len(str(error)) > 500:
                wrong.append(f"{kind}: {error}")
        except Exception as error:
            wrong.append(f"{kind}: {type(error).__name__}: {error}")
    assert not wrong, "\n".join(wrong)


def test_names_and_files_serve_wherever_a_problem_does(folder):
    value = dp.evaluate(TEAM, MODEL).value
    for problem in ("dectiger", folder / "m.dpomdp", str(folder / "m.dpomdp")):
        assert dp.evaluate(TEAM, problem).value == value
        assert dp.exact_value(problem, TEAM).value == value
        assert dp.simulate(problem, episodes=3, horizon=2).rewards.tolist() == EPISODES_3
        assert dp.sampled_value(problem, "random", episodes=2).horizon == 88
        assert dp.parallel_env(problem).possible_agents == ["agent1", "agent2"]
        assert dp.DenseSimulator(problem).agents == AGENTS
    assert dp.evaluate(folder / "team.json").value == value  # the team names its problem
    assert dp.evaluate(TEAM, folder / "e.parquet") == dp.evaluate(TEAM, EPISODES) == dp.offpolicy_value(EPISODES, TEAM)


EPISODES_3 = dp.simulate(MODEL, TEAM, 3, 2).rewards.tolist()


def test_a_named_problem_has_the_discount_of_the_team():
    team = dp.Team.uniform(MODEL.with_discount(0.5))
    assert dp.evaluate(team, "dectiger").discount == 0.5
    assert dp.evaluate(team, MODEL).discount == 0.9


def test_everything_is_found_by_looking():
    assert dir(dp) == sorted(dp.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        dp.nonsense  # noqa: B018


def test_importing_is_quick_and_brings_nothing_heavy():
    code = "import sys, decpomdp; print(*sorted({'numba', 'scipy', 'pyarrow', 'rich', 'IPython'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"


FUNCTIONS = [name for name in dp.__all__ if inspect.isfunction(getattr(dp, name))]
CLASSES = [
    name for name in dp.__all__ if inspect.isclass(getattr(dp, name)) and not issubclass(getattr(dp, name), Struct)
]


def section(words, title):
    """The text of a section of a docstring; None if there is none."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\S[^\n]*\n-+$|\Z)", words, re.S | re.M)
    return None if found is None else found[1]


def entries(text):
    return {name for line in re.findall(r"^(\w[\w, ]*)$", text or "", re.M) for name in line.split(", ")}


def test_functions_say_what_goes_in_what_comes_out_and_what_may_go_wrong():
    for name in FUNCTIONS:
        function = getattr(dp, name)
        words, signature = inspect.getdoc(function), inspect.signature(function)
        assert entries(section(words, "Parameters")) == set(signature.parameters)
        assert (section(words, "Returns") is None) == (signature.return_annotation in (None, "None"))
        assert (section(words, "Raises") is None) == (not signature.parameters)
        assert ">>> " in section(words, "Examples")


def test_classes_say_what_they_are_made_of():
    for name in CLASSES:
        kind = getattr(dp, name)
        words = inspect.getdoc(kind)
        assert ">>> " in section(words, "Examples")
        if dataclasses.is_dataclass(kind):
            assert entries(section(words, "Attributes")) >= {field.name for field in dataclasses.fields(kind)}
        elif (
            not issubclass(kind, Exception) and not getattr(kind, "_is_protocol", False) and not issubclass(kind, tuple)
        ):
            assert entries(section(words, "Parameters")) >= set(inspect.signature(kind).parameters)
