"""Where the tests of episodes write their file."""

import pytest


@pytest.fixture
def path(tmp_path):
    return tmp_path / "episodes.parquet"
