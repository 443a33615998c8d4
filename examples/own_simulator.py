"""Learn from your own simulator: two couriers must meet at the same end of a corridor without talking.

Each sees only its own cell. They are paid 1 for every step that both stand at the same end.
"""

import numpy as np

import decpomdp as dp


class Corridor:
    """Four cells; moves succeed nine times in ten. A batch of episodes is played side by side, one row each."""

    name = "corridor"
    discount = 0.9
    repeatable = True  # the same seed and the same actions give the same episodes
    agents = tuple(dp.Agent(f"courier{n}", ("left", "right"), ("0", "1", "2", "3")) for n in (1, 2))

    def reset(self, episodes: int, seed: int) -> np.ndarray:
        """Start a batch of episodes; returns the observations before the first action."""
        self.random = np.random.default_rng(seed)
        self.cells = self.random.integers(0, 4, (episodes, 2))
        return self.cells.copy()

    def step(self, actions: np.ndarray) -> dp.Step:
        """Move all couriers; returns observations, rewards, and whether the episode is over."""
        moves = np.where(self.random.random(actions.shape) < 0.9, 2 * actions - 1, 0)
        self.cells = np.clip(self.cells + moves, 0, 3)
        met = (self.cells[:, 0] == self.cells[:, 1]) & np.isin(self.cells[:, 0], (0, 3))
        return dp.Step(self.cells.copy(), met.astype(float), np.zeros(len(actions), bool))


def main() -> None:
    simulator = Corridor()
    random = dp.sampled_value(simulator, dp.Team.uniform(simulator), episodes=2000, seed=1)
    fit = dp.learn(simulator, steps=300_000, seed=1)
    learned = dp.sampled_value(simulator, fit.team, episodes=2000, seed=1)
    print(f"random  {random.value:.2f} +- {random.standard_error:.2f}")
    print(f"learned {learned.value:.2f} +- {learned.standard_error:.2f} with {fit.team.nodes} nodes")


if __name__ == "__main__":
    main()
