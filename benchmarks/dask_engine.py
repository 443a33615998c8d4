"""What a Dask cluster costs and gains: one sweep of the learner on threads and on workers of this machine.

    python benchmarks/dask_engine.py                                    (two workers of one thread at most)
    python benchmarks/dask_engine.py --episodes 2000 --repeats 3        (a quick look)

A sweep is count, update, evaluate: what `decpomdp learn EPISODES` does again and again. On every engine the first one
is not timed, and all must end with the same counts, bit by bit, or nothing is told. The overhead of an iteration is
what one worker of one thread takes more than one thread on the same data; data of a few episodes show it alone.
Seconds are medians over the repeats, with the least and the most.
"""

import argparse
import statistics
import time
import warnings

import numpy as np

HORIZON = 50


def task_of(data, nodes, threads, cluster=None):
    from decpomdp.filtering.layout import lay_out
    from decpomdp.learners.behaviour import log_behaviour
    from decpomdp.learners.sweep import Task
    from decpomdp.learners.weighing import steps_of

    steps = steps_of(data, log_behaviour(data))
    return Task(lay_out(data, nodes, cluster), steps, float(data.count), None, False, threads)


def timed(data, nodes, repeats, threads, cluster=None):
    """([seconds of a sweep], the bytes of the last counts)."""
    from decpomdp.engines.threads import serial_products
    from decpomdp.learners.priors import chosen_prior
    from decpomdp.learners.start import beginning
    from decpomdp.learners.sweep import count, evaluate, update

    took = []
    with serial_products():
        task = task_of(data, nodes, threads, cluster)
        now = evaluate(task, beginning(data, chosen_prior(None), "random", nodes, 1))
        for _ in range(repeats + 1):
            begin = time.perf_counter()
            counts = count(task, now)
            now = evaluate(task, update(now, counts))
            took.append(time.perf_counter() - begin)
    return took[1:], b"".join(table.tobytes() for c in counts for table in (c.visits, c.moves))


def shown(took):
    middle, low, high = statistics.median(took), min(took), max(took)
    return f"{middle * 1e3:8.1f} ms ({low * 1e3:.1f} to {high * 1e3:.1f})"


def compare(episodes, nodes, repeats, most):
    import decpomdp as dp
    from decpomdp.engines.cluster import Cluster

    data = dp.simulate("dectiger", episodes=episodes, horizon=HORIZON, seed=1)
    size = f"{data.actions.size:,} agent-steps, {nodes} nodes"
    one, wanted = timed(data, nodes, repeats, 1)
    print(f"{size}: 1 thread            {shown(one)}", flush=True)
    alone = None
    for workers in range(1, most + 1):
        with Cluster(workers=workers) as cluster:
            took, found = timed(data, nodes, repeats, None, cluster)
        if found != wanted:
            raise SystemExit(f"{workers} workers: other counts than on one thread")
        alone = alone or statistics.median(took)
        more = statistics.median(took) - statistics.median(one)
        told = f"{more * 1e3:+.1f} ms to one thread" if workers == 1 else f"{alone / statistics.median(took):.2f} x one"
        print(f"{size}: {workers} worker{'s' * (workers > 1):1s} of 1 thread {shown(took)}  {told}", flush=True)


def latency(tasks):
    """Seconds per task that does nothing, many at once and one at a time; the scheduler runs in this process."""
    from decpomdp.engines.cluster import Cluster, same

    with Cluster(workers=1) as cluster:
        cluster.results([cluster.submit(same, 0)])
        begin, processor = time.perf_counter(), time.process_time()
        cluster.results([cluster.submit(same, n) for n in range(tasks)])
        many, own = (time.perf_counter() - begin) / tasks, (time.process_time() - processor) / tasks
        single = []
        for n in range(20):
            begin = time.perf_counter()
            cluster.results([cluster.submit(same, n)])
            single.append(time.perf_counter() - begin)
    print(f"a task that does nothing: {many * 1e3:.2f} ms each of {tasks}, {shown(single).strip()} one at a time")
    print(f"processor time of scheduler and client: {own * 1e3:.2f} ms a task")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--episodes", type=int, nargs="+", default=[100, 20_000])
    parser.add_argument("--nodes", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--workers", type=int, default=2, help="at most")
    parser.add_argument("--tasks", type=int, default=1000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    latency(options.tasks)
    for episodes in options.episodes:
        compare(episodes, options.nodes, options.repeats, options.workers)


if __name__ == "__main__":
    main()
