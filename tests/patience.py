"""Limits of the sandbox for code that ends by itself.

A test of such code must not depend on how busy the machine is, so no limit of time is within its reach. A test of code
that never ends takes a short limit of its own.
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
