"""Traffic lights on a grid of n x n intersections, one agent each. A RECONSTRUCTION.

The paper reports a traffic problem of 10 x 10 intersections with 100 agents and 10^20 states, and a hand-coded rule
"serve the direction with more traffic". Its definition could not be found. 10^20 is what 20 streets (10 rows, 10
columns) with 10 levels of traffic each give, so the states are built on that; everything else is our choice:

  state        cars waiting on each of the 2n streets, 0 to 9; all numbers are equally likely at the start
  actions      light (i, j) shows green to its row or to its column
  passing      cars travel along a street from its first intersection to its last. An intersection lets them pass if
               it and its predecessor show green (the first has no predecessor): neighbours must agree. If m of the
               street's n intersections let cars pass, 4 m / n cars leave it, rounded at random
  arrivals     then, with probability 1/2, a platoon of 3 cars comes to the street; cars beyond 9 are dropped
  observation  each light compares its two streets: row-shorter, equal or row-longer, at once and after every step
  reward       cars that left, less 1 for every street that is full at the end of the step; one number for the team

The numbers were chosen by the values of fixed policies alone: random lights cause jams, lights that serve one direction
only jam half of the streets, and the hand-coded rule is far better but still jams a little. No table of the problem is
built: the cost of a step is linear in the number of intersections.
"""

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Agent, Controller, InputError, Step, Team
from decpomdp.core.agent import checked_actions
from decpomdp.core.checks import whole
from decpomdp.core.model import checked_discount
from decpomdp.core.scene import NEITHER, Street, StreetMap, StreetScene
from decpomdp.engines import threads as engine
from decpomdp.kernels import traffic as kernels
from decpomdp.kernels.rollout import Paths, Players, cut_paths
from decpomdp.kernels.sampling import key_of
from decpomdp.kernels.traffic import Rules

NAME = "traffic"
SIDE, LARGEST_SIDE = 10, 100
MOST, FLOW, PLATOON, ARRIVAL, PENALTY = 9, 4, 3, 0.5, 1.0
ROW, COLUMN = 0, 1  # actions
SHORTER, EQUAL, LONGER = 0, 1, 2  # observations: the row against the column
ACTIONS, OBSERVATIONS = ("row", "column"), ("row-shorter", "equal", "row-longer")
PIECE = 4096 * 16  # agent-steps that one thread plays at a time, about


class Traffic:
    """The grid as a simulator: batches through `reset` and `step`, whole episodes through `play`.

    >>> grid = Traffic(side=4)
    >>> len(grid.agents)
    16
    >>> grid.reset(2, seed=0).shape
    (2, 16)
    """

    repeatable = plays_teams = True

    def __init__(self, side: int = SIDE, discount: float = 0.9) -> None:
        self.side = whole("traffic: intersections per street", side, 1, LARGEST_SIDE)
        self.discount = checked_discount(discount)
        self.name = NAME if self.side == SIDE else f"{NAME}:{self.side}"
        places = [(i, j) for i in range(self.side) for j in range(self.side)]
        self.agents = tuple(Agent(f"r{i + 1}c{j + 1}", ACTIONS, OBSERVATIONS) for i, j in places)
        self.rules = Rules(self.side, MOST, FLOW, np.uint64(ARRIVAL * 2**32), PLATOON, PENALTY)
        self._seed, self._time = np.uint64(0), 0
        self._loads = np.zeros((0, 2 * self.side), np.int8)
        self._lights: NDArray[np.int16] | None = None

    @property
    def states(self) -> int:
        """The number of states, for `decpomdp info`."""
        return int((MOST + 1) ** (2 * self.side))

    @property
    def loads(self) -> NDArray[np.int64]:
        """[k, street]: cars waiting, rows first. Only for drawings: policies must not use them."""
        return self._loads.astype(np.int64)

    def reset(self, episodes: int, seed: int) -> NDArray[np.integer]:
        """Start a batch; [k, n] the observations before the first action."""
        self._seed, self._time, self._lights = key_of(seed), 0, None
        self._loads = np.empty((whole("episodes", episodes, 1, 2**31), 2 * self.side), np.int8)
        observations = np.empty((episodes, len(self.agents)), np.int16)
        kernels.begin(self.rules, self._seed, self._loads, observations)
        return observations

    def step(self, actions: NDArray[np.integer]) -> Step:
        """Show actions[k, n]; episodes never end by themselves."""
        chosen = checked_actions(actions, len(self._loads), self.agents, np.int16)
        observations, rewards = np.empty(chosen.shape, np.int16), np.empty(len(chosen))
        kernels.advance(self.rules, self._seed, self._time, chosen, self._loads, observations, rewards)
        self._time, self._lights = self._time + 1, chosen
        return Step(observations, rewards, np.zeros(len(chosen), bool))

    def play(
        self,
        players: Players,
        episodes: int,
        horizon: int,
        seed: int,
        first: int = 0,
        behaviour: bool = False,
        threads: int | None = None,
    ) -> Paths:
        """Episodes first, first + 1, ... of the sequence that `seed` fixes, with the sampled node paths.

        Independent of the number of threads, and of how `first` and `episodes` divide the sequence.
        """
        agents = len(self.agents)
        paths, parts = cut_paths(first, episodes, horizon, agents, behaviour, PIECE // (horizon * agents))
        engine.run(lambda k: kernels.play(self.rules, players, key_of(seed), *parts[k]), len(parts), threads)
        return paths

    def street_map(self) -> StreetMap:
        """Positions of lights and streets, for drawings: rows from left to right, columns from top to bottom."""
        last = self.side - 0.3  # a street goes on a little behind its last light
        lines = [float(place) for place in range(self.side)]
        rows = [Street(f"row {i + 1:.0f}", (-1.0, i), (0.0, i), (last, i)) for i in lines]
        columns = [Street(f"column {j + 1:.0f}", (j, -1.0), (j, 0.0), (j, last)) for j in lines]
        return StreetMap(tuple((j, i) for i in lines for j in lines), (*rows, *columns), MOST)

    def street_scene(self, episode: int = 0) -> StreetScene:
        """The queues in one episode of the batch, and the greens of its last step."""
        place = whole("episode", episode, 0, len(self._loads) - 1)
        lights = [NEITHER] * len(self.agents) if self._lights is None else self._lights[place].tolist()
        return StreetScene(tuple(self._loads[place].tolist()), tuple(lights))

    def policies(self) -> dict[str, Team]:
        """The policies that need no learning, by name."""
        return {
            "random": Team.uniform(self),
            "all-row": self._alike(Controller.deterministic([ROW], [[0, 0, 0]], len(ACTIONS))),
            "all-column": self._alike(Controller.deterministic([COLUMN], [[0, 0, 0]], len(ACTIONS))),
            "heuristic": self._alike(busier()),
        }

    def _alike(self, controller: Controller) -> Team:
        return Team.of(self, [controller] * len(self.agents))


def busier() -> Controller:
    """The hand-coded rule: serve the direction with more traffic; if both are equal, keep the direction."""
    nodes = {SHORTER: COLUMN, LONGER: ROW}  # node = what it shows
    moves = [[nodes.get(seen, node) for seen in range(len(OBSERVATIONS))] for node in (ROW, COLUMN)]
    followed = Controller.deterministic([ROW, COLUMN], moves, len(ACTIONS))
    return Controller(followed.initial, followed.action, followed.transition, np.eye(2)[moves[ROW]])


def named(text: str, discount: float | None = None) -> Traffic:
    """`traffic`, or `traffic:N` for N x N lights."""
    base, colon, size = text.partition(":")
    if base != NAME or (colon and not (size.isascii() and size.isdigit())):
        raise InputError(f"problem: expected {NAME} or {NAME}:N with a whole number N, got {text!r}")
    return Traffic(int(size) if colon else SIDE, 0.9 if discount is None else discount)
