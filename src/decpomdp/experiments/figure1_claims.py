"""What the paper reads off figure 1, and whether we see it: each claim with the rule by which it is judged."""

from dataclasses import replace

from decpomdp.experiments.experiment import Claim, Rows, chosen, column, distinct
from decpomdp.experiments.judging import Mean, above, mean_of
from decpomdp.experiments.published import INFERRED_ON_MARS, TRUNCATION

FORMS = {"printed": "as printed", "normalised": "normalised ratios"}  # each the same for all methods
SELECTED = {"normalised": " (This form was chosen, on other seeds, because Dec-SBPR did well in it.)"}


def claims(rows: Rows) -> list[Claim]:
    """What the paper reads off its figure, at the largest number of episodes of its behaviour, for every form."""
    most = chosen(rows, episodes=max(distinct(rows, "episodes")))
    paper = chosen(most, follow=most[0]["follow"])
    return [claim for form in FORMS for claim in _claims(chosen(paper, form=form), form)]


def _claims(rows: Rows, form: str) -> list[Claim]:
    em, sb, dp, begun = (chosen(rows, method=method) for method in ("em", "sbpr", "dp", "em-best"))
    found = [_near_best(em, sb, begun), _quicker(em, sb), _fewer(sb), _steadier(em, sb), _better_than_dp(sb, dp)]
    first = replace(found[0], evidence=found[0].evidence + SELECTED.get(form, ""))
    return [replace(claim, says=f"{claim.says} ({FORMS[form]})") for claim in (first, *found[1:])]


def _near_best(em: Rows, sb: Rows, begun: Rows) -> Claim:
    every, ours, same = (mean_of(column(some, "value")) for some in (em, sb, begun))
    place = (ours.value - every.value) / max(every.most - every.value, 1e-9)
    far = above(ours, every) == "above"
    seen = "yes" if far and place >= 0.5 else "partly" if far or place >= 0.5 else "no"
    size = mean_of(column(sb, "sample_size")).value
    behaviour = mean_of(column(sb, "behaviour")).value
    told = (
        f"EM's runs have {every.value:.2f} on average and {every.most:.2f} at best; Dec-SBPR has {ours.words()}, "
        f"{100 * place:.0f} % of the way from EM's average to its best. EM that begins with the best episodes, as "
        f"Dec-SBPR does, has {same.value:.2f} on average and {same.most:.2f} at best. The learned team is supported by "
        f"an effective {size:.1f} of {sb[0]['episodes']} episodes; the behaviour that made them earns {behaviour:.2f}. "
        "(Near: at least half of the way. Far above: outside both 95 % intervals.)"
    )
    return Claim("Values close to EM's best result and much better than EM's average.", seen, told)


def _quicker(em: Rows, sb: Rows) -> Claim:
    ours = mean_of(column(sb, "seconds"))
    size = min(distinct(em, "preset"), key=lambda preset: abs(preset - INFERRED_ON_MARS))
    theirs, every = mean_of(column(chosen(em, preset=size), "seconds")), mean_of(column(em, "seconds"))
    told = (
        f"Dec-SBPR takes {ours.value:.2f} s and {mean_of(column(sb, 'sweeps')).value:.0f} sweeps from a truncation of "
        f"{TRUNCATION}; EM with {size} nodes {theirs.value:.2f} s and "
        f"{mean_of(column(chosen(em, preset=size), 'sweeps')).value:.0f} sweeps, over all sizes {every.value:.2f} s."
    )
    seen = "yes" if ours.value < theirs.value else "no"
    return Claim("VB uses less time than EM to reach convergence.", seen, told)


def _fewer(sb: Rows) -> Claim:
    size: Mean = mean_of(column(sb, "inferred"))
    near = size.least <= INFERRED_ON_MARS <= size.most or abs(size.value - INFERRED_ON_MARS) <= 1
    told = f"From {TRUNCATION} nodes it comes to {size.value:.1f} per agent ({size.least:.1f} to {size.most:.1f})."
    return Claim(f"The inferred number of nodes is about {INFERRED_ON_MARS}.", "yes" if near else "no", told)


def _steadier(em: Rows, sb: Rows) -> Claim:
    ours = mean_of(column(sb, "value")).spread
    theirs = [mean_of(column(chosen(em, preset=size), "value")).spread for size in distinct(em, "preset")]
    least, most = min(theirs), max(theirs)
    seen = "yes" if ours < least else "partly" if ours < sum(theirs) / len(theirs) else "no"
    told = f"Standard deviation over seeds: Dec-SBPR {ours:.2f}, EM {least:.2f} to {most:.2f}, depending on its size."
    return Claim("Dec-SBPR has a low variance of test values, EM a large one.", seen, told)


def _better_than_dp(sb: Rows, dp: Rows) -> Claim:
    one, two = mean_of(column(sb, "value")), mean_of(column(dp, "value"))
    seen = {"above": "yes", "level": "partly", "below": "no"}[above(one, two)]
    told = f"Dec-SBPR {one.words()}, DP {two.words()}: {above(one, two)}."
    return Claim("The stick-breaking prior does slightly better than its special case DP.", seen, told)
