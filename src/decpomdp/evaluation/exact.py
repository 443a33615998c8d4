"""The exact value of a team on a model: the Bellman equation of the chain over (state, joint node).

v = B v is linear with a contraction; it is solved by a Krylov method (BiCGSTAB) on the matrix-free backup and then
polished by plain backups until the residual proves the answer: |v - v*| <= max |B v - v| / (1 - discount). For a
deterministic team only the pairs that it meets are looked at (`reachable`).
"""

import math
import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import DecPOMDP, InputError, Team
from decpomdp.core.checks import of_kind, whole
from decpomdp.core.controller import READ
from decpomdp.domains.load import opened_model
from decpomdp.engines import threads as engine
from decpomdp.evaluation.reachable import MetPairs, is_deterministic
from decpomdp.kernels import backup as kernels
from decpomdp.kernels.backup import JointMoves, SparseRows

ROUNDING = 1e-11  # of the largest possible value: the precision asked for
CORRECTIONS = 4  # Krylov solves, each on what the last one left over
POLISHES = 5000  # plain backups after them, at most
LONGEST = 10_000_000  # steps of a finite horizon
PIECES = 4  # of a backup's joint actions, for the threads
SMALL = 200_000  # numbers in a backup that one thread does faster alone
LARGEST = 200_000_000  # numbers in a value table: 1.6 GB


@dataclass(frozen=True, slots=True)
class ExactValue:
    """The expected discounted sum of rewards from the start, and how far it can be off.

    Attributes
    ----------
    value
        The expected discounted sum of rewards.
    error
        A bound on its distance from the truth: proved from the residual, plus an allowance for rounding.
    horizon
        Steps; None: for ever.
    discount
        That of the model.

    Examples
    --------
    >>> import decpomdp as dp
    >>> model = dp.load("broadcast")
    >>> dp.exact_value(model, dp.Team.uniform(model)).error < 1e-6
    True
    """

    value: float
    error: float  # bound on |value - true value|: proved from the residual, plus an allowance for rounding
    horizon: int | None  # None: for ever
    discount: float


class TeamOnModel:
    """The chain over (state, joint node) that a team makes of a model."""

    def __init__(self, model: DecPOMDP, team: Team) -> None:
        team.check_fits(model)
        self.model, self.team = model, team
        self.shape = (len(model.states), math.prod(team.nodes))
        if self.shape[0] * self.shape[1] > LARGEST:
            raise InputError(
                f"exact value: expected at most {LARGEST} pairs of state and joint node, got "
                f"{self.shape[0] * self.shape[1]}; estimate it from episodes instead"
            )
        self.transition = _sparse(model.transition)
        self.observation = _sparse(model.observation)
        self.moves = _moves(model, team)
        self.expected = np.ascontiguousarray(model.reward.T @ _joint_actions(team))  # [s, q]

    def backup(self, v: NDArray[np.float64], rewards: bool = True) -> NDArray[np.float64]:
        """B v, or the linear part alone."""
        joint = self.model.joint_actions
        pieces = PIECES if v.size * joint > SMALL else 1  # fixed by the problem, not by the threads

        def piece(number: int) -> NDArray[np.float64]:
            out = np.zeros(self.shape)
            first, end = joint * number // pieces, joint * (number + 1) // pieces
            kernels.backup(self.transition, self.observation, self.moves, first, end, self.model.discount, v, out)
            return out

        parts = engine.run(piece, pieces)
        return sum(parts[1:], start=parts[0] + self.expected if rewards else parts[0])

    def at_start(self, v: NDArray[np.float64]) -> float:
        """Expectation of v(s, q) where the episode starts."""
        first: NDArray[np.float64] = np.ones(1)
        for controller in self.team.controllers:
            first = np.kron(first, controller.initial).astype(np.float64)
        return float(self.model.start @ v @ first)


def exact_value(model: DecPOMDP | str | os.PathLike[str], team: Team, horizon: int | None = None) -> ExactValue:
    """Value of `team` on `model` over `horizon` steps, or for ever.

    Any number of agents. Time and memory grow with states times the product of all agents' nodes; beyond 200 million
    of these pairs it is refused, and `sampled_value` is the way.

    Parameters
    ----------
    model
        A model, or the name or file of one.
    team
        Whose value is wanted.
    horizon
        Steps; None: for ever, which needs a discount below 1.

    Returns
    -------
    ExactValue
        The value and a proved bound on its error.

    Raises
    ------
    InputError
        The team does not fit the model, there are too many pairs, or the sum has no end.

    Examples
    --------
    >>> import decpomdp as dp
    >>> model = dp.load("dectiger", discount=1.0)
    >>> listeners = dp.Team.of(model, [dp.Controller.deterministic([0], [[0, 0]], 3)] * 2)
    >>> dp.exact_value(model, listeners, horizon=3).value  # listening costs 2 a step
    -6.0
    """
    with engine.serial_products():
        return _value(chain_of(opened_model(model), team), horizon)


def chain_of(model: DecPOMDP, team: Team) -> TeamOnModel | MetPairs:
    """The chain that `team` makes of `model`: of a deterministic team only what it meets."""
    of_kind("team", team, Team, READ).check_fits(model)
    return MetPairs(model, team) if is_deterministic(team) else TeamOnModel(model, team)


def _value(chain: TeamOnModel | MetPairs, horizon: int | None) -> ExactValue:
    model = chain.model
    if horizon is not None:
        with np.errstate(over="ignore", invalid="ignore"):  # `_finite` says it in words
            return _over(chain, whole("horizon", horizon, 0, LONGEST))
    if model.discount >= 1:
        raise InputError(f"an infinite horizon needs a discount below 1, got {model.discount}; give a horizon")
    with np.errstate(over="ignore", invalid="ignore"):  # `_finite` says it in words
        v, error = solve(chain)
    rounding = 8 * float(np.finfo(float).eps) * float(np.abs(v).max()) / (1 - model.discount)
    return ExactValue(_finite(chain.at_start(v)), error + rounding, None, model.discount)


def _over(chain: TeamOnModel | MetPairs, horizon: int) -> ExactValue:
    """The value of a finite number of steps; steps that the discount makes invisible are left out."""
    discount, size = chain.model.discount, float(np.abs(chain.expected).max())
    v: NDArray[np.float64] = np.zeros(chain.shape)
    steps = 0
    while steps < horizon:
        following = chain.backup(v)
        steps += 1
        still = np.array_equal(following, v)
        v = following
        if still:
            break
    rounding = 8 * np.finfo(float).eps * size * steps * (1 if discount == 1 else min(steps, 1 / (1 - discount)))
    return ExactValue(_finite(chain.at_start(v)), float(rounding), horizon, discount)


def _finite(value: float) -> float:
    if not np.isfinite(value):
        raise InputError("value: the rewards are too large to be added up in floating point")
    return value


def solve(chain: TeamOnModel | MetPairs) -> tuple[NDArray[np.float64], float]:
    """The fixed point [s, q] of the backup, and a bound on its error."""
    discount = chain.model.discount
    wanted = ROUNDING * max(float(np.abs(chain.expected).max()), 1e-300)
    v: NDArray[np.float64] = np.zeros(chain.shape)
    following, residual = v, np.inf
    for correct in [True] * CORRECTIONS + [False] * POLISHES:
        following = chain.backup(v)
        gap = following - v
        last, residual = residual, float(np.abs(gap).max())
        if residual <= wanted or (not correct and residual >= last):  # as good as asked for, or as rounding allows
            break
        v = v + _correction(chain, gap, 0.1 * wanted) if correct else following
    return following, discount * residual / (1 - discount)


def _correction(chain: TeamOnModel | MetPairs, gap: NDArray[np.float64], wanted: float) -> NDArray[np.float64]:
    """d with v + d = B(v + d), given gap = B v - v: a linear equation in the backup's linear part."""
    from scipy.sparse.linalg import LinearOperator, bicgstab

    operator = LinearOperator(
        (gap.size, gap.size),
        matvec=lambda flat: flat - chain.backup(flat.reshape(chain.shape), rewards=False).ravel(),
        dtype=np.float64,
    )
    flat, _ = bicgstab(operator, gap.ravel(), rtol=1e-12, atol=wanted, maxiter=300)
    solved = flat.reshape(chain.shape)
    after = gap + chain.backup(solved, rewards=False) - solved
    better = bool(np.all(np.isfinite(solved))) and np.abs(after).max() < np.abs(gap).max()
    return solved if better else gap  # v + gap is the plain backup


def _joint_actions(team: Team) -> NDArray[np.float64]:
    """[u, q]: probability of joint action u in joint node q."""
    joint: NDArray[np.float64] = np.ones((1, 1))
    for controller in team.controllers:
        joint = np.kron(joint, controller.action.T).astype(np.float64)
    return joint


def _moves(model: DecPOMDP, team: Team) -> JointMoves:
    tables = [
        np.ascontiguousarray((c.transition * c.action[:, :, None, None]).transpose(1, 2, 3, 0)).ravel()
        for c in team.controllers
    ]
    sizes = [len(table) for table in tables]
    return JointMoves(
        nodes=np.array(team.nodes, np.int64),
        observations=np.array([controller.observations for controller in team.controllers], np.int64),
        table=np.concatenate(tables),
        place=np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64),
        action_parts=model.action_table(),
        observation_parts=model.observation_table(),
    )


def _sparse(table: NDArray[np.float64]) -> SparseRows:
    rows = table.reshape(-1, table.shape[-1])
    where, columns = np.nonzero(rows)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(where, minlength=len(rows)))])
    return SparseRows(offsets.astype(np.int64), columns.astype(np.int64), rows[where, columns])
