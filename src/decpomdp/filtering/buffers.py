"""Large arrays used again: memory fresh from the system is mapped page by page, which can cost as much as a sweep."""

import threading

import numpy as np
from numpy.typing import NDArray

Precision = np.dtype[np.float32] | np.dtype[np.float64]
MOST_BYTES = 600_000_000  # waiting to be used again


class Buffers:
    """Arrays of numbers to take and give back; what is taken holds anything."""

    def __init__(self) -> None:
        self._waiting: list[NDArray[np.floating]] = []
        self._lock = threading.Lock()

    def take(self, rows: int, columns: int, precision: Precision) -> NDArray[np.floating]:
        """An array [rows, columns], used before or new."""
        size = rows * columns
        with self._lock:
            for place, found in enumerate(self._waiting):
                if found.dtype == precision and size <= found.size <= 2 * size:
                    return self._waiting.pop(place)[:size].reshape(rows, columns)
        return np.empty(size, precision).reshape(rows, columns)

    def give(self, used: NDArray[np.floating]) -> None:
        """Give an array back; nobody may look at it any more."""
        flat = used.base if isinstance(used.base, np.ndarray) else used.reshape(-1)
        while isinstance(flat.base, np.ndarray):
            flat = flat.base
        with self._lock:
            self._waiting.append(flat)
            while sum(found.nbytes for found in self._waiting) > MOST_BYTES:
                del self._waiting[0]
