"""Times of figure 1: until convergence and per sweep. A fit that ends at its limit of sweeps has not converged."""

from decpomdp.experiments.experiment import Claim, Rows, chosen, column, distinct
from decpomdp.experiments.judging import compare, mean_of
from decpomdp.experiments.published import INFERRED_ON_MARS


def unfinished(rows: Rows) -> list[int]:
    """How many fits ended at their limit of sweeps, and of how many."""
    return [len(chosen(rows, stopped="iterations")), len(rows)]


def limit_words(rows: Rows, names: dict[str, str]) -> str:
    """Which methods did not always converge, and what that means for their times and values."""
    told = []
    for method, name in names.items():
        ended, count = unfinished(chosen(rows, method=method))
        told += [f"{ended} of {count} fits of {name}"] if ended else []
    limits = ", ".join(str(limit) for limit in distinct(rows, "limit"))
    if not told:
        return f"all fits converged within the limit of {limits} sweeps."
    return (
        f"{', '.join(told)} ended at the limit of {limits} sweeps instead. Their seconds are those of so many sweeps, "
        "less than convergence takes, and their values are not the last word; all other fits converged."
    )


def quicker(em: Rows, sb: Rows, dp: Rows) -> Claim:
    """Less time than EM to reach convergence."""
    ours = mean_of(column(sb, "seconds"))
    size = min(distinct(em, "preset"), key=lambda preset: abs(preset - INFERRED_ON_MARS))
    same, every = chosen(em, preset=size), mean_of(column(em, "seconds"))
    theirs = mean_of(column(same, "seconds"))
    sizes = [column(chosen(em, preset=each), "seconds") for each in distinct(em, "preset")]
    slow = max(sizes, key=lambda seconds: mean_of(seconds).value)
    slowest, done = mean_of(slow).value, unfinished(sb)[0] == 0
    less = [compare(column(sb, "seconds"), other).side == "below" for other in (column(same, "seconds"), slow)]
    soon = compare(column(sb, "paper_seconds"), column(same, "paper_seconds"))
    early = [mean_of(column(some, "paper_seconds")).value for some in (sb, same)]
    seen = "yes" if done and less[0] and soon.side == "below" else "no"
    if seen == "no" and (soon.side == "below" or (done and any(less))):
        seen = "partly"
    told = (
        f"Dec-SBPR takes {ours.value:.2f} s and {mean_of(column(sb, 'sweeps')).value:.0f} sweeps from a truncation of "
        f"{sb[0]['truncation']}; EM with {size} nodes {theirs.value:.2f} s and "
        f"{mean_of(column(same, 'sweeps')).value:.0f} sweeps, over all sizes {every.value:.2f} s, {slowest:.2f} s at "
        f"the slowest; DP {mean_of(column(dp, 'seconds')).value:.2f} s. Not converged at the limit of "
        f"{sb[0]['limit']} sweeps: {_share(sb)} fits of Dec-SBPR, {_share(dp)} of DP, {_share(em)} of EM; their times "
        f"would be longer. Stopped as the paper stops, when the bound rises by less than 1e-3 of itself: Dec-SBPR "
        f"{early[0]:.2f} s and {mean_of(column(sb, 'paper_sweeps')).value:.0f} sweeps, EM {early[1]:.2f} s and "
        f"{mean_of(column(same, 'paper_sweeps')).value:.0f} ({soon.side})."
    )
    rule = (
        f"yes: all fits of Dec-SBPR converge, in less time than EM with about as many nodes as the paper infers "
        f"({size}), by interval or ranks, and so it does when both stop as the paper stops; partly: one of these, or "
        "in less than EM's slowest size. DP is shown, not judged."
    )
    return Claim("VB uses less time than EM to reach convergence.", seen, told, rule)


def cheaper(em: Rows, sb: Rows) -> Claim:
    """The caption's concession: an iteration of EM costs less."""
    size = min(distinct(em, "preset"), key=lambda preset: abs(preset - INFERRED_ON_MARS))
    theirs, ours = (mean_of(_per_sweep(some)) for some in (chosen(em, preset=size), sb))
    found = compare(_per_sweep(chosen(em, preset=size)), _per_sweep(sb))
    seen = "yes" if found.side == "below" else "no"
    told = (
        f"EM with {size} nodes takes {1e3 * theirs.value:.1f} ms a sweep, Dec-SBPR {1e3 * ours.value:.1f} ms, which "
        f"begins with {sb[0]['truncation']} nodes and tries other sizes on its way ({found.words()})."
    )
    rule = f"seconds over sweeps, of EM with about as many nodes as the paper infers ({size}); yes: below."
    return Claim("An iteration of EM takes less time than one of VB.", seen, told, rule)


def _share(some: Rows) -> str:
    ended, count = unfinished(some)
    return f"{ended} of {count}"


def _per_sweep(some: Rows) -> list[float]:
    pairs = zip(column(some, "seconds"), column(some, "sweeps"), strict=True)
    return [seconds / max(sweeps, 1.0) for seconds, sweeps in pairs]
