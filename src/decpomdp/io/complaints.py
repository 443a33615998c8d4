"""Everything that is wrong with a file of logged episodes, a line per column: what a reader stops at, and more."""

from collections.abc import Mapping, Sequence

from decpomdp.core import Agent, Episodes
from decpomdp.io.files import FilePath
from decpomdp.io.logged import stages_of_logged
from decpomdp.io.stages import all_made


def checked(
    path: FilePath,
    kind: str | None = None,
    discount: float | None = None,
    agents: Sequence[Agent] | None = None,
    name: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> tuple[Episodes | None, list[str]]:
    """The episodes at `path` (see `read_logged`), or None and what is wrong with them, first what the reader says."""
    episodes, errors = all_made(stages_of_logged(path, kind, discount, agents, name, columns))
    return episodes, [str(error) for error in errors]
