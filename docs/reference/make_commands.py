"""Write the command reference from the commands themselves: python docs/reference/make_commands.py

A test compares `commands.md` with what this makes, so the page cannot say what the command does not do.
"""

import inspect
import sys
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import typer.main

from decpomdp.cli.main import COMMANDS, app_with

PAGE = Path(__file__).with_name("commands.md")
HEAD = """# Commands

One table per command, made from the commands themselves by `docs/reference/make_commands.py`. `decpomdp COMMAND --help`
says the same in the terminal. A mistake in the arguments is one line on standard error and exit code 2; an interrupt is
exit code 130, except where the best so far is kept.
"""
KINDS = {int: "N", float: "NUMBER", str: "TEXT", Path: "PATH"}


def page() -> str:
    """The whole page."""
    found = commands(typer.main.get_command(app_with(COMMANDS)))
    sections = [f"\n## {name}\n\n{_section(name, command)}" for name, command in found]
    return HEAD + "".join(sections)


def commands(command: Any, name: str = "decpomdp") -> list[tuple[str, Any]]:
    """Every command that does something, by its full name: groups are replaced by what is in them."""
    if not hasattr(command, "commands"):
        return [(name, command)]
    return [found for key, part in command.commands.items() for found in commands(part, f"{name} {key}")]


def parts(command: Any) -> list[tuple[str, Any]]:
    """What a command takes, arguments first: how it is written, and its object."""
    found = [(_written(parameter), parameter) for parameter in command.params]
    return sorted(found, key=lambda row: _place(row[1]))


def _written(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return (parameter.metavar or parameter.name.upper()).replace("|", " or ")
    return ", ".join((*parameter.opts, *parameter.secondary_opts))


def _place(parameter: Any) -> int:
    """Arguments, options, options that belong to a group."""
    if parameter.param_type_name == "argument":
        return 0
    return 2 if parameter.rich_help_panel else 1


def _section(name: str, command: Any) -> str:
    rows, lines, group = parts(command), [], None
    kinds = inspect.signature(command.callback).parameters
    for written, parameter in rows:
        if parameter.rich_help_panel != group:
            group = parameter.rich_help_panel
            lines.append(f"| **{group}** | |")
        lines.append(f"| {_cell(written, parameter, kinds[parameter.name].annotation)} | {_meaning(parameter)} |")
    arguments = "".join(f" {written}" for written, parameter in rows if _place(parameter) == 0)
    table = "\n".join(["| | |", "|---|---|", *lines])
    return f"`{name}{arguments} [OPTIONS]`\n\n{' '.join(command.help.split())}\n\n{table}\n"


def _cell(written: str, parameter: Any, annotation: Any) -> str:
    """An argument, a switch, or an option with the kind of its value."""
    if _place(parameter) == 0 or parameter.is_flag:
        return f"`{written}`"
    kind = annotation.__origin__ if get_origin(annotation) is Annotated else annotation
    plain = next((part for part in get_args(kind) if part is not type(None)), kind)  # N of N | None
    if get_origin(kind) is Literal or get_origin(plain) is Literal:
        return f"`{written} {' or '.join(get_args(plain) or get_args(kind))}`"
    return f"`{written} {parameter.metavar or KINDS[plain]}`"


def _meaning(parameter: Any) -> str:
    """Its help, whether it must be given, and its default. A bar would end the cell of the table."""
    words = " ".join((parameter.help or "").split()).replace("[default: ", "Default: ").replace("]", ".")
    if parameter.required:
        words += " *Required.*"
    elif parameter.default is not None and parameter.default is not False and parameter.default != "":
        words += f" Default: {parameter.default}."
    return words.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page())
    sys.stdout.write(f"written to {PAGE.name}\n")
