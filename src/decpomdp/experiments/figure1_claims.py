"""What the paper reads off figure 1, and whether we see it: each claim with the rule by which it is judged.

Values and sizes are here, times in `figure1_times`. What is compared learned from the same episodes: seed by seed.
"""

from collections.abc import Callable
from dataclasses import replace

from decpomdp.core.fit import Row
from decpomdp.experiments.experiment import Claim, Rows, chosen, column, distinct, judged
from decpomdp.experiments.figure1_times import cheaper, quicker
from decpomdp.experiments.judging import Comparison, Mean, compare, mean_of, steadier
from decpomdp.experiments.published import INFERRED_ON_MARS

FORMS = {"printed": "as printed", "normalised": "normalised ratios"}  # each the same for all methods
SELECTED = {"normalised": " (This form was chosen, on other seeds, because Dec-SBPR did well in it.)"}
CLOSE = 0.75  # share of the way from EM's average to its best
ABOUT = 1  # nodes more or fewer than the paper's
SMALL, LARGE = 0.5, 2.0  # times the paper's size: too few nodes, too many


def claims(rows: Rows) -> list[Claim]:
    """What the paper reads off its figure, at the largest number of episodes of its behaviour, for every form."""
    paper = chosen(rows, follow=rows[0]["follow"])
    return judged([claim for form in FORMS for claim in _claims(chosen(paper, form=form), form)], paper)


def _claims(rows: Rows, form: str) -> list[Claim]:
    most = chosen(rows, episodes=max(distinct(rows, "episodes")))
    em, sb, dp, begun = (chosen(most, method=method) for method in ("em", "sbpr", "dp", "em-best"))
    first = _near_best("Dec-SBPR", em, sb, begun)
    found = [
        replace(first, told=first.told + SELECTED.get(form, "")),
        _near_best("DP", em, dp, begun),
        quicker(em, sb, dp),
        cheaper(em, sb),
        _fewer(sb),
        _steadier(em, sb),
        _unsteady(em, sb, begun),
        _better_than_dp(sb, dp),
        _fitting(em),
        _fewer_episodes(rows),
    ]
    known = (claim for claim in found if claim is not None)
    return [replace(claim, says=f"{claim.says} ({FORMS[form]})") for claim in known]


def _near_best(name: str, em: Rows, ours: Rows, begun: Rows) -> Claim:
    every, own, same = (mean_of(column(some, "value")) for some in (em, ours, begun))
    place = (own.value - every.value) / max(every.most - every.value, 1e-9)
    against = _against(ours, em)
    far, close = against.side == "above", place >= CLOSE
    seen = "yes" if far and close else "partly" if far or close else "no"
    size = mean_of(column(ours, "sample_size")).value
    told = (
        f"EM's runs have {every.value:.2f} on average and {every.most:.2f} at best; {name} has {own.words()}, "
        f"{100 * place:.0f} % of the way from EM's average to its best ({against.words()}, against "
        f"EM's average). EM that begins with the best episodes, as {name} does, has {same.value:.2f} on average and "
        f"{same.most:.2f} at best. The learned team is supported by "
        f"an effective {size:.1f} of {ours[0]['episodes']} episodes; the behaviour that made them earns "
        f"{mean_of(column(ours, 'behaviour')).value:.2f}."
    )
    rule = (
        f"close: at least {CLOSE:.0%} of the way from EM's average, over all sizes and seeds, to its best run; much "
        "better: above EM's average over the sizes, seed by seed; yes: both; partly: one of them."
    )
    return Claim(f"Values of {name} are close to EM's best result and much better than EM's average.", seen, told, rule)


def _by_seed(some: Rows, key: str = "value") -> dict[int, float]:
    """The mean of every seed's runs."""
    return {seed: mean_of(column(chosen(some, seed=seed), key)).value for seed in distinct(some, "seed")}


def _against(one: Rows, other: Rows) -> Comparison:
    """One against the other, seed by seed."""
    ours, theirs = _by_seed(one), _by_seed(other)
    both = [seed for seed in ours if seed in theirs]
    return compare([ours[seed] for seed in both], [theirs[seed] for seed in both], same_data=True)


def _fewer(sb: Rows) -> Claim:
    size: Mean = mean_of(column(sb, "inferred"))
    within = size.least <= INFERRED_ON_MARS <= size.most
    seen = "yes" if abs(size.value - INFERRED_ON_MARS) <= ABOUT else "partly" if within else "no"
    told = (
        f"From {sb[0]['truncation']} nodes it comes to {size.value:.1f} per agent ({size.least:.1f} to {size.most:.1f} "
        "over seeds)."
    )
    rule = f"about: the mean over agents and seeds is within {ABOUT} of it; partly: it lies between our extremes."
    return Claim(f"The inferred number of nodes is about {INFERRED_ON_MARS}.", seen, told, rule)


def _steadier(em: Rows, sb: Rows) -> Claim:
    ours = column(sb, "value")
    groups = [column(chosen(em, preset=size), "value") for size in distinct(em, "preset")]
    spreads = [mean_of(group).spread for group in groups]
    ratio, needed = steadier(ours, groups)
    seen = "yes" if ratio >= needed else "no"
    told = (
        f"Standard deviation over seeds: Dec-SBPR {mean_of(ours).spread:.2f}, EM {min(spreads):.2f} to "
        f"{max(spreads):.2f}, depending on its size. EM's variance within sizes is {ratio:.2f} times Dec-SBPR's."
    )
    rule = f"yes: so many times that Fisher's F rules out chance at 95 % (here {needed:.2f})."
    return Claim("Dec-SBPR has a low variance of test values, EM a large one.", seen, told, rule)


def _unsteady(em: Rows, sb: Rows, begun: Rows) -> Claim:
    inferred = mean_of(column(sb, "inferred")).value
    size = min(distinct(em, "preset"), key=lambda preset: abs(preset - inferred))
    ours, theirs, same = (column(some, "value") for some in (sb, chosen(em, preset=size), chosen(begun, preset=size)))
    ratio, needed = steadier(ours, [theirs])
    seen = "yes" if ratio >= needed else "no"
    told = (
        f"With {size} nodes (inferred: {inferred:.1f}) EM from random starts has a standard deviation of "
        f"{mean_of(theirs).spread:.2f}, begun from the best episodes {mean_of(same).spread:.2f}; Dec-SBPR has "
        f"{mean_of(ours).spread:.2f}. EM's variance is {ratio:.2f} times Dec-SBPR's."
    )
    rule = (
        "the given size nearest to what Dec-SBPR inferred; large: beyond Dec-SBPR's; yes: by Fisher's F "
        f"at 95 % (here {needed:.2f} times the variance)."
    )
    says = "Even with the number of nodes that Dec-SBPR infers, EM has a large error bar."
    return Claim(says, seen, told, rule)


def _better_than_dp(sb: Rows, dp: Rows) -> Claim:
    one, two, found = mean_of(column(sb, "value")), mean_of(column(dp, "value")), _against(sb, dp)
    seen = "yes" if found.side == "above" else "no"
    told = f"Dec-SBPR {one.words()}, DP {two.words()}; seed by seed: {found.words()}."
    rule = "yes: above, seed by seed."
    return Claim("The stick-breaking prior does slightly better than its special case DP.", seen, told, rule)


def _fitting(em: Rows) -> Claim | None:
    """Too few nodes, about right, too many: by the paper's own number, not by where ours is best."""
    tests: dict[str, Callable[[int], bool]] = {
        "few": lambda size: size <= SMALL * INFERRED_ON_MARS,
        "right": lambda size: abs(size - INFERRED_ON_MARS) <= ABOUT,
        "many": lambda size: size >= LARGE * INFERRED_ON_MARS,
    }
    groups = {name: [row for row in em if test(_preset(row))] for name, test in tests.items()}
    if not all(groups.values()):
        return None
    sides = {name: _against(groups["right"], groups[name]).side for name in ("few", "many")}
    words = set(sides.values())
    seen = "yes" if words == {"above"} else "partly" if "above" in words and "below" not in words else "no"
    told = "; ".join(
        f"|Z| of {', '.join(map(str, distinct(some, 'preset')))}: {mean_of(list(_by_seed(some).values())).words()}"
        for some in groups.values()
    )
    evidence = f"EM's values: {told}. The middle is {sides['few']} and {sides['many']}, against fewer and more nodes."
    rule = (
        f"right: within {ABOUT} of the paper's {INFERRED_ON_MARS} nodes; too small: at most half of that; too large: "
        "at least twice; means over the sizes of a group, seed by seed; yes: the middle is above both; partly: above "
        "one, below none."
    )
    return Claim("EM under-fits when |Z| is too small and over-fits when it is too large.", seen, evidence, rule)


def _preset(row: Row) -> int:
    return int(row["preset"])  # type: ignore[arg-type]


def _fewer_episodes(rows: Rows) -> Claim | None:
    """At every smaller K: as good as at the largest, better than EM's average and than who played."""
    counts = sorted(distinct(rows, "episodes"))
    if len(counts) < 2:
        return None
    most, fewer = counts[-1], counts[:-1]
    told, sides = [], {}
    for k in counts:
        sides[k] = _at(rows, k, most)
        words = f" ({sides[k][0]} that of {most})" if k != most else ""
        told.append(f"K = {k}: {_at_words(rows, k)}{words}, {sides[k][1]} EM's and {sides[k][2]} who played")
    kept = all(sides[k][0] != "below" for k in fewer)
    ahead = [all(sides[k][i] == "above" for k in fewer) for i in (1, 2)]
    once = all(any(sides[k][i] == "above" for k in fewer) for i in (1, 2))
    seen = "yes" if kept and all(ahead) else "partly" if once and (kept or all(ahead)) else "no"
    rule = (
        f"robustly: with every smaller K it is not below what it has with {most} episodes, and it is above EM's "
        "average over the sizes and above the behaviour that made the episodes, seed by seed; yes: all of it; partly: "
        "the first or the rest, and above both with some smaller K (what is never better than those has nothing to "
        "lose)."
    )
    return Claim("With fewer training episodes the method still performs robustly.", seen, f"{'; '.join(told)}.", rule)


def _at(rows: Rows, k: int, most: int) -> tuple[str, str, str]:
    """Dec-SBPR with K episodes against itself with the most, against EM's average and against the behaviour."""
    ours, theirs = (chosen(rows, method=method, episodes=k) for method in ("sbpr", "em"))
    own, best = column(ours, "value"), column(chosen(rows, method="sbpr", episodes=most), "value")
    played = compare(own, column(ours, "behaviour"), same_data=True)
    return compare(own, best).side, _against(ours, theirs).side, played.side


def _at_words(rows: Rows, k: int) -> str:
    ours, theirs = (chosen(rows, method=method, episodes=k) for method in ("sbpr", "em"))
    means = [mean_of(column(ours, "value")), mean_of(column(theirs, "value")), mean_of(column(ours, "behaviour"))]
    return f"{means[0].words()}, EM's average {means[1].value:.2f}, who played {means[2].value:.2f}"
