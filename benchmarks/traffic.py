"""The traffic problem: simulation speed, growth with the number of agents, sample sizes, and the figure's data.

python benchmarks/traffic.py speed     joint steps a second, 100 agents
python benchmarks/traffic.py growth    seconds per iteration of Dec-SBPR from 4 to 400 agents, and at 2,500
python benchmarks/traffic.py sample    effective sample sizes: the whole team's ratio against every agent's own
python benchmarks/traffic.py figure [SEEDS [ITERATIONS [FILE.csv]]]
"""

import csv
import sys
import time
from dataclasses import asdict, fields, replace

import numpy as np

from decpomdp.core import Team
from decpomdp.core.fit import unwatched
from decpomdp.domains.traffic import Traffic
from decpomdp.engines.threads import serial_products
from decpomdp.experiments.traffic import METHODS, Effort, Point, curve, fixed
from decpomdp.filtering.filter import log_likelihood
from decpomdp.interaction.sbpr_crowd_loop import CrowdLearner, CrowdLoop
from decpomdp.interaction.sbpr_play import Ground
from decpomdp.interaction.sbpr_settings import SbprSettings
from decpomdp.learners import StickBreaking
from decpomdp.rollouts.tables import players_of


def speed():
    grid = Traffic()
    teams = {**grid.policies(), "learning": grid.policies()["heuristic"].exploring(0.2)}
    print("thousand joint steps a second, 100 agents (million agent-steps: divide by ten)")
    for name, recording in (("random", False), ("heuristic", False), ("learning", True)):
        players = players_of(teams[name])
        rates = []
        for threads in (1, 2):
            grid.play(players, 40, 50, 0, behaviour=recording, threads=threads)
            best = np.inf
            for _ in range(7):
                begin = time.perf_counter()
                grid.play(players, 1000, 50, 1, behaviour=recording, threads=threads)
                best = min(best, time.perf_counter() - begin)
            rates.append(50 / best)
        kept = "with marginal probabilities" if recording else "node paths kept"
        print(f"{name:<10} {kept:<28} 1 thread {rates[0]:6.0f}   2 threads {rates[1]:6.0f}", flush=True)


def loop_of(side, **changes):
    ground = Ground(Traffic(side), None, None, 0, None)
    settings = replace(SbprSettings(), crowd=0, **changes)
    return CrowdLoop(ground, None, None, None, StickBreaking(), settings, unwatched)


def iteration_seconds(side, repeats=5, **changes):
    """Median seconds of an iteration, the first ones left out."""
    loop = loop_of(side, **changes)
    learner = CrowdLearner(loop.learner)
    state, seconds = learner.begin(loop.starts()[0]), []
    with serial_products():
        for _ in range(2 + repeats):
            begin = time.perf_counter()
            state, _ = learner.iterate(state, True)
            seconds.append(time.perf_counter() - begin)
    return float(np.median(seconds[2:]))


def growth():
    sides = (2, 3, 4, 6, 8, 10, 14, 20)
    found = [iteration_seconds(side) for side in sides]
    for side, seconds in zip(sides, found, strict=True):
        print(f"{side * side:5d} agents   {seconds:.3f} s an iteration of 500 episodes", flush=True)
    exponent = np.polyfit(np.log(np.square(sides)), np.log(found), 1)[0]
    print(f"fitted exponent from 4 to 400 agents {exponent:.2f}")
    print(f" 2500 agents   {iteration_seconds(50, repeats=1, crowd_batch=100):.2f} s an iteration of 100 episodes")


def sample():
    loop = loop_of(10, crowd_window=4)
    learner = CrowdLearner(loop.learner)
    state = learner.begin(loop.starts()[0])
    print("effective episodes at the last step, 500 episodes of 29 steps, 100 agents: older batches, newest team")
    print("batches ago   whole team   agents' own: smallest, median")
    with serial_products():
        teams = []
        for _ in range(24):
            posterior = loop.learner.posterior(state.counts)
            teams.append(state.exploration.behaviour(loop.learner.whole(posterior)))
            state, _ = learner.iterate(state, False)
        batches = list(state.window.batches)
        for ago, (batch, team) in enumerate(zip(batches[::-1], teams[::-1], strict=False)):
            sizes = [_size(_own(batch, teams[-1], team, n), batch) for n in range(len(team.agents))]
            joint = _size(log_likelihood(batch, teams[-1]) - log_likelihood(batch, team), batch)
            print(f"{ago:11d} {joint:12.1f}   {min(sizes):.0f}, {np.median(sizes):.0f}", flush=True)


def _own(batch, new, old, n):
    """[r]: log ratio of agent n alone."""
    one = replace_agents(batch, n)
    parts = [Team((team.agents[n],), (team.controllers[n],), team.discount) for team in (new, old)]
    return log_likelihood(one, parts[0]) - log_likelihood(one, parts[1])


def replace_agents(batch, n):
    return replace(
        batch,
        agents=(batch.agents[n],),
        observations=batch.observations[:, n : n + 1],
        actions=batch.actions[:, n : n + 1],
        behaviour=batch.behaviour[:, n : n + 1],
    )


def _size(log_ratio, batch):
    last = log_ratio[batch.offsets[1:] - 1]
    weights = np.exp(last - last.max())
    return float(weights.sum() ** 2 / (weights**2).sum())


def figure(seeds="5", iterations="100", path="traffic.csv"):
    effort = Effort(iterations=int(iterations))
    for name, (value, error) in fixed().items():
        print(f"{name:<12} {value:7.2f} +- {error:.2f}", flush=True)
    points = []
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Point)])
        writer.writeheader()
        for seed in range(int(seeds)):
            for method in METHODS:
                for point in curve(method, seed, effort):
                    points.append(point)
                    writer.writerow(asdict(point))
                    file.flush()
                last = points[-1]
                print(f"seed {seed} {method:<18} {last.value:7.2f} {last.nodes:.2f} {last.seconds:6.1f} s", flush=True)
    summary(points)


def summary(points):
    print("iteration, then per method: value mean +- spread over seeds, nodes, nodes that act differently")
    for iteration in sorted({point.iteration for point in points}):
        cells = []
        for method in METHODS:
            mine = [p for p in points if (p.method, p.iteration) == (method, iteration)]
            values = [p.value for p in mine]
            sizes = f"{np.mean([p.nodes for p in mine]):.2f}, {np.mean([p.acting for p in mine]):.2f}"
            cells.append(f"{method} {np.mean(values):7.2f} +- {np.std(values):5.2f}  {sizes}")
        print(f"{iteration:4d}  " + "   ".join(cells))


if __name__ == "__main__":
    {"speed": speed, "growth": growth, "sample": sample, "figure": figure}[sys.argv[1]](*sys.argv[2:])
