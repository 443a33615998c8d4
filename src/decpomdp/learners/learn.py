"""Dec-SBPR and its relatives: episodes in, a team of controllers of inferred size out."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial

from decpomdp.core import Episodes, Fit, Row, Team, Watch, checks, unwatched
from decpomdp.core.keeping import UNKEPT, Keeper
from decpomdp.core.minimal import simplified
from decpomdp.engines.cluster import Cluster
from decpomdp.engines.threads import serial_products
from decpomdp.filtering.layout import lay_out
from decpomdp.io.runs import team_digest
from decpomdp.learners.behaviour import with_denominators
from decpomdp.learners.loop import Loop
from decpomdp.learners.posterior import TeamPosterior
from decpomdp.learners.priors import Prior, chosen_prior
from decpomdp.learners.rows import Floats
from decpomdp.learners.settings import PRECISIONS, LearnSettings
from decpomdp.learners.start import beginning
from decpomdp.learners.sweep import Task
from decpomdp.learners.trace import warn_of_collapse, warn_of_falls
from decpomdp.learners.weighing import steps_of


@dataclass(frozen=True, slots=True)
class BayesFit(Fit):
    """A fit with its posterior.

    Attributes
    ----------
    team
        The posterior mean: stochastic where the data leave doubts.
    decided
        The team that always takes the likeliest choice.
    posterior
        What is believed about the controllers.
    trace, stopped, seconds, settings
        As in `Fit`; the trace has, for every sweep, the bound, the empirical value of the team of posterior means, the
        sizes, and the effective sample size: at every step, and at the weakest of those that count.

    Examples
    --------
    >>> import decpomdp as dp
    >>> model = dp.load("broadcast")
    >>> episodes = dp.simulate(model, dp.Team.uniform(model), 500, 5, seed=1)
    >>> fit = dp.learn(episodes, settings=dp.LearnSettings(cap=5.0, truncation=5, sweeps=20))
    >>> len(fit.decided.controllers), fit.trace[-1]["sample_size"] > 10
    (2, True)
    """

    posterior: TeamPosterior | None = None
    decided: Team | None = None


def learn_from_episodes(
    episodes: Episodes | Sequence[Episodes],
    prior: Prior | str | None = None,
    begin: Team | str = "best",
    *,
    behaviours: Sequence[Team] | None = None,
    settings: LearnSettings | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    threads: int | None = None,
    watch: Watch = unwatched,
    keeper: Keeper = UNKEPT,
    engine: Cluster | None = None,
) -> BayesFit:
    """Learn a team from episodes alone.

    `prior`: a prior or its name ("stick-breaking", "dp", "fixed:5", "em:3"). `begin`: "best" (the best episodes),
    "random", or a team. Several batches of episodes may be given, and with `behaviours` the team that collected each,
    so that ratios are taken to their mixture. Interrupting (Ctrl-C) returns the best so far. `keeper` is offered the
    state before every sweep and between trials of other sizes, and gives back the one to go on from. `engine`: a
    cluster, whose workers then have the episodes and filter and count them; by default that is done by the machine's
    own threads. The result is the same.
    """
    began = time.monotonic()
    options = LearnSettings() if settings is None else checks.of_kind("settings", settings, LearnSettings)
    believed, key = chosen_prior(prior), checks.whole("seed", seed, 0, 2**64 - 1)
    limit = None if time_limit is None else checks.number("time_limit", time_limit, 0, 1e9)
    workers, nodes = checks.threads(threads), options.nodes(believed)
    data, log_behaviour = with_denominators(episodes, behaviours, options.estimate_behaviour)
    with serial_products():
        task = _task(data, log_behaviour, options, nodes, workers, engine)
        first = beginning(data, believed, begin, nodes, key)
        afresh = partial(beginning, data, believed, "best")
        restarts = not isinstance(begin, Team)  # who gives a team wants to hear about that one
        loop = Loop(task, options, afresh, restarts, began, limit, checks.callback("watch", watch), keeper)
        stopped = loop.run(first)
    best = loop.now if loop.best is None else loop.best
    warn_of_falls(loop.falls, loop.steady, task.evidence)
    warn_of_collapse(task, best)
    posterior = TeamPosterior(best.posterior, data.discount, data.name, options.threshold)
    mean = posterior.mean()  # DEPARTS: the paper's result is the mean alone; ours has the likeliest choices beside it
    told: Row = {
        **asdict(options),
        "truncation": nodes,
        "prior": believed.text,
        "begin": begin if isinstance(begin, str) else f"team {team_digest(begin)}",
        "time_limit": limit,
        "seed": key,
    }
    return BayesFit(
        team=simplified(mean),
        trace=tuple(loop.trace),
        stopped=stopped,
        seconds=loop.seconds(),
        settings=told,
        posterior=posterior,
        decided=simplified(mean.decided()),
    )


def _task(
    data: Episodes,
    log_behaviour: Floats,
    options: LearnSettings,
    nodes: int,
    threads: int | None,
    engine: Cluster | None,
) -> Task:
    steps = steps_of(data, log_behaviour, options.floor)
    evidence = float(data.count) if options.evidence is None else options.evidence
    precision = PRECISIONS[options.precision]
    return Task(lay_out(data, nodes, engine), steps, evidence, options.cap, options.normalise, threads, precision)
