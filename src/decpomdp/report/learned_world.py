"""The learned world on the page of a run from logs: its states, its fit to the logs, and a replay inside it.

The world is a file in the run folder. Its states are described by episodes of the team in it. `fit_of` filters logged
episodes with the world and compares its predictions with logged rewards and observations. A world with an extra first
step (for agents that observe before their first action) is not played.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import DecPOMDP, Episodes
from decpomdp.core.agent import joint_numbers
from decpomdp.io.runs import WORLD, Run
from decpomdp.report.markup import Markup, note, percent, shortened, table, tag
from decpomdp.report.performance import LONGEST, ShownRun, Trajectories, played_steps, replayed, watch
from decpomdp.report.replay import panel, replay_from
from decpomdp.worlds.flat import FIRST_STEP

Floats = NDArray[np.float64]
EPISODES = 300  # played in the world for the table of states
LOGGED = 200  # logged episodes of the comparison, at most
SHOWN, NEXT = 12, 2  # states in the table, and next states of each
BINS = 5  # of predicted rewards and of predicted probabilities
WIDEST = 40  # characters of an observation
IMAGINED = "Imagined episodes: the team, played in the world that was fitted to the logs. Reality may differ."


def world_of(run: Run) -> DecPOMDP | None:
    """The world in the run folder of a team; None if there is none, or the team cannot be played in it."""
    from decpomdp.domains.load import load_model

    path = run.folder / WORLD
    if not path.is_file():
        return None
    world = load_model(path)
    if FIRST_STEP in world.states:
        return None
    return replace(world, agents=run.team.agents)  # the file may have other names


def world_section(shown: ShownRun, world: DecPOMDP) -> Iterator[Markup]:
    """The value of the team in the world, two tables, and a replay inside the world."""
    from decpomdp.rollouts import DenseSimulator

    run, facts, simulator = shown.run, shown.run.record.facts, DenseSimulator(world)
    low, high = facts.get("low"), facts.get("high")
    value = f"{facts['value']:.4g}" + ("" if low is None else f", 95 % interval {low:.4g} to {high:.4g}")
    sure = f"Value of the team in it: {value}. Other worlds that predict held-out episodes about equally well: "
    rare = f"The team spends {facts['outside']:.0%} of its steps in situations that are rare in the logs."
    yield note(f"{sure}{facts['worlds'] - 1}. {rare}")
    yield from states_table(world, watch(simulator, run.team, EPISODES, played_steps(world.discount), shown.seed))
    if isinstance(shown.source, Episodes):
        yield from fit_table(world, shown.source)
    yield tag("h3", "Replay")
    yield note(IMAGINED)
    played = replayed(simulator, run.team, run.record.horizon or LONGEST, shown.seed)
    yield panel(run.team, shown.performance.uses, replay_from(played, run.team, world))


def states_table(world: DecPOMDP, played: Trajectories) -> Iterator[Markup]:
    """The states in which the team spends most of its time: observation, reward and next states."""
    uses = state_uses(world, played)
    cells = [
        (world.states[use.state], percent(use.share), shortened(use.seen, WIDEST), f"{use.reward:.4g}", use.onward)
        for use in uses[:SHOWN]
    ]
    rows = [[tag("td", cell) for cell in row] for row in cells]
    shown = f"{min(SHOWN, len(uses))} of {len(world.states)} states"
    yield tag("h3", f"{shown}, by the team's discounted time in them")
    yield table(("state", "time", "seen on arrival", "mean reward", "next"), rows, "runs")


class StateUse(NamedTuple):
    """The team's visits of a state."""

    state: int
    share: float  # of discounted time
    seen: str  # the most common joint observation on arrival
    reward: float
    onward: str  # the most common next states


def state_uses(world: DecPOMDP, played: Trajectories) -> list[StateUse]:
    """States by discounted time, the most visited first."""
    episodes = played.episodes
    states: NDArray[np.int64] = np.concatenate(played.moments)  # [r]
    step = episodes.times()
    weights = world.discount**step
    shares = np.bincount(states, weights, len(world.states)) / weights.sum()
    goes_on = np.append(step[1:] > 0, False)  # [r] whether the next row belongs to the same episode
    uses = []
    for state in np.argsort(-shares, kind="stable")[: np.count_nonzero(shares)]:
        here = states == state
        onward = np.bincount(states[1:][(here & goes_on)[:-1]], minlength=len(world.states))
        most = [int(to) for to in np.argsort(-onward, kind="stable")[:NEXT] if onward[to]]
        words = ", ".join(f"{world.states[to]} {percent(onward[to] / onward.sum())}" for to in most)
        seen = Counter(map(tuple, episodes.observations[here & (step > 0)].tolist()))
        common = seen.most_common(1)[0][0] if seen else ()
        labels = " / ".join(agent.observations[o] for agent, o in zip(world.agents, common, strict=False)) or "nothing"
        uses.append(StateUse(int(state), float(shares[state]), labels, float(episodes.rewards[here].mean()), words))
    return uses


def fit_table(world: DecPOMDP, episodes: Episodes) -> Iterator[Markup]:
    """Predicted against logged values, in bins of the prediction."""
    chosen = episodes.chosen(np.arange(min(LOGGED, episodes.count)))
    paid, seen = fit_of(world, chosen)
    rows = [
        [tag("td", name), *(tag("td", f"{value:.3g}") for value in pair), tag("td", f"{count}")]
        for name, (predicted, real) in (("reward", paid), ("joint observation occurs", seen))
        for *pair, count in _binned(predicted, real)
    ]
    yield tag("h3", f"Fit: {chosen.count} logged episodes, grouped by what was predicted from the steps before")
    yield table(("group", "predicted", "logged", "cases"), rows, "runs")


def fit_of(world: DecPOMDP, episodes: Episodes) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """Expected and logged rewards; probabilities of possible joint observations, and whether they occurred."""
    acts = joint_numbers(episodes.actions.astype(np.int64).T, [len(agent.actions) for agent in world.agents])
    first = episodes.offsets[:-1]
    shown = np.array(episodes.observations, np.int64)
    shown[first] = 0  # not used
    sights = joint_numbers(shown.T, [len(agent.observations) for agent in world.agents])
    expected, chances, came = np.empty(episodes.steps), [np.zeros(0)], [np.zeros(0)]
    starts, belief = set(first.tolist()), world.start
    for r in range(episodes.steps):
        if r in starts:
            belief = world.start
        else:
            u, y = acts[r - 1], sights[r]
            moved = belief @ world.transition[u]  # [s1]
            chance = moved @ world.observation[u]  # [y]
            likely = np.flatnonzero(chance > 1e-3)
            chances.append(chance[likely])
            came.append((likely == y).astype(float))
            joint = moved * world.observation[u][:, y]
            total = joint.sum()
            belief = joint / total if total > 0 else moved  # the observation is impossible in the world
        expected[r] = belief @ world.reward[acts[r]]
    return (expected, episodes.rewards), (np.concatenate(chances), np.concatenate(came))


def _binned(predicted: Floats, real: Floats) -> list[tuple[float, float, int]]:
    """Means of both in bins of about equal size of the prediction."""
    parts = np.array_split(np.argsort(predicted, kind="stable"), BINS)
    return [(float(predicted[part].mean()), float(real[part].mean()), len(part)) for part in parts if len(part)]
