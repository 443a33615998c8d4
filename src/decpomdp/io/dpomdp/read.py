"""The `.dpomdp` file format, in and out.

    model = read_dpomdp("dectiger.dpomdp")
    write_dpomdp(model, "copy.dpomdp.gz")

The format is that of the MADP toolbox, itself an extension of Cassandra's POMDP files. This reader takes all of it:
start in every form, joint actions and observations by index, by words or with `*`, numbers, rows, matrices, uniform
and identity, later lines overwriting earlier ones, rewards that depend on the next state and observation (whose
expectation the model keeps), costs, comments and blank lines anywhere, gzip. A wrong file is refused with
`file:line: expected ..., found ...`; so is a file that would need more than `Limits` allow, before it is given any.

The work is done line by line in dpomdp_text (bytes to lines), dpomdp_header and dpomdp_statements (T, O and R lines),
with dpomdp_words and dpomdp_fields (what stands between two colons) and dpomdp_log (what was said, in order);
dpomdp_tables and dpomdp_rewards make arrays of it. dpomdp_writer goes the other way.
"""

import gzip
import os
from contextlib import nullcontext
from itertools import chain
from pathlib import Path

from decpomdp.core import checks
from decpomdp.core.errors import FormatError, InputError
from decpomdp.core.model import DecPOMDP, checked_discount
from decpomdp.io.dpomdp.fields import Joint, States
from decpomdp.io.dpomdp.header import Header, read_header
from decpomdp.io.dpomdp.rewards import expected_rewards
from decpomdp.io.dpomdp.statements import Statements, read_statements
from decpomdp.io.dpomdp.tables import Table
from decpomdp.io.dpomdp.text import STANDARD, Limits, Lines, lines_of_file, lines_of_text
from decpomdp.io.dpomdp.words import probabilities, rewards
from decpomdp.io.dpomdp.writer import text_of
from decpomdp.io.files import path_of, replacing

__all__ = ["Limits", "format_dpomdp", "parse_dpomdp", "read_dpomdp", "write_dpomdp"]


def read_dpomdp(path: str | os.PathLike[str], discount: float | None = None, limits: Limits = STANDARD) -> DecPOMDP:
    """The model in the file at `path`, gzipped or not, named after the file.

    Parameters
    ----------
    path
        The file.
    discount
        Instead of that of the file.
    limits
        How large a file may be, and how large a model it may ask for.

    Returns
    -------
    DecPOMDP
        Its name is that of the file without its endings.

    Raises
    ------
    FormatError
        The file cannot be read; names the line, what was expected and what was found.

    Examples
    --------
    >>> import tempfile
    >>> import decpomdp as dp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dp.write_dpomdp(dp.load("dectiger"), f"{folder}/mine.dpomdp")
    ...     dp.read_dpomdp(f"{folder}/mine.dpomdp", discount=0.5).name
    'mine'
    """
    name = Path(path_of(path)).name.removesuffix(".gz").removesuffix(".dpomdp")
    return _model(lines_of_file(path, limits), discount, _on_a_line(name))


def _on_a_line(name: str) -> str:
    """The name of a file as that of a problem: it may hold bytes that no text can, new lines and other control."""
    readable = name.encode(errors="replace").decode()
    return " ".join("".join(" " if one in checks.BREAKS or ord(one) < 32 else one for one in readable).split())


def parse_dpomdp(text: str, source: str = "text", discount: float | None = None, limits: Limits = STANDARD) -> DecPOMDP:
    """The model that `text` describes, without a name; complaints call the text `source`."""
    return _model(lines_of_text(text, source, limits), discount, "")


def write_dpomdp(model: DecPOMDP, path: str | os.PathLike[str]) -> None:
    """Writes `model` to `path`, completely or not at all; gzipped if the name ends in `.gz`.

    Parameters
    ----------
    model
        What to write.
    path
        The new file; one that is there is replaced.

    Raises
    ------
    InputError
        A label cannot be written in this format, or the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> import decpomdp as dp
    >>> model = dp.load("broadcast")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dp.write_dpomdp(model, f"{folder}/broadcast.dpomdp.gz")
    ...     dp.load(f"{folder}/broadcast.dpomdp.gz").digest() == model.digest()
    True
    """
    checks.of_kind("model", model, DecPOMDP, "load it first: dp.load(name)")
    packs = path_of(path).endswith(".gz")
    pieces = text_of(model)
    header = next(pieces)  # complains about labels before any file is made
    with replacing(path) as temporary, temporary.open("wb") as file:
        packed = gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) if packs else nullcontext(file)
        with packed as target:
            for piece in chain((header,), pieces):
                target.write(piece.encode())


def format_dpomdp(model: DecPOMDP) -> str:
    """`model` as the text of a `.dpomdp` file."""
    return "".join(text_of(model))


def _model(lines: Lines, discount: float | None, name: str) -> DecPOMDP:
    if discount is not None:
        discount = checked_discount(discount)
    try:
        header = read_header(lines)
        return _filled(lines, header, header.discount if discount is None else discount, name)
    except MemoryError:
        raise FormatError(lines.source, None, "expected a model that fits into memory, found a larger one") from None
    except FormatError:
        raise
    except InputError as error:
        raise FormatError(lines.source, None, str(error)) from None


def _filled(lines: Lines, header: Header, discount: float, name: str) -> DecPOMDP:
    """The model of `header` and of the rest of the lines."""
    names = [agent.name for agent in header.agents]
    state = States(lines, header.states)
    action = Joint(lines, "action", names, [agent.actions for agent in header.agents])
    seen = Joint(lines, "observation", names, [agent.observations for agent in header.agents])
    u, s, y = action.size, len(header.states), seen.size
    chances = probabilities(lines)
    moves = Table("T: joint action : state : next state : number", (action, state, state), chances, (u, s, s))
    sights = Table(
        "O: joint action : next state : joint observation : number", (action, state, seen), chances, (u, s, y)
    )
    pays = Statements(
        "R: joint action : state : next state : joint observation : number",
        (action, state, state, seen),
        rewards(lines),
        (s, y),
    )
    read_statements(lines, {"T": moves, "O": sights, "R": pays})
    transition = moves.finish(lines.source, action, header.states)
    observation = sights.finish(lines.source, action, header.states)
    reward = expected_rewards(pays.log.drain(), transition, observation, pays.axes)
    reward = 0.0 - reward if header.cost else reward  # not -reward: an unspecified reward is 0.0, not -0.0
    return DecPOMDP(header.agents, header.states, header.start, transition, observation, reward, discount, name)
