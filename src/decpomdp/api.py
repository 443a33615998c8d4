"""The main functions: `learn`, `plan` and `evaluate`.

A method is named by its settings object, or by a name and keyword arguments:

    dp.learn("dectiger", dp.Search(max_nodes=4), seed=1)
    dp.learn("dectiger", max_nodes=4, seed=1)

`PLAYING`, `LOGGED` and `PLANNING` list every method once: the command's options, `run.json` and `--resume` follow from
them.
"""

import hashlib
import importlib
import math
import os
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from decpomdp.core import DecPOMDP, Episodes, Fit, InputError, Simulator, Team, Watch, checks
from decpomdp.core.errors import LearningWarning
from decpomdp.core.run import Budget, Checkpoint, Display, Inputs, Method, run
from decpomdp.core.settings import Settings, settings_of
from decpomdp.domains.load import load_model, opened
from decpomdp.domains.registry import is_built_in
from decpomdp.interaction.logs.settings import Logs
from decpomdp.interaction.mcem.settings import Mcem
from decpomdp.interaction.sbpr.settings import SbprLoop
from decpomdp.interaction.search.settings import Search
from decpomdp.interaction.world.settings import World
from decpomdp.learners.settings import Sbpr
from decpomdp.planners.em.settings import Em
from decpomdp.planners.fb_hsvi.settings import FbHsvi
from decpomdp.planners.pbvi.settings import Pbvi
from decpomdp.planners.periodic.settings import PeriEm

if TYPE_CHECKING:
    from decpomdp.evaluation import ExactValue, OffPolicyValue, SampledValue

Judge = str | os.PathLike[str] | DecPOMDP | Simulator | Episodes | None
MANY_AGENTS = 8  # with more agents, the default method is sbpr with credit per agent
Source = DecPOMDP | Simulator | Episodes | Sequence[Episodes]


PLAYING: dict[str, type[Settings]] = {"search": Search, "sbpr": SbprLoop, "mcem": Mcem}  # learn by playing a problem
LOGGED: dict[str, type[Settings]] = {"logs": Logs, "sbpr": Sbpr, "world": World}  # learn from recorded episodes
PLANNING: dict[str, type[Settings]] = {"fb-hsvi": FbHsvi, "periem": PeriEm, "em": Em, "pbvi": Pbvi}  # plan with a model
BY_PROBLEM = {**PLAYING, **PLANNING}  # all methods that take a problem


class RunSetup(NamedTuple):
    """A run before it starts: what to learn or plan from, how, and for how long."""

    source: Source
    settings: Settings
    inputs: Inputs = Inputs()
    budget: Budget = Budget()

    def method(self) -> Method:
        """The method, ready to run; imported here, with its kernels."""
        module, _, name = self.settings.runner.partition(":")
        create: Callable[..., Method] = getattr(importlib.import_module(module), name)
        return create(self.source, self.settings, self.inputs)

    def checksum(self) -> str:
        """SHA-256 of the source and everything else that the result depends on: identifies the run."""
        from decpomdp.io.runs import source_digest, team_digest

        sources = list(self.source) if isinstance(self.source, Sequence) else [self.source]
        teams = [self.inputs.begin, *(self.inputs.behaviours or ())]
        parts = [
            [source_digest(each) for each in sources],
            [None if team is None else team_digest(team) for team in teams],
            self.settings,
            self.inputs.seed,
            self.budget,
        ]
        return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


def execute(
    setup: RunSetup, *, checkpoint: Checkpoint | None = None, watch: Watch | None = None, display: Display | None = None
) -> Fit:
    """Run a method; used by `learn`, `plan` and the commands."""
    _check(setup)
    settings, budget = setup.settings, setup.budget
    if budget == Budget() and settings.default_seconds is not None:
        budget = Budget(seconds=settings.default_seconds)
    outcome = run(setup.method(), budget, checkpoint=checkpoint, watch=watch, display=display)
    return replace(outcome.fit, settings=settings, seed=setup.inputs.seed)


def _check(setup: RunSetup) -> None:
    """Reject numbers out of range, and limits and inputs that the method would ignore."""
    _, settings, inputs, budget = setup
    checks.whole("seed", inputs.seed, 0, 2**63 - 1)
    checks.threads(inputs.threads)
    if budget.seconds is not None:
        checks.number("time_limit", budget.seconds, 0.0, 1e9)
    for limit in ("steps", "iterations"):
        if getattr(budget, limit) is None:
            continue
        checks.whole(limit, getattr(budget, limit), 1, 2**62)
        if limit not in settings.limits:
            known = ", ".join("time_limit" if name == "seconds" else name for name in settings.limits)
            raise InputError(f"{limit}: not a limit of {settings.method}, which has {known}")
    for name in ("begin", "behaviours", "engine"):
        if getattr(inputs, name) is not None and name not in settings.inputs:
            raise InputError(f"{name}: not an input of {settings.method}")
    if inputs.begin is not None:
        checks.of_kind("begin", inputs.begin, Team)


def learn(
    source: str | os.PathLike[str] | DecPOMDP | Simulator | Episodes | Sequence[Episodes],
    method: Settings | str | None = None,
    *,
    discount: float | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    steps: int | None = None,
    iterations: int | None = None,
    threads: int | None = None,
    engine: Any = None,
    begin: Team | None = None,
    behaviours: Sequence[Team] | None = None,
    progress: bool = False,
    watch: Watch | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    **fields: Any,
) -> Fit:
    """Learn a team from a problem (by playing it) or from episodes (without playing).

    Parameters
    ----------
    source
        The name of a built-in problem, a `.dpomdp` file, a model, any `Simulator`; or recorded episodes, as objects
        or as a path: an episodes file, a long table (CSV or Parquet) or a Minari dataset.
    method
        Settings such as `Search(max_nodes=4)`, or the name of a method: "search", "sbpr" (Dec-SBPR; on a simulator the
        paper's loop), "mcem", "world" (from episodes: a fitted model of the world, and a plan in it), "logs" (from
        episodes: both and the cloned behaviour, and a choice by the evidence). None: "search" for a problem, "sbpr"
        for one with more than 8 agents, "logs" for episodes.
    discount
        Use this discount instead of the problem's own (not for simulators that are given as objects); tables and
        Minari datasets need one.
    seed
        Seed of all random numbers.
    time_limit, steps, iterations
        Limits in seconds, joint steps played and iterations; the best team so far is returned. A limit that the method
        does not count is rejected.
    threads
        Number of threads; all cores by default. The result does not depend on it.
    engine
        A Dask cluster instead of threads (`sbpr`).
    begin
        A team to start from (`sbpr`).
    behaviours
        The teams that collected each batch of episodes (`logs`, and `sbpr` from episodes).
    progress
        Show the progress in a terminal or a notebook.
    watch
        Called with every new row of the trace; the run ends when it returns True.
    checkpoint
        A folder for checkpoints; after a kill, the same call resumes from it.
    fields
        Settings of the method by name, in place of a settings object.

    Returns
    -------
    Fit
        The team, the trace and why it stopped; a `BayesFit` with the posterior from sbpr, a `WorldFit` from world.
        From logs it is one of these; its facts `why` and `trust` say why this team, and how far to trust it.

    Raises
    ------
    InputError
        An argument is unknown or of the wrong type, or the source is empty.

    Examples
    --------
    >>> import decpomdp as dp
    >>> fit = dp.learn("broadcast", steps=3_000_000, seed=1)
    >>> round(dp.evaluate(fit.team, dp.load("broadcast")).value, 1) >= 9.1
    True
    """
    opened_source = source_of(source, discount)
    settings = chosen(*methods_for("learn", opened_source), method, fields)
    inputs = Inputs(seed, threads, engine, begin, behaviours)
    budget = Budget(seconds=time_limit, steps=steps, iterations=iterations)
    fit = _run(RunSetup(opened_source, settings, inputs, budget), progress, watch, checkpoint)
    if not taught(fit):
        warnings.warn(
            "nothing was learned within the limits: the team is the initial one; allow more time or steps",
            LearningWarning,
            stacklevel=2,
        )
    return fit


def plan(
    problem: str | os.PathLike[str] | DecPOMDP,
    method: Settings | str | None = None,
    *,
    discount: float | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    iterations: int | None = None,
    threads: int | None = None,
    begin: Team | None = None,
    progress: bool = False,
    watch: Watch | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    **fields: Any,
) -> Fit:
    """Plan a team for a problem whose model is known.

    Parameters
    ----------
    problem
        The name of a built-in problem, a `.dpomdp` file, or a model.
    method
        Settings such as `Em(nodes=3)`, or the name of a method: "fb-hsvi" (default; heuristic search with bounds),
        "periem" (periodic controllers), "em" (expectation maximisation), or "pbvi": one agent that sees and does
        everything. The team of "pbvi" is for `centralised(problem)`, and its upper bound holds for every team.
    begin
        A team to start from (`em`).
    discount, seed, time_limit, iterations, threads, progress, watch, checkpoint, fields
        As in `learn`.

    Returns
    -------
    Fit
        The team, the trace with the bounds, and why it stopped.

    Raises
    ------
    InputError
        An argument is unknown or of the wrong type, or the problem has no model.

    Examples
    --------
    >>> import decpomdp as dp
    >>> fit = dp.plan("dectiger", "pbvi")
    >>> fit.stopped
    'converged'
    """
    model = load_model(problem, discount)
    settings = chosen(*methods_for("plan", model), method, fields)
    budget = Budget(seconds=time_limit, iterations=iterations)
    return _run(RunSetup(model, settings, Inputs(seed, threads, None, begin), budget), progress, watch, checkpoint)


def evaluate(
    team: Team | str | os.PathLike[str], problem: Judge = None, horizon: int | None = None
) -> "ExactValue | SampledValue | OffPolicyValue":
    """The value of a team: exact for a model, from test episodes for a simulator, or from recorded episodes.

    Parameters
    ----------
    team
        A team, or the path of a team.json.
    problem
        A model (see `exact_value`), a simulator (`sampled_value`, 1000 episodes) or recorded episodes
        (`offpolicy_value`); or a problem by name or `.dpomdp` file, which is used with the team's discount; or a
        `.parquet` file of episodes. None: the problem named in the team.
    horizon
        Number of steps; None: infinite, which needs a discount below 1. From episodes: their length. On a simulator:
        at most its own `horizon`, if it has one.

    Returns
    -------
    ExactValue, SampledValue or OffPolicyValue
        All have a `value`.

    Raises
    ------
    InputError
        The team does not fit the problem, or there is no such problem.

    Examples
    --------
    >>> import decpomdp as dp
    >>> team = dp.Team.uniform(dp.load("dectiger"))
    >>> round(dp.evaluate(team, "dectiger").value, 3)
    -462.222
    >>> sampled = dp.evaluate(team, dp.DenseSimulator("dectiger"))
    >>> abs(sampled.value + 462.222) < 4 * sampled.standard_error
    True
    """
    from decpomdp.evaluation import exact_value, offpolicy_value, sampled_value
    from decpomdp.io.team import read_team

    checked = read_team(team) if isinstance(team, str | os.PathLike) else checks.of_kind("team", team, Team)
    judge = _judge(checked, problem)
    if isinstance(judge, Episodes):
        return offpolicy_value(judge, checked, horizon)
    if isinstance(judge, DecPOMDP):
        return exact_value(judge, checked, horizon)
    return sampled_value(judge, checked, horizon=horizon)


def _judge(team: Team, problem: Judge) -> DecPOMDP | Simulator | Episodes:
    if isinstance(problem, Episodes):
        return problem
    if problem is None and not team.problem:
        raise InputError("problem: expected a problem, got none, and the team names none")
    named = team.problem if problem is None else problem
    if isinstance(named, str | os.PathLike):
        return episodes_for(team, named) if holds_episodes(named) else opened(named, team.discount)
    return opened(named)


def chosen(
    known: dict[str, type[Settings]], default: str, method: Settings | str | None, fields: dict[str, Any]
) -> Settings:
    """The settings of the requested method."""
    if isinstance(method, Settings):
        if not isinstance(method, tuple(known.values())):
            kinds = ", ".join(kind.__name__ for kind in known.values())
            raise InputError(f"method: expected settings among {kinds}, got {type(method).__name__}")
        if fields:
            raise InputError(f"{next(iter(fields))}: set it in {type(method).__name__}(...)")
        return method
    name = checks.one_of("method", default if method is None else method, tuple(known))
    for field in fields:
        other = next((name for name, kind in known.items() if field in kind.__struct_fields__), "")
        if field not in known[name].__struct_fields__ and other:
            raise InputError(f"{field}: not a setting of {name}; choose method {other} to use it")
    return settings_of(known[name], fields)


def source_of(
    source: str | os.PathLike[str] | DecPOMDP | Simulator | Episodes | Sequence[Episodes],
    discount: float | None,
    bins: int | None = None,
) -> Source:
    """The source to learn from: a problem or episodes, loaded if given by name or path."""
    if isinstance(source, str | os.PathLike) and holds_episodes(source):
        return Episodes.load(source, discount, bins=bins)
    if bins is not None:
        raise InputError(f"bins: expected a long table, got {source!r}"[:300])
    if isinstance(source, Episodes):
        return source if discount is None else replace(source, discount=discount)
    if isinstance(source, list | tuple):
        if discount is not None:
            raise InputError(f"discount: expected none with several batches, got {discount!r}")
        return source
    return opened(source, discount)  # type: ignore[arg-type]


def holds_episodes(path: str | os.PathLike[str]) -> bool:
    """Whether a path belongs to recorded episodes: an episodes file, a long table or the folder of a Minari dataset.

    A built-in problem is never taken for a folder of the same name.
    """
    from decpomdp.io.files import is_logged

    return is_logged(path) or (os.path.isdir(path) and not is_built_in(os.fspath(path)))


def episodes_for(team: Team, path: str | os.PathLike[str], discount: float | None = None) -> Episodes:
    """Recorded episodes to judge a team with; a long table is read with its alphabets, bins and discount."""
    from decpomdp.io.logged import kind_of

    if not os.path.isfile(path) or kind_of(path) != "long":
        return Episodes.load(path, discount)
    return Episodes.load(path, team.discount if discount is None else discount, team.agents)


def methods_for(command: str, source: Source) -> tuple[dict[str, type[Settings]], str]:
    """The methods that `learn` or `plan` has for a source, and the default one: many agents need a critic per agent."""
    if command == "plan":
        return PLANNING, "fb-hsvi"
    if isinstance(source, Episodes | Sequence):
        return LOGGED, "logs"
    many = not isinstance(source, DecPOMDP) and len(source.agents) > MANY_AGENTS
    return PLAYING, "sbpr" if many else "search"


def taught(fit: Fit) -> bool:
    """Whether anything was learned within the limits; `logs` says so itself."""
    if "chosen" in fit.facts:
        return fit.facts["chosen"] != "initial"
    values = (row.get(name) for row in fit.trace for name in ("value", "bound"))
    return any(isinstance(value, float | int) and math.isfinite(value) for value in values)


def _run(setup: RunSetup, progress: bool, watch: Watch | None, checkpoint: str | os.PathLike[str] | None) -> Fit:
    """`execute` with an optional progress display and optional checkpoints."""
    from decpomdp.core.progress import Progress
    from decpomdp.domains.references import best_value
    from decpomdp.io.checkpoints import CheckpointFolder

    if watch is not None:
        checks.callback("watch", watch)
    folder = None if checkpoint is None else CheckpointFolder(checkpoint, setup.checksum())
    with Progress(best=best_value(setup.source)) if checks.truth("progress", progress) else nullcontext() as display:
        return execute(setup, checkpoint=folder, watch=watch, display=display)
