"""Options of a command from the settings of its methods: one option per field, with its range, default and sentence."""

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_args, get_origin

import typer

if TYPE_CHECKING:
    import msgspec

    from decpomdp.core.settings import Settings

Command = TypeVar("Command", bound=Callable[..., Any])
PLAIN = (int, float, bool, str)


def with_fields(methods: "dict[str, type[Settings]]") -> Callable[[Command], Command]:
    """Give a command every field of every method as an option, in place of its `**fields`."""
    import msgspec

    owners: dict[str, list[tuple[str, msgspec.structs.FieldInfo]]] = {}
    for name, kind in methods.items():
        for field in msgspec.structs.fields(kind):
            if not isinstance(field.default, msgspec.Struct):  # tunables are no options
                owners.setdefault(field.name, []).append((name, field))

    def decorate(command: Command) -> Command:
        own = [
            p
            for p in inspect.signature(command).parameters.values()
            if p.kind is not p.VAR_KEYWORD and p.name not in owners  # which an earlier call may have added
        ]
        more = [_parameter(uses) for uses in owners.values()]
        command.__signature__ = inspect.Signature([*own, *more])  # type: ignore[attr-defined]
        return command

    return decorate


def without_fields(command: Command) -> Command:
    """The command without its `**fields`, for the list of commands."""
    own = [p for p in inspect.signature(command).parameters.values() if p.kind is not p.VAR_KEYWORD]
    command.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]
    return command


def _parameter(uses: "list[tuple[str, msgspec.structs.FieldInfo]]") -> inspect.Parameter:
    """The option of one field, which several methods may have."""
    from decpomdp.core.settings import about

    field, known = uses[0][1], about(uses[0][1].type)
    kind = known.kind if known.kind in PLAIN or get_origin(known.kind) is Literal else str
    same = len({about(use.type).description for _, use in uses}) == 1
    words = known.description if same else " ".join(f"{name}: {about(use.type).description}" for name, use in uses)
    several = _takes_several(known.kind)
    option = typer.Option(
        help=words + (" One number, or one per agent: 2,3." if several else ""),
        min=known.least if kind in (int, float) else None,
        max=known.most if kind in (int, float) and (known.most or 0) < 1e9 else None,
        show_default=False if field.default is None else str(field.default),
        rich_help_panel=f"Settings of {', '.join(name for name, _ in uses)}",
    )
    return inspect.Parameter(
        field.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, option]
    )


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
