"""What speaks against an off-policy estimate: too few episodes that agree, actions that nobody ever took."""

import numpy as np

from decpomdp.core import Episodes, Team
from decpomdp.core.minimal import minimised
from decpomdp.evaluation.offpolicy.estimates import LARGEST, Weighted
from decpomdp.evaluation.offpolicy.support import FEWEST, SINGLE, Unseen

# Effective episodes below which an estimate is not to be relied on. A higher limit would not help: data that lack the
# episodes of the largest ratios have the larger sample sizes. Their mean ratio gives them away (`support`).
ENOUGH = 10.0
WORTH = 1e-3  # a share of what the team does that may be missing is worth a word


def warnings_of(
    episodes: Episodes,
    never: list[str],
    shares: Weighted,
    lacking: np.ndarray,
    unseen: Unseen,
    sizes: np.ndarray,
    span: tuple[float, float] | None,
) -> tuple[str, ...]:
    """Why the estimates are not to be relied on.

    `never`: what `never_taken` says; lacking[t], unseen: what is missing at most, by the ratios and by the recorded
    probabilities; sizes[t]: effective episodes; `span`: the rewards' range if it is merely that of the data.
    """
    said = []
    if not sizes.min():
        said.append("no episode of the data is possible under the team: the estimates mean nothing")
    allowed = "intervals allow for it"
    if span is not None:
        allowed += (
            f" only within {span[0]:g} to {span[1]:g}, the rewards of the file; give --reward-range (reward_range=)"
        )
    said += [f"{words}: the estimates leave it out; {allowed}" for words in never]
    said += _same_reward(episodes, len(sizes)) if span is not None else []
    if 0 < sizes.min() < ENOUGH:
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
            f"there is missing from the data or rare in them, and may have earned anything; {allowed}"
        )
    if (unseen.share > WORTH).any():
        said.append(f"{_situation(unseen)}: it may have earned anything; {allowed}")
    if (shares.top >= LARGEST).any():
        said.append(f"some ratios are beyond exp({LARGEST:g}) and were cut: the horizon is too long for these data")
    return tuple(said)


def _same_reward(episodes: Episodes, horizon: int) -> list[str]:
    seen = episodes.rewards[episodes.times() < horizon]
    if seen.min() < seen.max():
        return []
    return [
        f"every reward of the data is {seen[0]:g}, and the guarantee takes it that no other is possible: say which "
        f"rewards are (--reward-range, reward_range=)"
    ]


def _situation(unseen: Unseen) -> str:
    """The first step at which the team does what the data cannot show; a share is an upper bound, `always` is known."""
    t = int((unseen.share > WORTH).argmax())
    often = f"does with probability {unseen.share[t]:.2g} or less"
    if unseen.share[t] > 0.99:
        often = "always does" if unseen.always[t] else "does, perhaps always,"
    seldom = f"does it with probability {unseen.behaviour[t]:.2g} or less"
    if unseen.behaviour[t] < SINGLE:
        seldom = "never does it"
    return f"at step {t} the team {often} what the data never show in the same situation, where the behaviour {seldom}"


def never_taken(episodes: Episodes, team: Team) -> list[str]:
    """Actions that a reachable node of the team may take and that the data never show."""
    said = []
    for n, (agent, controller) in enumerate(zip(episodes.agents, minimised(team).controllers, strict=True)):
        counts = np.bincount(episodes.actions[:, n], minlength=len(agent.actions))
        unseen = [agent.actions[a] for a in np.flatnonzero((counts == 0) & (controller.action.max(axis=0) > 0))]
        if unseen:
            said.append(f"{agent.name} may take {', '.join(unseen)}, which the data never show")
    return said
