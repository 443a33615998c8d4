"""Everything that is wrong with a file of logged episodes, a line per column: what a reader stops at, and more."""

from decpomdp.core import Episodes
from decpomdp.io.files import FilePath
from decpomdp.io.logged import NOTHING, Given, stages_of_logged
from decpomdp.io.stages import all_made


def checked(path: FilePath, given: Given = NOTHING) -> tuple[Episodes | None, list[str]]:
    """The episodes at `path` (see `read_logged`), or None and what is wrong with them, first what the reader says."""
    episodes, errors = all_made(stages_of_logged(path, given))
    return episodes, [str(error) for error in errors]
