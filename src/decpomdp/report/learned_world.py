"""The learned world on the page of a run from logs: its states, whether it fits the logs, and a replay inside it.

The world is a file in the run folder, so a page that is made later shows the same. Its states are described by the
team's own episodes in it; `fit_of` follows logged episodes with the world's belief and compares what it predicts with
what was logged. A world with an extra first step (agents that see something before they act) is not played in.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import DecPOMDP, Episodes, Team
from decpomdp.core.agent import joint_numbers
from decpomdp.io.runs import WORLD, Run
from decpomdp.report.markup import Markup, percent, shortened, table, tag
from decpomdp.report.performance import Trajectories, played_steps, watch
from decpomdp.worlds.flat import FIRST_STEP

Floats = NDArray[np.float64]
EPISODES = 300  # played in the world for the table of states
LOGGED = 200  # logged episodes that the world is compared with, at most
SHOWN, NEXT = 12, 2  # states in the table, and next states of each
BINS = 5  # of predicted rewards and of predicted probabilities
LONGEST = 40  # characters of an observation
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


def states_table(world: DecPOMDP, team: Team, seed: int) -> Markup:
    """The states where the team spends most of its time: what is seen and paid there, and where it goes next."""
    from decpomdp.rollouts import DenseSimulator

    played = watch(DenseSimulator(world), team, EPISODES, played_steps(world.discount), seed)
    uses = state_uses(world, played)
    cells = [
        (world.states[use.state], percent(use.share), shortened(use.seen, LONGEST), f"{use.reward:.4g}", use.onward)
        for use in uses[:SHOWN]
    ]
    rows = [[tag("td", cell) for cell in row] for row in cells]
    caption = f"{min(SHOWN, len(uses))} of {len(world.states)} states, by the team's discounted time in them"
    return table(("state", "time", "seen on arrival", "mean reward", "next"), rows, "runs", caption)


class StateUse(NamedTuple):
    """A state as the team meets it."""

    state: int
    share: float  # of discounted time
    seen: str  # the commonest joint observation on arrival
    reward: float
    onward: str  # the commonest next states


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
        seen = [row for row in episodes.observations[here].tolist() if row[0] >= 0]
        common = max(set(map(tuple, seen)), key=list(map(tuple, seen)).count) if seen else ()
        labels = " / ".join(agent.observations[o] for agent, o in zip(world.agents, common, strict=False)) or "nothing"
        uses.append(StateUse(int(state), float(shares[state]), labels, float(episodes.rewards[here].mean()), words))
    return uses


def fit_table(world: DecPOMDP, episodes: Episodes) -> Markup:
    """Predicted against logged, in bins of the prediction."""
    chosen = episodes.chosen(np.arange(min(LOGGED, episodes.count)))
    paid, seen = fit_of(world, chosen)
    rows = [
        [tag("td", name), *(tag("td", f"{value:.3g}") for value in pair), tag("td", f"{count}")]
        for name, (predicted, real) in (("reward", paid), ("joint observation occurs", seen))
        for *pair, count in _binned(predicted, real)
    ]
    caption = f"does the world fit? {chosen.count} logged episodes, each step predicted from the steps before it"
    return table(("what", "predicted", "logged", "cases"), rows, "runs", caption)


def fit_of(world: DecPOMDP, episodes: Episodes) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """Rewards as expected and as logged; probabilities of possible joint observations, and whether they came."""
    acts = joint_numbers(episodes.actions.astype(np.int64).T, [len(agent.actions) for agent in world.agents])
    first = episodes.offsets[:-1]
    shown = np.array(episodes.observations, np.int64)
    shown[first] = 0  # not used
    sights = joint_numbers(shown.T, [len(agent.observations) for agent in world.agents])
    expected, chances, came = np.empty(episodes.steps), list[Floats](), list[Floats]()
    belief = world.start
    starts = set(first.tolist())
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
            belief = moved * world.observation[u][:, y]
            belief = belief / belief.sum() if belief.sum() > 0 else moved  # an observation that the world excludes
        expected[r] = belief @ world.reward[acts[r]]
    none = np.zeros(0)
    return (expected, episodes.rewards), (np.concatenate([none, *chances]), np.concatenate([none, *came]))


def _binned(predicted: Floats, real: Floats) -> list[tuple[float, float, int]]:
    """Means of both in bins of about equal size of the prediction."""
    parts = np.array_split(np.argsort(predicted, kind="stable"), BINS)
    return [(float(predicted[part].mean()), float(real[part].mean()), len(part)) for part in parts if len(part)]
