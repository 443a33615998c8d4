"""What a user should know before trusting a value in fitted worlds."""

from collections.abc import Sequence

from decpomdp.core import Agent, InputError
from decpomdp.core.agent import edges_of

DISAGREE = 0.1  # share of the range of values by which admitted worlds may differ without a warning
MISFIT, CLEARLY = 0.05, 4.0  # nats a step by which held-out episodes may surprise without a warning; standard errors
OUTSIDE = 0.05  # share of a team's discounted steps in situations that are rare in the logs, without a warning


def doubts(
    agents: Sequence[Agent],
    complete: bool,
    values: Sequence[float],
    range_of_values: float,
    surprise: tuple[float, float],
    outside: float,
) -> list[str]:
    """Warnings about the chosen team.

    `values`: in the admitted worlds. `range_of_values`: over all teams, worlds and the behaviour. `surprise`: nats a
    step by which held-out episodes are less likely than the best world expects, and this in standard errors.
    `outside`: share of the team's steps in situations that are rare in the episodes.
    """
    span = max(values) - min(values)
    checks = {
        "no interval: the fits of the world were cut short, so the value is unreliable; allow more time": not complete,
        "the observations are numbers in bins: the true value may be far below that in the worlds": any(
            map(binned, agents)
        ),
        "the value differs between worlds that predict about equally well: "
        f"{min(values):.4g} to {max(values):.4g}": span > DISAGREE * max(range_of_values, 1e-9 * abs(values[0])),
        "no world fits well: held-out episodes are less likely than the best one predicts, by "
        f"{surprise[0]:.2g} nats a step": surprise[0] > MISFIT and surprise[1] > CLEARLY,
        f"the team spends {outside:.0%} of its steps in situations that are rare in the episodes": outside > OUTSIDE,
    }
    return [text for text, holds in checks.items() if holds]


def binned(agent: Agent) -> bool:
    """Whether observations are numbers in bins. Bins are not states, and no check of the worlds detects that."""
    try:
        return any(edges_of(agent).values())
    except InputError:
        return False
