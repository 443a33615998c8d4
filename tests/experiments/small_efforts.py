"""The quick efforts of every experiment, shrunk as far as they go."""

from dataclasses import replace

from decpomdp.experiments import appendix, figure1, figure2, robustness, table1, table2

EFFORTS = {
    "table2": replace(
        table2.QUICK,
        seeds=1,
        problems=("broadcast",),
        methods=("sbpr-iterations", "mcem"),
        iterations=1,
        mcem_iterations=1,
        time_share=0.01,
        rounds=1,
        restarts=1,
        planning=2.0,
        steps=100_000,
    ),
    "figure1": replace(
        figure1.QUICK, seeds=2, problem="broadcast", episodes=(10,), steps=5, sizes=(1, 2), sweeps=5, truncation=6
    ),
    "figure2": replace(figure2.QUICK, seeds=1, side=2, iterations=2, episodes=20, every=1, tests=20),
    "appendix": replace(appendix.QUICK, seeds=1, problems=("broadcast",), iterations=2, every=1),
    "complexity": replace(
        table1.QUICK,
        repeats=1,
        base={"K": 20, "N": 2, "T": 5, "Z": 3, "S": None},
        sizes={"K": (10, 20), "N": (1, 2), "T": (5, 10), "T terminal": (5, 10), "Z": (2, 4), "S": (2, 4)},
    ),
    "robustness": replace(
        robustness.QUICK, seeds=2, problems=("broadcast",), c=(0.1,), d=(1e-6, 1.0), episodes=30, steps=4, sweeps=4
    ),
}
