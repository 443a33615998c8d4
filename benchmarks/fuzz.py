"""Coverage-guided fuzzing of every reader of files.

    python benchmarks/fuzz.py [--executions 1000000] [--out fuzz.json] [--only dpomdp team ...] [--seed 0]

Needs atheris (libFuzzer for Python). Every target of fuzz_inputs/targets.py runs in processes of its own, with a limit
of time for each input and of memory for the process, from the corpus in tests/fuzz/corpus and with the mutations of
fuzz_inputs. Counts are kept in the file given by --out after every process: called again, it goes on until
so many executions were done in all. What breaks a promise is stored next to that file, the shortest input per kind of
failure; exit code 1 if there is any. Prints the table that docs/reliability.md summarises.
"""

import argparse
import hashlib
import json
import mmap
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CORPUS = ROOT / "tests/fuzz/corpus"
SHARES = {  # of the executions: what is read most often and has the most rules gets most
    "dpomdp": 0.35,
    "team": 0.25,
    "controller": 0.15,
    "table_csv": 0.10,
    "table_parquet": 0.04,
    "episodes": 0.04,
    "run_record": 0.03,
    "run_trace": 0.02,
    "run_team": 0.02,
}
CHUNK = 25_000  # executions of one process
SECONDS = 10  # of processor time for one input
MEMORY = 3 << 30  # bytes of address space that a process may use beyond what it needs to start
LENGTH = 16_384  # bytes of an input
COUNTS = struct.Struct("<QQ")  # executions, accepted: shared with the process, so that a crash loses none


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--executions", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path, default=Path("fuzz.json"))
    parser.add_argument("--only", nargs="*", choices=SHARES, default=list(SHARES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)  # target, counts, findings
    given, rest = parser.parse_known_args()
    if given.worker:
        return work(*given.worker, rest)
    kept = json.loads(given.out.read_text()) if given.out.exists() else {}
    findings = given.out.with_suffix(".findings")
    with tempfile.TemporaryDirectory() as folder:
        fuzz(given, kept, findings, Path(folder))
    show(kept, findings)
    return int(any(kinds(findings, name) for name in SHARES))


def fuzz(given: argparse.Namespace, kept: dict, findings: Path, folder: Path) -> None:
    """Target by target a few thousand at a time, so that all of them advance."""
    whole = sum(SHARES[name] for name in given.only)
    goals = {name: round(given.executions * SHARES[name] / whole) for name in given.only}
    while left := {name: goal - kept.get(name, {}).get("executions", 0) for name, goal in goals.items()}:
        name = max(left, key=lambda each: left[each] / goals[each])
        if left[name] <= 0:
            return
        record = kept.setdefault(name, {"executions": 0, "accepted": 0, "seconds": 0.0, "megabytes": 0, "processes": 0})
        run(name, min(CHUNK, left[name]), given.seed + record["processes"], record, findings / name, folder)
        given.out.write_text(json.dumps(kept, indent=2) + "\n")


def run(name: str, executions: int, seed: int, record: dict, findings: Path, folder: Path) -> None:
    """One process of one target; what it learned about reaching code stays in `folder` for the next."""
    findings.mkdir(parents=True, exist_ok=True)
    grown, counts = folder / name, folder / f"{name}.counts"
    grown.mkdir(exist_ok=True)
    counts.write_bytes(COUNTS.pack(0, 0))
    command = [sys.executable, __file__, "--worker", name, str(counts), str(findings), f"-runs={executions}"]
    command += [
        f"-seed={seed + 1}",
        "-timeout=1200",
        f"-max_len={LENGTH}",
        "-rss_limit_mb=4096",
        "-report_slow_units=1000",
    ]
    command += [f"-artifact_prefix={findings}/", str(grown), str(CORPUS / name)]
    begin = time.monotonic()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    number, accepted = COUNTS.unpack(counts.read_bytes())
    record["executions"] += number
    record["accepted"] += accepted
    record["seconds"] += time.monotonic() - begin
    record["cpu"] = record.get("cpu", 0) + (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
    record["megabytes"] = max(record["megabytes"], peak(done.stderr))
    record["processes"] += 1
    if not number:
        raise SystemExit(f"{name}: the process ended before its first input:\n{done.stderr[-2000:]}")
    if done.returncode:
        (findings / "died.txt").write_text(done.stderr[-4000:])


def peak(said: str) -> int:
    """Megabytes of memory, from what libFuzzer says now and then."""
    return max((int(word[:-2]) for word in said.split() if word.endswith("Mb") and word[:-2].isdigit()), default=0)


def work(name: str, counts: str, findings: str, arguments: list[str]) -> int:
    """The process of one target: never returns."""
    import random

    import atheris

    sys.path.append(str(ROOT / "tests"))  # the oracles
    with atheris.instrument_imports(include=["decpomdp.io", "decpomdp.core"]):
        from fuzz_inputs import mutations, targets

        import decpomdp  # noqa: F401
    assert set(mutations.MAKERS) == set(targets.TARGETS)
    warnings.simplefilter("error")
    target = targets.TARGETS[name]
    with open(counts, "r+b") as file:
        shared = mmap.mmap(file.fileno(), COUNTS.size)
    tally = [0, 0]

    def late(*_: object) -> None:
        raise TimeoutError(f"more than {SECONDS} seconds of processor time")

    def once(data: bytes) -> None:
        tally[0] += 1
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)  # not of the clock: the machine may be busy
        try:
            tally[1] += bool(target(data))
        except Exception as error:  # kept, and on to the next: one fault must not hide the others
            keep(Path(findings), data, error)
        shared[:] = COUNTS.pack(*tally)

    def changed(data: bytes, most: int, seed: int) -> bytes:
        return mutations.mutate(name, data, random.Random(seed))[:most]

    for path in sorted((CORPUS / name).iterdir()):
        target(path.read_bytes())  # the first use imports and compiles
    signal.signal(signal.SIGVTALRM, late)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    atheris.Setup([name, *arguments], once, custom_mutator=changed)
    atheris.Fuzz()
    return 0


def keep(findings: Path, data: bytes, error: Exception) -> None:
    """The shortest input of every kind of failure: the exception and the line of our code that it came from."""
    places = [frame for frame in traceback.extract_tb(error.__traceback__) if "decpomdp" in frame.filename]
    last = places[-1] if places else traceback.extract_tb(error.__traceback__)[-1]
    kind = f"{type(error).__name__}-{Path(last.filename).stem}-{last.lineno}"
    digest = hashlib.sha256(kind.encode()).hexdigest()[:8]
    path = findings / f"{kind}-{digest}"
    if not path.exists() or len(path.read_bytes()) > len(data):
        path.write_bytes(data)
        path.with_suffix(".txt").write_text("".join(traceback.format_exception(error))[-6000:])


def kinds(findings: Path, name: str) -> list[str]:
    folder = findings / name
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".txt") if folder.is_dir() else []


def show(kept: dict, findings: Path) -> None:
    print("| target | executions | accepted | executions/s (of processor time) | findings | peak memory |")
    print("|---|---|---|---|---|---|")
    for name in (name for name in SHARES if name in kept):
        one = kept[name]
        print(
            f"| {name} | {one['executions']:,} | {one['accepted'] / one['executions']:.0%} | "
            f"{one['executions'] / max(one['cpu'], 1e-9):.0f} | {len(kinds(findings, name))} | {one['megabytes']} MB |"
        )
    total, found = sum(one["executions"] for one in kept.values()), sum(len(kinds(findings, name)) for name in SHARES)
    print(f"| all | {total:,} | | | {found} | {max(one['megabytes'] for one in kept.values())} MB |")


if __name__ == "__main__":
    sys.exit(main())
