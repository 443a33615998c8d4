"""Later statements overwrite earlier ones: random sequences against an oracle that keeps every table as a whole.

Forms, wildcards and names are drawn at random. At the end each row that does not sum to one is mended, if possible by
one entry only: what the random statements said about the rest of the row is still there to be compared.
"""

import random

import numpy as np
import pytest
from oracles import dpomdp_text as oracle

from decpomdp.io.dpomdp.read import parse_dpomdp


class Writer:
    """Random statements about a problem of random sizes."""

    def __init__(self, seed, agents, states):
        self.draw = draw = random.Random(seed)
        self.sizes = {letter: [draw.randint(1, 3) for _ in range(agents)] for letter in "ao"}
        self.states = states
        self.text = [f"agents: {agents}", "discount: 1", "values: reward"]
        self.text += ["states: " + self.labels("s", states), "start: 0", "actions:"]
        self.text += [*(self.labels("a", n) for n in self.sizes["a"]), "observations:"]
        self.text += [self.labels("o", n) for n in self.sizes["o"]]

    def labels(self, letter, count):
        return " ".join(f"{letter}{i}" for i in range(count))

    def one(self, letter, count):
        """A label, a number or a wildcard."""
        i = self.draw.randrange(count)
        return self.draw.choice(["*", f"{letter}{i}", str(i)])

    def joint(self, letter):
        sizes, form = self.sizes[letter], self.draw.random()
        if form < 0.15:
            return "*"
        if form < 0.3 and len(sizes) > 1:
            return str(self.draw.randrange(int(np.prod(sizes))))
        return " ".join(self.one(letter, n) for n in sizes)

    def row(self, letter, size):
        numbers = [-3.0, 0.1, 7.25, 100.0, -1e-3] if letter == "R" else [0.0, 0.0, 0.125, 0.1, 0.25, 0.5, 1.0]
        return " ".join(repr(self.draw.choice(numbers)) for _ in range(size))

    def say(self):
        letter = self.draw.choice("TTOORR")
        columns = self.states if letter == "T" else int(np.prod(self.sizes["o"]))
        kinds = {"T": "ss", "O": "so", "R": "sso"}[letter]
        fields = [self.joint("a"), *(self.joint("o") if k == "o" else self.one("s", self.states) for k in kinds)]
        form = self.draw.choice(["number"] * 5 + ["row", "row", "matrix", "uniform", "identity"])
        rows = [self.row(letter, columns) for _ in range(self.states)]
        if form == "number":
            self.text.append(f"{letter}: {' : '.join([*fields, self.row(letter, 1)])}")
        elif form == "row":
            rows = ["uniform"] if letter != "R" and self.draw.random() < 0.3 else rows[:1]
            self.text += [f"{letter}: {' : '.join(fields[:-1])}{self.draw.choice([' :', ':', ''])}", *rows]
        elif form == "matrix" or letter == "R" or (form == "identity" and columns != self.states):
            self.text += [f"{letter}: {' : '.join(fields[:-2])}", *rows]
        else:
            self.text += self.draw.choice([[f"{letter}: {fields[0]} :", form], [f"{letter}: {fields[0]} : {form}"]])

    def mend(self):
        """Make every row a distribution; the share of rows for which one entry was enough."""
        light = []
        for letter in "TO":
            table = oracle.said("\n".join(self.text))[1][letter]
            for u, s in np.ndindex(table.shape[:2]):
                rest = table[u, s].sum() - table[u, s]
                fitting = np.flatnonzero(rest <= 1)
                light.append(len(fitting) > 0)
                if len(fitting):
                    k = int(fitting[-1])
                    self.text.append(f"{letter}: {u} : {s} : {k} : {float(1 - rest[k])!r}")
                else:
                    self.text += [f"{letter}: {u} : {s}", "1" + " 0" * (table.shape[2] - 1)]
        return np.mean(light)


def compare(seed, agents, states, statements, change=0.0):
    writer = Writer(seed, agents, states)
    for _ in range(statements):
        writer.say()
    light = writer.mend()
    got, wanted = parse_dpomdp("\n".join(writer.text)), oracle.meaning("\n".join(writer.text))
    # a row may be off by rounding (1 - rest): 1e-15 times a few entries
    np.testing.assert_allclose(got.transition, wanted["transition"], rtol=0, atol=1e-14)
    np.testing.assert_allclose(got.observation, wanted["observation"], rtol=0, atol=1e-14)
    np.testing.assert_allclose(got.reward, wanted["reward"] + change, rtol=1e-12, atol=1e-11)
    return light


@pytest.mark.parametrize("agents", [1, 2, 3])
def test_random_statements(agents):
    light = [compare(seed, agents, 1 + seed % 4, 4 + seed) for seed in range(40)]
    assert np.mean(light) > 0.6  # mending leaves most of what was said


def test_the_comparison_can_fail():
    with pytest.raises(AssertionError):
        compare(3, 2, 3, 20, change=1e-6)
