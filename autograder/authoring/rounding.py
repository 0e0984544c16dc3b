"""Make arrays equal if they differ only by rounding, as the same sum in two different orders does."""

from typing import Any

import numpy as np

# As shares of the largest entry: much less than the judge tolerates, but more than the order of a sum changes.
ROUNDING = {np.dtype("float16"): 1e-4, np.dtype("float32"): 1e-7, np.dtype("float64"): 1e-13}


class DistinctArrays:
    """The arrays so far, except for those that differ from an earlier one only by rounding."""

    def __init__(self) -> None:
        self._exact: dict[tuple, np.ndarray] = {}
        self._close: dict[tuple, list[tuple[Any, Any, np.ndarray]]] = {}  # its first entry, the allowed error, an array

    def representative(self, place: int, array: np.ndarray) -> np.ndarray:
        """Return the earlier array at the same place that differs from this one only by rounding, or this one.

        place: the array's index in its outcome.
        """
        kind = place, array.dtype, array.shape
        content = *kind, array.tobytes()
        if content not in self._exact:
            self._exact[content] = self._close_one(kind, array)
        return self._exact[content]

    def _close_one(self, kind: tuple, array: np.ndarray) -> np.ndarray:
        if array.dtype not in ROUNDING or not array.size:
            return array
        earlier = self._close.setdefault(kind, [])
        entry = array.flat[0]
        with np.errstate(all="ignore"):
            for first, allowed, other in earlier:
                # Most arrays already differ in their first entry. NaN passes the first comparison, not the second.
                if not abs(first - entry) > allowed and np.abs(other - array).max() <= allowed:
                    return other
            largest = np.abs(array).max()
            if np.isfinite(largest):
                earlier.append((entry, ROUNDING[array.dtype] * largest, array))
        return array
