"""Fault injection: change one line of the package, run the quick tests of the rooms concerned, report what they miss.

    python benchmarks/faults.py [--only TEXT] [--out faults.json]

Every fault is a file, a text that occurs in it once, and the text that replaces it. The tree at HEAD is copied to a
temporary folder; the working tree is not touched. A fault whose text no longer occurs is reported as "does not apply":
give it a new text or remove it. A test run that hangs for five minutes counts as caught.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
LONGEST = 300.0  # seconds of one run of tests


class Fault(NamedTuple):
    """One line made wrong."""

    file: str  # below src/decpomdp
    old: str
    new: str
    kind: str
    tests: str = ""  # below tests; default: those of the room


TESTS = {  # room -> folders and files below tests
    "core": "core test_api.py",
    "kernels": "kernels",
    "io": "io",
    "filtering": "filtering",
    "learners": "learners",
    "evaluation": "evaluation",
    "planners": "planners",
    "interaction": "interaction",
    "rollouts": "rollouts",
    "environments": "environments",
    "domains": "domains",
    "engines": "engines",
    "report": "report",
    "experiments": "experiments",
    "cli": "cli",
    "api.py": "test_api.py test_front_door.py",
}

FAULTS = [
    Fault("core/run.py", "max(0.0, limit - used)", "max(0.0, limit)", "dropped term"),
    Fault("core/run.py", "self.budget.used(self.spent)[0] >= 1", "self.budget.used(self.spent)[0] > 1", "off by one"),
    Fault("core/run.py", "signal.signal(number, usual[number])", "pass", "missing call"),
    Fault("core/horizon.py", "math.ceil", "math.floor", "off by one"),
    Fault("core/joint.py", "sizes[n + 1 :]", "sizes[n:]", "off by one"),
    Fault("core/minimal.py", "classes = _numbered(action)", "classes = _numbered(action[:, :1])", "dropped term"),
    Fault("core/controller.py", "share[:, None] / self.actions", "share[:, None] / self.nodes", "wrong size"),
    Fault("core/episodes.py", "self.discount ** self.times()", "self.discount ** (1 + self.times())", "off by one"),
    Fault("core/checks.py", "ACCEPTED = 1e-6", "ACCEPTED = 1e-3", "wrong constant"),
    Fault(
        "kernels/expectation.py",
        "+= alpha[slot, i] * weights[slot]",
        "+= alpha[slot, i]",
        "dropped term",
        "kernels filtering learners/test_sweep.py",
    ),
    Fault(
        "kernels/expectation.py",
        "slots.first[slot] = observations[row] + 1",
        "slots.first[slot] = max(0, observations[row])",
        "wrong index",
        "kernels filtering learners/test_sweep.py",
    ),
    Fault("kernels/sampling.py", "scaled[rich] -= 1.0 - scaled[poor]", "scaled[rich] -= scaled[poor]", "wrong term"),
    Fault(
        "kernels/rollout.py",
        "key = stream(seed, first + k)\n        state = pick(",
        "key = stream(seed, k)\n        state = pick(",
        "wrong index",
        "rollouts",
    ),
    Fault(
        "kernels/weighing.py",
        "ratios[row] = np.exp(min(total, log_cap))",
        "ratios[row] = np.exp(total)",
        "dropped cap",
        "kernels learners/test_off_policy_data.py learners/test_hard_data.py learners/test_weighing.py",
    ),
    Fault(
        "kernels/backup.py",
        "moves.observation_parts[y, n]\n",
        "moves.observation_parts[y, 0]\n",
        "wrong index",
        "evaluation/test_exact.py kernels",
    ),
    Fault("kernels/advantage.py", "base[t] += ahead", "base[t] = ahead", "dropped sum"),
    Fault("kernels/fold.py", "if not merge(one, other, action, move, parent, pairs):", "if False:", "missing rollback"),
    Fault(
        "kernels/machines.py",
        "if t >= window.begin:\n                    returns[begin + b]",
        "if t > window.begin:\n                    returns[begin + b]",
        "off by one",
        "kernels interaction/test_players.py interaction/test_moves.py",
    ),
    Fault(
        "kernels/periodic.py",
        "following[model.next_state[e], to + j * stride]",
        "following[model.next_state[e], to + j]",
        "dropped stride",
        "planners/test_periodic.py",
    ),
    Fault(
        "kernels/constraints.py",
        "tables[j, u] -= best[n, parts[u, n]] / agents",
        "tables[j, u] -= best[n, parts[u, n]]",
        "dropped divisor",
        "planners/test_fb_hsvi_parts.py planners/test_fb_hsvi.py",
    ),
    Fault("io/checkpoints.py", '"a" if self._written else "w"', '"a"', "wrong mode", "io core"),
    Fault(
        "io/checkpoints.py",
        ".splitlines(keepends=True)[:count]",
        ".splitlines(keepends=True)",
        "dropped cut",
        "io core cli/test_resume.py",
    ),
    Fault("io/run_folder.py", "fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)", "pass", "missing lock", "io cli"),
    Fault("io/tables/read.py", "n != place % size", "n < 0", "dropped check"),
    Fault(
        "io/tables/read.py",
        "np.lexsort((members.of_row, times, episode.codes))",
        "np.lexsort((times, members.of_row, episode.codes))",
        "wrong order",
    ),
    Fault("io/snapshots.py", "-abs(value.strides[axis])", "abs(value.strides[axis])", "sign"),
    Fault(
        "io/dpomdp/statements.py",
        "table[place] = self._blocks.get(int(numbers[at]), values[at])",
        "table[place] = values[at]",
        "dropped case",
    ),
    Fault("io/files.py", "if tag != known:", "if False:", "dropped check"),
    Fault(
        "filtering/filter.py",
        "initial[1:] = controller.initial_given",
        "initial[:-1] = controller.initial_given",
        "off by one",
    ),
    Fault(
        "filtering/layout.py",
        "buffer.dtype == precision and size <= buffer.size <= 2 * size",
        "buffer.dtype == precision and size <= buffer.size",
        "dropped limit",
    ),
    Fault(
        "filtering/layout.py",
        "        with self._lock:\n            for place",
        "        if True:\n            for place",
        "missing lock",
        "filtering learners",
    ),
    Fault("filtering/count.py", "if m == n)", "if m >= n)", "wrong index"),
    Fault(
        "learners/sweep.py",
        "- sum(agent.divergence() for agent in posterior)",
        "+ sum(agent.divergence() for agent in posterior)",
        "sign",
    ),
    Fault("learners/credit.py", "gain[last[ended]] -= later[episodes.lengths[ended]]", "pass", "dropped term"),
    Fault("learners/sticks.py", "gap -= self.eta.expected_normaliser(self.prior.sigma)", "pass", "dropped term"),
    Fault("learners/posterior.py", "moves[..., target] += moves[..., gone]", "pass", "dropped term"),
    Fault("learners/weighing.py", "gain[last] += -base * _steps_after(episodes, ended)", "pass", "dropped term"),
    Fault("evaluation/fixed_point.py", "return residual * (_ahead(chain) - 1)", "return residual", "dropped factor"),
    Fault("evaluation/exact.py", "while steps < horizon:", "while steps <= horizon:", "off by one"),
    Fault(
        "evaluation/offpolicy/intervals.py",
        "mean_at_least(over, risk / 2)",
        "mean_at_least(over, risk)",
        "dropped factor",
    ),
    Fault(
        "evaluation/offpolicy/estimates.py", "(self.scaled**2).sum(axis=0)", "self.scaled.sum(axis=0)", "dropped power"
    ),
    Fault("evaluation/offpolicy/estimates.py", "/ (len(self.shares) - 1)", "/ len(self.shares)", "off by one"),
    Fault("planners/em/step.py", "out[n].move[m].sum(axis=(2, 3)) + _marginal(", "_marginal(", "dropped term"),
    Fault(
        "planners/pbvi/bounds.py", "after += rest * (most if above else least)", "after += rest * least", "wrong bound"
    ),
    Fault(
        "planners/fb_hsvi/points.py",
        "self.all[edge.target].lower - edge.price",
        "self.all[edge.target].lower + edge.price",
        "sign",
    ),
    Fault(
        "planners/fb_hsvi/points.py",
        "ratio = float((occupancy.weight / other.occupancy.weight).min())",
        "ratio = float((occupancy.weight / other.occupancy.weight).max())",
        "wrong bound",
    ),
    Fault("planners/periodic/plans.py", "larger.first[:] = plan.first", "pass", "dropped copy"),
    Fault(
        "interaction/search/players.py",
        "if self.steps + steps > self.limit:",
        "if self.steps > self.limit:",
        "dropped term",
    ),
    Fault(
        "interaction/episode_player.py",
        "for own, part in zip(returns, parts, strict=True):\n                self.count(part)",
        "for own, part in zip(returns, parts, strict=True):\n                pass",
        "uncounted steps",
    ),
    Fault("interaction/sbpr/window.py", "del batch.relative[0]", "del batch.relative[-1]", "wrong index"),
    Fault(
        "interaction/sbpr/step.py",
        "gain - (_shares(counts) * gain).sum(axis=-1, keepdims=True)",
        "gain",
        "dropped baseline",
    ),
    Fault(
        "interaction/mcem/counts.py",
        "(total + DOUBT * row) / (visits + DOUBT)",
        "(total + DOUBT * row) / (visits + 1)",
        "wrong term",
    ),
    Fault(
        "interaction/search/islands.py",
        "2 * sum(sizes(island.plan)) <= ",
        "sum(sizes(island.plan)) <= ",
        "dropped factor",
    ),
    Fault(
        "rollouts/collect.py", "np.random.SeedSequence([seed, first])", "np.random.SeedSequence([seed])", "dropped seed"
    ),
    Fault("rollouts/runner.py", "counter + 2 + 2 * n", "counter + 1 + 2 * n", "off by one"),
    Fault("environments/problem_env.py", "self._time >= self.horizon", "self._time > self.horizon", "off by one"),
    Fault("environments/discretiser.py", 'side="right"', 'side="left"', "wrong side"),
    Fault(
        "domains/marsrovers.py",
        "drive[a, site, site] += 1 - SUCCESS",
        "drive[a, site, site] += 1 - SUCCESS if a else 0.0",
        "dropped case",
    ),
    Fault("domains/gridsmall.py", "moves[a, cell, cell] += STRAY", "moves[a, cell, 0] += STRAY", "wrong index"),
    Fault("engines/threads.py", 'if count <= 1 or getattr(_worker, "busy", False):', "if count <= 1:", "dropped case"),
    Fault(
        "report/markup.py", "if share <= _ROUNDING or share >= 1 - _ROUNDING:", "if share <= _ROUNDING:", "dropped case"
    ),
    Fault("report/export/c.py", "size <= 1 << 8 else", "size <= 1 << 16 else", "wrong type"),
    Fault(
        "report/page.py", "hashlib.sha256(script.encode())", "hashlib.sha256(script.strip().encode())", "wrong digest"
    ),
    Fault(
        "experiments/cells.py",
        "if found is None or found.settings != json.loads(json.dumps(cell.settings)):",
        "if found is None:",
        "dropped check",
    ),
    Fault(
        "experiments/judge.py", "wanted in sides and OPPOSITE[wanted] not in sides", "wanted in sides", "dropped term"
    ),
    Fault(
        "experiments/means.py",
        "if abs(published - ours.value) <= ours.half:",
        "if published - ours.value <= ours.half:",
        "dropped abs",
    ),
    Fault(
        "cli/main.py",
        "if code in (INTERRUPTED, TERMINATED):\n        os._exit(code)\n    sys.exit(code)",
        "sys.exit(0)",
        "exit code",
    ),
    Fault("cli/runs.py", "if unfinished(folder) is None:", "if False:", "missing check"),
    Fault(
        "api.py",
        "        inputs.seed,\n        budget,",
        "        budget,",
        "dropped field",
        "test_api.py test_front_door.py cli/test_resume.py",
    ),
]


def main() -> None:
    """Apply every fault in turn."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", default="", help="faults whose file contains this text")
    options.add_argument("--out", type=Path, help="write the results as JSON")
    given = options.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        tree = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", scratch], input=tree, check=True)
        for fault in FAULTS:
            if given.only in fault.file:
                row = outcome(Path(scratch), fault)
                print(
                    f"{row['outcome']:14} {row['seconds']:5.0f} s  {fault.file}: {fault.kind}  {row['by']}", flush=True
                )
                rows.append(row)
    counts = {kind: sum(row["outcome"] == kind for row in rows) for kind in ("caught", "missed", "does not apply")}
    print(", ".join(f"{number} {kind}" for kind, number in counts.items()))
    if given.out:
        given.out.write_text(json.dumps(rows, indent=1) + "\n")


def outcome(tree: Path, fault: Fault) -> dict:
    """Whether the tests notice the fault, and which one does."""
    path = tree / "src/decpomdp" / fault.file
    text, began = path.read_text() if path.exists() else "", time.monotonic()
    row = {"file": fault.file, "old": fault.old, "new": fault.new, "kind": fault.kind, "by": ""}
    if text.count(fault.old) != 1:
        return row | {"outcome": "does not apply", "seconds": 0.0}
    path.write_text(text.replace(fault.old, fault.new))
    try:
        code, row["by"] = tested(tree, (fault.tests or TESTS[fault.file.split("/")[0]]).split())
    finally:
        path.write_text(text)
    return row | {"outcome": "missed" if code == 0 else "caught", "seconds": time.monotonic() - began}


def tested(tree: Path, tests: list[str]) -> tuple[int, str]:
    """Exit code of the quick tests, up to the first failure, and the name of that test."""
    paths = [str(path) for name in tests if (path := tree / "tests" / name).exists()]
    command = [sys.executable, "-m", "pytest", "-x", "-n", "0", "-m", "not slow", "-p", "no:cacheprovider", "--tb=no"]
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    try:
        run = subprocess.run(
            [*command, *paths], cwd=tree, env=environment, capture_output=True, text=True, timeout=LONGEST, check=False
        )
    except subprocess.TimeoutExpired:
        return 1, "hangs"
    if run.returncode not in (0, 1, 2):  # 2: the tests cannot even be imported
        raise SystemExit(run.stdout + run.stderr)
    failed = [line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return run.returncode, failed[0].split(" - ")[0] if failed else ""


if __name__ == "__main__":
    main()
