"""Rounds: the same work whatever the threads, steps shared out, time that runs out."""

import numpy as np
import pytest
from oracles import making

from decpomdp.engines.clock import Clock, Finished
from decpomdp.interaction.crew import Crew
from decpomdp.interaction.search.machines import constant
from decpomdp.rollouts import DenseSimulator


def crew(limit=None, seconds=None, threads=2):
    simulator = DenseSimulator(making.model(np.random.default_rng(0)))
    return Crew(simulator, Clock(seconds), limit, 7, threads)


def playing(episodes):
    def work(k, arena, rng):
        return arena.returns(constant(arena), episodes, 10, int(rng.integers(1 << 62))).sum()

    return work


def test_threads_change_nothing():
    results = [[crew.round(5, playing(50)) for _ in range(2)] for crew in (crew(threads=1), crew(threads=3))]
    assert results[0] == results[1]
    assert len({value for part in results[0] for value in part}) == 10


def test_steps_are_shared_out_and_counted():
    party = crew(limit=4000)
    assert None not in party.round(4, playing(100))
    assert party.steps == 4000
    assert party.progress() == 1.0
    assert party.round(2, playing(1)) == [None, None]
    with pytest.raises(Finished):
        party.alone(lambda arena: arena.returns(constant(arena), 1, 1, 0))


def test_when_the_time_is_over_pieces_come_back_empty():
    party = crew(seconds=0.0)
    assert party.round(3, playing(10)) == [None] * 3
    assert party.progress() == 1.0


def test_the_heart_beats_while_there_is_no_news():
    beats = []
    clock = Clock(None, lambda: beats.append(clock.seconds()))
    clock.check()
    assert beats == []
    clock.last -= 5.0
    clock.check()
    clock.check()
    assert len(beats) == 1


def test_shares_of_the_time_count_from_the_preparations_on():
    clock = Clock(100.0)
    clock.begin -= 50.0
    clock.prepared()
    assert clock.share() < 0.01
    clock.ready -= 25.0
    clock.begin -= 25.0
    assert clock.share() == pytest.approx(0.5, abs=0.01)
