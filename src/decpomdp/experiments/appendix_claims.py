"""What the paper says of the curves of the appendix, and whether we see it: each claim with its rule.

"These results are associated with the numbers reported in the first two columns of Table 2": the curves end, then, at
the value and the size that the table has for a fixed number of iterations. The last iteration is held against those by
the rule of the page (`judging`): its interval is widened by the error of a mean of 100 test episodes, which cells made
by older code do not have; theirs is not widened.
"""

from decpomdp.experiments.experiment import Claim, Rows, chosen, column, distinct, judged
from decpomdp.experiments.judging import ROUNDING, Mean, compare, mean_of, size_verdict, verdict
from decpomdp.experiments.published import PROBLEMS, TABLE2

FORMS = {"value": "posterior mean", "decided": "likeliest choices"}  # of the iteration's posterior
MOVING = {  # what is to rise or to fall, and the words for the contrary
    "value": "Values of the posterior mean fall",
    "decided": "Values of the likeliest choices fall",
    "exploration": "The rate rises",
}
SOME = 0.5  # of the problems, on which published values agree at least


def ends(some: Rows) -> tuple[Rows, Rows]:
    """The rows of the first and of the last iteration."""
    points = column(some, "iteration")
    return chosen(some, iteration=min(points)), chosen(some, iteration=max(points))


def last_value(some: Rows, form: str) -> Mean:
    """The value at the last iteration, with an interval for the published one: that is a mean of test episodes."""
    last = ends(some)[1]
    errors = column(last, f"{form}_error")
    return mean_of(column(last, form), mean_of(errors).value if errors else 0.0)


def value_judged(some: Rows, problem: str, form: str) -> str:
    """Whether the published value agrees with the last iteration, or ours is higher or lower."""
    return verdict(TABLE2[problem, "sbpr-iterations"].value, last_value(some, form))


def last_size(some: Rows) -> Mean:
    """The nodes occupied at the last iteration."""
    return mean_of(column(ends(some)[1], "mean_nodes"))


def size_judged(some: Rows, problem: str) -> str:
    """Whether the published size agrees with the last iteration, or ours has more or fewer nodes."""
    return size_verdict(TABLE2[problem, "sbpr-iterations"].nodes, last_size(some))


def kept_words(rows: Rows) -> str:
    """On which problems every seed has, at every iteration, the size of its first: what was inferred of none there."""
    kept = [problem for problem in distinct(rows, "problem") if _kept(chosen(rows, problem=problem))]
    told = ", ".join(f"{PROBLEMS[p]} ({last_size(chosen(rows, problem=p)).value:.2f} nodes)" for p in kept)
    words = "Every seed keeps the size of its first iteration at all others, so that nothing was inferred, on"
    return f"{words}: {told}." if kept else ""


def _kept(some: Rows) -> bool:
    sizes = [column(chosen(some, seed=seed), "mean_nodes") for seed in distinct(some, "seed")]
    return all(max(each) - min(each) <= ROUNDING for each in sizes)


def claims(rows: Rows) -> list[Claim]:
    """What the paper's plots are there to show, and where they end."""
    return judged([_rising(rows), _ending(rows)], rows)


def _rising(rows: Rows) -> Claim:
    """The posterior mean and the likeliest choices: the lesser verdict counts."""
    problems = distinct(rows, "problem")
    told = [_course_words(chosen(rows, problem=problem), problem) for problem in problems]
    right, wrong = (
        {key: [problem for problem in problems if _moves(chosen(rows, problem=problem), key) == way] for key in MOVING}
        for way in ("as said", "against")
    )
    counts = [len(right[key]) for key in MOVING]
    seen = "yes" if min(counts) == len(problems) else "no" if 0 in counts or any(wrong.values()) else "partly"
    evidence = (
        f"{'; '.join(told)}. Values of the posterior mean rise on {counts[0]}, those of the likeliest choices on "
        f"{counts[1]}, the rate falls on {counts[2]} of {len(problems)} problems."
    )
    for key, words in MOVING.items():
        evidence += f" {words} on: {', '.join(PROBLEMS[p] for p in wrong[key])}." if wrong[key] else ""
    rule = (
        "the last iteration against the first, by interval or ranks; yes: values rise and the rate falls on every "
        "problem; partly: each on some, and values fall and the rate rises on none; for the posterior mean and for the "
        "likeliest choices, the lesser counts."
    )
    return Claim("Over the iterations values rise while the exploration rate falls.", seen, evidence, rule)


def _course_words(some: Rows, problem: str) -> str:
    mean, decided, rate = (
        " to ".join(f"{mean_of(column(end, key)).value:.2f}" for end in ends(some)) for key in MOVING
    )
    return f"{PROBLEMS[problem]} {mean} (likeliest choices {decided}), exploring {rate}"


def _moves(some: Rows, key: str) -> str:
    """Whether the last iteration is on the side of the first that the paper says, on the other, or level."""
    first, last = (column(end, key) for end in ends(some))
    side = compare(last, first).side
    return "level" if side == "level" else "as said" if (side == "below") == (key == "exploration") else "against"


def _ending(rows: Rows) -> Claim:
    """The last iteration against table 2, whose numbers the paper associates with the curves."""
    told, values, sizes = [], [], []
    for problem in distinct(rows, "problem"):
        some, entry = chosen(rows, problem=problem), TABLE2[problem, "sbpr-iterations"]
        values.append(value_judged(some, problem, "value"))
        sizes.append(size_judged(some, problem))
        size = last_size(some)
        words = "; ".join(
            f"{name} {last_value(some, form).words()}: {value_judged(some, problem, form)}"
            for form, name in FORMS.items()
        )
        told.append(
            f"{PROBLEMS[problem]} (paper {entry.value:g}, {entry.nodes:g} nodes) {words}; {size.value:.2f} nodes, "
            f"{size.least:g} to {size.most:g} over seeds: {sizes[-1]}"
        )
    agreeing = values.count("agrees") >= SOME * len(values)
    seen = "yes" if {*values, *sizes} == {"agrees"} else "partly" if agreeing else "no"
    counted = (
        f"Values of the posterior mean agree on {values.count('agrees')}, are higher on {values.count('higher')} and "
        f"lower on {values.count('lower')} of {len(values)} problems; sizes agree on {sizes.count('agrees')}, ours has "
        f"more nodes on {sizes.count('more')} and fewer on {sizes.count('fewer')}."
    )
    rule = (
        "the last iteration, by the rules for published values and sizes; yes: value of the posterior mean and size "
        "agree on every problem, higher is not agreeing; partly: the values agree on at least half of the problems. "
        "The likeliest choices are shown, not judged."
    )
    says = "The curves of the appendix end at the values and sizes of table 2."
    return Claim(says, seen, " ".join(filter(None, (f"{'. '.join(told)}.", counted, kept_words(rows)))), rule)
