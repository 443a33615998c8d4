"""The plans that are improved side by side, and whose turn it is.

The best one is not always the one to improve: a plan that has settled in the optimum which everyone meets first may
need hundreds of hops to get out, while a fresh start that is still on its way passes it by in a few dozen. So there are
always challengers. While the search is young all islands take turns. Later there is one challenger, with one hop in
four, and every other one once the best one seems stuck; in the last third only the best one counts. A challenger that
is behind and has stopped gaining makes way for a fresh start. One that seems better, by its score, must beat the best
one in a trial before it takes its place.
"""

from collections.abc import Iterable
from typing import NamedTuple

from decpomdp.interaction.search.machines import Plan, sizes
from decpomdp.interaction.search.trial import Tally, Verdict

REAL = 0.01  # standard deviations of a return: what counts as a gain here
PATIENCE = 16  # hops without one after which a challenger that is behind makes way
STUCK = 40  # hops without one after which the best plan gets only half of the turns
TURNS = 4  # in which the best one and the challenger share
POLISH = 60  # the same, after which the neighbours of the best plan are all looked at ...
AGAIN = 12  # ... and after which once more, every time that led nowhere
LAST = 0.65  # of the search, from when on only the best one counts: polish takes time


class Island(NamedTuple):
    """A plan that is being improved, and what is known of its value."""

    plan: Plan
    score: float  # on the episodes that all plans are scored on: for choosing
    tally: Tally  # on all its episodes: for reporting
    idle: int = 0  # hops since its last real gain
    looked: int = 0  # times that its neighbours were looked at

    def tried(self, verdict: Verdict) -> "Island":
        """After a hop from here that led nowhere."""
        return self._replace(tally=self.tally.plus(verdict.old), idle=self.idle + 1)

    @property
    def stuck(self) -> bool:
        """Whether it is time for its neighbours."""
        return self.idle >= POLISH + AGAIN * self.looked


def real(verdict: Verdict) -> bool:
    """Whether the gain of a hop is more than polish."""
    return verdict.gain > REAL * verdict.old.deviation


class Islands:
    """The best one first, the others by their scores.

    `turns` says which one every hop of a round starts from; None stands for a fresh start.
    """

    def __init__(self, islands: Iterable[Island], turn: int, count: int, young: float) -> None:
        self.all, self.turn = list(islands), turn
        self.count, self.young = count, young  # how many take turns, up to which progress

    @property
    def best(self) -> Island:
        """The one to return."""
        return self.all[0]

    def choose(self, candidates: Iterable[Island]) -> None:
        """Begin with some of the candidates."""
        self.all = chosen(candidates, self.count) or self.all

    def add(self, fresh: Island) -> None:
        """A challenger; one that plays like another is none."""
        if all(fresh.score != island.score for island in self.all):
            self.all.append(fresh)

    @property
    def rival(self) -> Island | None:
        """The one that seems better than the best one, by its score."""
        self.all[1:] = sorted(self.all[1:], key=lambda island: -island.score)
        return self.all[1] if len(self.all) > 1 and self.all[1].score > self.best.score else None

    def met(self, verdict: Verdict) -> None:
        """The rival took the place of the best one, or has to do without its luck."""
        best, rival = self.best._replace(tally=self.best.tally.plus(verdict.old)), self.all[1]
        if verdict.accepted:
            self.all[:2] = [rival._replace(tally=rival.tally.plus(verdict.new)), best]
        else:
            self.all[:2] = [best, rival._replace(score=best.score + min(0.0, verdict.gain))]

    def turns(self, hops: int, progress: float) -> list[int | None]:
        """Whose turn it is, for the hops of a round; those that have to make way do so before."""
        del self.all[self.count if progress <= self.young else 2 :]
        self.all[1:] = [island for island in self.all[1:] if island.idle < PATIENCE]
        numbers = [self._next(progress) for _ in range(hops)]
        return [number if number < len(self.all) else None for number in numbers]

    def _next(self, progress: float) -> int:
        turn, self.turn = self.turn, self.turn + 1
        if progress <= self.young:
            return turn % self.count
        if progress > LAST:
            return 0
        own = TURNS // 2 if self.best.idle >= STUCK else TURNS - 1  # turns of the best one
        return int(turn % TURNS >= own)


def chosen(islands: Iterable[Island], count: int) -> list[Island]:
    """The best one, the best of at most half its size, the best of at most half of that, ...; then whatever is good.

    Large machines score well early and are hard to improve; small ones catch up. Those of the same score to the last
    digit are left out: on the same episodes that means the same play.
    """
    ranked = list(
        {island.score: island for island in sorted(islands, key=lambda i: (-i.score, -sum(sizes(i.plan))))}.values()
    )
    kept: list[Island] = []
    rest: list[Island] = []
    for island in ranked:
        small = not kept or 2 * sum(sizes(island.plan)) <= sum(sizes(kept[-1].plan))
        (kept if small else rest).append(island)
    return (kept + rest)[:count]
