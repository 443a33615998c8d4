"""Kills a real process at random moments, continues it, and compares what it leaves with an undisturbed run.

    python benchmarks/reliability.py [--kills 50] [--seed 0] [--only "plan, em" ...]

Every run is killed again and again (SIGKILL) after a random time between nothing and a little more than a whole run
takes, and continued with --resume until it ends; then the next run begins, until so many kills were survived. A kill
can come at any moment: while the program is being loaded, while it learns, while a checkpoint is half written, while
the result is being judged. Prints the table of docs/reliability.md; exit code 1 if one byte differs.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

import decpomdp as dp
from decpomdp.io.checkpoints import NAMES
from decpomdp.io.run_folder import BEGUN

COMMAND = [sys.executable, "-m", "decpomdp.cli.start"]
OFTEN = ["--checkpoint-every", "0.1", "--quiet"]
RUNS = {
    "learn, search": ["learn", "dectiger", "--steps", "60000000", "--seed", "1"],
    "learn, sbpr": ["learn", "dectiger", "--method", "sbpr", "--iterations", "60", "--seed", "1"],
    "learn, mcem": ["learn", "dectiger", "--method", "mcem", "--iterations", "300", "--seed", "1"],
    "learn, from episodes": ["learn", "e.parquet", "--truncation", "20", "--sweeps", "60", "--cap", "10"],
    "plan, fb-hsvi": ["plan", "dectiger", "--horizon", "5"],
    "plan, pbvi": ["plan", "gridsmall", "--method", "pbvi", "--epsilon", "0.3"],
    "plan, em": ["plan", "dectiger", "--method", "em", "--nodes", "4", "--seed", "1"],
    "plan, periem": ["plan", "dectiger", "--method", "periem", "--seed", "1"],
}


@dataclass
class Tally:
    """What was seen of one command."""

    name: str
    runs: int = 0
    kills: int = 0
    early: int = 0  # of them before there was a checkpoint
    compared: int = 0  # bytes
    different: int = 0  # runs
    largest: int = 0  # bytes of a checkpoint


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", choices=RUNS, default=list(RUNS))
    given = parser.parse_args()
    rng = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = dp.load("dectiger")
        dp.write_episodes(dp.simulate(model, dp.Team.uniform(model), 10_000, 10, seed=1), folder / "e.parquet")
        share = -(-given.kills // len(given.only))
        tallies = [survived(folder, run, share, rng) for run in given.only]
    show(tallies)
    return int(any(tally.different for tally in tallies))


def survived(folder: Path, name: str, kills: int, rng: random.Random) -> Tally:
    tally, arguments = Tally(name), RUNS[name]
    begin = time.monotonic()
    finished(folder, *arguments, "--out", f"{name} whole", "--quiet")
    seconds = time.monotonic() - begin
    while tally.kills < kills:
        out = f"{name} {tally.runs}"
        while killed(folder, out, arguments, rng.uniform(0, seconds), tally) and tally.kills < kills:
            pass
        if (folder / out / BEGUN).exists():
            finished(folder, arguments[0], "--resume", out, "--quiet")
        elif not (folder / out / "run.json").exists():
            finished(folder, *arguments, "--out", out, *OFTEN)
        tally.runs += 1
        compare(folder / f"{name} whole", folder / out, tally)
        print(f"{name}: {tally.kills} kills, {tally.runs} runs, {tally.different} differ", file=sys.stderr, flush=True)
    return tally


def killed(folder: Path, out: str, arguments: list[str], after: float, tally: Tally) -> bool:
    """Begin or continue a run and kill it; whether it came to that."""
    begun = (folder / out / BEGUN).exists()
    if not begun and (folder / out / "run.json").exists():
        return False  # the last kill came when everything was done
    own = [arguments[0], "--resume", out, "--quiet"] if begun else [*arguments, "--out", out, *OFTEN]
    with subprocess.Popen(
        [*COMMAND, *own], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            _, errors = process.communicate(timeout=after)
        except subprocess.TimeoutExpired:
            process.kill()
            sizes = [path.stat().st_size for path in (folder / out / name for name in NAMES) if path.exists()]
            tally.kills, tally.early = tally.kills + 1, tally.early + (not sizes)
            tally.largest = max([tally.largest, *sizes])
            return True
    if process.returncode:
        raise SystemExit(f"{' '.join(own)}: exit code {process.returncode}: {errors.decode()}")
    return False


def finished(folder: Path, *arguments: str) -> None:
    done = subprocess.run([*COMMAND, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)}: exit code {done.returncode}: {done.stderr}")


def compare(whole: Path, cut: Path, tally: Tally) -> None:
    """All that is not a time of day or a duration: team files by bytes, the record and the trace by content."""
    pairs = [(path.read_bytes(), (cut / path.name).read_bytes()) for path in whole.glob("team*.json")]
    pairs += [(record(whole), record(cut)), (trace(whole), trace(cut))]
    tally.compared += sum(len(one) for one, _ in pairs)
    same = {path.name for path in whole.iterdir()} == {path.name for path in cut.iterdir()}
    tally.different += not (same and all(one == other for one, other in pairs))


def record(run: Path) -> bytes:
    told = json.loads((run / "run.json").read_text())
    return json.dumps({key: value for key, value in told.items() if key != "seconds"}).encode()


def trace(run: Path) -> bytes:
    columns = pq.read_table(run / "trace.parquet").to_pydict()
    return json.dumps({key: column for key, column in columns.items() if key != "seconds"}).encode()


def show(tallies: list[Tally]) -> None:
    print("| command | runs | kills | before a checkpoint | bytes compared | runs that differ | largest checkpoint |")
    print("|---|---|---|---|---|---|---|")
    for t in tallies:
        size = f"{t.largest / 1000:.0f} kB"
        print(f"| {t.name} | {t.runs} | {t.kills} | {t.early} | {t.compared:,} | {t.different} | {size} |")
    kills, early, compared, different, runs = (
        sum(getattr(t, name) for t in tallies) for name in ("kills", "early", "compared", "different", "runs")
    )
    print(f"| all | {runs} | {kills} | {early} | {compared:,} | {different} | |")


if __name__ == "__main__":
    sys.exit(main())
