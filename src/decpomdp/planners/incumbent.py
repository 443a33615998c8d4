"""The best team so far, with the value that the exact evaluator computes for it.

No planner reports a lower bound from anywhere else: its own solves only say which teams are worth asking about.
"""

from dataclasses import dataclass

from decpomdp.core import Controller, DecPOMDP, Team
from decpomdp.evaluation import exact_value


@dataclass(frozen=True, slots=True, eq=False)
class Valued:
    """A team and its exact value."""

    team: Team
    value: float


def valued(model: DecPOMDP, team: Team, horizon: int | None = None) -> Valued:
    """A team with the value that the evaluator computes."""
    return Valued(team, exact_value(model, team, horizon).value)


class Incumbent:
    """Begins with everybody always taking the first action, so that there is a team whatever happens."""

    def __init__(self, model: DecPOMDP, horizon: int | None = None) -> None:
        self.model, self.horizon = model, horizon
        self.best = self.valued(constant(model))
        self.found = False  # whether any other team was offered

    @property
    def team(self) -> Team:
        """The best so far."""
        return self.best.team

    @property
    def value(self) -> float:
        """Its exact value."""
        return self.best.value

    def valued(self, team: Team) -> Valued:
        """What the evaluator says of a team."""
        return valued(self.model, team, self.horizon)

    def offer(self, team: Team, close: float = 0.0) -> bool:
        """Keep the team if it is better by more than `close`, or within `close` as good with fewer nodes."""
        new, old, self.found = self.valued(team), self.best, True
        smaller = close > 0 and new.value >= old.value - close and sum(team.nodes) < sum(old.team.nodes)
        if new.value > old.value + close or smaller:
            self.best = new
            return True
        return False


def constant(model: DecPOMDP) -> Team:
    """Everyone always takes the first action: something to improve on."""
    return Team.of(
        model,
        [Controller.deterministic([0], [[0] * len(agent.observations)], len(agent.actions)) for agent in model.agents],
    )


def most_possible(model: DecPOMDP, horizon: int | None) -> float:
    """The greatest reward at every step: an upper bound before there is a better one."""
    most, discount = float(model.reward.max()), model.discount
    if horizon is None:
        return most / (1 - discount)
    return most * (horizon if discount == 1 else (1 - discount**horizon) / (1 - discount))
