"""Learn from a log alone, without simulator or model: recycling robots, a table with one row per robot and step.

The log is made here, by robots that act at random, so that the answer can be checked. Everything after `make_log` sees
the table only. Half of the episodes are kept apart to judge what was learned from the other half.
"""

import tempfile
from pathlib import Path

import numpy as np

import decpomdp as dp

EPISODES, STEPS = 6000, 6


def make_log(path: Path) -> None:
    dp.simulate("recycling", "random", EPISODES, STEPS, seed=1).save(path, long=True)


def part(episodes: dp.Episodes, chosen: np.ndarray) -> dp.Episodes:
    """The episodes with these numbers."""
    rows = np.concatenate([np.arange(episodes.offsets[k], episodes.offsets[k + 1]) for k in chosen])
    return dp.Episodes(
        agents=episodes.agents,
        offsets=np.concatenate([[0], np.cumsum(episodes.lengths[chosen])]),
        observations=episodes.observations[rows],
        actions=episodes.actions[rows],
        behaviour=episodes.behaviour[rows],
        rewards=episodes.rewards[rows],
        discount=episodes.discount,
        terminated=episodes.terminated[chosen],
        name=episodes.name,
    )


def learned(log: Path) -> tuple[dp.Team, dp.OffPolicyValue, float]:
    """A team, what unseen episodes say about it, and the mean return of the behaviour in them."""
    episodes = dp.Episodes.load(log, discount=0.9)
    everything = np.random.default_rng(0).permutation(episodes.count)
    train, test = (part(episodes, half) for half in np.split(everything, 2))
    fit = dp.learn(train, dp.Sbpr(cap=5.0, truncation=8, sweeps=100), seed=1)
    return fit.team, dp.offpolicy_value(test, fit.team), float(test.returns().mean())


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.csv"
        make_log(log)
        team, told, before = learned(log)
    print(f"behaviour in the log    {before:.2f} over {STEPS} steps")
    best = told.self_normalised
    print(f"learned, from the log   {best.value:.2f}, 95 % bootstrap interval {best.low:.2f} to {best.high:.2f}")
    print(f"if rewards are as here  {told.guaranteed[0]:.2f} to {told.guaranteed[1]:.2f}")
    print(f"effective episodes      {told.sample_size:.0f} of {told.episodes}; nodes {team.nodes}")
    for warning in told.warnings:
        print(f"warning: {warning}")
    true = dp.exact_value("recycling", team, STEPS).value
    print(f"true value              {true:.2f}, known here because the log was simulated")


if __name__ == "__main__":
    main()
