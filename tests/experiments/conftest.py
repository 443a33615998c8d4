"""All experiments, as small as they go, computed once for all files that look at what comes out.

Tests only read its cells, and what they write beside them is the same whoever writes it.
"""

import pytest

from decpomdp.experiments import reproduction
from experiments.small_efforts import EFFORTS


@pytest.fixture(scope="session")
def done(tmp_path_factory):
    """All experiments, computed once."""
    folder = tmp_path_factory.mktemp("reproduced")
    return folder, reproduction.reproduce(reproduction.NAMES, EFFORTS, folder, 1, lambda _: None, "quick")
