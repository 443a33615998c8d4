"""The command `decpomdp`."""

import io
import os
import sys
import warnings
from typing import Annotated, Any

import typer

from decpomdp.cli import (
    benchmark,
    data,
    evaluate,
    export,
    learn,
    list_runs,
    plan,
    problems,
    report,
    reproduce,
    resume,
    show,
    simulate,
    words,
)
from decpomdp.cli.interrupts import interrupts

app = typer.Typer(
    name="decpomdp",
    help="Learn small finite-state controllers for teams that must act without talking.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("list")(problems.list_problems)
app.command("info")(problems.info)
app.command("learn")(learn.learn)
app.command("plan")(plan.plan)
app.command("simulate")(simulate.simulate)
app.command("evaluate")(evaluate.evaluate)
app.command("show")(show.show)
app.command("export")(export.export)
app.command("report")(report.report)
app.command("runs")(list_runs.list_runs)
app.command("benchmark")(benchmark.benchmark)
app.command("reproduce")(reproduce.reproduce)
app.add_typer(data.app, name="data")


# what the command-line library raises for a mistake in the arguments; it ships its own copy of click, or uses click's
USAGE: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


STOPPED = 130  # the exit code of an interrupt
GONE = "the working folder is gone; call the command in one that is there"


def _version(wanted: bool) -> None:
    if wanted:
        import decpomdp

        typer.echo(f"decpomdp {decpomdp.__version__}")
        raise typer.Exit


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    words.note(f"warning: {message}")


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def _output_lost(error: OSError) -> int:
    """Standard output cannot be written to. Nobody may be left to be told, and Python must not try again at exit."""
    if not isinstance(error, BrokenPipeError):
        words.fail(f"standard output: {error.strerror or error}")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 1


def _is_somewhere() -> bool:
    """Whether the working folder is there."""
    try:
        os.getcwd()
    except OSError:
        return False
    return True


def run(arguments: list[str] | None = None) -> None:
    """Run the command; a user's mistake is one line on standard error and exit code 2."""
    try:
        interrupts.listen()
        code = _prepared(arguments)
    except KeyboardInterrupt:  # between two lines of ours
        code = interrupts.code
    interrupts.leave(interrupts.code if interrupts.killed else code)


def _prepared(arguments: list[str] | None) -> int:
    if sys.stderr is None:  # as daemons have it; libraries want one, and a file that is opened later must not be it
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 for as long as we live
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if sys.stdout is None:
        words.fail("standard output is closed")
        return 1
    return code_of(arguments)


def _mistake() -> type[ValueError]:
    """Looked up when something was raised, and not before: its room loads numpy, for which `--help` need not wait."""
    from decpomdp.core.errors import InputError

    return InputError


def code_of(arguments: list[str] | None = None) -> int:
    """Run the command and say how it went: 0 well, 2 a user's mistake, 130 interrupted, 143 killed politely."""
    given = sys.argv[1:] if arguments is None else arguments
    warnings.showwarning = _warn
    try:
        again = resume.recorded(given)
        resume.given.set(tuple(again))
        result = app(args=again or ["--help"], standalone_mode=False)
        sys.stdout.flush()
    except resume.OverAlready as over:
        words.note(str(over))
        return 0
    except USAGE as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "decpomdp"
        words.fail(f"{error.format_message()} (see `{command} --help`)")
        return 2
    except (typer.Abort, KeyboardInterrupt):  # before anything is imported: it may have come within an import
        result = STOPPED
    except typer.Exit as error:
        result = error.exit_code
    except _mistake() as error:
        words.fail(str(error))
        return 2
    except OSError as error:  # files of ours are spoken of as InputError: this is the output itself, or no path at all
        if error.filename is None:
            if isinstance(error, FileNotFoundError) and not _is_somewhere():
                words.fail(GONE)
                return 2
            return _output_lost(error)
        words.fail(f"{error.filename}: {error.strerror or error}")
        return 2
    except MemoryError:
        words.fail("not enough memory for this problem")
        return 1
    if result == STOPPED:  # the command-line library may have turned the interrupt into this number
        words.aside("error: interrupted\n")  # with nothing imported: an import may be what was interrupted
        return interrupts.code
    return result if isinstance(result, int) else 0


if __name__ == "__main__":
    run()
