"""The work of cells: one that tells its result, one that fills a folder of its own, and some that are cut off."""

import json
import os
import signal
from pathlib import Path

from decpomdp.domains.load import load


def doubled(settings):
    return 2 * settings["seed"]


def written(settings):
    folder = Path(settings["out"])
    (folder / "deep").mkdir(parents=True)
    (folder / "deep/more.txt").write_bytes(b"more")
    (folder / "run.json").write_text(json.dumps({"seed": settings["seed"]}))


def loaded(settings):
    """Which problem it found."""
    return load(settings["problem"]).digest()


def killed(settings):
    """Ended from outside so many times before it comes to its end."""
    notes = Path(settings["notes"])
    with notes.open("a") as file:
        file.write("begun\n")
    if len(notes.read_text().splitlines()) <= settings["times"]:
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"
