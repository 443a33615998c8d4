"""Thrift's compact protocol, as far as the headers of Parquet files need it: whole numbers, lists and structs.

A struct is a row of fields, each a byte (how much its number rises, and its type) and its value, up to a zero byte.
Whole numbers are written in groups of seven bits, the lowest first, signs folded in (0, -1, 1, -2, ...). Only wanted
fields are kept; the others are passed over, so that memory grows with what is asked for and not with what a file holds.

Readers differ in what they make of what no writer writes: a field twice or of another type, numbers that need more bits
than they have. Since this one is to see what Arrow's will see, all of that is refused.
Reference: Apache Thrift, specification of the compact protocol.
"""

from collections.abc import Mapping
from typing import Any

TRUE, FALSE, BYTE, SHORT, INT, LONG, DOUBLE, TEXT, LIST, SET, MAP, STRUCT, UUID = range(1, 14)
WIDTHS = {DOUBLE: 8, BYTE: 1, UUID: 16}  # bytes of values that are as wide as any other of their type
DEEPEST = 64  # structs in structs

# field -> INT or LONG: a whole number; {...}: what is wanted of the struct in it; [{...}]: of each struct of its list;
# ({...},): how many structs its list holds, and how many the lists that are wanted of those hold together
Wanted = Mapping[int, Any]
Found = dict[int, Any]  # field -> its number, struct, list of structs or pair of sizes


class BrokenError(ValueError):
    """What is not a struct in this protocol."""


class ShortError(BrokenError):
    """What may become one if more bytes follow."""


class ManyError(BrokenError):
    """More structs in counted lists than there may be."""


class Reader:
    """The bytes of a struct, read from `at` on; lists that are counted may hold `most` structs."""

    def __init__(self, data: bytes, at: int = 0, most: int = 1 << 31) -> None:
        self.data, self.at, self.most = data, at, most

    def struct(self, wanted: Wanted, depth: int = 0) -> Found:
        """The wanted fields of the struct that begins here."""
        if depth > DEEPEST:
            raise BrokenError("nested too deeply")
        found: Found = {}
        number = 0
        while (head := self._byte()) != 0:
            number = number + (head >> 4) if head >> 4 else self._whole(16)
            if not 0 < number < 1 << 15:
                raise BrokenError(f"no field {number}")
            self._field(head & 15, number, wanted, found, depth)
        return found

    def _field(self, kind: int, number: int, wanted: Wanted, found: Found, depth: int) -> None:
        if number not in wanted:
            if kind not in (TRUE, FALSE):  # of truth values alone the type says all
                self._pass(kind, depth)
            return
        inner = wanted[number]
        expected = STRUCT if isinstance(inner, dict) else LIST if isinstance(inner, list | tuple) else inner
        if number in found or kind != expected:
            raise BrokenError(f"field {number} twice, or of another type")
        if kind == STRUCT:
            found[number] = self.struct(inner, depth + 1)
        elif kind == LIST:
            found[number] = (self._structs if isinstance(inner, list) else self._sizes)(inner[0], depth)
        else:
            found[number] = self._whole(32 if kind == INT else 64)

    def _structs(self, wanted: Wanted, depth: int) -> list[Found]:
        return [self.struct(wanted, depth + 1) for _ in range(self._size_of_structs())]

    def _sizes(self, wanted: Wanted, depth: int) -> tuple[int, int]:
        size, inside = self._size_of_structs(), 0
        for _ in range(size):
            inside += sum(each[0] for each in self.struct(wanted, depth + 1).values())
            if inside > self.most:
                raise ManyError(f"more than {self.most}")
        return size, inside

    def _size_of_structs(self) -> int:
        size, kind = self._size()
        if kind != STRUCT:
            raise BrokenError("expected a list of structs")
        return size

    def _pass(self, kind: int, depth: int) -> None:
        """Go on behind a value of this type."""
        if kind in (SHORT, INT, LONG):
            self._unsigned()
        elif kind in WIDTHS:
            self._skip(WIDTHS[kind])
        elif kind == TEXT:
            self._skip(self._count())
        elif kind == STRUCT:
            self.struct({}, depth + 1)
        elif kind in (LIST, SET):
            size, kind = self._size()
            self._pass_many(size, (kind,), depth)
        elif kind == MAP:
            size = self._count()
            kinds = self._byte() if size else 0
            self._pass_many(size, (kinds >> 4, kinds & 15), depth)
        else:
            raise BrokenError(f"no type {kind}")

    def _pass_many(self, size: int, kinds: tuple[int, ...], depth: int) -> None:
        if depth > DEEPEST:
            raise BrokenError("nested too deeply")
        for _ in range(size):
            for kind in kinds:
                self._pass(BYTE if kind in (TRUE, FALSE) else kind, depth + 1)

    def _size(self) -> tuple[int, int]:
        head = self._byte()
        return (self._count() if head >> 4 == 15 else head >> 4), head & 15

    def _count(self) -> int:
        size = self._unsigned()
        if size >= 1 << 31:
            raise BrokenError(f"a size of {size}")
        return size

    def _whole(self, bits: int) -> int:
        """A whole number with its sign."""
        number = self._unsigned()
        if number >> bits:
            raise BrokenError(f"a number of more than {bits} bits")
        return (number >> 1) ^ -(number & 1)

    def _unsigned(self) -> int:
        number = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
        raise BrokenError("a number of more than 64 bits")

    def _byte(self) -> int:
        if self.at >= len(self.data):
            raise ShortError("it ends too soon")
        self.at += 1
        return self.data[self.at - 1]

    def _skip(self, size: int) -> None:
        self.at += size
        if self.at > len(self.data):
            raise ShortError("it ends too soon")
