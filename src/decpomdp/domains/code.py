"""A problem from a Python file: `my_problem.py:build` is what the function `build` of that file returns.

Code runs only when a person names it, in Python or on the command line. A name that was read from a file (`run.json`,
`team.json`) is never run: `load` refuses names of code.
"""

import re
import sys
import traceback
from pathlib import Path
from types import ModuleType

from decpomdp.core import DecPOMDP, InputError, Simulator
from decpomdp.domains.load import is_code, load, opened

NAMED = re.compile(r"(?P<path>.+\.py):(?P<function>[A-Za-z_]\w*)")


def load_named(problem: str, discount: float | None = None) -> DecPOMDP | Simulator:
    """Like `load`, for a name that was given on the command line: it may also be `file.py:function`."""
    found = NAMED.fullmatch(problem)
    if found is None and is_code(problem):
        raise InputError(
            f"{problem}: expected the function that builds the problem, such as {problem.rpartition('.py')[0]}.py:build"
        )
    return load(problem, discount) if found is None else opened(_built(found["path"], found["function"]), discount)


def _line(error: Exception, path: str, file: str) -> str:
    """The line of the user's file that an error comes from."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f"{path}:{lines[-1]}" if lines else path


def _built(path: str, function: str) -> DecPOMDP | Simulator:
    place = Path(path)
    if not place.is_file():
        raise InputError(f"{path}: no such file")
    module = ModuleType(f"decpomdp_{place.stem}")
    module.__file__ = str(place)
    sys.modules[module.__name__] = module
    sys.path.insert(0, str(place.absolute().parent))  # as for a script: it may import its neighbours
    try:
        exec(compile(place.read_bytes(), str(place), "exec"), vars(module))  # noqa: S102 - the user named it
        build = getattr(module, function, None)
        if not callable(build):
            raise InputError(f"{path}: expected a function {function}, got {'none' if build is None else repr(build)}")
        problem = build()
    except InputError:
        raise
    except Exception as error:
        reason = error.msg if isinstance(error, SyntaxError) else error
        raise InputError(f"{_line(error, path, str(place))}: {type(error).__name__}: {reason}") from error
    finally:
        sys.path.remove(str(place.absolute().parent))
    if isinstance(problem, DecPOMDP | Simulator):
        return problem
    raise InputError(f"{path}:{function}: expected a DecPOMDP or a Simulator, got {type(problem).__name__}")
