"""Open a problem: by name, from a file, from a function in a Python file, or a model or simulator itself.

`my_problem.py:build` names the problem that the function `build` of that file returns. Code runs only if the user names
it, in Python or on the command line (`load_named`). Code named in a file (`run.json`, `team.json`) is never run: `load`
rejects names of code.
"""

import os
import re
import sys
from pathlib import Path
from types import ModuleType

from decpomdp.core import DecPOMDP, InputError, Simulator, checks
from decpomdp.core.agent import team_of_agents
from decpomdp.core.errors import place_of
from decpomdp.core.model import checked_discount
from decpomdp.domains import registry
from decpomdp.io.files import is_logged

ENDINGS = (".dpomdp", ".dpomdp.gz")
MEMBERS = ("agents", "discount", "name", "repeatable", "reset", "step")  # of a simulator
CODE = re.compile(r"(?P<path>.+\.py)(:(?P<function>\w*))?")  # a name of code

Problem = str | os.PathLike[str] | DecPOMDP | Simulator


def load(problem: str | os.PathLike[str], discount: float | None = None) -> DecPOMDP | Simulator:
    """The built-in problem of that name, or the model in that `.dpomdp` file (gzipped or not).

    Most problems are models. Some are too large for tables and can only be played: simulators.

    Parameters
    ----------
    problem
        A name (see `problems`), or the path of a file.
    discount
        Without one, a built-in problem has 0.9 and a file its own.

    Returns
    -------
    DecPOMDP or Simulator
        The problem.

    Raises
    ------
    InputError
        No problem has that name, or the discount is not from 0 to 1.
    FormatError
        The file cannot be read; the message has the place.

    Examples
    --------
    >>> import decpomdp as dp
    >>> model = dp.load("dectiger", discount=0.95)
    >>> model.states, model.discount
    (('tiger-left', 'tiger-right'), 0.95)
    """
    if not isinstance(problem, str | os.PathLike) or not isinstance(os.fspath(problem), str):
        raise InputError(f"problem: expected a name or the path of a file, got {checks.kind_of(problem)}")
    text = os.fspath(problem)
    if is_code(text):
        raise InputError(
            f"{text}: code is run only when it is named on the command line; in Python, pass the object that it builds"
        )
    if is_logged(text):
        raise InputError(f"{text}: expected a problem, got recorded episodes")
    if is_file(text):
        from decpomdp.io.dpomdp.read import read_dpomdp

        return read_dpomdp(text, discount)
    built: DecPOMDP | Simulator = registry.build(text, discount)
    return built


def is_code(problem: str) -> bool:
    """Whether this names Python code, `file.py:function`; code named in a file is never run."""
    return CODE.fullmatch(problem) is not None


def is_file(problem: str) -> bool:
    """Whether `problem` is the path of a file, and not a name."""
    return not registry.is_built_in(problem) and (problem.endswith(ENDINGS) or _is_file(problem))


def opened(problem: Problem, discount: float | None = None) -> DecPOMDP | Simulator:
    """The problem of that name or file, or `problem` itself; `discount` is for names, files and models only."""
    if isinstance(problem, str | os.PathLike):
        return load(problem, discount)
    if isinstance(problem, DecPOMDP):
        return problem if discount is None else problem.with_discount(discount)
    if isinstance(problem, type) or not isinstance(problem, Simulator):
        raise InputError(_no_problem("problem", problem, "a name, a .dpomdp file, a DecPOMDP or a Simulator"))
    if discount not in (None, problem.discount):
        raise InputError(f"discount: expected none for a simulator, which has its own, got {discount!r}")
    team_of_agents(problem.agents)
    checked_discount(problem.discount)
    checks.line("name of the simulator", problem.name)
    return problem


def _no_problem(where: str, value: object, expected: str) -> str:
    """Why `value` is no problem; of an own simulator, the members that it lacks."""
    missing = [member for member in MEMBERS if getattr(value, member, None) is None]
    if isinstance(value, type) or {"reset", "step"} <= set(missing):
        return f"{where}: expected {expected}, got {checks.kind_of(value)}"
    if hasattr(value, "action_space"):
        return f"{where}: expected {expected}, got an environment; dp.from_pettingzoo makes it a simulator"
    plural = "s" if len(missing) > 1 else ""
    return f"simulator {type(value).__name__}: expected the member{plural} {', '.join(missing)}"


def load_model(problem: str | os.PathLike[str] | DecPOMDP, discount: float | None = None) -> DecPOMDP:
    """Like `opened`, for problems with a model."""
    result = opened(problem, discount)
    if not isinstance(result, DecPOMDP):
        raise InputError(f"problem: expected one with a model, got {result.name}, which can only be played")
    return result


def _is_file(text: str) -> bool:
    """Whether `text` is the path of a file, or of a pipe as in `<(zcat ...)`."""
    try:
        return Path(text).is_file() or Path(text).is_fifo()
    except (OSError, ValueError):  # too long, or with a null byte
        return False


def load_named(problem: str, discount: float | None = None) -> DecPOMDP | Simulator:
    """Like `load`, for a name that was given on the command line: it may also be `file.py:function`."""
    code = CODE.fullmatch(problem)
    if code is None:
        return load(problem, discount)
    if not (code["function"] or "").isidentifier():
        raise InputError(f"{problem}: expected the function that builds the problem, such as {code['path']}:build")
    return opened(_built(code["path"], code["function"]), discount)


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
        if isinstance(error, SyntaxError):
            raise InputError(f"{error.filename}:{error.lineno}: {type(error).__name__}: {error.msg}") from error
        raise InputError(f"{place_of(error) or path}: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(str(place.absolute().parent))
    if isinstance(problem, DecPOMDP | Simulator):
        return problem
    raise InputError(_no_problem(f"{path}:{function}", problem, "a DecPOMDP or a Simulator"))
