"""How sure may one be of a team that was found by searching? The posterior that its own fresh episodes support.

Fresh episodes are played with a little exploration, and a few sweeps of Dec-SBPR start from the team. Nodes that these
episodes do not need lose their weight: the sizes of the posterior are the inferred ones, to be held against the sizes
that the search kept. Rows of the posterior say how much is known about what each node does. The importance ratios are
capped: without that one lucky episode would carry all the weight (docs/formulas.md).
"""

import warnings

from decpomdp.core import DecPOMDP, Fit, InputError, Simulator
from decpomdp.core.errors import LearningWarning
from decpomdp.core.horizon import horizon_of
from decpomdp.learners import BayesFit, LearnSettings, StickBreaking, learn_from_episodes
from decpomdp.rollouts import simulate

EPISODES = 2000  # fresh ones
EXPLORATION = 0.02  # enough to see what else could be done, little enough that teamwork still pays
TAIL = 0.05  # discount^T: later steps hardly count, and ratios grow with every step
LONGEST = 100  # steps of an episode, whatever the discount
SWEEPS = 10  # two proposals of smaller sizes
CAP = 5.0
SPARE = 2  # nodes beside the team's own


def read_out(problem: DecPOMDP | Simulator, fit: Fit, *, seed: int = 0, threads: int | None = None) -> BayesFit:
    """The same fit with a posterior: size and uncertainty of its controllers, from fresh episodes of `problem`.

    Parameters
    ----------
    problem
        What the team was learned on.
    fit
        The result of learning or planning.
    seed
        Fixes every random choice.
    threads
        How many; all cores by default.

    Returns
    -------
    BayesFit
        The same team and trace, with the posterior.

    Raises
    ------
    InputError
        An argument is of the wrong kind, or the team's episodes say nothing about it.

    Examples
    --------
    >>> import decpomdp as dp
    >>> model = dp.load("broadcast")
    >>> fit = dp.read_out(model, dp.learn(model, steps=2_000_000, seed=1))
    >>> len(fit.posterior.sizes)
    2
    """
    if not isinstance(fit, Fit):
        raise InputError(f"fit: expected the result of learning or planning, got {type(fit).__name__}")
    team = fit.team
    horizon = horizon_of(team.discount, TAIL, LONGEST)
    episodes = simulate(problem, team.exploring(EXPLORATION), EPISODES, horizon, seed, threads)
    if not episodes.rewards.any() or episodes.rewards.min() == episodes.rewards.max():
        raise InputError("posterior: the team's episodes all have the same rewards, which say nothing about it")
    settings = LearnSettings(truncation=max(team.nodes) + SPARE, sweeps=SWEEPS, cap=CAP)
    with warnings.catch_warnings():  # that this team is better than its neighbours is known already
        warnings.simplefilter("ignore", LearningWarning)
        found = learn_from_episodes(episodes, StickBreaking(), team, settings=settings, seed=seed, threads=threads)
    return BayesFit(team, fit.trace, fit.stopped, fit.seconds, fit.settings, found.posterior)
