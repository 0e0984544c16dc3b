"""Wrong answers, written apart from the known mistakes, with the names that they get. Each module adds to NAMED."""

from tests.autograder.exercises.named import in_layers, in_models, in_training, of_beginners, since_2017
from tests.autograder.exercises.named.register import NAMED

__all__ = ["NAMED", "in_layers", "in_models", "in_training", "of_beginners", "since_2017"]
