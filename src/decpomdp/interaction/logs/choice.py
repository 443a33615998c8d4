"""The choice between the teams of the parts, and the two sentences about it: why, and how far to trust the team.

The score of a team is its mean value over the worse half of the drawn worlds; the highest score wins. A team of
Dec-SBPR that is estimated to be below the behaviour is replaced by the clone. A plan must be worth more than the
behaviour earned in the episodes. Worlds overestimate their own plans: if the episodes prove Dec-SBPR's team better than
the behaviour, and enough steps agree with it, a plan replaces it only if it gains MARGIN more and does not stray from
the logged situations. If no world can be fitted, the result is Dec-SBPR's team or the cloned behaviour.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.interaction.world.method import described
from decpomdp.interaction.world.trust import OUTSIDE
from decpomdp.learners.judging import BETTER, UNPROVEN, WORSE, Judged

SURE = 0.95  # share of the drawn worlds in which a team must earn more than the behaviour to be called better
MARGIN = 0.1  # gain of a plan over Dec-SBPR's proven team, relative to that team's gain over the behaviour, at least
SAME = 1e-9  # share of a value that is rounding
NOTHING = 1e-12  # a smaller value is shown as 0
SBPR, CLONE, WORLD = "sbpr", "clone", "world"  # the first two are also origins of candidates; all others are plans
NAMES = {SBPR: "Dec-SBPR's team", CLONE: "the cloned behaviour"}
NOTHING_BETTER = "No team is better than the behaviour, as far as the episodes tell"
NOT_BETTER = "Dec-SBPR's team is not better than the behaviour"
TOO_SHORT = "The run was too short to tell whether a team is better than the behaviour: more time may find one"
TOGETHER = (
    "the agents' actions are correlated ({:.2g}) beyond their own histories: if a demonstrator saw more than the log"
    " contains, the team may earn much less"
)


class InWorlds(NamedTuple):
    """The candidates c and the worlds k that evaluated them."""

    origins: list[str]  # [c]
    place: int  # of the chosen candidate
    values: NDArray[np.float64]  # [k, c] in the drawn worlds, or in the fitted ones if too few were drawn
    means: NDArray[np.float64]  # [c] over the worlds, weighted
    drawn: int  # number of drawn worlds
    judged: bool  # whether `values` are those of drawn worlds
    enough: bool  # whether these worlds suffice to call a team better

    @property
    def chosen(self) -> str:
        """The part that the chosen team comes from."""
        return _part(self.origins[self.place])

    @property
    def best(self) -> dict[str, float]:
        """The highest mean of every part."""
        means = dict[str, float]()
        for origin, mean in zip(self.origins, self.means, strict=True):
            means[_part(origin)] = max(means.get(_part(origin), -np.inf), float(mean))
        return means

    @property
    def gains(self) -> int:
        """The number of worlds in which the chosen team earns more than the cloned behaviour."""
        floor = self.values[:, self.origins.index(CLONE)]
        return int((self.values[:, self.place] - floor > SAME * np.abs(floor)).sum())


def preferred(scores: NDArray[np.float64], origins: list[str], proven: bool, behaviour: float = -np.inf) -> int:
    """The chosen candidate c, from scores[c].

    A plan must be worth more than the `behaviour` earned. A `proven` team of Dec-SBPR is replaced only for a clear
    gain.
    """
    best = int(np.argmax(scores))
    if origins[best] not in NAMES and CLONE in origins and scores[best] <= behaviour:
        others = [c for name in (CLONE, SBPR) for c, origin in enumerate(origins) if origin == name]  # ties: the clone
        return others[int(np.argmax(scores[others]))]
    if not proven or origins[best] in NAMES or not {SBPR, CLONE} <= set(origins):
        return best
    own, clone = origins.index(SBPR), origins.index(CLONE)
    least = MARGIN * max(scores[own] - scores[clone], 0.0)
    return best if scores[best] - scores[own] > least else own


def reason(scores: NDArray[np.float64], allowed: list[int], place: int, behaviour: float) -> str:
    """The rule of `preferred` by which the candidate `place` was chosen among the `allowed` ones, from scores[c]."""
    best = allowed[int(np.argmax(scores[allowed]))]
    if best != place and scores[best] <= behaviour:
        return f"The best plan is worth no more than the {behaviour:.4g} that the behaviour earned"
    if best != place:
        return f"The episodes prove its gain over the behaviour; no plan within the logged situations adds {MARGIN:.0%}"
    rule = "It earns most in the worse half of the worlds"
    return rule if int(np.argmax(scores)) == place else f"{rule} (near-ties go to small teams and to FB-HSVI)"


def why(compared: InWorlds, rule: str, rejected: bool) -> str:
    """The first sentence; `rejected`: Dec-SBPR's team is estimated below the behaviour."""
    best, chosen = compared.best, compared.chosen
    named = {WORLD: "the best plan", **NAMES}
    rest = " and ".join(
        f"{name} {_number(best[part])}" for part, name in named.items() if part in best and part != chosen
    )
    team = NAMES.get(chosen) or f"a team {described(compared.origins[compared.place])}"
    worlds = f"{len(compared.values)} worlds drawn from the posterior" if compared.judged else "the fitted worlds"
    earned = f"mean values in {worlds}: this team {_number(compared.means[compared.place])}, {rest}"
    more = "; the episodes themselves put Dec-SBPR's team below the behaviour" if rejected else ""
    return f"Chosen: {team}. {rule}; {earned}{more}."


def verdict_of(compared: InWorlds, facts: dict[str, Any], behaviour: float, together: float, proven: bool) -> str:
    """Whether the team is better than the behaviour; `proven`: by the estimate from the episodes themselves."""
    if compared.chosen == CLONE:
        return WORSE
    above = facts["low"] is None or facts["low"] > behaviour
    known = facts["outside"] <= OUTSIDE and facts["complete"] and above and not together
    often = compared.judged and compared.enough and compared.gains >= SURE * len(compared.values)
    return BETTER if proven or (often and known) else UNPROVEN


def trust(compared: InWorlds, verdict: str, facts: dict[str, Any], behaviour: float, together: float) -> str:
    """The second sentence."""
    count = len(compared.values)
    said = f"{f'only {compared.drawn}' if compared.drawn else 'no'} worlds were drawn before the end"
    if compared.judged:
        short = "" if compared.enough else ", too few to tell"
        said = f"it earns more in {compared.gains} of these {count} worlds{short}"
    parts = [f"{_capital(verdict)}: {said}"]
    if compared.chosen == CLONE:
        parts = [NOTHING_BETTER if compared.judged and facts["complete"] else TOO_SHORT]
    if facts["low"] is not None:
        span = f"{facts['low']:.4g} and {facts['high']:.4g} (the behaviour has {behaviour:.4g})"
        parts.append(f"expect the true value between {span}")
    parts += filter(None, str(facts["warnings"]).split("; "))
    if together:
        parts.append(TOGETHER.format(together))
    return f"{'; '.join(parts)}."


def trust_without_worlds(chosen: str, judged: Judged | None) -> str:
    """The second sentence if only the episodes themselves can tell."""
    verdict = UNPROVEN if judged is None else judged.verdict
    said = "it was not judged"
    if judged is not None:
        span = f"{judged.value:.4g} ({judged.low:.4g} to {judged.high:.4g})"
        said = f"it is estimated to earn {span}, {judged.behaviour:.4g} for the behaviour"
    return f"{NOT_BETTER if chosen == CLONE else _capital(verdict)}: {said}."


def _part(origin: str) -> str:
    return origin if origin in NAMES else WORLD


def _number(value: float) -> str:
    return f"{value if abs(value) > NOTHING else 0.0:.4g}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
