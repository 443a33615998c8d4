"""Table 2 summed up over seeds, what the paper concludes from it, and whether we see it: each with its rule."""

from dataclasses import dataclass

from decpomdp.experiments.experiment import Claim, Rows, chosen, column, distinct, judged
from decpomdp.experiments.judging import Comparison, Mean, above, compare, mean_of
from decpomdp.experiments.published import PROBLEMS, TABLE2

NEAR = 0.05  # share of the best value that "near optimal" may lose
CLOSER = 0.5  # share of MCEM's loss that "much closer to the optimal" may have
SOME = 2  # problems: "some of these"
NEEDED = 1  # nodes that an inferred size may have beyond what the team needs


@dataclass(frozen=True, slots=True)
class Summary:
    """One problem and method over all seeds."""

    value: Mean  # exact
    judged: Mean  # the same, with an interval for the published value: it is a mean of test episodes
    sampled: Mean  # as the paper measured
    nodes: Mean
    seconds: Mean


def summary(rows: Rows, problem: str, method: str) -> Summary | None:
    """The runs of one problem and method; None without any."""
    some = chosen(rows, problem=problem, method=method)
    if not some:
        return None
    values, error = column(some, "value"), mean_of(column(some, "sampled_error")).value
    others = (mean_of(column(some, key)) for key in ("sampled", "nodes", "seconds"))
    return Summary(mean_of(values), mean_of(values, error), *others)


def claims(rows: Rows) -> list[Claim]:
    """What the paper concludes from its table; what needs a method that was not run is left out."""
    better = "Dec-SBPR achieves better policy values than MCEM on all problems."
    quicker = "In a fixed time Dec-SBPR achieves a better trade-off between value and time than MCEM."
    found = [
        _against(rows, "sbpr-iterations", "mcem", better),
        _against(rows, "sbpr-time", "mcem-time", quicker),
        _lower(rows),
        _near(rows),
        _closer(rows),
        _periodic(rows),
        _needed(rows),
    ]
    return judged([claim for claim in found if claim is not None], rows)


def _together(rows: Rows, *methods: str) -> dict[str, tuple[Summary, ...]] | None:
    """These methods by problem; None unless all were run on every one."""
    found = {}
    for problem in distinct(rows, "problem"):
        told = [summary(rows, problem, method) for method in methods]
        if None in told:
            return None
        found[problem] = tuple(each for each in told if each is not None)
    return found


def _sides(rows: Rows, problem: str, method: str, other: str) -> Comparison:
    """Two methods of ours on one problem; a planner has one seed for all."""
    ours, theirs = (column(chosen(rows, problem=problem, method=each), "value") for each in (method, other))
    return compare(ours, theirs)


def _against(rows: Rows, method: str, other: str, says: str) -> Claim | None:
    """Better than MCEM: ours than ours, ours than the published one, the published one than the published one."""
    both = _together(rows, method, other)
    if both is None:
        return None
    told, sides, higher, own = [], [], 0, []
    for problem, (one, two) in both.items():
        found = _sides(rows, problem, method, other)
        sides.append(found.side)
        took = f"{one.seconds.value:.1f} and {two.seconds.value:.1f} s"
        told.append(
            f"{PROBLEMS[problem]} {one.value.value:.2f} against {two.value.value:.2f} ({found.words()}; {took})"
        )
        published = TABLE2[problem, "mcem"].value
        higher += above(one.judged, mean_of([published])) == "above"
        own += [PROBLEMS[problem]] if TABLE2[problem, method].value < published else []
    seen = "yes" if set(sides) == {"above"} else "partly" if "above" in sides and "below" not in sides else "no"
    evidence = f"Ours, exact means over seeds: {'; '.join(told)}. "
    evidence += f"Ours are above the published values of MCEM on {higher} of {len(told)}."
    if own:
        evidence += f" The paper's own table has Dec-SBPR below MCEM on {' and '.join(own)}."
    return Claim(says, seen, evidence, "yes: above our MCEM on every problem; partly: above on some, below on none.")


def _best(problem: str, planner: Summary | None) -> float:
    """What FB-HSVI reaches, here or in the paper."""
    published = TABLE2[problem, "fb-hsvi"].value
    return published if planner is None else max(planner.value.value, published)


def _low(ours: Summary) -> float:
    """The low end of the interval."""
    return ours.value.value - ours.value.half


def _loss(problem: str, ours: Summary, planner: Summary | None) -> float:
    """The share of the best value that the low end of our interval loses."""
    best = _best(problem, planner)
    return max(best - _low(ours), 0.0) / abs(best)


def _lower(rows: Rows) -> Claim | None:
    both = _together(rows, "sbpr-iterations", "fb-hsvi")
    if both is None:
        return None
    sides = {problem: _sides(rows, problem, "sbpr-iterations", "fb-hsvi") for problem in both}
    told = "; ".join(
        f"{PROBLEMS[problem]} {ours.value.words()}, FB-HSVI {best.value.value:.2f} ({sides[problem].words()})"
        for problem, (ours, best) in both.items()
    )
    words = {found.side for found in sides.values()}
    seen = "yes" if words == {"below"} else "partly" if "below" in words and "above" not in words else "no"
    rule = "yes: below our FB-HSVI on every problem; partly: below on some, above on none."
    return Claim("Dec-SBPR produces lower values than FB-HSVI.", seen, f"Ours: {told}.", rule)


def _near(rows: Rows) -> Claim | None:
    both = _together(rows, "sbpr-iterations", "fb-hsvi")
    if both is None:
        return None
    told, near = [], 0
    for problem, (ours, planner) in both.items():
        loss = _loss(problem, ours, planner)
        near += loss <= NEAR
        best = _best(problem, planner)
        told.append(f"{PROBLEMS[problem]} from {_low(ours):.2f} on, of {best:.2f} (loses up to {loss:.1%})")
    seen = "yes" if near >= SOME else "partly" if near else "no"
    rule = (
        f"near: the low end of our 95 % interval loses at most {NEAR:.0%} of the best value, that of FB-HSVI (ours or "
        f"the published one, whichever is higher); yes: on at least {SOME} problems (some); partly: on one."
    )
    return Claim("Dec-SBPR produces near optimal solutions on some problems.", seen, f"{'; '.join(told)}.", rule)


def _closer(rows: Rows) -> Claim | None:
    three = _together(rows, "sbpr-iterations", "mcem", "fb-hsvi")
    if three is None:
        return None
    told, much = [], 0
    for problem, (ours, mcem, planner) in three.items():
        best = _best(problem, planner)
        most, mean, other = (best - value for value in (_low(ours), ours.value.value, mcem.value.value))
        much += most <= CLOSER * other
        told.append(f"{PROBLEMS[problem]} {mean:.2f}, at most {most:.2f}; MCEM {other:.2f}")
    seen = "yes" if much == len(told) else "partly" if 2 * much >= len(told) else "no"
    evidence = f"What is missing to the best value, in the mean: {'. '.join(told)}."
    rule = (
        f"the previous method is our MCEM; much closer: the low end of our 95 % interval misses at most {CLOSER:.0%} "
        "of what the mean of MCEM misses; yes: on every problem; partly: on at least half of them."
    )
    return Claim("Dec-SBPR is much closer to the optimal than previous methods that learn.", seen, evidence, rule)


def _periodic(rows: Rows) -> Claim | None:
    both = _together(rows, "sbpr-iterations", "periem")
    if both is None:
        return None
    told, ours_sides, published = [], [], []
    for problem, (ours, planner) in both.items():
        entry = TABLE2.get((problem, "periem"))
        found = _sides(rows, problem, "sbpr-iterations", "periem")
        ours_sides.append(found.side)
        published.append(above(ours.judged, mean_of([entry.value])) if entry else "")
        words = f"; published {entry.value:.2f}: {published[-1]}" if entry else ""
        told.append(
            f"{PROBLEMS[problem]} {ours.value.words()}, PeriEM {planner.value.value:.2f} ({found.words()}{words})"
        )
    seen = "yes" if "above" in ours_sides else "partly" if "above" in published else "no"
    rule = (
        "yes: above our PeriEM on at least one problem (sometimes); partly: only above a published value of PeriEM, "
        "which lies outside our interval."
    )
    return Claim("Dec-SBPR can sometimes outperform PeriEM.", seen, f"Ours: {'; '.join(told)}.", rule)


def _needed(rows: Rows) -> Claim | None:
    """The nodes occupied in the posterior against those of the smallest controllers that act the same."""
    told, fitting = [], []
    for problem in distinct(rows, "problem"):
        some = chosen(rows, problem=problem, method="sbpr-iterations")
        ours = summary(rows, problem, "sbpr-iterations")
        if ours is None or not column(some, "inferred"):
            return None
        inferred, needed = mean_of(column(some, "inferred")).value, ours.nodes.value
        loss = _loss(problem, ours, summary(rows, problem, "fb-hsvi"))
        fitting += [PROBLEMS[problem]] if inferred - needed <= NEEDED and loss <= NEAR else []
        told.append(
            f"{PROBLEMS[problem]} {inferred:.1f} inferred, {needed:.1f} needed (the paper infers "
            f"{TABLE2[problem, 'sbpr-iterations'].nodes:g}), the value loses up to {loss:.1%}"
        )
    seen = "yes" if len(fitting) == len(told) else "partly" if fitting else "no"
    evidence = f"{'; '.join(told)}. Both hold on: {', '.join(fitting) or 'none'}."
    rule = (
        f"needed: in the mean, nodes occupied in the posterior are at most {NEEDED} more than those of the smallest "
        "controllers that act as the learned team does (the kinder reading: of optimal policies the smallest "
        f"controllers are not known here); optimal: the low end of our interval loses at most {NEAR:.0%} of the best "
        "value; yes: both on every problem; partly: both on at least one."
    )
    return Claim("Dec-SBPR infers the number of nodes needed to represent the optimal policy.", seen, evidence, rule)
