"""What the paper reads off figure 1, and whether we see it: each claim with the rule by which it is judged.

Values and sizes are here, times in `figure1_times`. What is compared learned from the same episodes: seed by seed.
"""

from collections.abc import Callable
from dataclasses import replace

from decpomdp.core.fit import Row
from decpomdp.experiments.experiment import Claim, Rows, chosen, column, distinct
from decpomdp.experiments.figure1_times import cheaper, quicker
from decpomdp.experiments.judging import Mean, above, mean_of, side, steadier
from decpomdp.experiments.published import INFERRED_ON_MARS

FORMS = {"printed": "as printed", "normalised": "normalised ratios"}  # each the same for all methods
SELECTED = {"normalised": " (This form was chosen, on other seeds, because Dec-SBPR did well in it.)"}
CLOSE = 0.75  # share of the way from EM's average to its best
ABOUT = 1  # nodes more or fewer than the paper's
SMALL, LARGE = 0.5, 2.0  # times the paper's size: too few nodes, too many
WORDS = {"above": "yes", "level": "partly", "below": "no"}


def claims(rows: Rows) -> list[Claim]:
    """What the paper reads off its figure, at the largest number of episodes of its behaviour, for every form."""
    paper = chosen(rows, follow=rows[0]["follow"])
    return [claim for form in FORMS for claim in _claims(chosen(paper, form=form), form)]


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
    far, close = side(_apart(ours, em)) == "above", place >= CLOSE
    seen = "yes" if far and close else "partly" if far or close else "no"
    size = mean_of(column(ours, "sample_size")).value
    told = (
        f"EM's runs have {every.value:.2f} on average and {every.most:.2f} at best; {name} has {own.words()}, "
        f"{100 * place:.0f} % of the way from EM's average to its best. EM that begins with the best episodes, as "
        f"{name} does, has {same.value:.2f} on average and {same.most:.2f} at best. The learned team is supported by "
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


def _apart(one: Rows, other: Rows) -> list[float]:
    """What one is above the other on every seed."""
    ours, theirs = _by_seed(one), _by_seed(other)
    return [ours[seed] - theirs[seed] for seed in ours if seed in theirs]


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
    seen = "yes" if ratio >= needed else "partly" if ratio > 1 else "no"
    told = (
        f"Standard deviation over seeds: Dec-SBPR {mean_of(ours).spread:.2f}, EM {min(spreads):.2f} to "
        f"{max(spreads):.2f}, depending on its size. EM's variance within sizes is {ratio:.2f} times Dec-SBPR's."
    )
    rule = f"yes: so many times that Fisher's F rules out chance at 95 % (here {needed:.2f}); partly: more than once."
    return Claim("Dec-SBPR has a low variance of test values, EM a large one.", seen, told, rule)


def _unsteady(em: Rows, sb: Rows, begun: Rows) -> Claim:
    inferred = mean_of(column(sb, "inferred")).value
    size = min(distinct(em, "preset"), key=lambda preset: abs(preset - inferred))
    ours, theirs, same = (column(some, "value") for some in (sb, chosen(em, preset=size), chosen(begun, preset=size)))
    ratio, needed = steadier(ours, [theirs])
    seen = "yes" if ratio >= needed else "partly" if ratio > 1 else "no"
    told = (
        f"With {size} nodes (inferred: {inferred:.1f}) EM from random starts has a standard deviation of "
        f"{mean_of(theirs).spread:.2f}, begun from the best episodes {mean_of(same).spread:.2f}; Dec-SBPR has "
        f"{mean_of(ours).spread:.2f}. EM's variance is {ratio:.2f} times Dec-SBPR's."
    )
    rule = (
        "the given size nearest to what Dec-SBPR inferred; large: beyond Dec-SBPR's; yes: by Fisher's F "
        f"at 95 % (here {needed:.2f} times the variance); partly: larger."
    )
    says = "Even with the number of nodes that Dec-SBPR infers, EM has a large error bar."
    return Claim(says, seen, told, rule)


def _better_than_dp(sb: Rows, dp: Rows) -> Claim:
    one, two, gaps = mean_of(column(sb, "value")), mean_of(column(dp, "value")), _apart(sb, dp)
    gap, found = mean_of(gaps), side(gaps)
    seen = "no" if found == "level" and gap.value <= 0 else WORDS[found]
    told = f"Dec-SBPR {one.words()}, DP {two.words()}; seed by seed {gap.words()}: {found}."
    rule = "yes: above, seed by seed; partly: level, with the higher mean."
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
    sides = {name: side(_apart(groups["right"], groups[name])) for name in ("few", "many")}
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
    """At every smaller K: as good as at the largest, and better than EM's average."""
    counts = sorted(distinct(rows, "episodes"))
    if len(counts) < 2:
        return None
    ours = {k: chosen(rows, method="sbpr", episodes=k) for k in counts}
    theirs = {k: chosen(rows, method="em", episodes=k) for k in counts}
    means = {k: mean_of(column(ours[k], "value")) for k in counts}
    most, fewer = counts[-1], counts[:-1]
    kept = all(above(means[k], means[most]) != "below" for k in fewer)
    ahead = all(side(_apart(ours[k], theirs[k])) == "above" for k in fewer)
    seen = "yes" if kept and ahead else "partly" if kept or ahead else "no"
    told = "; ".join(
        f"K = {k}: {means[k].words()}" + (f" ({above(means[k], means[most])})" if k != most else "")
        + f", EM's average {mean_of(column(theirs[k], 'value')).value:.2f} ({side(_apart(ours[k], theirs[k]))})"
        for k in counts
    )  # fmt: skip
    rule = (
        f"robustly: with every smaller K it is not below what it has with {most} episodes, and it is above EM's "
        "average over the sizes, seed by seed; yes: both; partly: one of them."
    )
    return Claim("With fewer training episodes the method still performs robustly.", seen, f"{told}.", rule)
