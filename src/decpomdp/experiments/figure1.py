"""Figure 1 and its appendix: Mars rovers, learning from recorded episodes, sizes inferred or given.

K episodes of the semi-random behaviour (PBVI followed with probability 0.3). EM with |Z| nodes from random starts,
Dec-SBPR and its special case with one concentration (DP) from the best episodes with truncation 50. Value of the
posterior mean, exact; time to convergence. K = 300 is the paper's figure, K = 30 and 100 its appendix. Also EM
that begins with the best episodes as well, which separates the effect of the start from that of the prior.

Everything in three forms: as printed, stopped by the paper's rule; with K episodes counting as K observations instead
of one (a departure that only a prior feels, so EM is the same); and with our defaults: utility-weighted likelihood and
several starts. And once more for the behaviour that the paper may have meant by 0.3, random with that probability.
Cells are computed by `offline`.

Claims are judged for every form, at the largest K of the paper's behaviour. Methods that are compared learned from the
same episodes: seed by seed. Too few, about right and too many nodes: by the paper's own number, not by where ours is
best. A fit that ends at its limit of sweeps has not converged.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

from decpomdp.experiments.cells import Cell
from decpomdp.experiments.experiment import Experiment, Panel, Picture, Results, TextTable, curve, flat, level
from decpomdp.experiments.judge import (
    ClaimVerdict,
    Effort,
    Evidence,
    ResultRows,
    Texts,
    Weigh,
    judged,
    on_side,
    texts_of,
)
from decpomdp.experiments.means import compare, mean_of, steadier
from decpomdp.experiments.offline import SIZED, WORK
from decpomdp.experiments.published import INFERRED_ON_MARS, C, D

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
GROUPS: dict[str, Callable[[int], bool]] = {  # of sizes: too few nodes, about as many as the paper infers, too many
    "few": lambda size: size <= TEXTS.limits["small"] * INFERRED_ON_MARS,
    "right": lambda size: abs(size - INFERRED_ON_MARS) <= WITHIN,
    "many": lambda size: size >= TEXTS.limits["large"] * INFERRED_ON_MARS,
}


def cells(effort: Effort) -> list[Cell]:
    """Data x form x method (and size) x seed."""
    data = [(episodes, effort["follow"]) for episodes in effort["episodes"]]
    data.append((max(effort["episodes"]), effort["other_follow"]))
    given = {key: effort[key] for key in ("problem", "steps", "sweeps", "tolerance")}
    found = []
    for seed, (episodes, follow), form in product(range(effort["seeds"]), data, WAYS):
        shared = {"episodes": episodes, "follow": follow, "seed": seed, "form": form}
        found += _methods(effort, given | shared | WAYS[form])
    return found


def _methods(effort: Effort, shared: dict[str, Any]) -> list[Cell]:
    """EM in all sizes, unless it is that of an earlier form, Dec-SBPR and DP, on the same data."""
    sizes = effort["sizes"] if shared["form"] not in SAME_EM[1:] else ()
    same = shared | {key: OURS[key] for key in ("evidence", "stop")}
    em = ({**same, "method": method, "nodes": size} for method in SIZED for size in sizes)
    found = [Cell(WORK, each, 0.3 + 0.02 * each["nodes"]) for each in em]
    prior = {"c": C, "d": D, "reading": "scale", "truncation": effort["truncation"]}
    cost = 1.0 + 0.03 * effort["sweeps"]
    return found + [Cell(WORK, {**shared, **prior, "method": method}, cost) for method in ("sbpr", "dp")]


def rows(results: Results) -> ResultRows:
    """One row per fit and form that it belongs to; a fit of EM is shared by the forms in which it is the same."""
    keys = ("problem", "episodes", "steps", "follow", "method", "seed", "form")
    found = ResultRows()
    for row in flat(results, *keys, preset="nodes", truncation="truncation", limit="sweeps"):
        same = SAME_EM if row["form"] == SAME_EM[0] and row["method"] in SIZED else (row["form"],)
        found += [{**row, "form": form} for form in same]
    return found


def limit_words(rows: ResultRows) -> str:
    """The methods that did not always converge, and the consequence for times and values."""
    ended = []
    for method, name in NAMES.items():
        some = rows.where(method=method)
        count = len(some.where(stopped="sweeps"))
        ended += [f"{count} of {len(some)} fits of {name}"] if count else []
    limits = ", ".join(str(limit) for limit in rows.distinct("limit"))
    return TEXTS.words["not_converged" if ended else "converged"].format(fits=", ".join(ended), limits=limits)


def tables(rows: ResultRows) -> list[TextTable]:
    """One table per form: a line per data, method and size."""
    header = ("K", "PBVI", "method", "|Z|", "value", "sd", "best", "likeliest choices", "sample size", "sweeps", "s")
    found = []
    for form, its_rows in rows.groups("form").items():
        lines = []
        for data in its_rows.groups(*DATA).values():
            for method in NAMES:
                sizes = data.where(method=method).groups("preset")
                lines += [_line(sizes[size]) for size in sorted(sizes, key=lambda size: size or 0)]
        title = f"Sizes given and inferred, {FORMS[form]}"
        note = f"{TEXTS.words['columns']} Convergence: {limit_words(its_rows)}"
        found.append(TextTable(title, header, tuple(lines), note))
    return found


def _line(some: ResultRows) -> tuple[str, ...]:
    value, first = some.mean("value"), some[0]
    size = f"{first['preset']}" if first["preset"] is not None else f"{some.mean('inferred').value:.1f} inferred"
    numbers = [f"{value.value:.2f}", f"{value.spread:.2f}", f"{value.most:.2f}"]
    digits = {"decided": 2, "sample_size": 1, "sweeps": 0, "seconds": 2}
    numbers += [f"{some.mean(key).value:.{digit}f}" for key, digit in digits.items()]
    return str(first["episodes"]), str(first["follow"]), NAMES[first["method"]], size, *numbers


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
    for method, style in (("dp", "flat"), ("sbpr", "level")):  # the dashes are seen on the line where they coincide
        mean = some.where(method=method).mean(key)
        curves.append(level(NAMES[method], curves[0].x, mean.value, mean.spread, style))
    inferred = ", DP ".join(f"{some.where(method=method).mean('inferred').value:.1f}" for method in ("sbpr", "dp"))
    title = f"K = {some[0]['episodes']}, PBVI {some[0]['follow']:g}; |Z| {inferred}" if key == "value" else ""
    return Panel(title, "|Z| of EM", up, tuple(curves), logarithmic=key != "value", across_logarithmic=True)


class FormFits(ResultRows):
    """The fits of one form. Its claims are judged by those of the paper's behaviour with the most episodes."""

    @property
    def paper(self) -> ResultRows:
        """Those of the paper's behaviour."""
        return self.where(follow=self[0]["follow"])

    def of(self, method: str) -> ResultRows:
        """Those by which claims about a method are judged."""
        paper = self.paper
        return paper.where(method=method, episodes=max(paper.distinct("episodes")))

    @property
    def printed(self) -> bool:
        """Whether this form is as the paper has it."""
        return bool(self[0]["form"] == "printed")

    @property
    def sizes(self) -> dict[str, ResultRows] | None:
        """EM with too few, about the right number of and too many nodes; None where a group has no size."""
        found = {name: ResultRows(row for row in self.of("em") if test(row["preset"])) for name, test in GROUPS.items()}
        return found if all(found.values()) else None


def _nearest(some: ResultRows, size: float) -> int:
    """The given size that is nearest to a number of nodes."""
    return int(min(some.distinct("preset"), key=lambda preset: abs(preset - size)))


def _near_best(fits: FormFits, method: str) -> Evidence:
    ours, em, name = fits.of(method), fits.of("em"), NAMES[method]
    every, own, same = (some.mean("value") for some in (em, ours, fits.of("em-best")))
    place = (own.value - every.value) / max(every.most - every.value, 1e-9)
    over = ours.against(em)
    far, close = over.side == "above", place >= TEXTS.limits["close"]
    numbers = (
        f"EM's runs have {every.value:.2f} on average and {every.most:.2f} at best; {name} has {own.words()}, "
        f"{100 * place:.0f} % of the way from EM's average to its best ({over.words()}, against "
        f"EM's average). EM that begins with the best episodes, as {name} does, has {same.value:.2f} on average and "
        f"{same.most:.2f} at best. The learned team is supported by "
        f"an effective {ours.mean('sample_size').value:.1f} of {ours[0]['episodes']} episodes; the behaviour that made "
        f"them earns {ours.mean('behaviour').value:.2f}."
    )
    return Evidence(numbers, far and close, far or close)


def _quicker(fits: FormFits) -> Evidence:
    """Less time than EM to reach convergence: as printed by the paper's rule of stopping, otherwise by ours."""
    em, sb, dp = (fits.of(method) for method in ("em", "sbpr", "dp"))
    key = "paper_" if fits.printed else ""
    size = _nearest(em, INFERRED_ON_MARS)

    def seconds(some: ResultRows) -> float:
        return some.mean(f"{key}seconds").value

    def words(some: ResultRows) -> str:
        return f"{seconds(some):.2f} s and {some.mean(f'{key}sweeps').value:.0f} sweeps"

    def unfinished(some: ResultRows) -> str:
        return f"{len(some.where(stopped='sweeps'))} of {len(some)}"

    same, slow = em.where(preset=size), max(em.groups("preset").values(), key=seconds)
    less = [sb.against(other, f"{key}seconds").side == "below" for other in (same, slow)]
    converged = not sb.where(stopped="sweeps")
    numbers = (
        f"Dec-SBPR takes {words(sb)} from a truncation of {sb[0]['truncation']}; EM with {size} nodes {words(same)}, "
        f"over all sizes {seconds(em):.2f} s, {seconds(slow):.2f} s at the slowest; DP {seconds(dp):.2f} s. Not "
        f"converged at the limit of {sb[0]['limit']} sweeps: {unfinished(sb)} fits of Dec-SBPR, {unfinished(dp)} of DP"
    )
    numbers += "." if fits.printed else f", {unfinished(em)} of EM; their times would be longer."
    stops = TEXTS.words["stops_like_paper" if fits.printed else "stops_like_us"]
    return Evidence(numbers, converged and less[0], converged and less[1], {"size": size, "stops": stops})


def _cheaper(fits: FormFits) -> Evidence:
    """The caption's concession: an iteration of EM costs less."""

    def with_pace(some: ResultRows) -> ResultRows:
        return ResultRows({**row, "pace": row["seconds"] / max(row["sweeps"], 1.0)} for row in some)

    em, sb = fits.of("em"), fits.of("sbpr")
    size = _nearest(em, INFERRED_ON_MARS)
    same, own = with_pace(em.where(preset=size)), with_pace(sb)
    found = same.against(own, "pace")
    numbers = (
        f"EM with {size} nodes takes {1e3 * same.mean('pace').value:.1f} ms a sweep, Dec-SBPR "
        f"{1e3 * own.mean('pace').value:.1f} ms, which begins with {sb[0]['truncation']} nodes "
        f"({found.words()})."
    )
    return Evidence(numbers, found.side == "below", facts={"size": size})


def _group_words(groups: dict[str, ResultRows], key: str) -> str:
    return "; ".join(
        f"|Z| of {', '.join(map(str, some.distinct('preset')))}: {mean_of(list(some.by_seed(key).values())).words()}"
        for some in groups.values()
    )


def _sweeps(fits: FormFits, name: str, wanted: str) -> Evidence | None:
    """Sweeps until EM converges, with too few or too many nodes."""
    groups = fits.sizes
    if groups is None:
        return None
    ended = {group: len(some.where(stopped="sweeps")) for group, some in groups.items()}
    side = groups[name].against(groups["right"], "sweeps").side
    numbers = (
        f"EM's sweeps: {_group_words(groups, 'sweeps')}. Ended at the limit of {fits[0]['limit']} instead of "
        f"converging: {', '.join(map(str, ended.values()))} of {', '.join(str(len(some)) for some in groups.values())} "
        f"fits. Against the middle: {side}."
    )
    return Evidence(numbers, side == wanted and not ended["right" if wanted == "above" else name])


def _inferred(fits: FormFits) -> Evidence:
    sb = fits.of("sbpr")
    size = sb.mean("inferred")
    numbers = (
        f"From {sb[0]['truncation']} nodes it comes to {size.value:.1f} per agent ({size.least:.1f} to "
        f"{size.most:.1f} over seeds)."
    )
    near = abs(size.value - INFERRED_ON_MARS) <= WITHIN
    return Evidence(numbers, near, size.least <= INFERRED_ON_MARS <= size.most)


def _steadier(fits: FormFits) -> Evidence:
    sb = fits.of("sbpr")
    ours = sb.mean("value")
    groups = [some.column("value") for some in fits.of("em").groups("preset").values()]
    spreads = [mean_of(group).spread for group in groups]
    ratio, needed = steadier(sb.column("value"), groups)
    numbers = (
        f"Standard deviation over seeds: Dec-SBPR {ours.spread:.2f}, EM {min(spreads):.2f} to "
        f"{max(spreads):.2f}, depending on its size. EM's variance within sizes is {ratio:.2f} times Dec-SBPR's, "
        f"whose teams have {sb.mean('inferred').value:.1f} nodes per agent and a mean value of {ours.value:.2f}."
    )
    return Evidence(numbers, ratio >= needed, facts={"needed": f"{needed:.2f}"})


def _unsteady(fits: FormFits) -> Evidence:
    sb, em, begun = (fits.of(method) for method in ("sbpr", "em", "em-best"))
    inferred = sb.mean("inferred").value
    size = _nearest(em, inferred)
    theirs, same = em.where(preset=size), begun.where(preset=size)
    ratio, needed = steadier(sb.column("value"), [theirs.column("value")])
    numbers = (
        f"With |Z| of {size} (inferred: {inferred:.1f}) EM from random starts has a standard deviation of "
        f"{theirs.mean('value').spread:.2f}, begun from the best episodes {same.mean('value').spread:.2f}; Dec-SBPR "
        f"has {sb.mean('value').spread:.2f}. EM's variance is {ratio:.2f} times Dec-SBPR's."
    )
    return Evidence(numbers, ratio >= needed, facts={"needed": f"{needed:.2f}"})


def _better_than_dp(fits: FormFits) -> Evidence:
    sb, dp = fits.of("sbpr"), fits.of("dp")
    found = sb.against(dp)
    numbers = f"Dec-SBPR {sb.mean('value').words()}, DP {dp.mean('value').words()}; seed by seed: {found.words()}."
    return Evidence(numbers, found.side == "above")


def _fitting(fits: FormFits) -> Evidence | None:
    """Values of EM with too few and too many nodes."""
    groups = fits.sizes
    if groups is None:
        return None
    few, many = (groups["right"].against(groups[name]).side for name in ("few", "many"))
    numbers = (
        f"EM's values: {_group_words(groups, 'value')}. The middle is {few} and {many}, against fewer and more nodes."
    )
    return Evidence(numbers, *on_side([few, many], "above"))


def _fewer_episodes(fits: FormFits) -> Evidence | None:
    """At every smaller K: as good as at the largest, better than EM's average and than the behaviour."""
    counts = sorted(fits.paper.distinct("episodes"))
    if len(counts) < 2:
        return None
    most, fewer = counts[-1], counts[:-1]
    numbers, sides = [], {}
    largest = fits.of("sbpr").column("value")
    for k in counts:
        ours, em = (fits.paper.where(method=method, episodes=k) for method in ("sbpr", "em"))
        value, played = ours.column("value"), ours.column("behaviour")
        sides[k] = compare(value, largest).side, ours.against(em).side, compare(value, played, same_data=True).side
        words = f" ({sides[k][0]} that of {most})" if k != most else ""
        numbers.append(
            f"K = {k}: {mean_of(value).words()}, EM's average {em.mean('value').value:.2f}, the behaviour "
            f"{mean_of(played).value:.2f}{words}, {sides[k][1]} EM's and {sides[k][2]} the behaviour"
        )
    kept = all(sides[k][0] != "below" for k in fewer)
    ahead = all(sides[k][i] == "above" for k in fewer for i in (1, 2))
    once = all(any(sides[k][i] == "above" for k in fewer) for i in (1, 2))
    return Evidence(f"{'; '.join(numbers)}.", kept and ahead, once and (kept or ahead), {"most": most})


def _guided(fits: FormFits) -> Evidence | None:
    """The other reading of the behaviour follows PBVI more often."""
    first, *other = fits.distinct("follow")
    if not other:
        return None
    better = fits.where(follow=other[0])
    own = fits.paper.where(episodes=max(better.distinct("episodes")), method="sbpr")
    ours, em = better.where(method="sbpr"), better.where(method="em")
    over_own = compare(ours.column("value"), own.column("value"))
    over_played = compare(ours.column("value"), ours.column("behaviour"), same_data=True)
    played = [some.mean("behaviour").value for some in (ours, own)]
    numbers = (
        f"PBVI followed with probability {other[0]:g} earns {played[0]:.2f}, with {first:g} {played[1]:.2f}. From the "
        f"former Dec-SBPR learns {ours.mean('value').words()} ({over_played.words()}, against the behaviour; "
        f"{ours.against(em).side} EM's average of {em.mean('value').value:.2f}); from the latter "
        f"{own.mean('value').words()}: the former is {over_own.side}."
    )
    above = [found.side == "above" for found in (over_own, over_played)]
    return Evidence(numbers, all(above), any(above))


def _monotone(fits: FormFits) -> Evidence:
    falls = [fall for method in ("sbpr", "dp") for fall in fits.of(method).column("falls")]
    with_falls = sum(fall > 0 for fall in falls)
    numbers = f"It fell in {with_falls} of {len(falls)} fits of Dec-SBPR and DP, {sum(falls):.0f} times in all."
    return Evidence(numbers, with_falls == 0)


def judged_in_forms(texts: Texts, weigh: Mapping[str, Weigh], rows: ResultRows) -> list[ClaimVerdict]:
    """Every claim, in every form."""
    found = []
    for form, words in FORMS.items():
        if fits := FormFits(rows.where(form=form)):
            found += [replace(one, says=f"{one.says} ({words})") for one in judged(texts, weigh, fits)]
    return found


ABOUT_SIZES = (_sweeps, _inferred, _fitting)
ABOUT_VALUES = (_near_best, _steadier, _unsteady, _better_than_dp, _fewer_episodes, _guided)
ABOUT_UPDATES = (_quicker, _cheaper, _monotone)
EXPERIMENT = Experiment(
    "figure1",
    cells,
    rows,
    tables,
    {weigh.__name__[1:]: weigh for weigh in (*ABOUT_SIZES, *ABOUT_VALUES, *ABOUT_UPDATES)},
    pictures,
    judged_in_forms,
)
