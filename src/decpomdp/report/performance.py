"""The source of a run (model, simulator or recorded episodes), how a team uses its controllers there, and a replay.

The team is played with `rollouts`, on the model or the simulator of its run. If there is neither, recorded episodes are
read, and each agent's node is filtered: p(node | the agent's history).

Shares of time are discounted: step t has weight discount^t. Without episodes they are unknown, and all observations
count as equally likely. A run on a model stores the shares and the replay in its folder, so that later pages do not
have to play or to load compiled code.
"""

import hashlib
import math
import os
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.api import source_of
from decpomdp.core import NO_OBSERVATION, Controller, DecPOMDP, Episodes, InputError, Simulator, Team
from decpomdp.core.episodes import PER_ROW
from decpomdp.core.model import horizon_of
from decpomdp.domains import registry
from decpomdp.domains.load import is_code, load_named
from decpomdp.io.checkpoints import decode, encode
from decpomdp.io.files import read_bytes
from decpomdp.io.runs import Run, source_digest

Source = DecPOMDP | Simulator | Episodes

Floats = NDArray[np.float64]
Ints = NDArray[np.integer]
Moments = tuple[tuple[Any, ...], ...]  # [k][t]: states (numbers) or street scenes

EPISODES = 1000  # played or read for the shares
LONGEST, SHORTEST = 200, 40  # steps of them
STORED, MOST_BYTES = "performance.bin", 20_000_000  # file in the run folder
NEGLIGIBLE = 0.001  # steps with a smaller discount are not played
MOST_STEPS = 10_000_000  # agent-steps played for the shares
SHARE_SECONDS = 2.0  # for playing the episodes for the shares, about
SLOW_EPISODES = 2  # for the replay of a simulator that is too slow for more; they are also used for the shares
REPLAYED, REPLAY_STEPS, FEWEST_STEPS = 5, 40, 8  # episodes on the page; their usual and smallest length
MOST_NUMBERS = 100_000  # in the replay, over all agents and steps, so that the page of a large team stays small
RECORDED_NOTE = (
    "Recorded episodes, those with the highest returns: there is no model or simulator to play the learned team on, so "
    "actions are those of the recorded behaviour. States are unknown; nodes are the likeliest for each agent's history."
)


@dataclass(frozen=True)
class ShownRun:
    """A run to show, and its source."""

    run: Run
    source: Source | None = None
    missing: str = ""  # why there is no source

    @property
    def seed(self) -> int:
        """Seed of all random choices made for the page."""
        return self.run.record.seed or 0

    @cached_property
    def performance(self) -> "Performance":
        """Shares and episodes to replay; stored ones if there are any."""
        return stored(self) or _performance(self)


def shown(run: Run, problem: str | None = None) -> ShownRun:
    """The run with the named problem or, by default, with its own source, if this still exists."""
    record = run.record
    if problem is not None:
        return on(run, load_named(problem, record.discount))
    name = record.source or record.problem
    if is_code(name):
        return ShownRun(run, missing=f"{name} is code, which is run only when it is named: --problem {name}")
    try:
        source: Any = source_of(name, record.discount, record.bins)
        if record.digest and source_digest(source) != record.digest:
            kind = "data" if isinstance(source, Episodes) else "problem"
            return ShownRun(run, missing=f"{record.source} has changed: it is not the same {kind}")
        return on(run, source)
    except InputError as error:
        gone = record.source and not os.path.exists(record.source) and not registry.is_built_in(record.source)
        return ShownRun(run, missing=f"{record.source} no longer exists" if gone else str(error))


def on(run: Run, source: Source) -> ShownRun:
    """The run with a source; a team of one agent for several plays the centralised model."""
    if isinstance(source, DecPOMDP) and len(run.team.agents) < len(source.agents):
        from decpomdp.planners.common import played_by

        source = played_by(source, run.team)
    run.team.check_fits(source)
    return ShownRun(run, source)


@dataclass(frozen=True, slots=True)
class Trajectories:
    """Episodes, with the nodes of all agents."""

    episodes: Episodes
    nodes: Ints  # [r, n] in which the action was chosen
    moments: Moments = ()  # [k][t] states or street scenes, if any
    numbers: tuple[int, ...] = ()  # [k] of recorded episodes in their file


@dataclass(frozen=True, slots=True)
class Use:
    """One agent's use of its controller."""

    nodes: Floats | None  # [i] share of time; None: not known
    moves: Floats  # [i, o, j] how often node i saw o next and moved to j, per step


@dataclass(frozen=True, slots=True)
class Performance:
    """Use of the controllers, and episodes to replay."""

    uses: tuple[Use, ...]
    source: str  # where the shares come from
    replay: Trajectories | None = None
    note: str = ""  # on the replayed episodes


class Stored(NamedTuple):
    """The content of `STORED`."""

    key: str  # digests of team and model, and the seed
    performance: Performance


def packed(shown: ShownRun) -> bytes | None:
    """The performance on a model as the content of `STORED`; None: too large, or not on a model."""
    if not isinstance(shown.source, DecPOMDP):
        return None
    content = encode(Stored(_key(shown, shown.source), shown.performance))
    return content if len(content) <= MOST_BYTES else None


def stored(shown: ShownRun) -> Performance | None:
    """The stored performance of this team on this model; None if there is none."""
    path = shown.run.folder / STORED
    if not isinstance(shown.source, DecPOMDP) or not path.is_file():
        return None
    try:
        content = decode(read_bytes(path, MOST_BYTES), Stored)
    except ValueError:
        return None  # damaged or of another version: play again
    return content.performance if content.key == _key(shown, shown.source) else None


def _key(shown: ShownRun, model: DecPOMDP) -> str:
    team = hashlib.sha256(encode(shown.run.team.controllers)).hexdigest()
    return f"{team} {source_digest(model)} {shown.seed}"


def _performance(shown: ShownRun) -> Performance:
    team, source, seed = shown.run.team, shown.source, shown.seed
    if source is None:
        return Performance(tuple(map(unknown_use, team.controllers)), f"Shares of time are unknown: {shown.missing}.")
    if isinstance(source, Episodes):
        few = first_steps(source)
        words = f"Shares are discounted and come from {few.count} recorded episodes, in which the nodes are inferred."
        return Performance(use_in(few, team), words, best_recorded(source, team), RECORDED_NOTE)
    from decpomdp.evaluation.sampled import episodes_within
    from decpomdp.rollouts import as_simulator

    simulator, horizon = as_simulator(source), shown.run.record.horizon or LONGEST
    steps = min(played_steps(simulator.discount), horizon)
    most = max(1, min(EPISODES, MOST_STEPS // (len(team.agents) * steps)))
    many = episodes_within(SHARE_SECONDS, simulator, team, most, steps)
    replay = sample = replayed(simulator, team, horizon, seed, max(many, SLOW_EPISODES))
    if many > SLOW_EPISODES:
        sample = watch(simulator, team, many, steps, seed)
    kind, note = "simulator", f"New episodes of the learned team on {simulator.name}."
    if isinstance(source, DecPOMDP):
        kind, note = "model", "The team, played on the model."
    words = f"Shares are discounted and come from {sample.episodes.count} episodes played on the {kind}."
    return Performance(use_in(sample.episodes, team, sample.nodes), words, replay, note)


def replayed(simulator: Simulator, team: Team, horizon: int, seed: int, most: int = REPLAYED) -> Trajectories:
    """Up to `most` episodes for the replay."""
    count, length = replay_size(len(team.agents))
    return watch(simulator, team, min(count, most), min(length, horizon), seed, scenes=True)


def replay_size(agents: int) -> tuple[int, int]:
    """Episodes and steps that fit on a page.

    >>> replay_size(2), replay_size(100), replay_size(2500)
    ((5, 40), (5, 40), (1, 8))
    """
    steps = max(FEWEST_STEPS, min(REPLAY_STEPS, MOST_NUMBERS // (5 * agents)))
    return max(1, min(REPLAYED, MOST_NUMBERS // (5 * agents * steps))), steps


def watch(
    simulator: Simulator, team: Team, episodes: int, steps: int, seed: int, *, scenes: bool = False
) -> Trajectories:
    """Play episodes, with the states of a model or, if wanted, the scenes of streets."""
    from decpomdp.rollouts import record

    recording = record(simulator, team, episodes, steps, seed, scenes=scenes)
    inside = np.arange(recording.nodes.shape[1]) < recording.episodes.lengths[:, None]  # [k, t]
    moments: Moments = recording.scenes if recording.states is None else tuple(map(tuple, recording.states.tolist()))
    return Trajectories(recording.episodes, recording.nodes[inside], moments)


def played_steps(discount: float) -> int:
    """Steps of an episode that is played for the shares."""
    return max(horizon_of(discount, NEGLIGIBLE, LONGEST), SHORTEST)


def unknown_use(controller: Controller) -> Use:
    """From the controller alone: every observation counts as equally likely."""
    return Use(None, moves_of(controller) / controller.observations)


def moves_of(controller: Controller) -> Floats:
    """[i, o, j]: probability of moving from i to j on seeing o, over the actions that i takes."""
    return np.einsum("ia,iaoj->ioj", controller.action, controller.transition)


def use_in(episodes: Episodes, team: Team, nodes: Ints | None = None) -> tuple[Use, ...]:
    """Shares in episodes whose nodes[r, n] are known or, if not, inferred from each agent's history."""
    team.check_fits(episodes)
    times = episodes.times()
    weights = float(episodes.discount) ** times.astype(float)
    weights = weights / weights.sum()
    left = np.flatnonzero(times[1:] > times[:-1])  # rows with a next step
    # [n, r]: reading one agent of a large team is much faster in this order
    taken, seen = (np.ascontiguousarray(table.T) for table in (episodes.actions, episodes.observations))
    known = None if nodes is None else np.ascontiguousarray(nodes.T)
    uses = []
    for n, controller in enumerate(team.controllers):
        moved, shape = (taken[n][left], seen[n][left + 1]), controller.transition.shape[1:]  # [a, o, i]
        if known is None:
            belief = filtered(controller, episodes, n) * weights[:, None]  # [r, i]
            counts: Floats = np.zeros(shape)
            shares: Floats = belief.sum(axis=0)
            np.add.at(counts, moved, belief[left])
        else:
            places = np.ravel_multi_index((*moved, known[n][left]), shape)
            counts = np.bincount(places, weights[left], math.prod(shape)).reshape(shape).astype(float)
            shares = np.bincount(known[n], weights, controller.nodes).astype(float)
        uses.append(Use(shares, np.einsum("aoi,iaoj->ioj", counts, controller.transition)))
    return tuple(uses)


def best_recorded(episodes: Episodes, team: Team) -> Trajectories:
    """The recorded episodes with the highest returns, with the likeliest nodes."""
    few = first_steps(episodes, REPLAY_STEPS)
    best = np.argsort(-few.returns(), kind="stable")[: replay_size(len(team.agents))[0]]
    chosen = few.chosen(best)
    nodes = [filtered(controller, chosen, n).argmax(axis=1) for n, controller in enumerate(team.controllers)]
    return Trajectories(chosen, np.stack(nodes, axis=1), numbers=tuple(best.tolist()))


def filtered(controller: Controller, episodes: Episodes, n: int) -> Floats:
    """[r, i]: probability that agent n was in node i when it chose its action, given its history.

    If the controller gives a recorded action probability 0, the action is ignored: it was taken by another team.
    """
    seen, taken, first = episodes.observations[:, n], episodes.actions[:, n], episodes.offsets[:-1]
    belief = np.tile(controller.initial, (episodes.count, 1))  # [k, i]
    if controller.initial_given is not None:
        given = seen[first] != NO_OBSERVATION
        belief[given] = controller.initial_given[seen[first][given]]
    result = np.empty((episodes.steps, controller.nodes))
    for t in range(int(episodes.lengths.max())):
        going_on = np.flatnonzero(episodes.lengths > t)
        rows = first[going_on] + t
        if t:
            table = controller.transition[:, taken[rows - 1], seen[rows]]  # [i, k, j]
            belief[going_on] = np.einsum("ki,ikj->kj", result[rows - 1], table)
        joint = belief[going_on] * controller.action[:, taken[rows]].T
        total = joint.sum(axis=1, keepdims=True)
        result[rows] = np.where(total > 0, joint / np.where(total > 0, total, 1.0), belief[going_on])
    return result


def first_steps(episodes: Episodes, horizon: int = LONGEST) -> Episodes:
    """The first `EPISODES` episodes, cut at `horizon`."""
    few = episodes.chosen(np.arange(min(EPISODES, episodes.count)))
    inside = few.times() < horizon
    return replace(
        few,
        offsets=np.concatenate([[0], np.cumsum(np.minimum(few.lengths, horizon))]),
        terminated=None if few.terminated is None else few.terminated & (few.lengths <= horizon),
        **{name: getattr(few, name)[inside] for name in PER_ROW},
    )
