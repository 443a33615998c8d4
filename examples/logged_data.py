"""Learn Box pushing from a log alone, a CSV file with one row per agent and step.

The log is made here by a good team that acts at random in 10 % of its decisions, so that the answer can be checked.
Everything after `make_log` reads the file only. Half of the episodes are used for learning, half for judging.
"""

import tempfile
from pathlib import Path

import numpy as np

import decpomdp as dp

EPISODES, STEPS = 2000, 20


def make_log(path: Path) -> None:
    good = dp.learn("boxpushing", steps=20_000_000, seed=1).team
    dp.simulate("boxpushing", good.exploring(0.1), EPISODES, STEPS, seed=1).save(path)


def learned(log: Path) -> tuple[dp.Team, dp.OffPolicyValue, float]:
    """The chosen team, its value estimated from unseen episodes, and the mean return of the behaviour."""
    episodes = dp.Episodes.load(log, agents=dp.load("boxpushing").agents, discount=0.9)
    everything = np.random.default_rng(0).permutation(episodes.count)
    train, test = (episodes.chosen(half) for half in np.split(everything, 2))
    fit = dp.learn(train, seed=1, time_limit=10)
    return fit.team, dp.offpolicy_value(test, fit.team), float(test.returns().mean())


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.csv"
        make_log(log)
        team, estimate, before = learned(log)
    best = estimate.self_normalised
    print(f"behaviour in the log       {before:.1f} over {STEPS} steps")
    print(f"learned, from the log      {best.value:.1f}, 95 % bootstrap interval {best.low:.1f} to {best.high:.1f}")
    print(f"within the log's rewards   {estimate.guaranteed[0]:.1f} to {estimate.guaranteed[1]:.1f}")
    print(f"effective sample size      {estimate.sample_size:.0f} of {estimate.episodes}; nodes {team.nodes}")
    for warning in estimate.warnings:
        print(f"warning: {warning}")
    true = dp.exact_value("boxpushing", team, STEPS).value
    print(f"true value                 {true:.1f}, known because the log was simulated")


if __name__ == "__main__":
    main()
