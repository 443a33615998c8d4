"""Periodic EM against what was published for it, within a minute each (published: up to two hours)."""

import pytest

from decpomdp.domains.load import load_model
from decpomdp.evaluation import exact_value
from decpomdp.planners.periodic.method import periem


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "peri", "soft"),
    [("dectiger", 13.448, 9.42), ("recycling", 31.9, 31.80), ("boxpushing", 148, 106.68), ("marsrovers", 24.1, 18.13)],
)
def test_peri_and_periem_reach_the_published_values(name, peri, soft):
    model = load_model(name)
    fit = periem(model, time_limit=60)
    assert fit.settings["peri"] >= peri
    assert fit.settings["periem"] >= soft
    assert exact_value(model, fit.team).value >= max(peri, soft)


def test_em_is_never_worse_than_its_first_team():
    from decpomdp.planners.em.method import em

    fit = em(load_model("dectiger"), nodes=2, restarts=1, iterations=2)
    values = [row["lower"] for row in fit.trace]
    assert values == sorted(values)
    assert values[0] >= -20 - 1e-9
