"""A problem from its rules: functions of names in place of tables of numbers.

`from_rules` explains rules and their results. A tuple that contains dictionaries or sets has independent parts:
`({0: 0.1, 1: 0.9}, "full")` is `(0, "full")` with probability 0.1 and `(1, "full")` with 0.9. Rules of one agent are
called once per agent: transitions return this agent's factor of the state, observations are independent, rewards are
added.

Probabilities and rewards are rounded to 12 decimals, so that 0.1 * 0.9 is 0.09 as in a printed table.
"""

import difflib
import inspect
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Agent, DecPOMDP, InputError, checks
from decpomdp.core.scene import GridScene

ARGUMENTS = {
    "start": (),
    "transition": ("state", "actions", "agent", "action"),
    "observation": ("actions", "next_state", "agent", "action"),
    "reward": ("state", "actions", "next_state", "agent", "action"),
    "scene": ("state",),
}
ONE_AGENT = {"agent", "action"}  # a rule with one of these describes one agent
DECIMALS = 12
MOST = 2**28  # numbers in a table: 2 GB
CLOSE = 1e-6  # of a sum of probabilities to 1

Rule = Callable[..., Any]
Names = Iterable[Hashable]
Outcomes = Mapping[Any, float]


def from_rules(
    *,
    states: Names,
    actions: Names | Mapping[str, Names],
    observations: Names | Mapping[str, Names],
    start: Any,
    transition: Rule,
    observation: Rule,
    reward: Rule | Sequence[Rule],
    agents: int | Sequence[str] | None = None,
    discount: float = 0.9,
    name: str = "",
    scene: Rule | None = None,
) -> DecPOMDP:
    """Build a model from rules: functions of states, actions and observations by name.

    The arguments of rules have these names: `state`, `actions` (a tuple, one per agent), `next_state`, `agent` (from 0)
    and `action` (this agent's own). A rule takes those it depends on. With `agent` or `action` it describes one agent
    and is called once per agent. Rules return a value, a dictionary of probabilities, a list of pairs (value,
    probability) or a set of equally likely values; a tuple that contains some of these has independent parts.

    Parameters
    ----------
    states
        Names: texts, numbers, or tuples of factors such as `itertools.product(cells, cells)`.
    actions, observations
        Names, the same for every agent, or a dictionary from the agents' names to theirs.
    start
        The first state: a value, a dictionary of probabilities or a set.
    transition
        Takes `state` and `actions`; returns the next state. With `agent`: this agent's factor of the next state.
    observation
        Takes `next_state` and `actions`; returns a tuple, one observation per agent. With `agent`: this agent's own.
    reward
        Takes `state`, `actions` and `next_state`; returns a number for the team. With `agent`: this agent's share.
        The results of several functions are added.
    agents
        Their number (default: that of the names in `actions` or `observations`, otherwise 2), or their names.
    discount
        From 0 to 1.
    name
        Name of the problem.
    scene
        Takes `state`; returns the things to draw: dictionaries with `kind` ("agent", "box", "site" or
        "zone"), `column`, `row` and, where they apply, `label`, `width`, `turn` (degrees clockwise from up), `done`.

    Returns
    -------
    DecPOMDP
        The model.

    Raises
    ------
    InputError
        A rule returns an invalid result; the message has the rule, its arguments, expected and got.

    Examples
    --------
    Two agents are paid when both press the button that lights up; only the first one sees it.

    >>> import decpomdp as dp
    >>> model = dp.from_rules(
    ...     states=("left", "right"),
    ...     actions=("left", "right"),
    ...     observations={"ann": ("left", "right"), "bob": ("dark",)},
    ...     start={"left", "right"},
    ...     transition=lambda state: {"left": 0.5, "right": 0.5},
    ...     observation=lambda next_state: (next_state, "dark"),
    ...     reward=lambda state, actions: 1 if actions == (state, state) else 0,
    ... )
    >>> model.reward[:, 0].tolist()  # the left one is lit: both left, left right, right left, both right
    [1.0, 0.0, 0.0, 0.0]
    """
    team = _team(agents, actions, observations)
    space = _Names("states", states)
    acts = [_Names(f"actions of {who}", of) for who, of, _ in team]
    sees = [_Names(f"observations of {who}", of) for who, _, of in team]
    joint = list(product(*(own.values for own in acts)))
    seen = _Joint(sees)
    _check_size("transition", len(joint), len(space.values), len(space.values))
    _check_size("observation", len(joint), len(space.values), len(seen.number))
    first = _Asked("start", start if callable(start) else lambda: start)
    moves = _Asked("transition", transition)
    looks = _Asked("observation", observation)
    transitions = moves.table(space, {"actions": joint, "state": space.values})
    return DecPOMDP(
        agents=tuple(Agent(who, a.labels, o.labels) for (who, _, _), a, o in zip(team, acts, sees, strict=True)),
        states=space.labels,
        start=first.table(space, {}),
        transition=transitions,
        observation=looks.table(seen, {"actions": joint, "next_state": space.values}),
        reward=_rewards(reward, joint, space.values, transitions),
        discount=discount,
        name=name,
        scene=None if scene is None else _scene(_Asked("scene", scene), space),
    )


class _Names:
    """Values in the order in which they are numbered, with their labels."""

    def __init__(self, what: str, values: Names) -> None:
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise InputError(f"{what}: expected a list of names, got {checks.kind_of(values)}")
        self.what, self.values = what, tuple(values)
        try:
            self.number = {value: place for place, value in enumerate(self.values)}
        except TypeError:
            raise InputError(f"{what}: expected texts, numbers or tuples of them, got {self.values!r:.60}") from None
        self.labels = tuple(_label(value) for value in self.values)
        if not self.values:
            raise InputError(f"{what}: expected distinct names, got none")
        if len(set(self.labels)) < len(self.labels):
            twice = next(label for label in self.labels if self.labels.count(label) > 1)
            raise InputError(f"{what}: expected distinct names, got {twice!r} twice")

    def check(self, where: str, value: object) -> None:
        """Reject a value that is not one of these names."""
        if value in self.number:
            return
        close = difflib.get_close_matches(_label(value), self.labels, n=1, cutoff=0.6)
        few = f" ({', '.join(self.labels)})" if len(self.labels) <= 8 else ""
        hint = f"; did you mean {self.values[self.labels.index(close[0])]!r}?" if close else ""
        raise InputError(f"{where}: expected one of the {len(self.values)} {self.what}{few}, {_got(value)}{hint}")


class _Joint:
    """Joint observations, the last agent changing fastest."""

    def __init__(self, parts: Sequence[_Names]) -> None:
        self.parts = parts
        self.number = {values: place for place, values in enumerate(product(*(part.values for part in parts)))}

    def check(self, where: str, value: object) -> None:
        """Reject a value that is not a tuple of one observation per agent."""
        if not isinstance(value, tuple) or len(value) != len(self.parts):
            wanted = f"a tuple of {len(self.parts)} observations, one per agent"
            raise InputError(f"{where}: expected {wanted} (or a rule that takes `agent`), {_got(value)}")
        for part, own in zip(self.parts, value, strict=True):
            part.check(where, own)


class _Asked:
    """A rule and a cache of its results."""

    def __init__(self, name: str, rule: Rule, label: str = "") -> None:
        self.name, self.label, self.rule = name, label or name, checks.callback(label or name, rule)
        known = ARGUMENTS[name]
        try:
            parameters = inspect.signature(rule).parameters.values()
        except ValueError:
            raise InputError(f"{self.label}: expected a function with named arguments, got {rule!r:.60}") from None
        plain = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        strange = next((p.name for p in parameters if p.name not in known and p.default is p.empty), None)
        if strange is not None:
            wanted = f"arguments among {', '.join(known)}" if known else "no arguments"
            hint = "; what is seen depends on next_state" if (name, strange) == ("observation", "state") else ""
            raise InputError(f"{self.label}: expected {wanted}, got {strange!r}{hint}")
        self.takes = tuple(p.name for p in plain if p.name in known)
        self.of_one = bool(ONE_AGENT & set(self.takes))
        self.answers: dict[tuple[Any, ...], Any] = {}

    def ask(self, known: Mapping[str, Any], read: Callable[[str, int, Any], Any]) -> list[Any]:
        """The result, or those for every agent; `read` parses (the call in words, the agent, the result)."""
        if not self.of_one:
            return [self._answer(known, 0, read)]
        every = enumerate(known["actions"])
        return [self._answer({**known, "agent": n, "action": own}, n, read) for n, own in every]

    def _answer(self, known: Mapping[str, Any], n: int, read: Callable[[str, int, Any], Any]) -> Any:
        """Every combination of arguments is evaluated once."""
        given = {name: known[name] for name in self.takes}
        key = (known.get("agent"), *given.values())
        if key not in self.answers:
            call = f"({', '.join(f'{name}={value!r}' for name, value in given.items())})"
            words = self.label + (call if given else "")
            try:
                answer = self.rule(**given)
            except Exception as error:
                error.add_note(f"in {words}")
                raise
            self.answers[key] = read(words, n, answer)
        return self.answers[key]

    def table(self, space: _Names | _Joint, axes: Mapping[str, Sequence[Any]]) -> NDArray[np.float64]:
        """[*axes, value]: the probabilities of every value; axes without an effect are repeated."""
        shape = tuple(map(len, axes.values()))
        used = [
            range(size) if name in self.takes or (name == "actions" and self.of_one) else range(1)
            for name, size in zip(axes, shape, strict=True)
        ]
        table = np.zeros((*map(len, used), len(space.number)))
        for place in product(*used):
            known = {name: values[i] for (name, values), i in zip(axes.items(), place, strict=True)}
            outcomes, row = self._outcomes(space, known), table[place]
            row[[space.number[value] for value in outcomes]] = list(outcomes.values())
        whole = np.broadcast_to(table.round(DECIMALS), (*shape, table.shape[-1]))
        return np.ascontiguousarray(whole)

    def _outcomes(self, space: _Names | _Joint, known: Mapping[str, Any]) -> Outcomes:
        parts = space.parts if isinstance(space, _Joint) else ()

        def read(words: str, n: int, answer: Any) -> Outcomes:
            allowed = space if not self.of_one else parts[n] if parts else None
            return _checked(words, _outcomes(words, answer), allowed)

        answers = self.ask(known, read)
        whole: Outcomes = _outcomes("", tuple(answers)) if self.of_one else answers[0]
        if self.of_one and not parts and any(value not in space.number for value in whole):
            where = f"{self.name}({', '.join(f'{name}={known[name]!r}' for name in ('state', 'actions'))})"
            _checked(where, whole, space)
        return whole


def _outcomes(where: str, answer: Any) -> Outcomes:
    """The values with their probabilities."""
    if isinstance(answer, Mapping):
        return answer
    if isinstance(answer, set | frozenset):
        if not answer:
            raise InputError(f"{where}: expected at least one value, got an empty set")
        return dict.fromkeys(answer, 1 / len(answer))
    if isinstance(answer, list):
        return _added(where, answer)
    if isinstance(answer, tuple) and _is_spread(answer):
        whole: dict[Any, float] = {(): 1.0}
        for part in answer:
            own = _outcomes(where, part).items()
            whole = {(*before, value): p * q for before, p in whole.items() for value, q in own}
        return whole
    try:
        return {answer: 1.0}
    except TypeError:  # not hashable
        wanted = "a value, a dictionary of probabilities, a list of pairs or a set"
        raise InputError(f"{where}: expected {wanted}, got {answer!r:.60}") from None


def _added(where: str, pairs: list[Any]) -> Outcomes:
    """The values of pairs (value, probability); probabilities of equal values are added."""
    whole: dict[Any, float] = {}
    for pair in pairs:
        try:
            value, chance = pair
            whole[value] = whole.get(value, 0.0) + chance
        except (TypeError, ValueError):
            raise InputError(f"{where}: expected pairs (value, probability), got {pair!r:.60}") from None
    return whole


def _is_spread(answer: Any) -> bool:
    """Whether several values are possible: a dictionary, a set, a list of pairs, or a tuple with one inside."""
    if isinstance(answer, tuple):
        return any(map(_is_spread, answer))
    return isinstance(answer, Mapping | set | frozenset | list)


def _checked(where: str, outcomes: Outcomes, space: _Names | _Joint | None) -> Outcomes:
    for value, chance in outcomes.items():
        if space is not None:
            space.check(where, value)
        if isinstance(chance, bool) or not isinstance(chance, int | float | np.number) or not 0 <= chance <= 1 + CLOSE:
            raise InputError(f"{where}: expected a probability of {value!r} from 0 to 1, got {chance!r}")
    total = math.fsum(outcomes.values())
    if abs(total - 1) > CLOSE:
        raise InputError(f"{where}: expected probabilities that sum to 1, got {total:.9g}")
    return outcomes


def _rewards(
    reward: Rule | Sequence[Rule], joint: Sequence[Any], states: Sequence[Any], transitions: NDArray[np.float64]
) -> NDArray[np.float64]:
    """[u, s]: the expected sum of all rewards."""
    if not callable(reward) and not isinstance(reward, Sequence):
        raise InputError(f"reward: expected a function or several, got {checks.kind_of(reward)}")
    rules = [(reward, "reward")] if callable(reward) else [(rule, _numbered(n, rule)) for n, rule in enumerate(reward)]
    total: NDArray[np.float64] = np.zeros(transitions.shape[:2])
    for asked in (_Asked("reward", rule, label) for rule, label in rules):
        own = np.zeros(total.shape)
        for (u, actions), (s, state) in product(enumerate(joint), enumerate(states)):
            known = {"actions": actions, "state": state}
            if "next_state" not in asked.takes:
                own[u, s] = _reward(asked, known)
            else:
                after = np.flatnonzero(transitions[u, s]).tolist()
                paid = [_reward(asked, {**known, "next_state": states[t]}) for t in after]
                own[u, s] = math.fsum(transitions[u, s, after] * paid)
        total = total + own
    return total.round(DECIMALS)


def _numbered(n: int, rule: Rule) -> str:
    """One of several rewards, such as `reward[1] moving`."""
    return f"reward[{n}] {getattr(rule, '__name__', '')}".rstrip()


def _reward(asked: _Asked, known: Mapping[str, Any]) -> float:
    return math.fsum(asked.ask(known, _number))


def _number(where: str, n: int, answer: Any) -> float:
    """A reward; the mean of a dictionary or a set."""
    if isinstance(answer, Mapping | set | frozenset):
        outcomes = _checked(where, _outcomes(where, answer), None)
        return math.fsum(_number(where, n, value) * chance for value, chance in outcomes.items())
    if not isinstance(answer, int | float | np.number) or not math.isfinite(answer):
        raise InputError(f"{where}: expected a finite number, {_got(answer)}")
    return float(answer)


def _scene(asked: _Asked, space: _Names) -> GridScene:
    def read(words: str, _: int, answer: Any) -> Any:
        try:
            return GridScene.checked(answer)
        except InputError as error:
            raise InputError(f"{words}: {error}") from None

    return GridScene(tuple(asked.ask({"state": state}, read)[0] for state in space.values))


def _team(
    agents: int | Sequence[str] | None, actions: Names | Mapping[str, Names], observations: Names | Mapping[str, Names]
) -> list[tuple[str, Names, Names]]:
    """Name, actions and observations of every agent."""
    given = {"actions": actions, "observations": observations}
    named = {what: tuple(of) for what, of in given.items() if isinstance(of, Mapping)}
    if agents is None:
        agents = next(iter(named.values()), 2)
    if isinstance(agents, int | np.integer):
        names = tuple(f"agent{n + 1}" for n in range(checks.whole("agents", agents, 1, 64)))
    else:
        names = tuple(_Names("agents", agents).labels)
    for what, keys in named.items():
        if set(keys) != set(names):
            raise InputError(f"{what}: expected those of {', '.join(names)}, got {', '.join(keys)}")

    def own(of: Any, who: str) -> Any:
        return of[who] if isinstance(of, Mapping) else of

    # an iterator can be consumed only once, but every agent needs its values
    actions, observations = (tuple(of) if isinstance(of, Iterator) else of for of in (actions, observations))
    return [(who, own(actions, who), own(observations, who)) for who in names]


def _check_size(name: str, *sizes: int) -> None:
    if math.prod(sizes) > MOST:
        shape = " x ".join(map(str, sizes))
        raise InputError(f"{name}: expected at most {MOST} numbers, got {shape}; write a simulator instead")


def _got(value: object) -> str:
    return "got nothing (None): is a `return` missing?" if value is None else f"got {value!r:.60}"


def _label(value: object) -> str:
    return "-".join(map(_label, value)) if isinstance(value, tuple) else str(value)
