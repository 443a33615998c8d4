"""The border of the planners: what they all take, checked once, in words."""

import math

from decpomdp.core import DecPOMDP, InputError, Watch, checks
from decpomdp.planners.stopping import PlanClock

LARGEST = 2**63 - 1


def checked(model: DecPOMDP, seed: int, time_limit: float | None, threads: int | None, watch: Watch) -> PlanClock:
    """Refuse arguments of wrong kinds; the clock of a run. A time limit of 0 is no mistake: the first team it is."""
    checks.of_kind("model", model, DecPOMDP, "load it with `decpomdp.load`")
    _check_rewards(model)
    checks.whole("seed", seed, 0, LARGEST)
    checks.callback("watch", watch)
    limit = None if time_limit is None else at_least("time_limit", time_limit, 0)
    return PlanClock(None if limit == math.inf else limit, checks.threads(threads))


def _check_rewards(model: DecPOMDP) -> None:
    """What the bounds begin with must be a number."""
    largest = max(abs(float(model.reward.max())), abs(float(model.reward.min())))
    if not math.isfinite(largest / max(1e-12, 1 - model.discount) * len(model.states)):
        raise InputError("value: the rewards are too large to be added up in floating point")


def at_least(name: str, value: object, least: float, beyond: bool = False) -> float:
    """A number of at least `least`, or `beyond` it; infinity is one."""
    try:
        number = checks.number(name, value, least, math.inf)
    except InputError:
        number = math.nan
    if not (number > least if beyond else number >= least):
        wanted = f"{'above' if beyond else 'of at least'} {least:g}"
        raise InputError(f"{name}: expected a number {wanted}, got {checks.kind_of(value)}")
    return number


def finite(name: str, value: object, least: float, beyond: bool = False) -> float:
    """The same without infinity."""
    number = at_least(name, value, least, beyond)
    if number == math.inf:
        raise InputError(f"{name}: expected a finite number, got {checks.kind_of(value)}")
    return number


def endless(model: DecPOMDP, cure: str = "") -> None:
    """An infinite horizon needs a discount below 1; `cure`: what else would do."""
    if model.discount >= 1:
        raise InputError(f"an infinite horizon needs a discount below 1, got {model.discount}{cure}")
