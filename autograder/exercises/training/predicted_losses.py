"""predicted_losses: its cases and known mistakes."""

import math

from autograder.authoring.exercise import Exercise
from solutions import training as reference

predicted_losses = Exercise(reference.predicted_losses, outputs={"losses": ""}, section="Two cross-entropies")


@predicted_losses.cases("with smoothing", points=2)
def _(draw):
    for _ in range(2):
        yield f"case {_ + 1}", {"vocab": draw.size(5, 90), "smoothing": float(draw.rng.uniform(0.05, 0.5))}


@predicted_losses.cases("without", points=1)
def _(draw):
    yield "one-hot labels", {"vocab": draw.size(5, 90), "smoothing": 0.0}


@predicted_losses.mistake("expects a perfect model to have loss zero")
def down_to_zero(vocab, smoothing):
    """Zero is the floor for one-hot labels only. With smoothing no model comes below the entropy of the label, since
    H(q', p) is at least H(q')."""
    return reference.predicted_losses(vocab, smoothing) | {"is_perfect": 0.0}


@predicted_losses.mistake("counts only the right class in the floor")
def right_class_only(vocab, smoothing):
    """Your floor is -log of the right class's probability. The loss asks for the surprise at *every* class, weighted
    by its label."""
    right = 1 - smoothing + smoothing / vocab
    return {"knows_nothing": math.log(vocab), "is_perfect": -math.log(right)}


@predicted_losses.mistake("takes the floor of the eps/(K-1) variant", reread="Three ways to spread it")
def floor_of_the_variant(vocab, smoothing):
    """Your floor belongs to labels with 1 - eps and eps/(K-1). In this book they are 1 - eps + eps/K and eps/K."""
    parts = (1 - smoothing, *[smoothing / (vocab - 1)] * (vocab - 1))
    return {"knows_nothing": math.log(vocab), "is_perfect": -sum(q * math.log(q) for q in parts if q)}


@predicted_losses.mistake("takes logarithms to base 2")
def in_bits(vocab, smoothing):
    """These are bits; the loss is in nats, since log-softmax takes the natural logarithm. Use math.log."""
    return {name: loss / math.log(2) for name, loss in reference.predicted_losses(vocab, smoothing).items()}
