"""The quick efforts of every experiment, shrunk as far as they go."""

from decpomdp.experiments.reproduction import efforts_of

SIZES = {
    "table2": {
        "seeds": 1,
        "problems": ["broadcast"],
        "methods": ["sbpr-iterations", "mcem"],
        "iterations": 1,
        "mcem_iterations": 1,
        "time_share": 0.01,
        "rounds": 1,
        "restarts": 1,
        "planning": 2.0,
        "steps": 100_000,
    },
    "figure1": {
        "seeds": 1,
        "problem": "broadcast",
        "episodes": [10],
        "steps": 5,
        "sizes": [1, 2],
        "sweeps": 5,
        "truncation": 6,
    },
    "figure2": {"seeds": 1, "side": 2, "iterations": 2, "episodes": 20, "every": 1, "tests": 20},
    "appendix": {"seeds": 1, "problems": ["broadcast"], "iterations": 2, "every": 1},
    "complexity": {
        "repeats": 1,
        "base": {"K": 20, "N": 2, "T": 5, "Z": 3},
        "sizes": {"K": [10, 20], "N": [1, 2], "T": [5, 10], "T terminal": [5, 10], "Z": [2, 4], "S": [2, 4]},
    },
    "robustness": {
        "seeds": 2,
        "problems": ["broadcast"],
        "c": [0.1],
        "d": [1e-6, 1.0],
        "episodes": 30,
        "steps": 4,
        "truncation": 4,
        "sweeps": 4,
    },
}
EFFORTS = {name: effort | SIZES[name] for name, effort in efforts_of("quick").items()}
