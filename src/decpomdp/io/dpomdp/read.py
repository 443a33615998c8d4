"""The reader of `.dpomdp` files.

It reads the complete format: start in every form, joint actions and observations by index, by names or with `*`,
numbers, rows, matrices, uniform and identity, later statements overwriting earlier ones, rewards that depend on the
next state and observation (the model keeps their expectation), costs, comments, quoted words, gzip. Errors are
`file:line: expected ..., got ...`. The sizes announced by the header are bounded before memory is allocated.
"""

from pathlib import Path

from decpomdp.core import checks
from decpomdp.core.errors import FormatError, InputError
from decpomdp.core.model import DecPOMDP, checked_discount
from decpomdp.io.dpomdp.header import read_header
from decpomdp.io.dpomdp.statements import read_tables
from decpomdp.io.dpomdp.text import Lines, read_data
from decpomdp.io.files import FilePath, path_of


def read_dpomdp(path: FilePath, discount: float | None = None) -> DecPOMDP:
    """The model in a `.dpomdp` file, compressed with gzip or not; its name is that of the file without suffixes.

    `discount` replaces that of the file.
    """
    name = Path(path_of(path)).name.removesuffix(".gz").removesuffix(".dpomdp")
    return _model(read_data(path), path_of(path), discount, _on_one_line(name))


def parse_dpomdp(text: str, source: str = "text", discount: float | None = None) -> DecPOMDP:
    """The model in `text`, without a name; `source` names the text in errors."""
    return _model(text.encode(), source, discount, "")


def _model(data: bytes, source: str, discount: float | None, name: str) -> DecPOMDP:
    if discount is not None:
        discount = checked_discount(discount)
    lines = Lines(data, source)
    try:
        header = read_header(lines)
        tables = read_tables(lines, header)
        discount = header.discount if discount is None else discount
        return DecPOMDP(header.agents, header.states, header.start, *tables, discount, name)
    except FormatError:
        raise
    except InputError as error:
        raise FormatError(source, None, str(error)) from None


def _on_one_line(name: str) -> str:
    """A file name as the name of a problem: without undecodable bytes, line breaks and control characters."""
    readable = name.encode(errors="replace").decode()
    return " ".join("".join(" " if one in checks.BREAKS or ord(one) < 32 else one for one in readable).split())
