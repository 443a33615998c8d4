"""Fault injection: change one line of the package, run the quick tests of the rooms concerned, report what they miss.

    python benchmarks/faults.py [--only TEXT] [--part 1/3] [--slow] [--out faults.json]

Every fault is a file, a text that occurs in it once, and the text that replaces it. The tree at HEAD is copied to a
temporary folder; the working tree is not touched. A fault whose text no longer occurs is reported as "does not apply":
give it a new text or remove it. A test run that hangs for some minutes counts as caught. `--slow` runs the slow tests
of the same folders instead; there it is reported as "not finished".
"""

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
LONGEST = 200  # processor seconds of one run of tests
OUTCOMES = ("caught", "missed", "not finished", "does not apply")


class Fault(NamedTuple):
    """One line made wrong."""

    file: str  # below src/decpomdp
    old: str
    new: str
    kind: str
    tests: str  # that should catch it: files and folders below tests


CONTROLLERS = "core/test_controller.py core/test_values.py"
SWEEP = "learners/test_sweep.py filtering"
OFF_POLICY = "evaluation/test_offpolicy.py evaluation/test_offpolicy_intervals.py learners/test_off_policy_data.py"
EXACT = "evaluation/test_exact.py"
BOUNDS = "evaluation/test_reachable.py evaluation/test_fixed_point.py"
PLAYERS = "interaction/test_players.py"
RULES = "planners/test_fb_hsvi_parts.py"
FB_HSVI = "planners/test_fb_hsvi.py planners/test_fb_hsvi_parts.py"
CHECKPOINTS = "core/test_run.py io/test_run_folder.py learners/test_resume.py"
TABLES = "io/test_tables.py io/test_tables_by_hand.py"
MERGES = "learners/test_merges.py"
FLAT = "worlds/test_flat.py"
WORLDS = "worlds/test_learner.py"
JUDGING = "learners/test_judging.py"
LOGS = "interaction/test_dependence.py interaction/test_logs.py"
WORLD = "interaction/test_world.py"
EM = "planners/test_em.py"

FAULTS = [
    Fault("core/run.py", "max(0.0, limit - used)", "max(0.0, limit)", "dropped term", "core/test_run.py"),
    Fault("core/run.py", "(self.spent)[0] >= 1", "(self.spent)[0] > 1", "off by one", "core/test_run.py"),
    Fault("core/run.py", "signal.signal(number, usual[number])", "pass", "missing call", "core/test_run.py"),
    Fault("core/run.py", "if process.poll() == 0:", "if True:", "dropped check", "learners/test_start.py"),
    Fault("core/model.py", "math.ceil", "math.floor", "off by one", "core/test_model.py"),
    Fault("core/agent.py", "sizes[n + 1 :]", "sizes[n:]", "off by one", "core/test_agent.py"),
    Fault(
        "core/minimal.py", "= _numbered(action)", "= _numbered(action[:, :1])", "dropped term", "core/test_minimal.py"
    ),
    Fault(
        "core/controller.py", "share[:, None] / self.actions", "share[:, None] / self.nodes", "wrong size", CONTROLLERS
    ),
    Fault("core/episodes.py", "** self.times()", "** (1 + self.times())", "off by one", "core/test_episodes.py"),
    Fault(
        "core/checks.py",
        "ACCEPTED = 1e-6",
        "ACCEPTED = 1e-3",
        "wrong constant",
        "core/test_checks.py core/test_values.py",
    ),
    Fault("kernels/expectation.py", "+= alpha[slot, i] * weights[slot]", "+= alpha[slot, i]", "dropped term", SWEEP),
    Fault("kernels/expectation.py", "= observations[row] + 1", "= max(0, observations[row])", "wrong index", SWEEP),
    Fault("kernels/sampling.py", "-= 1.0 - scaled[poor]", "-= scaled[poor]", "wrong term", "kernels/test_sampling.py"),
    Fault(
        "kernels/rollout.py",
        "key = stream(seed, first + k)\n        state = pick(",
        "key = stream(seed, k)\n        state = pick(",
        "wrong index",
        "rollouts/test_rollouts.py rollouts/test_simulate.py",
    ),
    Fault(
        "kernels/expectation.py",
        "np.exp(min(total, log_cap))",
        "np.exp(total)",
        "dropped cap",
        "kernels/test_many_agents.py",
    ),
    Fault(
        "kernels/backup.py",
        "= moves.place[n] + pair * size * size\n    return",
        "= moves.place[0] + pair * size * size\n    return",
        "wrong index",
        EXACT,
    ),
    Fault("kernels/advantage.py", "base[t] += ahead", "base[t] = ahead", "dropped sum", "kernels/test_advantage.py"),
    Fault("kernels/machines.py", "if not merge(", "if not 1 + merge(", "missing rollback", "kernels/test_fold.py"),
    Fault("kernels/machines.py", "if t >= window.begin:", "if t > window.begin:", "off by one", PLAYERS),
    Fault("kernels/periodic.py", "to + j * stride]", "to + j]", "dropped stride", "planners/test_periodic.py"),
    Fault("kernels/constraints.py", "parts[u, n]] / agents", "parts[u, n]]", "dropped divisor", RULES),
    Fault("io/checkpoints.py", '"a" if self._written else "w"', '"a"', "wrong mode", CHECKPOINTS),
    Fault("io/checkpoints.py", "keepends=True)[:count]", "keepends=True)", "dropped cut", CHECKPOINTS),
    Fault("io/run_folder.py", "fcntl.flock(", "str(", "missing lock", "io/test_run_folder.py cli/test_runs.py"),
    Fault("io/tables/read.py", "n != place % size", "n < 0", "dropped check", TABLES),
    Fault("io/tables/read.py", "(members.of_row, times, ", "(times, members.of_row, ", "wrong order", TABLES),
    Fault("io/checkpoints.py", "-abs(value.strides", "abs(value.strides", "sign", CHECKPOINTS),
    Fault(
        "io/dpomdp/read.py",
        "np.where(self._depends[u], mean, self._reward[u])",
        "mean",
        "dropped case",
        "io/test_dpomdp_forms.py io/test_dpomdp_overwriting.py",
    ),
    Fault("io/files.py", "if tag != known:", "if False:", "dropped check", "io/test_files.py io/test_team.py"),
    Fault("filtering/filter.py", "initial[1:] =", "initial[:-1] =", "off by one", "filtering/test_filter.py"),
    Fault(
        "filtering/filter.py", "with self._lock:\n            for", "if True:\n            for", "missing lock", SWEEP
    ),
    Fault("filtering/filter.py", "if m == n)", "if m >= n)", "wrong index", SWEEP),
    Fault("learners/sweep.py", "- sum(agent.div", "+ sum(agent.div", "sign", SWEEP),
    Fault(
        "learners/weighing.py",
        "later[episodes.offsets[1:] - 1] = 0.0",
        "pass",
        "dropped case",
        "interaction/test_sbpr.py",
    ),
    Fault("learners/rows.py", "- log_rise(self.prior, added)", "", "dropped term", SWEEP),
    Fault("learners/sticks.py", ".sum()) - self.evid", ".sum()) - 0 * self.evid", "dropped term", SWEEP),
    Fault("learners/posterior.py", "moves[..., into] += moves[..., gone]", "pass", "dropped term", MERGES),
    Fault("learners/weighing.py", "log_mean = total / power", "log_mean = total", "dropped factor", SWEEP),
    Fault("learners/judging.py", "self.known[last[ended]] = True", "pass", "dropped case", JUDGING),
    Fault("learners/judging.py", "(agreed_wide - all_wide)[self.wide] + all_here", "all_here", "dropped term", JUDGING),
    Fault("learners/judging.py", "range(self.horizon - 1)", "range(self.horizon)", "off by one", JUDGING),
    Fault("learners/judging.py", "max(len(values) - 1, 0) * values.var()", "values.var()", "dropped factor", JUDGING),
    Fault("learners/critic.py", "weights[last] = discounts[last]", "pass", "dropped term", "learners/test_critic.py"),
    Fault(
        "learners/critic.py",
        "np.where(times >= back, earlier, 0.0)",
        "earlier",
        "wrong index",
        "learners/test_critic.py",
    ),
    Fault("worlds/sweep.py", "bound=log - now.div", "bound=log + now.div", "sign", "worlds/test_sweep.py"),
    Fault("worlds/sweep.py", "> OCCUPIED", "> -1", "dropped case", "worlds"),
    Fault("worlds/flat.py", "move[:, :, -1] = 1 - move.sum(-1)", "pass", "dropped term", FLAT),
    Fault("worlds/flat.py", "np.clip(1 - visits / KNOWN", "np.clip(visits / KNOWN", "exchanged", FLAT),
    Fault("worlds/flat.py", "tables.start[hidden] * seen[-1,", "1 * seen[-1,", "dropped term", FLAT),
    Fault("worlds/product.py", "start *= world.start[z]", "start *= world.start[z][0]", "wrong index", WORLDS),
    Fault(
        "worlds/product.py", "ends += world.see[1][inputs]", "ends += world.see[1][inputs * 0]", "wrong index", WORLDS
    ),
    Fault("worlds/parts.py", "own - moved", "own", "dropped term", "worlds/test_tuples.py"),
    Fault(
        "worlds/parts.py",
        "parts[:, n]][:, z][:, :, z]",
        "parts[:, 0]][:, z][:, :, z]",
        "wrong index",
        "worlds/test_tuples.py",
    ),
    Fault(
        "worlds/tuples.py",
        "summed(counts, to)._replace",
        "summed(counts, to * 0)._replace",
        "wrong index",
        "worlds/test_tuples.py",
    ),
    Fault("worlds/cues.py", "last >= begin", "last >= 0", "wrong episode", "worlds/test_cues.py"),
    Fault("worlds/cues.py", "gain > more - fewer", "gain > 0", "dropped term", "worlds/test_cues.py"),
    Fault(
        "worlds/cues.py",
        "log.inputs[later - 1], states",
        "log.inputs[later], states",
        "off by one",
        "worlds/test_cues.py",
    ),
    Fault(
        "worlds/belief.py",
        "np.full(len(k), records.inputs, np.int32) if t == 0 else",
        "",
        "dropped case",
        "worlds/test_cues.py",
    ),
    Fault("worlds/growth.py", "other if other.bound > trial.bound else trial", "other", "dropped check", WORLDS),
    Fault("worlds/growth.py", "gain = trial.bound - before.bound", "gain = trial.bound", "dropped term", WORLDS),
    Fault("interaction/logs/dependence.py", "result[k, t, did] += 1", "result[k, t, did] += 0", "dropped term", LOGS),
    Fault("interaction/logs/dependence.py", "action[:, did].T)", "action[:, did].T * 0 + 1)", "dropped update", LOGS),
    Fault("interaction/logs/choice.py", "MARGIN * max(", "0 * max(", "dropped margin", LOGS),
    Fault(
        "interaction/logs/choice.py",
        "self.values[:, self.place] - floor",
        "self.values[:, self.place]",
        "dropped term",
        LOGS,
    ),
    Fault(
        "interaction/logs/choice.py",
        "scores[best] <= behaviour:\n        others",
        "False:\n        others",
        "dropped check",
        LOGS,
    ),
    Fault("worlds/calibration.py", "weights**2 * x**2", "weights * x**2", "dropped power", "worlds/test_learner.py"),
    Fault(
        "worlds/calibration.py",
        "normalised(here * tables.pay[v, :, paid])",
        "normalised(here)",
        "dropped term",
        "worlds/test_learner.py",
    ),
    Fault("interaction/world/choice.py", "np.argsort(flat, axis=0", "np.argsort(-flat, axis=0", "wrong order", WORLD),
    Fault(
        "interaction/world/choice.py", "weights / len(values), len(values)", "weights, len(values)", "no norm", WORLD
    ),
    Fault("worlds/learner.py", "shares @ logs.T + bounds", "shares @ logs.T", "dropped term", "worlds/test_learner.py"),
    Fault(
        "domains/rules.py",
        'key = (known.get("agent"), *given.values())',
        "key = tuple(given.values())",
        "dropped field",
        "domains/test_from_rules.py",
    ),
    Fault(
        "domains/rules.py",
        ' or (name == "actions" and self.of_one) else',
        " else",
        "dropped case",
        "domains/test_from_rules.py",
    ),
    Fault("learners/weighing.py", "SHARE = 0.2", "SHARE = 0.0", "dropped guard", "learners/test_off_policy_data.py"),
    Fault(
        "learners/weighing.py",
        "gain[last] += -lowest",
        "_ = -lowest",
        "dropped term",
        "learners/test_hard_data.py " + SWEEP,
    ),
    Fault(
        "evaluation/fixed_point.py", "residual * (_effective_horizon(chain) - 1)", "residual", "dropped factor", BOUNDS
    ),
    Fault("evaluation/exact.py", "while steps < horizon:", "while steps <= horizon:", "off by one", EXACT),
    Fault("evaluation/offpolicy/estimates.py", "(over, risk / 2)", "(over, risk)", "dropped factor", OFF_POLICY),
    Fault(
        "evaluation/offpolicy/estimates.py", "(self.scaled**2).sum(", "(self.scaled).sum(", "dropped power", OFF_POLICY
    ),
    Fault("evaluation/offpolicy/estimates.py", "(len(self.shares) - 1)", "len(self.shares)", "off by one", OFF_POLICY),
    Fault(
        "planners/em/method.py",
        ".sum(axis=(2, 3)) + _marginal(",
        ".sum(axis=(2, 3)) + 0 * _marginal(",
        "dropped term",
        EM,
    ),
    Fault("planners/pbvi/bounds.py", "(most if above else least)", "least", "wrong bound", "planners/test_pbvi.py"),
    Fault("planners/fb_hsvi/points.py", ".lower - edge.price", ".lower + edge.price", "sign", FB_HSVI),
    Fault(
        "planners/fb_hsvi/points.py",
        "other.occupancy.weight).min()",
        "other.occupancy.weight).max()",
        "wrong bound",
        FB_HSVI,
    ),
    Fault(
        "planners/periodic/plans.py",
        "larger.first[:] = plan.first",
        "pass",
        "dropped copy",
        "planners/test_periodic.py",
    ),
    Fault(
        "interaction/search/players.py",
        "if self.steps + steps > self.limit:",
        "if self.steps > self.limit:",
        "dropped term",
        PLAYERS + " interaction/test_search.py",
    ),
    Fault(
        "interaction/episode_player.py",
        "self.steps += part.steps\n                own",
        "own",
        "uncounted steps",
        "interaction/test_sbpr.py interaction/test_mcem.py",
    ),
    Fault(
        "interaction/sbpr/iteration.py",
        "batch = np.maximum(batch, 0.0)",
        "batch = np.abs(batch)",
        "sign",
        "interaction/test_sbpr.py",
    ),
    Fault(
        "interaction/sbpr/step.py",
        "return gain - (",
        "return gain - 0 * (",
        "dropped baseline",
        "interaction/test_step.py",
    ),
    Fault(
        "interaction/mcem/method.py", "/ (visits + DOUBT)", "/ (visits + 1)", "wrong term", "interaction/test_mcem.py"
    ),
    Fault(
        "interaction/search/islands.py",
        "2 * sum(sizes(island.plan)) <= ",
        "sum(sizes(island.plan)) <= ",
        "dropped factor",
        "interaction/test_islands.py",
    ),
    Fault("rollouts/collect.py", "SeedSequence([seed, first])", "SeedSequence([seed])", "dropped seed", "rollouts"),
    Fault("rollouts/play.py", "running &= ~ended", "running = ~ended", "dropped term", "rollouts environments"),
    Fault("rollouts/runner.py", "counter + 2 + 2 * n", "counter + 1 + 2 * n", "off by one", "rollouts/test_runner.py"),
    Fault(
        "environments/problem_env.py",
        "self._time >= self.horizon",
        "self._time > self.horizon",
        "off by one",
        "environments/test_parallel_env.py",
    ),
    Fault(
        "environments/discretiser.py", 'side="right"', 'side="left"', "wrong side", "environments/test_discretiser.py"
    ),
    Fault(
        "domains/marsrovers.py",
        "{there: SUCCESS, site: 1 - SUCCESS}",
        "{there: 1 - SUCCESS, site: SUCCESS}",
        "exchanged",
        "domains/test_registry.py",
    ),
    Fault(
        "domains/gridsmall.py", "after = {cell: STRAY}", "after = {0: STRAY}", "wrong index", "domains/test_registry.py"
    ),
    Fault("engines/threads.py", ' or getattr(_worker, "busy", False):', ":", "dropped case", "engines/test_threads.py"),
    Fault(
        "engines/cluster.py",
        "if future is None or before is not value:",
        "if future is None:",
        "dropped check",
        "engines/test_cluster.py",
    ),
    Fault(
        "report/markup.py",
        " or share >= 1 - _ROUNDING:",
        ":",
        "dropped case",
        "report/test_markup.py ../src/decpomdp/report/markup.py",
    ),
    Fault("report/export.py", "size <= 1 << 8 else", "size <= 1 << 16 else", "wrong type", "report/test_export.py"),
    Fault(
        "report/page.py",
        "sha256(script.encode())",
        "sha256(script.strip().encode())",
        "wrong digest",
        "report/test_page.py report/test_hostile.py",
    ),
    Fault(
        "experiments/cells.py",
        "if stored is None or stored.settings != ",
        "if stored is None or None != ",
        "wrong check",
        "experiments/test_cells.py",
    ),
    Fault(
        "experiments/experiment.py",
        "if word in item.holds]",
        "if item.holds.get(word)]",
        "wrong count",
        "experiments/test_judge.py",
    ),
    Fault(
        "experiments/rows.py",
        "if abs(gap) <= within",
        "if gap <= within",
        "dropped abs",
        "experiments/test_rows.py",
    ),
    Fault("cli/main.py", "    sys.exit(code)", "    sys.exit(0)", "exit code", "cli/test_commands.py"),
    Fault("cli/after.py", "inputs.seed ^ 1", "inputs.seed", "reused seed", "cli/test_after.py"),
    Fault("cli/runs.py", "_unfinished(run.folder)  #", "pass  #", "missing check", "cli/test_resume.py"),
    Fault(
        "api.py",
        "self.inputs.seed,\n            self.budget,",
        "self.budget,",
        "dropped field",
        "test_api.py cli/test_resume.py",
    ),
]


def main() -> None:
    """Apply every fault in turn."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", default="", help="faults whose file contains this text")
    options.add_argument("--part", default="1/1", help="2/3: the second, fifth, eighth ... of these faults")
    options.add_argument("--slow", action="store_true", help="the slow tests of the folders, not the quick ones")
    options.add_argument("--out", type=Path, help="write the results as JSON")
    given = options.parse_args()
    first, step = map(int, given.part.split("/"))
    faults, rows = [fault for fault in FAULTS if given.only in fault.file][first - 1 :: step], []
    with tempfile.TemporaryDirectory() as scratch:
        tree = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", scratch], input=tree, check=True)
        for fault in faults:
            row = outcome(Path(scratch), fault, given.slow)
            print(f"{row['outcome']:14} {row['seconds']:5.0f} s  {fault.file}: {fault.kind}  {row['by']}", flush=True)
            rows.append(row)
    counts = {kind: sum(row["outcome"] == kind for row in rows) for kind in OUTCOMES}
    print(", ".join(f"{number} {kind}" for kind, number in counts.items()))
    if given.out:
        given.out.write_text(json.dumps(rows, indent=1) + "\n")


def outcome(tree: Path, fault: Fault, slow: bool = False) -> dict:
    """Whether the tests notice the fault, and which one does."""
    path = tree / "src/decpomdp" / fault.file
    text, began = path.read_text() if path.exists() else "", time.monotonic()
    row = {"file": fault.file, "old": fault.old, "new": fault.new, "kind": fault.kind, "by": ""}
    if text.count(fault.old) != 1:
        return row | {"outcome": "does not apply", "seconds": 0.0}
    tests = sorted({name.partition("/")[0] for name in fault.tests.split()}) if slow else fault.tests.split()
    path.write_text(text.replace(fault.old, fault.new))
    try:
        found, row["by"] = tested(tree, tests, slow)
    finally:
        path.write_text(text)
    return row | {"outcome": found, "seconds": time.monotonic() - began}


def tested(tree: Path, tests: list[str], slow: bool) -> tuple[str, str]:
    """The outcome of the tests, up to the first failure, and the name of that test."""
    paths = [str(path) for name in tests if (path := tree / "tests" / name).exists()]
    marked = "slow" if slow else "not slow"
    command = [sys.executable, "-m", "pytest", "-x", "-n", "0", "-m", marked, "-p", "no:cacheprovider", "--tb=no"]
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    hangs = ("not finished", "") if slow else ("caught", "hangs")
    try:
        run = subprocess.run(
            [*command, *paths], cwd=tree, env=environment, preexec_fn=limit, capture_output=True, text=True,
            timeout=5 * LONGEST, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return hangs
    if run.returncode == -signal.SIGXCPU:
        return hangs
    if run.returncode not in (0, 1, 2, 5):  # 2: the tests cannot even be imported; 5: there are none
        raise SystemExit(run.stdout + run.stderr)
    failed = [line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return "missed" if run.returncode in (0, 5) else "caught", failed[0].split(" - ")[0] if failed else ""


def limit() -> None:
    """Of processor time, in the process that runs the tests: the machine may be busy."""
    resource.setrlimit(resource.RLIMIT_CPU, (LONGEST, LONGEST + 5))


if __name__ == "__main__":
    main()
