"""Detect caches whose form differs from the docstring.

Caches are not judged, so a function with a different cache passes. But the right functions that take this cache fail.
"""

from typing import Any

from check.comparing import difference
from check.key import UNJUDGED, Case, Key

ANOTHER_CACHE = "Its cache differs from the one that its docstring describes, so functions that take it may fail."


def is_another_cache(key: Key, case: Case, expected: Any, value: Any) -> bool:
    """Whether a value's cache differs from the expected one. Both values have all outputs. Keys hold few caches."""
    caches = [i for i, axes in enumerate(key.outputs.values()) if axes == UNJUDGED and expected[i] is not None]
    tolerance = max(key.tolerance, case.rounding)
    return any(difference(expected[i], value[i], "cache", tolerance=tolerance) for i in caches)


def place_of_cache(key: Key) -> int | None:
    """The index of the case whose cache is compared: the smallest case with a value. None without caches."""
    if UNJUDGED not in key.outputs.values() or key.measure:
        return None
    return min(
        (i for i, case in enumerate(key.cases) if not case.expected.raised),
        key=lambda i: key.cases[i].size,
        default=None,
    )
