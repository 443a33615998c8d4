"""Dec-SBPR and its relatives: episodes in, a team of controllers of inferred size out."""

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from decpomdp.core import Agent, Episodes, Fit, InputError, Row, Team, Watch, checks, concatenate, unwatched
from decpomdp.core.errors import LearningWarning
from decpomdp.core.minimal import minimised
from decpomdp.engines.threads import serial_products
from decpomdp.filtering.layout import lay_out
from decpomdp.learners import behaviour, start
from decpomdp.learners.posterior import AgentPosterior, Counts, Priors, TeamPosterior, updated
from decpomdp.learners.priors import MOST_NODES, Prior, StickBreaking, prior_named
from decpomdp.learners.sizing import larger, merged, smaller
from decpomdp.learners.sweep import DOUBLE, SINGLE, Evaluated, Imprecise, Task, count, evaluate, renewed, update
from decpomdp.learners.weighing import steps_of

RESIZE_EVERY = 5  # sweeps between proposals of another size
GROWTH_SWEEPS = 10  # that a controller of another size is given before it is judged
NOTABLE = 1e-3  # fall of ln V that is told even where falls are to be expected
PATIENCE = 10  # sweeps without a higher bound after which there is no hope, when it may fall
ROUNDING = 1e-9  # a bound may fall by this share of itself without being suspected
PRECISIONS = {"double": DOUBLE, "single": SINGLE}


@dataclass(frozen=True, slots=True)
class LearnSettings:
    """How to learn from episodes. The defaults are explained, with measurements, in docs/formulas.md.

    Attributes
    ----------
    evidence
        How many episodes' worth the data count; None: as many as there are. The paper's 1 collapses into one node.
    truncation
        Nodes to begin with, where the size is to be inferred.
    threshold
        Share of visits above which a node counts as occupied.
    sweeps
        At most.
    tolerance
        Converged when the bound rises by less than this share of itself.
    floor
        The reward that counts as nothing; None: the smallest in the data.
    cap
        Importance ratios above this are cut to it; None: none are.
    normalise
        Divide the importance ratios of each step by their mean.
    estimate_behaviour
        Guess behaviour probabilities that were not recorded.
    precision
        Of filter and count: "double", or "single", which takes less time and half the memory.

    Examples
    --------
    >>> import decpomdp as dp
    >>> dp.LearnSettings(cap=5.0, truncation=10).sweeps
    500
    """

    # DEPARTS: the paper has kappa = 1, with which everything collapses into one node (docs/formulas.md, section 4)
    evidence: float | None = None  # kappa: how many episodes' worth the data count; None: as many as there are
    truncation: int = 50  # nodes to begin with, where the size is to be inferred
    # DEPARTS: the paper counts every node with a positive count; in floating point that may be 1e-200
    threshold: float = 0.01  # share of visits above which a node counts as occupied
    sweeps: int = 500  # at most
    # DEPARTS: the paper stops at 1e-3, where sizes still change
    tolerance: float = 1e-6  # converged when the bound rises by less than this share of itself
    floor: float | None = None  # the reward that counts as nothing; None: the smallest in the data
    # DEPARTS: cap, normalise and estimate_behaviour are not in the paper; off unless asked for
    cap: float | None = None  # importance ratios above this are cut to it
    normalise: bool = False  # divide the importance ratios of each step by their mean
    estimate_behaviour: bool = False  # guess behaviour probabilities that were not recorded
    precision: str = "double"  # of filter and count; "single" takes less time and half the memory

    def __post_init__(self) -> None:
        for name, value in (("evidence", self.evidence), ("cap", self.cap)):
            if value is not None and not 0 < value < np.inf:
                raise InputError(f"{name}: expected a number above 0, got {value}")
        if not 0 <= self.tolerance < np.inf:
            raise InputError(f"tolerance: expected a number of at least 0, got {self.tolerance}")
        for name, whole in (("truncation", self.truncation), ("sweeps", self.sweeps)):
            checks.whole(name, whole, 1, MOST_NODES if name == "truncation" else 2**31)
        if self.precision not in PRECISIONS:
            raise InputError(f"precision: expected {' or '.join(PRECISIONS)}, got {self.precision!r}")
        if not 0 <= self.threshold < 1:
            raise InputError(f"threshold: expected a number from 0 to 1, got {self.threshold}")


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
        As in `Fit`; the trace has the bound, the sizes and the effective sample size of every sweep.

    Examples
    --------
    >>> import decpomdp as dp
    >>> model = dp.load("broadcast")
    >>> episodes = dp.collect(model, dp.Team.uniform(model), 500, 5, seed=1)
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
) -> BayesFit:
    """Learn a team from episodes alone.

    `prior`: a prior or its name ("stick-breaking", "dp", "fixed:5", "em:3"). `begin`: "best" (the best episodes),
    "random", or a team. Several batches of episodes may be given, and with `behaviours` the team that collected each,
    so that ratios are taken to their mixture. Interrupting (Ctrl-C) returns the best so far.
    """
    began, options = time.monotonic(), settings or LearnSettings()
    chosen = prior_named(prior) if isinstance(prior, str) else prior or StickBreaking()
    data, log_behaviour = _data(episodes, behaviours, options)
    with serial_products():
        task = _task(data, log_behaviour, options, chosen.nodes or options.truncation, threads)
        priors = [chosen.priors(agent) for agent in data.agents]
        first = _first(
            data, priors, _beginning(data, begin, chosen.nodes or options.truncation, bool(chosen.nodes), seed)
        )
        largest = max(agent.nodes for agent in first) + options.truncation
        loop = _Loop(task, options, largest, began, time_limit, watch)
        stopped = loop.run(first)
    best = loop.now if loop.best is None else loop.best
    loop.warn_of_falls()
    posterior = TeamPosterior(best.posterior, data.discount, data.name, options.threshold)
    _warn_of_collapse(best, data)
    mean = posterior.mean()
    told: Row = {
        **asdict(options),
        "prior": chosen.text,
        "begin": begin if isinstance(begin, str) else "team",
        "seed": seed,
    }
    return BayesFit(
        team=minimised(mean),
        trace=tuple(loop.trace),
        stopped=stopped,
        seconds=time.monotonic() - began,
        settings=told,
        posterior=posterior,
        decided=minimised(mean.decided()),
    )


class _Loop:
    """Sweeps until nothing changes any more."""

    def __init__(
        self, task: Task, options: LearnSettings, largest: int, began: float, limit: float | None, watch: Watch
    ) -> None:
        self.task, self.options, self.largest, self.watch = task, options, largest, watch
        self.rounding = _rounding(task)
        self.steady = options.cap is None and not options.normalise  # otherwise the objective moves with the team
        self.began, self.deadline = began, None if limit is None else began + limit
        self.trace: list[Row] = []
        self.offered: set[tuple[int, ...]] = set()  # larger sizes that were tried
        self.now: Evaluated
        self.best: Evaluated | None = None
        self.since = 0  # sweeps since the best one
        self.falls: list[tuple[int, float, float]] = []  # sweep, bound before, bound after

    def run(self, first: tuple[AgentPosterior, ...]) -> str:
        try:
            self._keep(evaluate(self.task, first))
            for sweep in range(1, self.options.sweeps + 1):
                before = self.now
                self._keep(self._sweep(sweep))
                if self.deadline is not None and time.monotonic() > self.deadline:
                    return "time limit"
                if self._settled(before) and sweep % RESIZE_EVERY == 0:
                    return "converged"
        except KeyboardInterrupt:
            if self.best is None:
                raise  # nothing is known yet
            return "interrupted"
        return "iterations"

    def _keep(self, found: Evaluated) -> None:
        """Go on from `found`; it is also the best so far, unless the bound fell."""
        last, self.now = self.best, found
        if last is None or found.bound >= last.bound - self.rounding * max(1.0, abs(last.bound)):
            self.best, self.since = found, 0
        else:
            self.since += 1
            self.falls.append((len(self.trace), last.bound, found.bound))
        self._record()

    def _sweep(self, sweep: int) -> Evaluated:
        try:
            return self._swept(sweep)
        except Imprecise:
            warnings.warn("single precision does not suffice for these data: double from here", LearningWarning, 2)
            self.task = replace(self.task, precision=DOUBLE)
            self.rounding = _rounding(self.task)
            self.now = evaluate(self.task, self.now.posterior)
            return self._swept(sweep)

    def _swept(self, sweep: int) -> Evaluated:
        counts = count(self.task, self.now)
        after = evaluate(self.task, update(self.now, counts))
        if sweep % RESIZE_EVERY == 0:
            for changed in self._resized(counts):
                after = changed if changed.bound > after.bound else after
        return after

    def _resized(self, counts: list[Counts]) -> Iterator[Evaluated]:
        """Other sizes and orders, evaluated; where nodes in use come or go after some sweeps, once for all sizes."""
        threshold, posterior = self.options.threshold, self.now.posterior
        for proposal in smaller(posterior, counts, threshold):
            yield evaluate(self.task, renewed(self.now, proposal))
        others = [larger(posterior, counts, threshold, self.largest)]
        if self.steady:  # what is no bound cannot say whether less memory is worth its loss
            others.append(merged(posterior, counts, threshold))
        for other in others:
            sizes = tuple(c.nodes for c in other or ())
            if other is not None and sizes not in self.offered:
                self.offered.add(sizes)
                changed = evaluate(self.task, renewed(self.now, other))
                for _ in range(GROWTH_SWEEPS):
                    changed = evaluate(self.task, update(changed, count(self.task, changed)))
                yield changed

    def _settled(self, before: Evaluated) -> bool:
        """Whether ln V hardly rises any more; if it falls, whether it has not come back for some sweeps."""
        rise = self.now.bound - before.bound
        return self.since >= PATIENCE or 0 <= rise + self.rounding <= self._least()

    def _least(self) -> float:
        return self.options.tolerance * max(1.0, self.task.evidence)

    def warn_of_falls(self) -> None:
        """A bound may not fall, unless the ratios are cut or normalised: then the objective moves with the team."""
        sweep, before, after = max(self.falls, key=lambda fall: fall[1] - fall[2], default=(0, 0.0, 0.0))
        if before - after <= (0.0 if self.steady else NOTABLE * self.task.evidence):
            return
        why = "" if self.steady else "; cut or normalised ratios change with the team"
        warnings.warn(
            f"the bound fell at sweep {sweep}: from {before:.9g} to {after:.9g}, {len(self.falls)} times in all{why}; "
            "the team of the highest bound is kept",
            LearningWarning,
            stacklevel=3,
        )

    def _record(self) -> None:
        best, sizes = self.now, self.now.weighed.sample_sizes
        posterior = TeamPosterior(best.posterior, 0.0, "", self.options.threshold)
        row: Row = {
            "sweep": len(self.trace),
            "seconds": time.monotonic() - self.began,
            "bound": float(best.bound),
            "value": best.weighed.value,
            "nodes": "+".join(str(size) for size in posterior.sizes),
            "mean_nodes": float(np.mean(posterior.sizes)),
            "truncation": max(agent.nodes for agent in best.posterior),
            "sample_size": float(sizes.min()),
            "sample_sizes": tuple(float(size) for size in sizes),
        }
        self.trace.append(row)
        self.watch(row)


def _data(
    given: Episodes | Sequence[Episodes], teams: Sequence[Team] | None, options: LearnSettings
) -> tuple[Episodes, np.ndarray]:
    """The episodes, and the log probability of the behaviours' actions so far."""
    batches = [given] if isinstance(given, Episodes) else list(given)
    if teams is not None:
        return behaviour.log_mixture(batches, teams)
    together = concatenate(batches)
    if options.estimate_behaviour:
        unknown = int(np.isnan(together.behaviour).sum())
        if unknown:
            together = behaviour.estimated(together)
            warnings.warn(
                f"{unknown} of {together.behaviour.size} action probabilities were unknown; they are estimated from "
                "what was done after the same previous action and observation",
                LearningWarning,
                stacklevel=4,
            )
    return together, behaviour.log_behaviour(together)


def _task(data: Episodes, log_behaviour: np.ndarray, options: LearnSettings, nodes: int, threads: int | None) -> Task:
    steps = steps_of(data, log_behaviour, options.floor)
    evidence = float(data.count) if options.evidence is None else options.evidence
    precision = PRECISIONS[options.precision]
    return Task(lay_out(data, nodes), steps, evidence, options.cap, options.normalise, threads, precision)


def _rounding(task: Task) -> float:
    """Share of the bound by which it may fall: in single precision every step of an episode adds its own rounding."""
    longest = len(task.steps.largest_gain)
    return ROUNDING if task.precision == DOUBLE else 4 * float(np.finfo(SINGLE).eps) * longest


def _beginning(data: Episodes, begin: Team | str, nodes: int, fixed: bool, seed: int) -> list[Counts]:
    if isinstance(begin, Team):
        begin.check_fits(data)
        if fixed and max(begin.nodes) > nodes:
            raise InputError(
                f"begin: expected a team of at most {nodes} nodes, as the prior has, got {max(begin.nodes)}"
            )
        return start.from_team(begin, max(nodes, *begin.nodes))
    if begin == "best":
        return start.from_best_episodes(data, nodes)
    if begin == "random":
        return start.from_random(data, nodes, np.random.default_rng(seed))
    raise InputError(f"begin: expected 'best', 'random' or a team, got {begin!r}")


def _first(data: Episodes, priors: list[Priors], counts: list[Counts]) -> tuple[AgentPosterior, ...]:
    """The posterior of the beginning; without first observations in the data, none are believed in."""
    shown = data.observations[data.offsets[:-1]].max(axis=0) >= 0

    def kept(n: int) -> Counts:
        return counts[n] if shown[n] else Counts(0 * counts[n].firsts, counts[n].visits, counts[n].moves)

    agents: tuple[Agent, ...] = data.agents
    return tuple(updated(agent, priors[n], kept(n)) for n, agent in enumerate(agents))


def _warn_of_collapse(best: Evaluated, data: Episodes) -> None:
    """Say so when a few episodes carry all the weight where rewards still count."""
    matter = data.discount ** np.arange(len(best.weighed.sample_sizes)) > 0.05
    sizes = np.where(matter, best.weighed.sample_sizes, np.inf)
    worst = int(sizes.argmin())
    running = int((data.lengths > worst).sum())
    if sizes[worst] < min(10.0, 0.5 * running):
        warnings.warn(
            f"the learned team is supported by few episodes: at step {worst} the effective sample size is "
            f"{sizes[worst]:.1f} of {running}; collect data closer to it, shorten the episodes, or cap the ratios",
            LearningWarning,
            stacklevel=3,
        )
