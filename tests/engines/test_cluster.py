"""Work on a real Dask cluster: the same bytes as on threads, whatever happens to the workers."""

import threading

import numpy as np
import pytest

import decpomdp as dp
from decpomdp.api import learn
from decpomdp.core import InputError
from decpomdp.domains.traffic import Traffic
from decpomdp.engines.cluster import Cluster, EngineError, Lost, same
from decpomdp.interaction.sbpr.settings import ManyAgents, SbprLoop, SbprTuning

pytestmark = pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")
SMALL = dp.Sbpr(truncation=4, sweeps=2)
LITTLE = SbprTuning(random_episodes=2500, generations=1, elites=1, lengths=(3,), many=ManyAgents(pause=1))


@pytest.fixture(scope="module")
def episodes():
    """Of different lengths: several chunks, whose episodes do not stand together."""
    parts = [dp.simulate("dectiger", episodes=count, horizon=length, seed=length) for count, length in PARTS]
    return dp.Episodes.concatenate([*parts, *parts])


PARTS = ((700, 6), (900, 3), (300, 5))


def everything(fit):
    """All numbers of a fit, as bytes."""
    tables = [getattr(c, name).tobytes() for c in fit.team.controllers for name in ("initial", "action", "transition")]
    counts = [table.tobytes() for a in fit.posterior.agents for table in (a.counts.visits, a.counts.moves)]
    trace = [repr({key: value for key, value in row.items() if key != "seconds"}) for row in fit.trace]
    return tables, counts, trace


def test_same_bytes_on_threads_and_clusters(processes, episodes):
    wanted = everything(dp.learn(episodes, SMALL, threads=1))
    assert everything(dp.learn(episodes, SMALL, threads=2)) == wanted
    assert everything(dp.learn(episodes, dp.Sbpr(truncation=4, sweeps=1))) != wanted
    played = dp.simulate("broadcast", episodes=800, horizon=1000, seed=3, explore=0.1)
    for count in (1, 2):
        with Cluster(processes.exactly(count)) as cluster:
            assert cluster.workers == cluster.places == count
            assert everything(dp.learn(episodes, SMALL, engine=cluster)) == wanted
            assert dp.simulate("broadcast", episodes=800, horizon=1000, seed=3, explore=0.1, engine=cluster) == played


@pytest.mark.parametrize("what", ["forgets", "single", "one chunk"])
def test_same_bytes_in_other_ways(processes, episodes, monkeypatch, what):
    """Nothing is kept for counting; single precision; one chunk for two workers."""
    precision = "single" if what == "single" else "double"
    data = dp.simulate("dectiger", episodes=50, horizon=5, seed=1) if what == "one chunk" else episodes
    settings = dp.Sbpr(truncation=4, sweeps=1, precision=precision)
    wanted = everything(dp.learn(data, settings))
    monkeypatch.setattr("decpomdp.filtering.shards.CACHE_BYTES", 0 if what == "forgets" else 10**9)
    with Cluster(processes.exactly(2)) as cluster:
        assert everything(dp.learn(data, settings, engine=cluster)) == wanted


def test_a_killed_worker_changes_nothing(processes, episodes):
    wanted = everything(dp.learn(episodes, SMALL, threads=1))
    address, killed = processes.exactly(2), []

    def watch(row):
        if not killed:
            killed.append(processes.workers[0])
            threading.Timer(0.02, processes.kill, killed).start()

    with Cluster(address) as cluster:
        assert everything(dp.learn(episodes, SMALL, engine=cluster, watch=watch)) == wanted
        assert killed[0].wait() != 0
        assert len(cluster.client.nthreads()) == 1


def test_data_on_a_dead_worker_is_lost(processes):
    with Cluster(processes.exactly(2)) as cluster:
        put = [cluster.put(np.ones(3)) for _ in range(2)]
        assert [cluster.results([cluster.submit(same, each)])[0].sum() for each in put] == [3.0, 3.0]
        processes.kill(processes.workers[0])
        with pytest.raises(Lost, match="a worker died with data that was placed on it"):
            cluster.results([cluster.submit(np.add, each, 1) for each in put])
        assert sorted(each.status == "finished" for each in put) == [False, True]


def test_an_error_of_the_work_is_that_error(processes):
    with Cluster(processes.exactly(1)) as cluster:
        with pytest.raises(ZeroDivisionError):
            cluster.results([cluster.submit(divmod, 1, 0)])
        assert list(cluster.in_order(divmod, ((n, 2) for n in range(9)))) == [divmod(n, 2) for n in range(9)]


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
        with pytest.raises(EngineError, match="simulator coins: cannot be sent to the workers"):
            dp.simulate(Coins(threading.Lock()), episodes=10, engine=cluster)


class Gone(Coins):
    def step(self, actions):
        raise KeyError("coin")


def test_an_error_of_a_simulator_on_a_worker(processes):
    with (
        Cluster(processes.exactly(1)) as cluster,
        pytest.raises(InputError, match=r"test_cluster.py:\d+: simulator coins: step failed: KeyError: 'coin'"),
    ):
        dp.simulate(Gone(), episodes=10, engine=cluster)


@pytest.mark.parametrize(("problem", "iterations"), [(Coins(), 2), pytest.param(Traffic(3), 2, marks=pytest.mark.slow)])
def test_batches_of_the_papers_loop(processes, problem, iterations):
    """Workers play, also when one of them is killed; the team is learned from the same episodes."""
    little = SbprLoop(batch=50 if isinstance(problem, Coins) else 3000, tests=2500, tuning=LITTLE)
    wanted = everything(learn(problem, little, iterations=iterations, seed=2, threads=1))
    assert everything(learn(problem, little, iterations=iterations, seed=3)) != wanted
    address, killed = processes.exactly(2), []

    def watch(row):
        if row["iteration"] == 1 and not killed:
            killed.append(processes.workers[0])
            processes.kill(killed[0])

    with Cluster(address) as cluster:
        found = learn(problem, little, iterations=iterations, seed=2, watch=watch, engine=cluster)
        assert everything(found) == wanted
        name = f"simulator {problem.name}"
        sent = cluster.share(name, problem)
        assert cluster.share(name, problem) is sent
        assert cluster.share(name, Coins()) is not sent  # another one of the same name
    assert killed


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("tcp://127.0.0.1:9", "no answer within 1 s"),
        ("nonsense://node7:8786", "unknown address scheme 'nonsense'"),
        ("garbage", "missing port number"),
    ],
)
def test_a_scheduler_that_cannot_be_reached(monkeypatch, address, why):
    monkeypatch.setattr("decpomdp.engines.cluster.ANSWER", 1.0)
    with pytest.raises(
        EngineError, match="expected the address of a Dask scheduler, such as tcp://node7:8786"
    ) as found:
        Cluster(address)
    assert repr(address) in str(found.value)
    assert why in str(found.value)
    assert "\n" not in str(found.value)


def test_local_servers_listen_on_the_loopback_interface_only():
    with Cluster(workers=1) as cluster:
        info = cluster.client.scheduler_info()
        addresses = [info["address"], *info["workers"], *(each["nanny"] for each in info["workers"].values())]
        assert all(address.startswith("tcp://127.0.0.1:") for address in addresses)


def test_other_versions_are_rejected(processes, monkeypatch):
    from distributed import Client

    found = Client.get_versions

    def newer(client, packages):
        told = found(client, packages=packages)
        return {**told, "client": {"packages": {**told["client"]["packages"], "decpomdp": "7.7"}}}

    monkeypatch.setattr(Client, "get_versions", newer)
    with pytest.raises(EngineError, match=r"expected decpomdp 7.7 as on this machine, got 0"):
        Cluster(processes.exactly(1))
