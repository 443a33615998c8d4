"""The source of a run, loaded again: its model, simulator or recorded episodes."""

import os
from dataclasses import dataclass

from decpomdp import domains
from decpomdp.core import DecPOMDP, Episodes, InputError, Simulator
from decpomdp.domains.code import load_named
from decpomdp.domains.load import is_code, load
from decpomdp.io.episodes import read_episodes
from decpomdp.io.runs import Run, source_digest

Source = DecPOMDP | Simulator | Episodes

EPISODES = ".parquet"


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
        source: Source = read_episodes(name) if name.endswith(EPISODES) else load(name, record.discount)
        if record.digest and source_digest(source) != record.digest:
            kind = "data" if isinstance(source, Episodes) else "problem"
            return ShownRun(run, missing=f"{record.source} has changed: it is not the same {kind}")
        return on(run, source)
    except InputError as error:
        gone = record.source and not os.path.exists(record.source) and not domains.is_simulator(record.source)
        return ShownRun(run, missing=f"{record.source} does not exist any more" if gone else str(error))


def on(run: Run, source: Source) -> ShownRun:
    """The run with a source; a team of one agent that acts for all plays the centralised model."""
    if isinstance(source, DecPOMDP) and len(run.team.agents) < len(source.agents):
        from decpomdp.planners.centralised import played_by

        source = played_by(source, run.team)
    run.team.check_fits(source)
    return ShownRun(run, source)
