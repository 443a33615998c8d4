"""The appendix beside table 2, the growth of parts of an iteration, and what is inferred or closer in table 2."""

import math

import pytest

from decpomdp.evaluation import exact_value, sampled_value
from decpomdp.experiments import appendix, complexity, figure2, sequence, table2
from decpomdp.experiments.appendix_claims import kept_words, last_value
from decpomdp.experiments.cells import Cell, check_results
from decpomdp.experiments.complexity_claims import order_of
from decpomdp.experiments.published import COMPLEXITY, ORDERS

SEEDS = 3
PAPER = {"dectiger": (-18.63, 6.0), "broadcast": (9.2, 2.0)}  # table 2, fixed iterations


def course(problem, first, last, nodes=(4.0, 2.0), decided=None, error=None, rates=(0.3, 0.1)):
    """First and last iteration; seeds differ by a little."""
    decided = decided or (first, last)
    return [
        {"problem": problem, "seed": seed, "iteration": i, "value": value + 0.01 * seed, "exploration": rate,
         "decided": choice + 0.01 * seed, "mean_nodes": size, "value_error": error if i > 1 else None,
         "decided_error": error if i > 1 else None}
        for i, value, choice, size, rate in zip((1, 10), (first, last), decided, nodes, rates, strict=True)
        for seed in range(SEEDS)
    ]  # fmt: skip


def both(values, sizes, error=None):
    """Dec-Tiger and Broadcast, with what they end at."""
    return [
        row
        for problem, value, size in zip(PAPER, values, sizes, strict=True)
        for row in course(problem, -50.0, value, (9.0, size), error=error)
    ]


@pytest.mark.parametrize(
    ("values", "sizes", "seen", "counts"),
    [
        ((-18.64, 9.19), (6.0, 2.0), "yes", (2, 0, 0, 2, 0, 0)),
        ((-18.64, 9.19), (6.0, 3.0), "partly", (2, 0, 0, 1, 1, 0)),
        ((-5.0, 9.19), (6.0, 2.0), "partly", (1, 1, 0, 2, 0, 0)),  # half of the values; higher is not there
        ((-27.0, 9.19), (2.0, 3.0), "partly", (1, 0, 1, 0, 1, 1)),
        ((-5.0, 9.25), (6.0, 2.0), "no", (0, 2, 0, 2, 0, 0)),  # sizes alone do not count
        ((-27.0, 9.25), (6.0, 2.0), "no", (0, 1, 1, 2, 0, 0)),
    ],
)
def test_curves_are_to_end_at_table_2(values, sizes, seen, counts):
    claim = appendix.claims(both(values, sizes))[1]
    assert (claim.says, claim.seen) == ("The curves of the appendix end at the values and sizes of table 2.", seen)
    same, higher, lower, fitting, more, fewer = counts
    assert f"agree on {same}, are higher on {higher} and lower on {lower} of 2 problems" in claim.told
    assert f"sizes agree on {fitting}, ours has more nodes on {more} and fewer on {fewer}." in claim.told
    for value, size, (paper, nodes) in zip(values, sizes, PAPER.values(), strict=True):
        assert f"paper {paper:g}, {nodes:g} nodes" in claim.told
        assert f"posterior mean {value + 0.01:.2f} ± 0.02" in claim.told
        assert f"{size:.2f} nodes" in claim.told


def test_every_verdict_has_its_column():
    rows = [
        *course("dectiger", -90.0, -27.0, (6.0, 2.0), decided=(-80.0, -10.0)),
        *course("broadcast", 5.0, 9.19, (3.0, 2.0), decided=(9.0, 9.0)),
    ]
    table = appendix.tables(rows)[1]
    found = [dict(zip(table.header, line, strict=True)) for line in table.rows]
    keys = [f"{name}, beside the paper's" for name in ("posterior mean", "likeliest choices", "|Z|")]
    assert [[line[key] for key in keys] for line in found] == [
        ["lower", "higher", "fewer"],
        ["agrees", "lower", "agrees"],
    ]
    assert len(set(table.header)) == len(table.header)


def test_the_error_of_a_test_widens_the_interval_and_may_be_missing():
    narrow, wide = (both((-18.64, 9.1), (6.0, 2.0), error) for error in (None, 0.05))
    assert [appendix.tables(rows)[1].rows[1][3] for rows in (narrow, wide)] == ["lower", "agrees"]
    assert [appendix.claims(rows)[1].seen for rows in (narrow, wide)] == ["partly", "yes"]
    halves = [last_value(rows[-2 * SEEDS :], "value").half for rows in (narrow, wide)]
    assert halves[1] == pytest.approx(math.hypot(halves[0], 1.96 * 0.05))
    notes = [appendix.tables(rows)[1].note for rows in (narrow, wide)]
    assert "6 of 6 cells were made by code that did not record it" in notes[0]
    assert "record" not in notes[1]


def test_cells_of_older_code_are_still_shown(tmp_path):
    point = {"exploration": 0.3, "mean_nodes": 2.0, "sample_size": 9.0, "decided": 9.1}
    old, new = ([{**point, "iteration": i, "value": 4.0 + i} for i in (1, 2)] for _ in range(2))
    new[-1] |= {"value_error": 0.2, "decided_error": 0.1}
    results = [
        (Cell(appendix.WORK, {"problem": "broadcast", "seed": seed}), result) for seed, result in enumerate((old, new))
    ]
    check_results(tmp_path, [results[0], *results])  # with new ones beside them
    rows = appendix.rows(results)
    assert [row["value_error"] for row in rows] == [None, None, None, 0.2]
    assert {tuple(sorted(row)) for row in rows} == {tuple(sorted(rows[0]))}
    assert "1 of 2 cells" in appendix.tables(rows)[1].note


def test_the_last_team_is_tested_as_in_table_2(monkeypatch):
    played = []

    def watched(model, team, *counts, **options):
        played.append((exact_value(model, team).value, counts, options))
        return sampled_value(model, team, *counts, **options)

    monkeypatch.setattr(sequence, "sampled_value", watched)
    found = sequence.work({"problem": "broadcast", "seed": 4, "iterations": 3, "every": 2})
    assert [row["value"] is None for row in found] == [False, False, False]  # the last one always has a value
    assert [("value_error" in row, "decided_error" in row) for row in found] == [(False,) * 2] * 2 + [(True,) * 2]
    assert [value for value, _, _ in played] == [found[-1]["value"], found[-1]["decided"]]
    assert {counts for _, counts, _ in played} == {(100, 1000, 1_000_004)}
    assert 0 < found[-1]["value_error"] < 1


@pytest.mark.parametrize(
    ("decided", "seen", "falls"),
    [
        (((1.0, 9.0), (1.0, 9.0)), "yes", ""),
        (((1.0, 9.0), (9.2, 9.2)), "partly", ""),  # they rise on one problem and fall on none
        (((1.0, 9.0), (9.2, 9.1)), "no", "Broadcast"),
        (((9.2, 9.1), (9.2, 9.1)), "no", "Dec-Tiger, Broadcast"),
        (((9.2, 9.2), (9.2, 9.2)), "no", ""),  # they rise on none
    ],
)
def test_the_likeliest_choices_are_to_rise_too(decided, seen, falls):
    rows = [
        row for problem, pair in zip(PAPER, decided, strict=True) for row in course(problem, 1.0, 9.0, decided=pair)
    ]
    claim = appendix.claims(rows)[0]
    assert claim.seen == seen
    assert claim.told.endswith(
        f" problems. Values of the likeliest choices fall on: {falls}." if falls else " problems."
    )
    assert f"(likeliest choices {decided[1][0] + 0.01:.2f} to {decided[1][1] + 0.01:.2f})" in claim.told
    table = appendix.tables(rows)[0]
    line = dict(zip(table.header, table.rows[1], strict=True))
    assert line["likeliest choices: first"].startswith(f"{decided[1][0] + 0.01:.2f} ")


def test_a_rate_that_rises_and_a_value_that_falls_are_named():
    rows = [*course("dectiger", 1.0, 9.0), *course("broadcast", 9.0, 1.0, decided=(1.0, 9.0), rates=(0.1, 0.3))]
    claim = appendix.claims(rows)[0]
    assert claim.seen == "no"
    assert "Values of the posterior mean fall on: Broadcast. The rate rises on: Broadcast." in claim.told
    assert "likeliest choices fall" not in claim.told


def test_sizes_that_never_move_were_not_inferred():
    kept, moved = course("boxpushing", 1.0, 9.0, (4.0, 4.0)), course("broadcast", 1.0, 9.0, (3.0, 2.0))
    words = kept_words(kept + moved)
    assert "nothing was inferred, on: Box pushing (4.00 nodes)." in words
    assert "Broadcast" not in words
    assert words in appendix.tables(kept + moved)[0].note
    assert words in appendix.claims(kept + moved)[1].told
    assert kept_words(moved) == ""
    kept[-1] = {**kept[-1], "mean_nodes": 3.5}  # one seed is enough
    assert kept_words(kept) == ""
    drawn = [{**row, "mean_nodes": 4.0 + row["seed"]} for row in kept]  # seeds may begin with different sizes
    assert "Box pushing (5.00 nodes)" in kept_words(drawn)


def test_published_values_and_sizes_are_drawn():
    (picture,) = appendix.pictures(both((-18.0, 9.0), (5.0, 2.0)))
    for (value, size, rate), (paper, nodes) in zip(picture.panels, PAPER.values(), strict=True):
        for panel, level in ((value, paper), (size, nodes)):
            (dashed,) = [curve for curve in panel.curves if curve.style == "level"]
            assert (dashed.name, dashed.x, dashed.y) == ("paper", (1.0, 10.0), (level, level))
        assert all(curve.style == "line" for curve in rate.curves)


def test_the_parts_of_the_papers_table_have_its_exponents():
    orders = {part: [order_of(part, vary) for vary in ORDERS] for part in COMPLEXITY}
    assert list(ORDERS) == ["K", "N", "T", "T terminal", "Z", "S"]
    assert orders == {
        "filter": [1, 1, 1, 1, 2, 0],
        "count": [1, 1, 2, 1, 2, 0],
        "weigh": [1, 0, 1, 0, 0, 0],
        "bound": [0, 1, 0, 0, 2, 0],
    }
    for place, whole in enumerate(ORDERS.values()):  # an iteration grows as its worst part
        assert max(parts[place] for parts in orders.values()) == whole


def timed(vary, weigh):
    powers = {"whole": 1.0, "filter": 1.0, "count": 1.04, "weigh": weigh, "bound": 0.0}
    return [
        {"vary": vary, "size": size, "seed": 0, **{f"{part}_seconds": size**power for part, power in powers.items()}}
        for size in (10, 20, 40, 80)
    ]


def test_the_papers_exponents_stand_beside_those_of_the_parts():
    table = complexity.tables([*timed("T", 0.91), *timed("T terminal", 0.91)])[1]
    lines = [dict(zip(table.header, line, strict=True)) for line in table.rows]
    assert [line["weigh (paper)"] for line in lines] == ["0.91 (1)", "0.91 (0)"]
    assert [line["count (paper)"] for line in lines] == ["1.04 (2)", "1.04 (1)"]
    assert [line["paper: exponent, at most"] for line in lines] == ["2", "1"]


@pytest.mark.parametrize(("power", "seen"), [(0.91, "no"), (0.1, "yes")])
def test_weighing_is_not_to_grow_with_the_length_where_only_the_end_earns(power, seen):
    says = "With a reward at the end only, weighing does not grow with the length of episodes."
    (claim,) = [claim for claim in complexity.claims(timed("T terminal", power)) if claim.says == says]
    assert claim.seen == seen
    assert f"exponent {power:.2f}" in claim.told
    assert ("looks at every step" in claim.told) == (seen == "no")
    assert says not in [claim.says for claim in complexity.claims(timed("T", power))]


def grown(vary, *steps):
    """Times with these exponents from each size to the next."""
    seconds = [2.0 ** sum(steps[:place]) for place in range(len(steps) + 1)]
    return [
        {"vary": vary, "size": 10 * 2**place, "seed": 0, "whole_seconds": each} for place, each in enumerate(seconds)
    ]


@pytest.mark.parametrize(
    ("episodes", "seen"),
    [
        ((0.9, 1.0, 1.1), "yes"),
        ((0.63, 0.82, 1.40), "partly"),  # 0.94 over all sizes: one noisy step is not everything
        ((0.1, 0.2, 1.0), "partly"),  # 0.40 over all sizes, linear at the largest
        ((1.4, 1.4, 1.4), "no"),
        ((0.1, 0.2, 0.3), "no"),
    ],
)
def test_orders_are_judged_over_all_sizes_and_at_the_largest(episodes, seen):
    claim = complexity.claims([*grown("K", *episodes), *grown("N", 1.0, 1.0, 1.0)])[0]
    assert (claim.says, claim.seen) == (
        "An iteration scales linearly with the number of episodes and of agents.",
        seen,
    )
    assert "partly: only those over all sizes, or only those at the largest." in claim.rule


def runs(method, values, inferred=None, nodes=2.0):
    """Of Dec-Tiger and Broadcast: values[problem][seed]."""
    return [
        {"problem": problem, "method": method, "seed": seed, "value": value, "sampled": value, "sampled_error": 0.1,
         "nodes": nodes, "inferred": None if inferred is None else inferred[place], "seconds": 1.0}
        for place, (problem, seeds) in enumerate(zip(PAPER, values, strict=True))
        for seed, value in enumerate(seeds)
    ]  # fmt: skip


def told_of(rows, words):
    (claim,) = [claim for claim in table2.claims(rows) if words in claim.says]
    return claim


@pytest.mark.parametrize(
    ("values", "inferred", "seen", "where"),
    [
        ((13.4, 9.2), (3.0, 2.0), "yes", "Dec-Tiger, Broadcast"),
        ((5.0, 9.2), (3.0, 2.0), "partly", "Broadcast"),  # few nodes for a poor team
        ((13.4, 9.2), (2.0, 7.0), "partly", "Dec-Tiger"),
        ((5.0, 9.2), (2.0, 7.0), "no", "none"),
    ],
)
def test_needed_nodes_are_those_of_a_team_near_the_optimum(values, inferred, seen, where):
    rows = runs("sbpr-iterations", [[value] * SEEDS for value in values], inferred)
    claim = told_of(rows, "needed to represent the optimal policy")
    assert claim.seen == seen
    assert f"Both hold on: {where}." in claim.told
    better = rows + runs("fb-hsvi", [[20.0], [20.0]])  # nothing is near what our planner finds
    assert told_of(better, "needed to represent the optimal policy").seen == "no"


@pytest.mark.parametrize(("spread", "seen"), [(0.01, "yes"), (3.0, "partly")])
def test_much_closer_is_judged_on_the_low_end(spread, seen):
    """The mean misses 4.45 where MCEM misses 10.45; with a wide interval that is no proof."""
    ours = [[9.0 - spread, 9.0, 9.0 + spread], [9.26, 9.26, 9.26]]
    rows = runs("sbpr-iterations", ours) + runs("mcem", [[3.0] * SEEDS, [9.0] * SEEDS])
    claim = told_of(rows + runs("fb-hsvi", [[13.45], [9.27]]), "much closer")
    assert claim.seen == seen
    assert "Dec-Tiger 4.45, at most" in claim.told


def test_the_grid_of_the_settings_is_named():
    """A quick page has another one."""
    assert "settings were found on 10 x 10 lights with seed 0" in figure2.ABOUT
    assert figure2.FULL.side == 10 != figure2.QUICK.side
    assert "this grid" not in figure2.ABOUT
