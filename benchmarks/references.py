"""Compute references: the best team of several methods for named problems, stored in `domains/references.json`.

    python benchmarks/references.py --seconds 10 hotel aloha:2,2 "generated:far,agents=2,seed=1"
    python benchmarks/references.py --seconds 10 --suite

Methods: search and PeriEM, with the same processor time each; FB-HSVI if the problem is small. An entry is replaced
only by a better exact value.
"""

import argparse
import time

import decpomdp as dp
from decpomdp.api import PLANNING, PLAYING, execute
from decpomdp.core.run import Budget, Inputs
from decpomdp.domains.load import load_model
from decpomdp.domains.references import best_known, offer
from decpomdp.experiments.benchmark import suite_problems

SMALL = 3000  # states x joint actions, up to which FB-HSVI is tried


def main() -> None:
    """Print one line per problem and method."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("problems", nargs="*")
    parser.add_argument("--suite", action="store_true", help="the named problems of the suite")
    parser.add_argument("--seconds", type=float, default=10.0, help="of processor time, per method")
    parser.add_argument("--methods", default="search,periem,fb-hsvi")
    given = parser.parse_args()
    known = {**PLAYING, **PLANNING}
    for method in given.methods.split(","):  # compile
        execute(load_model("dectiger"), known[method], known[method].settings(), Inputs(), Budget(cpu_seconds=0.1))
    named = [name for name in suite_problems(1) if not name.startswith("generated:")] if given.suite else []
    for name in (*named, *given.problems):
        model = load_model(name)
        for method in given.methods.split(","):
            if method == "fb-hsvi" and len(model.states) * model.joint_actions > SMALL:
                continue
            began, entry = time.process_time(), known[method]
            budget = Budget(cpu_seconds=given.seconds)
            fit = execute(model, entry, entry.settings(), Inputs(seed=1, threads=1), budget)
            used, value = time.process_time() - began, dp.evaluate(fit.team, model).value
            better = offer(model, fit.team, value, method, used)
            before = best_known(model)
            told = "nothing" if before is None else f"{before['value']:.6g}"
            print(f"{model.name} {method}: {value:.6f}, known {told}{', stored' if better else ''}", flush=True)


if __name__ == "__main__":
    main()
