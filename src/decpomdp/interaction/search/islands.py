"""Islands: plans that are improved in parallel, and the schedule of the hops.

A plan may need hundreds of hops to leave a local optimum, where a fresh start needs a few dozen, so the best plan
always has challengers. At first all islands are improved in turn. Later there is one challenger, with one hop in four
(one in two once the best plan is stuck); in the last third only the best plan is improved. A challenger with a lower
score that has stopped improving is replaced by a fresh start. One with a higher score replaces the best plan if it wins
a trial.
"""

from collections.abc import Iterable
from typing import NamedTuple

from decpomdp.interaction.search.machines import Plan, sizes
from decpomdp.interaction.search.trial import ReturnSums, TrialResult

REAL = 0.01  # smallest gain that counts, in standard deviations of a return
PATIENCE = 16  # hops without a gain after which a challenger that is behind is replaced
STUCK = 40  # hops without a gain after which the best plan gets only half of the turns
TURNS = 4  # length of the schedule of the best plan and its challenger
POLISH = 60  # hops without a gain after which all neighbours of the best plan are evaluated ...
AGAIN = 12  # ... and hops until the next time, after every failure
LAST = 0.65  # of the search, after which only the best plan is improved


class Island(NamedTuple):
    """A plan that is being improved, and the estimates of its value."""

    plan: Plan
    score: float  # on the episodes that all plans are scored on: for choosing
    tally: ReturnSums  # on all its episodes: for reporting
    idle: int = 0  # hops since its last real gain
    looked: int = 0  # times that its neighbours were evaluated

    def tried(self, verdict: TrialResult) -> "Island":
        """After a hop without success."""
        return self._replace(tally=self.tally.plus(verdict.old), idle=self.idle + 1)

    @property
    def stuck(self) -> bool:
        """Whether its neighbours should be evaluated."""
        return self.idle >= POLISH + AGAIN * self.looked


def real(verdict: TrialResult) -> bool:
    """Whether the gain of a hop is large enough to count."""
    return verdict.gain > REAL * verdict.old.deviation


class Islands:
    """The best one first, the others by their scores.

    `turns` says which one every hop of a round starts from; None: a fresh start.
    """

    def __init__(self, islands: Iterable[Island], turn: int, count: int, young: float) -> None:
        self.all, self.turn = list(islands), turn
        self.count, self.young = count, young  # number of islands, and the progress up to which all are improved

    @property
    def best(self) -> Island:
        """The island with the plan to return."""
        return self.all[0]

    def choose(self, candidates: Iterable[Island]) -> None:
        """Select the first islands among the candidates."""
        self.all = chosen(candidates, self.count) or self.all

    def add(self, fresh: Island) -> None:
        """Add a challenger, unless it plays like another island."""
        if all(fresh.score != island.score for island in self.all):
            self.all.append(fresh)

    @property
    def rival(self) -> Island | None:
        """The island with a higher score than the best one, if any."""
        self.all[1:] = sorted(self.all[1:], key=lambda island: -island.score)
        return self.all[1] if len(self.all) > 1 and self.all[1].score > self.best.score else None

    def resolve(self, verdict: TrialResult) -> None:
        """After a trial against the best one: the rival replaces it, or its score is corrected."""
        best, rival = self.best._replace(tally=self.best.tally.plus(verdict.old)), self.all[1]
        if verdict.accepted:
            self.all[:2] = [rival._replace(tally=rival.tally.plus(verdict.new)), best]
        else:
            self.all[:2] = [best, rival._replace(score=best.score + min(0.0, verdict.gain))]

    def turns(self, hops: int, progress: float) -> list[int | None]:
        """The island of every hop of a round, after dropping islands that are behind."""
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
    """The best one, the best of at most half its size, the best of at most half of that, ...; then the others by score.

    Large machines score well early and are hard to improve; small ones catch up. Of islands with equal scores, which
    play alike, one is chosen.
    """
    ranked = list(
        {island.score: island for island in sorted(islands, key=lambda i: (-i.score, -sum(sizes(i.plan))))}.values()
    )
    halving: list[Island] = []
    rest: list[Island] = []
    for island in ranked:
        small = not halving or 2 * sum(sizes(island.plan)) <= sum(sizes(halving[-1].plan))
        (halving if small else rest).append(island)
    return (halving + rest)[:count]
