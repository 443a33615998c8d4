"""What a fit from recorded episodes says of itself."""

import pytest
from msgspec import structs

from decpomdp.experiments import figure1
from decpomdp.experiments.offline import OfflineResult, papers_stop


@pytest.mark.parametrize(
    ("bounds", "falls", "sweeps"),
    [
        ([-100.0, -50.0, -49.99, -49.0], 0, 2),  # 2e-4 of it
        ([-100.0, -50.0, -25.0], 0, 2),  # never: the last
        ([-100.0, -101.0, -50.0], 1, 1),
        ([-100.0, -50.0, -50.0 - 1e-9, -40.0], 0, 2),  # rounding
    ],
)
def test_the_papers_rule_of_stopping(bounds, falls, sweeps):
    trace = [{"bound": bound, "seconds": 2.0 * place} for place, bound in enumerate(bounds)]
    found = papers_stop(trace, 30.0)
    assert (found["falls"], found["paper_sweeps"]) == (falls, sweeps)
    assert found["paper_seconds"] == pytest.approx(30.0 * sweeps / (len(bounds) - 1))


def test_em_is_fitted_once_and_stands_for_both_forms_it_does_not_differ_in():
    cells = figure1.cells(figure1.TEXTS.effort("quick") | {"seeds": 1, "episodes": [30]})
    em = [cell for cell in cells if cell.settings["method"] in ("em", "em-best")]
    assert {cell.settings["form"] for cell in em} == {"printed", "weighted"}
    empty = OfflineResult(*[0] * len(OfflineResult.__struct_fields__))
    rows = figure1.rows([(cell, structs.replace(empty, value=float(place))) for place, cell in enumerate(cells)])
    assert len({len(rows.where(form=form)) for form in figure1.WAYS}) == 1
    same = [rows.where(form=form, method="em").column("value") for form in ("printed", "counted")]
    assert same[0] == same[1]
    weights = {cell.settings["form"]: cell.settings["evidence"] for cell in cells}
    assert weights == {"printed": 1.0, "counted": None, "weighted": None}
