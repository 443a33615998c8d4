"""Where the tests of episodes write their file, and those of Minari their datasets."""

import pytest


@pytest.fixture
def path(tmp_path):
    return tmp_path / "episodes.parquet"


@pytest.fixture
def make(tmp_path, monkeypatch):
    from .made_minari import Made

    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "sets"))
    return lambda form, *values, **options: Made(tmp_path / "sets", form, *values, **options)


@pytest.fixture
def made(make):
    return make("hdf5")
