"""Report the step of a training while it runs. The page cannot ask, because its Python is busy until the cell ends."""

import sys
import time
from collections.abc import Callable
from numbers import Integral
from types import CodeType
from typing import Any

STEP = "step"  # the parameter of train_step, and of the functions it calls, that counts the steps
INTERVAL = 0.5  # seconds between two reports
TOOL = "steps"


def watch(report: Callable[[int], object]) -> None:
    """Report the current step, at most once in each interval, whenever a function with such a parameter is called.

    Python disables the event in all other functions after their first call, so that they run at full speed.
    """
    monitoring: Any = getattr(sys, "monitoring")  # noqa: B009 -- new in Python 3.12, which every page has
    reported = 0.0

    def started(code: CodeType, offset: int) -> object:
        nonlocal reported
        if STEP not in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
            return monitoring.DISABLE
        step, now = sys._getframe(1).f_locals[STEP], time.monotonic()
        if isinstance(step, Integral) and now >= reported + INTERVAL:
            reported = now
            report(int(step))
        return None

    monitoring.use_tool_id(monitoring.PROFILER_ID, TOOL)
    monitoring.register_callback(monitoring.PROFILER_ID, monitoring.events.PY_START, started)
    monitoring.set_events(monitoring.PROFILER_ID, monitoring.events.PY_START)
