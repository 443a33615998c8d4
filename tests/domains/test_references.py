"""Stored references: what they claim is true, and a better team replaces them."""

import msgspec
import pytest

import decpomdp as dp
from decpomdp.domains import references, registry


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setattr(references, "FILE", tmp_path / "references.json")
    references.references.cache_clear()
    yield tmp_path / "references.json"
    references.references.cache_clear()


def test_a_better_team_replaces_a_reference(file):
    model = registry.build("broadcast:mabc")
    worse, better = dp.Team.uniform(model), dp.learn(model, steps=200_000, seed=1).team
    values = [dp.evaluate(team, model).value for team in (worse, better)]
    assert references.best_known(model) is None
    assert references.offer(model, worse, values[0], "em", 1.0)
    assert references.best_known(model)["value"] == values[0]
    assert references.offer(model, better, values[1], "search", 2.0)
    assert not references.offer(model, worse, values[0], "em", 1.0)
    stored = references.references()["broadcast:mabc"]
    assert dp.evaluate(stored.read_team(), model).value == pytest.approx(values[1], abs=1e-12)
    assert (stored.method, stored.seconds, stored.digest) == ("search", 2.0, model.digest())
    assert references.best_known(model)["by"] == f"search, decpomdp {dp.__version__}"


def test_only_named_problems_have_references(file):
    model = registry.build("hotel")
    other = dp.DecPOMDP(
        model.agents, model.states, model.start, model.transition, model.observation, model.reward + 1, 0.9, "hotel"
    )
    team = dp.Team.uniform(model)
    assert not references.offer(other, team, 99.0, "em", 1.0)
    assert not references.offer(model.with_discount(0.5), team, 99.0, "em", 1.0)
    assert not file.exists()
    references.offer(model, team, 1.0, "em", 1.0)
    assert references.best_known(other) is None
    assert references.best_known(model.with_discount(0.5)) is None


def test_a_reference_of_earlier_rules_is_void_and_replaced(file):
    model = registry.build("hotel")
    references.offer(model, dp.Team.uniform(model), 1.0, "em", 1.0)
    old = msgspec.structs.replace(references.references()["hotel"], digest="0" * 64, value=99.0)
    file.write_bytes(msgspec.json.encode({"hotel": old}))
    references.references.cache_clear()
    assert references.best_known(model) is None
    assert references.offer(model, dp.Team.uniform(model), 2.0, "em", 1.0)
    assert references.best_known(model)["value"] == 2.0


def test_published_values_are_shown():
    assert references.best_known(registry.build("marsrovers"))["value"] >= 26.94
    assert references.best_known(registry.build("dectiger"))["value"] == pytest.approx(13.4486, abs=1e-3)


def test_stored_problems_are_those_of_today():
    stored = references.references()
    assert stored
    for name, reference in stored.items():
        if not name.startswith("generated:"):
            assert registry.build(name).digest() == reference.digest, name


@pytest.mark.slow
def test_stored_teams_have_their_values():
    for name, reference in references.references().items():
        model = registry.build(name, reference.discount)
        assert model.digest() == reference.digest, name
        value = dp.evaluate(reference.read_team(), model).value
        assert value == pytest.approx(reference.value, rel=1e-9, abs=1e-9), name
