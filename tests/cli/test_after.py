"""The steps after a run: each has a time limit, and one that fails leaves a finished run."""

import json
import time

import pytest

import decpomdp as dp
from decpomdp.cli import after
from decpomdp.learners.judging import UNPROVEN
from decpomdp.report import page
from simulators import Corridor, Uncompiled

LEARN = ["learn", "broadcast", "--steps", "20000", "--out", "run", "--quiet"]


def record(folder):
    return json.loads((folder / "run/run.json").read_text())


def sleep(*_, **__):
    time.sleep(30)


def fail(*_, **__):
    raise ValueError("no graph")


def interrupt(*_, **__):
    raise KeyboardInterrupt


def test_a_page_that_fails_is_a_line_and_can_be_made_later(run, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(page, "report_of", fail)
        code, out, err = run(*LEARN)
    assert code == 0
    assert err.splitlines() == [
        "page: ValueError: no graph",
        "the run has no page; to make it: decpomdp report run",
    ]
    assert "value 9.1" in out
    assert record(tmp_path)["finished"]
    (tmp_path / "run" / "trace.jsonl").write_text("{}\n")  # left by a kill after the end
    assert run("learn", "--resume", "run")[2] == "run: the run is finished; nothing to do\n"
    assert not (tmp_path / "run" / "trace.jsonl").exists()
    assert run("report", "run")[0] == 0
    assert (tmp_path / "run/report.html").exists()


def test_a_slow_page_is_written_without_replay(run, tmp_path, monkeypatch):
    whole = page.report_of

    def slow(folder, fit, record, source, missing=""):
        if source is not None:
            time.sleep(30)
        return whole(folder, fit, record, source, missing)

    monkeypatch.setattr(page, "report_of", slow)
    monkeypatch.setattr(after, "PAGE_SECONDS", 2.0)
    began = time.monotonic()
    code, _, err = run(*LEARN)
    assert (code, err) == (0, "page: not complete after 2 s\n")
    assert time.monotonic() - began < 20
    assert "the simulator is too slow" in (tmp_path / "run/report.html").read_text()
    assert record(tmp_path)["finished"]


def test_a_slow_value_is_left_out(run, tmp_path, monkeypatch):
    monkeypatch.setattr(dp.evaluation, "exact_value", sleep)
    monkeypatch.setattr(after, "VALUE_SECONDS", 0.2)
    code, out, err = run(*LEARN, "--no-report")
    assert (code, err) == (0, "exact value: not complete after 0.2 s\n")
    assert out.startswith("no value, nodes ")
    assert record(tmp_path)["finished"]
    assert "value" not in record(tmp_path)


def test_an_interrupted_page_leaves_a_finished_run(run, tmp_path, monkeypatch):
    monkeypatch.setattr(page, "report_of", interrupt)
    code, _, err = run(*LEARN)
    assert code == 130
    assert "to make the page: decpomdp report run" in err
    assert record(tmp_path)["finished"]


def test_the_sampled_value_takes_as_many_episodes_as_the_time_allows(monkeypatch):
    def played(pause, seconds, most=60.0):
        monkeypatch.setattr(after, "TEST_SECONDS", seconds)
        monkeypatch.setattr(after, "VALUE_SECONDS", most)
        simulator = Uncompiled(pause, piece=1)  # one episode at a time, of 88 steps
        return int(after.sampled(simulator, dp.Team.uniform(simulator), 1).method.split()[2])

    assert played(0.0001, 0.01) == 20
    assert 1 <= played(0.001, 0.01, 0.2) < 20
    monkeypatch.setattr(after, "FEWEST", 1)
    assert 1 < played(0.0001, 0.5) < 60  # an episode takes at least 9 ms


def test_a_fast_simulator_of_ones_own_plays_a_thousand_episodes():
    simulator = Corridor(noise=1.0)
    value = after.sampled(simulator, dp.Team.uniform(simulator), 1)
    assert value.method.startswith("mean of 1000 fresh episodes")
    assert value.value == dp.sampled_value(simulator, "random", 1000, seed=1).value


def test_a_team_is_tested_with_other_episodes_than_it_learned_from(run, monkeypatch):
    seeds, sampled = [], after.sampled
    monkeypatch.setattr(after, "sampled", lambda *given: seeds.append(given[-1]) or sampled(*given))
    assert run("learn", "traffic:2", "--steps", 20_000, "--seed", 6, "--out", "run", "--no-report")[0] == 0
    assert len(seeds) == 1
    assert seeds != [6]


FACTS = {
    "episodes": 500, "estimate": 5.0, "estimate_low": 4.0, "estimate_high": 6.0,
    "behaviour": 5.5, "verdict": UNPROVEN,
}  # fmt: skip
RESULT = {
    "nodes": [1, 2], "seconds": 1.0, "stopped": "sweeps", "sample_size": 196.2, "out": "run",
    "settings": {"judge": True}, "facts": FACTS,
}  # fmt: skip


def test_an_unproven_team_from_episodes():
    lines = after.lines_of(RESULT)
    assert lines == [
        "no value, nodes 1+2, 1.0 s, stopped: sweeps",
        "the result rests on about 196 of 500 episodes (effective sample size)",
        "95 % interval of that estimate 4 to 6, the behaviour earned 5.5: not proven better than the behaviour",
        "written to run",
    ]


@pytest.mark.parametrize(
    ("change", "facts", "why"),
    [
        ({"settings": {"judge": False}}, {}, "judging is off"),
        ({"begin": "team.json"}, {}, "the run began with a team (--begin)"),
        ({}, {"episodes": 10}, "the log has fewer than 20 episodes"),
        ({}, {}, "the run was stopped before"),
    ],
)
def test_a_missing_estimate_has_a_reason(change, facts, why):
    known = {name: value for name, value in FACTS.items() if name != "estimate"}
    lines = after.lines_of({**RESULT, **change, "facts": {**known, **facts}})
    assert lines[2] == f"no estimate of the value: {why}"
