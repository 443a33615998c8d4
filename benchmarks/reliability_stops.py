"""Two interrupts, sent to real processes: how long the command takes to end, and which files it leaves.

A part of `reliability.py`. A run is begun with checkpoints in short order; a moment after the first of them (after the
first finished cell of a table) it is interrupted, and again within a tenth of a second, as a terminal does it: the
whole group of processes gets the signal. Time counts from the second interrupt, if it still meets the command. A run
is lost when it leaves neither a team nor a checkpoint, a file that cannot be read, or a half-written one.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import decpomdp as dp

COMMAND = [sys.executable, "-m", "decpomdp"]
LONG = {  # the same work, but it would not end by itself
    "learn, search": ["learn", "gridsmall", "--time-limit", "600"],
    "learn, sbpr": ["learn", "gridsmall", "--method", "sbpr", "--time-limit", "600"],
    "learn, mcem": ["learn", "gridsmall", "--method", "mcem", "--time-limit", "600"],
    "learn, 100 agents": ["learn", "traffic", "--time-limit", "600"],
    "learn, from episodes": ["learn", "e.parquet", "--method", "sbpr", "--tolerance", "0", "--sweeps", "100000"],
    "plan, fb-hsvi": ["plan", "gridsmall", "--time-limit", "600"],
    "plan, pbvi": ["plan", "gridsmall", "--method", "pbvi", "--epsilon", "1e-6"],
    "plan, em": ["plan", "gridsmall", "--method", "em", "--nodes", "5", "--time-limit", "600"],
    "plan, periem": ["plan", "gridsmall", "--method", "periem", "--time-limit", "600"],
    "benchmark": ["benchmark", "--problems", "broadcast,recycling", "--seeds", "50", "--steps", "1000000"],
    "reproduce": ["reproduce", "robustness", "--quick"],
}
PATIENCE = 600.0  # seconds for the first checkpoint, on a busy machine that has to compile


@dataclass
class Stop:
    """What was seen of one command."""

    name: str
    tries: int = 0
    met: int = 0  # of them where the command was still there for the second
    saved: int | None = 0  # with a team; None: it is a table
    seconds: float = 0.0  # the most, where it was met
    different: int = 0  # runs lost


def stopped(folder: Path, name: str, tries: int, rng: random.Random) -> Stop:
    found = Stop(name, saved=None if name in ("benchmark", "reproduce") else 0)
    for number in range(tries):
        out = folder / f"{name} stopped {number}"
        seconds = interrupted(folder, name, out, rng.uniform(0, 2), rng.uniform(0, 0.1))
        found.seconds = max(found.seconds, seconds or 0.0)
        found.met += seconds is not None
        found.tries += 1
        if found.saved is not None:
            found.saved += (out / "team.json").exists()
        found.different += not whole(out)
    summary = (
        f"{found.met} of {found.tries} met twice, {found.seconds:.2f} s, {found.saved} saved, {found.different} lost"
    )
    print(f"{name}: {summary}", file=sys.stderr, flush=True)
    return found


def interrupted(folder: Path, name: str, out: Path, first: float, second: float) -> float | None:
    """Seconds from the second interrupt to the end; None if the first had ended it by then."""
    often = [] if name in ("benchmark", "reproduce") else ["--checkpoint-every", "0.1", "--quiet"]
    own = [*COMMAND, *LONG[name], "--out", str(out), *often]
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # we are in the background of a script: it is inherited
        signal.signal(signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen(
        own, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        end = time.monotonic() + PATIENCE
        while not kept(out):
            if process.poll() is not None or time.monotonic() > end:
                process.kill()
                raise SystemExit(f"{name}: nothing was kept: {process.communicate()[1]}")
            time.sleep(0.02)
        time.sleep(first)
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(second)
        begin, met = time.monotonic(), process.poll() is None
        if met:
            os.killpg(process.pid, signal.SIGINT)
        process.wait()
        seconds = time.monotonic() - begin if met else None
        _, said = process.communicate()
    if process.returncode not in (0, 130) or "Traceback" in said:
        raise SystemExit(f"{name}: exit code {process.returncode}: {said}")
    return seconds


def kept(out: Path) -> list[Path]:
    """Checkpoints of a run, finished cells of a table."""
    cells = [path for path in out.glob("*/*.json") if path.parent.name == "cells" or path.name == "run.json"]
    return [*out.glob("checkpoint.bin"), *cells]


def whole(out: Path) -> bool:
    """Whether there is something to go on from, and nothing half-written."""
    for path in out.rglob("*.json"):
        json.loads(path.read_text())
    if (out / "team.json").exists():
        dp.Team.load(out / "team.json")
    return bool(kept(out)) and not list(out.rglob(".decpomdp-*"))
