"""Behaviour of the team that is missing from the data, and the warnings about it.

A missing share of a step may have earned any possible reward. It is estimated in two ways.

**By the ratios.** Their mean is 1 at every step if the behaviour may take all actions that the team may. If the mean is
lower, the data lack episodes that the team would often play: by chance, because such episodes are rare under the
behaviour and have large ratios, or because the behaviour never plays them. With w the mean ratio of a step, a share 1 -
w is missing. The self-normalised estimate assumes that it earned as much as the rest, R_t. The other two assume that it
earned nothing: they are too small (or too large for negative rewards), and so are their standard errors. Therefore

  * their intervals also contain that of the self-normalised estimate, which corrects for the deficit;
  * if the deficit is significant or large, or the team takes an action that never occurs in the data, the missing share
    may have earned any reward from `low` to `high`. With m_t = 1 - w_t + 1.64 standard errors, an upper bound on it,
    the interval is extended by sum_t d^t m_t (R_t - low) downwards and by sum_t d^t m_t (high - R_t) upwards.

**By the recorded probabilities.** One percent of a team's behaviour may earn most of its value, and a deficit of one
percent is within the noise of the ratios. The recorded probabilities contain more information. Consider all episodes in
which an agent has the same own history h at step t. The actions that it took there leave

  U = 1 - sum of p(a | h, team),   B = 1 - sum of p(a | h, behaviour)   over actions a that were taken after h

to the other actions; an episode with one of them would have the ratio U / B. If that is far above every ratio in the
data, no resample can represent it. With w_k the ratio of the previous steps and K episodes, its share in the mean
ratio, and the standard error of that share, are

  mass = sum_k w_k U / K,   error = sqrt(sum_k w_k^2 U^2 / B) / K

So the missing share is at most the mass (B near 0), with the error of the mean of w_k U, or a number of these standard
errors. For each h one of the two is used: the mass for those with the largest U / B, with the split that has the
smallest sum. A share that is missing at a step is missing from all later steps.

Different histories are not compared: if few histories occur twice, rare actions are not detected.

**Statistics of logged episodes** tell for how many steps an off-policy evaluation is possible. An episode is evidence
for another team only as long as the team takes the same actions. A deterministic team agrees with an action with the
probability of that action under the behaviour, so after t steps about K exp(mean over episodes of ln of the product of
those probabilities) of K episodes still agree.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import NO_OBSERVATION, Episodes, Team
from decpomdp.core.minimal import minimised
from decpomdp.evaluation.offpolicy.estimates import LARGEST, Weighted, inverse
from decpomdp.evaluation.sampled import mean_return
from decpomdp.kernels.expectation import running_sums

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FEWEST = 0.99  # a mean ratio below this gives a warning,
ERRORS = 2.5  # if it is this many standard errors below 1;
FEW = 0.95  # a mean ratio below this always does: without large ratios, standard errors are too small
MARGIN = 1.64  # standard errors, of one side of 90 %: the mean ratio may be this much too high
BEYOND = 2.0  # factor of the largest ratio of an agent's action in the data; larger ratios count as missing
NOTHING = 1e-9  # a sum of probabilities may be this far from 1
SINGLE = 1e-6  # recorded probabilities are of single precision, and so are their sums
# Effective episodes below which an estimate is unreliable. A higher limit would not help: without the episodes of the
# largest ratios the effective sample size is larger. The mean ratio detects this.
ENOUGH = 10.0
WORTH = 1e-3  # larger missing shares of the team's behaviour give a warning
AGREEING = 10.0  # episodes that must agree with a team


def missing_share(ratios: Floats, surely: bool) -> Floats:
    """[t]: an upper bound on the share that is missing at each step; 0 where it may be chance.

    `surely`: the team takes an action that the data never show.
    """
    means, errors = ratios.mean(axis=0), ratios.std(axis=0) / np.sqrt(len(ratios))
    lacking = (means < FEW) | ((means < FEWEST) & (means + ERRORS * errors < 1))
    return np.where(lacking | surely, np.clip(1 - means + MARGIN * errors, 0.0, 1.0), 0.0)


def joined(ends: Floats, weighted: Weighted, share: Floats, low: Floats, high: Floats) -> Floats:
    """The intervals [3, 2] with the missing `share` [t]; low[t], high[t]: what a step may earn, discounted."""
    average = weighted.gains.sum(axis=0) * inverse(weighted.scaled.sum(axis=0))  # [t]
    down, up = (share * np.maximum(more, 0.0) for more in (average - low, high - average))
    normal = ends[-1] + np.array([-down.sum(), up.sum()])
    return np.stack([np.minimum(ends[:, 0], normal[0]), np.maximum(ends[:, 1], normal[1])], axis=1)


class Unseen(NamedTuple):
    """Behaviour of the team that the data cannot show, at every step."""

    share: Floats  # [t] an upper bound, with the shares of earlier steps
    always: NDArray[np.bool_]  # [t] whether it is the complete behaviour of some agent
    behaviour: Floats  # [t] an upper bound on its probability under the behaviour


def unsupported(episodes: Episodes, chances: Floats, ratios: Floats) -> Unseen:
    """The behaviour of the team that the data cannot show.

    chances[r, n]: probability of the action under the team given the agent's own history; ratios[k, t] of all so far.
    """
    horizon = ratios.shape[1]
    before = np.concatenate([np.ones((len(ratios), 1)), ratios[:, :-1]], axis=1)  # [k, t]
    share, most, always = np.zeros(horizon), np.zeros(horizon), np.zeros(horizon, bool)
    for n in range(len(episodes.agents)):
        steps = episodes.times() < horizon
        largest = float((chances[steps, n] / episodes.behaviour[steps, n]).max())
        own = _of_agent(episodes, n, chances[:, n], before, BEYOND * largest)
        share, always, most = share + own.share, always | own.always, np.maximum(most, own.behaviour)
    return Unseen(np.minimum(np.cumsum(share), 1.0), always, most)


def _of_agent(episodes: Episodes, n: int, chances: Floats, before: Floats, limit: float) -> Unseen:
    """The part of one agent."""
    actions, symbols = len(episodes.agents[n].actions), len(episodes.agents[n].observations)
    history = np.zeros(episodes.count, np.int64)  # [k] a number for the agent's history of actions and observations
    share, most, always = np.zeros(before.shape[1]), np.zeros(before.shape[1]), np.zeros(before.shape[1], bool)
    for t in range(len(share)):
        k = np.flatnonzero(episodes.lengths > t)
        rows = episodes.offsets[k] + t
        _, place = np.unique(history[k] * (symbols + 1) + episodes.observations[rows, n] + 1, return_inverse=True)
        _, one, history[k] = np.unique(
            place * actions + episodes.actions[rows, n], return_index=True, return_inverse=True
        )
        left = np.maximum(1 - np.bincount(place[one], chances[rows[one]]), 0.0)  # [h] U
        behaved = np.maximum(1 - np.bincount(place[one], _least(episodes.behaviour[rows, n], history[k])), 0.0)  # [h] B
        beyond = (left > NOTHING) & (left > limit * behaved)
        if beyond.any():
            share[t] = _share(left[place], behaved[place], before[k, t], beyond[place], len(before))
            always[t], most[t] = left.min() >= 1 - SINGLE, behaved[beyond].max()
    return Unseen(share, always, most)


def _least(recorded: NDArray[np.floating], group: Ints) -> Floats:
    """The minimum of every group: one history and action of an agent may have several recorded probabilities."""
    least = np.full(int(group.max()) + 1, np.inf)
    np.minimum.at(least, group, recorded)
    return least


def _share(left: Floats, behaved: Floats, weights: Floats, beyond: NDArray[np.bool_], count: int) -> float:
    """The minimum over all splits into mass and standard errors, of the rows [k] that are `beyond`."""
    left, behaved, mass = left[beyond], np.maximum(behaved[beyond], NOTHING), (weights * left)[beyond]
    largest = float(mass.max())
    order = np.argsort(-left / behaved)
    mass = mass[order] / max(largest, 1e-300)  # so that squares stay finite
    chance = mass**2 / behaved[order]
    sums, squares = (np.concatenate([[0.0], np.cumsum(part)]) for part in (mass, mass**2))  # of the first i rows
    rest = np.concatenate([np.cumsum(chance[::-1])[::-1], [0.0]])  # of the others
    spread = np.maximum(squares - sums**2 / count, 0.0)  # of the mass over all episodes
    return largest * float((sums + MARGIN * (np.sqrt(spread) + np.sqrt(rest))).min()) / count


def warnings_of(
    episodes: Episodes,
    never: list[str],
    shares: Weighted,
    lacking: np.ndarray,
    unseen: Unseen,
    sizes: np.ndarray,
    span: tuple[float, float] | None,
) -> tuple[str, ...]:
    """Reasons not to rely on the estimates.

    `never`: the result of `never_taken`; lacking[t], unseen: bounds on missing shares, by the ratios and by the
    recorded probabilities; sizes[t]: effective sample sizes; `span`: the rewards' range if it was taken from the data.
    """
    messages = []
    if not sizes.min():
        messages.append("no episode of the data is possible under the team: the estimates are meaningless")
    allowed = "intervals allow for it"
    if span is not None:
        allowed += (
            f" only within {span[0]:g} to {span[1]:g}, the rewards of the file; give --reward-range (reward_range=)"
        )
    messages += [f"{words}: the estimates leave it out; {allowed}" for words in never]
    messages += _same_reward(episodes, len(sizes)) if span is not None else []
    if 0 < sizes.min() < ENOUGH:
        t = int(sizes.argmin())
        messages.append(
            f"the effective sample size falls to {sizes[t]:.3g} of {episodes.count} episodes at step {t}: "
            f"do not rely on the estimates; collect more episodes, or closer to the team"
        )
    means = shares.ratios.mean(axis=0)
    short = (lacking > 0) & (means < FEWEST)
    if short.any():
        t = int(short.argmax())
        messages.append(
            f"from step {t} the ratios average {means[t]:.3g} where 1 is expected: part of the team's behaviour "
            f"is missing from the data or rare in them, and may have earned anything; {allowed}"
        )
    if (unseen.share > WORTH).any():
        messages.append(f"{_situation(unseen)}: they may have earned anything; {allowed}")
    if (shares.top >= LARGEST).any():
        messages.append(f"some ratios are beyond exp({LARGEST:g}) and were cut: the horizon is too long for these data")
    return tuple(messages)


def _same_reward(episodes: Episodes, horizon: int) -> list[str]:
    seen = episodes.rewards[episodes.times() < horizon]
    if seen.min() < seen.max():
        return []
    return [
        f"every reward of the data is {seen[0]:g}, and the guarantee assumes that no other is possible: give the "
        f"range of possible rewards (--reward-range, reward_range=)"
    ]


def _situation(unseen: Unseen) -> str:
    """The first step at which the team takes actions that the data never show in the same situation."""
    t = int((unseen.share > WORTH).argmax())
    team = f"with probability up to {unseen.share[t]:.2g}"
    if unseen.share[t] > 0.99:
        team = "always" if unseen.always[t] else "perhaps always"
    behaviour = f"with probability up to {unseen.behaviour[t]:.2g}"
    if unseen.behaviour[t] < SINGLE:
        behaviour = "never"
    taken = f"the team takes them {team}, the behaviour {behaviour}"
    return f"at step {t}, actions that the data never show in the same situation ({taken})"


def never_taken(episodes: Episodes, team: Team) -> list[str]:
    """Actions that a reachable node of the team may take and that the data never show."""
    messages = []
    for n, (agent, controller) in enumerate(zip(episodes.agents, minimised(team).controllers, strict=True)):
        counts = np.bincount(episodes.actions[:, n], minlength=len(agent.actions))
        unseen = [agent.actions[a] for a in np.flatnonzero((counts == 0) & (controller.action.max(axis=0) > 0))]
        if unseen:
            messages.append(f"{agent.name} may take {', '.join(unseen)}, which the data never show")
    return messages


def facts_of(episodes: Episodes) -> dict[str, Any]:
    """Counts, lengths, rewards, returns and probabilities of episodes."""
    returns, ended = episodes.returns(), np.asarray(episodes.terminated)
    _, error = mean_return([returns])
    return {
        "name": episodes.name,
        "episodes": episodes.count,
        "steps": episodes.steps,
        "lengths": _spread(episodes.lengths),
        "terminated": int(ended.sum()),
        "truncated": int((~ended).sum()),
        "discount": episodes.discount,
        "returns": {**_spread(returns), "standard_error": error if len(returns) > 1 else None},
        "rewards": _spread(episodes.rewards),
        "agents": [_agent(episodes, n) for n in range(len(episodes.agents))],
        "joint_actions": {
            "seen": len(np.unique(episodes.actions, axis=0)),
            "possible": int(np.prod([len(agent.actions) for agent in episodes.agents], dtype=object)),
        },
        "behaviour": _behaviour(episodes),
        "facts": dict(episodes.facts),
    }


def _spread(values: NDArray) -> dict[str, float]:
    kind = int if values.dtype.kind in "iu" else float
    return {"mean": float(values.mean()), "min": kind(values.min()), "max": kind(values.max())}


def _agent(episodes: Episodes, n: int) -> dict[str, Any]:
    """Name and alphabets of one agent with the counts of all labels."""
    agent, seen = episodes.agents[n], episodes.observations[:, n]
    actions = np.bincount(episodes.actions[:, n], minlength=len(agent.actions))
    observations = np.bincount(seen[seen != NO_OBSERVATION], minlength=len(agent.observations))
    return {
        "name": agent.name,
        "actions": dict(zip(agent.actions, actions.tolist(), strict=True)),
        "observations": dict(zip(agent.observations, observations.tolist(), strict=True)),
        "nothing_seen": int((seen == NO_OBSERVATION).sum()),  # before the first action
    }


def _behaviour(episodes: Episodes) -> dict[str, Any]:
    """How many of the behaviour's probabilities are known, and their range."""
    known = ~np.isnan(episodes.behaviour)
    values = episodes.behaviour[known]
    return {
        "known": int(known.sum()),
        "of": int(known.size),
        "min": float(values.min()) if values.size else None,
        "max": float(values.max()) if values.size else None,
        "supported_steps": _supported(episodes) if known.all() else None,
    }


def _supported(episodes: Episodes) -> int:
    """Steps over which at least AGREEING episodes are expected to agree with a deterministic team."""
    logs = np.empty(episodes.steps)
    running_sums(np.log(episodes.behaviour, dtype=np.float64), episodes.offsets, logs)
    steps = np.arange(int(episodes.lengths.max()))
    last = np.minimum(steps, episodes.lengths[:, None] - 1)  # [k, t] an episode that has ended keeps its last value
    agreeing = episodes.count * np.exp(logs[episodes.offsets[:-1, None] + last].mean(axis=0))  # [t]
    return int(np.argmax(np.append(agreeing, 0.0) < AGREEING))
