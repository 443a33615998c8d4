"""What speaks against an off-policy estimate: too few episodes that agree, actions that nobody ever took."""

import numpy as np

from decpomdp.core import Episodes, Team
from decpomdp.core.minimal import minimised
from decpomdp.evaluation.offpolicy_estimates import LARGEST, Weighted
from decpomdp.evaluation.offpolicy_missing import FEWEST

# Effective episodes below which an estimate is not to be relied on. A higher limit would not help: data that lack the
# episodes of the largest ratios have the larger sample sizes. Their mean ratio gives them away (`offpolicy_missing`).
ENOUGH = 10.0
WORTH = 1e-3  # a share of what the team does that may be missing is worth a word


def warnings_of(
    episodes: Episodes,
    never: list[str],
    shares: Weighted,
    lacking: np.ndarray,
    unseen: np.ndarray,
    sizes: np.ndarray,
    range_from_data: bool,
) -> tuple[str, ...]:
    """Why the estimates are not to be relied on.

    `never`: what `never_taken` says; lacking[t], unseen[t]: what share is missing at most, by the ratios and by the
    recorded probabilities; sizes[t]: effective episodes.
    """
    said = [*never]
    seen = episodes.rewards[episodes.times() < len(sizes)]
    if range_from_data and seen.min() == seen.max():
        said.append(
            f"every reward of the data is {seen[0]:g}, and the guarantee takes it that no other is possible: say which "
            f"rewards are (--reward-range, reward_range=)"
        )
    if not shares.scaled[:, -1].any():
        said.append("no episode of the data is possible under the team: the estimates mean nothing")
    elif sizes.min() < ENOUGH:
        t = int(sizes.argmin())
        said.append(
            f"the effective sample size falls to {sizes[t]:.3g} of {episodes.count} episodes at step {t}: "
            f"do not rely on the estimates; collect more episodes, or closer to the team"
        )
    means = shares.ratios.mean(axis=0)
    short = (lacking > 0) & (means < FEWEST)
    if short.any():
        t = int(short.argmax())
        said.append(
            f"from step {t} the ratios average {means[t]:.3g} where 1 is expected: some of what the team does "
            f"there is missing from the data or rare in them, and may have earned anything; intervals allow for it"
        )
    if (unseen > WORTH).any():
        t = int((unseen > WORTH).argmax())
        said.append(
            f"at step {t} the team does with probability {unseen[t]:.2g} or less what the data never show in the same "
            f"situation, where the behaviour hardly ever does it: it may have earned anything; intervals allow for it"
        )
    if (shares.top >= LARGEST).any():
        said.append(f"some ratios are beyond exp({LARGEST:g}) and were cut: the horizon is too long for these data")
    return tuple(said)


def never_taken(episodes: Episodes, team: Team) -> list[str]:
    """Actions that a reachable node of the team may take and that the data never show."""
    said = []
    for n, (agent, controller) in enumerate(zip(episodes.agents, minimised(team).controllers, strict=True)):
        counts = np.bincount(episodes.actions[:, n], minlength=len(agent.actions))
        unseen = [agent.actions[a] for a in np.flatnonzero((counts == 0) & (controller.action.max(axis=0) > 0))]
        if unseen:
            said.append(
                f"{agent.name} may take {', '.join(unseen)}, which the data never show: the estimates leave it out"
            )
    return said
