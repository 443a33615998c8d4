"""Episodes from a Minari dataset: a folder written by the package `minari`, with discrete actions and observations.

Minari stores T + 1 observations and T actions; observation t was made before action t, as here, and the last one is
dropped. An action space that is a Dict with one entry per agent (or a Tuple next to an observation Tuple of the same
length) is read as a team; any other space as one agent. The observations and actions of an agent may have parts
(MultiDiscrete, MultiBinary, Tuple, Dict): every combination becomes one symbol, labelled `3/0/1`. Minari does not
record the probabilities of actions, so they are unknown here.

The episodes are read by Minari's own storage classes. Before that, the folder is checked: no link may lead out of it,
also not inside HDF5, and the sizes in metadata.json are limited.

Nothing in a dataset is executed: `minari.load_dataset` creates the environment named in metadata.json if a space is
missing, so the spaces are decoded here and given to the storage.
"""

import itertools
import json
import math
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from decpomdp.core import Agent, Episodes, FormatError, InputError
from decpomdp.io.files import FilePath, message_of, path_of, read_bytes

METADATA_BYTES = 2**22
MOST_LABELS = 2**21  # of all agents together
MOST_BYTES = 2**32  # of the episodes in memory, and of one HDF5 episode
EXACT = 2**53  # larger whole numbers do not fit into float64
NAME = 200  # characters of the name of a dataset

SYMBOLS = 2**15  # of an agent: symbols are stored in 16 bits


PARTS = 4096  # of a MultiBinary space


LARGEST = 2**53


NESTING = 16  # levels of spaces


Space = tuple[range, ...] | dict[Any, Any]


Count = Annotated[int, Meta(ge=1, le=LARGEST)]


Value = Annotated[int, Meta(ge=-LARGEST, le=LARGEST)]


Size = Annotated[int, Meta(ge=1, le=2**53)]


class _Metadata(msgspec.Struct):
    data_format: Literal["hdf5", "arrow", "parquet"]
    observation_space: str
    action_space: str
    total_episodes: Size
    total_steps: Size
    dataset_id: str = ""


class _Player(NamedTuple):
    agent: Agent
    observations: Space
    actions: Space
    key: Any  # of its part of the recorded values; None: the only agent


class _Part(NamedTuple):
    observations: NDArray[np.int16]  # [t, n]
    actions: NDArray[np.int16]  # [t, n]
    rewards: NDArray[np.float64]  # [t]
    terminated: bool


def read_minari(path: FilePath, discount: float, name: str | None = None) -> Episodes:
    """The episodes of a Minari dataset in a folder; behaviour probabilities are unknown.

    `discount` is not recorded by Minari; `name` is that of the dataset by default.
    """
    source = path_of(path)
    folder = _data_folder(source)
    try:
        about = msgspec.convert(json.loads(read_bytes(folder / "metadata.json", METADATA_BYTES)), _Metadata)
        players = _players(decode_space(about.observation_space), decode_space(about.action_space))
    except (ValueError, msgspec.ValidationError, RecursionError, InputError) as error:
        message = error.message if isinstance(error, FormatError) else message_of(error)
        raise FormatError(source, None, f"metadata.json: {message}") from None
    needed = about.total_steps * (8 * len(players) + 8)
    if needed > MOST_BYTES:
        raise FormatError(
            source, None, f"expected at most {MOST_BYTES} bytes of episodes, got {needed} according to metadata.json"
        )
    called = " ".join(about.dataset_id.split())[:NAME]
    parts = _read(folder, about, players, source)
    steps = sum(len(part.rewards) for part in parts)
    if steps != about.total_steps:
        raise FormatError(source, None, f"expected {about.total_steps} steps according to metadata.json, got {steps}")
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


def _data_folder(source: str) -> Path:
    """The folder with metadata.json; FormatError if a link leaves `source`, or for pipes and devices."""
    folder = next((Path(source, part) for part in ("data", "") if Path(source, part, "metadata.json").is_file()), None)
    if folder is None:
        parts = any(any(Path(source).glob(form)) for form in ("*.parquet", "*=*/*.parquet"))  # a divided table
        got = "Parquet files; join them to one file first (pyarrow, duckdb)" if parts else "a folder without it"
        raise FormatError(source, None, f"expected the folder of a Minari dataset (with metadata.json), got {got}")
    root = Path(source).resolve()
    for path in Path(source).rglob("*"):
        if path.is_symlink() and not path.resolve().is_relative_to(root):
            raise FormatError(
                source, None, f"{path.name}: expected a file in this folder, got a link to a file outside"
            )
        if not path.is_file() and not path.is_dir():
            raise FormatError(source, None, f"{path.name}: expected a file, got a pipe, a device or a broken link")
    return folder


def _players(seen: Any, taken: Any) -> list[_Player]:
    """The agents, with their parts of the spaces."""
    team = isinstance(taken, dict) and isinstance(seen, dict) and seen.keys() == taken.keys()
    if isinstance(taken, dict) and not team and any(isinstance(key, str) for key in taken):
        raise InputError(f"expected observations of {', '.join(taken)[:100]}, got those of other agents")
    players, labels = [], 0
    for key in taken if team else [None]:
        name = key if isinstance(key, str) else f"agent{(key or 0) + 1}"
        own_seen, own_taken = (seen[key], taken[key]) if team else (seen, taken)
        agent = Agent(name, labels_of(f"actions of {name}", own_taken), labels_of(f"observations of {name}", own_seen))
        players.append(_Player(agent, own_seen, own_taken, key))
        labels += len(agent.actions) + len(agent.observations)
        if labels > MOST_LABELS:
            raise InputError(f"expected at most {MOST_LABELS} labels of all agents, got more")
    return players


def _read(folder: Path, about: _Metadata, players: list[_Player], source: str) -> list[_Part]:
    """All episodes, one after the other."""
    try:
        from minari.dataset._storages import get_minari_storage
        from minari.serialization import deserialize_space

        if about.data_format == "hdf5":
            _check_hdf5(folder)
        else:
            _check_arrow(folder, about)
        spaces = (deserialize_space(text) for text in (about.observation_space, about.action_space))
        storage = get_minari_storage(about.data_format)(folder, *spaces)
        parts = []
        for k in range(about.total_episodes):
            (recorded,) = storage.get_episodes([k])
            parts.append(_episode(recorded, k, players))
        return parts
    except ImportError as error:
        needs = f"reading Minari datasets needs more packages ({message_of(error)}): pip install decpomdp[data]"
        raise InputError(f"{source}: {needs}") from None
    except InputError as error:
        raise FormatError(source, None, message_of(error)) from None
    except Exception as error:  # of Minari, h5py or pyarrow
        raise FormatError(source, None, f"cannot be read as a Minari dataset: {message_of(error)}") from None


def _check_hdf5(folder: Path) -> None:
    """Reject HDF5 files that refer to other files, or with an episode that does not fit into memory."""
    import h5py  # type: ignore[import-untyped]

    sizes: Counter[str] = Counter()
    with h5py.File(folder / "main_data.hdf5", "r") as file:

        def fault(name: str, link: Any) -> str | None:  # a result ends the visit; an exception would be lost
            if isinstance(link, h5py.ExternalLink):
                return f"/{name}: expected data in the file itself, got a link to another file"
            data = file[name] if isinstance(link, h5py.HardLink) else None
            if isinstance(data, h5py.Dataset):
                if data.external or data.is_virtual:
                    return f"/{name}: expected data in the file itself, got a reference to another file"
                episode = name.partition("/")[0]
                sizes[episode] += data.nbytes
                if sizes[episode] > MOST_BYTES:
                    return f"/{episode}: expected at most {MOST_BYTES} bytes, got more"
            return None

        if message := file.visititems_links(fault):
            raise InputError(message)


def _check_arrow(folder: Path, about: _Metadata) -> None:
    """Reject Arrow or Parquet files with more rows than announced."""
    from pyarrow import dataset

    left = about.total_steps + about.total_episodes  # one row more than steps in every episode
    for k in range(about.total_episodes):
        ignored = ["_", ".", "metadata.json"]
        left -= dataset.dataset(str(folder / str(k)), format=about.data_format, ignore_prefixes=ignored).count_rows()
        if left < 0:
            raise InputError(
                f"episode {k}: expected at most {about.total_steps} steps according to metadata.json, got more"
            )


def _episode(recorded: dict[str, Any], k: int, players: list[_Player]) -> _Part:
    """One episode as arrays, checked."""
    try:
        seen = [_symbols(player, player.observations, recorded["observations"], "observation") for player in players]
        taken = [_symbols(player, player.actions, recorded["actions"], "action") for player in players]
        rewards = np.asarray(recorded["rewards"]).reshape(-1)
        ends = [np.asarray(recorded[key]).reshape(-1) for key in ("terminations", "truncations")]
        if rewards.dtype.kind in "iu":
            _check_values((rewards <= EXACT) & (rewards >= -EXACT), "reward", f"whole numbers up to {EXACT}", rewards)
        for key, values in zip(("terminations", "truncations"), ends, strict=True):
            _check_values((values == 0) | (values == 1), key, "true or false", values)
    except InputError as error:
        raise InputError(f"episode {k}, {error}") from None
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise InputError(f"episode {k}: the values do not belong to the spaces: {message_of(error)}") from None
    length = len(rewards)
    if not length or {*map(len, taken), *map(len, ends)} != {length} or {*map(len, seen)} != {length + 1}:
        raise InputError(f"episode {k}: expected one observation more than actions, got other lengths")
    if any(end[:-1].any() for end in ends) or not np.isfinite(rewards).all():
        raise InputError(f"episode {k}: expected finite rewards and no end before the last step")
    return _Part(np.stack(seen, axis=1)[:-1], np.stack(taken, axis=1), rewards.astype(np.float64), bool(ends[0][-1]))


def _symbols(player: _Player, space: Space, recorded: Any, what: str) -> NDArray[np.int16]:
    own = recorded if player.key is None else recorded[player.key]
    return symbols_of(space, own, f"{what} of {player.agent.name}")


def _check_values(right: NDArray[np.bool_], what: str, expected: str, values: NDArray) -> None:
    if not right.all():
        t = int(np.argmin(right))
        raise InputError(f"t = {t}, {what}: expected {expected}, got {values[t]}")


class _Discrete(Struct, tag_field="type", tag="Discrete"):
    n: Count
    start: Value = 0


class _MultiDiscrete(Struct, tag_field="type", tag="MultiDiscrete"):
    nvec: list[Any]
    start: list[Any]
    dtype: Literal["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


class _MultiBinary(Struct, tag_field="type", tag="MultiBinary"):
    n: Count | Annotated[list[Count], Meta(max_length=8)]


class _Tuple(Struct, tag_field="type", tag="Tuple"):
    subspaces: list["_Json"]


class _Dict(Struct, tag_field="type", tag="Dict"):
    subspaces: dict[str, "_Json"]


_Json = _Discrete | _MultiDiscrete | _MultiBinary | _Tuple | _Dict


def decode_space(text: str) -> Space:
    """The space in a JSON text; InputError unless it is a discrete space."""
    try:
        return _space(msgspec.convert(json.loads(text), _Json), NESTING)
    except (ValueError, msgspec.ValidationError, TypeError, RecursionError) as error:
        raise InputError(f"expected a discrete space: {message_of(error)}") from None


def _space(space: Any, levels: int) -> Space:
    if not levels:
        raise ValueError(f"more than {NESTING} levels of spaces")
    if isinstance(space, _Dict):  # sorted by Gymnasium as well
        return {key: _space(inner, levels - 1) for key, inner in sorted(space.subspaces.items())}
    if isinstance(space, _Tuple):
        return {n: _space(inner, levels - 1) for n, inner in enumerate(space.subspaces)}
    if isinstance(space, _Discrete):
        return (range(space.start, space.start + space.n),)
    if isinstance(space, _MultiBinary):
        parts = math.prod(space.n) if isinstance(space.n, list) else space.n
        if parts > PARTS:
            raise ValueError(f"a MultiBinary space of more than {PARTS} parts")
        return (range(2),) * parts
    lows, sizes = (
        msgspec.convert(np.ravel(values).tolist(), kind)
        for values, kind in ((space.start, list[Value]), (space.nvec, list[Count]))
    )
    return tuple(range(low, low + size) for low, size in zip(lows, sizes, strict=True))


def ranges_of(space: Space) -> list[range]:
    """The values of every part of a space."""
    if isinstance(space, tuple):
        return list(space)
    return [values for inner in space.values() for values in ranges_of(inner)]


def labels_of(what: str, space: Space) -> tuple[str, ...]:
    """A label for every combination of the values of the parts: `3/0/1`."""
    ranges, count = ranges_of(space), 1
    for values in ranges:
        count *= len(values)
        if count > SYMBOLS:
            raise InputError(f"{what}: expected at most {SYMBOLS} combinations of values, got more")
    return tuple("/".join(map(str, values)) for values in itertools.product(*ranges))


def symbols_of(space: Space, recorded: Any, where: str) -> NDArray[np.int16]:
    """[t]: the index of every combination of values, the last part fastest."""
    total: NDArray[np.int64] = np.zeros(1, np.int64)
    for part, known in zip(_parts_of(space, recorded), ranges_of(space), strict=True):
        wrong = ~np.isin(part, known)
        if wrong.any():
            t = int(np.argmax(wrong))
            raise InputError(f"t = {t}, {where}: expected {known[0]} to {known[-1]}, got {part[t]}")
        total = total * len(known) + (part.astype(np.int64) - known[0])
    return total.astype(np.int16)


def _parts_of(space: Space, recorded: Any) -> list[NDArray]:
    """[t] for every part of the values recorded in a space."""
    if isinstance(space, dict):
        return [part for key, inner in space.items() for part in _parts_of(inner, recorded[key])]
    array = np.asarray(recorded)
    return list(array.reshape(len(array), -1).T)
