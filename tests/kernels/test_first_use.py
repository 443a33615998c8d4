"""Kernels used for the first time by several at once, with nothing compiled before."""

import os
import subprocess
import sys

import pytest

SUMS = """
import numpy as np
from decpomdp.kernels.expectation import running_sums
def work(number=0):
    values = np.random.default_rng(1).normal(size=(50, 3))
    out = np.empty(50)
    running_sums(values, np.array([0, 20, 50]), out)
    return out.tobytes().hex()
"""
LEARN = """
import warnings
import decpomdp as dp
warnings.simplefilter("ignore")
def work(number=0):
    logged = dp.simulate("recycling", episodes=200, horizon=4, seed=1)
    fit = dp.learn(logged, dp.Sbpr(truncation=4, sweeps=5))
    return "".join(c.action.tobytes().hex() + c.transition.tobytes().hex() for c in fit.team.controllers)
"""
ALONE = "print(work())"
THREADS = """
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
begin = Barrier(8)
def together(number):
    begin.wait()
    return work()
with ThreadPoolExecutor(8) as pool:
    found = set(pool.map(together, range(8)))
assert len(found) == 1, found
print(found.pop())
"""


def started(code, cache):
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def said(process):
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    return out


@pytest.mark.parametrize("work", [SUMS, pytest.param(LEARN, marks=pytest.mark.slow)], ids=["sums", "learn"])
def test_by_threads_of_one_process(tmp_path, work):
    told = said(started(work + THREADS, tmp_path / "cache"))
    assert told == said(started(work + ALONE, tmp_path / "other"))
