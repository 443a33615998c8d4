"""The work of cells: one that tells its result, and one that fills a folder of its own."""

import json
from pathlib import Path


def doubled(settings):
    return 2 * settings["seed"]


def written(settings):
    folder = Path(settings["out"])
    (folder / "deep").mkdir(parents=True)
    (folder / "deep/more.txt").write_bytes(b"more")
    (folder / "run.json").write_text(json.dumps({"seed": settings["seed"]}))
