"""How long one decision takes: exported C (gcc -O2), exported Python, and the library's own runner.

    python benchmarks/export_latency.py

Each form gets the same random observations; processor time per decision, loop included, best of five runs. Also
the size of the exported Python file, and of the compiled code and tables of the C file.
"""

import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

import decpomdp as dp
from decpomdp.report.export import exported

RUNS = 5
SEEN = 4096  # observations, shown again and again
C_DECISIONS, PYTHON_DECISIONS = 5_000_000, 40_960


def random_team(nodes: int) -> dp.Team:
    """Stochastic controllers for Mars rovers: 6 actions, 8 observations."""
    rng, model = np.random.default_rng(0), dp.load("marsrovers")

    def rows(*shape: int) -> np.ndarray:
        return rng.dirichlet(np.ones(shape[-1]), size=shape[:-1])

    return dp.Team.of(
        model,
        [dp.Controller(rows(1, nodes)[0], rows(nodes, len(a.actions)), rows(nodes, 6, 8, nodes)) for a in model.agents],
    )


def seconds_c(text: str, observations: list[int]) -> tuple[float, int]:
    """Seconds per decision and bytes of code and tables."""
    start = "agent1_start(&state, -1, 1, 0)" if "uint64_t seed" in text else "agent1_start(&state, -1)"
    driver = f"""
#include <stdio.h>
#include <time.h>
int main(void)
{{
    static const int seen[{SEEN}] = {{{", ".join(map(str, observations))}}};
    agent1_state state;
    struct timespec begin, end;
    long sum = {start};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    for (long t = 0; t < {C_DECISIONS}L; t++)
        sum += agent1_step(&state, seen[t % {SEEN}]);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    printf("%.3f %ld\\n", (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec), sum);
    return 0;
}}
"""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "agent.c").write_text(text)
        source = "#define _POSIX_C_SOURCE 199309L\n" + '#include "agent.c"\n' + driver
        (folder / "main.c").write_text(source)
        flags = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-O2"]
        subprocess.run([*flags, "main.c", "-o", "main"], cwd=folder, check=True)
        subprocess.run([*flags, "-c", "agent.c"], cwd=folder, check=True)
        listing = subprocess.run(["size", "agent.o"], cwd=folder, check=True, capture_output=True, text=True).stdout
        size = sum(int(number) for number in listing.splitlines()[1].split()[:3])
        times = [float(subprocess.check_output([folder / "main"]).split()[0]) for _ in range(RUNS)]
    return min(times) / C_DECISIONS * 1e-9, size


def seconds_python(text: str, observations: list[int]) -> float:
    module: dict = {}
    exec(compile(text, "controller.py", "exec"), module)
    controller = module["Controller"]()
    controller.start()
    return _best(controller.step, observations)


def seconds_runner(team: dp.Team, observations: list[int]) -> float:
    """Per decision of one agent, of a team of two."""
    runner = dp.TeamRunner(team)
    runner.act()
    return _best(runner.act, [[seen, seen] for seen in observations]) / 2


def _best(step, observations: list) -> float:
    times = []
    for _ in range(RUNS):
        begin = time.process_time()
        for _ in range(PYTHON_DECISIONS // SEEN):
            for seen in observations:
                step(seen)
        times.append(time.process_time() - begin)
    return min(times) / (PYTHON_DECISIONS // SEEN * SEEN)


def main() -> None:
    print("controller                  C ns   Python ns   runner ns   C bytes   Python bytes")
    for nodes in (6, 50):
        mixed = random_team(nodes)
        for name, team in (("deterministic", mixed.decided()), ("stochastic", mixed)):
            observations = np.random.default_rng(1).integers(0, 8, SEEN).tolist()
            c, size = seconds_c(exported(team, "agent1", "c"), observations)
            text = exported(team, "agent1", "python")
            python, runner = seconds_python(text, observations), seconds_runner(team, observations)
            label = f"{name}, {nodes} nodes"
            print(f"{label:24}{c * 1e9:8.1f}{python * 1e9:12.0f}{runner * 1e9:12.0f}{size:10}{len(text):15}")


if __name__ == "__main__":
    main()
