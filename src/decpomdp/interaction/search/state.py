"""What a search that was killed needs to go on as if nothing had happened: all that its rounds leave behind.

Random numbers need not be kept: those of a piece follow from the seed, the number of its round and its own.
"""

from typing import TYPE_CHECKING, NamedTuple

from decpomdp.core.keeping import KeptRow, kept_rows
from decpomdp.interaction.search.islands import Island

if TYPE_CHECKING:
    from decpomdp.interaction.search.method import Search


class SearchState(NamedTuple):
    """Between two rounds."""

    affordable: float  # joint steps, by which everything was sized
    phase: str
    entries: int  # of the portfolio that have been tried
    found: list[Island]  # there
    islands: list[Island]
    turn: int
    searched: float  # progress when the portfolio was left
    rounds: int
    steps: int
    polished: int
    hops: int
    accepted: int
    seconds: float
    ready: float  # seconds when the preparations were over
    trace: list[KeptRow]


def state_of(search: "Search") -> SearchState:
    """The state now."""
    crew, clock = search.crew, search.crew.clock
    return SearchState(
        affordable=search.affordable,
        phase=search.phase,
        entries=search.entries,
        found=search.found,
        islands=search.islands.all,
        turn=search.islands.turn,
        searched=search.searched,
        rounds=crew.rounds,
        steps=crew.steps,
        polished=search.polished,
        hops=search.hops,
        accepted=search.accepted,
        seconds=clock.seconds(),
        ready=clock.ready - clock.begin,
        trace=kept_rows(search.trace),
    )


def go_on(search: "Search", kept: SearchState) -> None:
    """As if everything up to then had been done just now."""
    search.size(kept.affordable)
    search.phase, search.entries, search.found, search.searched = kept.phase, kept.entries, kept.found, kept.searched
    search.islands.all, search.islands.turn = kept.islands, kept.turn
    search.polished, search.hops, search.accepted = kept.polished, kept.hops, kept.accepted
    search.trace = list(kept.trace)
    search.crew.go_on(kept.rounds, kept.steps)
    search.crew.clock.go_on(kept.seconds, kept.ready)
