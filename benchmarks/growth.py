"""How the learner's time grows, and what memory it takes.

    python benchmarks/growth.py

Time of one expectation step (filter, weigh, count) against the length T of episodes with a reward at every step, their
number K, the number of agents N, and the number of states S of the problem that made them; fitted exponents. Then ten
million agent-steps with 30 nodes: memory above the data.
"""

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from decpomdp.core import Agent, Episodes
from decpomdp.engines.threads import serial_products
from decpomdp.filtering.filter import lay_out
from decpomdp.learners import Fixed, behaviour
from decpomdp.learners.posterior import Counts, updated
from decpomdp.learners.sweep import Task, count, evaluate
from decpomdp.learners.weighing import by_reward

BASE = {"episodes": 1000, "horizon": 40, "agents": 2}
ACTIONS, SYMBOLS = 4, 3


def data(rng, episodes, horizon, agents):
    rows = episodes * horizon
    team = tuple(Agent(f"a{n}", tuple(map(str, range(ACTIONS))), tuple("xyz"[:SYMBOLS])) for n in range(agents))
    seen = rng.integers(0, SYMBOLS, (rows, agents), dtype=np.int16)
    seen[::horizon] = -1
    return Episodes(
        team,
        np.arange(episodes + 1) * horizon,
        seen,
        rng.integers(0, ACTIONS, (rows, agents), dtype=np.int16),
        np.full((rows, agents), 1 / ACTIONS, np.float32),
        rng.random(rows),
        0.99,
    )


def begin(rng, episodes, nodes):
    prior = Fixed(nodes)
    found = []
    for agent in episodes.agents:
        a, o = len(agent.actions), len(agent.observations)
        counts = Counts(
            np.zeros((o, nodes)), rng.gamma(5.0, size=(nodes, a)), rng.gamma(5.0, size=(nodes, a, o, nodes))
        )
        found.append(updated(agent, prior.priors(agent), counts))
    return tuple(found)


def seconds(episodes, nodes, repeats=5):
    """Best time of one step; the posterior's own updates are left out: they do not grow with the data."""
    rng = np.random.default_rng(0)
    steps = by_reward(episodes, behaviour.log_behaviour(episodes))
    task = Task(lay_out(episodes, nodes), steps, evidence=float(episodes.count), power=1.0, threads=None)
    posterior = begin(rng, episodes, nodes)
    times = []
    with serial_products():
        for _ in range(repeats + 1):
            start = time.perf_counter()
            count(task, evaluate(task, posterior))
            times.append(time.perf_counter() - start)
    return min(times[1:])


def fitted(name, values, measure):
    times = [measure(value) for value in values]
    slope = np.polyfit(np.log(values), np.log(times), 1)[0]
    row = "  ".join(f"{value}: {t * 1e3:.1f} ms" for value, t in zip(values, times, strict=True))
    print(f"{name:<24} exponent {slope:5.2f}   {row}", flush=True)
    return slope


def of_states(states):
    """Episodes of a problem with that many states; the learner never sees them."""
    import decpomdp as dp

    rng = np.random.default_rng(states)
    agents = tuple(dp.Agent(f"a{n}", tuple("abcd"), tuple("xyz")) for n in (1, 2))
    transition = rng.dirichlet(np.ones(states), size=(16, states))
    observation = rng.dirichlet(np.ones(9), size=(16, states))
    labels = tuple(map(str, range(states)))
    model = dp.DecPOMDP(agents, labels, np.eye(states)[0], transition, observation, rng.random((16, states)), 0.9)
    return seconds(dp.simulate(model, dp.Team.uniform(model), 1000, 40, seed=1), 30)


def growth():
    rng = np.random.default_rng(0)

    def vary(key):
        return lambda value: seconds(data(rng, **{**BASE, key: value}), 30)

    fitted("length T, dense rewards", [20, 40, 80, 160, 320], vary("horizon"))
    fitted("episodes K", [500, 1000, 2000, 4000, 8000], vary("episodes"))
    fitted("agents N", [2, 4, 8, 16, 32], vary("agents"))
    fitted("states S of the problem", [4, 16, 64, 256], of_states)


def memory():
    """Peak memory of two sweeps over ten million agent-steps, above what holds the data."""
    rng = np.random.default_rng(0)
    episodes = data(rng, episodes=125_000, horizon=40, agents=2)
    held = sum(
        field.nbytes for field in (episodes.observations, episodes.actions, episodes.behaviour, episodes.rewards)
    )
    before = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20
    took = seconds(episodes, 30, repeats=1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"ten million agent-steps, 30 nodes: {took:.1f} s a step, data {held / 2**20:.0f} MB,", end=" ")
    print(f"peak {peak:.0f} MB, {peak - before:.0f} MB above the state with the data loaded")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--memory", action="store_true", help="only the memory test, in this process")
    if parser.parse_args().memory:
        memory()
        return
    growth()
    subprocess.run([sys.executable, __file__, "--memory"], check=True)


if __name__ == "__main__":
    main()
