"""The traffic problem: simulation speed, growth with the number of agents, and sample sizes.

python benchmarks/traffic.py fixed     values of the policies that need no learning, and of a clock
python benchmarks/traffic.py speed     joint steps a second, 100 agents
python benchmarks/traffic.py growth    seconds per iteration of Dec-SBPR from 4 to 400 agents; time and memory at 2,500
python benchmarks/traffic.py sample    effective sample sizes: the whole team's ratio against every agent's own
python benchmarks/traffic.py openness [SEEDS [ITERATIONS]]   how much of the heuristic is to be left open

`decpomdp reproduce figure2` computes and draws the curves.
"""

import resource
import sys
import time
from dataclasses import replace

import numpy as np

from decpomdp.core import Team
from decpomdp.core.run import Inputs
from decpomdp.domains.traffic import Traffic
from decpomdp.engines.threads import serial_products
from decpomdp.experiments import figure2
from decpomdp.filtering.filter import log_likelihood
from decpomdp.interaction.afford import MANY_BATCH
from decpomdp.interaction.episode_player import EpisodePlayer
from decpomdp.interaction.sbpr.many_method import ManyLearner
from decpomdp.interaction.sbpr.settings import ManyAgents, SbprLoop, SbprTuning
from decpomdp.learners import StickBreaking
from decpomdp.rollouts.play import players_of

TESTS, HORIZON = 2000, 66  # of values that are not points of a curve


def fixed_policies():
    settings = {"side": 10, "tests": TESTS, "seed": 0, "policies": figure2.POLICIES}
    for point in figure2.fixed_policies(settings):
        print(f"{point.method:<12} {point.value:7.2f} +- {point.error:.2f}", flush=True)


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
        teams, predicted = [], []
        for _ in range(24):
            posterior = learner.posterior(state.counts)
            teams.append(state.exploration.behaviour(learner.full_mean(posterior)))
            state, facts, _ = learner.iterate_many(state, MANY_BATCH)
            predicted.append(100 * facts["predicted"])
        batches = state.batches
        for ago, (batch, team) in enumerate(zip(batches[::-1], teams[::-1], strict=False)):
            sizes = [_size(_own(batch, teams[-1], team, n), batch) for n in range(len(team.agents))]
            joint = _size(log_likelihood(batch, teams[-1]) - log_likelihood(batch, team), batch)
            print(f"{ago:11d} {joint:12.1f}   {min(sizes):.0f}, {np.median(sizes):.0f}", flush=True)
    print(f"the critic predicted {min(predicted):.0f} to {max(predicted):.0f} % of the variance")


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
        listed = ", ".join(f"{value:.1f}" for value in values)
        print(f"{100 * share:.0f} % left open: {listed} after {iterations} iterations", flush=True)


def opened(team, share, seed, iterations):
    """The value of the team that is learned from one of which a share is left open."""
    learner = learner_of(10, seed, tuning=SbprTuning(many=ManyAgents(openness=share)))
    state = learner.begin_many(learner.start_from(team), MANY_BATCH)
    with serial_products():
        for _ in range(iterations):
            state, _, _ = learner.iterate_many(state, MANY_BATCH)
    mean = learner.posterior(state.counts).mean()
    return max(learner.player.tested(one, TESTS, HORIZON, seed).value for one in (mean, mean.decided()))


if __name__ == "__main__":
    commands = {"fixed": fixed_policies, "speed": speed, "growth": growth, "sample": sample, "openness": openness}
    commands[sys.argv[1]](*sys.argv[2:])
