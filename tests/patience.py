"""Time limits for tests of things that end by themselves.

Such a test must not depend on how busy the machine is, so the time limits are too long to be reached. A test of code
that never ends sets a short limit.
"""

from autograder.sandbox import Limits

# Until a test gives up waiting for another process, such as a browser.
SECONDS = 240.0
PATIENT = Limits(
    call_seconds=600.0,
    cell_seconds=600.0,
    own_cells_seconds=3600.0,
    answer_seconds=600.0,
    patience=10.0,
    start_seconds=600.0,
    wall_seconds=3600.0,
    processor_seconds=3600.0,
    sleep_seconds=3600.0,
)
