"""Episodes from a Minari dataset: a folder written by the package `minari`, with discrete actions and observations.

Minari stores T + 1 observations and T actions; observation t was made before action t, as here, and the last one is
dropped. An action space that is a Dict with one entry per agent (or a Tuple next to an observation Tuple of the same
length) is read as a team; any other space as one agent. The observations and actions of an agent may have parts
(MultiDiscrete, MultiBinary, Tuple, Dict): every combination becomes one symbol, labelled `3/0/1`. Minari does not
record the probabilities of actions, so they are unknown here.

Spaces and episodes are read by Minari's own serialization and storage classes. Before that, the folder is checked: no
link may lead out of it, also not inside HDF5, and the sizes in metadata.json are limited. Nothing in a dataset is
executed: `minari.load_dataset`, which may create the environment named in metadata.json, is not used.
"""

import itertools
import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from decpomdp.core import Agent, Episodes, FormatError, InputError
from decpomdp.io.episodes import MOST_LABELS
from decpomdp.io.files import FilePath, message_of, path_of, read_bytes

METADATA_BYTES = 2**22
MOST_BYTES = 2**32  # of the episodes in memory, and of one HDF5 episode
NAME = 200  # characters of the name of a dataset

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
    observations: Any  # space of Gymnasium
    actions: Any
    key: Any  # of its part of the recorded values; None: the only agent


def read_minari(path: FilePath, discount: float, name: str | None = None) -> Episodes:
    """The episodes of a Minari dataset in a folder; behaviour probabilities are unknown.

    `discount` is not recorded by Minari; `name` is that of the dataset by default.
    """
    source = path_of(path)
    folder = _data_folder(source)
    try:
        from minari.dataset._storages import get_minari_storage
        from minari.serialization import deserialize_space

        about = _metadata(folder)
        spaces = [deserialize_space(text) for text in (about.observation_space, about.action_space)]
        players = _players(*spaces)
        if about.data_format == "hdf5":
            _check_hdf5(folder)
        storage = get_minari_storage(about.data_format)(folder, *spaces)
        parts = []
        for k in range(about.total_episodes):
            (recorded,) = storage.get_episodes([k])
            parts.append(_episode(recorded, k, players, discount))
    except ImportError as error:
        needs = f"reading Minari datasets needs more packages ({message_of(error)}): pip install decpomdp[data]"
        raise InputError(f"{source}: {needs}") from None
    except InputError as error:
        raise FormatError(source, None, message_of(error)) from None
    except Exception as error:  # of Minari, Gymnasium, h5py or pyarrow
        raise FormatError(source, None, f"cannot be read as a Minari dataset: {message_of(error)}") from None
    episodes = Episodes.concatenate(parts)
    if episodes.steps != about.total_steps:
        expected = f"expected {about.total_steps} steps according to metadata.json"
        raise FormatError(source, None, f"{expected}, got {episodes.steps}")
    called = " ".join(about.dataset_id.split())[:NAME]
    facts = {"imported from": f"Minari dataset {called}"}
    return replace(episodes, name=called if name is None else name, facts=facts)


def _data_folder(source: str) -> Path:
    """The folder with metadata.json; FormatError if a link leaves `source`."""
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
    return folder


def _metadata(folder: Path) -> _Metadata:
    try:
        about = msgspec.convert(json.loads(read_bytes(folder / "metadata.json", METADATA_BYTES)), _Metadata)
    except (ValueError, msgspec.ValidationError) as error:
        raise InputError(f"metadata.json: {message_of(error)}") from None
    if 16 * about.total_steps > MOST_BYTES:
        raise InputError(f"metadata.json: expected at most {MOST_BYTES // 16} steps, got {about.total_steps}")
    return about


def _players(seen: Any, taken: Any) -> list[_Player]:
    """The agents, with their parts of the spaces."""
    theirs, actions = _inner(seen), _inner(taken)
    team = bool(actions) and theirs.keys() == actions.keys()
    if not team and any(isinstance(key, str) for key in actions):
        raise InputError(f"expected observations of {', '.join(actions)[:100]}, got those of other agents")
    players = []
    for key in actions if team else [None]:
        name = key if isinstance(key, str) else f"agent{(key or 0) + 1}"
        own_seen, own_taken = (theirs[key], actions[key]) if team else (seen, taken)
        agent = Agent(name, labels_of(f"actions of {name}", own_taken), labels_of(f"observations of {name}", own_seen))
        players.append(_Player(agent, own_seen, own_taken, key))
    return players


def _inner(space: Any) -> dict[Any, Any]:
    """The parts of a Tuple or a Dict, by their keys."""
    inner = getattr(space, "spaces", {})
    return dict(inner) if hasattr(inner, "items") else dict(enumerate(inner))


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


def _episode(recorded: dict[str, Any], k: int, players: list[_Player], discount: float) -> Episodes:
    """One episode, checked."""
    try:
        seen = [_symbols(player, player.observations, recorded["observations"], "observation") for player in players]
        taken = [_symbols(player, player.actions, recorded["actions"], "action") for player in players]
        rewards = np.asarray(recorded["rewards"], np.float64).reshape(-1)
        ends = [np.asarray(recorded[key], bool).reshape(-1) for key in ("terminations", "truncations")]
    except InputError as error:
        raise InputError(f"episode {k}, {error}") from None
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise InputError(f"episode {k}: the values do not belong to the spaces: {message_of(error)}") from None
    length = len(rewards)
    if not length or {*map(len, taken), *map(len, ends)} != {length} or {*map(len, seen)} != {length + 1}:
        raise InputError(f"episode {k}: expected one observation more than actions, got other lengths")
    if any(end[:-1].any() for end in ends) or not np.isfinite(rewards).all():
        raise InputError(f"episode {k}: expected finite rewards and no end before the last step")
    return Episodes(
        agents=tuple(player.agent for player in players),
        offsets=np.array([0, length]),
        observations=np.stack(seen, axis=1)[:-1],
        actions=np.stack(taken, axis=1),
        behaviour=np.full((length, len(players)), np.nan, np.float32),
        rewards=rewards,
        discount=discount,
        terminated=ends[0][-1:],
    )


def _symbols(player: _Player, space: Any, recorded: Any, what: str) -> NDArray[np.int16]:
    """[t]: the index of every combination of values, the last part fastest."""
    own, total = recorded if player.key is None else recorded[player.key], np.zeros(1, np.int64)
    for part, known in zip(_parts_of(space, own), ranges_of(space), strict=True):
        wrong = ~np.isin(part, known)
        if wrong.any():
            t = int(np.argmax(wrong))
            where = f"t = {t}, {what} of {player.agent.name}"
            raise InputError(f"{where}: expected {known[0]} to {known[-1]}, got {part[t]}")
        total = total * len(known) + (part.astype(np.int64) - known[0])
    return total.astype(np.int16)


def _parts_of(space: Any, recorded: Any) -> list[NDArray]:
    """[t] for every part of the values recorded in a space."""
    if inner := _inner(space):
        return [part for key, each in inner.items() for part in _parts_of(each, recorded[key])]
    array = np.asarray(recorded)
    return list(array.reshape(len(array), -1).T)


def ranges_of(space: Any) -> list[range]:
    """The values of every part of a discrete space."""
    from gymnasium.spaces import Discrete, MultiBinary, MultiDiscrete

    if inner := _inner(space):
        return [values for each in inner.values() for values in ranges_of(each)]
    if isinstance(space, MultiBinary):
        return [range(2)] * min(math.prod(space.shape), 16)  # 16 are too many already
    if not isinstance(space, Discrete | MultiDiscrete):
        raise InputError(f"expected a discrete space, got {' '.join(str(space).split())[:100]}")
    sizes = space.n if isinstance(space, Discrete) else space.nvec
    pairs = zip(np.ravel(space.start).tolist(), np.ravel(sizes).tolist(), strict=True)
    return [range(low, low + size) for low, size in pairs]


def labels_of(what: str, space: Any) -> tuple[str, ...]:
    """A label for every combination of the values of the parts: `3/0/1`."""
    ranges = ranges_of(space)
    if math.prod(map(len, ranges)) > MOST_LABELS:
        raise InputError(f"{what}: expected at most {MOST_LABELS} combinations of values, got more")
    return tuple("/".join(map(str, values)) for values in itertools.product(*ranges))
