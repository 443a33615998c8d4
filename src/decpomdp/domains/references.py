"""The best known values: published ones, and those of methods here, each with its team.

`references.json` has one entry per problem: value, discount, method, version, seconds, the digest of the model and the
team (team.json, compressed). `decpomdp benchmark --update-references` replaces an entry by a better team; the exact
evaluation re-checks all of them in the slow tests.
"""

import base64
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from decpomdp.core import DecPOMDP, Team
from decpomdp.domains import registry
from decpomdp.io.files import read_bytes, write_bytes
from decpomdp.io.runs import versions
from decpomdp.io.team import team_from_json, team_to_json

FILE = Path(__file__).with_name("references.json")
LIMIT = 64 * 2**20  # bytes
BETTER = 1e-6  # relative improvement that counts
ROUNDING = 1e-4  # relative, of published values: our value is preferred if it is equal up to rounding
PUBLISHED_DISCOUNT = 0.9


class Reference(msgspec.Struct, frozen=True):
    """The best team of one problem that a method here has found."""

    value: float
    discount: float
    method: str
    version: str  # of this package
    seconds: float
    digest: str  # of the model
    team: str  # team.json, compressed and in base 64

    def read_team(self) -> Team:
        """The team that has this value."""
        return team_from_json(zlib.decompress(base64.b64decode(self.team)), str(FILE))


@cache
def references() -> dict[str, Reference]:
    """All stored references by the name of the problem."""
    if not FILE.is_file():
        return {}
    return msgspec.json.decode(read_bytes(FILE, LIMIT), type=dict[str, Reference])


def best_known(model: DecPOMDP) -> dict[str, Any] | None:
    """The best value known for this model and who found it (`value`, `by`); None if nothing is known."""
    candidates: list[dict[str, Any]] = []
    published = registry.published(model.name)
    if published is not None and model.discount == PUBLISHED_DISCOUNT:
        candidates.append({"value": published[0], "by": published[1]})
    stored = references().get(model.name)
    if stored is not None and (stored.discount, stored.digest) == (model.discount, model.digest()):
        candidates.append({"value": stored.value, "by": f"{stored.method}, decpomdp {stored.version}"})
    if not candidates or not _is_built_in(model):
        return None
    return max(candidates, key=lambda one: one["value"] + ROUNDING * abs(one["value"]) * ("decpomdp" in one["by"]))


def best_value(problem: object) -> float | None:
    """The best value known for a problem; None if nothing is known."""
    known = best_known(problem) if isinstance(problem, DecPOMDP) else None
    return None if known is None else float(known["value"])


def is_better(model: DecPOMDP, value: float) -> bool:
    """Whether a value is better than the best known one; False if nothing is known."""
    known = best_value(model)
    return known is not None and _exceeds(value, known)


def offer(model: DecPOMDP, team: Team, value: float, method: str, seconds: float) -> bool:
    """Store a team of a named problem if its exact value is better than the stored one. Returns whether it is."""
    before = references().get(model.name)
    if before is not None and (before.discount, before.digest) == (model.discount, model.digest()):
        if not _exceeds(value, before.value):
            return False
    elif model.discount != PUBLISHED_DISCOUNT or not _is_built_in(model):
        return False
    packed = base64.b64encode(zlib.compress(team_to_json(team), 9)).decode()
    entry = Reference(value, model.discount, method, versions()["decpomdp"], round(seconds, 1), model.digest(), packed)
    every = {**references(), model.name: entry}
    references.cache_clear()
    write_bytes(FILE, msgspec.json.format(msgspec.json.encode(dict(sorted(every.items()))), indent=1) + b"\n")
    return True


def _exceeds(value: float, known: float) -> bool:
    return value > known + BETTER * max(1.0, abs(known))


def _is_built_in(model: DecPOMDP) -> bool:
    """Whether a model is the built-in problem whose name it has, and not another one of that name."""
    stored = references().get(model.name)
    if stored is not None and stored.digest == model.digest():
        return True  # avoids building it
    return registry.is_model(model.name) and registry.build(model.name).digest() == model.digest()
