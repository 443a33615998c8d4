"""Later statements overwrite earlier ones: random sequences against an oracle that keeps every table as a whole.

The oracle is told what each statement means as sets of indices and never sees the text. Forms, wildcards and names
are drawn at random. At the end each row that does not sum to one is mended, if possible by one entry only, so that
what the random statements said about the rest of the row is still there to be compared.
"""

import itertools
import random

import numpy as np
import pytest

from decpomdp.io.dpomdp.read import parse_dpomdp


class Oracle:
    """T[u, s, s1], O[u, s1, y] and R[u, s, s1, y] as nested loops over what statements say, and the text said."""

    def __init__(self, draw, agents, states):
        self.draw = draw
        self.actions = [draw.randint(1, 3) for _ in range(agents)]
        self.observations = [draw.randint(1, 3) for _ in range(agents)]
        self.s = states
        self.joint_actions = list(itertools.product(*(range(n) for n in self.actions)))
        self.joint_observations = list(itertools.product(*(range(n) for n in self.observations)))
        u, y = len(self.joint_actions), len(self.joint_observations)
        self.T, self.O, self.R = (
            np.zeros((u, states, states)),
            np.zeros((u, states, y)),
            np.zeros((u, states, states, y)),
        )
        self.text = [f"agents: {agents}", "discount: 1", "values: reward"]
        self.text += ["states: " + " ".join(f"s{i}" for i in range(states)), "start: 0", "actions:"]
        self.text += [" ".join(f"a{i}" for i in range(n)) for n in self.actions]
        self.text += ["observations:", *(" ".join(f"o{i}" for i in range(n)) for n in self.observations)]

    def state(self):
        """Words for states, and which they are."""
        one = self.draw.randrange(self.s)
        return self.draw.choice([("*", range(self.s)), (f"s{one}", [one]), (str(one), [one])])

    def joint(self, sizes, every, letter):
        """Words for joint actions or observations, and which they are."""
        form = self.draw.random()
        if form < 0.15:
            return "*", range(len(every))
        if form < 0.3 and len(sizes) > 1:
            index = self.draw.randrange(len(every))
            return str(index), [index]
        parts = [self.draw.choice([None, *range(n)]) for n in sizes]
        words = ["*" if p is None else self.draw.choice([str(p), f"{letter}{p}"]) for p in parts]
        which = [i for i, tuple_ in enumerate(every) if all(p in (None, q) for p, q in zip(parts, tuple_, strict=True))]
        return " ".join(words), which

    def action(self):
        return self.joint(self.actions, self.joint_actions, "a")

    def observation(self):
        return self.joint(self.observations, self.joint_observations, "o")

    def number(self):
        return self.draw.choice([0.0, 0.0, 0.125, 0.1, 0.25, 0.5, 1.0])

    def say_probabilities(self, letter):
        table = {"T": self.T, "O": self.O}[letter]
        columns = table.shape[2]
        form = self.draw.choice(["number"] * 5 + ["row", "matrix", "uniform row", "uniform", "identity"])
        (action, us), (state, ss) = self.action(), self.state()
        colon = self.draw.choice([" :", ":", ""])
        if form == "number":
            last, ls = self.state() if letter == "T" else self.observation()
            p = self.number()
            self.text.append(f"{letter}: {action} : {state} : {last} : {p!r}")
            for u, s, i in itertools.product(us, ss, ls):
                table[u, s, i] = p
        elif form in ("row", "uniform row"):
            row = [1 / columns] * columns if form == "uniform row" else [self.number() for _ in range(columns)]
            self.text.append(f"{letter}: {action} : {state}{colon}")
            self.text.append(" ".join(map(repr, row)) if form == "row" else "uniform")
            for u, s in itertools.product(us, ss):
                table[u, s] = row
        elif form == "matrix" or (form == "identity" and columns != self.s):
            matrix = [[self.number() for _ in range(columns)] for _ in range(self.s)]
            self.text += [f"{letter}: {action}{colon}", *(" ".join(map(repr, row)) for row in matrix)]
            for u in us:
                table[u] = matrix
        else:
            self.text += self.draw.choice([[f"{letter}: {action}{colon}", form], [f"{letter}: {action} : {form}"]])
            for u in us:
                table[u] = np.eye(self.s) if form == "identity" else 1 / columns

    def say_reward(self):
        (action, us), (state, ss), (after, s1s), (seen, ys) = (
            self.action(),
            self.state(),
            self.state(),
            self.observation(),
        )
        value = self.draw.choice([-3.0, 0.1, 7.25, 100.0, -1e-3])
        form = self.draw.choice(["plain", "number", "number", "row", "matrix"])
        y = self.R.shape[3]
        if form == "plain":
            after, s1s, seen, ys = "*", range(self.s), "*", range(y)
        if form in ("plain", "number"):
            self.text.append(f"R: {action} : {state} : {after} : {seen} : {value}")
            for u, s, s1, i in itertools.product(us, ss, s1s, ys):
                self.R[u, s, s1, i] = value
            return
        matrix = [[value * (i + 1) + j for j in range(y)] for i in range(self.s)]
        if form == "row":
            self.text += [f"R: {action} : {state} : {after} :", " ".join(map(repr, matrix[0]))]
            for u, s, s1 in itertools.product(us, ss, s1s):
                self.R[u, s, s1] = matrix[0]
        else:
            self.text += [f"R: {action} : {state}", *(" ".join(map(repr, row)) for row in matrix)]
            for u, s in itertools.product(us, ss):
                self.R[u, s] = matrix

    def mend(self, letter):
        """Makes every row a distribution, by one entry where possible; returns for how many rows it was."""
        table = {"T": self.T, "O": self.O}[letter]
        light = 0
        for u, s in np.ndindex(table.shape[:2]):
            row = table[u, s]
            rest = row.sum() - row
            fitting = np.flatnonzero(rest <= 1)
            light += len(fitting) > 0
            if len(fitting):
                k = int(fitting[-1])
                row[k] = 1 - rest[k]
                self.text.append(f"{letter}: {u} : {s} : {k} : {float(row[k])!r}".replace(f": {u} :", self.words(u), 1))
            else:
                row[:] = np.eye(len(row))[0]
                self.text += [f"{letter}{self.words(u)} {s}", " ".join(map(repr, row.tolist()))]
        return light

    def words(self, u):
        return ": " + " ".join(map(str, self.joint_actions[u])) + " :"

    def expected(self):
        """[u, s] by the definition."""
        return np.einsum("ust,uty,usty->us", self.T, self.O, self.R)


def told(seed, agents, states, statements):
    oracle = Oracle(random.Random(seed), agents, states)
    for _ in range(statements):
        letter = oracle.draw.choice("TTOORR")
        oracle.say_reward() if letter == "R" else oracle.say_probabilities(letter)
    return oracle


def compare(oracle):
    got = parse_dpomdp("\n".join(oracle.text))
    # a row may be off by rounding (1 - rest); 1e-15 times a few entries
    np.testing.assert_allclose(got.transition, oracle.T, rtol=0, atol=1e-14)
    np.testing.assert_allclose(got.observation, oracle.O, rtol=0, atol=1e-14)
    np.testing.assert_allclose(got.reward, oracle.expected(), rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("agents", [1, 2, 3])
def test_random_statements(agents):
    for seed in range(40):
        oracle = told(seed, agents, 1 + seed % 4, 4 + seed)
        oracle.mend("T")
        oracle.mend("O")
        compare(oracle)


@pytest.mark.parametrize("cells", [1, 7, 40, 300])
def test_random_statements_in_small_blocks(monkeypatch, cells):
    monkeypatch.setattr("decpomdp.io.dpomdp.statements.CELLS", cells)
    for seed in range(8):
        oracle = told(seed, 2, 3, 30)
        oracle.mend("T")
        oracle.mend("O")
        compare(oracle)


def test_mending_leaves_most_of_what_was_said():
    kept = [(oracle := told(seed, 2, 3, 25)).mend("T") / oracle.T[..., 0].size for seed in range(20)]
    assert np.mean(kept) > 0.6


def test_the_comparison_can_fail():
    oracle = told(3, 2, 3, 20)
    oracle.mend("T")
    oracle.mend("O")
    oracle.R[0, 0, int(oracle.T[0, 0].argmax())] += 1e-6
    with pytest.raises(AssertionError):
        compare(oracle)
