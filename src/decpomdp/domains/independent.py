"""Two agents with independent parts of the world: the joint table is the product of their own tables.

Three problems have such dynamics or observations throughout, others in places. The published models print the products
as short decimals, while 0.1 * 0.9 in floating point is a neighbour of 0.09. `side_by_side` rounds to the printed
decimal, so that the tables built here equal the published ones to the last bit.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

DECIMALS = 10  # far more than any published number has, far fewer than a double holds


def side_by_side(one: ArrayLike, other: ArrayLike) -> NDArray[np.float64]:
    """The joint table of two independent tables with the same axes; every axis becomes joint, the second fastest."""
    return printed(np.kron(np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)))


def printed(table: ArrayLike) -> NDArray[np.float64]:
    """`table` with every number replaced by the double nearest to its short decimal."""
    values: NDArray[np.float64] = np.asarray(table, dtype=np.float64)
    return values.round(DECIMALS)
