"""Every file of the corpus is read, or refused in one line. Mutations of it are run by benchmarks/fuzz.py."""

from dataclasses import replace
from pathlib import Path

import pytest
from fuzz_inputs import targets
from fuzz_inputs.targets import TARGETS

from decpomdp.io.dpomdp.read import parse_dpomdp

CORPUS = Path(__file__).parent / "corpus"


def test_the_corpus_is_read_or_refused_in_one_line():
    for name, target in TARGETS.items():
        accepted = [target(file.read_bytes()) for file in sorted((CORPUS / name).iterdir())]
        assert any(accepted), name


def test_a_silent_wrong_model_would_be_found(monkeypatch):
    def wrong(path):
        model = parse_dpomdp(path.read_text())
        return replace(model, reward=model.reward + 1e-9)

    monkeypatch.setattr(targets, "read_dpomdp", wrong)
    with pytest.raises(AssertionError):
        targets.dpomdp((CORPUS / "dpomdp" / "forms").read_bytes())
