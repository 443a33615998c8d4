"""Joint steps per second and thread, with 5-node stochastic controllers, and with both cores.

python benchmarks/rollouts.py
"""

import time

import numpy as np

import decpomdp as dp
from decpomdp.rollouts import DenseSimulator
from decpomdp.rollouts.play import players_of


def controller(rng, nodes, actions, observations):
    def rows(*shape):
        return rng.dirichlet(np.ones(shape[-1]), size=shape[:-1])

    return dp.Controller(rows(nodes), rows(nodes, actions), rows(nodes, actions, observations, nodes))


def rate(problem, behaviour, threads, episodes=20_000, horizon=50):
    rng = np.random.default_rng(0)
    model = dp.load(problem)
    sizes = [(len(agent.actions), len(agent.observations)) for agent in model.agents]
    players = players_of(dp.Team.of(model, [controller(rng, 5, a, o) for a, o in sizes]))
    simulator = DenseSimulator(model)
    simulator.play(players, 100, horizon, seed=0, behaviour=behaviour)
    best = float("inf")
    for _ in range(7):
        begin = time.perf_counter()
        simulator.play(players, episodes, horizon, seed=1, behaviour=behaviour, threads=threads)
        best = min(best, time.perf_counter() - begin)
    return episodes * horizon / best / 1e6


def main():
    print("million joint steps a second")
    for problem in ("dectiger", "marsrovers"):
        for behaviour, what in ((False, "node paths kept"), (True, "with marginal probabilities")):
            one, two = (rate(problem, behaviour, threads) for threads in (1, 2))
            print(f"{problem:<12} {what:<28} 1 thread {one:5.1f}   2 threads {two:5.1f}", flush=True)


if __name__ == "__main__":
    main()
