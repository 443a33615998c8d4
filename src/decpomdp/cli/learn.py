"""`decpomdp learn`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from decpomdp.cli import engine, resume, runs, words

if TYPE_CHECKING:
    from decpomdp.core import DecPOMDP, Episodes, Fit, Simulator, Team

SWEEPS = {
    "sweep": "sweep {}",
    "bound": "bound {:.4f}",
    "value": "empirical value {:.4g}",
    "nodes": "nodes {}",
    "sample_size": "sample size {:.1f}",
}
PLAYING = {
    "seconds": "{:.0f} s",
    "phase": "{}",
    "iteration": "iteration {}",
    "value": "value {:.4f}",
    "error": "+- {:.4f}",
    "nodes": "nodes {}",
    "hops": "hops {}",
    "accepted": "accepted {}",
    "steps": "steps {:.3g}",
    "steps_per_second": "{:.2g} steps/s",
}
DATA, PLAY = "Learning from episodes", "Learning by playing"


def learn(
    source: Annotated[
        str, typer.Argument(metavar="PROBLEM|EPISODES.parquet", help=words.PROBLEM + " Or recorded episodes.")
    ],
    out: Annotated[Path, typer.Option("--out", help="Folder for the run: team.json, report.html, ...")],
    seed: words.Seed = 0,
    discount: words.Discount = None,
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", min=0, help="Seconds; the best so far is kept.")
    ] = None,
    threads: Annotated[int | None, typer.Option("--threads", min=1, help="Default: all cores.")] = None,
    as_json: words.Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress display.")] = False,
    resumed: resume.ResumeLearn = None,
    checkpoint_every: resume.Every = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            help="search (default), sbpr (the paper's loop; default for simulators with more than 8 agents) or mcem.",
            rich_help_panel=PLAY,
        ),
    ] = None,
    steps: Annotated[
        int | None, typer.Option("--steps", min=1, help="Joint steps to play at most.", rich_help_panel=PLAY)
    ] = None,
    iterations: Annotated[
        int | None,
        typer.Option("--iterations", min=1, help="Of sbpr and mcem, at most.", rich_help_panel=PLAY),
    ] = None,
    behaviour: Annotated[
        str | None,
        typer.Option(
            "--behaviour",
            help="Of sbpr: who plays first; a team.json, or a policy that comes with the problem.",
            rich_help_panel=PLAY,
        ),
    ] = None,
    prior: Annotated[
        str | None,
        typer.Option("--prior", help="stick-breaking (default), dp, fixed:N or em:N.", rich_help_panel=DATA),
    ] = None,
    begin: Annotated[
        str | None, typer.Option("--begin", help="best (default), random, or a team.json.", rich_help_panel=DATA)
    ] = None,
    truncation: Annotated[
        int | None,
        typer.Option("--truncation", min=1, max=1000, help="Nodes to begin with. [default: 50]", rich_help_panel=DATA),
    ] = None,
    evidence: Annotated[
        float | None,
        typer.Option("--evidence", help="Weight of the data; default: number of episodes.", rich_help_panel=DATA),
    ] = None,
    sweeps: Annotated[
        int | None, typer.Option("--sweeps", min=1, help="At most. [default: 500]", rich_help_panel=DATA)
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(
            "--tolerance",
            min=0,
            help="Stop when a sweep raises the bound by at most this times the evidence (times 1, if that is less). "
            "[default: 1e-6]",
            rich_help_panel=DATA,
        ),
    ] = None,
    floor: Annotated[
        float | None,
        typer.Option("--floor", help="Reward that counts as nothing; default: the smallest.", rich_help_panel=DATA),
    ] = None,
    cap: Annotated[
        float | None, typer.Option("--cap", help="Cut importance ratios at this.", rich_help_panel=DATA)
    ] = None,
    normalise: Annotated[
        bool | None, typer.Option("--normalise", help="Self-normalise importance ratios.", rich_help_panel=DATA)
    ] = None,
    unsized: Annotated[
        bool | None,
        typer.Option("--no-resize", help="Updates alone: try no other sizes on the way.", rich_help_panel=DATA),
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option("--precision", help="double (default) or single: faster, half the memory.", rich_help_panel=DATA),
    ] = None,
    estimate_behaviour: Annotated[
        bool | None,
        typer.Option("--estimate-behaviour", help="Guess unknown action probabilities.", rich_help_panel=DATA),
    ] = None,
    engine_name: engine.Engine = engine.THREADS,
    scheduler: engine.Scheduler = None,
) -> None:
    """Learn one small controller per agent, by playing a problem or from recorded episodes.

    Ctrl-C keeps the best so far. A run that was cut off, however that came about, goes on with --resume.
    """
    place = runs.Place(out, resumed, checkpoint_every)
    shared: dict[str, Any] = {"seed": seed, "time_limit": time_limit, "threads": threads}
    playing = {"method": method, "steps": steps, "iterations": iterations, "behaviour": behaviour}
    reading = {"prior": prior, "begin": begin}
    settings = {
        "truncation": truncation,
        "evidence": evidence,
        "sweeps": sweeps,
        "tolerance": tolerance,
        "floor": floor,
        "cap": cap,
        "normalise": normalise,
        "estimate_behaviour": estimate_behaviour,
        "resize": None if unsized is None else not unsized,
        "precision": precision,
    }
    if source.endswith(".parquet"):
        runs.refuse(playing, "learning from episodes")
        with engine.opened(engine_name, scheduler, threads) as cluster:
            given = runs.given(reading), runs.given(settings), {**shared, "engine": cluster}
            result = _from_episodes(source, place, discount, *given, quiet)
    else:
        runs.refuse({**reading, **settings}, "learning by playing")
        where = engine_name, scheduler
        result = _by_playing(source, place, discount, {**runs.given(playing), **shared}, where, quiet)
    words.tell(result, as_json, _lines(result))


def _refuse_other_methods(
    method: str, iterations: int | None, behaviour: str | None, where: tuple[str, str | None]
) -> None:
    """What belongs to other ways of playing."""
    if method == "search":
        runs.refuse({"iterations": iterations}, "the method search")
    if method != "sbpr":
        name, scheduler = where
        elsewhere = {"engine": None if name == engine.THREADS else name, "scheduler": scheduler}
        runs.refuse({"behaviour": behaviour, **elsewhere}, f"the method {method}")


def _from_episodes(
    source: str,
    place: runs.Place,
    discount: float | None,
    reading: dict[str, str],
    options: dict[str, Any],
    shared: dict[str, Any],
    quiet: bool,
) -> dict[str, Any]:
    from dataclasses import replace

    from decpomdp.io.episodes import read_episodes
    from decpomdp.io.team import read_team
    from decpomdp.learners import LearnSettings, learn_from_episodes, prior_named

    believed, settings = prior_named(reading.get("prior", "stick-breaking")), LearnSettings(**options)
    episodes = read_episodes(source)
    if discount is not None:
        episodes = replace(episodes, discount=discount)
    begin = reading.get("begin", "best")
    first = begin if begin in ("best", "random") else read_team(begin)
    known = {
        "source": source,
        "problem": episodes.name,
        "method": reading.get("prior", "stick-breaking"),
        "discount": episodes.discount,
        "seed": shared["seed"],
    }

    def judge(fit: "Fit") -> "tuple[Fit, dict[str, Any], Episodes]":
        last = max(fit.trace, key=lambda row: cast(float, row["bound"]))  # that of the team that is kept
        value = {"value": last["value"], "method": "importance-weighted mean return of the data"}
        facts = {"bound": last["bound"], "sample_size": last["sample_size"], "sweeps": last["sweep"]}
        return fit, {"value": value, **facts}, episodes

    return runs.kept(
        place,
        (SWEEPS, quiet),
        known,
        lambda watch, keeper: learn_from_episodes(
            episodes, believed, first, settings=settings, watch=watch, keeper=keeper, **shared
        ),
        judge,
    )


def _by_playing(
    source: str,
    place: runs.Place,
    discount: float | None,
    options: dict[str, Any],
    where: tuple[str, str | None],
    quiet: bool,
) -> dict[str, Any]:
    from decpomdp.core import InputError
    from decpomdp.domains.load import load
    from decpomdp.interaction.front import learn as learn_front
    from decpomdp.interaction.front import method_for
    from decpomdp.rollouts.policies import team_for

    model = load(source, discount)
    if model.discount >= 1:
        raise InputError(f"discount: expected less than 1 (in Python: 1 with a horizon), got {model.discount:g}")
    options = {**options, "method": options.get("method") or method_for(model)}
    _refuse_other_methods(options["method"], options.get("iterations"), options.get("behaviour"), where)
    if "behaviour" in options:
        options = {**options, "behaviour": team_for(options["behaviour"], model)}
    known = {"source": source, "problem": model.name, "discount": model.discount}
    with engine.opened(*where, options["threads"]) as cluster:
        given = {**options, "engine": cluster} if cluster is not None else options
        return runs.kept(
            place,
            (PLAYING, quiet),
            {**known, "method": options["method"], "seed": options["seed"]},
            lambda watch, keeper: learn_front(model, watch=watch, keeper=keeper, **given),
            lambda fit: _judged(model, fit, options["seed"], options["threads"], quiet),
        )


def _judged(
    model: "DecPOMDP | Simulator", fit: "Fit", seed: int, threads: int | None, quiet: bool
) -> "tuple[Fit, dict[str, Any], DecPOMDP | Simulator]":
    """What was learned, with what can be said of it."""
    from contextlib import suppress
    from dataclasses import replace

    from decpomdp.core import InputError
    from decpomdp.interaction.front import taught
    from decpomdp.interaction.readout import read_out
    from decpomdp.learners import BayesFit

    if len(model.agents) <= runs.MANY and taught(fit):  # the joint ratios of more agents would leave nothing to read
        with suppress(InputError):  # rewards that never vary leave nothing to be sure of
            fit = read_out(model, fit, seed=seed, threads=threads)
    elif isinstance(fit, BayesFit):
        fit = replace(fit, posterior=None)  # to draw from so many posteriors takes longer than learning them
    facts: dict[str, Any] = {
        "steps": fit.trace[-1]["steps"] if fit.trace else 0,
        "learned": taught(fit),
        **_worth(model, fit.team, seed, quiet),
    }
    if isinstance(fit, BayesFit) and fit.posterior is not None:
        facts["posterior_nodes"] = list(fit.posterior.sizes)
    return fit, facts, model


def _worth(model: "DecPOMDP | Simulator", team: "Team", seed: int, quiet: bool) -> dict[str, Any]:
    """The value of what was learned: exact from a model, else from fresh episodes."""
    from decpomdp.cli.progress import counting
    from decpomdp.core import DecPOMDP
    from decpomdp.evaluation import exact_value, sampled_value

    if isinstance(model, DecPOMDP):
        exact = exact_value(model, team)
        told = {
            "value": exact.value,
            "error": exact.error,
            "method": f"{exact.precision}, from the model, after learning",
        }
        return {"digest": model.digest(), "value": told}
    tests = runs.test_episodes(model)
    with counting(tests, "test episodes", model, quiet) as progress:
        sampled = sampled_value(model, team, tests, seed=seed ^ 1, watch=progress)
    method = f"mean of {tests} fresh episodes of {sampled.horizon} steps"
    return {"value": {"value": sampled.value, "standard_error": sampled.standard_error, "method": method}}


def _lines(result: dict[str, Any]) -> list[str]:
    if "posterior_nodes" in result:
        sizes = "+".join(str(size) for size in result["posterior_nodes"])
        return runs.lines(result, [f"nodes that fresh episodes support (stick-breaking posterior): {sizes}"])
    if "sample_size" not in result:
        return runs.lines(result, [])
    more = f"bound {result['bound']:.6g}, smallest effective sample size {result['sample_size']:.1f}"
    return runs.lines(result, [more])
