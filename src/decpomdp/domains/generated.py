"""Random structured problems for two to four agents, each fixed by a kind, a number of agents, a size and a seed.

Every kind requires memory or coordination: the best team is usually better than the best constant joint action and than
the best team that only reacts to its last observations (`benchmarks/generators.py` measures the difference).
Numbers are drawn from short decimals. Odd seeds are for development, even ones for measuring (CONTRIBUTING.md).
"""

from collections.abc import Callable, Hashable, Sequence
from itertools import product
from typing import Any

import numpy as np

from decpomdp.core import DecPOMDP
from decpomdp.core.errors import InputError
from decpomdp.domains.rules import from_rules

MOST_STATES = 256
Rules = dict[str, Any]
Actions = tuple[str, ...]


class Draw:
    """Random choices of one problem."""

    def __init__(self, kind: str, agents: int, size: int, seed: int) -> None:
        self.rng = np.random.default_rng([seed, agents, size, *kind.encode()])

    def number(self, low: float, high: float) -> float:
        """A number with two decimals."""
        return round(float(self.rng.uniform(low, high)), 2)

    def choice(self, values: Sequence[Any]) -> Any:
        """One of the values."""
        return values[int(self.rng.integers(len(values)))]

    def shuffled(self, values: Sequence[Any]) -> list[Any]:
        """The values in random order."""
        return [values[int(place)] for place in self.rng.permutation(len(values))]


def build(kind: str, agents: int, size: int, seed: int, discount: float = 0.9, name: str = "generated") -> DecPOMDP:
    """A random problem of one kind for two to four agents, fixed by its seed.

    Kinds: sensing (look or act), meeting (on a ring of coloured cells), relay (pass a message on), resource (take
    turns), door (open it together), positions (noisy), far (a long combination before any reward), random (plain
    tables).
    """
    rules = KINDS[kind](Draw(kind, agents, size, seed), agents, size)
    rules["states"] = tuple(rules["states"])
    if not 2 <= len(rules["states"]) <= MOST_STATES:
        raise InputError(f"{name}: expected 2 to {MOST_STATES} states, got {len(rules['states'])}; change size")
    return from_rules(agents=agents, discount=discount, name=name, **rules)


def blurred(true: Hashable, values: Sequence[Hashable], accuracy: float) -> dict[Hashable, float]:
    """A noisy observation: the true value with probability `accuracy`, otherwise any other."""
    if len(values) == 1:
        return {true: 1.0}
    return {value: accuracy if value == true else (1 - accuracy) / (len(values) - 1) for value in values}


def sensing(draw: Draw, agents: int, size: int) -> Rules:
    """A treasure is in one of several places. Agents look, with noise, or dig; all must dig at the same right place.

    Digging anywhere else costs more than the treasure is worth. After any digging the treasure is hidden again at
    random.
    """
    places = [f"place{i + 1}" for i in range(size)]
    accuracy, treasure = draw.number(0.77, 0.85), 10.0
    wrong, cost = -draw.number(12, 16), -draw.number(0.1, 0.3)

    def reward(state: str, actions: Actions) -> float:
        diggers = [action for action in actions if action != "look"]
        looking = cost * (agents - len(diggers))
        if not diggers:
            return looking
        return treasure if diggers == [state] * agents else wrong + looking

    def observation(agent: int, actions: Actions, next_state: str) -> object:
        return blurred(next_state, places, accuracy) if set(actions) == {"look"} else "nothing"

    return {
        "states": places,
        "actions": ("look", *places),
        "observations": (*places, "nothing"),
        "start": set(places),
        "transition": lambda state, actions: state if set(actions) == {"look"} else set(places),
        "observation": observation,
        "reward": reward,
    }


def meeting(draw: Draw, agents: int, size: int) -> Rules:
    """Agents on a ring see the colour of their own cell and meet in one cell, whose colour is not unique.

    When all stay in that cell, the team earns 10 and all agents are placed at random. Moves sometimes fail.
    """
    colours = draw.shuffled(["red"] * (size - size // 2) + ["blue"] * (size // 2))
    goal = colours.index("red")
    slip, accuracy = draw.number(0.05, 0.2), draw.number(0.85, 1.0)
    steps = {"left": -1, "right": 1, "stay": 0}

    def met(state: tuple[int, ...], actions: Actions) -> bool:
        return set(state) == {goal} and set(actions) == {"stay"}

    def transition(state: tuple[int, ...], actions: Actions) -> object:
        if met(state, actions):
            return ({*range(size)},) * agents
        there = [(cell + steps[action]) % size for cell, action in zip(state, actions, strict=True)]
        return tuple([(b, 1 - slip), (a, slip)] for a, b in zip(state, there, strict=True))

    return {
        "states": product(range(size), repeat=agents),
        "actions": tuple(steps),
        "observations": ("red", "blue"),
        "start": ({*range(size)},) * agents,
        "transition": transition,
        "observation": lambda agent, next_state: blurred(colours[next_state[agent]], ("red", "blue"), accuracy),
        "reward": lambda state, actions: 10.0 * met(state, actions),
    }


def relay(draw: Draw, agents: int, size: int) -> Rules:
    """The first agent sees a word for one step. It is passed on between agents; later the last one is asked for it.

    Each agent hears, with noise, what the previous one says. Answering before the question costs. After the question, a
    new word is drawn.
    """
    words = [f"word{i + 1}" for i in range(size)]
    accuracy = draw.number(0.8, 0.95)
    later = draw.number(0.25, 0.4)  # chance that the question comes in the next step
    wrong, early = -draw.number(2, 6), -draw.number(0.5, 1.5)

    def transition(state: tuple[str, str], actions: Actions) -> object:
        word, phase = state
        if phase == "asked":
            return {*words}, "shown"
        return (word, "passed") if phase == "shown" else (word, {"asked": later, "passed": 1 - later})

    def observation(agent: int, actions: Actions, next_state: tuple[str, str]) -> object:
        word, phase = next_state
        if agent == 0:
            return word if phase == "shown" else "quiet"
        if agent == agents - 1 and phase == "asked":
            return "question"
        return blurred(actions[agent - 1], ("quiet", *words), accuracy)

    def reward(state: tuple[str, str], actions: Actions) -> float:
        if state[1] != "asked":
            return early * (actions[-1] != "quiet")
        return 10.0 if actions[-1] == state[0] else 0.0 if actions[-1] == "quiet" else wrong

    return {
        "states": product(words, ("shown", "passed", "asked")),
        "actions": ("quiet", *words),
        "observations": ("quiet", *words, "question"),
        "start": ({*words}, "asked"),
        "transition": transition,
        "observation": observation,
        "reward": reward,
    }


def resource(draw: Draw, agents: int, size: int) -> Rules:
    """Agents have work to do and share one machine: it serves one of them at a time, and conflicts cost.

    Each sees whether it has work, and hears, with noise, whether several agents wanted the machine.
    """
    arrival = [draw.number(0.3, 0.9) / max(1, agents - 1) for _ in range(agents)]
    accuracy, conflict = draw.number(0.7, 0.9), -draw.number(0.5, 1.5)

    def served(actions: Actions) -> int | None:
        return actions.index("use") if actions.count("use") == 1 else None

    def transition(agent: int, state: tuple[int, ...], actions: Actions) -> dict[int, float]:
        left = max(state[agent] - (served(actions) == agent), 0)
        return {left: 1.0} if left == size else {left + 1: arrival[agent], left: 1 - arrival[agent]}

    def observation(agent: int, actions: Actions, next_state: tuple[int, ...]) -> tuple[object, ...]:
        busy = "busy" if actions.count("use") > 1 else "free"
        return "work" if next_state[agent] else "idle", blurred(busy, ("busy", "free"), accuracy)

    def reward(state: tuple[int, ...], actions: Actions) -> float:
        one = served(actions)
        return conflict if actions.count("use") > 1 else float(one is not None and state[one] > 0)

    return {
        "states": product(range(size + 1), repeat=agents),
        "actions": ("use", "wait"),
        "observations": product(("work", "idle"), ("busy", "free")),
        "start": (size,) * agents,
        "transition": transition,
        "observation": observation,
        "reward": reward,
    }


def door(draw: Draw, agents: int, size: int) -> Rules:
    """Now and then one of several doors can be opened, if all agents pull it at the same time.

    Each senses, with noise, which door that is. Pulling alone or at the wrong door costs.
    """
    doors = [f"door{i + 1}" for i in range(size)]
    comes, stays = draw.number(0.15, 0.4), draw.number(0.85, 1.0)
    accuracy, alone, wrong = draw.number(0.65, 0.8), -draw.number(1, 4), -draw.number(3, 8)

    def transition(state: str, actions: Actions) -> object:
        if state == "none" or actions == (state,) * agents:
            return {"none": 1 - comes, **dict.fromkeys(doors, comes / size)}
        return {state: stays, "none": 1 - stays}

    def reward(state: str, actions: Actions) -> float:
        if set(actions) == {"wait"}:
            return 0.0
        return 10.0 if actions == (state,) * agents else wrong if len(set(actions)) == 1 else alone

    return {
        "states": ("none", *doors),
        "actions": ("wait", *doors),
        "observations": ("none", *doors),
        "start": "none",
        "transition": transition,
        "observation": lambda agent, next_state: blurred(next_state, ("none", *doors), accuracy),
        "reward": reward,
    }


def positions(draw: Draw, agents: int, size: int) -> Rules:
    """Agents in a corridor see their own cell with noise; all must work at the same time, each at its own place.

    Working costs. After success all agents are placed at random. Moves sometimes fail.
    """
    target = [int(draw.rng.integers(size)) for _ in range(agents)]
    accuracy, slip = draw.number(0.5, 0.7), draw.number(0.05, 0.2)
    cost = -draw.number(0.2, 1.0)

    def done(state: tuple[int, ...], actions: Actions) -> bool:
        return list(state) == target and set(actions) == {"work"}

    def transition(state: tuple[int, ...], actions: Actions) -> object:
        if done(state, actions):
            return ({*range(size)},) * agents
        moves = {"left": -1, "right": 1, "work": 0}
        there = [min(max(cell + moves[a], 0), size - 1) for cell, a in zip(state, actions, strict=True)]
        return tuple([(b, 1 - slip), (a, slip)] for a, b in zip(state, there, strict=True))

    def observation(agent: int, next_state: tuple[int, ...]) -> dict[int, float]:
        here, seen = next_state[agent], {next_state[agent]: accuracy}
        for near in (here - 1, here + 1):
            shown = min(max(near, 0), size - 1)
            seen[shown] = seen.get(shown, 0.0) + (1 - accuracy) / 2
        return seen

    return {
        "states": product(range(size), repeat=agents),
        "actions": ("left", "right", "work"),
        "observations": range(size),
        "start": ({*range(size)},) * agents,
        "transition": transition,
        "observation": observation,
        "reward": [
            lambda state, actions: 10.0 * done(state, actions),
            lambda action: cost * (action == "work"),
        ],
    }


def far(draw: Draw, agents: int, size: int) -> Rules:
    """A lock with a combination of joint actions; only the whole combination pays.

    A wrong action loses the progress, a right one may fail. Each agent sees, with noise, the colour of the stage.
    """
    combination = [tuple(draw.choice(("a", "b")) for _ in range(agents)) for _ in range(size)]
    colours = draw.shuffled(["red"] * (size - size // 2) + ["blue"] * (size // 2))
    success, accuracy = draw.number(0.8, 0.95), draw.number(0.75, 0.95)

    def transition(state: int, actions: Actions) -> dict[int, float]:
        if actions != combination[state]:
            return {0: 1.0}
        return {(state + 1) % size: success, state: 1 - success}

    def reward(state: int, actions: Actions) -> float:
        return 20.0 * success if state == size - 1 and actions == combination[state] else 0.0

    return {
        "states": range(size),
        "actions": ("a", "b"),
        "observations": ("red", "blue"),
        "start": 0,
        "transition": transition,
        "observation": lambda agent, next_state: blurred(colours[next_state], ("red", "blue"), accuracy),
        "reward": reward,
    }


def random(draw: Draw, agents: int, size: int) -> Rules:
    """Plain random tables: two likely next states for every state and joint action, noisy colours, random rewards.

    Rewards are centred: every constant joint action is worth 0 from the start at discount 0.9.
    """
    joint = list(product(("a", "b"), repeat=agents))
    rng = draw.rng
    after: dict[Any, dict[int, float]] = {}
    paid: dict[Any, float] = {}
    for key in product(range(size), joint):
        one, other = rng.choice(size, 2, replace=False).tolist()
        likely = draw.number(0.7, 1.0)
        after[key] = {one: likely, other: 1 - likely}
        paid[key] = float(rng.normal(0.0, 2.0))
    for actions in joint:
        moves = np.array([[after[state, actions].get(other, 0.0) for other in range(size)] for state in range(size)])
        visits = np.linalg.solve(np.eye(size) - 0.9 * moves.T, np.eye(size)[0])  # discounted, from the start [s]
        mean = visits @ [paid[state, actions] for state in range(size)] / visits.sum()
        paid |= {(state, actions): round(float(paid[state, actions] - mean), 2) for state in range(size)}
    colours = rng.integers(2, size=(size, agents)).tolist()
    accuracy = draw.number(0.75, 0.95)

    return {
        "states": range(size),
        "actions": ("a", "b"),
        "observations": (0, 1),
        "start": 0,
        "transition": lambda state, actions: after[state, actions],
        "observation": lambda agent, next_state: blurred(colours[next_state][agent], (0, 1), accuracy),
        "reward": lambda state, actions: paid[state, actions],
    }


KINDS: dict[str, Callable[[Draw, int, int], Rules]] = {
    make.__name__: make for make in (sensing, meeting, relay, resource, door, positions, far, random)
}
