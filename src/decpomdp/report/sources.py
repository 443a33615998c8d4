"""What a run was learned from, found again: the model or simulator it played, or the episodes it read."""

import os
from dataclasses import dataclass

from decpomdp import domains
from decpomdp.core import DecPOMDP, Episodes, InputError, Simulator, Team
from decpomdp.domains.load import load
from decpomdp.io.episodes import read_episodes
from decpomdp.io.runs import Run, source_digest

EPISODES = ".parquet"
RECORDED, STEPS = 100, 40  # episodes of a simulator for a posterior, and their length


@dataclass(frozen=True, slots=True)
class Shown:
    """A run to show, with what there is to play it on."""

    run: Run
    model: DecPOMDP | None = None
    episodes: Episodes | None = None
    missing: str = ""  # why there is nothing
    simulator: Simulator | None = None

    @property
    def seed(self) -> int:
        """Of everything that is drawn for the page."""
        return self.run.record.seed or 0


def shown(run: Run, problem: str | None = None) -> Shown:
    """The run with the problem that is named, or with what it was learned from, if that is still there."""
    record = run.record
    if problem is not None:
        return on(run, load(problem, record.discount))
    try:
        found = _found(record.source or record.problem, record.discount)
        if record.digest and source_digest(found) != record.digest:
            kind = "data" if isinstance(found, Episodes) else "problem"
            return Shown(run, missing=f"{record.source} is not the same {kind} any more")
        return on(run, found)
    except InputError as error:
        return Shown(run, missing=_in_words(record.source, error))


def _found(source: str, discount: float | None) -> DecPOMDP | Episodes | Simulator:
    return read_episodes(source) if source.endswith(EPISODES) else load(source, discount)


def on(run: Run, source: DecPOMDP | Episodes | Simulator) -> Shown:
    """The run with what it is to be shown on."""
    if isinstance(source, DecPOMDP):
        return Shown(run, _played(run, source))
    run.team.check_fits(source)
    return Shown(run, episodes=source) if isinstance(source, Episodes) else Shown(run, simulator=source)


def recorded(simulator: DecPOMDP | Simulator, team: Team, seed: int) -> Episodes:
    """A few episodes of a team on a problem that can only be played."""
    from decpomdp.rollouts import simulate

    return simulate(simulator, team, RECORDED, STEPS, seed ^ 1)


def _played(run: Run, model: DecPOMDP) -> DecPOMDP:
    """What the team plays: the model or, for a team of one that stands for all, the centralised one."""
    from decpomdp.planners.centralised import played_by

    played = played_by(model, run.team)
    run.team.check_fits(played)
    return played


def _in_words(source: str, error: InputError) -> str:
    if source and not os.path.exists(source) and not domains.is_simulator(source):
        return f"{source} is not there any more"
    return str(error)
