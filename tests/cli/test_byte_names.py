"""Files and folders whose names are bytes that are no text: they are read and written like all others."""

import os
import shutil
from pathlib import Path

import pytest

import decpomdp as dp
from decpomdp.io.opening import Rule
from decpomdp.io.run_folder import BEGUN, begin

ODD = os.fsdecode(b"n\xff")
PLAN = ("plan", "dectiger", "--method", "em", "--nodes", "1", "--seed", "1", "--quiet", "--out", ODD)


@pytest.fixture
def odd(run, tmp_path, monkeypatch):
    """The same, in a folder with such a name."""
    try:
        (tmp_path / ODD).mkdir()
    except OSError:
        pytest.skip("this file system has no such names")
    monkeypatch.chdir(tmp_path / ODD)

    def call(*arguments):
        code, out, err = run(*arguments)
        assert code == 0, (arguments, err)
        return out

    return call


def test_a_run_is_made_shown_valued_and_goes_on(odd):
    odd(*PLAN)
    kept = Path(ODD, "team.json").read_bytes()
    assert dp.read_run(ODD).trace["value"]
    for arguments in (("report", ODD), ("evaluate", f"{ODD}/team.json", "--problem", "dectiger"), ("runs", ".")):
        odd(*arguments)
    playing = ("simulate", "dectiger", "--policy", f"{ODD}/team.json", "--episodes", 5, "--horizon", 3)
    odd(*playing, "--out", f"{ODD}.parquet")
    assert dp.read_episodes(f"{ODD}.parquet").count == 5
    shutil.rmtree(ODD)
    Path(ODD).mkdir()
    begin(Path(ODD), PLAN)
    odd("plan", "--resume", ODD)
    assert Path(ODD, "team.json").read_bytes() == kept
    assert not Path(ODD, BEGUN).exists()


def test_a_run_remembers_what_it_was_made_from(odd):
    dp.write_dpomdp(dp.load("dectiger"), f"./{ODD}.dpomdp")
    odd("plan", f"./{ODD}.dpomdp", "--method", "em", "--nodes", 1, "--quiet", "--out", "planned")
    assert dp.read_run("planned").record.source == f"./{ODD}.dpomdp"
    assert "without replay" not in odd("report", "planned")
    odd("simulate", "dectiger", "--episodes", 50, "--horizon", 2, "--out", f"{ODD}.parquet")
    odd("learn", f"{ODD}.parquet", "--sweeps", 2, "--truncation", 2, "--cap", 1, "--quiet", "--out", "logged")
    assert dp.read_run("logged").record.source == f"{ODD}.parquet"


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".csv.zst", ".long.parquet"])
def test_tables(odd, ending):
    episodes = dp.simulate("dectiger", episodes=3, horizon=3, seed=1)
    dp.write_table(episodes, ODD + ending)
    odd("data", "info", ODD + ending, "--discount", 0.9)
    odd("data", "convert", ODD + ending, f"{ODD}.parquet", "--discount", 0.9)
    assert dp.read_episodes(f"{ODD}.parquet").rewards.tolist() == episodes.rewards.tolist()


def test_what_is_damaged_is_explained(odd):
    Path(f"{ODD}.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(dp.FormatError, match="it is cut off or damaged at its end"):
        dp.read_episodes(f"{ODD}.parquet")


def test_episodes_that_pack_too_well_are_written_anew(odd, monkeypatch):
    monkeypatch.setattr("decpomdp.io.episodes.DATA", Rule(0, 1))
    made = dp.simulate("dectiger", dp.Team.uniform(dp.load("dectiger")), episodes=2, horizon=2, seed=1)
    dp.write_episodes(made, f"{ODD}.parquet")
    assert dp.read_episodes(f"{ODD}.parquet") == made
