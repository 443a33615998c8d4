"""One expectation step compared with hmmlearn's and dynamax's, on the same data and the same number of threads.

    python benchmarks/estep.py            (make bench installs the peers and runs this)
    python benchmarks/estep.py --episodes 50 --repeats 2 --nodes 4        (a quick look)

An HMM with categorical emissions is the special case in which every action is a symbol and transitions depend on the
node only. All libraries get the same symbols, start, transitions and emissions. Before timing, log likelihood and
expected counts of that HMM must agree, each in the precision of the other library. Ours with transitions that depend on
action and observation, which is timed, must agree with a plain forward-backward on the first episodes.

Timed is one filter + count over K = 2000 episodes of T = 40 steps (the log likelihood of every step included, weighing
excluded: the peers have no such step), the best of equally many repeats. Ours has transitions that depend on action
(4) and observation (2), the peers one matrix. hmmlearn computes in double precision on one thread; dynamax in single
precision, pinned to one core, then given two. Ours is timed in both precisions and compared with each peer in the
peer's own.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import time
from typing import NamedTuple

import numpy as np

T, SYMBOLS, SEEN = 40, 4, 2
FLOPS = 6  # per Z^2 and step: three matrix products
SLICE = 5  # episodes on which the dependent moves are checked
NEAR = {"double": 1e-8, "single": 2e-4}  # relative; single rounds at every step of an episode


class Hmm(NamedTuple):
    """Data and parameters: the same for all, from the number of nodes alone."""

    symbols: np.ndarray  # [k, t]
    seen: np.ndarray  # [k, t]
    start: np.ndarray  # [i]
    move: np.ndarray  # [i, j]
    dependent: np.ndarray  # [pair, i, j]
    emit: np.ndarray  # [i, symbol]


def hmm(nodes, episodes):
    rng = np.random.default_rng(nodes)
    return Hmm(
        rng.integers(0, SYMBOLS, (episodes, T)),
        rng.integers(0, SEEN, (episodes, T)),
        rng.dirichlet(np.ones(nodes)),
        rng.dirichlet(np.ones(nodes), nodes),
        rng.dirichlet(np.ones(nodes), (SYMBOLS * SEEN, nodes)),
        rng.dirichlet(np.ones(SYMBOLS), nodes),
    )


def best_of(work, repeats):
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def ours(case, move, seen, threads, precision="double", repeats=0):
    """(seconds of one step, log likelihood, counts) of our expectation step; every episode weighs 1."""
    from decpomdp.core import Agent, Episodes
    from decpomdp.engines.threads import serial_products
    from decpomdp.filtering.filter import cumulated, filtered, lay_out
    from decpomdp.kernels.expectation import FilterTables
    from decpomdp.learners.posterior import AgentPosterior, Counts
    from decpomdp.learners.sweep import DOUBLE, SINGLE, Evaluated, Task, count
    from decpomdp.learners.weighing import Weighed, by_utility

    (count_of, _), nodes = case.symbols.shape, len(case.start)
    width = len(move) // SYMBOLS
    agent = Agent("x", tuple(map(str, range(SYMBOLS))), tuple(map(str, range(width))))
    observations = seen.copy()
    observations[:, 0] = -1
    rewards = np.zeros((count_of, T))
    rewards[:, -1] = 1.0
    data = Episodes(
        (agent,), np.arange(count_of + 1) * T, observations.reshape(-1, 1), case.symbols.reshape(-1, 1),
        np.ones((count_of * T, 1)), rewards.ravel(), 1.0,
    )  # fmt: skip
    kind = DOUBLE if precision == "double" else SINGLE
    initial, back = np.tile(case.start, (1 + width, 1)), np.ascontiguousarray(move.transpose(0, 2, 1))
    laid = (FilterTables(*(t.astype(kind) for t in (initial, np.ascontiguousarray(case.emit.T), move, back))),)
    steps = by_utility(data, None, np.ones(count_of))
    task = Task(lay_out(data, nodes), steps, float(count_of), 0.0, threads, kind)
    empty = Counts(np.zeros((1, nodes)), np.zeros((nodes, SYMBOLS)), np.zeros((nodes, SYMBOLS, width, nodes)))
    holder = (AgentPosterior(agent, None, empty, None, None, None),)
    weighed = Weighed(rewards.ravel(), 0.0, float(count_of))  # as the peers do: all of an episode's weight at its end
    result = {}

    def step():
        result["logs"], kept = filtered(task.layout, laid, True, threads)
        result["counts"] = count(task, Evaluated(holder, laid, weighed, 0.0, kept))[0]

    with serial_products():
        step()
        seconds = best_of(step, repeats) if repeats else 0.0
    return seconds, float(cumulated(result["logs"], data)[T - 1 :: T].sum()), result["counts"]


def hmmlearn_step(case, repeats):
    """(seconds, log likelihood, visits[i, symbol], moves[i, j])."""
    from hmmlearn.hmm import CategoricalHMM

    model = CategoricalHMM(len(case.start), implementation="scaling", n_features=SYMBOLS)
    model.startprob_, model.transmat_, model.emissionprob_ = case.start, case.move, case.emit
    data, lengths = case.symbols.reshape(-1, 1), [T] * len(case.symbols)
    stats, logs = model._do_estep(data, lengths)
    return best_of(lambda: model._do_estep(data, lengths), repeats), logs, stats["obs"], stats["trans"]


def dynamax_steps(sizes, episodes, repeats):
    """{nodes: [seconds, log likelihood, visits, moves]}: run in a process of its own, so that it can be pinned."""
    import jax
    import jax.numpy as jnp
    from dynamax.hidden_markov_model import CategoricalHMM

    found = {}
    for nodes in sizes:
        case = hmm(nodes, episodes)
        model = CategoricalHMM(nodes, 1, SYMBOLS)
        params, _ = model.initialize(
            initial_probs=jnp.array(case.start),
            transition_matrix=jnp.array(case.move),
            emission_probs=jnp.array(case.emit[:, None, :]),
        )
        data = jnp.array(case.symbols[:, :, None])
        step = jax.jit(jax.vmap(lambda episode, m=model, p=params: m.e_step(p, episode)))
        (_, moves, visits), logs = jax.block_until_ready(step(data))
        seconds = best_of(lambda s=step, d=data: jax.block_until_ready(s(d)), repeats)
        summed = (np.asarray(part, float).sum(axis=0).reshape(nodes, -1).tolist() for part in (visits["sum_x"], moves))
        found[nodes] = [seconds, float(np.asarray(logs, float).sum()), *summed]
    return found


def dynamax_on(cores, options):
    """dynamax's results on that many cores, or None when it is not installed."""
    if importlib.util.find_spec("dynamax") is None:
        return None
    given = [
        "--episodes",
        str(options.episodes),
        "--repeats",
        str(options.repeats),
        "--nodes",
        *map(str, options.nodes),
    ]
    run = subprocess.run(
        [sys.executable, __file__, "--dynamax", str(cores), *given], stdout=subprocess.PIPE, text=True, check=True
    )
    return {int(k): v for k, v in json.loads(run.stdout.splitlines()[-1]).items()}


def plain(case):
    """(log likelihood, visits[i, symbol], moves[i, a, o, j]) with dependent moves: forward-backward, step by step."""
    nodes = len(case.start)
    visits, moves, total = np.zeros((nodes, SYMBOLS)), np.zeros((nodes, SYMBOLS, SEEN, nodes)), 0.0
    for symbols, seen in zip(case.symbols, case.seen, strict=True):
        matrices = [case.dependent[symbols[t] * SEEN + seen[t + 1]] for t in range(T - 1)]
        alpha, beta = [case.start * case.emit[:, symbols[0]]], [np.ones(nodes)]
        for t in range(T - 1):
            alpha.append(alpha[-1] @ matrices[t] * case.emit[:, symbols[t + 1]])
        for t in range(T - 2, -1, -1):
            beta.insert(0, matrices[t] @ (case.emit[:, symbols[t + 1]] * beta[0]))
        likelihood = alpha[-1].sum()
        total += np.log(likelihood)
        for t in range(T):
            visits[:, symbols[t]] += alpha[t] * beta[t] / likelihood
        for t in range(T - 1):
            after = case.emit[:, symbols[t + 1]] * beta[t + 1]
            moves[:, symbols[t], seen[t + 1]] += np.outer(alpha[t], after) * matrices[t] / likelihood
    return total, visits, moves


def check_equal(who, found, wanted, near):
    """Log likelihood, visits and moves."""
    for name, one, other in zip(("log likelihood", "visits", "moves"), found, wanted, strict=True):
        size = np.abs(other).max()
        if not np.allclose(one, other, rtol=near, atol=near * size):
            gap = np.abs(np.subtract(one, other)).max() / size
            sys.exit(f"{who}: {name} differ from ours by {gap:.2g} of the largest; speeds are not compared")


def check(case, precision, peers):
    """Everyone computes the same; `peers`: {name: (log likelihood, visits, moves)}."""
    every, nothing = np.tile(case.move, (SYMBOLS, 1, 1)), np.zeros_like(case.seen)
    _, logs, counts = ours(case, every, nothing, 1, precision)
    for who, found in peers.items():
        check_equal(who, found, (logs, counts.visits, counts.moves.sum(axis=(1, 2))), NEAR[precision])
    few = case._replace(symbols=case.symbols[:SLICE], seen=case.seen[:SLICE])
    _, logs, counts = ours(few, few.dependent, few.seen, 1, precision)
    check_equal("plain forward-backward", plain(few), (logs, counts.visits, counts.moves), NEAR[precision])


def compare(nodes, peak, dynamax, options):
    case = hmm(nodes, options.episodes)
    peer, *result = hmmlearn_step(case, options.repeats)
    singles = {f"dynamax({cores})": found[nodes][1:] for cores, found in dynamax.items() if found}
    check(case, "double", {"hmmlearn": result})
    check(case, "single", {"hmmlearn": result, **singles})
    for precision in ("double", "single"):
        one, two = (ours(case, case.dependent, case.seen, threads, precision, options.repeats)[0] for threads in (1, 2))
        rate = FLOPS * nodes**2 * case.symbols.size / one / 1e9
        line = f"Z={nodes:3d} {precision}  ours {one * 1e3:6.1f} ms (1 thread) {two * 1e3:6.1f} ms (2)"
        if precision == "double":
            line += f"  hmmlearn {peer * 1e3:6.1f} ms = {peer / one:5.1f} x"
        else:
            for cores, seconds in ((1, one), (2, two)):
                if dynamax[cores]:
                    other = dynamax[cores][nodes][0]
                    line += f"  dynamax({cores}) {other * 1e3:6.1f} ms = {other / seconds:4.1f} x"
        share = 100 * rate / peak[precision]
        print(f"{line}  {rate:4.1f} GFlop/s = {share:.0f} % of a large matrix product", flush=True)


def peak_rate(precision):
    """GFlop/s of a large matrix product on one thread."""
    from decpomdp.engines.threads import serial_products

    a = np.random.default_rng(0).random((1000, 1000)).astype(np.float64 if precision == "double" else np.float32)
    with serial_products():
        return 2 * 1000**3 / best_of(lambda: a @ a, 5) / 1e9


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dynamax", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--episodes", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--nodes", type=int, nargs="+", default=[10, 30, 50])
    options = parser.parse_args()
    if options.dynamax:
        os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[: options.dynamax]))
        print(json.dumps(dynamax_steps(options.nodes, options.episodes, options.repeats)))
        return
    peak = {precision: peak_rate(precision) for precision in ("double", "single")}
    dynamax = {cores: dynamax_on(cores, options) for cores in (1, 2)}
    print(f"one expectation step, K = {options.episodes}, T = {T}, best of {options.repeats}; all counts checked first")
    for nodes in options.nodes:
        compare(nodes, peak, dynamax, options)


if __name__ == "__main__":
    main()
