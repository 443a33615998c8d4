"""The work of a cell of the complexity table: how long one iteration of the learner takes, and its parts.

The data are random, of the wanted size; only for |S| are they played on a (random) model with so many states. Times are
processor seconds on one thread, the least of several repeats.
"""

from collections.abc import Callable
from functools import partial
from time import process_time
from typing import Any

import numpy as np

from decpomdp.core import Agent, DecPOMDP, Episodes, Team
from decpomdp.core.agent import numbered
from decpomdp.engines.threads import serial_products
from decpomdp.experiments.cells import Settings
from decpomdp.filtering.filter import cumulated, filtered
from decpomdp.filtering.layout import lay_out
from decpomdp.learners import StickBreaking, behaviour
from decpomdp.learners.posterior import AgentPosterior, Counts, updated
from decpomdp.learners.sweep import Task, count, evaluate, update
from decpomdp.learners.weighing import steps_of, weigh
from decpomdp.rollouts import simulate

ACTIONS, SYMBOLS = 4, 3


def work(settings: Settings) -> dict[str, float]:
    """Seconds of an iteration and its parts; settings are K, N, T, Z, S (None: no model), terminal, repeats, seed."""
    rng = np.random.default_rng(settings["seed"])
    data = _played(settings, rng) if settings["S"] else _random(settings, rng)
    layout = lay_out(data, settings["Z"])
    steps = steps_of(data, behaviour.log_behaviour(data))
    task = Task(layout, steps, float(data.count), None, False, 1)
    posterior = tuple(_posterior(agent, settings["Z"], rng) for agent in data.agents)
    with serial_products():
        return _timed(task, posterior, settings["repeats"])


def _timed(task: Task, posterior: tuple[AgentPosterior, ...], repeats: int) -> dict[str, float]:
    """The least time of every part; the first round may load compiled code."""
    tables = evaluate(task, posterior).tables
    logs, _ = filtered(task.layout, tables, False, 1)
    rounds = []
    for _ in range(repeats + 1):
        evaluating, evaluated = _took(partial(evaluate, task, posterior))
        counting, counts = _took(partial(count, task, evaluated))
        updating, _ = _took(partial(update, evaluated, counts))
        parts = {"whole": evaluating + counting + updating, "count": counting}
        parts["filter"], _ = _took(partial(filtered, task.layout, tables, False, 1))
        parts["weigh"], _ = _took(lambda: weigh(task.steps, cumulated(logs, task.layout.episodes)))
        parts["bound"], _ = _took(lambda: sum(agent.divergence() for agent in posterior))
        rounds.append(parts)
    return {f"{name}_seconds": min(each[name] for each in rounds[1:]) for name in rounds[0]}


def _took(part: Callable[[], Any]) -> tuple[float, Any]:
    began = process_time()
    result = part()
    return process_time() - began, result


def _random(settings: Settings, rng: np.random.Generator) -> Episodes:
    """Actions, observations and rewards by chance."""
    episodes, horizon, agents = settings["K"], settings["T"], settings["N"]
    count = episodes * horizon
    seen = rng.integers(0, SYMBOLS, (count, agents), dtype=np.int16)
    seen[::horizon] = -1
    rewards = rng.random(count)
    if settings["terminal"]:
        rewards[np.arange(count) % horizon != horizon - 1] = 0.0
    return Episodes(
        tuple(Agent(f"agent{n}", numbered(ACTIONS), numbered(SYMBOLS)) for n in range(agents)),
        np.arange(episodes + 1) * horizon,
        seen,
        rng.integers(0, ACTIONS, (count, agents), dtype=np.int16),
        np.full((count, agents), 1 / ACTIONS, np.float32),
        rewards,
        0.99,
    )


def _played(settings: Settings, rng: np.random.Generator) -> Episodes:
    """Episodes of a random problem with S states; the learner never sees them."""
    agents = tuple(Agent(f"agent{n}", numbered(ACTIONS), numbered(SYMBOLS)) for n in range(settings["N"]))
    joint, seen, states = ACTIONS ** len(agents), SYMBOLS ** len(agents), settings["S"]
    transition = rng.dirichlet(np.ones(states), size=(joint, states))
    observation = rng.dirichlet(np.ones(seen), size=(joint, states))
    start, reward = np.eye(states)[0], rng.random((joint, states))
    model = DecPOMDP(agents, numbered(states), start, transition, observation, reward, 0.9)
    return simulate(model, Team.uniform(model), settings["K"], settings["T"], settings["seed"], 1)


def _posterior(agent: Agent, nodes: int, rng: np.random.Generator) -> AgentPosterior:
    """A posterior that uses all its nodes."""
    counts = Counts(
        np.zeros((SYMBOLS, nodes)),
        rng.gamma(5.0, size=(nodes, ACTIONS)),
        rng.gamma(5.0, size=(nodes, ACTIONS, SYMBOLS, nodes)),
    )
    return updated(agent, StickBreaking().priors(agent), counts)
