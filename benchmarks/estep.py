"""One expectation step beside hmmlearn's and dynamax's, on the same data and the same number of threads.

    python benchmarks/estep.py            (make bench installs the peers and runs this)

An HMM with categorical emissions is the special case in which every action is a symbol and moves depend on nothing:
there the expected counts must agree before anything is timed. Timed is one filter + count over K = 2000 episodes of
T = 40 steps (the log likelihood of every step included; weighing left out, the peers have nothing like it). Ours has
transitions that depend on action (4) and observation (2), the peers one matrix. hmmlearn computes in double precision
on one thread; dynamax in single precision, pinned to one core, then given two. Ours is timed in both precisions and
compared with each peer in the peer's own.
"""

import argparse
import json
import os
import subprocess
import sys
import time

import numpy as np

K, T, SYMBOLS, SEEN = 2000, 40, 4, 2
SIZES = (10, 30, 50)
FLOPS = 6  # per Z^2 and step: three matrix products


def tables(rng, nodes):
    start, move = rng.dirichlet(np.ones(nodes)), rng.dirichlet(np.ones(nodes), nodes)
    return start, move, rng.dirichlet(np.ones(SYMBOLS), nodes)


def best_of(work, repeats=7):
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def ours(nodes, symbols, seen, start, move, emit, threads, precision="double"):
    """(seconds of one step, counts) of our expectation step."""
    from decpomdp.core import Agent, Episodes
    from decpomdp.engines.threads import serial_products
    from decpomdp.filtering.filter import filtered
    from decpomdp.filtering.layout import lay_out
    from decpomdp.kernels.expectation import Tables
    from decpomdp.learners.learn import PRECISIONS
    from decpomdp.learners.posterior import AgentPosterior, Counts
    from decpomdp.learners.sweep import Evaluated, Task, count, cumulated
    from decpomdp.learners.weighing import steps_of, weigh

    width = move.shape[0] if move.ndim == 3 else 1
    agent = Agent("x", tuple(map(str, range(SYMBOLS))), tuple(map(str, range(width // SYMBOLS or 1))))
    observations = seen.copy()
    observations[:, 0] = -1
    rewards = np.zeros((K, T))
    rewards[:, -1] = 1.0
    data = Episodes(
        (agent,), np.arange(K + 1) * T, observations.reshape(-1, 1), symbols.reshape(-1, 1),
        np.ones((K * T, 1)), rewards.ravel(), 1.0,
    )  # fmt: skip
    matrices = np.tile(move, (SYMBOLS, 1, 1)) if move.ndim == 2 else move
    back = np.ascontiguousarray(matrices.transpose(0, 2, 1))
    initial = np.tile(start, (1 + len(agent.observations), 1))
    kind = PRECISIONS[precision]
    laid = (Tables(*(t.astype(kind) for t in (initial, np.ascontiguousarray(emit.T), matrices, back))),)
    task = Task(lay_out(data, nodes), steps_of(data, np.zeros(K * T)), float(K), None, False, threads, kind)
    empty = Counts(np.zeros((1, nodes)), np.zeros((nodes, SYMBOLS)), np.zeros((nodes, SYMBOLS, 1, nodes)))
    holder = (AgentPosterior(agent, None, empty, None, None, None),)
    result = {}

    with serial_products():
        logs, _ = filtered(task.layout, laid, False, threads)
        weighed = weigh(task.steps, cumulated(logs, data))

        def step():
            _, kept = filtered(task.layout, laid, True, threads)
            result["counts"] = count(task, Evaluated(holder, laid, weighed, 0.0, kept))[0]

        step()
        seconds = best_of(step, 40)
    return seconds, result


def hmmlearn_step(nodes, symbols, start, move, emit):
    from hmmlearn.hmm import CategoricalHMM

    model = CategoricalHMM(nodes, implementation="scaling", n_features=SYMBOLS)
    model.startprob_, model.transmat_, model.emissionprob_ = start, move, emit
    data, lengths = symbols.reshape(-1, 1), [T] * K
    stats = model._do_estep(data, lengths)[0]
    return best_of(lambda: model._do_estep(data, lengths), 7), stats


def dynamax_seconds():
    """{nodes: seconds}: run in a process of its own, so that it can be pinned."""
    import jax
    import jax.numpy as jnp
    from dynamax.hidden_markov_model import CategoricalHMM

    found = {}
    for nodes in SIZES:
        model = CategoricalHMM(nodes, 1, SYMBOLS)
        params, _ = model.initialize(jax.random.PRNGKey(0))
        data = jnp.array(np.random.default_rng(0).integers(0, SYMBOLS, (K, T, 1)))
        step = jax.jit(jax.vmap(lambda episode, m=model, p=params: m.e_step(p, episode)))
        jax.block_until_ready(step(data))
        found[nodes] = best_of(lambda s=step, d=data: jax.block_until_ready(s(d)), 20)
    return found


def dynamax_on(cores):
    """dynamax's times on that many cores, or None when it is not installed."""
    run = subprocess.run(
        [sys.executable, __file__, "--dynamax", str(cores)], capture_output=True, text=True, check=False
    )
    return {int(k): v for k, v in json.loads(run.stdout.splitlines()[-1]).items()} if run.returncode == 0 else None


def check_equal(found, stats, near):
    """Our counts equal hmmlearn's where weights are the same for all episodes."""
    assert np.allclose(found["counts"].visits, stats["obs"], rtol=near, atol=near)
    assert np.allclose(found["counts"].moves.sum(axis=(1, 2)), stats["trans"], rtol=near, atol=near)


def compare(nodes, peak, dynamax):
    rng = np.random.default_rng(nodes)
    start, move, emit = tables(rng, nodes)
    symbols, seen = rng.integers(0, SYMBOLS, (K, T)), rng.integers(0, SEEN, (K, T))
    peer, stats = hmmlearn_step(nodes, symbols, start, move, emit)
    equal_weights(nodes, symbols, start, move, emit, stats)
    dependent = rng.dirichlet(np.ones(nodes), (SYMBOLS * SEEN, nodes))
    for precision in ("double", "single"):
        one, _ = ours(nodes, symbols, seen, start, dependent, emit, 1, precision)
        two, _ = ours(nodes, symbols, seen, start, dependent, emit, 2, precision)
        rate = FLOPS * nodes**2 * K * T / one / 1e9
        line = f"Z={nodes:3d} {precision}  ours {one * 1e3:6.1f} ms (1 thread) {two * 1e3:6.1f} ms (2)"
        if precision == "double":
            line += f"  hmmlearn {peer * 1e3:6.1f} ms = {peer / one:5.1f} x"
        else:
            for cores, seconds in ((1, one), (2, two)):
                if dynamax[cores]:
                    other = dynamax[cores][nodes]
                    line += f"  dynamax({cores}) {other * 1e3:6.1f} ms = {other / seconds:4.1f} x"
        share = 100 * rate / peak[precision]
        print(f"{line}  {rate:4.1f} GFlop/s = {share:.0f} % of a large matrix product", flush=True)


def equal_weights(nodes, symbols, start, move, emit, stats):
    """hmmlearn weighs episodes equally; ours by likelihood. Undo that by giving each episode its own weight."""
    from decpomdp.learners import weighing

    plain = weighing.weigh
    try:
        weighing.weigh = None  # the name is imported by `ours` at call time
        weighing.weigh = lambda steps, log_team, *rest: plain(steps, steps.log_behaviour, *rest)
        for precision, near in (("double", 1e-8), ("single", 1e-4)):
            _, found = ours(nodes, symbols, np.zeros((K, T), int), start, move, emit, 1, precision)
            check_equal(found, stats, near)
    finally:
        weighing.weigh = plain


def peak_rate(precision):
    """GFlop/s of a large matrix product on one thread."""
    from decpomdp.engines.threads import serial_products

    a = np.random.default_rng(0).random((1000, 1000)).astype(np.float64 if precision == "double" else np.float32)
    with serial_products():
        return 2 * 1000**3 / best_of(lambda: a @ a, 5) / 1e9


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dynamax", type=int, help=argparse.SUPPRESS)
    cores = parser.parse_args().dynamax
    if cores:
        os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:cores]))
        print(json.dumps(dynamax_seconds()))
        return
    peak = {precision: peak_rate(precision) for precision in ("double", "single")}
    dynamax = {cores: dynamax_on(cores) for cores in (1, 2)}
    print(f"one expectation step, K = {K}, T = {T}; counts equal to hmmlearn's checked first")
    for nodes in SIZES:
        compare(nodes, peak, dynamax)


if __name__ == "__main__":
    main()
