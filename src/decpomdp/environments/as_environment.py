"""A problem as a PettingZoo environment: the door. What is behind it, `problem_env.py`, needs PettingZoo."""

from typing import TYPE_CHECKING

from decpomdp.core.checks import whole
from decpomdp.domains.load import Problem, opened
from decpomdp.environments.hosting import missing
from decpomdp.rollouts.dense import as_simulator

if TYPE_CHECKING:
    from decpomdp.environments.problem_env import ProblemEnv


def parallel_env(
    problem: Problem,
    horizon: int | None = None,
    seed: int | None = None,
    render_mode: str | None = None,
) -> "ProblemEnv":
    """Any problem as a `pettingzoo.ParallelEnv`.

    Parameters
    ----------
    problem
        A model, the name of a built-in problem, a `.dpomdp` file, or a simulator.
    horizon
        Steps after which an episode is cut off (truncated); None: never.
    seed
        Of the first `reset()` that is given none; None: a different one every time. `reset(seed=...)` sets it anew.
    render_mode
        None, or "ansi": `render()` returns the last step in words.

    Returns
    -------
    pettingzoo.ParallelEnv
        Every agent is paid the team's whole reward.

    Raises
    ------
    InputError
        There is no such problem, a number is out of its range, or PettingZoo is not installed.

    Examples
    --------
    >>> import decpomdp as dp
    >>> env = dp.parallel_env("dectiger", horizon=10)
    >>> observations, infos = env.reset(seed=0)
    >>> observations  # nothing is seen before the first action: the symbol after the last real one
    {'agent1': 2, 'agent2': 2}
    >>> observations, rewards, ended, cut, infos = env.step({"agent1": 0, "agent2": 0})
    >>> rewards
    {'agent1': -2.0, 'agent2': -2.0}
    """
    try:
        from decpomdp.environments.problem_env import ProblemEnv
    except ImportError as error:
        raise missing(error) from None
    steps = None if horizon is None else whole("horizon", horizon, 1, 2**53)
    return ProblemEnv(as_simulator(opened(problem)), steps, seed, render_mode)
