"""The result of learning or planning: a team, its trace, and why the run stopped."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from decpomdp.core.controller import Team
from decpomdp.core.settings import Settings

if TYPE_CHECKING:
    from decpomdp.core.model import DecPOMDP
    from decpomdp.core.simulator import Simulator

Cell = float | int | str | tuple[float, ...] | None
Row = Mapping[str, Cell]  # one line of a trace; every row of a trace has the same keys
Watch = Callable[[Row], bool | None]  # called with every new row; the run ends when it returns True


@dataclass(frozen=True, slots=True)
class Fit:
    """The result of a run: a team and its history.

    Attributes
    ----------
    team
        The learned or planned team.
    trace
        One row per iteration, all with the same keys, which depend on the method.
    stopped
        Why the run ended: "converged", "iterations", "sweeps", "steps", "time limit", "callback" or "interrupted".
    seconds
        Duration of the run. Compiling is not counted if time is limited or progress is shown.
    settings
        The settings of the method, defaults included.
    seed
        The seed.
    facts
        Other results of the method, such as bounds, or sizes that follow from a speed probe.

    Examples
    --------
    >>> import decpomdp as dp
    >>> fit = dp.learn("dectiger", steps=200_000, seed=1)
    >>> fit.stopped, fit.settings.method, "value" in fit.trace[-1]
    ('steps', 'search', True)
    """

    team: Team
    trace: tuple[Row, ...] = ()
    stopped: str = ""
    seconds: float = 0.0
    settings: Settings | None = None
    seed: int = 0
    facts: Row = field(default_factory=dict)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write a run folder: team.json, trace.parquet and run.json. `Run.load` reads it, `decpomdp report` shows it.

        Examples
        --------
        >>> import tempfile
        >>> import decpomdp as dp
        >>> fit = dp.learn("broadcast", steps=100_000, seed=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     fit.save(f"{folder}/run")
        ...     dp.Run.load(f"{folder}/run").team == fit.team
        True
        """
        from decpomdp.io.runs import save_fit

        save_fit(self, folder)

    def with_posterior(
        self,
        problem: "DecPOMDP | Simulator",
        *,
        episodes: int = 2000,
        time_limit: float = 20.0,
        seed: int = 0,
        threads: int | None = None,
    ) -> "Fit":
        """The same fit with a posterior: how many nodes fresh episodes of its team support, with intervals.

        Parameters
        ----------
        problem
            The problem that the team was learned on.
        episodes, time_limit
            Maximum number of episodes, and of seconds.
        seed
            Seed of all random numbers.
        threads
            Number of threads; all cores by default.

        Returns
        -------
        BayesFit
            Its `posterior` is None if the time was too short.

        Raises
        ------
        InputError
            An argument is of the wrong type, or the episodes contain no information about the team.

        Examples
        --------
        >>> import decpomdp as dp
        >>> model = dp.load("broadcast")
        >>> fit = dp.learn(model, steps=2_000_000, seed=1).with_posterior(model)
        >>> len(fit.posterior.sizes)
        2
        """
        from decpomdp.interaction.posterior_of_team import read_out

        return read_out(problem, self, episodes=episodes, time_limit=time_limit, seed=seed, threads=threads)
