"""One cluster for all files here; each test says how many workers it wants."""

import pytest
from engines.processes import Processes


@pytest.fixture(scope="session")
def processes(tmp_path_factory):
    found = Processes(tmp_path_factory.mktemp("cluster"))
    yield found
    found.end()
