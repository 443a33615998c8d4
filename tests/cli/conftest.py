"""The command, run inside the test's own folder: its exit code, what it printed, what it complained about."""

import json

import pytest


@pytest.fixture
def as_json(run):
    """What the command says in JSON, when all is well."""

    def call(*arguments):
        code, out, err = run(*arguments, "--json")
        assert code == 0, err
        return json.loads(out)

    return call
