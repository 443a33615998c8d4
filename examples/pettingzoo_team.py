"""Learn in a PettingZoo environment: the speaker and the listener of MPE (`pip install mpe2`).

The speaker sees the colour of the goal but cannot move. The listener moves, sees three landmarks and hears one of
three words, but does not know the goal. Both are paid for the listener being near it: they must agree on the meaning of
the words.
"""

import numpy as np
from mpe2 import simple_speaker_listener_v4

import decpomdp as dp

CYCLES = 15


def make_env():
    return simple_speaker_listener_v4.parallel_env(max_cycles=CYCLES)


def direction(view: np.ndarray) -> int:
    """Of the listener's 11 numbers (its speed, the way to 3 landmarks, 3 words): which way is the landmark named?"""
    words = view[8:11]
    if not words.any():
        return 4
    dx, dy = view[2:8].reshape(3, 2)[words.argmax()]
    if abs(dx) > abs(dy):
        return 0 if dx < 0 else 1
    return 2 if dy < 0 else 3


DISCRETISERS = {
    "speaker_0": dp.Discretiser(("red", "green", "blue"), lambda colour: int(np.argmax(colour))),
    "listener_0": dp.Discretiser(("left", "right", "below", "above", "silence"), direction),
}
NAMES = {"speaker_0": ("word 0", "word 1", "word 2"), "listener_0": ("stay", "left", "right", "down", "up")}


def distance(rewards: dict[str, float]) -> float:
    """Both receive minus the squared distance; the root gives far starts less weight."""
    return -float(np.sqrt(-np.mean(list(rewards.values()))))


def make_simulator() -> dp.Simulator:
    return dp.from_pettingzoo(make_env, discretise=DISCRETISERS, action_names=NAMES, discount=0.95, reward=distance)


def learned(simulator: dp.Simulator, seed: int) -> dp.Team:
    """A slow environment: some thousand steps per second."""
    return dp.learn(simulator, steps=30_000, horizon=CYCLES, seed=seed).team


def main() -> None:
    simulator = make_simulator()
    team = learned(simulator, seed=0)
    for name, players in (("random", dp.Team.uniform(simulator)), ("learned", team)):
        played = dp.play(players, make_env(), seed=1000, episodes=100, discretise=DISCRETISERS)
        print(f"{name:8}{played.returns().mean():7.2f} mean return of 100 fresh episodes, nodes {players.nodes}")
    simulator.close()


if __name__ == "__main__":
    main()
