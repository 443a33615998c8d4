"""A controller as one Python module without imports. Every label is written with `ascii`: no text can end a literal."""

from decpomdp.core import Agent, Team
from decpomdp.report.export_tables import ChanceTables, SureTables, chance_tables, sure_tables

HEAD = """\
# Controller of agent {name}, problem {problem}. Written by decpomdp; needs nothing else.
#
#   controller = Controller({example})
#   action = controller.start()      # or controller.start(observation); -1 or None: nothing is seen before it
#   action = controller.step(observation)
#
# Actions and observations are numbers: places in ACTIONS and OBSERVATIONS.
{more}
ACTIONS = {actions}
OBSERVATIONS = {observations}
"""

SURE = '''
START = {start}  # first node; then the first node after each first observation, if that matters
ACTION = {action}  # of every node
MOVE = {move}  # [node][observation]


class Controller:
    """Deterministic: the same observations always lead to the same actions."""

    def __init__(self):
        self.node = None

    def start(self, observation=-1):
        """Begin an episode and return the first action."""
        row = _first(observation)
        self.node = START[row if len(START) > 1 else 0]
        return ACTION[self.node]

    def step(self, observation):
        """Return the next action."""
        if self.node is None:
            raise RuntimeError("start() comes before step()")
        self.node = MOVE[self.node][_checked("observation", observation, len(OBSERVATIONS))]
        return ACTION[self.node]
'''

CHANCE_NOTE = """\
# Chance: decision t of an episode uses two numbers of 64 bits, SplitMix64 at a place of its own, so that the same seed
# and the same episode give the actions that decpomdp.TeamRunner(team, seed, episode) takes. To draw them elsewhere,
# give both to start_with and step_with.
"""

CHANCE = '''
STARTS = {starts}  # rows of first nodes: without a first observation; then after each, if that matters
ROWS = {rows}  # (first entry, entries): starts, then actions of each node, then moves [node][action][observation]
ENTRIES = {entries}  # (own, other, cut)
LANES, LANE = {lanes}, {lane}
WORD = 0xFFFFFFFFFFFFFFFF
GOLDEN = 0x9E3779B97F4A7C15


class Controller:
    """Stochastic; `seed` and `episode` fix every choice."""

    def __init__(self, seed=0, episode=0):
        self.seed = _checked("seed", seed, WORD + 1)
        self.episode = _checked("episode", episode, WORD + 1) - 1
        self.node = None

    def start(self, observation=-1):
        """Begin the next episode and return the first action."""
        row = _first(observation)  # nothing changes if it is refused
        self.episode += 1
        self.time = 0
        self.key = _mix(_mix(self.seed + GOLDEN) + self.episode * GOLDEN)
        return self._start(row, *self._numbers())

    def step(self, observation):
        """Return the next action."""
        seen = self._seen(observation)
        self.time += 1
        return self._step(seen, *self._numbers())

    def start_with(self, observation, move_bits, action_bits):
        """The same as start, with two random numbers of 64 bits."""
        return self._start(_first(observation), _bits(move_bits), _bits(action_bits))

    def step_with(self, observation, move_bits, action_bits):
        """The same as step, with two random numbers of 64 bits."""
        return self._step(self._seen(observation), _bits(move_bits), _bits(action_bits))

    def _seen(self, observation):
        if self.node is None:
            raise RuntimeError("start() comes before step()")
        return _checked("observation", observation, len(OBSERVATIONS))

    def _start(self, row, move_bits, action_bits):
        return self._act(_pick(row if STARTS > 1 else 0, move_bits), action_bits)

    def _step(self, seen, move_bits, action_bits):
        place = (self.node * len(ACTIONS) + self.last) * len(OBSERVATIONS) + seen
        return self._act(_pick(STARTS + {nodes} + place, move_bits), action_bits)

    def _act(self, node, bits):
        self.node = node
        self.last = _pick(STARTS + node, bits)
        return self.last

    def _numbers(self):
        place = 1 + self.time * LANES + LANE
        return _mix(self.key + place * GOLDEN), _mix(self.key + (place + 1) * GOLDEN)


def _mix(value):
    value &= WORD
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & WORD
    value = (value ^ value >> 27) * 0x94D049BB133111EB & WORD
    return value ^ value >> 31


def _bits(number):
    return _checked("random number", number, WORD + 1)


def _pick(row, bits):
    first, count = ROWS[row]
    own, other, cut = ENTRIES[first + ((bits >> 32) * count >> 32)]
    return own if (bits & 0xFFFFFFFF) < cut else other
'''

TAIL = '''

def _first(observation):
    """Row of the first nodes: 0 if nothing is seen before the first action (-1 or None), else 1 + observation."""
    return 0 if observation is None else 1 + _checked("observation", observation, len(OBSERVATIONS), -1)


def _checked(name, value, count, least=0):
    """`value` as a whole number below `count`. Whole numbers of other libraries will do, but neither 1.0 nor True."""
    number = value
    if type(value) is not int:
        try:
            number = None if isinstance(value, bool) else value.__index__()
        except (AttributeError, TypeError):
            number = None
    if number is None or not least <= number < count:
        got = " ".join(repr(value).split())[:60]
        raise ValueError("%s: expected a whole number from %d to %d, got %s" % (name, least, count - 1, got))
    return number
'''


def python_source(team: Team, place: int) -> str:
    """The module of agent number `place`."""
    controller = team.controllers[place]
    sure = sure_tables(controller)
    if sure is not None:
        return _head(team, team.agents[place], "", "") + _sure(sure) + TAIL
    lanes = (1 + 2 * len(team.agents), 1 + 2 * place)
    body = _chance(chance_tables(controller), controller.nodes, lanes)
    return _head(team, team.agents[place], "seed=0", CHANCE_NOTE) + body + TAIL


def _head(team: Team, agent: Agent, example: str, more: str) -> str:
    return HEAD.format(
        name=ascii(agent.name),
        problem=ascii(team.problem),
        example=example,
        more=more,
        actions=ascii(agent.actions),
        observations=ascii(agent.observations),
    )


def _sure(tables: SureTables) -> str:
    moves = tuple(tuple(row) for row in tables.move)
    return SURE.format(start=tuple(tables.start), action=tuple(tables.action), move=moves)


def _chance(tables: ChanceTables, nodes: int, lanes: tuple[int, int]) -> str:
    return CHANCE.format(
        starts=tables.starts,
        rows=tuple(tables.rows),
        entries=tuple(tables.entries),
        lanes=lanes[0],
        lane=lanes[1],
        nodes=nodes,
    )
