"""The command, run inside the test's own folder: its exit code, what it printed, what it complained about."""

import json

import pytest

from decpomdp.cli.main import code_of


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        code = code_of([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


@pytest.fixture
def as_json(run):
    """What the command says in JSON, when all is well."""

    def call(*arguments):
        code, out, err = run(*arguments, "--json")
        assert code == 0, err
        return json.loads(out)

    return call
