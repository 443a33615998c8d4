"""Tables whose observations are numbers."""

import numpy as np
import pytest

import decpomdp as dp

HEADER = "episode,t,agent,observation,action,reward"


def table(tmp_path, numbers):
    """A file of one episode per row of numbers[k][t], of one agent."""
    rows = [f"{k},{t},robot,{x},go,0" for k, row in enumerate(numbers) for t, x in enumerate(row)]
    path = tmp_path / "log.csv"
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    return path


def test_numbers_become_bins_of_about_equal_size(tmp_path):
    numbers = np.random.default_rng(0).normal(size=(50, 4))
    episodes = dp.Episodes.load(table(tmp_path, numbers), 0.9, bins=4)
    assert episodes.facts["binned"] == "robot 4"
    assert np.abs(np.bincount(episodes.observations[:, 0]) - 50).max() <= 1  # edges are rounded
    agent = episodes.agents[0]
    assert agent.observations[0].startswith("observation < -0.")
    read = dp.Discretiser.of(agent)
    assert [read.symbol("robot", x) for x in numbers.ravel()] == episodes.observations[:, 0].tolist()


def test_few_different_numbers_have_fewer_bins(tmp_path):
    episodes = dp.Episodes.load(table(tmp_path, [[-1, 0.5, 0.5], [-1, 0.5, 3e-7]]), 0.9, bins=100)
    assert episodes.agents[0].observations == (
        "observation < 3e-07",
        "3e-07 <= observation < 0.5",
        "observation >= 0.5",
    )
    assert episodes.observations[:, 0].tolist() == [0, 2, 2, 0, 2, 1]
    one = dp.Episodes.load(table(tmp_path, [[2, 2, 2]]), 0.9, bins=8)
    assert one.agents[0].observations == ("any observation",)
    assert dp.Discretiser.of(one.agents[0]).symbol("robot", 2.0) == 0


def test_the_first_observation_may_be_missing_and_others_not(tmp_path):
    episodes = dp.Episodes.load(table(tmp_path, [["", 1.5, 2.5], ["nan", 1.5, 2.5]]), 0.9, bins=2)
    assert episodes.observations[:, 0].tolist() == [-1, 0, 1, -1, 0, 1]
    with pytest.raises(dp.FormatError, match=r"an observation .empty only at t = 0."):
        dp.Episodes.load(table(tmp_path, [[1.0, "", 2.0]]), 0.9, bins=2)


@pytest.mark.parametrize("cell", ["left", "inf"])
def test_a_cell_that_is_no_number_is_named(tmp_path, cell):
    with pytest.raises(dp.FormatError, match=f"a finite number to put into bins, got '{cell}'"):
        dp.Episodes.load(table(tmp_path, [[1.0, 2.0, cell]]), 0.9, bins=2)


def test_bins_are_for_tables_and_numbers(tmp_path):
    path = table(tmp_path, [[0.25, 1.5]])
    with pytest.raises(dp.FormatError, match="put numbers into bins with --bins or bins="):
        dp.Episodes.load(path, 0.9)
    with pytest.raises(dp.InputError, match="bins: expected a whole number from 2"):
        dp.Episodes.load(path, 0.9, bins=1)
    with pytest.raises(dp.InputError, match="bins: expected none with known agents"):
        dp.Episodes.load(path, 0.9, agents=[dp.Agent("robot", ("go",), ("x",))], bins=2)
    dp.simulate("dectiger", episodes=2, horizon=2).save(tmp_path / "e.parquet")
    with pytest.raises(dp.InputError, match="are options for long tables"):
        dp.Episodes.load(tmp_path / "e.parquet", bins=2)


def test_observations_of_several_columns(tmp_path):
    numbers = np.random.default_rng(0).normal(size=(60, 2))
    rows = [f"{k},0,robot,{x},{y},go,0,why" for k, (x, y) in enumerate(numbers)]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(["episode,t,agent,observation_x,observation_y,action,reward,note", *rows]) + "\n")
    episodes = dp.Episodes.load(path, 0.9, bins=3)
    assert (episodes.facts["binned"], episodes.facts["columns not used"]) == ("robot 9", "note")
    read = dp.Discretiser.of(episodes.agents[0])
    assert read.labels == episodes.agents[0].observations
    assert read.labels[0].startswith("x < -0.")
    assert ", y < -0." in read.labels[0]
    assert [read.symbol("robot", pair) for pair in numbers] == episodes.observations[:, 0].tolist()
    with pytest.raises(dp.FormatError, match="column observation: expected one"):
        dp.Episodes.load(path, 0.9)


def test_labels_that_are_no_ranges_have_no_discretiser():
    with pytest.raises(dp.InputError, match=r"agent robot: expected ranges such as .* got 'left'"):
        dp.Discretiser.of(dp.Agent("robot", ("go",), ("left", "right")))
    several = dp.Discretiser.binned([[], [0.5], [1, 2]])
    again = dp.Discretiser.of(dp.Agent("robot", ("go",), several.labels))
    assert again.labels == several.labels
    assert again.symbol("robot", [9, 0.7, 1.5]) == several.symbol("robot", [9, 0.7, 1.5])


def test_a_fresh_log_is_read_with_the_bins_of_a_team(tmp_path):
    rng = np.random.default_rng(0)
    learned = dp.Episodes.load(table(tmp_path, rng.normal(size=(20, 10)).round(3)), 0.9, bins=4)
    team = dp.Team.uniform(learned)
    numbers = rng.normal(size=(20, 10)).round(3)
    path = table(tmp_path, numbers)
    fresh = dp.Episodes.load(path, 0.9, team.agents)
    read = dp.Discretiser.of(team.agents[0])
    assert fresh.observations[:, 0].tolist() == [read.symbol("robot", x) for x in numbers.ravel()]
    assert dp.Episodes.load(path, 0.9, bins=4).agents != team.agents  # other quantiles
    learned.save(tmp_path / "labels.csv", long=True)
    again = dp.Episodes.load(tmp_path / "labels.csv", 0.9, team.agents)  # labels instead of numbers
    assert again.observations.tolist() == learned.observations.tolist()
    gap = dp.Agent("robot", ("go", "stay"), ("observation < 0", "observation >= 1"))
    with pytest.raises(dp.FormatError, match="agent robot: expected ranges that hold every number once"):
        dp.Episodes.load(path, 0.9, [gap])
    other = dp.Agent("robot", ("go", "stay"), ("x < 0", "x >= 0"))
    with pytest.raises(dp.FormatError, match="expected columns of the observations x, got observation"):
        dp.Episodes.load(path, 0.9, [other])


def test_a_reading_that_is_not_a_number_is_refused():
    read = dp.Discretiser.of(dp.Agent("robot", ("go",), ("speed < 0.5", "speed >= 0.5")))
    for wrong in (float("nan"), "x"):
        with pytest.raises(dp.InputError, match="agent robot: observation: expected numbers, got"):
            read.symbol("robot", wrong)
