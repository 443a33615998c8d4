"""The last batches with the teams that played them.

Every step is weighed by p(actions so far | team) / p(actions so far | mixture of the behaviours of the window). The
newest behaviour is part of the mixture, so a ratio to a team close to it is at most about the number of batches.
"""

from dataclasses import dataclass, field

import numpy as np

from decpomdp.core import Episodes, Team, concatenate
from decpomdp.filtering.filter import Filtered, cumulated, filtered, tables_of
from decpomdp.filtering.layout import Layout, lay_out
from decpomdp.learners.rows import Floats


@dataclass(slots=True)
class Batch:
    """Episodes with the log probability of their actions so far, under the behaviour of the batch and the others."""

    episodes: Episodes
    own: Floats  # [r]
    relative: list[Floats]  # per behaviour of the window: exp(log probability - own)

    def log_mixture(self) -> Floats:
        """[r]."""
        return self.own + np.log(np.mean(np.array(self.relative), axis=0))


@dataclass(frozen=True, slots=True)
class Seen:
    """All episodes of the window, filtered with the newest behaviour."""

    layout: Layout
    log_mixture: Floats  # [r]
    ratio: Floats  # [r] newest behaviour to mixture
    filtered: list[Filtered | None]

    @property
    def episodes(self) -> Episodes:
        """All of them."""
        return self.layout.episodes

    def sample_sizes(self) -> Floats:
        """[t]: effective number of episodes."""
        times = self.episodes.times()
        return np.bincount(times, self.ratio) ** 2 / np.maximum(np.bincount(times, self.ratio**2), 1e-300)


@dataclass(slots=True)
class Window:
    """Batches and behaviours, oldest first; plain data, so that it is part of a checkpoint."""

    batches: list[Batch] = field(default_factory=list)
    behaviours: list[Team] = field(default_factory=list)

    def add(self, episodes: Episodes, behaviour: Team, size: int, cap: float, threads: int | None) -> Seen:
        """Add a batch, drop the oldest if there are more than `size`; ratios are at most `cap`."""
        # DEPARTS: the paper learns from the newest batch alone, with ratios as they are
        if len(self.batches) == size:
            del self.batches[0], self.behaviours[0]
            for batch in self.batches:
                del batch.relative[0]
        layout = lay_out(episodes, max(behaviour.nodes))
        own = likelihood(layout, behaviour, 1)[0]
        relative = [_relative(likelihood(layout, team, 1)[0], own) for team in self.behaviours]
        self.batches.append(Batch(episodes, own, relative))
        self.behaviours.append(behaviour)
        layout = lay_out(concatenate([batch.episodes for batch in self.batches]), max(behaviour.nodes))
        log_team, nodes = likelihood(layout, behaviour, threads)
        ends = np.cumsum([batch.episodes.steps for batch in self.batches])
        for batch, part in zip(self.batches, np.split(log_team, ends[:-1]), strict=True):
            batch.relative.append(_relative(part, batch.own))
        mixture = np.concatenate([batch.log_mixture() for batch in self.batches])
        ratio = np.exp(np.minimum(log_team - mixture, np.log(cap)))
        return Seen(layout, mixture, ratio, nodes)


def likelihood(layout: Layout, team: Team, threads: int | None) -> tuple[Floats, list[Filtered | None]]:
    """[r]: log probability that `team` takes all actions so far; and the filtered nodes."""
    logs, nodes = filtered(layout, [tables_of(team, n) for n in range(len(team.agents))], True, threads)
    return cumulated(logs, layout.episodes), nodes


def _relative(log_team: Floats, own: Floats) -> Floats:
    return np.exp(np.minimum(log_team - own, 600.0))
