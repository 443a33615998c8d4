"""Runs to look at, and a browser to look with."""

import shutil

import pytest
from dectiger_horizon3 import controller

import decpomdp as dp
from decpomdp.io.runs import RunRecord, ValueRecord
from report.making import kept, written

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def pytest_configure(config):
    config.addinivalue_line("markers", "browser: looks at the page in a real browser (Chromium)")


@pytest.fixture(scope="session")
def tiger(tmp_path_factory):
    model = dp.load("dectiger")
    return kept(tmp_path_factory.mktemp("runs") / "tiger", model, dp.Team.of(model, [controller()] * 2))


@pytest.fixture(scope="session")
def logged(tmp_path_factory):
    """A run that learned from episodes, with its episodes beside it."""
    folder = tmp_path_factory.mktemp("logged")
    model = dp.load("broadcast")
    episodes = dp.simulate(model, dp.Team.uniform(model), 200, 6, seed=1)
    episodes.save(folder / "e.parquet")
    fit = dp.learn(episodes, dp.Sbpr(truncation=5, sweeps=20, starts=2))
    last = fit.trace[-1]
    record = RunRecord(
        source=str(folder / "e.parquet"), problem="broadcast", discount=0.9, seed=0, method="sbpr",
        value=ValueRecord(value=fit.facts["estimate"], method="estimated from held-out episodes"),
        bound=last["bound"], sample_size=last["sample_size"], settings={"method": "sbpr"},
    )  # fmt: skip
    (folder / "run").mkdir()
    return written(folder / "run", fit, record, episodes)


@pytest.fixture(scope="session")
def browser():
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("needs Chromium (Debian: apt-get install chromium)")
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install decpomdp[page]")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield opened
        opened.close()
