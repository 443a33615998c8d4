"""Times of figure 1: until convergence and per sweep. A fit that ends at its limit of sweeps has not converged."""

from decpomdp.core.fit import Row
from decpomdp.experiments.experiment import Claim, Rows, chosen, column, distinct
from decpomdp.experiments.figure1_sizes import against
from decpomdp.experiments.judging import mean_of
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


def quicker(em: Rows, sb: Rows, dp: Rows, printed: bool) -> Claim:
    """Less time than EM to reach convergence: as printed by the paper's rule of stopping, otherwise by ours."""
    key = "paper_" if printed else ""
    size = min(distinct(em, "preset"), key=lambda preset: abs(preset - INFERRED_ON_MARS))
    same = chosen(em, preset=size)
    sizes = [chosen(em, preset=each) for each in distinct(em, "preset")]
    slow = max(sizes, key=lambda some: _mean(some, f"{key}seconds"))
    less = [against(sb, other, f"{key}seconds").side == "below" for other in (same, slow)]
    done = unfinished(sb)[0] == 0
    seen = "no" if not done else "yes" if less[0] else "partly" if less[1] else "no"
    told = (
        f"Dec-SBPR takes {_mean(sb, f'{key}seconds'):.2f} s and {_mean(sb, f'{key}sweeps'):.0f} sweeps from a "
        f"truncation of {sb[0]['truncation']}; EM with {size} nodes {_mean(same, f'{key}seconds'):.2f} s and "
        f"{_mean(same, f'{key}sweeps'):.0f} sweeps, over all sizes {_mean(em, f'{key}seconds'):.2f} s, "
        f"{_mean(slow, f'{key}seconds'):.2f} s at the slowest; DP {_mean(dp, f'{key}seconds'):.2f} s. Not converged at "
        f"the limit of {sb[0]['limit']} sweeps: {_share(sb)} fits of Dec-SBPR, {_share(dp)} of DP"
    )
    told += "." if printed else f", {_share(em)} of EM; their times would be longer."
    stop = (
        "stopped when the bound rises by less than 1e-3 of itself, as in the paper" if printed else "stopped as we do"
    )
    rule = (
        f"{stop}; yes: all fits of Dec-SBPR converge, in less time than EM with about as many nodes as the paper "
        f"infers ({size}), seed by seed; partly: in less than EM's slowest size. DP is shown, not judged."
    )
    return Claim("VB uses less time than EM to reach convergence.", seen, told, rule)


def cheaper(em: Rows, sb: Rows, printed: bool) -> Claim:
    """The caption's concession: an iteration of EM costs less."""
    size = min(distinct(em, "preset"), key=lambda preset: abs(preset - INFERRED_ON_MARS))
    same, own = _per_sweep(chosen(em, preset=size)), _per_sweep(sb)
    theirs, ours = mean_of(column(same, "share")), mean_of(column(own, "share"))
    found = against(same, own, "share")
    seen = "yes" if found.side == "below" else "no"
    tries = "" if printed else " and tries other sizes on its way, whose sweeps are not counted"
    told = (
        f"EM with {size} nodes takes {1e3 * theirs.value:.1f} ms a sweep, Dec-SBPR {1e3 * ours.value:.1f} ms, which "
        f"begins with {sb[0]['truncation']} nodes{tries} ({found.words()})."
    )
    rule = f"seconds over sweeps, of EM with about as many nodes as the paper infers ({size}); yes: below."
    return Claim("An iteration of EM takes less time than one of VB.", seen, told, rule)


def _share(some: Rows) -> str:
    ended, count = unfinished(some)
    return f"{ended} of {count}"


def _mean(some: Rows, key: str) -> float:
    return mean_of(column(some, key)).value


def _per_sweep(some: Rows) -> list[Row]:
    """Seconds over sweeps, of each."""
    pairs = zip(column(some, "seconds"), column(some, "sweeps"), strict=True)
    shares = [seconds / max(sweeps, 1.0) for seconds, sweeps in pairs]
    return [{**row, "share": share} for row, share in zip(some, shares, strict=True)]
