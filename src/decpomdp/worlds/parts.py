"""Hidden states that are tuples with one part per agent, which depends on the agent's own actions only.

    start[z]        = prod_n start_n[z_n]
    move[v, z, z1]  = prod_n move_n[p, z_n, z1_n],   p the part of the input v that agent n knows (its action)

`tuples[z, n]` has the parts of every state. States that were dropped are missing; the other entries of a row are then
scaled to sum to one.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SMOOTHING = 0.3  # counts added to every row of an agent


def factored(start: Floats, move: Floats, parts: Ints, tuples: Ints) -> tuple[Floats, Floats]:
    """The likeliest start and transitions of this kind, from counts[z] and counts[v, z, z1]."""
    new_start, new_move = np.ones(start.shape), np.ones(move.shape)
    for n, z in enumerate(tuples.T):
        of, known = np.eye(z.max() + 1)[z], np.eye(parts.max() + 1)[parts[:, n]]  # [z, z_n], [v, p]
        own = np.tensordot(known.T, of.T @ move @ of, 1)  # [p, z_n, z1_n]
        new_start *= _rows(start @ of + SMOOTHING / of.shape[1])[z]
        new_move *= _rows(own + SMOOTHING / of.shape[1])[parts[:, n]][:, z][:, :, z]
    return _rows(new_start), _rows(new_move)


def base(counts: Floats, parts: Ints, tuples: Ints) -> Floats:
    """[v, z, z1]: what the other rows with the same parts predict for a row, agent by agent."""
    result = np.ones(counts.shape)
    for n, z in enumerate(tuples.T):
        of, known = np.eye(z.max() + 1)[z], np.eye(parts.max() + 1)[parts[:, n]]
        moved = counts @ of  # [v, z, z1_n]
        own = np.tensordot(known.T, of.T @ moved, 1)[parts[:, n]][:, z]  # [v, z, z1_n] with this row
        others = np.maximum(own - moved, 0.0) + SMOOTHING * _rows(moved.sum((0, 1)) + SMOOTHING)
        result *= _rows(others)[:, :, z]
    return _rows(result)


def _rows(table: Floats) -> Floats:
    result: Floats = table / table.sum(-1, keepdims=True)
    return result
