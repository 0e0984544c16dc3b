"""Limits of the sandbox for tests of code that ends by itself.

Such a test must not depend on how busy the machine is, so the time limits are too long to be reached. A test of code
that never ends sets a short limit.
"""

from autograder.sandbox import Limits

PATIENT = Limits(
    call_seconds=600.0,
    cell_seconds=600.0,
    patience=10.0,
    start_seconds=600.0,
    wall_seconds=3600.0,
    processor_seconds=3600.0,
)
