"""The exact value of a team on a model: the Bellman equation of the chain over (state, joint node), see `fixed_point`.

For a deterministic team the chain is over reachable pairs only (`reachable`); also for other teams if the equation over
all pairs was not solved.
"""

import math
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import DecPOMDP, InputError, Team
from decpomdp.core.checks import of_kind, whole
from decpomdp.core.controller import READ
from decpomdp.core.sparse import factored_model
from decpomdp.domains.load import load_model
from decpomdp.engines import threads as engine
from decpomdp.evaluation.fixed_point import (
    EPS,
    Floats,
    MarkovChain,
    allowance,
    power_of,
    rounding,
    row_sum_error,
    solve,
)
from decpomdp.evaluation.reachable import ReachableChain, is_deterministic, reachable_states, too_many
from decpomdp.kernels import backup as kernels
from decpomdp.kernels.backup import JointMoves

SURE = 1e-6  # error, relative to the value (or to 1 if that is more), up to which a value is called exact
LONGEST = 10_000_000  # steps of a finite horizon
PIECES = 4  # of a backup's joint actions, for the threads
SMALL = 200_000  # numbers in a backup below which one thread is faster
LARGEST = 200_000_000  # numbers in a value table: 1.6 GB
SECOND = 4_000_000  # most moves between the reachable pairs of a stochastic team: seconds


@dataclass(frozen=True, slots=True)
class ExactValue:
    """The expected discounted sum of rewards from the start, with a bound on its error.

    Attributes
    ----------
    value
        The expected discounted sum of rewards.
    error
        A bound on |value - true value|: proved from the residual, plus an allowance for rounding.
    horizon
        Steps; None: an infinite horizon.
    discount
        The model's discount.
    sure
        Whether the error is negligible; if not, the solver did not converge.

    Examples
    --------
    >>> import decpomdp as dp
    >>> model = dp.load("broadcast")
    >>> dp.exact_value(model, dp.Team.uniform(model)).error < 1e-6
    True
    """

    value: float
    error: float
    horizon: int | None
    discount: float
    sure: bool = True

    @property
    def precision(self) -> str:
        """In words: exact, or within which error."""
        return "exact" if self.sure else f"not converged: within {self.error:.3g}"


class TeamOnModel:
    """The Markov chain of a team on a model, over all pairs (state, joint node)."""

    def __init__(self, model: DecPOMDP, team: Team) -> None:
        team.check_fits(model)
        self.model, self.team = model, team
        self.shape = (len(model.states), math.prod(team.nodes))
        if math.prod(self.shape) > LARGEST:
            raise too_many(LARGEST, "pairs of state and joint node")
        self.factored = factored_model(model)
        self.moves = joint_moves(model, [(c.action, c.transition) for c in team.controllers])
        acts = joint_rows([c.action.T for c in team.controllers])  # [u, q]
        taken = joint_rows([np.any(c.action > 0, axis=0)[None] for c in team.controllers])[0] > 0  # [u] by some node
        reachable = reachable_states(model, taken) & taken[:, None]
        got = np.where(reachable, model.reward, 0.0)  # unreachable rewards may be huge
        self.power = power_of(float(np.abs(got).max()))
        scaled = np.ldexp(got, -self.power).T
        self.expected = np.ascontiguousarray(scaled @ acts)  # [s, q]
        self.allowance = allowance(model, team, float((np.abs(scaled) @ acts).max()))

    @property
    def discount(self) -> float:
        return self.model.discount

    def backup(self, v: Floats, rewards: Floats | None) -> Floats:
        """B v with these rewards; None: the linear part alone."""
        joint = len(self.model.reward)
        pieces = PIECES if v.size * joint > SMALL else 1  # fixed by the problem, not by the threads

        def piece(number: int) -> NDArray[np.float64]:
            out = np.zeros(self.shape)
            first, end = joint * number // pieces, joint * (number + 1) // pieces
            kernels.backup(self.factored, self.moves, first, end, v, out)
            return out

        parts = [piece(0)] if pieces == 1 else engine.run(piece, pieces)
        return sum(parts[1:], start=parts[0] if rewards is None else parts[0] + rewards)

    def linear(self, largest: int) -> Any:
        from scipy.sparse import csc_array, hstack

        size = math.prod(self.shape)
        if size > largest:
            return None
        columns = [csc_array(self.backup(unit.reshape(self.shape), None).reshape(-1, 1)) for unit in np.eye(size)]
        return hstack(columns)

    def at_start(self, v: NDArray[np.float64]) -> float:
        """Expectation of v(s, q) at the start, in the model's own unit."""
        first = joint_rows([c.initial[None] for c in self.team.controllers])[0]
        return float(np.ldexp(self.model.start @ v @ first, self.power))


def exact_value(
    model: DecPOMDP | str | os.PathLike[str],
    team: Team,
    horizon: int | None = None,
    check: Callable[[], None] | None = None,
) -> ExactValue:
    """Value of `team` on `model` over `horizon` steps, or over an infinite horizon.

    Any number of agents. Time and memory grow with states times the product of all agents' nodes; more than 200 million
    of these pairs are rejected: use `sampled_value`. For a deterministic team only the reachable pairs count, unless
    there are more than ten million of them, or more than twenty million moves between them.

    Parameters
    ----------
    model
        A model, or its name or file.
    team
        The team to evaluate.
    horizon
        Steps; None: an infinite horizon, which needs a discount below 1.
    check
        Called before every sweep over an infinite horizon; ends the computation by raising an error.

    Returns
    -------
    ExactValue
        The value and a proved bound on its error.

    Raises
    ------
    InputError
        The team does not fit the model, there are too many pairs, or the discount is 1 and there is no horizon.

    Examples
    --------
    >>> import decpomdp as dp
    >>> model = dp.load("dectiger", discount=1.0)
    >>> listeners = dp.Team.of(model, [dp.Controller.deterministic([0], [[0, 0]], 3)] * 2)
    >>> dp.exact_value(model, listeners, horizon=3).value  # listening costs 2 a step
    -6.0
    """
    with engine.serial_products():
        chain = chain_of(load_model(model), team)
        result = _value(chain, horizon, check)
        if not result.sure and isinstance(chain, TeamOnModel):
            with suppress(InputError):  # too many reachable pairs
                other = _value(ReachableChain(chain.model, team, SECOND), horizon, check)
                result = min(result, other, key=lambda each: each.error)
        return result


def chain_of(model: DecPOMDP, team: Team) -> MarkovChain:
    """The Markov chain of `team` on `model`, over reachable pairs only if the team is deterministic."""
    of_kind("team", team, Team, READ).check_fits(model)
    if not is_deterministic(team):
        return TeamOnModel(model, team)
    try:
        return ReachableChain(model, team)
    except InputError:
        if len(model.states) * math.prod(team.nodes) > LARGEST:
            raise
        return TeamOnModel(model, team)


def _value(chain: MarkovChain, horizon: int | None, check: Callable[[], None] | None = None) -> ExactValue:
    model = chain.model
    if horizon is not None:
        return _over(chain, whole("horizon", horizon, 0, LONGEST))
    if model.discount >= 1:
        raise InputError(f"an infinite horizon needs a discount below 1, got {model.discount}; give a horizon")
    v, error = solve(chain, check)
    # bounds v and the true values, even where rounding makes rows sum to more than one
    allowed, slack = chain.allowance, 8 * EPS + chain.allowance.start + chain.allowance.rows
    earned = float(np.abs(chain.expected).max()) + slack * allowed.gross
    most = (float(np.abs(v).max()) + earned / (1 - model.discount)) * (1 + slack)
    return _result(chain, v, min(error + rounding(chain, v), most), None)


def _over(chain: MarkovChain, horizon: int) -> ExactValue:
    """The value of a finite number of steps; ends early when a step changes nothing."""
    discount, allowed = chain.discount, chain.allowance
    v: NDArray[np.float64] = np.zeros(chain.shape)
    steps = 0
    while steps < horizon:
        following = chain.backup(v, chain.expected)
        steps += 1
        unchanged = np.array_equal(following, v)
        v = following
        if unchanged:
            break
    most = horizon if discount == 1 else min(horizon, 1 / (1 - discount))
    sums = min(steps, most)  # rounding grows with the sums; later steps may hide a little each
    slack = 8 * EPS + row_sum_error(chain) + allowed.start + allowed.rows
    error = slack * (allowed.gross * sums * sums + float(np.abs(v).max()) * (most - sums))
    return _result(chain, v, error, horizon)


def _result(chain: MarkovChain, v: Floats, error: float, horizon: int | None) -> ExactValue:
    value, largest = chain.at_start(v), max(float(np.abs(v).max()), chain.allowance.gross)
    error = float(np.ldexp(error, chain.power))
    near = SURE * max(abs(value), min(1.0, float(np.ldexp(largest, chain.power))))
    return ExactValue(value, error, horizon, chain.discount, error <= near)


def joint_rows(tables: Sequence[Floats]) -> Floats:
    """[row of all, column of all]: the Kronecker product, row-major over agents."""
    joint: Floats = np.ones((1, 1))
    for table in tables:
        joint = np.kron(joint, table).astype(np.float64)
    return joint


def joint_moves(model: DecPOMDP, agents: Sequence[tuple[Floats, Floats]]) -> JointMoves:
    """All agents' moves in the form of `kernels.backup`, from each agent's action[i, a] and transition[i, a, o, j]."""
    tables = [np.ascontiguousarray((t * a[:, :, None, None]).transpose(1, 2, 3, 0)).ravel() for a, t in agents]
    return JointMoves(
        nodes=np.array([len(action) for action, _ in agents], np.int64),
        observations=np.array([transition.shape[2] for _, transition in agents], np.int64),
        table=np.concatenate(tables),
        place=np.concatenate([[0], np.cumsum([len(table) for table in tables])[:-1]]).astype(np.int64),
        action_parts=model.action_table(),
        observation_parts=model.observation_table(),
    )
