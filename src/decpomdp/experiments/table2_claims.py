"""Table 2 summed up over seeds, what the paper concludes from it, and whether we see it."""

from dataclasses import dataclass, replace

from decpomdp.experiments.experiment import Claim, Rows, chosen, column, distinct
from decpomdp.experiments.judging import Mean, above, mean_of
from decpomdp.experiments.published import METHODS, PROBLEMS, TABLE2


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
    """What the paper concludes from its table."""
    better = "Dec-SBPR achieves better policy values than MCEM on all problems."
    quicker = "In a fixed time Dec-SBPR achieves a better trade-off between value and time than MCEM."
    found = [_against(rows, "sbpr-iterations", "mcem", better), _against(rows, "sbpr-time", "mcem-time", quicker)]
    return [*(claim for claim in found if claim is not None), *_planners(rows)]


def _against(rows: Rows, method: str, other: str, says: str) -> Claim | None:
    """Better than MCEM: ours than ours, ours than the published one, the published one than the published one."""
    told, sides, higher, own = [], [], 0, []
    for problem in distinct(rows, "problem"):
        one, two = summary(rows, problem, method), summary(rows, problem, other)
        if one is None or two is None:
            return None
        sides.append(above(one.value, two.value))
        took = f"{one.seconds.value:.1f} and {two.seconds.value:.1f} s"
        told.append(f"{PROBLEMS[problem]} {one.value.value:.2f} against {two.value.value:.2f} ({sides[-1]}; {took})")
        published = TABLE2[problem, "mcem"].value
        higher += one.value.value > published
        own += [PROBLEMS[problem]] if TABLE2[problem, method].value < published else []
    seen = "yes" if set(sides) == {"above"} else "partly" if "above" in sides else "no"
    evidence = f"Ours, exact means over seeds: {'; '.join(told)}. "
    evidence += f"Against the published values of MCEM ours are higher on {higher} of {len(told)}."
    if own:
        evidence += f" The paper's own table has Dec-SBPR below MCEM on {' and '.join(own)}."
    return Claim(says, seen, evidence)


def _beside_planner(rows: Rows, planner: str, says: str) -> tuple[list[str], Claim] | None:
    """How Dec-SBPR compares with a planner that knows the model; the claim is filled in by the caller's rule."""
    told, sides = [], []
    for problem in distinct(rows, "problem"):
        ours, best = summary(rows, problem, "sbpr-iterations"), summary(rows, problem, planner)
        if ours is None or best is None:
            return None
        sides.append(above(ours.value, best.value))
        told.append(f"{PROBLEMS[problem]} {ours.value.value:.2f} of {best.value.value:.2f} ({sides[-1]})")
    return sides, Claim(says, "no", f"Ours, of what our {METHODS[planner]} found: {'; '.join(told)}.")


def _planners(rows: Rows) -> list[Claim]:
    """Never above FB-HSVI, sometimes above PeriEM."""
    found = []
    lower = "Dec-SBPR produces lower values than FB-HSVI, and near optimal ones on some problems."
    higher = "Dec-SBPR can sometimes outperform PeriEM."
    if (told := _beside_planner(rows, "fb-hsvi", lower)) is not None:
        found.append(replace(told[1], seen="no" if "above" in told[0] else "yes"))
    if (told := _beside_planner(rows, "periem", higher)) is not None:
        found.append(replace(told[1], seen="yes" if "above" in told[0] else "no"))
    return found
