"""The source of a run (model, simulator or recorded episodes), how a team uses its controllers there, and a replay.

The team is played with `rollouts`, on the model or the simulator of its run. Where there is neither, recorded episodes
are read, in which each agent's node is filtered: p(node | what the agent saw and did so far).

Shares of time are discounted: step t counts discount^t. Without any episodes they are not known, and every observation
counts as equally likely. A run on a model stores them with its replay in its folder, so that a page is made again
without playing and without loading compiled code.
"""

import hashlib
import os
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import NO_OBSERVATION, Controller, DecPOMDP, Episodes, InputError, Simulator, Team
from decpomdp.core.model import horizon_of
from decpomdp.domains import registry
from decpomdp.domains.code import load_named
from decpomdp.domains.load import is_code, load
from decpomdp.io.checkpoints import decode, encode
from decpomdp.io.files import is_logged, read_bytes
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
SLOW_EPISODES = 2  # of a simulator that is not quick; they also have to do for the shares
REPLAYED, REPLAY_STEPS, FEWEST_STEPS = 5, 40, 8  # episodes on the page and their length
MOST_NUMBERS = 100_000  # in the replay, over all agents and steps, so that the page of a large team stays small
RECORDED_NOTE = (
    "Recorded episodes, those with the highest returns: there is no model or simulator to play the learned team on, so "
    "actions are those of the recorded behaviour. States are unknown; nodes are the likeliest for each agent's history."
)


@dataclass(frozen=True, slots=True)
class ShownRun:
    """A run to show, and its source."""

    run: Run
    source: Source | None = None
    missing: str = ""  # why there is no source

    @property
    def seed(self) -> int:
        """Seed of all random choices made for the page."""
        return self.run.record.seed or 0


def shown(run: Run, problem: str | None = None) -> ShownRun:
    """The run with the named problem or, by default, with its own source, if that still exists."""
    record = run.record
    if problem is not None:
        return on(run, load_named(problem, record.discount))
    name = record.source or record.problem
    if is_code(name):
        return ShownRun(run, missing=f"{name} is code, which is run only when it is named: --problem {name}")
    try:
        recorded = is_logged(name) or os.path.isdir(name)
        source: Source = (
            Episodes.load(name, record.discount, bins=record.bins) if recorded else load(name, record.discount)
        )
        if record.digest and source_digest(source) != record.digest:
            kind = "data" if isinstance(source, Episodes) else "problem"
            return ShownRun(run, missing=f"{record.source} has changed: it is not the same {kind}")
        return on(run, source)
    except InputError as error:
        gone = record.source and not os.path.exists(record.source) and not registry.is_simulator(record.source)
        return ShownRun(run, missing=f"{record.source} does not exist any more" if gone else str(error))


def on(run: Run, source: Source) -> ShownRun:
    """The run with a source; a team of one agent that acts for all plays the centralised model."""
    if isinstance(source, DecPOMDP) and len(run.team.agents) < len(source.agents):
        from decpomdp.planners.common import played_by

        source = played_by(source, run.team)
    run.team.check_fits(source)
    return ShownRun(run, source)


@dataclass(frozen=True, slots=True)
class Trajectories:
    """Episodes one after the other, with the nodes of all agents."""

    observations: Ints  # [r, n] seen before acting; NO_OBSERVATION: nothing
    nodes: Ints  # [r, n] in which the action was chosen
    actions: Ints  # [r, n]
    rewards: Floats  # [r]
    lengths: NDArray[np.int64]  # [k]
    moments: Moments = ()  # [k][t] states or street scenes, if any


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
    numbers: tuple[int, ...] = ()  # of recorded episodes in their file


class Stored(NamedTuple):
    """The content of `STORED`."""

    key: str  # digests of team and model, and the seed
    performance: Performance


def packed(shown: ShownRun) -> bytes | None:
    """The performance on a model as the content of `STORED`; None: too large, or not on a model."""
    if not isinstance(shown.source, DecPOMDP):
        return None
    content = encode(Stored(_key(shown, shown.source), performance_of(shown)))
    return content if len(content) <= MOST_BYTES else None


def stored(shown: ShownRun) -> Performance | None:
    """The stored performance of this team on this model; None without one."""
    path = shown.run.folder / STORED
    if not isinstance(shown.source, DecPOMDP) or not path.is_file():
        return None
    try:
        found = decode(read_bytes(path, MOST_BYTES), Stored)
    except ValueError:
        return None  # damaged, or of another version: played again
    return found.performance if found.key == _key(shown, shown.source) else None


def _key(shown: ShownRun, model: DecPOMDP) -> str:
    team = hashlib.sha256(encode(shown.run.team.controllers)).hexdigest()
    return f"{team} {source_digest(model)} {shown.seed}"


def performance_of(shown: ShownRun, replay: bool = True) -> Performance:
    """Shares and, if wanted, episodes to replay; stored ones where there are some."""
    team, source, seed = shown.run.team, shown.source, shown.seed
    if source is None:
        return Performance(unknown_use(team), f"Shares of time are unknown: {shown.missing}.")
    if isinstance(source, Episodes):
        count = min(EPISODES, source.count)
        words = f"Shares are discounted and come from {count} recorded episodes, in which the nodes are inferred."
        chosen, numbers = best_recorded(source, team) if replay else (None, ())
        return Performance(use_in_episodes(source, team), words, chosen, RECORDED_NOTE, numbers)
    if (known := stored(shown)) is not None:
        return known
    from decpomdp.rollouts import as_simulator

    simulator = as_simulator(source)
    quick, (count, length) = is_quick(simulator), replay_size(len(team.agents))
    episodes = sample = None
    if replay or not quick:
        episodes = sample = watch(simulator, team, count if quick else min(count, SLOW_EPISODES), length, seed)
    if sample is None or quick:
        steps = played_steps(simulator.discount)
        many = max(1, min(EPISODES, MOST_STEPS // (len(team.agents) * steps)))
        sample = play(simulator, team, many, steps + 1, seed)
    kind, note = "simulator", f"New episodes of the learned team on {simulator.name}."
    if isinstance(source, DecPOMDP):
        kind, note = "model", "The team, played on the model."
    words = f"Shares are discounted and come from {len(sample.lengths)} episodes played on the {kind}."
    return Performance(use_in(sample, team, simulator.discount), words, episodes if replay else None, note)


def replay_size(agents: int) -> tuple[int, int]:
    """Episodes and steps that fit on a page.

    >>> replay_size(2), replay_size(100), replay_size(2500)
    ((5, 40), (5, 40), (1, 8))
    """
    steps = max(FEWEST_STEPS, min(REPLAY_STEPS, MOST_NUMBERS // (5 * agents)))
    return max(1, min(REPLAYED, MOST_NUMBERS // (5 * agents * steps))), steps


def is_quick(simulator: Simulator) -> bool:
    """Whether thousands of episodes take a moment: models, and simulators with a true member `quick`."""
    from decpomdp.rollouts import DenseSimulator

    return isinstance(simulator, DenseSimulator) or bool(getattr(simulator, "quick", False))


def play(simulator: Simulator, team: Team, episodes: int, steps: int, seed: int) -> Trajectories:
    """Episodes for the shares."""
    from decpomdp.rollouts import play as rollouts
    from decpomdp.rollouts.play import players_of

    paths, lengths, _ = rollouts.play(simulator, players_of(team), episodes, steps, seed, behaviour=False)
    return Trajectories(paths.observations, paths.nodes, paths.actions, paths.rewards, lengths)


def watch(simulator: Simulator, team: Team, episodes: int, steps: int, seed: int) -> Trajectories:
    """Episodes with the states of a model or the scenes of streets."""
    from decpomdp.rollouts import record

    recording = record(simulator, team, episodes, steps, seed, scenes=True)
    played = recording.episodes
    moments: Moments = recording.scenes if recording.states is None else tuple(map(tuple, recording.states.tolist()))
    nodes = recording.nodes[np.arange(recording.nodes.shape[1]) < played.lengths[:, None]]
    return Trajectories(played.observations, nodes, played.actions, played.rewards, played.lengths, moments)


def played_steps(discount: float) -> int:
    """Steps of an episode that is played for the shares."""
    return max(horizon_of(discount, NEGLIGIBLE, LONGEST), SHORTEST)


def unknown_use(team: Team) -> tuple[Use, ...]:
    """From the controllers alone."""
    return tuple(Use(None, moves_of(controller) / controller.observations) for controller in team.controllers)


def moves_of(controller: Controller) -> Floats:
    """[i, o, j]: probability of moving from i to j on seeing o, over the actions that i takes."""
    return np.einsum("ia,iaoj->ioj", controller.action, controller.transition)


def use_in(played: Trajectories, team: Team, discount: float) -> tuple[Use, ...]:
    """From episodes whose nodes are known; every step counts but the last of each, which ends its last move."""
    lengths = played.lengths
    times = np.arange(len(played.rewards)) - np.repeat(np.cumsum(lengths) - lengths, lengths)  # [r]
    going_on = np.flatnonzero(times[1:] > times[:-1])
    weights: Floats = float(discount) ** times[going_on].astype(float)
    if not weights.sum() > 0:
        return unknown_use(team)
    weights = weights / weights.sum()
    uses = []
    for n, controller in enumerate(team.controllers):
        shape = (controller.nodes, controller.observations, controller.nodes)
        nodes, seen = played.nodes[:, n].astype(np.int64), played.observations[:, n].astype(np.int64)
        places = np.ravel_multi_index((nodes[going_on], seen[going_on + 1], nodes[going_on + 1]), shape)
        moves = np.bincount(places, weights, int(np.prod(shape))).astype(float).reshape(shape)
        uses.append(Use(moves.sum(axis=(1, 2)), moves))
    return tuple(uses)


def use_in_episodes(episodes: Episodes, team: Team) -> tuple[Use, ...]:
    """From recorded episodes, weighted by how likely each agent was in each of its nodes."""
    team.check_fits(episodes)
    observations, actions, _, lengths = padded(episodes, EPISODES, LONGEST)
    inside = np.arange(actions.shape[1]) < lengths[:, None]  # [k, t]
    weights = inside * float(episodes.discount) ** np.arange(actions.shape[1], dtype=float)
    weights = weights / weights.sum()
    uses = []
    for n, controller in enumerate(team.controllers):
        belief = filtered(controller, observations[..., n], actions[..., n])  # [k, t, i]
        weighted = (belief * weights[..., None])[:, :-1]
        seen, taken, going_on = observations[:, 1:, n], actions[:, :-1, n], inside[:, 1:]
        counts = np.zeros((controller.actions, controller.observations, controller.nodes))  # [a, o, i]
        np.add.at(counts, (taken[going_on], seen[going_on]), weighted[going_on])
        moves = np.einsum("aoi,iaoj->ioj", counts, controller.transition)
        uses.append(Use(np.einsum("kti,kt->i", belief, weights), moves))
    return tuple(uses)


def best_recorded(episodes: Episodes, team: Team) -> tuple[Trajectories, tuple[int, ...]]:
    """The recorded episodes with the highest returns, with the likeliest nodes, and their numbers."""
    observations, actions, rewards, lengths = padded(episodes, EPISODES, REPLAY_STEPS)
    returns = rewards @ (float(episodes.discount) ** np.arange(rewards.shape[1]))
    best = np.argsort(-returns, kind="stable")[: replay_size(len(team.agents))[0]]
    likely = [
        filtered(controller, observations[best][..., n], actions[best][..., n]).argmax(axis=2)  # [k, t]
        for n, controller in enumerate(team.controllers)
    ]
    inside = np.arange(rewards.shape[1]) < lengths[best][:, None]
    nodes = np.stack(likely, axis=2)[inside]
    seen, taken, earned = observations[best][inside], actions[best][inside], rewards[best][inside]
    return Trajectories(seen, nodes, taken, earned, lengths[best]), tuple(best.tolist())


def filtered(controller: Controller, observations: Ints, actions: Ints) -> Floats:
    """[k, t, i]: probability that an agent was in node i when it chose actions[k, t], given all until then.

    observations[k, t] was seen before that. Where the controller cannot have acted as recorded, the distribution stays
    as it was: the record is of someone else's actions.
    """
    belief = np.broadcast_to(controller.initial, (len(actions), controller.nodes))
    if controller.initial_given is not None:
        given = observations[:, 0] != NO_OBSERVATION
        belief = np.where(given[:, None], controller.initial_given[observations[:, 0]], belief)
    result = np.empty((*actions.shape, controller.nodes))
    for t in range(actions.shape[1]):
        joint = belief * controller.action[:, actions[:, t]].T
        total = joint.sum(axis=1, keepdims=True)
        result[:, t] = np.where(total > 0, joint / np.where(total > 0, total, 1.0), belief)
        if t + 1 < actions.shape[1]:
            rows = controller.transition[:, actions[:, t], observations[:, t + 1]]  # [i, k, j]
            belief = np.einsum("ki,ikj->kj", result[:, t], rows)
    return result


def padded(episodes: Episodes, most: int, horizon: int) -> tuple[Ints, Ints, Floats, NDArray[np.int64]]:
    """The first `most` episodes, cut at `horizon`: observations, actions [k, t, n], rewards [k, t] and lengths [k].

    Steps after the end of an episode hold zeros.
    """
    count = min(most, episodes.count)
    lengths = np.minimum(episodes.lengths[:count], horizon)
    inside = np.arange(int(lengths.max())) < lengths[:, None]  # [k, t]
    rows = np.where(inside, episodes.offsets[:count, None] + np.arange(inside.shape[1]), 0)
    observations, actions = (
        np.where(inside[..., None], field[rows], 0).astype(np.int64)
        for field in (episodes.observations, episodes.actions)
    )
    return observations, actions, np.where(inside, episodes.rewards[rows], 0.0), lengths
