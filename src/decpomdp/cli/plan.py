"""`decpomdp plan`."""

from math import isinf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from decpomdp.cli import resume, runs, words

if TYPE_CHECKING:
    from decpomdp.core import DecPOMDP, Fit, Row, Watch
    from decpomdp.core.keeping import Keeper

PLANNING = {
    "seconds": "{:.0f} s",
    "phase": "{}",
    "iteration": "iteration {}",
    "lower": "lower bound {:.4f}",
    "upper": "upper bound {:.4f}",
    "gap": "gap {:.4g}",
    "size": "nodes {}",
    "points": "points {}",
}


def plan(
    problem: Annotated[str, typer.Argument(help=words.PROBLEM)],
    out: Annotated[
        Path,
        typer.Option("--out", help="Folder for the run: team.json, report.html, run.json, ..."),
    ],
    method: Annotated[
        str, typer.Option("--method", help="fb-hsvi, periem, em, or pbvi (one agent that sees and does everything).")
    ] = "fb-hsvi",
    seed: words.Seed = 0,
    discount: words.Discount = None,
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", min=0, help="Seconds; the best so far is kept.")
    ] = None,
    threads: Annotated[int | None, typer.Option("--threads", min=1, help="Default: all cores.")] = None,
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", help="Gap between the bounds to stop at (fb-hsvi, pbvi).")
    ] = None,
    horizon: Annotated[
        int | None, typer.Option("--horizon", min=1, help="Steps; for ever when left out (fb-hsvi).")
    ] = None,
    nodes: Annotated[
        int | None, typer.Option("--nodes", min=1, help="Of every controller (em); at most (pbvi).")
    ] = None,
    as_json: words.Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress display.")] = False,
    resumed: resume.ResumePlan = None,
    checkpoint_every: resume.Every = None,
) -> None:
    """Plan a team for a problem from its model.

    Ctrl-C keeps the best so far. A run that was cut off, however that came about, goes on with --resume.
    """
    from decpomdp.domains.load import opened_model
    from decpomdp.planners.front import own_options, planner_named, played_by
    from decpomdp.planners.front import plan as plan_front

    wanted = {"epsilon": epsilon, "horizon": horizon, "nodes": nodes}
    known = own_options(planner_named(method))
    runs.refuse({name: value for name, value in wanted.items() if name not in known}, f"the method {method}")
    shared: dict[str, Any] = {"seed": seed, "time_limit": time_limit, "threads": threads}
    model = opened_model(problem, discount)

    def work(watch: "Watch", keeper: "Keeper") -> "Fit":
        return plan_front(
            model, method, watch=lambda row: watch(_shown(row)), keeper=keeper, **shared, **runs.given(wanted)
        )

    result = runs.kept(
        runs.Place(out, resumed, checkpoint_every),
        (PLANNING, quiet),
        {"source": problem, "method": method, "seed": seed, "discount": model.discount},
        work,
        lambda fit: (fit, _facts(model, fit, horizon), played_by(model, fit.team)),
    )
    words.tell(result, as_json, runs.lines(result, _beside(result)))


def _beside(result: dict[str, Any]) -> list[str]:
    """What planners say beside the value: bounds, or what the parts of periodic EM reached."""
    lines = []
    upper = result.get("upper_bound")
    if upper is not None and not isinf(upper):
        lines.append(f"upper bound {upper:.6g}, gap {result['gap']:.3g}")
    if result.get("peri") is not None:
        soft = result.get("periem")
        lines.append(f"Peri {result['peri']:.6g}, PeriEM {'not reached' if soft is None else format(soft, '.6g')}")
    return lines


def _shown(row: "Row") -> "Row":
    nodes = row.get("nodes")
    return {**row, "size": "+".join(str(n) for n in nodes) if isinstance(nodes, tuple) else nodes}


def _facts(model: "DecPOMDP", fit: "Fit", horizon: int | None) -> dict[str, Any]:
    """What can be said about the team: its value is computed anew, whatever the planner thought of it."""
    from decpomdp.evaluation import exact_value
    from decpomdp.planners.front import played_by

    played = played_by(model, fit.team)
    exact = exact_value(played, fit.team, horizon)
    span = "" if horizon is None else f", over {horizon} steps"
    facts: dict[str, Any] = {
        "problem": played.name,
        "digest": model.digest(),
        "discount": model.discount,
        "horizon": horizon,
        "value": {"value": exact.value, "error": exact.error, "method": f"{exact.precision}, from the model{span}"},
    }
    last, settings = fit.trace[-1] if fit.trace else {}, fit.settings
    if last.get("upper") is not None:
        facts |= {"upper_bound": last["upper"], "gap": last["gap"]}
    return facts | {name: settings[name] for name in ("peri", "periem") if name in settings}
