"""The work of cells: one that tells its result, one that fills a folder of its own, and some that are cut off."""

import json
import os
import signal
import time
from pathlib import Path

from decpomdp.domains.load import load
from decpomdp.experiments import elsewhere


def doubled(settings):
    return 2 * settings["seed"]


def written(settings):
    folder = Path(settings["out"])
    (folder / "deep").mkdir(parents=True)
    (folder / "deep/more.txt").write_bytes(b"more")
    (folder / "run.json").write_text(json.dumps({"seed": settings["seed"]}))


def slow(settings):
    """Says which process it is, and takes its time."""
    Path(settings["folder"], f"{settings['seed']}.pid").write_text(str(os.getpid()))
    time.sleep(settings["seconds"])
    return settings["seed"]


def waiting(settings):
    """Says which process it is, and goes on when it is told to."""
    folder = Path(settings["folder"])
    (folder / f"{settings['seed']}.pid").write_text(str(os.getpid()))
    while not (folder / "go on").exists():
        time.sleep(0.02)
    return settings["seed"]


def loaded(settings):
    """Which problem it found."""
    return load(settings["problem"]).digest()


def impatient():
    """On a worker: processes that have nothing to do end soon."""
    elsewhere.LOOK, elsewhere.IDLE = 0.1, 0.3
    elsewhere._look_at_idle.cache_clear()


def killed(settings):
    """Ended from outside so many times before it comes to its end."""
    notes = Path(settings["notes"])
    with notes.open("a") as file:
        file.write("begun\n")
    if len(notes.read_text().splitlines()) <= settings["times"]:
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"
