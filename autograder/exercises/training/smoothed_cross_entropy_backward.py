import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.training.shared import one_hot, to_judge, with_padding_before_words
from solutions import training as reference
from solutions.smoothing import smooth_labels

smoothed_cross_entropy_backward = Exercise(
    reference.smoothed_cross_entropy_backward,
    outputs={"grad_logits": "... T vocab"},
    section="The gradient: yours to derive",
)
wrong = short_mistakes(smoothed_cross_entropy_backward)


def to_go_back(draw, inputs, dtype=np.float64):
    inputs = inputs | {"logits": inputs["logits"].astype(dtype)}
    cache = reference.smoothed_cross_entropy(**inputs)[1]
    return {"grad_loss": float(draw.rng.uniform(2, 4)), "cache": cache}


@smoothed_cross_entropy_backward.cases("the idea", points=2)
def _(draw):
    yield "no padding", to_go_back(draw, to_judge(draw))
    yield "no smoothing", to_go_back(draw, to_judge(draw) | {"smoothing": 0.0})
    yield "one sentence", to_go_back(draw, to_judge(draw, 0))


@smoothed_cross_entropy_backward.cases("padding", points=1)
def _(draw):
    yield "sentences of different lengths", to_go_back(draw, to_judge(draw, n_padded=1))
    yield "padding before and between words", to_go_back(draw, with_padding_before_words(to_judge(draw)))
    inputs = to_judge(draw)
    yield "nothing but padding", to_go_back(draw, inputs | {"targets": 0 * inputs["targets"]})


@smoothed_cross_entropy_backward.cases("batches and float32", points=1)
def _(draw):
    yield "two batch axes", to_go_back(draw, to_judge(draw, 2, n_padded=1))
    yield "float32", to_go_back(draw, to_judge(draw, n_padded=1), np.float32)


def spread(rows, counted):
    full = np.zeros((*counted.shape, rows.shape[-1]), rows.dtype)
    full[counted] = rows
    return full


def soft_rows(cache, smoothing=None):
    log_p, labels, _, eps = cache
    eps = eps if smoothing is None else smoothing
    return smooth_labels(labels, log_p.shape[-1], eps).astype(log_p.dtype)


@smoothed_cross_entropy_backward.mistake("does not divide by the number of targets")
def not_divided(grad_loss, cache):
    """You have p - q', but the loss was a *mean* over n targets, so divide each row of the gradient by n. Without this
    division a larger batch has larger gradients."""
    return reference.smoothed_cross_entropy_backward(grad_loss * max(1, len(cache[0])), cache)


@smoothed_cross_entropy_backward.mistake("divides by all positions, padding too", reread="Padding does not count")
def divided_by_all(grad_loss, cache):
    """You divide by the number of positions. The loss was a mean over the targets that count, so divide by n, the
    number of rows in the cache."""
    return reference.smoothed_cross_entropy_backward(grad_loss * len(cache[0]) / cache[2].size, cache)


@smoothed_cross_entropy_backward.mistake("divides by the number of targets twice")
def divided_twice(grad_loss, cache):
    """You divide by the number of real targets twice. The loss is a mean, so divide each target's gradient by this
    number once."""
    return reference.smoothed_cross_entropy_backward(grad_loss, cache) / max(1, cache[2].sum())


@smoothed_cross_entropy_backward.mistake("subtracts the one-hot label")
def hard_difference(grad_loss, cache):
    """This is p - q with the one-hot q. The loss contains the smoothed label, so its gradient is p - q'. When the model
    has reached its goal, p = q', your gradient is not zero and pushes the model past the goal."""
    log_p, labels, counted, _ = cache
    return reference.smoothed_cross_entropy_backward(grad_loss, (log_p, labels, counted, 0.0))


@smoothed_cross_entropy_backward.mistake("adds eps/K for the wrong classes")
def plus_for_minus(grad_loss, cache):
    """For a wrong class the gradient is p - eps/K. Yours is p + eps/K, as in a widely read article. Check that each row
    adds up to zero."""
    log_p, labels, counted, eps = cache
    K = log_p.shape[-1]
    right = one_hot(labels, K) == 1
    rows = np.exp(log_p) + np.where(right, -(1 - eps) - eps / K, eps / K).astype(log_p.dtype)
    return spread(rows * (grad_loss / max(1, len(log_p))), counted)


@smoothed_cross_entropy_backward.mistake("smooths over the K - 1 wrong classes", reread="Three ways to spread it")
def gradient_of_the_variant(grad_loss, cache):
    """Your q' has eps/(K-1) for the wrong classes. The q' of the forward pass has eps/K for all classes, and 1 - eps
    more for the right one."""
    log_p, labels, counted, eps = cache
    K = log_p.shape[-1]
    return reference.smoothed_cross_entropy_backward(grad_loss, (log_p, labels, counted, eps * K / (K - 1)))


wrong("uphill", lambda grad_loss, cache: -reference.smoothed_cross_entropy_backward(grad_loss, cache))("""
    has the sign reversed
    This is q' - p, which points downhill. The gradient points uphill: p - q'. The optimiser adds the minus sign.""")
wrong("as_if_one", lambda grad_loss, cache: reference.smoothed_cross_entropy_backward(1.0, cache))("""
    ignores grad_loss
    You return the gradient of the loss itself, without the factor `grad_loss`, which comes from what follows the
    loss.""")


@smoothed_cross_entropy_backward.mistake("takes log-probabilities for probabilities")
def logarithms(grad_loss, cache):
    """The cache holds *logarithms* of probabilities. p is their exponential."""
    log_p, _, counted, _ = cache
    return spread((log_p - soft_rows(cache)) * (grad_loss / max(1, len(log_p))), counted)


@smoothed_cross_entropy_backward.mistake(
    "returns the rows that count, without the padding's places", reread="Padding does not count"
)
def rows_only(grad_loss, cache):
    """You return only the n rows that count. The gradient has the shape of the logits, (..., T, vocab), with zeros at
    padding. Write the rows to the places where `counted` is true."""
    log_p = cache[0]
    return (np.exp(log_p) - soft_rows(cache)) * (grad_loss / max(1, len(log_p)))


@smoothed_cross_entropy_backward.mistake(
    "writes the rows to the first places of each sentence", reread="Padding does not count"
)
def first_places(grad_loss, cache):
    """The n rows are right, but you write them to the first places of each sentence. Padding may also come before a
    word: write the rows to the places where `counted` is true."""
    log_p, labels, counted, eps = cache
    first = np.arange(counted.shape[-1]) < counted.sum(axis=-1, keepdims=True)
    return reference.smoothed_cross_entropy_backward(grad_loss, (log_p, labels, first, eps))


@smoothed_cross_entropy_backward.mistake("returns float64 whatever the dtype is")
def double_gradient(grad_loss, cache):
    """You return float64 for float32: np.zeros makes float64 unless you give it a dtype."""
    return reference.smoothed_cross_entropy_backward(grad_loss, cache).astype(np.float64)


@smoothed_cross_entropy_backward.mistake("takes a whole unit from the right class")
def whole_unit(grad_loss, cache):
    """You subtract 1 + eps/K from the right class, and eps/K from the others. The smoothed label of the right class is
    1 - eps + eps/K. Check that each row of the gradient adds up to zero."""
    log_p, labels, counted, eps = cache
    rows = np.exp(log_p) - (one_hot(labels, log_p.shape[-1]) + eps / log_p.shape[-1]).astype(log_p.dtype)
    return spread(rows * (grad_loss / max(1, len(log_p))), counted)


@smoothed_cross_entropy_backward.mistake("leaves out the even part")
def right_part_only(grad_loss, cache):
    """This is (1 - eps) times p - q: the gradient of the right class's part alone. The mean over all classes has a
    gradient, too: eps times p - 1/K."""
    log_p, labels, counted, eps = cache
    hard = reference.smoothed_cross_entropy_backward(grad_loss, (log_p, labels, counted, 0.0))
    return (hard * (1 - eps)).astype(log_p.dtype)


@smoothed_cross_entropy_backward.mistake(
    "smooths over K - 2 classes, without padding's", reread="Three ways to spread it"
)
def without_padding_class(grad_loss, cache):
    """Your q' has eps/(K-2) for the wrong classes and nothing for class 0. The q' of the forward pass has eps/K for
    every class of the vocabulary."""
    log_p, labels, counted, eps = cache
    K = log_p.shape[-1]
    soft = np.where(one_hot(labels, K) == 1, 1 - eps, eps / (K - 2))
    soft[:, 0] = 0
    return spread((np.exp(log_p) - soft.astype(log_p.dtype)) * (grad_loss / max(1, len(log_p))), counted)


@smoothed_cross_entropy_backward.mistake("does not subtract the label")
def label_left_out(grad_loss, cache):
    """This is p, divided by n. You do not subtract the label, so a step pushes every logit down. The gradient is p -
    q'."""
    log_p, _, counted, _ = cache
    return spread(np.exp(log_p) * (grad_loss / max(1, len(log_p))), counted)


@smoothed_cross_entropy_backward.mistake("divides by the size of the vocabulary, too")
def over_the_vocabulary(grad_loss, cache):
    """The gradient is too small by the size of the vocabulary. The loss is a mean over the targets and a *sum* over the
    classes of each target: divide by n only."""
    log_p = cache[0]
    return reference.smoothed_cross_entropy_backward(grad_loss, cache) / log_p.dtype.type(log_p.shape[-1])


@smoothed_cross_entropy_backward.equivalent
def with_labels(grad_loss, cache):
    log_p, _, counted, _ = cache
    return spread((np.exp(log_p) - soft_rows(cache)) * (grad_loss / max(1, len(log_p))), counted)


@smoothed_cross_entropy_backward.equivalent
def row_after_row(grad_loss, cache):
    log_p, labels, counted, eps = cache
    full = np.zeros((*counted.shape, log_p.shape[-1]), log_p.dtype)
    for place, log_row, label in zip(np.argwhere(counted), log_p, labels, strict=True):
        row = np.exp(log_row) - eps / len(log_row)
        row[label] -= 1 - eps
        full[tuple(place)] = row * grad_loss / len(log_p)
    return full


@smoothed_cross_entropy_backward.equivalent
def by_two_gradients(grad_loss, cache):
    log_p, labels, counted, eps = cache
    hard, even = (reference.smoothed_cross_entropy_backward(grad_loss, (log_p, labels, counted, e)) for e in (0.0, 1.0))
    return (1 - eps) * hard + eps * even
