"""Kills real processes at random moments, resumes them, and compares their files with those of an uninterrupted run.

    python benchmarks/reliability.py [--kills 50] [--seed 0] [--only "plan, em" ...] [--out reliability.json]

Every run is killed again and again (SIGKILL) after a random time between nothing and a little more than a whole run
takes, and continued with --resume until it ends; then the next run begins, until so many kills were survived. A kill
can come at any moment: while the program is being loaded, while it learns, while a checkpoint is half written, while
the result is being judged.

The same comparison is made after a disk was full (a file system of one megabyte; only root can mount one), and between
one thread, two threads and Dask clusters of 1, 2 and 4 workers. Interrupts are sent twice in short order, and it is
measured how long the command takes to end (`reliability_stops.py`). `--parts` chooses. Prints the tables that
docs/reliability.md summarises; with --out they are stored in a file, which later calls update command by command.
Exit code 1 if one byte differs or a run was lost.
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import decpomdp as dp
from decpomdp.io.checkpoints import STATE

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))  # the real cluster of the tests
COMMAND = [sys.executable, "-m", "decpomdp"]
OFTEN = ["--checkpoint-every", "0.1", "--quiet"]
RUNS = {
    "learn, search": ["learn", "dectiger", "--steps", "60000000", "--seed", "1"],
    "learn, sbpr": ["learn", "dectiger", "--method", "sbpr", "--iterations", "60", "--seed", "1"],
    "learn, mcem": ["learn", "dectiger", "--method", "mcem", "--iterations", "300", "--seed", "1"],
    "learn, 100 agents": ["learn", "traffic", "--iterations", "4", "--seed", "1"],
    "learn, from episodes": ["learn", "e.parquet", "--method", "sbpr", "--truncation", "20", "--sweeps", "60"],
    "plan, fb-hsvi": ["plan", "dectiger", "--horizon", "5"],
    "plan, pbvi": ["plan", "gridsmall", "--method", "pbvi", "--epsilon", "0.3"],
    "plan, em": ["plan", "dectiger", "--method", "em", "--nodes", "4", "--seed", "1"],
    "plan, periem": ["plan", "dectiger", "--method", "periem", "--seed", "1"],
    "benchmark": [
        *["benchmark", "--problems", "broadcast,recycling", "--methods", "search,mcem"],
        *["--seeds", "2", "--steps", "300000", "--jobs", "2", "--threads", "1"],
    ],
    "reproduce": ["reproduce", "robustness", "--quick", "--seeds", "1", "--jobs", "2"],
}
TABLES = ("benchmark", "reproduce")  # many cells, in processes of their own


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
    refused: str = ""  # what the command said of a disk


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--tries", type=int, default=3, help="interrupts of every command")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", choices=RUNS, default=list(RUNS))
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    kept = json.loads(given.out.read_text()) if given.out and given.out.exists() else {}
    with tempfile.TemporaryDirectory() as name:
        model = dp.load("dectiger")
        logged = dp.simulate(model, dp.Team.uniform(model), 10_000, 10, seed=1)
        logged.save(Path(name) / "e.parquet")
        for part in given.parts:
            for tally in PARTS[part](Path(name), given):
                kept.setdefault(part, {})[tally.name] = asdict(tally)
                if given.out:  # at once: this is a long run, too
                    given.out.write_text(json.dumps(kept, indent=2) + "\n")
    for part in given.parts:
        print(table(part, kept.get(part, {})))
    return int(any(tally["different"] for found in kept.values() for tally in found.values()))


def kills(folder: Path, given: argparse.Namespace) -> Iterator[Tally]:
    rng = random.Random(given.seed)
    share = -(-given.kills // max(1, len(given.only)))
    for run in given.only:
        yield survived(folder, run, share, rng)


def disks(folder: Path, given: argparse.Namespace) -> Iterator[Tally]:
    """A disk that is filled up while a run writes, then made free; and one that becomes read-only."""
    disk = folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        print("disks: only root can mount a small one", file=sys.stderr)
        return
    try:
        finished(folder, *RUNS["learn, search"], "--out", "disk whole", "--quiet")
        for name in ("full", "read-only"):
            tally = Tally(name)
            tally.refused = spoilt(folder, disk, name)
            finished(folder, "learn", "--resume", str(disk / name), "--quiet")
            tally.runs += 1
            compare(folder / "disk whole", disk / name, tally)
            shutil.rmtree(disk / name)
            yield tally
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def spoilt(folder: Path, disk: Path, name: str) -> str:
    """Begin a run, spoil its disk, mend it; what the command said."""
    out = disk / name
    own = [*COMMAND, *RUNS["learn, search"], "--out", str(out), *OFTEN]
    with subprocess.Popen(own, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not (out / STATE).exists():
            time.sleep(0.01)
        if name == "full":
            with suppress(OSError), (disk / "filler").open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))
        else:
            process.kill()
            process.wait()
            subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
            with subprocess.Popen(
                [*COMMAND, "learn", "--resume", str(out)], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
            ) as again:
                said, code = again.communicate()[1], again.returncode
        if name == "full":
            said, code = process.communicate()[1], process.returncode
    if code != 2 or "Traceback" in said:
        raise SystemExit(f"{name}: expected one line and exit code 2, got {code}: {said}")
    if name == "full":
        (disk / "filler").unlink()
    else:
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
    return next(line for line in said.splitlines() if line.startswith("error: ")).replace(str(disk), "DISK")


def engines(folder: Path, given: argparse.Namespace) -> Iterator[Tally]:
    """Learning from episodes here and on real clusters: team and trace of all against those of one thread."""
    from engines.processes import Processes

    learn = ["learn", "e.parquet", "--method", "sbpr", "--truncation", "8", "--sweeps", "20", "--quiet"]
    finished(folder, *learn, "--threads", "1", "--out", "one thread")
    finished(folder, *learn, "--threads", "2", "--out", "two threads")
    yield same(folder, "two threads")
    (folder / "cluster").mkdir()
    cluster = Processes(folder / "cluster")
    try:
        for count in (1, 2, 4):
            name = f"cluster of {count}"
            where = ["--engine", "dask", "--scheduler", cluster.exactly(count)]
            finished(folder, *learn, *where, "--out", name)
            yield same(folder, name)
    finally:
        cluster.end()


def same(folder: Path, name: str) -> Tally:
    tally, one, other = Tally(name, runs=1), folder / "one thread", folder / name
    pairs = [(path.read_bytes(), (other / path.name).read_bytes()) for path in one.glob("team*.json")]
    pairs.append((trace(one), trace(other)))
    tally.compared = sum(len(whole) for whole, _ in pairs)
    tally.different = int(any(whole != cut for whole, cut in pairs))
    return tally


def stops(folder: Path, given: argparse.Namespace) -> Iterator[Any]:
    """Two interrupts, one after the other."""
    from reliability_stops import stopped

    rng = random.Random(given.seed)
    for run in given.only:
        yield stopped(folder, run, given.tries, rng)


PARTS = {"kills": kills, "disks": disks, "engines": engines, "stops": stops}


def survived(folder: Path, name: str, kills: int, rng: random.Random) -> Tally:
    tally = Tally(name)
    finished(folder, *command(folder, name, f"{name} whole"))
    begin = time.monotonic()  # not of the first run, which may have had to compile
    finished(folder, *command(folder, name, f"{name} again"))
    seconds = time.monotonic() - begin
    while tally.kills < kills:
        out = f"{name} {tally.runs}"
        while killed(folder, out, name, rng.uniform(0, seconds), tally) and tally.kills < kills:
            pass
        if not over(folder / out, name):
            finished(folder, *command(folder, name, out))
        elif name not in TABLES:  # killed when it was over, perhaps before it had removed its checkpoints
            finished(folder, RUNS[name][0], "--resume", out)
        tally.runs += 1
        (compare_tables if name in TABLES else compare)(folder / f"{name} whole", folder / out, tally)
        print(f"{name}: {tally.kills} kills, {tally.runs} runs, {tally.different} differ", file=sys.stderr, flush=True)
    return tally


def command(folder: Path, name: str, out: str) -> list[str]:
    """How to begin a run, or to go on with it."""
    arguments, started = RUNS[name], (folder / out / "run.json").exists()
    if name in TABLES or not started:
        return [*arguments, "--out", out, *([] if name in TABLES else OFTEN)]
    return [arguments[0], "--resume", out, "--quiet"]


def over(run: Path, name: str) -> bool:
    """Whether there is nothing to go on with."""
    if name == "benchmark":
        return sum(map(finished_run, run.glob("*/run.json"))) == 8
    return (run / "index.html").exists() if name == "reproduce" else finished_run(run / "run.json")


def finished_run(path: Path) -> bool:
    return path.exists() and json.loads(path.read_text())["finished"]


def killed(folder: Path, out: str, name: str, after: float, tally: Tally) -> bool:
    """Begin or continue a run and kill it; whether it came to that."""
    if over(folder / out, name):
        return False  # the last kill came when everything was done
    own = command(folder, name, out)
    with subprocess.Popen(
        [*COMMAND, *own], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            _, errors = process.communicate(timeout=after)
        except subprocess.TimeoutExpired:
            process.kill()
            sizes = [path.stat().st_size for path in (folder / out).rglob(STATE)]
            if name in TABLES:  # what is finished is not computed again
                sizes += [path.stat().st_size for path in (folder / out).glob("*/*.json")]
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


def compare_tables(whole: Path, cut: Path, tally: Tally) -> None:
    """All cells, and the data made of them, but for what is called seconds; the runs of a benchmark as runs."""
    names = {str(path.relative_to(whole)) for path in whole.rglob("*") if path.is_file()}
    different = names != {str(path.relative_to(cut)) for path in cut.rglob("*") if path.is_file()}
    for name in sorted(names):
        one, other = (content(place / name) for place in (whole, cut))
        tally.compared += len(one)
        different |= one != other
    tally.different += different


def content(path: Path) -> bytes:
    """What of a file must be the same; nothing of logs and of pages and pictures, which hold times."""
    if path.name in ("log.txt", "report.html", "index.html", "index.md") or path.parent.name == "figures":
        return b""
    if path.suffix == ".parquet":
        return json.dumps(timeless(pq.read_table(path).to_pydict())).encode()
    return json.dumps(timeless(json.loads(path.read_text()))).encode() if path.suffix == ".json" else path.read_bytes()


def timeless(content):
    """The same without durations, at any depth."""
    if isinstance(content, dict):
        return {key: timeless(value) for key, value in content.items() if "seconds" not in key}
    return [timeless(value) for value in content] if isinstance(content, list) else content


def record(run: Path) -> bytes:
    content = json.loads((run / "run.json").read_text())
    return json.dumps({key: value for key, value in content.items() if key != "seconds"}).encode()


def trace(run: Path) -> bytes:
    columns = pq.read_table(run / "trace.parquet").to_pydict()
    return json.dumps({key: column for key, column in columns.items() if key != "seconds"}).encode()


HEADS = {
    "stops": "| command | tries | met by the second | with the team saved | runs lost | ended after it, at most |",
    "kills": "| command | runs | kills | with no checkpoint | bytes compared | runs that differ | largest checkpoint |",
    "disks": "| disk | what the command says | bytes compared after it was mended | runs that differ |",
    "engines": "| compared with one thread | bytes compared | runs that differ |",
}


def table(part: str, found: dict) -> str:
    """The figures of one part as Markdown."""
    lines = [HEADS[part], "|---" * (HEADS[part].count("|") - 1) + "|"]
    for t in found.values():
        if part == "kills":
            lines.append(
                f"| {t['name']} | {t['runs']} | {t['kills']} | {t['early']} | {t['compared']:,} | {t['different']} | "
                f"{t['largest'] / 1000:.0f} kB |"
            )
        elif part == "disks":
            lines.append(f"| {t['name']} | `{t['refused']}` | {t['compared']:,} | {t['different']} |")
        elif part == "stops":
            saved = "" if t["saved"] is None else t["saved"]
            seconds = f"{t['seconds']:.2f} s" if t["met"] else ""
            lines.append(f"| {t['name']} | {t['tries']} | {t['met']} | {saved} | {t['different']} | {seconds} |")
        else:
            lines.append(f"| {t['name']} | {t['compared']:,} | {t['different']} |")
    if part == "kills" and found:
        runs, kills, early, compared, different = (
            sum(t[name] for t in found.values()) for name in ("runs", "kills", "early", "compared", "different")
        )
        lines.append(f"| all | {runs} | {kills} | {early} | {compared:,} | {different} | |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
