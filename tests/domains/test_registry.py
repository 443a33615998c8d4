"""The list of problems: names, summaries, errors, and the numbers of every problem pinned by a digest."""

import subprocess
import sys
from pathlib import Path

import pytest

from decpomdp.core import InputError
from decpomdp.domains import registry

# A digest that changes means that every value ever reported for that problem is void.
DIGESTS = {
    "dectiger": "17f86b82167e83f77024cb47cafed5e2122fa391e26f1462a1485c7b7783ebb2",
    "broadcast": "100f268bfb090ed065e0dcb3c39c582491cf701b6c82d77c51d1e91717a1dd62",
    "recycling": "f4626c69922d3fa9a6586458a602b8ed9815258f3767626759cfa96d11cab6fb",
    "gridsmall": "94bd4c13d422b68866f66719d93866bf7db86ac5a082b9123ba622729b188a1f",
    "boxpushing": "1536dfa308dbbf5f3fdec59ef91cf9d46fbfcd9a3f4c0c784bacc65d42e912ff",
    "marsrovers": "06ea955984d36ea302af26a9a81eff9c8aad8069814202738aef61718ec376e0",
    "skewedtiger": "98eeb81a9be088643cea7e615a264a6b7fae0eb724ec3bc60d036e9ab77763c2",
    "hotel": "4023d996b85531325e9ef9a5b2e50414385bf796f15bb134df62ffcd477e5a62",
    "aloha": "4527ceb5695e7951c66478cff19184f4848fbccaef7ecdaa169d2ae1e079ad42",
    "firefighting": "b3583bd4b53ead5d78105ca94f78819749d6d9b4cd9f86dd29c660b79cea5d3b",
    "maintenance": "36ac5c2eb65614ae568a2a9235d457566db3f9ef8a1504fe8d877bc27d781193",
    "wireless": "17b292cbd0abeeacd7ccb91bb7126ce9ada656c621fd3477442bdf4a1c549850",
    "gridcorners": "7183e2dd3f4354a37537dce4d26fc22005e81608ac49992722a31c17d6930cb0",
    "firegraph": "360795035c2e7a49e456f6825e3edfd953300e10009bf424840f3f5574a9e475",
    "dectiger:3": "7e2a04cef9b5cf7389f8a3456d84d464cc2834d3d43650aeaee02bf31381fa41",
    "broadcast:mabc": "e3e0e7b5b78ce66efd56fb06c52b1e2408cce59fdc0aa6b70dd10d84c7192680",
    "firefighting:3,4,3": "35b9764f1a5f0abd4d8178e7a5bb0b68d7fdcdc0a3233a3ee1c71d3b1fe0b483",
    "firegraph:4": "dc91ccf53724689195798e8549f735676e8c0e099ec61320c23e3edda78f30a6",
    "aloha:4,2": "79d55ebbede80e65d29b6ee8613694a7633bdedca27db8cf59485f045a589fd4",
    "maintenance:4,3": "9e8ba6faa538e6d82b70fd6171793689b054bd73ec00694f54d7d58248e57252",
}


@pytest.mark.parametrize("name", DIGESTS)
def test_numbers_are_pinned(name):
    problem = registry.build(name)
    assert problem.name == registry.canonical(name)
    assert problem.digest() == DIGESTS[name]


def test_documentation_lists_every_problem():
    page = (Path(__file__).parents[2] / "docs/reference/problems.md").read_text()
    assert all(f"`{name}`" in page for name in (*registry.problems(), *registry.simulators()))


def test_every_problem_is_pinned():
    assert set(registry.problems()) - {"generated"} <= set(DIGESTS)  # generated: its own tests
    assert registry.problems()[:6] == registry.PAPER


def test_summary_tells_the_true_sizes():
    for name in set(registry.problems()) - {"generated"}:
        problem = registry.build(name)
        first = problem.agents[0]
        sizes = f"({len(problem.states)} states, {len(first.actions)} actions, {len(first.observations)} observations)"
        assert registry.family(name).summary.endswith(sizes)
        assert "\n" not in registry.family(name).summary


def test_unknown_name_lists_the_known_and_the_closest():
    for wrong, meant in [("dec-tiger", "dectiger"), ("DecTiger", "dectiger"), ("mars", "marsrovers")]:
        for lookup in [registry.build, registry.family]:
            with pytest.raises(InputError) as caught:
                lookup(wrong)
            message = str(caught.value)
            assert ", ".join(registry.problems()) in message
            assert f"got {wrong!r} (did you mean {meant}?)" in message
            assert "\n" not in message


def test_listing_builds_nothing():
    program = (
        "import sys; from decpomdp.domains import registry; [registry.family(name) for name in registry.problems()];"
        "print(*[m for m in sys.modules if m.startswith('decpomdp.domains.')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "decpomdp.domains.registry"


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("firefighting:2,3,3", "firefighting"),
        ("firefighting:3", "firefighting:3,3,3"),
        ("firefighting:levels=2,agents=3", "firefighting:3,3,2"),
        ("dectiger:2", "dectiger"),
        ("broadcast:mabc", "broadcast:variant=mabc"),
    ],
)
def test_parameters_are_given_by_place_or_name(name, same):
    assert registry.canonical(name) == registry.canonical(same)
    assert registry.build(name).digest() == registry.build(same).digest()
    assert registry.build(registry.build(name).name).digest() == registry.build(name).digest()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("firefighting:9", "firefighting:9: agents: expected a whole number from 2 to 4, got 9"),
        ("firefighting:2,3,3,3", "firefighting:2,3,3,3: expected firefighting:AGENTS,HOUSES,LEVELS, got '3'"),
        ("firefighting:rooms=3", "firefighting:rooms=3: expected firefighting:AGENTS,HOUSES,LEVELS, got 'rooms=3'"),
        ("firefighting:", "firefighting:: agents: expected a whole number from 2 to 4, got ''"),
        ("generated:door,rooms=3", "expected generated:KIND,agents=N,size=K,seed=S, got 'rooms=3'"),
        ("gridsmall:3", "gridsmall:3: expected gridsmall without parameters, got '3'"),
        ("broadcast:other", "broadcast:other: variant: expected one of file, mabc, got 'other'"),
        ("maintenance:2,4", "maintenance: expected k of at most n = 2, got 4"),
    ],
)
def test_wrong_parameters_are_named(name, message):
    with pytest.raises(InputError) as caught:
        registry.build(name)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", registry.problems())
def test_rules_are_told_in_a_few_sentences(name):
    told = registry.rules_of(name)
    assert 60 < len(told) < 700
    assert ("reconstruction" in told) == (registry.note(name) is not None and "reconstruction" in registry.note(name))
