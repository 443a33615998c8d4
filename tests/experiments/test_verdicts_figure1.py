"""What the page says of the paper's figure 1 follows from the rows, by stated rules."""

import pytest

from decpomdp.experiments import figure1_claims, figure1_times
from experiments.made_rows import BEGUN, LEARNED, em, fits


def figure1_claim(rows, words):
    (found,) = [claim for claim in figure1_claims._claims(rows, "printed") if words in claim.says]
    return found


@pytest.mark.parametrize(
    ("values", "seen"),
    [((1.0, 8.0, 2.0), "yes"), ((1.0, 8.0, 8.0), "partly"), ((1.0, 4.0, 8.0), "no"), ((5.0, 5.0, 5.0), "no")],
)
def test_under_and_over_fitting_is_around_the_papers_size(values, seen):
    claim = figure1_claim([*em(*values), *LEARNED, *BEGUN], "under-fits")
    assert claim.seen == seen
    assert "|Z| of 12" in claim.told


def test_sizes_that_do_not_reach_far_enough_are_not_judged():
    rows = [row for row in (*em(1, 2, 3), *LEARNED, *BEGUN) if row["preset"] != 12]
    assert not [claim for claim in figure1_claims._claims(rows, "printed") if "under-fits" in claim.says]


@pytest.mark.parametrize(
    ("few", "their", "seen"),
    [
        ([9.0, 9.3, 9.2], 5.0, "yes"),
        ([9.0, 9.3, 9.2], 9.2, "no"),  # as good as with many, no better than EM
        ([4.0, 4.1, 4.2], 1.0, "partly"),  # better than EM, worse than with many
        ([4.0, 4.1, 4.2], 4.0, "no"),
    ],
)
def test_fewer_episodes_are_judged_against_more_and_against_em(few, their, seen):
    rows = [*em(1, 2, 3), *LEARNED, *BEGUN, *fits("sbpr", few, episodes=30), *em(their, their, their, episodes=30)]
    assert figure1_claim(rows, "fewer training episodes").seen == seen
    assert not [claim for claim in figure1_claims._claims([*em(1, 2, 3), *LEARNED, *BEGUN], "printed")
                if "fewer training" in claim.says]  # fmt: skip


@pytest.mark.parametrize(
    ("seconds", "stopped", "seen"),
    [(0.5, "converged", "yes"), (0.5, "iterations", "no"), (1.0, "converged", "no")],
)
def test_quicker_is_only_what_converged(seconds, stopped, seen):
    sb = fits("sbpr", [9.0, 9.1, 9.2], seconds=seconds, stopped=stopped, inferred=5.0)
    dp = fits("dp", [8.0, 8.1, 8.3], seconds=9.0, stopped="iterations", inferred=5.0)
    claim = figure1_claim([*em(1, 2, 3), *sb, *dp, *BEGUN], "less time than EM to reach")
    assert claim.seen == seen
    assert "3 of 3 of DP" in claim.told


def test_each_form_is_timed_by_its_own_rule_of_stopping():
    dp = fits("dp", [8.0, 8.1, 8.3], inferred=5.0)
    sb = [row | {"paper_seconds": 9.0} for row in fits("sbpr", [9.0, 9.1, 9.2], seconds=0.5, inferred=5.0)]
    rows = [*em(1, 2, 3), *sb, *dp, *BEGUN]
    found = {
        form: next(claim for claim in figure1_claims._claims(rows, form) if "less time than EM to reach" in claim.says)
        for form in figure1_claims.FORMS
    }
    assert {form: claim.seen for form, claim in found.items()} == {
        "printed": "no",
        "counted": "yes",
        "normalised": "yes",
    }
    assert "takes 9.00 s" in found["printed"].told


@pytest.mark.parametrize(
    ("size", "sweeps", "words", "seen"),
    [
        (12, 20, "slow convergence", "yes"),
        (12, 10, "slow convergence", "no"),
        (12, 5, "slow convergence", "no"),
        (1, 5, "quickly converge", "yes"),
        (1, 10, "quickly converge", "no"),
        (1, 20, "quickly converge", "no"),
    ],
)
def test_paces_are_sweeps_against_the_right_number(size, sweeps, words, seen):
    rows = [*em(1, 2, 3), *LEARNED, *BEGUN]
    rows = [row | ({"sweeps": sweeps} if row["preset"] == size else {}) for row in rows]
    assert figure1_claim(rows, words).seen == seen
    limited = size if words == "quickly converge" else 5
    cut = [row | ({"stopped": "iterations"} if row["preset"] == limited else {}) for row in rows]
    claim = figure1_claim(cut, words)
    assert claim.seen == "no"  # what did not converge has no pace
    assert "Ended at the limit of 200" in claim.told


@pytest.mark.parametrize(
    ("values", "played", "seen"),
    [([12.0, 12.1, 12.2], 5.0, "yes"), ([12.0, 12.1, 12.2], 15.0, "partly"), ([5.0, 5.1, 5.2], 6.0, "no")],
)
def test_a_better_behaviour_is_learned_from_and_exceeded(values, played, seen):
    other = {"follow": 0.7, "played": played}
    rows = [*em(1, 2, 3), *LEARNED, *BEGUN, *fits("sbpr", values, **other), *em(4, 4, 4, **other)]
    claim = figure1_claim(rows, "close to optimal")
    assert claim.seen == seen
    assert f"with probability 0.7 earns {played:.2f}" in claim.told


def test_a_bound_that_falls_once_is_not_monotone():
    rows = [*em(1, 2, 3), *LEARNED, *BEGUN]
    assert figure1_claim(rows, "theorem 1").seen == "yes"
    last = -len(BEGUN) - 1
    rows[last] = rows[last] | {"falls": 1}
    claim = figure1_claim(rows, "theorem 1")
    assert (claim.seen, "1 of 6 fits" in claim.told) == ("no", True)


def test_every_claim_of_the_chosen_form_says_that_it_was_chosen():
    rows = [*em(1, 2, 3), *LEARNED, *BEGUN]
    told = [claim.told for claim in figure1_claims._claims(rows, "normalised")]
    assert told
    assert all("was chosen" in words for words in told)
    assert not any("was chosen" in claim.told for claim in figure1_claims._claims(rows, "counted"))


def test_what_did_not_converge_is_told():
    rows = fits("dp", [1.0, 2.0], stopped="iterations") + fits("dp", [1.0]) + fits("sbpr", [1.0])
    names = {"sbpr": "Dec-SBPR", "dp": "DP"}
    assert figure1_times.limit_words(rows, names).startswith("2 of 3 fits of DP ended at the limit of 200 sweeps")
    assert "all fits converged" in figure1_times.limit_words(fits("dp", [1.0]), names)


@pytest.mark.parametrize(("inferred", "seen"), [([5, 6, 5], "yes"), ([5, 9, 9], "partly"), ([9, 9, 9], "no")])
def test_about_five_is_four_to_six(inferred, seen):
    sb = [{**row, "inferred": float(size)} for row, size in zip(fits("sbpr", [1.0] * 3), inferred, strict=True)]
    assert figure1_claim([*em(1, 2, 3), *sb, *LEARNED[3:], *BEGUN], "is about 5").seen == seen


def test_low_variance_and_a_better_prior_are_tested_over_seeds():
    words = ("low variance", "large error bar", "slightly better", "Values of Dec-SBPR", "An iteration of EM")
    steady = [*em(1, 2, 3), *LEARNED, *BEGUN]
    assert [figure1_claim(steady, each).seen for each in words] == ["yes", "yes", "yes", "yes", "no"]
    wild = [*em(1, 2, 3), *fits("sbpr", [-9.0, 0.0, 9.0], inferred=5.0), *LEARNED[3:], *BEGUN]
    assert [figure1_claim(wild, each).seen for each in words[:4]] == ["no", "no", "no", "no"]
