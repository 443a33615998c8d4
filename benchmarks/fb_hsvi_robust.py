"""FB-HSVI on many small random problems: no exception, valid bounds, true values.

    python benchmarks/fb_hsvi_robust.py                          240 problems, 2 seconds each
    python benchmarks/fb_hsvi_robust.py --problems 20 --first 40 --seconds 5

Problem k has two to four agents, 2-4 states, 2-3 actions and observations, and one of the kinds in `KINDS`. Checked:

    no exception, and a team is returned
    in every row of the trace: lower bound <= upper bound, lower bounds never fall, upper bounds never rise
    the claimed value is the value of the returned team, computed here a second time without the package's evaluator
    a team of another method (`search`, 100,000 steps) is not worth more than the upper bound

One line per failed check; exit code 1 if there is one.
"""

import argparse
import itertools
import json
import sys
import time
import traceback
import warnings

import numpy as np

import decpomdp as dp
from decpomdp.core import Agent

CLOSE = 1e-8  # relative to the largest value that rewards allow
KINDS = ("dense", "sparse", "deterministic", "ties", "zero", "symmetric", "blind", "common", "large", "small")
DISCOUNTS = (0.9, 0.5, 0.95, 0.8, 0.99)


def distributions(rng, shape, kind):
    """Random distributions over the last axis."""
    size = shape[-1]
    if kind == "deterministic":
        return np.eye(size)[rng.integers(size, size=shape[:-1])]
    table = rng.dirichlet(np.ones(size), size=shape[:-1])
    if kind == "sparse":
        table = np.where(rng.random(shape) < 0.5, 0.0, table)
        table += np.eye(size)[rng.integers(size, size=shape[:-1])] * (table.sum(axis=-1, keepdims=True) == 0)
    if kind == "ties":
        table = np.ceil(2 * table)
    return table / table.sum(axis=-1, keepdims=True)


def problem(number):
    """Problem `number`, and its horizon (None: infinite)."""
    rng, kind = np.random.default_rng([17, number]), KINDS[number % len(KINDS)]
    agents = (2, 2, 3, 2, 4)[number // len(KINDS) % 5]
    states, most = int(rng.integers(2, 5)), 3 if agents < 4 else 2
    sizes = [[int(rng.integers(2, most + 1)) for _ in range(agents)] for _ in range(2)]
    if kind == "symmetric":
        sizes = [[own[0]] * agents for own in sizes]
    actions, observations = sizes
    if kind == "common":
        observations = [observations[0]] * agents
    u, y = int(np.prod(actions)), int(np.prod(observations))
    transition = distributions(rng, (u, states, states), kind)
    observation = distributions(rng, (u, states, y), kind)
    reward = rng.normal(size=(u, states)) * {"large": 1e6, "small": 1e-7}.get(kind, 1.0)
    if kind == "blind":  # observations say nothing
        observation = np.broadcast_to(observation[:1, :1], observation.shape)
    if kind == "common":  # all agents see the same
        shared = distributions(rng, (u, states, observations[0]), kind)
        observation = np.zeros_like(observation)
        for o in range(observations[0]):
            observation[..., np.ravel_multi_index((o,) * agents, observations)] = shared[..., o]
    if kind == "ties":
        reward = np.round(reward)
    if kind == "zero":
        reward = np.zeros_like(reward)
    if kind == "symmetric":
        transition, reward = (symmetric(table, actions, 0) for table in (transition, reward))
        observation = symmetric_in_both(observation, actions, observations)
    horizon = int(rng.integers(1, 5)) if number % 7 == 0 else None
    return dp.DecPOMDP(
        agents=tuple(
            Agent(f"agent{n}", tuple(f"a{i}" for i in range(a)), tuple(f"o{i}" for i in range(o)))
            for n, (a, o) in enumerate(zip(actions, observations, strict=True))
        ),
        states=tuple(f"s{i}" for i in range(states)),
        start=distributions(rng, (states,), kind),
        transition=transition,
        observation=observation,
        reward=reward,
        discount=1.0 if horizon and number % 2 else DISCOUNTS[int(rng.integers(len(DISCOUNTS)))],
        name=f"{kind} {number}",
    ), horizon


def sorted_joint(sizes):
    """[joint]: the joint number whose parts are sorted."""
    parts = np.array(np.unravel_index(np.arange(int(np.prod(sizes))), sizes))
    return np.ravel_multi_index(tuple(np.sort(parts, axis=0)), sizes)


def symmetric(table, sizes, axis):
    """The same entry for every order of the agents."""
    return np.take(table, sorted_joint(sizes), axis)


def symmetric_in_both(observation, actions, observations):
    """P(y | u, s) that does not depend on the agents' order: equal over orders of u, averaged over orders of y."""
    same = symmetric(observation, actions, 0)
    group = sorted_joint(observations)
    count = np.bincount(group, minlength=same.shape[-1])
    mass = np.zeros_like(same)
    np.add.at(mass, (..., group), same)
    return (mass / np.maximum(count, 1))[..., group]


def value_of(model, team, horizon):
    """The value of a deterministic team: backups over the pairs (state, joint node) that can be reached."""
    actions, observations = ([len(getattr(a, kind)) for a in model.agents] for kind in ("actions", "observations"))
    action = [c.action.argmax(axis=1) for c in team.controllers]
    onward = [
        c.transition[np.arange(c.nodes), a].argmax(axis=-1) for c, a in zip(team.controllers, action, strict=True)
    ]
    seen = np.array(np.unravel_index(np.arange(int(np.prod(observations))), observations))
    begin = tuple(int(c.initial.argmax()) for c in team.controllers)
    number = {(s, begin): k for k, s in enumerate(np.flatnonzero(model.start))}
    pairs, source, target, chance, reward = list(number), [], [], [], []
    for k, (s, nodes) in enumerate(pairs):
        u = int(np.ravel_multi_index([a[q] for a, q in zip(action, nodes, strict=True)], actions))
        reward.append(model.reward[u, s])
        for s1 in np.flatnonzero(model.transition[u, s]):
            for y in np.flatnonzero(model.observation[u, s1]):
                pair = (s1, tuple(int(t[q, o]) for t, q, o in zip(onward, nodes, seen[:, y], strict=True)))
                if pair not in number:
                    number[pair] = len(pairs)
                    pairs.append(pair)
                source.append(k)
                target.append(number[pair])
                chance.append(model.transition[u, s, s1] * model.observation[u, s1, y])
    source, target, chance, reward = (np.array(column) for column in (source, target, chance, reward))
    values, discount = np.zeros(len(pairs)), model.discount
    steps = horizon or int(np.ceil(np.log(1e-13) / np.log(discount)))
    for _ in range(steps):
        values = reward + discount * np.bincount(source, chance * values[target], len(pairs))
    return float(model.start[np.flatnonzero(model.start)] @ values[: np.count_nonzero(model.start)])


def failures(number, seconds):
    """The failed checks of one problem, and its final row."""
    model, horizon = problem(number)
    fit = dp.plan(model, "fb-hsvi", horizon=horizon, epsilon=1e-6, time_limit=seconds, seed=number)
    length = horizon or 1 / (1 - model.discount)
    close = CLOSE * max(float(np.abs(model.reward).max()) * length, 1e-300)
    lower, upper = ([row[key] for row in fit.trace] for key in ("lower", "upper"))
    result = []
    if any(low > high for low, high in zip(lower, upper, strict=True)):
        result.append("a lower bound is above the upper bound")
    if any(b < a for a, b in itertools.pairwise(lower)):
        result.append("a lower bound fell")
    if any(b > a for a, b in itertools.pairwise(upper)):
        result.append("an upper bound rose")
    if (fit.facts["lower"], fit.facts["upper"]) != (lower[-1], upper[-1]):
        result.append("facts and last row differ")
    again = value_of(model, fit.team, horizon)
    if abs(again - lower[-1]) > close:
        result.append(f"claimed value {lower[-1]}, computed {again}")
    if horizon is None:
        other = dp.learn(model, "search", steps=100_000, seed=number)
        value = value_of(model, other.team, None)
        if value > upper[-1] + close:
            result.append(f"a team of search is worth {value}, above the upper bound {upper[-1]}")
    return result, {**fit.trace[-1], "stopped": fit.stopped, "agents": len(model.agents), "name": model.name}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=240)
    parser.add_argument("--first", type=int, default=0, help="number of the first problem")
    parser.add_argument("--seconds", type=float, default=2.0, help="time limit of one run")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    failed, converged, begun = 0, 0, time.monotonic()
    for number in range(options.first, options.first + options.problems):
        try:
            found, row = failures(number, options.seconds)
        except Exception:
            found, row = [traceback.format_exc()], {"stopped": "exception", "name": number}
        converged += row["stopped"] == "converged"
        failed += bool(found)
        for line in found:
            print(f"problem {number}: {line}", flush=True)
        if (number + 1) % 20 == 0:
            print(f"{number + 1 - options.first} problems, {failed} failed, {converged} converged", flush=True)
    seconds = round(time.monotonic() - begun)
    print(json.dumps({"problems": options.problems, "failed": failed, "converged": converged, "seconds": seconds}))
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
