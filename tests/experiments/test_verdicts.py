"""What the page says of the paper's claims follows from the rows: figure 2, the appendix, orders and robustness."""

import pytest

from decpomdp.experiments import appendix, complexity, figure1_claims, figure2, robustness, table2
from decpomdp.experiments.figure2_claims import FEW
from experiments.made_rows import BEGUN, LEARNED, curve, em, fits, grid, iterations, table


@pytest.mark.parametrize(
    ("values", "seen"),
    [
        ([[9.0, 9.2, 9.4], [9.1, 9.3, 9.5], [9.2, 9.4, 9.6]], "yes"),  # means move by 0.2, two deviations are 0.4
        ([[9.0, 9.0, 9.01], [9.2, 9.2, 9.21], [9.0, 9.3, 9.9]], "partly"),  # one wild point does not excuse; below 5 %
        ([[5.0, 5.0, 5.1], [9.0, 9.0, 9.1], [9.0, 9.0, 15.0]], "no"),
    ],
)
def test_robust_is_what_moves_less_than_seeds_usually_do(values, seen):
    claims = robustness.claims(grid(values))
    assert [claim.seen for claim in claims] == [seen, seen]
    assert "who played earns 2.00" in claims[0].evidence


def test_robust_does_not_depend_on_the_number_of_seeds_and_names_the_farthest_point():
    few = [[9.0, 9.1, 9.2], [9.0, 9.1, 9.2], [19.0, 19.1, 19.2]]
    for values in (few, [seeds * 20 for seeds in few]):
        claim = robustness.claims(grid(values))[0]
        assert claim.seen == "no"
        assert "c = 0.1, d = 2, without it from 9.10 to 9.10: yes" in claim.told
        assert "the verdict would be yes" in claim.told


@pytest.mark.parametrize(("heuristic", "seen"), [(250.0, "yes"), (300.0, "no")])
def test_the_heuristic_is_to_be_passed(heuristic, seen):
    rows = [
        {"method": method, "seed": seed, "iteration": iteration, "value": 270.0 + seed, "nodes": 2.0, "side": 4}
        for method in figure2.NAMES
        for seed in range(3)
        for iteration in (1, 5)
    ]
    levels = {"heuristic": heuristic, "clock": 550.0 - heuristic}
    rows += [
        {"method": name, "seed": 0, "iteration": 0, "value": value, "error": 0.1, "side": 4}
        for name, value in levels.items()
    ]
    claims = figure2.claims(rows)
    assert [claim.seen for claim in claims[1:3]] == [seen, {"yes": "no", "no": "yes"}[seen]]
    assert "where the clock has" in claims[2].told


@pytest.mark.parametrize(
    ("values", "seen"),
    [
        ({1: 1.0, FEW: 20.0, 2 * FEW: 20.0}, "yes"),
        ({1: 1.0, FEW: 10.0, 2 * FEW: 20.0}, "partly"),  # level with MCEM is not above
        ({1: 1.0, FEW: 20.0, 2 * FEW: 1.0}, "no"),  # it falls back
    ],
)
def test_a_few_iterations_are_at_most_so_many_and_for_good(values, seen):
    rows = curve("sbpr-exploration", values) + curve("mcem", dict.fromkeys(values, 10.0), 3.0)
    rows += curve("sbpr-heuristic", dict.fromkeys(values, 30.0))
    rows += [{**row, "iteration": 0} for name in ("heuristic", "clock") for row in curve(name, {0: 5.0})]
    for row in rows:
        row["error"] = 0.1
    order, _, _, soon, sizes = figure2.claims(rows)
    assert [order.seen, soon.seen, sizes.seen] == ["yes", seen, "no"]  # sizes are those of the start
    assert "nothing was inferred" in sizes.told
    assert "MCEM was not given the heuristic, as the paper's is, and no longer rose" in order.told
    assert "without it 2 are left, too few to judge" in soon.told


def test_the_lesser_verdict_counts_with_and_without_the_seed_of_the_settings():
    points = {1: 1.0, FEW: 20.0}
    rows = curve("sbpr-exploration", points, seeds=4) + curve("mcem", {1: 5.0, FEW: 10.0}, 3.0, seeds=4)
    rows += curve("sbpr-heuristic", {1: 30.0, FEW: 30.0}, seeds=4)
    for row in rows:  # without seed 0 the others are level with the rest
        shift = {1: -10.0, 2: 0.0, 3: 10.0}.get(row["seed"], 0.0)
        row["value"] += shift if row["method"] == "sbpr-heuristic" else 0.0
    rows += [{**row, "iteration": 0, "error": 0.1} for name in ("heuristic", "clock") for row in curve(name, {0: 5.0})]
    order, *_, soon, _ = figure2.claims(rows)
    assert soon.seen == "yes"
    assert "with it yes, without it yes" in soon.told
    assert "still rising at its last iteration (by 5.0 since iteration 1)" in soon.told
    assert order.seen == "no"
    assert "with it partly, without it no; the lesser counts" in order.told


@pytest.mark.parametrize(
    ("rows", "seen"),
    [
        (iterations(1.0, 9.0, (0.3, 0.1)), "yes"),
        (iterations(1.0, 1.1, (0.3, 0.1)), "no"),  # it rises by no more than seeds differ
        (iterations(1.0, 9.0, (0.1, 0.3)), "no"),
    ],
)
def test_rising_is_more_than_seeds_differ(rows, seen):
    assert appendix.claims(rows)[0].seen == seen


def timed(vary, power, sizes=(10, 20, 40, 80)):
    return [{"vary": vary, "size": size, "whole_seconds": size**power, "seed": 0} for size in sizes]


def claimed(rows):
    return {claim.says: claim for claim in complexity.claims(rows)}


@pytest.mark.parametrize(("power", "seen"), [(1.7, "yes"), (1.5, "no"), (2.6, "no")])
def test_orders_are_how_time_grows(power, seen):
    claim = claimed(timed("Z", power))["An iteration is quadratic in the number of nodes."]
    assert claim.seen == seen
    assert ("more slowly" in claim.told) == (power < 1.65)


def test_slopes_that_rise_to_the_order_are_no_slower_growth():
    rows = [{**row, "whole_seconds": 400.0 + row["size"] ** 2} for row in timed("Z", 2.0)]
    claim = claimed(rows)["An iteration is quadratic in the number of nodes."]
    assert claim.seen == "partly"
    assert "from each size to the next 0.68, 1.32, 1.77" in claim.told
    assert "more slowly" not in claim.told


@pytest.mark.parametrize(("power", "square", "between"), [(1.0, "yes", "yes"), (2.5, "no", "no"), (0.5, "yes", "no")])
def test_the_papers_bounds_hold_at_every_size(power, square, between):
    claims = claimed(timed("T", power))
    assert claims["The algorithm is at most square in the problem size."].seen == square
    assert claims["The time dependency on T is between linear and quadratic."].seen == between


def every_claim(seeds):
    """All claims that compare seeds, of made-up rows with so many of them."""
    methods = dict.fromkeys(("sbpr", "mcem", "hsvi", "periem", "sbpr-time", "mcem-time"), (6.0, 6.0))
    rows = [{**row, "inferred": 2.0} for row in table(**methods)]
    fitted = [*em(1, 2, 3), *LEARNED, *BEGUN, *fits("sbpr", [9.0, 9.3, 9.2], episodes=30), *em(5, 5, 5, episodes=30)]
    both = [{**row, "form": form} for form in figure1_claims.FORMS for row in fitted]
    points = {1: 1.0, FEW: 20.0}
    traffic = [row for method in figure2.NAMES for row in curve(method, points)]
    traffic += [{**row, "iteration": 0, "error": 0.1} for name in ("heuristic", "clock") for row in curve(name, {0: 5})]
    given = (
        (table2, rows),
        (figure1_claims, both),
        (figure2, traffic),
        (appendix, iterations(1.0, 9.0, (0.3, 0.1))),
        (robustness, grid([[9.0, 9.2, 9.4], [9.1, 9.3, 9.5]])),
    )
    return [claim for module, some in given for claim in module.claims([row for row in some if row["seed"] < seeds])]


@pytest.mark.parametrize("seeds", [1, 2, 3])
def test_fewer_than_three_seeds_are_not_judged(seeds):
    claims = every_claim(seeds)
    assert len(claims) == 7 + 38 + 5 + 2 + 2
    for claim in claims:
        assert (claim.seen == "not judged") == (seeds < 3)
        assert (f"at least three seeds, here {seeds}" in claim.told) == (seeds < 3)
