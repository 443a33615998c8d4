"""Work on a real Dask cluster: the same bytes as on threads, whatever happens to the workers."""

import socket
import threading
import time
from pathlib import Path

import dask
import numpy as np
import pytest

import decpomdp as dp
from decpomdp.domains.traffic import Traffic
from decpomdp.engines.cluster import Cluster, Lost, same
from decpomdp.engines.connection import versions
from decpomdp.engines.errors import EngineError
from decpomdp.experiments.cells import Cell, result_of
from decpomdp.experiments.crew import run_cells
from decpomdp.filtering.shards import dealt
from decpomdp.interaction.sbpr import sbpr
from decpomdp.interaction.sbpr_settings import SbprSettings
from decpomdp.learners import learn_from_episodes

pytestmark = pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")
SMALL = dp.LearnSettings(truncation=4, sweeps=2)
LITTLE = SbprSettings(
    crowd_batch=3000, crowd_pause=1, tests=2500, random_episodes=2500, generations=1, elites=1, lengths=(3,)
)


@pytest.fixture(scope="module")
def episodes():
    """Of different lengths: several chunks, whose episodes do not stand together."""
    parts = [dp.simulate("dectiger", episodes=count, horizon=length, seed=length) for count, length in PARTS]
    return dp.concatenate([*parts, *parts])


PARTS = ((700, 6), (900, 3), (300, 5))


def everything(fit):
    """All numbers of a fit, as bytes."""
    tables = [getattr(c, name).tobytes() for c in fit.team.controllers for name in ("initial", "action", "transition")]
    counts = [table.tobytes() for a in fit.posterior.agents for table in (a.counts.visits, a.counts.moves)]
    trace = [repr({key: value for key, value in row.items() if key != "seconds"}) for row in fit.trace]
    return tables, counts, trace


def test_same_bytes_on_threads_and_clusters(processes, episodes):
    wanted = everything(learn_from_episodes(episodes, settings=SMALL, threads=1))
    assert everything(learn_from_episodes(episodes, settings=SMALL, threads=2)) == wanted
    assert everything(learn_from_episodes(episodes, settings=dp.LearnSettings(truncation=4, sweeps=1))) != wanted
    played = dp.simulate("broadcast", episodes=800, horizon=1000, seed=3, explore=0.1)
    for count in (1, 2):
        with Cluster(processes.exactly(count)) as cluster:
            assert cluster.workers == cluster.places == count
            assert everything(learn_from_episodes(episodes, settings=SMALL, engine=cluster)) == wanted
            assert dp.simulate("broadcast", episodes=800, horizon=1000, seed=3, explore=0.1, engine=cluster) == played


@pytest.mark.parametrize("what", ["forgets", "single", "one chunk"])
def test_same_bytes_in_other_ways(processes, episodes, monkeypatch, what):
    """Nothing is kept for counting; single precision; agents are parted as there is one chunk for two workers."""
    precision = "single" if what == "single" else "double"
    data = dp.simulate("dectiger", episodes=50, horizon=5, seed=1) if what == "one chunk" else episodes
    settings = dp.LearnSettings(truncation=4, sweeps=1, precision=precision)
    wanted = everything(learn_from_episodes(data, settings=settings))
    monkeypatch.setattr("decpomdp.engines.cluster.KEPT_BYTES", 0 if what == "forgets" else 10**9)
    with Cluster(processes.exactly(2)) as cluster:
        assert (cluster.room == 0) == (what == "forgets")
        assert everything(learn_from_episodes(data, settings=settings, engine=cluster)) == wanted


def test_a_killed_worker_changes_nothing(processes, episodes):
    wanted = everything(learn_from_episodes(episodes, settings=SMALL, threads=1))
    address, killed = processes.exactly(2), []

    def watch(row):
        if not killed:
            killed.append(processes.workers[0])
            threading.Timer(0.02, processes.kill, killed).start()

    with Cluster(address) as cluster:
        assert everything(learn_from_episodes(episodes, settings=SMALL, engine=cluster, watch=watch)) == wanted
        assert killed[0].wait() != 0
        assert len(cluster.client.nthreads()) == 1


def test_a_slow_worker_changes_nothing(processes, episodes):
    wanted = everything(learn_from_episodes(episodes, settings=SMALL, threads=1))
    address, slow = processes.exactly(2), []

    def watch(row):
        slow.append(threading.Thread(target=processes.pause, args=(processes.workers[0], 0.7)))
        slow[-1].start()

    with Cluster(address) as cluster:
        assert everything(learn_from_episodes(episodes, settings=SMALL, engine=cluster, watch=watch)) == wanted
    assert [each.join() for each in slow] == [None] * 3


def test_what_was_put_to_a_dead_worker_is_lost(processes):
    with Cluster(processes.exactly(2)) as cluster:
        put = [cluster.put(np.ones(3)) for _ in range(2)]
        assert [cluster.results([cluster.submit(same, each)])[0].sum() for each in put] == [3.0, 3.0]
        processes.kill(processes.workers[0])
        asked = [cluster.submit(np.add, each, 1) for each in put]
        with pytest.raises(Lost, match="died with what was put there"):
            cluster.results(asked)
        assert sorted(cluster.is_there(each) for each in put) == [False, True]


def test_no_worker_comes_back(processes, monkeypatch):
    monkeypatch.setattr("decpomdp.engines.cluster.COMING", 0.5)
    with Cluster(processes.exactly(1)) as cluster:
        processes.exactly(0)
        with pytest.raises(EngineError, match=r"all workers are gone, and none came back within 0\.5 s"):
            cluster.results([cluster.submit(same, 1)])


def test_an_error_of_the_work_is_that_error(processes):
    with Cluster(processes.exactly(1)) as cluster:
        with pytest.raises(ZeroDivisionError):
            cluster.results([cluster.submit(divmod, 1, 0)])
        assert list(cluster.in_order(divmod, ((n, 2) for n in range(9)))) == [divmod(n, 2) for n in range(9)]
        found = dict(cluster.as_they_come(divmod, [(n, 2) for n in range(9)], at_once=2))
        assert found == {n: divmod(n, 2) for n in range(9)}


def test_cells_on_a_cluster(processes, tmp_path):
    """The same results, and a folder that a cell fills, though the worker does not write there."""
    cells = [Cell("engines.cells:doubled", {"seed": seed}) for seed in (3, 4)]
    written = Cell("engines.cells:written", {"out": str(tmp_path / "far" / "own"), "seed": 5}, own_file="own/run.json")
    with Cluster(processes.exactly(1)) as cluster:
        run_cells(tmp_path, [*cells, written], cluster, lambda progress: None)
    assert [result_of(tmp_path, cell) for cell in cells] == [6, 8]
    assert result_of(tmp_path, written) == {"seed": 5}
    assert (tmp_path / "own/deep/more.txt").read_bytes() == b"more"
    assert not (tmp_path / "far").exists()


class Coins:
    """Without a model; an episode may end early. Its state must not be shared by pieces played side by side."""

    name, discount, repeatable = "coins", 0.9, True
    agents = (dp.Agent("x", ("heads", "tails"), ("won", "lost")),)

    def __init__(self, extra=None):
        self.extra = extra

    def reset(self, episodes, seed):
        self.chance = np.random.default_rng(seed)

    def step(self, actions):
        won = self.chance.integers(0, 2, actions.shape) == actions
        return dp.Step(1 - won, won[:, 0].astype(float), self.chance.random(len(won)) < 0.2)


def test_a_simulator_of_ones_own(processes):
    wanted = dp.simulate(Coins(), episodes=2500, horizon=9, seed=4)
    with Cluster(processes.exactly(2)) as cluster:
        assert dp.simulate(Coins(), episodes=2500, horizon=9, seed=4, engine=cluster) == wanted
        with pytest.raises(EngineError, match="simulator coins: expected what can be sent to the workers"):
            dp.simulate(Coins(threading.Lock()), episodes=10, engine=cluster)


@pytest.mark.parametrize(("problem", "iterations"), [(Coins(), 2), pytest.param(Traffic(3), 2, marks=pytest.mark.slow)])
def test_batches_of_the_papers_loop(processes, problem, iterations):
    """Workers play, also when one of them is killed; the team is learned from the same episodes."""
    wanted = everything(sbpr(problem, iterations=iterations, seed=2, settings=LITTLE, threads=1))
    assert everything(sbpr(problem, iterations=iterations, seed=3, settings=LITTLE)) != wanted
    address, killed = processes.exactly(2), []

    def watch(row):
        if row["iteration"] == 1 and not killed:
            killed.append(processes.workers[0])
            processes.kill(killed[0])

    with Cluster(address) as cluster:
        found = sbpr(problem, iterations=iterations, seed=2, settings=LITTLE, watch=watch, engine=cluster)
        assert everything(found) == wanted
        assert cluster.share(f"simulator {problem.name}", problem) is cluster.share(
            f"simulator {problem.name}", problem
        )
    assert killed


def test_nobody_there(monkeypatch):
    monkeypatch.setattr("decpomdp.engines.scheduler.ANSWER", 1.0)
    begin = time.monotonic()
    with pytest.raises(EngineError, match=r"such as tcp://node7:8786, got 'tcp://127.0.0.1:9' \(nobody answered"):
        Cluster("tcp://127.0.0.1:9")
    assert time.monotonic() - begin < 30


@pytest.mark.parametrize(
    ("words", "why"),
    [(b"", "nobody answered within 1 s"), (b"HTTP/1.0 400 Bad request\r\n" * 100, "what answers is no Dask scheduler")],
)
def test_somebody_else_there(monkeypatch, words, why):
    """A port that takes connections, and is silent or speaks another language."""
    monkeypatch.setattr("decpomdp.engines.scheduler.ANSWER", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            while True:
                try:
                    place, _ = server.accept()
                except OSError:
                    return
                held.append(place)
                place.sendall(words)

        held = []
        threading.Thread(target=answer, daemon=True).start()
        with pytest.raises(EngineError, match="expected the address of a Dask scheduler") as found:
            Cluster(f"tcp://127.0.0.1:{server.getsockname()[1]}")
        server.shutdown(socket.SHUT_RDWR)
        for place in held:
            place.close()
    assert why in str(found.value)


def test_workers_that_cannot_start_are_told_of():
    wrong = dask.config.set({"distributed.worker.memory.target": "much"})
    said = "engine dask: workers cannot be started on this machine: "
    with wrong, pytest.raises(EngineError, match=said) as found:
        Cluster(workers=1)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("nonsense://node7:8786", "expected one of tcp, ws, tls, wss, got nonsense"),
        ("ucx://127.0.0.1:1", "got ucx"),
        ("tls://127.0.0.1:1", "expected certificates in Dask's settings"),
        ("wss://127.0.0.1:1", "expected certificates in Dask's settings"),
        ("http://127.0.0.1:1", "got http"),
        ("", "expected a host and a port"),
        ("garbage", "expected a host and a port"),
        ("tcp://", "expected a host and a port"),
        ("tcp://:8786", "expected a host and a port"),
        ("tcp://node7:8786/path", "expected a host and a port"),
        ("tcp://127.0.0.1:abc", "abc"),
        ("node7:99999", "Port out of range"),
        ("tcp://[::1:8786", "Invalid IPv6"),
    ],
)
def test_what_is_no_address_is_refused_before_anybody_is_asked(monkeypatch, address, why):
    monkeypatch.setattr("distributed.Client", None)
    with pytest.raises(
        EngineError, match="expected the address of a Dask scheduler, such as tcp://node7:8786"
    ) as found:
        Cluster(address)
    assert why in str(found.value)
    assert "\n" not in str(found.value)


def test_other_versions_are_refused(processes, monkeypatch):
    monkeypatch.setattr("decpomdp.engines.connection.versions", lambda: {**versions(), "decpomdp": "7.7"})
    with pytest.raises(EngineError, match=r"expected decpomdp 7.7, as it is here, got 0"):
        Cluster(processes.exactly(1))


def test_agents_are_parted_only_where_chunks_are_few():
    assert dealt(2, 10, 2) == ([(0, 1)], [range(2), range(2, 5), range(5, 7), range(7, 10)])
    assert dealt(2, 10, 2, least=100)[1] == [range(c, c + 1) for c in range(10)]
    assert dealt(2, 1, 2) == ([(0,), (1,)], [range(1)])
    assert dealt(5, 2, 3) == ([(0,), (1, 2), (3, 4)], [range(1), range(1, 2)])
    for agents, chunks, places in np.ndindex(5, 9, 6):
        own, some = dealt(agents + 1, chunks + 1, places + 1)
        assert [n for part in own for n in part] == list(range(agents + 1))
        assert [c for part in some for c in part] == list(range(chunks + 1))


@pytest.mark.slow
def test_data_larger_than_the_memory_of_a_worker(processes):
    """720 MB on two workers of 700 MB, of which half are taken by the libraries."""
    data = dp.simulate("dectiger", episodes=150_000, horizon=100, seed=1)
    settings = dp.LearnSettings(truncation=2, sweeps=1)
    wanted = everything(learn_from_episodes(data, settings=settings))
    processes.exactly(0)
    with Cluster(processes.exactly(2, "700MB")) as cluster:
        assert everything(learn_from_episodes(data, settings=settings, engine=cluster)) == wanted
    spilt = [path for path in Path(processes.folder).rglob("*") if "storage" in path.parts]
    processes.exactly(0)
    assert spilt
