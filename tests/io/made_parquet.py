"""Parquet files whose footers and pages are written by hand: structs are lists of (field, type, value).

Imported as `.made_parquet`, as `.made_episodes` is.
"""

FALSE, INT, LONG, TEXT, LIST, STRUCT = 2, 5, 6, 8, 9, 12


def varint(number):
    data = bytearray()
    while number > 127:
        data.append(number & 127 | 128)
        number >>= 7
    return bytes([*data, number])


def signed(number):
    return varint(number << 1 if number >= 0 else (-number << 1) - 1)


def struct(fields):
    """Every field by its own number: longer than it need be, and as good."""
    return b"".join(bytes([kind]) + signed(field) + _value(kind, value) for field, kind, value in fields) + b"\0"


def _value(kind, value):
    if kind == STRUCT:
        return struct(value)
    if kind == LIST:
        inner, items = value
        return bytes([0xF0 | inner]) + varint(len(items)) + b"".join(_value(inner, item) for item in items)
    if kind == TEXT:
        return varint(len(value)) + value
    return b"" if kind in (1, FALSE) else bytes([value]) if kind == 3 else signed(value)


class _Taken:
    def __init__(self, data):
        self.data, self.at = data, 0

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def varint(self):
        number, shift = 0, 0
        while (byte := self.byte()) > 127:
            number, shift = number | (byte & 127) << shift, shift + 7
        return number | byte << shift

    def value(self, kind):
        if kind in (1, FALSE):
            return None
        if kind == 3:
            return self.byte()
        if kind == TEXT:
            size = self.varint()
            self.at += size
            return self.data[self.at - size : self.at]
        if kind == LIST:
            head = self.byte()
            count = self.varint() if head >> 4 == 15 else head >> 4
            return head & 15, [self.value(head & 15) for _ in range(count)]
        if kind == STRUCT:
            return self.struct()
        number = self.varint()
        return (number >> 1) ^ -(number & 1)

    def struct(self):
        fields, field = [], 0
        while head := self.byte():
            field = field + (head >> 4) if head >> 4 else self.value(INT)
            fields.append((field, head & 15, self.value(head & 15)))
        return fields


def parts(path):
    """All before the footer, and the footer."""
    data = path.read_bytes()
    size = int.from_bytes(data[-8:-4], "little")
    return data[: -8 - size], _Taken(data[-8 - size : -8]).struct()


def write(path, body, footer):
    data = struct(footer)
    path.write_bytes(body + data + len(data).to_bytes(4, "little") + b"PAR1")


def changed(fields, **values):
    """The same struct with other values of fields, called f3 and so on; None: without it."""
    new = {int(name[1:]): value for name, value in values.items()}
    return [(f, kind, new.get(f, value)) for f, kind, value in fields if new.get(f, value) is not None]


def inside(fields, field):
    """The value of a field."""
    return next(value for number, _, value in fields if number == field)
