"""The traffic problem: simulation speed, growth with the number of agents, sample sizes, and the figure's data.

python benchmarks/traffic.py fixed     values of the policies that need no learning, and of a clock
python benchmarks/traffic.py speed     joint steps a second, 100 agents
python benchmarks/traffic.py growth    seconds per iteration of Dec-SBPR from 4 to 400 agents; time and memory at 2,500
python benchmarks/traffic.py sample    effective sample sizes: the whole team's ratio against every agent's own
python benchmarks/traffic.py openness [SEEDS [ITERATIONS]]   how much of the heuristic is to be left open
python benchmarks/traffic.py figure [SEEDS [ITERATIONS [FILE.csv]]]     the curves; what the file has is not run again
python benchmarks/traffic.py draw FILE.csv FOLDER            the curves as a picture
"""

import csv
import resource
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from msgspec import structs

from decpomdp.core import Team
from decpomdp.core.run import Inputs
from decpomdp.domains.traffic import Traffic
from decpomdp.engines.threads import serial_products
from decpomdp.experiments import figure2
from decpomdp.experiments.experiment import draw as drawn
from decpomdp.experiments.figure2 import NAMES as METHODS
from decpomdp.experiments.figure2 import POLICIES, TEXTS, Point, levels
from decpomdp.experiments.figure2 import points as curve
from decpomdp.experiments.judge import Rows
from decpomdp.filtering.filter import log_likelihood
from decpomdp.interaction.afford import MANY_BATCH
from decpomdp.interaction.episode_player import EpisodePlayer
from decpomdp.interaction.sbpr.many_method import ManyLearner
from decpomdp.interaction.sbpr.settings import ManyAgents, SbprLoop, SbprTuning
from decpomdp.learners import StickBreaking
from decpomdp.rollouts.play import players_of

TESTS, HORIZON = 2000, 66  # of values that are not points of a curve


def fixed(tests):
    return levels({"side": 10, "tests": tests, "seed": 0, "policies": POLICIES})


def fixed_policies():
    for name, (value, error) in fixed(TESTS).items():
        print(f"{name:<12} {value:7.2f} +- {error:.2f}", flush=True)


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


def learner_of(side, seed=0, **settings):
    return ManyLearner(EpisodePlayer(Traffic(side), Inputs(seed)), StickBreaking(), SbprLoop(**settings))


def iteration_seconds(side, repeats=5, batch=MANY_BATCH):
    """Median seconds of an iteration, the first ones left out."""
    learner = learner_of(side, tuning=SbprTuning(settling=0))
    state, seconds = learner.begin_many(learner.start(), batch), []
    with serial_products():
        for _ in range(2 + repeats):
            begin = time.perf_counter()
            state, _, _ = learner.iterate_many(state, batch)
            seconds.append(time.perf_counter() - begin)
    return float(np.median(seconds[2:]))


def growth():
    sides = (2, 3, 4, 6, 8, 10, 14, 20)
    found = [iteration_seconds(side) for side in sides]
    for side, seconds in zip(sides, found, strict=True):
        print(f"{side * side:5d} agents   {seconds:.3f} s an iteration of 500 episodes", flush=True)
    exponent = np.polyfit(np.log(np.square(sides)), np.log(found), 1)[0]
    print(f"fitted exponent from 4 to 400 agents {exponent:.2f}")
    large = sides.index(8)
    exponent = np.polyfit(np.log(np.square(sides[large:])), np.log(found[large:]), 1)[0]
    print(f"from 64 agents on {exponent:.2f}")
    seconds = iteration_seconds(50, repeats=1, batch=100)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f" 2500 agents   {seconds:.2f} s an iteration of 100 episodes, {memory:.2f} GB at most")


def sample():
    learner = learner_of(10, window=4, tuning=SbprTuning(settling=10**6))
    state = learner.begin_many(learner.start(), MANY_BATCH)
    print("effective episodes at the last step, 500 episodes of 29 steps, 100 agents: older batches, newest team")
    print("batches ago   whole team   agents' own: smallest, median")
    with serial_products():
        teams, foretold = [], []
        for _ in range(24):
            posterior = learner.posterior(state.counts)
            teams.append(state.exploration.behaviour(learner.full_mean(posterior)))
            state, facts, _ = learner.iterate_many(state, MANY_BATCH)
            foretold.append(100 * facts["foretold"])
        batches = state.batches
        for ago, (batch, team) in enumerate(zip(batches[::-1], teams[::-1], strict=False)):
            sizes = [_size(_own(batch, teams[-1], team, n), batch) for n in range(len(team.agents))]
            joint = _size(log_likelihood(batch, teams[-1]) - log_likelihood(batch, team), batch)
            print(f"{ago:11d} {joint:12.1f}   {min(sizes):.0f}, {np.median(sizes):.0f}", flush=True)
    print(f"the critic foretold {min(foretold):.0f} to {max(foretold):.0f} % of the variance")


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


def openness(seeds="3", iterations="40"):
    heuristic = Traffic().policies()["heuristic"]
    for share in (0.1, 0.2, 0.4):
        values = [opened(heuristic, share, seed, int(iterations)) for seed in range(int(seeds))]
        told = ", ".join(f"{value:.1f}" for value in values)
        print(f"{100 * share:.0f} % left open: {told} after {iterations} iterations", flush=True)


def opened(team, share, seed, iterations):
    """The value of the team that is learned from one of which a share is left open."""
    learner = learner_of(10, seed, tuning=SbprTuning(many=ManyAgents(openness=share)))
    state = learner.begin_many(learner.start_from(team), MANY_BATCH)
    with serial_products():
        for _ in range(iterations):
            state, _, _ = learner.iterate_many(state, MANY_BATCH)
    mean = learner.posterior(state.counts).mean()
    return max(learner.player.tested(one, TESTS, HORIZON, seed).value for one in (mean, mean.decided()))


def figure(seeds="5", iterations="60", path="traffic.csv"):
    last_one, points = int(iterations), kept(path)
    effort = TEXTS.full | {"iterations": last_one, "side": 10}
    for seed in range(int(seeds)):
        for method in METHODS:
            known = [point for point in points if (point.method, point.seed) == (method, seed)]
            if not known:
                known = list(curve({"method": method, "seed": seed, **effort}))
                points += known
                keep(path, points)
            last = known[-1]
            if last.iteration != last_one:
                told = f"curves of {last_one} iterations, got one of {last.iteration}"
                raise SystemExit(f"error: {path}: expected {told}; take another file")
            print(f"seed {seed} {method:<18} {last.value:7.2f} {last.nodes:.2f} {last.seconds:6.1f} s", flush=True)
    summary(points)


def kept(path):
    """The points of a file; none if there is no file."""
    if not Path(path).exists():
        return []
    with open(path, newline="") as file:
        return [Point(**{key: read(key, cell) for key, cell in row.items()}) for row in csv.DictReader(file)]


def read(key, cell):
    if key == "method":
        return cell
    if key in ("seed", "iteration"):
        return int(cell)
    return float(cell) if cell else None


def keep(path, points):
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, Point.__struct_fields__)
        writer.writeheader()
        writer.writerows(structs.asdict(point) for point in points)


def summary(points):
    print("mean ± standard deviation over seeds of the value; of nodes per controller; of nodes that act differently")
    print("| iteration | " + " | ".join(METHODS) + " |")
    print("|---|" + "---|" * len(METHODS))
    for iteration in sorted({point.iteration for point in points}):
        cells = [
            [p for p in points if (p.method, p.iteration) == (method, iteration)] for method in METHODS
        ]  # of every method those of all seeds
        told = ("; ".join(spread(mine, key) for key in ("value", "nodes", "acting")) for mine in cells)
        print(f"| {iteration} | " + " | ".join(told) + " |")
    for method in METHODS:
        mine = [point for point in points if point.method == method]
        ends = [point for point in mine if point.iteration == max(one.iteration for one in mine)]
        values, seconds = [point.value for point in ends], [point.seconds for point in ends]
        print(f"{method:<18} ends at {min(values):.1f} .. {max(values):.1f}; processor seconds of learning "
              f"{min(seconds):.0f} .. {max(seconds):.0f}, median {np.median(seconds):.0f}")  # fmt: skip


def spread(points, key):
    values, digits = [getattr(point, key) for point in points], 1 if key == "value" else 2
    mean = f"{np.mean(values):.{digits}f}"
    return mean if len(values) < 2 else f"{mean} ± {np.std(values, ddof=1):.{digits}f}"


def draw(path, folder):
    """As the figure of the paper: test reward, and nodes per controller."""
    drawn_levels = [{**structs.asdict(Point(name, 0, 0, 0.0, value, error, 0.0, 0.0, None)), "side": 10}
              for name, (value, error) in fixed(2000).items()]  # fmt: skip
    rows = [{**structs.asdict(point), "side": 10} for point in kept(path)]
    for picture in figure2.pictures(Rows(rows + drawn_levels)):
        print(*drawn(replace(picture, name="traffic"), Path(folder)))


if __name__ == "__main__":
    commands = {"fixed": fixed_policies, "speed": speed, "growth": growth, "sample": sample, "openness": openness}
    {**commands, "figure": figure, "draw": draw}[sys.argv[1]](*sys.argv[2:])
