"""The corpus again, every mutation that was ever a finding included, and some thousand new inputs for every reader.

Limits hold for all of them: processor time for each input, address space for all. The long run is benchmarks/fuzz.py.
"""

import random
import resource
import signal
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import decpomdp as dp
from decpomdp.core import InputError
from decpomdp.io.dpomdp.read import parse_dpomdp
from fuzz import targets
from fuzz.mutations import MAKERS, mutate
from fuzz.targets import TARGETS

CORPUS = Path(__file__).parent / "corpus"
SECONDS = 5  # of processor time for one input
MEMORY = 2 << 30  # bytes of address space beyond what is there
INPUTS = 300  # of every target, beside those of hypothesis ...
SLOW = ("episodes", "table_csv", "table_parquet", "run_record", "run_trace", "run_team")  # ... and so many of these:
FEW = 50


def corpus(name):
    return [path.read_bytes() for path in sorted((CORPUS / name).iterdir())]


@contextmanager
def in_time():
    """An input may take so much processor time and no more, however busy the machine is."""

    def stop(*_):
        raise AssertionError(f"more than {SECONDS} seconds of processor time")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@pytest.fixture(autouse=True, scope="module")
def little_memory():
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if Path("/proc/self/statm").exists() else None
    before = resource.getrlimit(resource.RLIMIT_AS)
    if pages is not None:
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.parametrize(
    ("name", "file"), [(name, file.name) for name in TARGETS for file in (CORPUS / name).iterdir()]
)
def test_the_corpus_is_read_or_refused_in_words(name, file):
    TARGETS[name]((CORPUS / name / file).read_bytes())  # the first time kernels are compiled: no limit of time


@pytest.mark.parametrize("name", TARGETS)
def test_mutated_input_is_read_or_refused_in_words(name):
    rng, seeds, accepted = random.Random(name), corpus(name), 0
    inputs = FEW if name in SLOW else INPUTS
    for _ in range(inputs):
        data = mutate(name, rng.choice(seeds), rng)
        with in_time():
            accepted += TARGETS[name](data)
    assert 0 < accepted < inputs  # neither all nor nothing, or the mutations are not worth much


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(rng=st.randoms(use_true_random=False), data=st.data())
def test_what_hypothesis_thinks_of_is_read_or_refused_in_words(name, rng, data):
    start = data.draw(st.sampled_from(corpus(name)) | st.binary(max_size=200))
    with in_time():
        TARGETS[name](mutate(name, start, rng))


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_every_target_has_a_corpus_of_small_files(name):
    assert name in TARGETS
    assert all(len(data) < 10_000 for data in corpus(name))


# -- what would be found is found --------------------------------------------------------------------------------------

FORMS = (CORPUS / "dpomdp" / "forms").read_bytes()


@pytest.mark.parametrize("part", ["start", "transition", "observation", "reward"])
def test_a_silent_wrong_model_would_be_found(monkeypatch, part):
    def wrong(path):
        model = parse_dpomdp(path.read_text())
        table = getattr(model, part).copy()
        table[..., 0] += 1e-9
        return replace(model, **{part: table})

    monkeypatch.setattr(targets, "read_dpomdp", wrong)
    with pytest.raises(AssertionError):
        targets.dpomdp(FORMS)


def test_a_false_refusal_and_a_false_acceptance_would_be_found(monkeypatch):
    def refusing(path):
        raise dp.FormatError(str(path), 1, "no")

    monkeypatch.setattr(targets, "read_dpomdp", refusing)
    with pytest.raises(AssertionError, match="though it is a model"):
        targets.dpomdp(FORMS)
    monkeypatch.setattr(targets, "read_dpomdp", lambda path: dp.load("dectiger"))
    with pytest.raises(AssertionError, match="though it is no model"):
        targets.dpomdp(FORMS.replace(b"discount: 0.9", b"discount: 2"))


def test_other_exceptions_and_endless_complaints_would_be_found(monkeypatch):
    def breaks(data, source):
        raise KeyError("agents")

    monkeypatch.setattr(targets, "team_from_json", breaks)
    with pytest.raises(KeyError):
        targets.team(b"{}")
    with pytest.raises(AssertionError, match="characters"):
        targets.in_words(InputError("x" * 3000))
    with pytest.raises(AssertionError, match="without words"):
        targets.in_words(InputError("\n"))


def test_no_distribution_would_be_found():
    with pytest.raises(AssertionError):
        targets.distributions(np.array([0.5, 0.5 + 1e-9]))
    with pytest.raises(AssertionError):
        targets.distributions(np.array([1.5, -0.5]))
    with pytest.raises(AssertionError):
        targets.distributions(np.array([np.nan, 1.0]))


def test_an_endless_input_would_be_found():
    def endless():
        with in_time():
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.01)
            while True:
                pass

    with pytest.raises(AssertionError, match="processor time"):
        endless()
