"""Wrong answers that once earned full marks. Each module adds its own to HOLES."""

from tests.autograder.exercises.holes import in_layers, in_models
from tests.autograder.exercises.holes.register import HOLES, accepted

__all__ = ["HOLES", "accepted", "in_layers", "in_models"]
