"""The traffic rules in plain Python, one car and one street at a time. Chance is passed in as the numbers it draws."""

import numpy as np

WORD = (1 << 64) - 1
GOLDEN, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
GRID = 0x7472616666696321


def scrambled(value):
    value &= WORD
    value = ((value ^ (value >> 30)) * FIRST) & WORD
    value = ((value ^ (value >> 27)) * SECOND) & WORD
    return value ^ (value >> 31)


def grid_bits(seed, episode, counter):
    """The counter-th 64 bits of an episode's grid."""
    episode_key = scrambled(scrambled(seed + GOLDEN) + episode * GOLDEN)
    return scrambled(scrambled(episode_key ^ GRID) + counter * GOLDEN)


class Grid:
    """One episode: rows and columns are lists of cars."""

    def __init__(self, side, seed, episode):
        self.side, self.seed, self.episode, self.time = side, seed, episode, 0
        cars = [(grid_bits(seed, episode, street) >> 32) * 10 >> 32 for street in range(2 * side)]
        self.rows, self.columns = cars[:side], cars[side:]

    def seen(self):
        """[n]: 0, 1, 2 as the row has fewer cars, as many, more."""
        return [int(np.sign(row - column)) + 1 for row in self.rows for column in self.columns]

    def step(self, actions):
        """The team's reward."""
        shown = np.reshape(actions, (self.side, self.side))
        reward = 0.0
        for i in range(self.side):
            reward += self._street(self.rows, i, [light == 0 for light in shown[i]], i)
        for j in range(self.side):
            reward += self._street(self.columns, j, [light == 1 for light in shown[:, j]], self.side + j)
        self.time += 1
        return reward

    def _street(self, cars, place, green, number):
        bits = grid_bits(self.seed, self.episode, (1 + self.time) * 2 * self.side + number)
        carrying = sum(1 for k in range(self.side) if green[k] and (k == 0 or green[k - 1]))
        exact = (4 * carrying << 32) // self.side  # cars, in units of 2^-32
        left = min(cars[place], (exact + (bits & 0xFFFFFFFF)) >> 32)
        arrives = 3 if bits >> 32 < 1 << 31 else 0
        cars[place] = min(9, cars[place] - left + arrives)
        return left - (1.0 if cars[place] == 9 else 0.0)
