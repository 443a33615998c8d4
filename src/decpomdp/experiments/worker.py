"""A process that works on cells: `python -m decpomdp.experiments.worker`.

It reads one cell per line (JSON: work, settings) and writes one answer per line (JSON: result, or error). Work that
prints does not disturb the answers. An interrupt is not its business: whoever started it ends it. When its input ends,
it ends too, in the middle of a cell if need be, so that nothing goes on working for nobody.
"""

import importlib
import json
import os
import signal
import sys
import threading
import traceback
import warnings
from queue import SimpleQueue

from decpomdp.core import InputError
from decpomdp.io.files import finite


def main() -> None:
    """Work until the input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore")  # what learners warn of is in their results
    questions: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=_listen, args=(questions,), daemon=True).start()
    while True:
        answers.write(answer(questions.get()) + "\n")
        answers.flush()


def answer(line: str) -> str:
    """Do the work of one cell."""
    cell = json.loads(line)
    module, _, name = cell["work"].partition(":")
    try:
        return json.dumps({"result": finite(getattr(importlib.import_module(module), name)(cell["settings"]))})
    except InputError as error:
        return json.dumps({"error": str(error)})
    except Exception as error:
        traceback.print_exc()  # a mistake of ours
        return json.dumps({"error": f"{type(error).__name__}: {error}"})


def _listen(questions: "SimpleQueue[str]") -> None:
    for line in sys.stdin:
        questions.put(line)
    os._exit(0)


if __name__ == "__main__":
    main()
