"""The command `decpomdp`."""

import io
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Collection
from typing import Annotated, Any

import typer

from decpomdp.cli import data, evaluate, experiments, learn, problems, results, words
from decpomdp.cli.words import INTERRUPTED, TERMINATED

# error of typer for wrong arguments; typer contains its own copy of click, or uses click itself
USAGE: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
HELP: dict[str, Any] = {"help_option_names": ["-h", "--help"]}
COMMANDS: dict[str, Callable[..., None]] = {
    "list": problems.list_problems,
    "info": problems.info,
    "learn": learn.learn,
    "plan": learn.plan,
    "simulate": problems.simulate,
    "evaluate": evaluate.evaluate,
    "show": results.show,
    "export": results.export,
    "report": results.report,
    "runs": results.list_runs,
    "benchmark": experiments.benchmark,
    "reproduce": experiments.reproduce,
}


def app_with(detailed: Collection[str]) -> typer.Typer:
    """The command; the `detailed` subcommands also have the settings of their methods as options.

    Settings import numpy, which would slow down `decpomdp --help`.
    """
    app = typer.Typer(
        name="decpomdp",
        help="Learn small finite-state controllers for teams of agents that cannot communicate.",
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings=HELP,
    )
    app.callback()(_main)
    for name, command in COMMANDS.items():
        generated = command in (learn.learn, learn.plan)
        app.command(name)(learn.command_of(name, name in detailed) if generated else command)
    app.add_typer(data.app, name="data")
    return app


def _version(value: bool) -> None:
    if value:
        import decpomdp

        typer.echo(f"decpomdp {decpomdp.__version__}")
        raise typer.Exit


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    words.note(f"warning: {message}")


def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def run(arguments: list[str] | None = None) -> None:
    """Run the command and exit; a user's mistake is one line on standard error and exit code 2."""
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    if sys.stderr is None:  # as for a daemon: libraries need one, and a file opened later must not get its number
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        if sys.stdout is None:
            words.fail("standard output is closed")
        code = 1 if sys.stdout is None else code_of(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        code = INTERRUPTED
    _exit(code)


def _exit(code: int) -> None:
    """Exit without waiting for work that is still running on its thread."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            try:
                stream.flush()
            except (OSError, ValueError):  # closed by the reading process
                code = code or 1
    if code in (INTERRUPTED, TERMINATED) or any(thread.name == words.ABANDONED for thread in threading.enumerate()):
        os._exit(code)
    sys.exit(code)


def code_of(arguments: list[str]) -> int:
    """Run the command; its exit code: 0 success, 1 failure, 2 a user's mistake, 130 interrupted, 143 terminated."""
    warnings.showwarning = _warn
    try:
        command = typer.main.get_command(app_with(arguments[:1]))
        _hide_flag_types(command)
        result = command(args=arguments or ["--help"], standalone_mode=False)
        sys.stdout.flush()
    except USAGE as error:
        context = getattr(error, "ctx", None)
        path = context.command_path if context else "decpomdp"
        if error.format_message():  # empty for a group without a command, which has printed its help
            words.fail(f"{error.format_message()} (see `{path} --help`)")
        return 2
    except (typer.Abort, KeyboardInterrupt):
        result = INTERRUPTED
    except typer.Exit as error:
        result = error.exit_code
    except SystemExit as error:
        return int(error.code or 0)
    except Exception as error:
        code = _handled(error)
        if code is None:
            raise
        return code
    if result == INTERRUPTED:  # typer may have turned the interrupt into this exit code
        words.aside("error: interrupted\n")
    return result if isinstance(result, int) else 0


def _hide_flag_types(command: Any) -> None:
    """Help shows flags without a type: they take no value."""
    for option in (*command.params, command.get_help_option(command.context_class(command, **HELP))):
        if getattr(option, "is_flag", False):
            option.metavar = " "
    for part in getattr(command, "commands", {}).values():
        _hide_flag_types(part)


def _handled(error: Exception) -> int | None:
    """The exit code for an error that a user can understand, after one line about it; None for any other error."""
    from decpomdp.core.errors import InputError  # imported late: the package loads numpy

    if isinstance(error, InputError):
        words.fail(str(error))
        return 2
    if isinstance(error, MemoryError):
        words.fail("not enough memory for this problem")
        return 1
    if not isinstance(error, OSError):
        return None
    # of standard output or the working folder: errors of other files are InputErrors
    if error.filename is not None:
        words.fail(f"{error.filename}: {error.strerror or error}")
        return 2
    if not isinstance(error, BrokenPipeError):
        words.fail(f"standard output: {error.strerror or error}")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # prevents a second error at exit
    return 1


if __name__ == "__main__":
    run()
