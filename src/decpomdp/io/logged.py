"""Logged data in any form that can be read: our episodes file, a long table, or a Minari dataset."""

from collections.abc import Mapping, Sequence

from decpomdp.core import Agent, Episodes, InputError
from decpomdp.io.episode_stages import stages_of_episodes
from decpomdp.io.files import FilePath, path_of
from decpomdp.io.kinds import KINDS, kind_of
from decpomdp.io.minari import read_minari
from decpomdp.io.stages import Stage, made
from decpomdp.io.table_stages import stages_of_table


def read_logged(
    path: FilePath,
    kind: str | None = None,
    discount: float | None = None,
    agents: Sequence[Agent] | None = None,
    name: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> Episodes:
    """The episodes at `path`, whatever its `kind`. What the file itself says (ours does) is not to be said again."""
    episodes: Episodes = made(stages_of_logged(path, kind, discount, agents, name, columns))
    return episodes


def stages_of_logged(
    path: FilePath,
    kind: str | None = None,
    discount: float | None = None,
    agents: Sequence[Agent] | None = None,
    name: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> list[Stage]:
    """The stages of reading what is at `path`; InputError if what is said beside it does not fit its kind."""
    found = kind_of(path) if kind is None else kind
    if found not in KINDS:
        raise InputError(f"kind of data: expected one of {', '.join(KINDS)}, got {found!r}")
    if found == "episodes":
        if discount is not None or agents is not None or columns:
            raise InputError(f"{path_of(path)} says its own discount, agents and columns; expected none beside it")
        return stages_of_episodes(path)
    if discount is None:
        raise InputError(f"{path_of(path)} does not say the discount; expected it to be given")
    if found == "long":
        return stages_of_table(path, discount, agents, "" if name is None else name, columns)
    if agents is not None or columns:
        raise InputError(f"{path_of(path)} is a Minari dataset and says its own agents; expected none beside it")
    return [Stage("episodes", (), lambda: read_minari(path, discount, name))]
