"""Episodes from a Minari dataset: a folder that the package `minari` wrote, with discrete actions and observations.

Minari keeps T + 1 observations beside T actions; observation t was seen before action t, as here, and the last one is
left out. An action space that is a Dict with one entry per agent (or a Tuple beside an observation Tuple of the same
length) makes a team; anything else is one agent. What an agent sees or does may itself have parts (MultiDiscrete,
MultiBinary, Tuple, Dict of such): every combination becomes one symbol, labelled `3/0/1`. Minari does not record
with which probability the behaviour acted, so that is unknown here.

The package makes the spaces; the episodes themselves are read here, one at a time, since the package trusts its files
and a dataset may come from anybody (`minari_files`).
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Agent, Episodes, FormatError, InputError
from decpomdp.io.files import FilePath, path_of, words
from decpomdp.io.minari.files import SPACES, Announced, about_of, announced, name_of, reader
from decpomdp.io.minari.spaces import check_space, labels_of, symbols_of

EXACT = 2**53  # beyond, a float64 does not hold every whole number
MOST_LABELS = 2**21  # of all agents together


class _Player(NamedTuple):
    """One agent: its spaces, and how to pick its part of what was recorded for all."""

    agent: Agent
    seen: Any
    taken: Any
    pick: Callable[[Any], Any]


def read_minari(path: FilePath, discount: float, name: str | None = None) -> Episodes:
    """The episodes of a Minari dataset with discrete actions and observations (docs/data.md).

    Parameters
    ----------
    path
        The folder of the dataset.
    discount
        Of the rewards: Minari does not say it.
    name
        Of the problem, for people; None: the dataset's.

    Returns
    -------
    Episodes
        Minari does not record with which probability actions were taken: unknown here.

    Raises
    ------
    InputError
        The package `minari` is not installed.
    FormatError
        The dataset cannot be read, or its spaces are not discrete.

    Examples
    --------
    >>> import decpomdp as dp
    >>> try:
    ...     dp.read_minari("no/such/folder", discount=0.99)
    ... except dp.FormatError as error:
    ...     print(error.message)
    expected the folder of a Minari dataset (with metadata.json), got another
    """
    source = path_of(path)
    folder, about = about_of(source)
    told, called = announced(about, source), name_of(about, source)
    spaces = _spaces(source, about)
    players = _players(*spaces, source)
    parts = list(_parts(folder, told, spaces, players, source))
    steps = sum(len(part.rewards) for part in parts)
    if steps != told.steps:
        raise FormatError(source, None, f"expected {told.steps} steps as announced, got {steps}")
    return Episodes(
        agents=tuple(player.agent for player in players),
        offsets=np.concatenate([[0], np.cumsum([len(part.rewards) for part in parts])]),
        observations=np.concatenate([part.observations for part in parts]),
        actions=np.concatenate([part.actions for part in parts]),
        behaviour=np.full((steps, len(players)), np.nan, np.float32),
        rewards=np.concatenate([part.rewards for part in parts]),
        discount=discount,
        terminated=np.array([part.terminated for part in parts]),
        name=called if name is None else name,
        facts={"imported from": f"Minari dataset {called}"},
    )


class _Part(NamedTuple):
    observations: NDArray[np.int16]  # [t, n]
    actions: NDArray[np.int16]  # [t, n]
    rewards: NDArray[np.float64]  # [t]
    terminated: bool


def _spaces(source: str, about: dict[str, Any]) -> tuple[Any, Any]:
    """Those of observations and actions, as Minari makes them.

    Of the texts that were checked: Minari's own reader would open metadata.json again, and run what it names if it
    has changed since and has no spaces any more.
    """
    try:
        for key in SPACES:
            check_space(key, about[key])
        from minari.serialization import deserialize_space

        seen, taken = (deserialize_space(about[key]) for key in SPACES)
        return seen, taken
    except ImportError as error:
        raise _lack(source, error) from None
    except InputError as error:
        raise FormatError(source, None, f"metadata.json: {words(error)}") from None
    except Exception as error:  # whatever a damaged folder makes of a library that trusts its own files
        raise _refusal(source, error) from None


def _parts(
    folder: Path, told: Announced, spaces: tuple[Any, Any], players: list[_Player], source: str
) -> Iterator[_Part]:
    """Episode after episode, each measured against the steps that are left before it is read."""
    left = told.steps
    try:
        with reader(folder, told, spaces, source) as read:
            for k in range(told.episodes):
                part = _episode(read(k, left), k, players, source)
                left -= len(part.rewards)
                yield part
    except FormatError as error:
        raise error if error.path == source else _refusal(source, error) from None
    except ImportError as error:
        raise _lack(source, error) from None
    except Exception as error:  # of whichever library reads the files
        raise _refusal(source, error) from None


def _lack(source: str, error: ImportError) -> InputError:
    said = f"reading Minari datasets needs more packages ({words(error)}): pip install decpomdp[data]"
    return InputError(f"{source}: {said}")


def _refusal(source: str, error: Exception) -> FormatError:
    said = error.message if isinstance(error, FormatError) else words(error)
    return FormatError(source, None, f"cannot be read as a Minari dataset: {said}")


def _players(seen: Any, taken: Any, source: str) -> list[_Player]:
    """The agents, by the spaces of all of them; no more labels than memory can do with."""
    found, labels = [], 0
    for name, part, done, pick in _members(seen, taken, source):
        found.append(_player(name, part, done, pick, source))
        labels += len(found[-1].agent.actions) + len(found[-1].agent.observations)
        if labels > MOST_LABELS:
            raise FormatError(source, None, f"expected at most {MOST_LABELS} labels of all agents, got more")
    return found


def _members(seen: Any, taken: Any, source: str) -> list[tuple[str, Any, Any, Callable[[Any], Any]]]:
    """Of every agent: its name, its spaces, and how to pick its part."""
    from gymnasium import spaces

    if isinstance(taken, spaces.Dict):
        if not isinstance(seen, spaces.Dict) or set(seen.spaces) != set(taken.spaces):
            said = f"expected observations of {', '.join(taken.spaces)[:100]}, got {seen}"
            raise FormatError(source, None, words(InputError(said)))
        return [(str(key), seen[key], taken[key], _entry(key)) for key in taken.spaces]
    if isinstance(taken, spaces.Tuple) and isinstance(seen, spaces.Tuple) and len(taken) == len(seen):
        return [(f"agent{n + 1}", seen[n], taken[n], _entry(n)) for n in range(len(taken))]
    return [("agent1", seen, taken, lambda values: values)]


def _entry(key: Any) -> Callable[[Any], Any]:
    return lambda values: values[key]


def _player(name: str, seen: Any, taken: Any, pick: Callable[[Any], Any], source: str) -> _Player:
    try:
        agent = Agent(name, labels_of(f"actions of {name}", taken), labels_of(f"observations of {name}", seen))
    except InputError as error:
        raise FormatError(source, None, words(error)) from None
    return _Player(agent, seen, taken, pick)


def _rewards(values: NDArray) -> NDArray[np.float64]:
    """[t]: those of which float64 can hold all."""
    if values.dtype.kind in "iu":
        _refuse((values > EXACT) | (values < -EXACT), "reward", f"whole numbers up to {EXACT}", values)
    return values.astype(np.float64)


def _truths(key: str, values: NDArray) -> NDArray[np.bool_]:
    """[t]: truth values, or the numbers 0 and 1."""
    _refuse((values != 0) & (values != 1), key, "true or false", values)
    return values.astype(bool)


def _refuse(wrong: NDArray[np.bool_], what: str, expected: str, values: NDArray) -> None:
    if wrong.any():
        t = int(np.argmax(wrong))
        raise InputError(f"t = {t}, {what}: expected {expected}, got {values[t]}")


def _episode(recorded: dict[str, Any], k: int, players: list[_Player], source: str) -> _Part:
    """One episode as arrays, checked."""
    try:
        seen = [
            symbols_of(player.seen, player.pick(recorded["observations"]), f"observation of {player.agent.name}")
            for player in players
        ]
        taken = [
            symbols_of(player.taken, player.pick(recorded["actions"]), f"action of {player.agent.name}")
            for player in players
        ]
        rewards = _rewards(np.asarray(recorded["rewards"]).reshape(-1))
        flags = [_truths(key, np.asarray(recorded[key]).reshape(-1)) for key in ("terminations", "truncations")]
    except (InputError, KeyError, ValueError, TypeError, IndexError) as error:
        said = str(error) if isinstance(error, InputError) else f"cannot be read as its spaces say: {words(error)}"
        raise FormatError(source, None, words(InputError(f"episode {k}, {said}"))) from None
    length = len(rewards)
    sizes = {*map(len, taken), *map(len, flags)}
    if not length or sizes != {length} or {*map(len, seen)} != {length + 1}:
        raise FormatError(source, None, f"episode {k}: expected one observation more than actions, got other lengths")
    if any(flag[:-1].any() for flag in flags) or not np.isfinite(rewards).all():
        raise FormatError(source, None, f"episode {k}: expected finite rewards and no end before the last step")
    return _Part(np.stack(seen, axis=1)[:-1], np.stack(taken, axis=1), rewards, bool(flags[0][-1]))
