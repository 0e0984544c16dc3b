"""smooth_labels: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.exercises.training.shared import one_hot
from solutions import training as reference

smooth_labels = Exercise(reference.smooth_labels, outputs={"labels": "... vocab"}, section="Softer labels")


def to_smooth(draw, *shape, smoothing=None):
    vocab = draw.size(8, 14)
    smoothing = draw.rng.uniform(0.05, 0.4) if smoothing is None else smoothing
    return {"targets": draw.tokens(*shape, vocab=vocab - 1), "vocab": vocab, "smoothing": float(smoothing)}


@smooth_labels.cases("the idea", points=1)
def _(draw):
    yield "one sentence", to_smooth(draw, draw.size(3, 8))


@smooth_labels.cases("batches", points=1)
def _(draw):
    yield "one batch axis", to_smooth(draw, *draw.sizes(2))
    yield "two batch axes", to_smooth(draw, *draw.sizes(3))
    yield "a single target", to_smooth(draw)


@smooth_labels.cases("edge cases", points=1)
def _(draw):
    yield "no smoothing", to_smooth(draw, *draw.sizes(2), smoothing=0.0)
    yield "nothing but smoothing", to_smooth(draw, *draw.sizes(2), smoothing=1.0)
    yield "the padding token as target", to_smooth(draw, 3) | {"targets": np.array([0, 2, 0])}


@smooth_labels.mistake("spreads eps over the K - 1 wrong classes", reread="Three ways to spread it")
def over_the_wrong_ones(targets, vocab, smoothing):
    """You give eps/(K-1) to each wrong class and 1 - eps to the right one. That is a distribution, but neither
    PyTorch's nor this book's: there the even part covers all K classes, the right one too. Yours is ours
    with eps' = eps K/(K-1)."""
    return np.where(one_hot(targets, vocab) == 1, 1 - smoothing, smoothing / (vocab - 1))


@smooth_labels.mistake("spreads eps over the K - 2 wrong classes without padding", reread="Three ways to spread it")
def nothing_for_padding(targets, vocab, smoothing):
    """You leave the padding class out and spread eps over the K - 2 others. Its label is then 0, and training pushes
    that logit down without end. In this book, as in PyTorch, every class gets eps/K."""
    labels = np.where(one_hot(targets, vocab) == 1, 1 - smoothing, smoothing / (vocab - 2))
    labels[..., 0] = np.where(targets == 0, 1 - smoothing, 0)
    return labels


@smooth_labels.mistake("forgets the right class's share of the even part")
def rows_too_light(targets, vocab, smoothing):
    """The wrong classes have eps/K, the right one 1 - eps: a row adds up to 1 - eps/K, so it is no distribution. The
    right class has its share of the even part too: 1 - eps + eps/K."""
    return np.where(one_hot(targets, vocab) == 1, 1 - smoothing, smoothing / vocab)


@smooth_labels.mistake("gives the right class one whole unit and more")
def rows_too_heavy(targets, vocab, smoothing):
    """You add eps/K to the one-hot row without taking eps from it, so a row adds up to 1 + eps. A mixture has two
    shares: (1 - eps) of the one and eps of the other."""
    return one_hot(targets, vocab) + smoothing / vocab


@smooth_labels.mistake("exchanges eps and 1 - eps", reread="The idea in a formula")
def nearly_uniform(targets, vocab, smoothing):
    """The right class has eps, and nearly everything is spread evenly. eps is the *small* part, that of the uniform
    distribution."""
    return smoothing * one_hot(targets, vocab) + (1 - smoothing) / vocab


@smooth_labels.mistake("does not smooth")
def hard_labels(targets, vocab, smoothing):
    """These are one-hot labels; eps is not used. With eps = 0 that is right, and with no other."""
    return one_hot(targets, vocab)


@smooth_labels.mistake("finds the vocabulary's size in the targets")
def as_many_as_seen(targets, vocab, smoothing):
    """The rows have as many classes as the largest target needs. A batch seldom holds the vocabulary's last token, so
    the width changes from batch to batch. It is given: `vocab`."""
    return reference.smooth_labels(targets, int(targets.max()) + 1, smoothing)


@smooth_labels.mistake("works without batch axes only")
def one_axis_only(targets, vocab, smoothing):
    """`labels[np.arange(len(targets)), targets]` counts one axis. With a batch axis it pairs the wrong indices, or
    raises. Compare targets[..., None] with np.arange(vocab), or use np.put_along_axis."""
    labels = np.full((*targets.shape, vocab), smoothing / vocab)
    labels[np.arange(len(targets)), targets] += 1 - smoothing
    return labels


@smooth_labels.mistake(
    "spreads eps over K - 2 classes, and gives padding a row of zeros", reread="Three ways to spread it"
)
def zero_row_at_padding(targets, vocab, smoothing):
    """Padding has no class, and where it is the target the whole row is zero: a row that is no distribution. Every
    class gets eps/K here, padding's too; which *targets* count is the loss's affair."""
    labels = np.where(one_hot(targets, vocab) == 1, 1 - smoothing, smoothing / (vocab - 2))
    labels[..., 0] = 0
    labels[targets == 0] = 0
    return labels


@smooth_labels.mistake("gives padding a row of zeros")
def padding_erased(targets, vocab, smoothing):
    """Where the target is 0 the row is zero. Here 0 is a class like the others, and every row adds up to one; which
    targets count is the loss's affair."""
    return reference.smooth_labels(targets, vocab, smoothing) * (targets != 0)[..., None]


@smooth_labels.mistake("gives every wrong class the whole of eps")
def eps_for_each(targets, vocab, smoothing):
    """Each wrong class has eps, where all classes together have eps to share: eps/K each. A row must add up to one."""
    return np.where(one_hot(targets, vocab) == 1, 1 - smoothing, smoothing)


@smooth_labels.mistake("gives the right class nothing but its share")
def right_class_even(targets, vocab, smoothing):
    """All classes have eps/K, the right one too: its own part, 1 - eps, is missing."""
    return np.full((*targets.shape, vocab), smoothing / vocab)


@smooth_labels.mistake("gives each wrong class eps/(K-2)", reread="Three ways to spread it")
def one_class_too_few(targets, vocab, smoothing):
    """The right class has 1 - eps and each of the K - 1 others eps/(K-2), so a row adds up to more than 1. Code that
    divides by K - 2 sets the padding class to 0 afterwards. In this book every class gets eps/K and the right one 1 -
    eps more."""
    return np.where(one_hot(targets, vocab) == 1, 1 - smoothing, smoothing / (vocab - 2))


@smooth_labels.mistake("adds 1/K where eps/K belongs")
def whole_even_part(targets, vocab, smoothing):
    """You add the whole uniform distribution, 1/K, so a row adds up to 2 - eps. Its share is eps: add eps/K."""
    return (1 - smoothing) * one_hot(targets, vocab) + 1 / vocab


@smooth_labels.equivalent
def by_comparing(targets, vocab, smoothing):
    return (1 - smoothing) * one_hot(targets, vocab) + smoothing / vocab


@smooth_labels.equivalent
def by_identity_rows(targets, vocab, smoothing):
    return (np.eye(vocab) * (1 - smoothing) + smoothing / vocab)[targets]


@smooth_labels.equivalent
def by_loop(targets, vocab, smoothing):
    labels = np.zeros((*targets.shape, vocab))
    for index in np.ndindex(*labels.shape):
        labels[index] = smoothing / vocab + (1 - smoothing if index[-1] == targets[index[:-1]] else 0)
    return labels
