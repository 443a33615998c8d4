"""A worker process: `python -m decpomdp.environments.sumo.worker`. One SUMO, told what to do over its standard input.

It ends when its input does, so it never outlives who started it. An interrupt at the keyboard is not for it. What SUMO
itself prints goes to standard error: standard output is for answers.
"""

import os
import signal
import sys
from typing import Any, BinaryIO

import numpy as np

from decpomdp.core.errors import InputError
from decpomdp.environments.sumo.frames import packed, receive, send
from decpomdp.environments.sumo.simulation import Simulation


def answer(simulation: Simulation | None, request: list[Any]) -> tuple[Simulation | None, list[Any]]:
    """Do what is asked; the simulation afterwards and the answer."""
    word, *arguments = request
    if word == "open":
        return Simulation(*arguments), ["opened"]
    if simulation is None:
        raise InputError(f"worker: expected to be told to open a grid first, got {word!r}")
    if word == "reset":
        return simulation, ["shown", *packed(simulation.reset(*arguments))]
    if word == "step":
        actions = None if arguments[0] is None else np.frombuffer(arguments[0], np.int16)
        return simulation, ["shown", *packed(simulation.step(actions))]
    if word == "measures":
        return simulation, ["measures", *simulation.measures()]
    raise InputError(f"worker: expected open, reset, step or measures, got {word!r}")


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Until there are no more requests."""
    simulation = None
    while (request := receive(requests)) is not None:
        try:
            simulation, told = answer(simulation, request)
        except InputError as error:
            told = ["refused", str(error)]
        send(answers, told)


def main() -> None:
    """The process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    serve(sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
