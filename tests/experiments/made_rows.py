"""Made-up rows of the experiments, as their cells would give them, for the verdicts on the paper's claims."""

from decpomdp.experiments.published import INFERRED_ON_MARS


def grid(values):
    """Rows of one problem: values[point][seed], the points being two values of d."""
    return [
        {"problem": "broadcast", "reading": reading, "c": 0.1, "d": d, "seed": seed, "value": value, "inferred": 3.0,
         "behaviour": 2.0}
        for reading in ("scale", "rate")
        for d, seeds in enumerate(values)
        for seed, value in enumerate(seeds)
    ]  # fmt: skip


def table(inferred=(None, None), **values):
    """Rows of Dec-Tiger and Broadcast: method -> (value on the one, value on the other), three seeds."""
    names = {"sbpr": "sbpr-iterations", "hsvi": "fb-hsvi"}
    return [
        {"problem": problem, "method": names.get(method, method), "seed": seed, "value": value + 0.001 * seed,
         "sampled": value, "sampled_error": 1.0, "nodes": 2.0, "inferred": size, "seconds": 1.0}
        for method, pair in values.items()
        for problem, value, size in zip(("dectiger", "broadcast"), pair, inferred, strict=True)
        for seed in range(3)
    ]  # fmt: skip


def curve(method, values, nodes=2.0, seeds=3):
    """values[iteration], a little more for every seed."""
    return [
        {"method": method, "seed": seed, "iteration": i, "value": value + 0.1 * seed, "nodes": nodes, "side": 4}
        for i, value in values.items()
        for seed in range(seeds)
    ]


def course(rates=(0.3, 0.1), first=(-50.0, 9.0), **ends):
    """Curves of the appendix: problem -> (value, size) at the end; by default they begin far below, with more nodes."""
    return [
        {"problem": problem, "seed": seed, "iteration": i, "value": value + 0.1 * seed, "exploration": rate,
         "decided": value + 0.1 * seed, "mean_nodes": size, "value_error": None, "decided_error": None}
        for problem, end in ends.items()
        for i, (value, size), rate in ((1, first, rates[0]), (10, end, rates[1]))
        for seed in range(3)
    ]  # fmt: skip


def fits(method, values, preset=None, episodes=300, seconds=1.0, stopped="converged", inferred=None, follow=0.3,
         played=0.0):  # fmt: skip
    """One fit per seed, as printed."""
    return [
        {"problem": "marsrovers", "episodes": episodes, "steps": 20, "follow": follow, "form": "printed",
         "method": method, "seed": seed, "preset": preset, "truncation": 50, "limit": 200, "value": value,
         "behaviour": played, "sample_size": 2.0, "seconds": seconds, "sweeps": 10, "stopped": stopped,
         "inferred": inferred, "falls": 0, "until_sweeps": 3, "until_seconds": 0.3 * seconds, "pace": 100 * seconds}
        for seed, value in enumerate(values)
    ]  # fmt: skip


LEARNED = [*fits("sbpr", [9.0, 9.2, 9.1], inferred=5.5), *fits("dp", [8.0, 8.1, 8.3], inferred=6.0)]
BEGUN = [row for size in (1, 5, 12) for row in fits("em-best", [3.0, 4.0, 5.0], size)]


def em(few, right, many, **options):
    pairs = ((1, few), (INFERRED_ON_MARS, right), (12, many))
    return [row for size, value in pairs for row in fits("em", [value - 1.0, value + 1.2, value], size, **options)]


def levels(rows, learned=True):
    """Rows of figure 2 with the other curves, which end at 10 and 30, and policies with a value of 5."""
    places = dict.fromkeys(row["iteration"] for row in rows)
    if learned:
        rows = (
            rows
            + curve("mcem", dict.fromkeys(places, 10.0), 3.0)
            + curve("sbpr-heuristic", dict.fromkeys(places, 30.0))
        )
    rows = rows + [{**row, "iteration": 0} for name in ("heuristic", "clock") for row in curve(name, {0: 5.0}, seeds=1)]
    return [{**row, "error": 0.1} for row in rows]


def timed(vary, **powers):
    """Times of an iteration and its parts that grow with these powers, otherwise linearly."""
    parts = dict.fromkeys(("whole", "filter", "count", "weigh", "bound"), 1.0) | powers
    return [
        {"vary": vary, "size": size, "seed": 0, **{f"{part}_seconds": size**power for part, power in parts.items()}}
        for size in (10, 20, 40, 80)
    ]
