"""Where the command `decpomdp` begins: an interrupt while its parts are still being imported ends it in silence."""

import signal


def run() -> None:
    """Import the command, then run it."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as in the background of a script: it stays so
            signal.signal(number, signal.SIG_DFL)
    from decpomdp.cli.main import run as run_command

    run_command()


if __name__ == "__main__":
    run()
