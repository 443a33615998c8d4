"""The file of one episode of a Minari dataset, Arrow or Parquet: only the columns that are used, and only numbers.

The types of the columns have to be those in which Minari keeps the spaces: a struct for Dict and Tuple, lists of fixed
length for what has several numbers. Then rows bound what the columns hold. An Arrow file is a stream of messages
between a magic word and a footer; it is mapped, not read, so that its values are where they are in the file. Arrow
can also pack them: a few bytes may then announce any number, so such a message is refused, as Minari writes none.
Reference: Apache Arrow, Columnar format, and Message.fbs; FlatBuffers, internals.
"""

import os
import struct
from typing import Any

from decpomdp.io.minari.spaces import parts_in
from decpomdp.io.opening import parquet
from decpomdp.io.parquet_bounds import check_columns
from decpomdp.io.parquet_columns import check_beside

FLAT = ("rewards", "terminations", "truncations")
COLUMNS = ("observations", "actions", *FLAT)
MAGIC = b"ARROW1\0\0"
HEADER, COMPRESSION = 2, 3  # places of a message's content, and of a record batch's way of packing


def read_arrow(path: str, form: str, spaces: tuple[Any, Any], most: int) -> dict[str, Any]:
    """The episode in this file, of so many steps at most; whatever is wrong is an exception of Arrow or ValueError."""
    table = (_parquet if form == "parquet" else _arrow)(path, spaces, most)
    table.validate(full=True)
    columns = {name: table.column(name).combine_chunks() for name in COLUMNS}
    length = len(table) - 1  # Minari fills up actions and rewards, as there is one observation more
    if length < 1:
        raise ValueError(f"expected at least two rows, got {len(table)}")
    return {
        "observations": _values(spaces[0], columns["observations"], "observations"),
        "actions": _values(spaces[1], columns["actions"].slice(0, length), "actions"),
        **{name: _values(None, columns[name].slice(0, length), name) for name in FLAT},
    }


def _parquet(path: str, spaces: tuple[Any, Any], most: int) -> Any:
    with parquet(path) as found:
        schema, rows = found.schema_arrow, found.metadata.num_rows
        _check_schema(schema, spaces)
        _check_rows(rows, most)
        check_beside(schema, COLUMNS, path)
        widths = dict(zip(COLUMNS, (*map(parts_in, spaces), 1, 1, 1), strict=True))
        for name, count in check_columns(found, COLUMNS, path).items():
            if count > rows * widths[name]:
                raise ValueError(f"{name}: expected {rows} rows of {widths[name]} numbers, got {count} numbers")
        return found.read(columns=list(COLUMNS))


def _arrow(path: str, spaces: tuple[Any, Any], most: int) -> Any:
    import pyarrow as pa

    file = pa.memory_map(os.fsencode(path))
    if file.read(len(MAGIC)) != MAGIC:
        raise ValueError("expected an Arrow file, got another")
    schema, batches, rows = None, [], 0
    for message in pa.ipc.MessageReader.open_stream(file):
        if schema is None:
            if message.type != "schema":  # Arrow checks what a message says it is, and reads it as what it is asked for
                raise ValueError(f"expected the types of columns first, got a {message.type}")
            schema = pa.ipc.read_schema(message)
            _check_schema(schema, spaces)
            continue
        if message.type != "record batch" or message.metadata_version != pa.ipc.MetadataVersion.V5:
            raise ValueError(f"expected batches of rows as Minari writes them, got a {message.type}")
        if _is_packed(message.metadata.to_pybytes()):
            raise ValueError("expected values that are not packed, got packed ones")
        batches.append(pa.ipc.read_record_batch(message, schema).select(list(COLUMNS)))
        rows += batches[-1].num_rows
        _check_rows(rows, most)
    if schema is None:
        raise ValueError("expected an Arrow file, got an empty one")
    return pa.Table.from_batches(batches, pa.schema([schema.field(name) for name in COLUMNS]))


def _is_packed(message: bytes) -> bool:
    """Whether a message with a record batch says how its values are packed. Arrow has checked all offsets in it."""
    (table,) = struct.unpack_from("<I", message)
    place = table + _field(message, table, HEADER)
    return _field(message, place + struct.unpack_from("<I", message, place)[0], COMPRESSION) != 0


def _field(message: bytes, table: int, number: int) -> int:
    """Where in its table a field is; 0: it has none of this number."""
    known = table - struct.unpack_from("<i", message, table)[0]
    at, end = 4 + 2 * number, struct.unpack_from("<H", message, known)[0]
    return int(struct.unpack_from("<H", message, known + at)[0]) if at < end else 0


def _check_rows(rows: int, most: int) -> None:
    if rows - 1 > most:
        raise ValueError(f"expected at most {most} steps as announced, got {rows - 1}")


def _check_schema(schema: Any, spaces: tuple[Any, Any]) -> None:
    """Raise ValueError unless every column that is read is there once and has the type that fits its space."""
    for name, space in zip(COLUMNS, (*spaces, None, None, None), strict=True):
        if schema.names.count(name) != 1:
            raise ValueError(f"expected one column {name}, got {schema.names.count(name)}")
        if not _fits(space, schema.field(name).type):
            got = str(schema.field(name).type)[:80]
            raise ValueError(f"column {name}: expected numbers as its space says, got {got}")


def _fits(space: Any, kind: Any) -> bool:
    from gymnasium import spaces
    from pyarrow import types

    inner = _parts(space)
    if inner is not None:
        known = types.is_struct(kind) and kind.num_fields == len(inner)
        return known and all(kind.get_field_index(name) >= 0 and _fits(inner[name], kind[name].type) for name in inner)
    if isinstance(space, spaces.MultiDiscrete | spaces.MultiBinary):
        return types.is_fixed_size_list(kind) and kind.list_size == parts_in(space) and _fits(None, kind.value_type)
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def _parts(space: Any) -> dict[str, Any] | None:
    """The parts of a space by the names that Minari gives them in a struct; None: it has none."""
    from gymnasium import spaces

    if isinstance(space, spaces.Dict):
        return dict(space.spaces)
    return {str(n): part for n, part in enumerate(space.spaces)} if isinstance(space, spaces.Tuple) else None


def _values(space: Any, array: Any, where: str) -> Any:
    """What is recorded in a space, as arrays in its own parts; None: numbers."""
    from gymnasium import spaces

    if array.null_count:
        raise ValueError(f"{where}: expected a value in every row, got nulls")
    inner = _parts(space)
    if inner is not None:
        found = {name: _values(part, array.field(name), where) for name, part in inner.items()}
        return tuple(found.values()) if isinstance(space, spaces.Tuple) else found
    if isinstance(space, spaces.MultiDiscrete | spaces.MultiBinary):
        return _values(None, array.flatten(), where).reshape(len(array), -1)
    return array.to_numpy(zero_copy_only=False)
