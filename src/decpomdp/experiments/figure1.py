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
    value, first = some["value"], some[0]
    size = f"{first['preset']}" if first["preset"] is not None else f"{some['inferred'].value:.1f} inferred"
    numbers = [f"{value.value:.2f}", f"{value.spread:.2f}", f"{value.most:.2f}"]
    digits = {"decided": 2, "sample_size": 1, "sweeps": 0, "seconds": 2}
    numbers += [f"{some[key].value:.{digit}f}" for key, digit in digits.items()]
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
        mean = some.where(method=method)[key]
        curves.append(level(NAMES[method], curves[0].x, mean.value, mean.spread, style))
    inferred = ", DP ".join(f"{some.where(method=method)['inferred'].value:.1f}" for method in ("sbpr", "dp"))
    title = f"K = {some[0]['episodes']}, PBVI {some[0]['follow']:g}; |Z| {inferred}" if key == "value" else ""
    return Panel(title, "|Z| of EM", up, tuple(curves), logarithmic=key != "value", across_logarithmic=True)


class FormFits(ResultRows):
    """The fits of one form. Its claims are judged by those of the paper's behaviour with the most episodes.

    More columns: time and sweeps until convergence, as printed by the paper's rule; seconds per sweep.
    """

    def __init__(self, rows: ResultRows) -> None:
        self.printed = bool(rows[0]["form"] == "printed")
        key = "paper_" if self.printed else ""
        super().__init__(
            {
                **row,
                "time": row[f"{key}seconds"],
                "until": row[f"{key}sweeps"],
                "pace": row["seconds"] / max(row["sweeps"], 1.0),
            }
            for row in rows
        )

    @property
    def paper(self) -> ResultRows:
        """Those of the paper's behaviour."""
        return self.where(follow=self[0]["follow"])

    def of(self, method: str) -> ResultRows:
        """Those by which claims about a method are judged."""
        paper = self.paper
        return paper.where(method=method, episodes=max(paper.distinct("episodes")))

    @property
    def sizes(self) -> dict[str, ResultRows] | None:
        """EM with too few, about the right number of and too many nodes; None where a group has no size."""
        found = {name: ResultRows(row for row in self.of("em") if test(row["preset"])) for name, test in GROUPS.items()}
        return found if all(found.values()) else None


def _nearest(some: ResultRows, size: float) -> int:
    """The given size that is nearest to a number of nodes."""
    return int(min(some.distinct("preset"), key=lambda preset: abs(preset - size)))


def _near_best(fits: FormFits, method: str) -> Evidence:
    ours, em = fits.of(method), fits.of("em")
    place = (ours["value"].value - em["value"].value) / max(em["value"].most - em["value"].value, 1e-9)
    over, same = ours.against(em), fits.of("em-best")
    far, close = over.side == "above", place >= TEXTS.limits["close"]
    return Evidence(
        far and close, far or close, name=NAMES[method], ours=ours, em=em, same=same, percent=100 * place, over=over
    )


def _quicker(fits: FormFits) -> Evidence:
    """Less time than EM to reach convergence: as printed by the paper's rule of stopping, otherwise by ours."""
    em, sb, dp = (fits.of(method) for method in ("em", "sbpr", "dp"))
    size = _nearest(em, INFERRED_ON_MARS)
    same, slow = em.where(preset=size), max(em.groups("preset").values(), key=lambda some: some["time"].value)
    less = [sb.against(other, "time").side == "below" for other in (same, slow)]
    converged = not sb.where(stopped="sweeps")
    limited = [f"{len(some.where(stopped='sweeps'))} of {len(some)}" for some in (sb, dp, em)]
    facts: dict[str, Any] = {"sb": sb, "dp": dp, "em": em, "same": same, "slow": slow, "limited": limited, "size": size}
    form = "printed" if fits.printed else "ours"
    facts |= {key: TEXTS.words[f"{key}_{form}"].format(**facts) for key in ("stops", "limits")}
    return Evidence(converged and less[0], converged and less[1], **facts)


def _cheaper(fits: FormFits) -> Evidence:
    """The caption's concession: an iteration of EM costs less."""
    em, sb = fits.of("em"), fits.of("sbpr")
    size = _nearest(em, INFERRED_ON_MARS)
    same = em.where(preset=size)
    found, paces = same.against(sb, "pace"), [1e3 * some["pace"].value for some in (same, sb)]
    return Evidence(found.side == "below", size=size, sb=sb, paces=paces, found=found)


def _group_words(groups: dict[str, ResultRows], key: str) -> str:
    return "; ".join(
        f"|Z| of {', '.join(map(str, some.distinct('preset')))}: {mean_of(list(some.by_seed(key).values()))}"
        for some in groups.values()
    )


def _sweeps(fits: FormFits, name: str, wanted: str) -> Evidence | None:
    """Sweeps until EM converges, with too few or too many nodes."""
    groups = fits.sizes
    if groups is None:
        return None
    ended = {group: len(some.where(stopped="sweeps")) for group, some in groups.items()}
    side = groups[name].against(groups["right"], "sweeps").side
    seen = side == wanted and not ended["right" if wanted == "above" else name]
    ends, counts = (", ".join(map(str, some)) for some in (ended.values(), map(len, groups.values())))
    return Evidence(seen, groups=_group_words(groups, "sweeps"), fits=fits, ends=ends, counts=counts, side=side)


def _inferred(fits: FormFits) -> Evidence:
    size = fits.of("sbpr")["inferred"]
    near = abs(size.value - INFERRED_ON_MARS) <= WITHIN
    return Evidence(near, size.least <= INFERRED_ON_MARS <= size.most, sb=fits.of("sbpr"))


def _steadier(fits: FormFits, sizes: str) -> Evidence:
    """EM of all sizes, or of the size nearest to the inferred one."""
    sb, em = fits.of("sbpr"), fits.of("em")
    size = _nearest(em, sb["inferred"].value)
    groups = list(em.groups("preset").values()) if sizes == "all" else [em.where(preset=size)]
    spreads = [some["value"].spread for some in groups]
    ratio, needed = steadier(sb.column("value"), [some.column("value") for some in groups])
    same = fits.of("em-best").where(preset=size)
    facts: dict[str, Any] = {
        "size": size,
        "least": min(spreads),
        "most": max(spreads),
        "ratio": ratio,
        "needed": needed,
    }
    return Evidence(ratio >= needed, sb=sb, same=same, **facts)


def _better_than_dp(fits: FormFits) -> Evidence:
    sb, dp = fits.of("sbpr"), fits.of("dp")
    found = sb.against(dp)
    return Evidence(found.side == "above", sb=sb, dp=dp, found=found)


def _fitting(fits: FormFits) -> Evidence | None:
    """Values of EM with too few and too many nodes."""
    groups = fits.sizes
    if groups is None:
        return None
    sides = [groups["right"].against(groups[name]).side for name in ("few", "many")]
    return Evidence(*on_side(sides, "above"), groups=_group_words(groups, "value"), sides=sides)


def _fewer_episodes(fits: FormFits) -> Evidence | None:
    """At every smaller K: as good as at the largest, better than EM's average and than the behaviour."""
    counts = sorted(fits.paper.distinct("episodes"))
    if len(counts) < 2:
        return None
    each, fewer = [], []
    largest = fits.of("sbpr").column("value")
    for k in counts:
        ours, em = (fits.paper.where(method=method, episodes=k) for method in ("sbpr", "em"))
        value = ours.column("value")
        over_played = compare(value, ours.column("behaviour"), same_data=True)
        sides = compare(value, largest).side, ours.against(em).side, over_played.side
        fewer += [sides] if k != counts[-1] else []
        words = f" ({sides[0]} that of {counts[-1]})" if k != counts[-1] else ""
        each.append({"k": k, "ours": ours, "em": em, "words": words, "sides": sides})
    kept = all(side != "below" for side, _, _ in fewer)
    ahead = all(side == "above" for _, *sides in fewer for side in sides)
    once = all("above" in sides for sides in list(zip(*fewer, strict=True))[1:])
    return Evidence(kept and ahead, once and (kept or ahead), each, most=counts[-1])


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
    above = [found.side == "above" for found in (over_own, over_played)]
    facts: dict[str, Any] = {"ours": ours, "own": own, "em": em, "over_own": over_own, "over_played": over_played}
    return Evidence(all(above), any(above), first=first, other=other[0], over_em=ours.against(em), **facts)


def _monotone(fits: FormFits) -> Evidence:
    falls = [fall for method in ("sbpr", "dp") for fall in fits.of(method).column("falls")]
    with_falls = sum(fall > 0 for fall in falls)
    return Evidence(with_falls == 0, with_falls=with_falls, fits=len(falls), falls=sum(falls))


def judged_in_forms(texts: Texts, weigh: Mapping[str, Weigh], rows: ResultRows) -> list[ClaimVerdict]:
    """Every claim, in every form."""
    found = []
    for form, words in FORMS.items():
        if some := rows.where(form=form):
            found += [replace(one, says=f"{one.says} ({words})") for one in judged(texts, weigh, FormFits(some))]
    return found


ABOUT_SIZES = (_sweeps, _inferred, _fitting)
ABOUT_VALUES = (_near_best, _steadier, _better_than_dp, _fewer_episodes, _guided)
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
