"""All experiments, as small as they go, computed once for all tests that read the result."""

import pytest

from decpomdp.experiments import reproduction
from experiments.small_efforts import EFFORTS


@pytest.fixture(scope="session")
def done(tmp_path_factory):
    """The folder and what was shown."""
    folder = tmp_path_factory.mktemp("reproduced")
    return folder, reproduction.reproduce(reproduction.NAMES, EFFORTS, folder, 1, lambda _: None, "quick")
