"""What a team does with its controllers, for the page: how long it uses each node, and episodes to step through.

Played on the model or the simulator if that can be had; else read from the episodes that the team was learned from,
which are somebody else's, and the page says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from decpomdp.core import InputError, Simulator, Team
from decpomdp.report.playing import Played
from decpomdp.report.replay import STEPS, Replay, replay_of_episodes, replay_on_model, replay_on_simulator, sizes
from decpomdp.report.sources import Shown
from decpomdp.report.use import EPISODES, Use, played_steps, use_in, use_in_episodes, use_on_model, use_unknown

MOST_STEPS = 10_000_000  # agent-steps of a quick simulator
SLOW = 2  # episodes of any other


@dataclass(frozen=True, slots=True)
class Performance:
    """Of one team."""

    uses: Sequence[Use]
    source: str  # where they come from, in words
    replay: Replay | None = None
    note: str = ""  # what is replayed


def performance_of(shown: Shown, replayed: bool = True) -> Performance:
    """What the team does, as far as it can be known; without episodes to step through if they are not wanted."""
    team = shown.run.team
    if shown.model is not None:
        uses = use_on_model(shown.model, team, shown.seed)
        said = f"Shares are discounted and come from {EPISODES} episodes played on the model."
        replay = replay_on_model(shown.model, team, shown.seed) if replayed else None
        return Performance(uses, said, replay, "The team, played on the model.")
    if shown.simulator is not None:
        return _on_simulator(shown.simulator, team, shown.seed, replayed)
    if shown.episodes is not None:
        uses, count = use_in_episodes(shown.episodes, team), min(EPISODES, shown.episodes.count)
        said = f"Shares are discounted and come from {count} recorded episodes, in which the nodes are inferred."
        note = (
            "Recorded episodes, those with the highest returns: there is no model or simulator to play the learned "
            "team on, so this is what others did. States are not known; nodes are the likeliest given what each agent "
            "saw and did."
        )
        return Performance(uses, said, replay_of_episodes(shown.episodes, team) if replayed else None, note)
    return Performance(use_unknown(team), f"How long each is used is not known: {shown.missing}.")


def replay_of(shown: Shown) -> Replay:
    """The first episode of the page's replay, alone; InputError if there is nothing to play on."""
    team = shown.run.team
    if shown.model is not None:
        return replay_on_model(shown.model, team, shown.seed)
    if shown.simulator is None:
        why = shown.missing or "it was learned from recorded episodes; say what to play on with --problem"
        raise InputError(f"{shown.run.folder}: nothing to draw, for {why}")
    from decpomdp.report.watching import watch

    watched = watch(shown.simulator, team, 1, sizes(len(team.agents))[1], shown.seed)
    return replay_on_simulator(shown.simulator, watched, team)


def _on_simulator(simulator: Simulator, team: Team, seed: int, replayed: bool) -> Performance:
    from decpomdp.report.watching import is_quick, play_quickly, watch

    episodes, steps = sizes(len(team.agents))
    note = f"Fresh episodes of the learned team, played on {simulator.name} for this page."
    if is_quick(simulator):
        watched = watch(simulator, team, episodes, steps, seed) if replayed else None
        many = max(1, min(EPISODES, MOST_STEPS // (len(team.agents) * played_steps(simulator.discount))))
        played = play_quickly(simulator, team, many, played_steps(simulator.discount) + 1, seed)
    else:  # it may take its time: the same episodes serve for both
        watched = watch(simulator, team, SLOW, STEPS, seed)
        played = watched.played
    replay = replay_on_simulator(simulator, watched.first(episodes, steps), team) if replayed and watched else None
    return Performance(use_in(played, team, simulator.discount), _shares(played), replay, note)


def _shares(played: Played) -> str:
    return f"Shares are discounted and come from {len(played.lengths)} episodes played on the simulator."
