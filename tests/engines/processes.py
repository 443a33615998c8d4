"""A real Dask cluster for tests: a scheduler and workers, each a process of its own, on the loopback interface."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = ("--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0")
ENVIRONMENT = {
    # work that tests ask for, and the package that they test
    "PYTHONPATH": os.pathsep.join(filter(None, (str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")))),
}


def until(condition, seconds=120):
    """Wait for it."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


class Processes:
    def __init__(self, folder):
        self.folder, self.file = folder, folder / "scheduler.json"
        self.log = (folder / "log.txt").open("w")
        self.scheduler = self._run("scheduler", "--port", "0", "--scheduler-file", str(self.file))
        self.workers = []
        self.started = 0

    @property
    def address(self):
        end = time.monotonic() + 120
        while time.monotonic() < end:
            if self.file.exists() and self.file.read_text().endswith("}"):
                return json.loads(self.file.read_text())["address"]
            time.sleep(0.05)
        raise TimeoutError((self.folder / "log.txt").read_text())

    def exactly(self, count):
        """So many workers; returns the scheduler's address when it knows of them."""
        address = self.address
        while len(self.workers) > count:
            self.kill(self.workers[-1])
        while len(self.workers) < count:
            self._start(address)
        self._known(address, count)
        return address

    def kill(self, worker):
        """At once."""
        self.workers.remove(worker)
        worker.kill()
        worker.wait()

    def end(self):
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()
        self.log.close()

    def _start(self, address):
        self.started += 1
        place = str(self.folder / f"worker{self.started}")
        more = ("--nthreads", "1", "--no-nanny", "--memory-limit", "0", "--local-directory", place)
        self.workers.append(self._run("worker", address, *more))

    def _run(self, what, *arguments):
        return subprocess.Popen(
            [sys.executable, "-m", "dask", what, *arguments, *HERE],
            stdout=self.log,
            stderr=self.log,
            env={**os.environ, **ENVIRONMENT},
        )

    def _known(self, address, count):
        from distributed import Client

        with Client(address, timeout=120, set_as_default=False) as client:
            end = time.monotonic() + 120
            while len(client.nthreads()) != count:
                assert time.monotonic() < end, (self.folder / "log.txt").read_text()
                time.sleep(0.05)
