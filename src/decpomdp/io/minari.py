"""Episodes from a Minari dataset: a folder that the package `minari` wrote, with discrete actions and observations.

Minari keeps T + 1 observations beside T actions; observation t was seen before action t, as here, and the last one is
left out. An action space that is a Dict with one entry per agent (or a Tuple beside an observation Tuple of the same
length) makes a team; anything else is one agent. What an agent sees or does may itself have parts (MultiDiscrete,
MultiBinary, Tuple, Dict of such): every combination becomes one symbol, labelled `3/0/1`. Minari does not record
with which probability the behaviour acted, so that is unknown here.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Agent, Episodes, FormatError, InputError
from decpomdp.io.files import FilePath, path_of, read_bytes, words
from decpomdp.io.minari_spaces import labels_of, symbols_of

LIMIT = 2**24  # bytes of a metadata.json
FORMATS = ("hdf5", "arrow", "parquet")


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
    folder, about = _about(source)
    storage = _storage(source, folder)
    players = _players(storage.observation_space, storage.action_space, source)
    parts = [_episode(one, k, players, source) for k, one in enumerate(_recorded(storage, source))]
    steps = sum(len(part.rewards) for part in parts)
    if steps != about.get("total_steps"):
        raise FormatError(source, None, f"expected {about.get('total_steps')} steps as announced, got {steps}")
    if not parts:
        raise FormatError(source, None, "expected at least one episode, got none")
    return Episodes(
        agents=tuple(player.agent for player in players),
        offsets=np.concatenate([[0], np.cumsum([len(part.rewards) for part in parts])]),
        observations=np.concatenate([part.observations for part in parts]),
        actions=np.concatenate([part.actions for part in parts]),
        behaviour=np.full((steps, len(players)), np.nan, np.float32),
        rewards=np.concatenate([part.rewards for part in parts]),
        discount=discount,
        terminated=np.array([part.terminated for part in parts]),
        name=" ".join(str(about.get("dataset_id", "")).split()) if name is None else name,
        facts={"imported from": f"Minari dataset {about.get('dataset_id', '')}"},
    )


class _Part(NamedTuple):
    observations: NDArray[np.int64]  # [t, n]
    actions: NDArray[np.int64]  # [t, n]
    rewards: NDArray[np.float64]  # [t]
    terminated: bool


def _about(source: str) -> tuple[Path, dict[str, Any]]:
    """The folder with the data, and what its metadata say. Nothing that they name is run."""
    folder = next((Path(source, part) for part in ("data", "") if Path(source, part, "metadata.json").is_file()), None)
    if folder is None:
        raise FormatError(source, None, "expected the folder of a Minari dataset (with metadata.json), got another")
    try:
        about = json.loads(read_bytes(folder / "metadata.json", LIMIT).decode())
    except FormatError as error:
        raise FormatError(source, None, f"metadata.json: {error.message}") from None
    except (ValueError, RecursionError) as error:
        raise FormatError(source, None, f"metadata.json: {words(error)}") from None
    if not isinstance(about, dict) or about.get("data_format") not in FORMATS:
        raise FormatError(source, None, f"metadata.json: expected data_format to be one of {', '.join(FORMATS)}")
    for key in ("observation_space", "action_space"):  # without them Minari would make the environment to ask it
        if not isinstance(about.get(key), str):
            raise FormatError(source, None, f"metadata.json: expected {key}, got none")
    return folder, about


def _storage(source: str, folder: Path) -> Any:
    try:
        from minari.dataset.minari_storage import MinariStorage

        return MinariStorage.read(folder)
    except ImportError as error:
        raise InputError(
            f"{source}: reading Minari datasets needs more packages ({words(error)}): pip install decpomdp[data]"
        ) from None
    except Exception as error:  # whatever a damaged folder makes of a library that trusts its own files
        raise FormatError(source, None, f"cannot be read as a Minari dataset: {words(error)}") from None


def _recorded(storage: Any, source: str) -> list[dict[str, Any]]:
    try:
        return list(storage.get_episodes(range(storage.total_episodes)))
    except Exception as error:
        raise FormatError(source, None, f"cannot be read as a Minari dataset: {words(error)}") from None


def _players(seen: Any, taken: Any, source: str) -> list[_Player]:
    from gymnasium import spaces

    if isinstance(taken, spaces.Dict):
        if not isinstance(seen, spaces.Dict) or set(seen.spaces) != set(taken.spaces):
            raise FormatError(source, None, f"expected observations of {', '.join(taken.spaces)}, got {seen}")
        return [_player(str(key), seen[key], taken[key], _entry(key), source) for key in taken.spaces]
    if isinstance(taken, spaces.Tuple) and isinstance(seen, spaces.Tuple) and len(taken) == len(seen):
        return [_player(f"agent{n + 1}", seen[n], taken[n], _entry(n), source) for n in range(len(taken))]
    return [_player("agent1", seen, taken, lambda values: values, source)]


def _entry(key: Any) -> Callable[[Any], Any]:
    return lambda values: values[key]


def _player(name: str, seen: Any, taken: Any, pick: Callable[[Any], Any], source: str) -> _Player:
    try:
        agent = Agent(name, labels_of(f"actions of {name}", taken), labels_of(f"observations of {name}", seen))
    except InputError as error:
        raise FormatError(source, None, str(error)) from None
    return _Player(agent, seen, taken, pick)


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
        rewards = np.asarray(recorded["rewards"], np.float64).reshape(-1)
        flags = [np.asarray(recorded[key], bool).reshape(-1) for key in ("terminations", "truncations")]
    except (InputError, KeyError, ValueError, TypeError, IndexError) as error:
        said = str(error) if isinstance(error, InputError) else f"cannot be read as its spaces say: {words(error)}"
        raise FormatError(source, None, f"episode {k}, {said}") from None
    length = len(rewards)
    sizes = {*map(len, taken), *map(len, flags)}
    if not length or sizes != {length} or {*map(len, seen)} != {length + 1}:
        raise FormatError(source, None, f"episode {k}: expected one observation more than actions, got other lengths")
    if any(flag[:-1].any() for flag in flags) or not np.isfinite(rewards).all():
        raise FormatError(source, None, f"episode {k}: expected finite rewards and no end before the last step")
    return _Part(np.stack(seen, axis=1)[:-1], np.stack(taken, axis=1), rewards, bool(flags[0][-1]))
