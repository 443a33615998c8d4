"""Settings: one class per method; its fields define the Python signature, the command's options and run.json.

A field has a type with its range, a default and a description:

    max_nodes: Annotated[Count | None, Meta(description="Maximum number of nodes per agent.")] = None

Values are checked when they are set. The class name is the method's name in Python and its tag the name in JSON and on
the command line. Nested `Tuning` structs are for developers and are not options of the command.
"""

import math
from collections.abc import Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Union, get_args, get_origin

import msgspec
import numpy as np
from msgspec import Meta

from decpomdp.core.errors import InputError

Count = Annotated[int, Meta(ge=1, le=10**12)]
Whole = Annotated[int, Meta(ge=0, le=10**12)]
Positive = Annotated[float, Meta(ge=1e-12, le=1e12)]
Share = Annotated[float, Meta(ge=0, le=1)]


class Tuning(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Immutable fields, each checked when it is set. Base of nested settings that only developers change."""

    def __post_init__(self) -> None:
        for field in msgspec.structs.fields(self):
            value = _checked(field, getattr(self, field.name))
            msgspec.structs.force_setattr(self, field.name, value)


class Settings(Tuning, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="method"):
    """Base of the settings of a method."""

    runner: ClassVar[str]  # "module:name" of the method, called with (problem or episodes, settings, inputs)
    limits: ClassVar[tuple[str, ...]] = ("seconds",)  # the fields of `Budget` that the method counts
    inputs: ClassVar[tuple[str, ...]] = ()  # its inputs in addition to its source: "begin", "behaviours", "engine"
    default_seconds: ClassVar[float | None] = None  # the time limit if no limit is given; None: until it has converged

    @property
    def method(self) -> str:
        """The method's name in JSON and on the command line."""
        return str(self.__struct_config__.tag)


def _checked(field: msgspec.structs.FieldInfo, value: Any) -> Any:
    plain = value.item() if isinstance(value, np.generic) else value
    try:
        checked = msgspec.convert(plain, field.type)
    except msgspec.ValidationError:
        checked = math.nan
    numbers = checked if isinstance(checked, tuple) else (checked,)
    if any(isinstance(each, float) and not math.isfinite(each) for each in numbers):
        raise InputError(f"{field.name}: expected {expected(field.type)}, got {value!r}"[:300])
    return checked


class About(NamedTuple):
    """The type of a field, taken apart."""

    kind: Any  # without None and annotations
    optional: bool  # whether None is allowed
    least: float | None
    most: float | None
    description: str


def about(kind: Any) -> About:
    """The plain type of a field, its range and its description.

    >>> about(Annotated[Count | None, Meta(description="Nodes.")])[2:]
    (1, 1000000000000, 'Nodes.')
    """
    if get_origin(kind) is Annotated:
        inner = about(kind.__origin__)
        for meta in kind.__metadata__:
            inner = inner._replace(
                least=inner.least if meta.ge is None else meta.ge,
                most=inner.most if meta.le is None else meta.le,
                description=meta.description or inner.description,
            )
        return inner
    parts = get_args(kind) if get_origin(kind) in (Union, UnionType) else ()
    if NoneType in parts:
        rest = [part for part in parts if part is not NoneType]
        return about(rest[0] if len(rest) == 1 else Union[tuple(rest)])._replace(optional=True)  # noqa: UP007
    return About(kind, False, None, None, "")


def expected(kind: Any) -> str:
    """The allowed values of a field, for error messages.

    >>> expected(Count), expected(Literal["double", "single"] | None)
    ('a whole number from 1 to 1e+12', 'double, single or None')
    """
    plain, optional, least, most, _ = about(kind)
    parts = get_args(plain)
    if get_origin(plain) is Literal:
        words = ", ".join(map(str, parts))
    elif get_origin(plain) in (Union, UnionType):
        words = " or ".join(expected(part) for part in parts)
    elif get_origin(plain) in (list, tuple):
        words = f"a list of: {expected(parts[0])}"
    else:
        names = {int: "a whole number", float: "a finite number", bool: "True or False", str: "a text"}
        words = names.get(plain, getattr(plain, "__name__", str(plain)))
        if least is not None and most is not None:
            words += f" from {least:g} to {most:g}"
    return f"{words} or None" if optional else words


def settings_of(kind: type[Settings], fields: dict[str, Any]) -> Settings:
    """The settings from keyword arguments; InputError for a field that the method does not have."""
    known: Sequence[str] = kind.__struct_fields__
    for name in fields:
        if name not in known:
            owner = kind.__struct_config__.tag
            raise InputError(f"{name}: not a setting of {owner}, which has {', '.join(known) or 'none'}")
    return kind(**fields)
