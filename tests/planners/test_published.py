"""Periodic EM against what was published for it, within a minute each (published: up to two hours)."""

import pytest

from decpomdp.api import plan
from decpomdp.domains.load import load_model
from decpomdp.evaluation import exact_value


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "peri", "soft"),
    [("dectiger", 13.448, 9.42), ("recycling", 31.9, 31.80), ("boxpushing", 148, 106.68), ("marsrovers", 24.1, 18.13)],
)
def test_peri_and_periem_reach_the_published_values(name, peri, soft):
    model = load_model(name)
    fit = plan(model, "periem", time_limit=60)
    assert fit.facts["peri"] >= peri
    assert fit.facts["periem"] >= soft
    assert exact_value(model, fit.team).value >= max(peri, soft)
