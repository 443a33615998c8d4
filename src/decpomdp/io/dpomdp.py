"""The `.dpomdp` file format, in and out.

    model = read_dpomdp("dectiger.dpomdp")
    write_dpomdp(model, "copy.dpomdp.gz")

The format is that of the MADP toolbox, itself an extension of Cassandra's POMDP files. This reader takes all of it:
start in every form, joint actions and observations by index, by words or with `*`, numbers, rows, matrices, uniform
and identity, later lines overwriting earlier ones, rewards that depend on the next state and observation (whose
expectation the model keeps), costs, comments and blank lines anywhere, gzip. A wrong file is refused with
`file:line: expected ..., found ...`; so is a file that would need more than `Limits` allow, before it is given any.

The work is done line by line in dpomdp_text (bytes to lines), dpomdp_header, dpomdp_statements (T, O and R, into a
dpomdp_log), dpomdp_fields (what stands between two colons), then in dpomdp_tables, dpomdp_rewards, dpomdp_writer.
"""

import gzip
import os
from pathlib import Path

from decpomdp.core.checks import probabilities as checked_probabilities
from decpomdp.core.errors import FormatError, InputError
from decpomdp.core.model import DecPOMDP, checked_discount
from decpomdp.io import dpomdp_fields as fields
from decpomdp.io.dpomdp_header import Header, read_header
from decpomdp.io.dpomdp_rewards import expected_rewards
from decpomdp.io.dpomdp_statements import Statements, read_statements
from decpomdp.io.dpomdp_tables import Table
from decpomdp.io.dpomdp_text import STANDARD, Limits, Lines, lines_of_file, lines_of_text
from decpomdp.io.dpomdp_writer import text_of
from decpomdp.io.files import replacing

__all__ = ["Limits", "format_dpomdp", "parse_dpomdp", "read_dpomdp", "write_dpomdp"]


def read_dpomdp(
    path: str | os.PathLike[str], discount: float | None = None, limits: Limits = STANDARD
) -> DecPOMDP:
    """The model in the file at `path`, gzipped or not, named after the file; `discount` replaces that of the file."""
    name = Path(os.fsdecode(path)).name.removesuffix(".gz").removesuffix(".dpomdp")
    name = name.encode(errors="replace").decode()  # a file's name may hold bytes that no text can
    return _model(lines_of_file(path, limits), discount, name)


def parse_dpomdp(
    text: str, source: str = "text", discount: float | None = None, limits: Limits = STANDARD
) -> DecPOMDP:
    """The model that `text` describes, without a name; complaints call the text `source`."""
    return _model(lines_of_text(text, source, limits), discount, "")


def write_dpomdp(model: DecPOMDP, path: str | os.PathLike[str]) -> None:
    """Writes `model` to `path`, completely or not at all; gzipped if the name ends in `.gz`."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        if os.fspath(path).endswith(".gz"):
            with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0) as packed:
                packed.writelines(piece.encode() for piece in text_of(model))
        else:
            file.writelines(piece.encode() for piece in text_of(model))


def format_dpomdp(model: DecPOMDP) -> str:
    """`model` as the text of a `.dpomdp` file."""
    return "".join(text_of(model))


def _model(lines: Lines, discount: float | None, name: str) -> DecPOMDP:
    if discount is not None:
        discount = checked_discount(discount)
    header = read_header(lines)
    try:
        return _filled(lines, header, header.discount if discount is None else discount, name)
    except MemoryError:
        raise FormatError(lines.source, None, "expected a model that fits into memory, found a larger one") from None
    except FormatError:
        raise
    except InputError as error:
        raise FormatError(lines.source, None, str(error)) from None


def _filled(lines: Lines, header: Header, discount: float, name: str) -> DecPOMDP:
    """The model after the rest of the lines."""
    names = [agent.name for agent in header.agents]
    states = fields.States(lines, header.states)
    actions = fields.Joint(lines, "action", names, [agent.actions for agent in header.agents])
    seen = fields.Joint(lines, "observation", names, [agent.observations for agent in header.agents])
    u, s, y = actions.size, len(header.states), seen.size
    chances, amounts = fields.probabilities(lines), fields.rewards(lines)
    start = "joint action : state"
    T = Table("T: joint action : state : next state : probability", (actions, states, states), chances, (u, s, s))
    O = Table("O: joint action : next state : joint observation : probability", (actions, states, seen), chances, (u, s, y))
    R = Statements("R: joint action : state : next state : joint observation : reward", (actions, states, states, seen), amounts, (s, y))
    read_statements(lines, {"T": T, "O": O, "R": R})
