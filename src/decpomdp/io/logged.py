"""Logged data in any form that can be read: our episodes file, a long table, or a Minari dataset."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from decpomdp.core import Agent, Episodes, InputError
from decpomdp.io.episode_stages import stages_of_episodes
from decpomdp.io.files import FilePath, path_of
from decpomdp.io.kinds import KINDS, is_damaged, kind_of
from decpomdp.io.minari.read import read_minari
from decpomdp.io.stages import Stage, made
from decpomdp.io.table_stages import stages_of_table


@dataclass(frozen=True, slots=True)
class Given:
    """What a reader is told beside the file; None: nothing. What the file itself says is not to be said again."""

    kind: str | None = None  # one of KINDS; None: found out
    discount: float | None = None
    agents: Sequence[Agent] | None = None
    name: str | None = None  # of the problem, for people
    columns: Mapping[str, str] | None = None  # the file's names by ours, where they differ


NOTHING = Given()


def read_logged(path: FilePath, given: Given = NOTHING) -> Episodes:
    """The episodes at `path`, whatever their kind."""
    episodes: Episodes = made(stages_of_logged(path, given))
    return episodes


def stages_of_logged(path: FilePath, given: Given = NOTHING) -> list[Stage]:
    """The stages of reading what is at `path`; InputError if what is given beside it does not fit its kind."""
    kind, discount = kind_of(path) if given.kind is None else given.kind, given.discount
    if kind not in KINDS:
        raise InputError(f"kind of data: expected one of {', '.join(KINDS)}, got {kind!r}")
    said = discount is not None or given.agents is not None or bool(given.columns)
    if kind == "episodes" and given.kind is None and said and is_damaged(path_of(path)):
        kind, discount = "long", 0.0 if discount is None else discount  # nobody can tell, but it was taken for a table
    if kind == "episodes":
        if said:
            raise InputError(f"{path_of(path)} says its own discount, agents and columns; expected none beside it")
        return stages_of_episodes(path)
    if discount is None:
        raise InputError(f"{path_of(path)} does not say the discount; expected it to be given")
    if kind == "long":
        name = "" if given.name is None else given.name
        return stages_of_table(path, discount, given.agents, name, given.columns)
    if given.agents is not None or given.columns:
        raise InputError(f"{path_of(path)} is a Minari dataset and says its own agents; expected none beside it")
    return [Stage("episodes", (), lambda: read_minari(path, discount, given.name))]
