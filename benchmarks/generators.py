"""Whether generated problems need memory: is the best team better than constant and reactive teams?

    python benchmarks/generators.py --seeds 5 --agents 2,3 --seconds 5

For every kind and odd seed: the best constant joint action (all are tried), the best reactive team found (one action
per last observation, coordinate ascent with exact values from many starts) and the best team of `periem` and `search`.
For `sensing` also teams written by hand, which look together several times and dig where most was seen: with four
agents neither method finds them in some seconds.
A problem counts if the best team is ahead of both by at least 5 % of the larger absolute value.
"""

import argparse
import json
from itertools import product

import numpy as np
from numpy.typing import NDArray

import decpomdp as dp
from decpomdp.api import RunSetup, execute
from decpomdp.core.run import Budget, Inputs
from decpomdp.domains.generated import KINDS
from decpomdp.domains.load import load_model

AHEAD = 0.05
SMALL = 5000  # states x joint actions x joint observations, up to which FB-HSVI is tried too


def constant_value(model: dp.DecPOMDP) -> float:
    """The value of the best joint action that is repeated forever."""
    states = np.eye(len(model.states))
    return max(
        float(model.start @ np.linalg.solve(states - model.discount * moves, paid))
        for moves, paid in zip(model.transition, model.reward, strict=True)
    )


def reactive_value(model: dp.DecPOMDP, starts: int = 10, seed: int = 0) -> float:
    """The value of the best team found whose agents know only their last observation (and the first action)."""
    rng = np.random.default_rng(seed)
    actions = [len(agent.actions) for agent in model.agents]
    observations = [len(agent.observations) for agent in model.agents]
    seen = model.observation_table()  # [y, n]
    strides = np.array([int(np.prod(actions[n + 1 :])) for n in range(len(actions))])
    used = model.observation.max(axis=(0, 1)) > 0  # joint observations that occur
    observation, joint = np.ascontiguousarray(model.observation[..., used]), np.eye(model.joint_actions)

    def value(maps: list[NDArray[np.int64]], before: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        chosen = sum(strides[n] * maps[n][seen[:, n]] for n in range(len(maps)))  # [y] -> joint action
        following, worth = observation @ joint[chosen[used]], before  # [u, t, v], [u, s]
        for _ in range(400):
            later = (following * worth.T).sum(axis=-1)  # [u, t]
            new = model.reward + model.discount * (model.transition @ later[..., None])[..., 0]
            change = np.abs(new - worth).max()
            worth = new
            if change < 1e-5:
                break
        return float((worth @ model.start).max()), worth

    best = -np.inf
    for _ in range(starts):
        maps = [rng.integers(a, size=o) for a, o in zip(actions, observations, strict=True)]
        now, worth = value(maps, np.zeros_like(model.reward))
        improved = True
        while improved:
            improved = False
            for n in rng.permutation(len(maps)):
                for o in rng.permutation(observations[n]):
                    kept = maps[n][o]
                    for a in range(actions[n]):
                        before, maps[n][o] = maps[n][o], a
                        tried, its = value(maps, worth)
                        if tried > now + 1e-6:
                            now, worth, kept, improved = tried, its, a, True
                        else:
                            maps[n][o] = before
                    maps[n][o] = kept
        best = max(best, now)
    return best


def voting_value(model: dp.DecPOMDP, most_looks: int = 5) -> float:
    """`sensing`: the value of the best team whose agents look together and dig where each saw most."""
    return max(dp.evaluate(_voting_team(model, looks), model).value for looks in range(1, most_looks + 1))


def _voting_team(model: dp.DecPOMDP, looks: int) -> dp.Team:
    """A node per count of sightings; after the last look, a node per place to dig."""
    places = len(model.states)
    counts = [seen for seen in product(range(looks), repeat=places) if sum(seen) < looks]
    number = {seen: node for node, seen in enumerate(counts)}  # node 0: nothing seen yet
    moves = []
    for seen in counts:
        after = [tuple(c + (place == p) for p, c in enumerate(seen)) for place in range(places)]
        moves.append([number.get(s, len(counts) + int(np.argmax(s))) for s in after] + [0])
    moves += [[0] * (places + 1)] * places
    actions = [0] * len(counts) + list(range(1, places + 1))
    agent = dp.Controller.deterministic(actions, moves, action_count=places + 1)
    return dp.Team.of(model, [agent] * len(model.agents))


def best_value(model: dp.DecPOMDP, seconds: float) -> float:
    """The best exact value of planning and search, `seconds` of processor time each."""
    budget, inputs = Budget(cpu_seconds=seconds), Inputs(seed=1, threads=1)
    methods = [dp.PeriEm(), dp.Search()]
    if len(model.states) * model.joint_actions * model.joint_observations <= SMALL:
        methods.append(dp.FbHsvi())
    fits = [execute(RunSetup(model, settings, inputs, budget)) for settings in methods]
    return max(dp.evaluate(fit.team, model).value for fit in fits)


def main() -> None:
    """Print one line per problem and the share per kind."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5, help="how many odd seeds")
    parser.add_argument("--first", type=int, default=1, help="the first one")
    parser.add_argument("--agents", default="2")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--size", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=5.0, help="of processor time, per method")
    given = parser.parse_args()
    seeds = range(given.first, given.first + 2 * given.seeds, 2)
    best_value(load_model("dectiger"), 0.1)  # compiles
    shares: dict[str, list[bool]] = {}
    for kind, agents, seed in product(given.kinds.split(","), map(int, given.agents.split(",")), seeds):
        model = load_model(f"generated:{kind},agents={agents},size={given.size},seed={seed}")
        constant, reactive = constant_value(model), reactive_value(model)
        best = best_value(model, given.seconds)
        if kind == "sensing":
            best = max(best, voting_value(model))
        other = max(constant, reactive)
        ahead = (best - other) / max(abs(best), abs(other), 1e-9)
        shares.setdefault(f"{kind}, {agents} agents", []).append(ahead >= AHEAD)
        figures = {"states": len(model.states), "constant": constant, "reactive": reactive, "best": best}
        print(model.name, json.dumps({k: round(v, 4) for k, v in figures.items()}), f"{100 * ahead:.1f} %", flush=True)
    for kind, found in shares.items():
        print(f"{kind}: {sum(found)} of {len(found)}")


if __name__ == "__main__":
    main()
