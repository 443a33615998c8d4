"""What the paper reads off figure 1, and whether we see it: each claim with the rule by which it is judged.

Values are here, sizes in `figure1_sizes`, times in `figure1_times`. What is compared learned from the same episodes:
seed by seed.
"""

from dataclasses import replace

from decpomdp.experiments.experiment import Claim, Rows, chosen, column, distinct, judged
from decpomdp.experiments.figure1_sizes import against, fitting, inferred, paces
from decpomdp.experiments.figure1_times import cheaper, quicker
from decpomdp.experiments.judging import compare, mean_of, steadier

FORMS = {"printed": "as printed", "counted": "episodes counted", "normalised": "normalised ratios"}
SELECTED = {"normalised": " (This form was chosen, on other seeds, because Dec-SBPR did well in it.)"}
CLOSE = 0.75  # share of the way from EM's average to its best


def claims(rows: Rows) -> list[Claim]:
    """What the paper reads off its figure, at the largest number of episodes of its behaviour, for every form."""
    return judged([claim for form in FORMS for claim in _claims(chosen(rows, form=form), form)], rows)


def _claims(every: Rows, form: str) -> list[Claim]:
    rows = chosen(every, follow=every[0]["follow"])
    most = chosen(rows, episodes=max(distinct(rows, "episodes")))
    em, sb, dp, begun = (chosen(most, method=method) for method in ("em", "sbpr", "dp", "em-best"))
    found = [
        _near_best("Dec-SBPR", em, sb, begun),
        _near_best("DP", em, dp, begun),
        quicker(em, sb, dp, form == "printed"),
        cheaper(em, sb, form == "printed"),
        *paces(em),
        inferred(sb),
        _steadier(em, sb),
        _unsteady(em, sb, begun),
        _better_than_dp(sb, dp),
        fitting(em),
        _fewer_episodes(rows),
        _guided(every),
        _rising([*sb, *dp]) if form != "normalised" else None,  # it says nothing of ratios that change with the team
    ]
    known = (claim for claim in found if claim is not None)
    more = SELECTED.get(form, "")
    return [replace(claim, says=f"{claim.says} ({FORMS[form]})", told=claim.told + more) for claim in known]


def _near_best(name: str, em: Rows, ours: Rows, begun: Rows) -> Claim:
    every, own, same = (mean_of(column(some, "value")) for some in (em, ours, begun))
    place = (own.value - every.value) / max(every.most - every.value, 1e-9)
    over = against(ours, em)
    far, close = over.side == "above", place >= CLOSE
    seen = "yes" if far and close else "partly" if far or close else "no"
    size = mean_of(column(ours, "sample_size")).value
    told = (
        f"EM's runs have {every.value:.2f} on average and {every.most:.2f} at best; {name} has {own.words()}, "
        f"{100 * place:.0f} % of the way from EM's average to its best ({over.words()}, against "
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


def _steadier(em: Rows, sb: Rows) -> Claim:
    ours = column(sb, "value")
    groups = [column(chosen(em, preset=size), "value") for size in distinct(em, "preset")]
    spreads = [mean_of(group).spread for group in groups]
    ratio, needed = steadier(ours, groups)
    seen = "yes" if ratio >= needed else "no"
    told = (
        f"Standard deviation over seeds: Dec-SBPR {mean_of(ours).spread:.2f}, EM {min(spreads):.2f} to "
        f"{max(spreads):.2f}, depending on its size. EM's variance within sizes is {ratio:.2f} times Dec-SBPR's, "
        f"whose teams have {mean_of(column(sb, 'inferred')).value:.1f} nodes per agent and a mean value of "
        f"{mean_of(ours).value:.2f}."
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
        f"With |Z| of {size} (inferred: {inferred:.1f}) EM from random starts has a standard deviation of "
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
    one, two, found = mean_of(column(sb, "value")), mean_of(column(dp, "value")), against(sb, dp)
    seen = "yes" if found.side == "above" else "no"
    told = f"Dec-SBPR {one.words()}, DP {two.words()}; seed by seed: {found.words()}."
    rule = "yes: above, seed by seed."
    return Claim("The stick-breaking prior does slightly better than its special case DP.", seen, told, rule)


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
    return compare(own, best).side, against(ours, theirs).side, played.side


def _at_words(rows: Rows, k: int) -> str:
    ours, theirs = (chosen(rows, method=method, episodes=k) for method in ("sbpr", "em"))
    means = [mean_of(column(ours, "value")), mean_of(column(theirs, "value")), mean_of(column(ours, "behaviour"))]
    return f"{means[0].words()}, EM's average {means[1].value:.2f}, who played {means[2].value:.2f}"


def _guided(every: Rows) -> Claim | None:
    """The other reading of the behaviour follows PBVI more often; what is learned from it?"""
    first, other = every[0]["follow"], [follow for follow in distinct(every, "follow") if follow != every[0]["follow"]]
    if not other:
        return None
    better = chosen(every, follow=other[0])
    usual = chosen(every, follow=first, episodes=max(distinct(better, "episodes")))
    ours, theirs, own = chosen(better, method="sbpr"), chosen(better, method="em"), chosen(usual, method="sbpr")
    there, em, here = (mean_of(column(some, "value")) for some in (ours, theirs, own))
    played = [mean_of(column(some, "behaviour")).value for some in (ours, own)]
    sides = [
        compare(column(ours, "value"), column(own, "value")),
        compare(column(ours, "value"), column(ours, "behaviour"), same_data=True),
    ]
    above = [side.side == "above" for side in sides]
    seen = "yes" if all(above) else "partly" if any(above) else "no"
    told = (
        f"PBVI followed with probability {other[0]:g} earns {played[0]:.2f}, with {first:g} {played[1]:.2f}. From the "
        f"former Dec-SBPR learns {there.words()} ({sides[1].words()}, against who played; "
        f"{against(ours, theirs).side} EM's average of {em.value:.2f}); from the latter {here.words()}: the former is "
        f"{sides[0].side}."
    )
    rule = (
        "yes: above what is learned from the worse behaviour, and above the better one itself; partly: one of them. "
        "Neither is close to optimal: a weak test."
    )
    return Claim("Off-policy learning is efficient if the behaviour is close to optimal.", seen, told, rule)


def _rising(ours: Rows) -> Claim:
    falls = column(ours, "falls")
    with_falls = sum(fall > 0 for fall in falls)
    told = f"It fell in {with_falls} of {len(falls)} fits of Dec-SBPR and DP, {sum(falls):.0f} times in all."
    rule = "yes: never, beyond rounding (1e-8 of it)."
    return Claim("The updates increase the bound monotonically (theorem 1).", "no" if with_falls else "yes", told, rule)
