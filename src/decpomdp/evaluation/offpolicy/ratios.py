"""Importance ratios: how much likelier are the logged actions under a team than under the behaviour that took them?

  ratio_t = prod over agents n and steps s <= t of  p(a_{n,s} | h_{n,s}, team) / p(a_{n,s} | h_{n,s}, behaviour)

The numerator is the marginal probability of the action given the agent's own history, whatever the hidden node: the
normaliser of the forward filter over the nodes of its controller. The denominator is what the episodes recorded.
"""

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Episodes, InputError, Team
from decpomdp.engines import threads as engine
from decpomdp.filtering.filter import cumulated, filtered, tables_of
from decpomdp.filtering.layout import lay_out

Floats = NDArray[np.float64]


def log_ratios(episodes: Episodes, team: Team, threads: int | None = None) -> Floats:
    """[r]: log ratio of all actions so far in the episode; minus infinity when the team would not have taken them."""
    return ratios_of(episodes, log_chances(episodes, team, threads))


def log_chances(episodes: Episodes, team: Team, threads: int | None = None) -> Floats:
    """[r, n]: log probability of every action under the team, given the agent's own history."""
    team.check_fits(episodes)
    _check_known(episodes)
    tables = [tables_of(team, n) for n in range(len(team.agents))]
    with engine.serial_products():
        logs, _ = filtered(lay_out(episodes, max(team.nodes)), tables, False, threads)
    return logs


def ratios_of(episodes: Episodes, logs: Floats) -> Floats:
    """[r]: log ratio of all actions so far, from what `log_chances` says."""
    behaved = cumulated(np.log(episodes.behaviour, dtype=np.float64), episodes)
    return cumulated(logs, episodes) - behaved


def _check_known(episodes: Episodes) -> None:
    unknown = np.isnan(episodes.behaviour)
    if unknown.any():
        row, n = (int(i) for i in np.argwhere(unknown)[0])
        raise InputError(
            f"{episodes.place(row)}, agent {episodes.agents[n].name}: expected the probability with which the "
            f"behaviour took the action, got unknown; without it logged episodes say nothing certain about another team"
        )
