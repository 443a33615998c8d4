"""Options of a command from the settings of its methods: one option per field, with its range, default and sentence."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_args, get_origin

import typer

if TYPE_CHECKING:
    import msgspec

    from decpomdp.core.settings import Settings

Command = TypeVar("Command", bound=Callable[..., Any])
PLAIN = (int, float, bool, str)


def with_fields(command: Command, methods: "dict[str, type[Settings]]") -> Callable[..., Any]:
    """The command with every field of every method as an option, in place of its `**fields`."""
    import msgspec

    owners: dict[str, list[tuple[str, msgspec.structs.FieldInfo]]] = {}
    for name, kind in methods.items():
        for field in msgspec.structs.fields(kind):
            if not isinstance(field.default, msgspec.Struct):  # tunables are no options
                owners.setdefault(field.name, []).append((name, field))
    return _with_parameters(command, [_parameter(uses) for uses in owners.values()])


def without_fields(command: Command) -> Callable[..., Any]:
    """The command without its `**fields`, for the list of commands."""
    return _with_parameters(command, [])


def _with_parameters(command: Command, more: list[inspect.Parameter]) -> Callable[..., Any]:
    own = [p for p in inspect.signature(command).parameters.values() if p.kind is not p.VAR_KEYWORD]

    @wraps(command)
    def changed(*args: Any, **options: Any) -> Any:
        return command(*args, **options)

    changed.__signature__ = inspect.Signature([*own, *more])  # type: ignore[attr-defined]
    return changed


def _parameter(uses: "list[tuple[str, msgspec.structs.FieldInfo]]") -> inspect.Parameter:
    """The option of one field, which several methods may have; the settings check its range."""
    from decpomdp.core.settings import about

    kinds = {name: about(field.type) for name, field in uses}
    first = next(iter(kinds.values())).kind
    plain = all(known.kind in PLAIN or get_origin(known.kind) is Literal for known in kinds.values())
    alike = (
        len({(known.description, str(field.default)) for known, (_, field) in zip(kinds.values(), uses, strict=True)})
        == 1
    )
    if alike:
        words, default = next(iter(kinds.values())).description, uses[0][1].default
    else:
        words = " ".join(f"{name}: {kinds[name].description}{_default(field.default)}" for name, field in uses)
        default = None
    several = any(_takes_several(known.kind) for known in kinds.values())
    option = typer.Option(
        help=words + (" One number, or one per agent: 2,3." if several else "") + _default(default),
        show_default=False,
        rich_help_panel=f"Settings of {', '.join(kinds)}",
    )
    kind = first if plain else str
    return inspect.Parameter(
        uses[0][1].name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, option]
    )


def _default(value: Any) -> str:
    words = {True: "yes", False: "no"}.get(value, value) if isinstance(value, bool) else value
    return "" if value is None else f" Default: {words}."


def given(fields: dict[str, Any], kind: "type[Settings]") -> dict[str, Any]:
    """The fields that were set, as the settings take them: "2,3" as (2, 3)."""
    import msgspec

    from decpomdp.core.settings import about

    types = {field.name: about(field.type).kind for field in msgspec.structs.fields(kind)}
    found = {name: value for name, value in fields.items() if value is not None}
    return {
        name: _numbers(value) if isinstance(value, str) and _holds_numbers(types.get(name)) else value
        for name, value in found.items()
    }


def _holds_numbers(kind: Any) -> bool:
    """A single number is a text, too, where the same option takes several for another method."""
    return kind is int or _takes_several(kind)


def _takes_several(kind: Any) -> bool:
    return any(get_origin(part) in (tuple, list) for part in (kind, *get_args(kind)))


def _numbers(text: str) -> Any:
    """A whole number, or several with commas between them; anything else as it is, for the settings to refuse."""
    parts = text.split(",")
    if not all(part.strip().isdigit() for part in parts):
        return text
    return int(parts[0]) if len(parts) == 1 else tuple(map(int, parts))
