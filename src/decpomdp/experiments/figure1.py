"""Figure 1 and its appendix: Mars rovers, learning from recorded episodes, sizes inferred or given.

K episodes of the semi-random behaviour (PBVI followed with probability 0.3). EM with |Z| nodes from random starts,
Dec-SBPR and its special case with one concentration (DP) from the best episodes with truncation 50. Exact value of the
posterior mean; time to convergence. K = 300 is the paper's figure, K = 30 and 100 its appendix. EM is also started from
the best episodes, which separates the effect of the start from that of the prior.

All fits are made in three forms: as printed, stopped by the paper's rule; with K episodes counting as K observations
instead of one (a departure that only matters with a prior, so EM is the same); and with our defaults: utility-weighted
likelihood, several starts, our prior, and the value of the likeliest choices. They are repeated at the largest K for
another reading of the paper's 0.3: agents that act at random with that probability. Cells are computed by `offline`.

Claims are judged for every form, at the largest K of the paper's behaviour. Compared methods learned from the same
episodes, so they are compared seed by seed. Too few, about right and too many nodes are relative to the paper's number,
not to the sizes that are best here. A fit that ends at its limit of sweeps has not converged.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

from decpomdp.experiments.cells import Cell
from decpomdp.experiments.drawing import Panel, Picture, curve, level
from decpomdp.experiments.experiment import (
    ClaimVerdict,
    Comparisons,
    Effort,
    Evidence,
    Experiment,
    Item,
    TextTable,
    judged,
    sides,
    text_table,
    texts_of,
)
from decpomdp.experiments.offline import SIZED, work
from decpomdp.experiments.published import INFERRED_ON_MARS, C, D
from decpomdp.experiments.rows import Comparison, ResultRows, Results, compare, flat, steadier
from decpomdp.learners.settings import TRUNCATION

NAMES = {"sbpr": "Dec-SBPR", "dp": "DP", "em": "EM", "em-best": "EM, best episodes first"}
FORMS = {"printed": "as printed", "counted": "episodes counted", "weighted": "utility-weighted"}
OURS: dict[str, Any] = {"preset": "as-printed", "evidence": None, "stop": "ours"}
WAYS = {  # objective, the weight of the data, when to stop
    "printed": OURS | {"evidence": 1.0, "stop": "paper"},
    "counted": OURS,
    "weighted": OURS | {"preset": "default"},
}
DATA = ("episodes", "follow")  # columns that name a data set
SAME_EM = ("printed", "counted")  # its updates do not depend on the weight of the data
TEXTS = texts_of("figure1")
WITHIN = TEXTS.limits["within"]
GROUP_WORDS = TEXTS.words["group"].format(**TEXTS.limits)
GROUPS: dict[str, Callable[[int], bool]] = {  # of sizes: too few nodes, about as many as the paper infers, too many
    "em_few": lambda size: size <= TEXTS.limits["small"] * INFERRED_ON_MARS,
    "em_right": lambda size: abs(size - INFERRED_ON_MARS) <= WITHIN,
    "em_many": lambda size: size >= TEXTS.limits["large"] * INFERRED_ON_MARS,
}


def cells(effort: Effort) -> list[Cell]:
    """Data x form x method (and size) x seed."""
    data = [(episodes, effort["follow"]) for episodes in effort["episodes"]]
    data.append((max(effort["episodes"]), effort["other_follow"]))
    given = {key: effort[key] for key in ("problem", "steps", "sweeps", "tolerance")}
    planned = []
    for seed, (episodes, follow), form in product(range(effort["seeds"]), data, WAYS):
        shared = {"episodes": episodes, "follow": follow, "seed": seed, "form": form}
        planned += _methods(effort, given | shared | WAYS[form])
    return planned


def _methods(effort: Effort, shared: dict[str, Any]) -> list[Cell]:
    """EM of all sizes (only once for forms in which it is the same), Dec-SBPR and DP, on the same data."""
    sizes = effort["sizes"] if shared["form"] not in SAME_EM[1:] else ()
    same = shared | {key: OURS[key] for key in ("evidence", "stop")}
    em = ({**same, "method": method, "nodes": size} for method in SIZED for size in sizes)
    planned = [Cell(work, each, 0.3 + 0.02 * each["nodes"]) for each in em]
    prior: dict[str, Any] = {"truncation": TRUNCATION}
    if shared["preset"] != "default":
        prior = {"c": C, "d": D, "reading": "scale", "truncation": effort["truncation"]}
    cost = 1.0 + 0.03 * effort["sweeps"]
    return planned + [Cell(work, {**shared, **prior, "method": method}, cost) for method in ("sbpr", "dp")]


def rows(results: Results) -> ResultRows:
    """One row per fit and form; a fit of EM belongs to all forms in which it is the same."""
    keys = ("problem", "episodes", "steps", "follow", "method", "seed", "form")
    expanded = []
    for row in flat(results, keys, preset="nodes", truncation="truncation", limit="sweeps"):
        same = SAME_EM if row["form"] == SAME_EM[0] and row["method"] in SIZED else (row["form"],)
        expanded += [{**row, **_value(row, form), "form": form, **_convergence(row, form)} for form in same]
    return ResultRows(expanded)


def _value(row: Mapping[str, Any], form: str) -> dict[str, float]:
    """The compared value: with our defaults that of the likeliest choices, which `learn` returns."""
    return {"value": row["decided"] if form == "weighted" else row["value"]}


def _convergence(row: Mapping[str, Any], form: str) -> dict[str, float]:
    """Seconds and sweeps until convergence, by the paper's rule for the printed form; milliseconds per sweep."""
    rule = "paper_" if form == "printed" else ""
    pace = 1e3 * row["seconds"] / max(row["sweeps"], 1.0)
    return {"until_seconds": row[f"{rule}seconds"], "until_sweeps": row[f"{rule}sweeps"], "pace": pace}


def limit_words(rows: ResultRows) -> str:
    """The methods with fits that did not converge, and the consequence for times and values."""
    ended = []
    for method, name in NAMES.items():
        some = rows.where(method=method)
        count = len(some.where(stopped="sweeps"))
        ended += [f"{count} of {len(some)} fits of {name}"] if count else []
    limits = ", ".join(str(limit) for limit in rows.distinct("limit"))
    return TEXTS.words["not_converged" if ended else "converged"].format(fits=", ".join(ended), limits=limits)


def tables(rows: ResultRows) -> list[TextTable]:
    """One table per form: a line per data, method and size."""
    result = []
    for form, fits in rows.groups("form").items():
        lines = []
        for data in fits.groups(*DATA).values():
            for method in NAMES:
                sizes = data.where(method=method).groups("preset")
                lines += [_line(sizes[size]) for size in sorted(sizes, key=lambda size: size or 0)]
        note = f"{TEXTS.words['columns']} Convergence: {limit_words(fits)}"
        result.append(text_table(f"Sizes given and inferred, {FORMS[form]}", TEXTS.columns["fits"], lines, note))
    return result


def _line(some: ResultRows) -> dict[str, Any]:
    given = some.first["preset"]
    size = f"{some['inferred'].value:.1f} inferred" if given is None else str(given)
    return {"rows": some, "method": NAMES[some.first["method"]], "size": size}


def pictures(rows: ResultRows) -> list[Picture]:
    """Values of every form, then times; one column per data."""
    lines = [
        tuple(_panel(some, key, f"{key}, {words}") for some in rows.where(form=form).groups(*DATA).values())
        for key in ("value", "seconds")
        for form, words in FORMS.items()
    ]
    ends = (f"Convergence, {words}: {limit_words(rows.where(form=form))}" for form, words in FORMS.items())
    return [Picture("figure1", " ".join((TEXTS.words["caption"], *ends)), tuple(lines))]


def _panel(some: ResultRows, key: str, up: str) -> Panel:
    em, begun = some.where(method="em"), some.where(method="em-best")
    curves = [curve(em, "preset", key, "EM, mean")]
    if key == "value":
        curves.append(curve(em, "preset", key, "EM, best", "dotted", best=True))
        curves.append(curve(begun, "preset", key, "EM begun like Dec-SBPR, mean", "dotted"))
    for method, style in (("dp", "flat"), ("sbpr", "level")):  # dashes stay visible on a line of the same value
        mean = some.where(method=method)[key]
        curves.append(level(NAMES[method], curves[0].x, mean.value, mean.spread, style))
    inferred = ", DP ".join(f"{some.where(method=method)['inferred'].value:.1f}" for method in ("sbpr", "dp"))
    title = f"K = {some.first['episodes']}, PBVI {some.first['follow']:g}; |Z| {inferred}" if key == "value" else ""
    return Panel(title, "|Z| of EM", up, tuple(curves), logarithmic="x" if key == "value" else "xy")


def compared_fits(rows: ResultRows) -> dict[str, ResultRows]:
    """The fits of a form that claims compare, by their names in rules and texts.

    These are the fits from the paper's behaviour with the most episodes, by method; fits of EM also by groups of sizes
    (if all groups have fits), of the size nearest to the paper's inferred one, and of the slowest size.
    """
    fits = _paper(rows).ends("episodes")[1].groups("method")
    em = fits["em"]
    sizes = em.groups("preset")
    fits["em_same"] = sizes[_nearest(em, INFERRED_ON_MARS)]
    fits["em_slow"] = max(sizes.values(), key=lambda some: some["until_seconds"].value)
    groups = {name: _over_sizes(row for row in em if test(row["preset"])) for name, test in GROUPS.items()}
    return fits | groups if all(groups.values()) else fits


def _paper(rows: ResultRows) -> ResultRows:
    """The fits from the paper's behaviour."""
    return rows.where(follow=rows.first["follow"])


def _nearest(em: ResultRows, size: float) -> int:
    """The given size that is nearest to a number of nodes."""
    return int(min(em.distinct("preset"), key=lambda preset: abs(preset - size)))


def _over_sizes(fits: Iterable[Mapping[str, Any]]) -> ResultRows:
    """A group of sizes: means over the sizes, seed by seed, and the number of fits that ended at the limit."""
    some = ResultRows(fits)
    ended = len(some.where(stopped="sweeps"))
    shared = {"sizes": ", ".join(map(str, some.distinct("preset"))), "ended": ended, "fits": len(some)}
    shared["stopped"] = "sweeps" if ended else "converged"
    return ResultRows(
        {"seed": seed, **shared, **{key: its_fits[key].value for key in ("value", "sweeps")}}
        for seed, its_fits in some.groups("seed").items()
    )


def _against(rows: ResultRows, key: str, ours: str, *others: str) -> Evidence | None:
    """Some fits against others from the same episodes; None if some are missing."""
    fits = compared_fits(rows)
    if not {ours, *others} <= set(fits):
        return None
    items = []
    for other in others:
        against = fits[ours].against(fits[other], key)
        words = sides(against.side)
        named = {f"{word} {other}": holds for word, holds in words.items()}
        converged = {f"{name} converged": not fits[name].where(stopped="sweeps") for name in (ours, other)}
        items.append(Item(words | named | converged, against=against))
    limited = {name: f"{len(some.where(stopped='sweeps'))} of {len(some)}" for name, some in fits.items()}
    form = "printed" if rows.first["form"] == "printed" else "ours"
    stops, limits = (TEXTS.words[f"{word}_{form}"].format(limited=limited) for word in ("stops", "limits"))
    return Evidence(items, rows=rows, limited=limited, stops=stops, limits=limits, group=GROUP_WORDS, fits=fits)


def _near_best(rows: ResultRows, method: str) -> Evidence:
    fits = compared_fits(rows)
    ours, em = fits[method], fits["em"]
    share = (ours["value"].value - em["value"].value) / max(em["value"].most - em["value"].value, 1e-9)
    over = ours.against(em)
    holds = {"far": over.side == "above", "close": share >= TEXTS.limits["close"]}
    return Evidence([Item(holds)], name=NAMES[method], ours=ours, fits=fits, percent=100 * share, over=over)


def _inferred(rows: ResultRows) -> Evidence:
    fits = compared_fits(rows)
    size = fits["sbpr"]["inferred"]
    near = abs(size.value - INFERRED_ON_MARS) <= WITHIN
    return Evidence([Item({"near": near, "between": size.least <= INFERRED_ON_MARS <= size.most})], fits=fits)


def _steadier(rows: ResultRows, sizes: str) -> Evidence:
    """EM of all sizes, or of the size nearest to the inferred one."""
    fits = compared_fits(rows)
    sbpr, em = fits["sbpr"], fits["em"]
    size = _nearest(em, sbpr["inferred"].value)
    groups = list(em.groups("preset").values()) if sizes == "all" else [em.where(preset=size)]
    spreads = [some["value"].spread for some in groups]
    ratio, needed = steadier(sbpr.column("value"), [some.column("value") for some in groups])
    facts: dict[str, Any] = {"size": size, "least": min(spreads), "most": max(spreads)}
    begun = fits["em-best"].where(preset=size)
    return Evidence(
        [Item({"significant": ratio >= needed})], fits=fits, begun=begun, ratio=ratio, needed=needed, **facts
    )


def _fewer_episodes(rows: ResultRows) -> Evidence | None:
    """For every smaller K: whether it is as good as the largest, and better than EM's average and the behaviour."""
    *fewer, most = sorted(_paper(rows).distinct("episodes"))
    if not fewer:
        return None
    items, largest = [], _paper(rows).where(method="sbpr", episodes=most).column("value")
    for k in (*fewer, most):
        ours, em = (_paper(rows).where(method=method, episodes=k) for method in ("sbpr", "em"))
        over_largest = compare(ours.column("value"), largest).side
        over_em, over_behaviour = ours.against(em).side, _over_behaviour(ours).side
        holds, words = dict[str, bool](), ""
        if k != most:
            holds = {"not below": over_largest != "below", "above EM": over_em == "above"}
            holds["above the behaviour"] = over_behaviour == "above"
            words = f" ({over_largest} that of {most})"
        facts = {"words": words, "over_em": over_em, "over_behaviour": over_behaviour}
        items.append(Item(holds, k=k, ours=ours, em=em, **facts))
    return Evidence(items, most=most)


def _over_behaviour(ours: ResultRows) -> Comparison:
    """The learned team against the behaviour that made its episodes."""
    return compare(ours.column("value"), ours.column("behaviour"), same_data=True)


def _guided(rows: ResultRows) -> Evidence | None:
    """Compare with the other reading of the behaviour, which follows PBVI more often."""
    first, *other = rows.distinct("follow")
    if not other:
        return None
    better = rows.where(follow=other[0])
    own = _paper(rows).where(episodes=max(better.distinct("episodes")), method="sbpr")
    ours, em = better.where(method="sbpr"), better.where(method="em")
    over_own, over_behaviour = compare(ours.column("value"), own.column("value")), _over_behaviour(ours)
    facts: dict[str, Any] = {"ours": ours, "own": own, "em": em, "over_own": over_own, "over_behaviour": over_behaviour}
    items = [Item(sides(one.side)) for one in (over_own, over_behaviour)]
    return Evidence(items, first=first, other=other[0], over_em=ours.against(em), **facts)


def _monotone(rows: ResultRows) -> Evidence:
    fits = compared_fits(rows)
    falls = [*fits["sbpr"].column("falls"), *fits["dp"].column("falls")]
    return Evidence([Item({"falls": fall > 0}) for fall in falls], falls=sum(falls))


def judged_in_forms(experiment: Experiment, rows: ResultRows) -> list[ClaimVerdict]:
    """Every claim, in every form."""
    return [
        replace(one, says=f"{one.says} ({FORMS[form]})")
        for form, fits in rows.groups("form").items()
        for one in judged(experiment, fits)
    ]


COMPARISONS: Comparisons = {
    "against": _against,
    "near_best": _near_best,
    "inferred": _inferred,
    "steadier": _steadier,
    "fewer_episodes": _fewer_episodes,
    "guided": _guided,
    "monotone": _monotone,
}
EXPERIMENT = Experiment("figure1", cells, rows, tables, COMPARISONS, pictures, judged_in_forms)
