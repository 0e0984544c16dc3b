"""Chapter 9, training: the cases, the known mistakes and the right rewrites of its exercises."""

import math
from itertools import takewhile

import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from solutions import model
from solutions import training as reference
from solutions.parameters import flatten, from_vectors, initialise, to_vectors

# ------------------------------------------------------------------------------------------ smooth_labels

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


def one_hot(targets, vocab):
    return (targets[..., None] == np.arange(vocab)).astype(float)


@smooth_labels.mistake("spreads eps over the K - 1 wrong classes")
def over_the_wrong_ones(targets, vocab, smoothing):
    """You give eps/(K-1) to each wrong class and 1 - eps to the right one. That is a distribution, and a published
    one, but not PyTorch's or this book's: there the even part covers all K classes, the right one too. Yours is ours
    with eps' = eps K/(K-1). Reread 'Three ways to spread it'."""
    return np.where(one_hot(targets, vocab) == 1, 1 - smoothing, smoothing / (vocab - 1))


@smooth_labels.mistake("spreads eps over the K - 2 wrong classes without padding")
def nothing_for_padding(targets, vocab, smoothing):
    """You leave the padding class out and spread eps over the K - 2 others. Its label is then 0, and training pushes
    that logit down without end. In this book, as in PyTorch, every class gets eps/K. Reread 'Three ways to spread
    it'."""
    labels = np.where(one_hot(targets, vocab) == 1, 1 - smoothing, smoothing / (vocab - 2))
    labels[..., 0] = np.where(targets == 0, 1 - smoothing, 0)
    return labels


@smooth_labels.mistake("forgets the right class's share of the even part")
def rows_too_light(targets, vocab, smoothing):
    """The wrong classes have eps/K, the right one 1 - eps: a row adds up to 1 - eps/K, so it is no distribution. The
    right class has its share of the even part too: 1 - eps + eps/K. Reread 'Softer labels'."""
    return np.where(one_hot(targets, vocab) == 1, 1 - smoothing, smoothing / vocab)


@smooth_labels.mistake("gives the right class one whole unit and more")
def rows_too_heavy(targets, vocab, smoothing):
    """You add eps/K to the one-hot row without taking eps from it, so a row adds up to 1 + eps. A mixture has two
    shares: (1 - eps) of the one and eps of the other. Reread 'Softer labels'."""
    return one_hot(targets, vocab) + smoothing / vocab


@smooth_labels.mistake("exchanges eps and 1 - eps")
def nearly_uniform(targets, vocab, smoothing):
    """The right class has eps, and nearly everything is spread evenly. eps is the *small* part, that of the uniform
    distribution. Reread 'The idea in a formula'."""
    return smoothing * one_hot(targets, vocab) + (1 - smoothing) / vocab


@smooth_labels.mistake("does not smooth")
def hard_labels(targets, vocab, smoothing):
    """These are one-hot labels; eps is not used. With eps = 0 that is right, and with no other. Reread 'Softer
    labels'."""
    return one_hot(targets, vocab)


@smooth_labels.mistake("finds the vocabulary's size in the targets")
def as_many_as_seen(targets, vocab, smoothing):
    """The rows have as many classes as the largest target needs. A batch seldom holds the vocabulary's last token, so
    the width changes from batch to batch. It is given: `vocab`. Reread 'Softer labels'."""
    return reference.smooth_labels(targets, int(targets.max()) + 1, smoothing)


@smooth_labels.mistake("works without batch axes only")
def one_axis_only(targets, vocab, smoothing):
    """`labels[np.arange(len(targets)), targets]` counts one axis. With a batch axis it pairs the wrong indices, or
    raises. Compare targets[..., None] with np.arange(vocab), or use np.put_along_axis. Reread 'Softer labels'."""
    labels = np.full((*targets.shape, vocab), smoothing / vocab)
    labels[np.arange(len(targets)), targets] += 1 - smoothing
    return labels


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


# --------------------------------------------------------------------------------------- predicted_losses

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
    H(q', p) is at least H(q'). Reread 'Two cross-entropies'."""
    return reference.predicted_losses(vocab, smoothing) | {"is_perfect": 0.0}


@predicted_losses.mistake("counts only the right class in the floor")
def right_class_only(vocab, smoothing):
    """Your floor is -log of the right class's probability. The loss asks for the surprise at *every* class, weighted
    by its label. Reread 'Two cross-entropies'."""
    right = 1 - smoothing + smoothing / vocab
    return {"knows_nothing": math.log(vocab), "is_perfect": -math.log(right)}


@predicted_losses.mistake("takes the floor of the eps/(K-1) variant")
def floor_of_the_variant(vocab, smoothing):
    """Your floor belongs to labels with 1 - eps and eps/(K-1). In this book they are 1 - eps + eps/K and eps/K. Reread
    'Three ways to spread it'."""
    parts = (1 - smoothing, *[smoothing / (vocab - 1)] * (vocab - 1))
    return {"knows_nothing": math.log(vocab), "is_perfect": -sum(q * math.log(q) for q in parts if q)}


@predicted_losses.mistake("takes logarithms to base 2")
def in_bits(vocab, smoothing):
    """These are bits; the loss is in nats, since log-softmax takes the natural logarithm. Use math.log. Reread 'Two
    cross-entropies'."""
    return {name: loss / math.log(2) for name, loss in reference.predicted_losses(vocab, smoothing).items()}


# --------------------------------------------------------------------------------- smoothed_cross_entropy

smoothed_cross_entropy = Exercise(
    reference.smoothed_cross_entropy,
    outputs={"loss": "", "cache": UNJUDGED},
    section="Padding does not count",
)


def to_judge(draw, n_batch_axes=1, n_padded=0, pad=0, scale=1.0):
    T, vocab, *batch = draw.sizes(2 + n_batch_axes, low=3, high=10)
    targets = draw.rng.integers(1, vocab, size=(*batch, T))
    targets[targets == pad] = 1 if pad != 1 else 2
    if n_padded:
        targets[..., -n_padded:] = pad
        # Sentences of different lengths, so that a mean of means is another number.
        targets.reshape(-1, T)[0, 1:] = pad
    logits = scale * draw.normal(*batch, T, vocab)
    smoothing = float(draw.rng.uniform(0.1, 0.4))
    return {"logits": logits, "targets": targets, "smoothing": smoothing, "pad": pad}


def with_strange_padding(inputs, value):
    logits = inputs["logits"].copy()
    logits[inputs["targets"] == inputs["pad"]] = value
    return inputs | {"logits": logits}


@smoothed_cross_entropy.cases("the idea", points=2)
def _(draw):
    yield "no padding", to_judge(draw)
    yield "no smoothing", to_judge(draw) | {"smoothing": 0.0}
    yield "one sentence", to_judge(draw, 0)
    yield "two batch axes", to_judge(draw, 2)


@smoothed_cross_entropy.cases("padding", points=2)
def _(draw):
    yield "sentences of different lengths", to_judge(draw, n_padded=1)
    yield "another padding token", to_judge(draw, n_padded=1, pad=2)
    yield "infinite logits at padding", with_strange_padding(to_judge(draw, n_padded=1), -np.inf)
    inputs = to_judge(draw)
    yield "nothing but padding", inputs | {"targets": 0 * inputs["targets"]}


@smoothed_cross_entropy.cases("stability", points=1)
def _(draw):
    yield "logits in the thousands", to_judge(draw, scale=1000.0)


def loss_rows(logits, targets, smoothing, log=model.log_softmax):
    """Losses (..., T), padding included, by the smoothed labels."""
    labels = reference.smooth_labels(targets, logits.shape[-1], smoothing)
    return -(labels * log(logits)).sum(axis=-1)


def mean_of_counted(losses, targets, pad):
    return losses[targets != pad].sum() / max(1, (targets != pad).sum())


@smoothed_cross_entropy.mistake("divides by all positions, padding too")
def mean_over_padding(logits, targets, smoothing=0.0, pad=0):
    """The sum leaves padding out, and the mean counts it in: the more padding a batch holds, the smaller its loss and
    its gradients. Divide by the number of targets that count. Reread 'Padding does not count'."""
    losses = reference.smoothed_cross_entropy(logits, targets, smoothing, pad)[0]
    return losses * (targets != pad).sum() / targets.size, None


@smoothed_cross_entropy.mistake("multiplies padding by zero")
def times_zero(logits, targets, smoothing=0.0, pad=0):
    """Multiplying the loss at padding by 0 works until a logit there is infinite: 0 times infinity is NaN. Select what
    counts, `logits[targets != pad]`, before you compute. Reread 'Padding does not count'."""
    counts = targets != pad
    return (loss_rows(logits, targets, smoothing) * counts).sum() / max(1, counts.sum()), None


@smoothed_cross_entropy.mistake("counts padding as a word")
def padding_counts(logits, targets, smoothing=0.0, pad=0):
    """Padding is in the loss like any token, so the model learns to predict it, which is easy and useless. Leave out
    the targets that equal `pad`. Reread 'Padding does not count'."""
    return loss_rows(logits, targets, smoothing).mean(), None


@smoothed_cross_entropy.mistake("takes 0 for padding, whatever pad is")
def padding_is_zero(logits, targets, smoothing=0.0, pad=0):
    """Token 0 is left out even where `pad` says another. Compare with the argument `pad`. Reread 'Padding does not
    count'."""
    return reference.smoothed_cross_entropy(logits, targets, smoothing, 0)


@smoothed_cross_entropy.mistake("adds up instead of averaging")
def summed(logits, targets, smoothing=0.0, pad=0):
    """This is the sum over the targets. Long batches would then get larger gradients than short ones: divide by the
    number of targets that count. Reread 'Padding does not count'."""
    loss, _ = reference.smoothed_cross_entropy(logits, targets, smoothing, pad)
    return loss * (targets != pad).sum(), None


@smoothed_cross_entropy.mistake("averages sentence by sentence first")
def mean_of_means(logits, targets, smoothing=0.0, pad=0):
    """You average each sentence, then the averages. A word in a short sentence then weighs more than one in a long
    one. There is one mean, over all targets that count. Reread 'Padding does not count'."""
    if targets.ndim < 2:
        return reference.smoothed_cross_entropy(logits, targets, smoothing, pad)
    pairs = zip(logits.reshape(-1, *logits.shape[-2:]), targets.reshape(-1, targets.shape[-1]), strict=True)
    return np.mean([reference.smoothed_cross_entropy(z, t, smoothing, pad)[0] for z, t in pairs]), None


@smoothed_cross_entropy.mistake("divides by zero when everything is padding")
def nan_for_nothing(logits, targets, smoothing=0.0, pad=0):
    """If every target is padding, n is 0 and 0/0 is NaN. There is nothing to learn from such a batch, so its loss is
    0: divide by max(1, n). Reread 'Padding does not count'."""
    counts = targets != pad
    with np.errstate(invalid="ignore"):
        return loss_rows(logits[counts], targets[counts], smoothing).sum() / counts.sum(), None


@smoothed_cross_entropy.mistake("spreads eps over the K - 1 wrong classes")
def loss_of_the_variant(logits, targets, smoothing=0.0, pad=0):
    """Your labels are 1 - eps and eps/(K-1): a published variant, but not this book's and not PyTorch's, which is
    eps/K for all and 1 - eps more for the right one. Reread 'Three ways to spread it'."""
    K = logits.shape[-1]
    return reference.smoothed_cross_entropy(logits, targets, smoothing * K / (K - 1), pad)


@smoothed_cross_entropy.mistake("leaves the padding class out of the smoothing")
def smoothing_without_padding(logits, targets, smoothing=0.0, pad=0):
    """The even part is spread over K - 2 classes and the padding class gets nothing. PyTorch and this book give eps/K
    to every class of the vocabulary. Reread 'Three ways to spread it'."""
    counts, K = targets != pad, logits.shape[-1]
    rows, right = logits[counts], targets[counts]
    labels = np.where(one_hot(right, K) == 1, 1 - smoothing, smoothing / (K - 2))
    labels[..., pad] = 0
    return -(labels * model.log_softmax(rows)).sum() / max(1, len(rows)), None


@smoothed_cross_entropy.mistake("does not smooth")
def unsmoothed(logits, targets, smoothing=0.0, pad=0):
    """This is the loss with one-hot labels: `smoothing` is not used. Reread 'Two cross-entropies'."""
    return reference.smoothed_cross_entropy(logits, targets, 0.0, pad)


@smoothed_cross_entropy.mistake("leaves out the mean over all classes")
def right_part_only(logits, targets, smoothing=0.0, pad=0):
    """(1 - eps) times the surprise at the right class is there; eps times the mean surprise over all classes is not.
    Without it the loss is one-hot's, made smaller. Reread 'Two cross-entropies'."""
    return (1 - smoothing) * reference.smoothed_cross_entropy(logits, targets, 0.0, pad)[0], None


@smoothed_cross_entropy.mistake("adds up all classes where the mean belongs")
def sum_over_classes(logits, targets, smoothing=0.0, pad=0):
    """The even part is eps times the *mean* surprise over the K classes; yours is eps times the sum, K times as much.
    The uniform distribution gives each class 1/K. Reread 'Two cross-entropies'."""
    hard = reference.smoothed_cross_entropy(logits, targets, 0.0, pad)[0]
    even = reference.smoothed_cross_entropy(logits, targets, 1.0, pad)[0]
    return (1 - smoothing) * hard + smoothing * even * logits.shape[-1], None


@smoothed_cross_entropy.mistake("overflows on large logits")
def naive_log_softmax(logits, targets, smoothing=0.0, pad=0):
    """Right for small logits, infinite or NaN for large ones: either exp overflows, or a probability becomes 0 and its
    logarithm -inf. `log_softmax` of chapter 8 does neither. Reread 'Padding does not count'."""
    counts = targets != pad

    def naive(z):
        exponentials = np.exp(z)
        return np.log(exponentials / exponentials.sum(axis=-1, keepdims=True))

    return mean_of_counted(loss_rows(logits[counts], targets[counts], smoothing, naive), targets[counts], pad), None


@smoothed_cross_entropy.equivalent
def through_labels(logits, targets, smoothing=0.0, pad=0):
    counts = targets != pad
    return loss_rows(logits[counts], targets[counts], smoothing).sum() / max(1, counts.sum()), ()


@smoothed_cross_entropy.equivalent
def through_two_losses(logits, targets, smoothing=0.0, pad=0):
    losses = [reference.smoothed_cross_entropy(logits, targets, eps, pad)[0] for eps in (0.0, 1.0)]
    return (1 - smoothing) * losses[0] + smoothing * losses[1], ()


@smoothed_cross_entropy.equivalent
def target_by_target(logits, targets, smoothing=0.0, pad=0):
    losses = []
    for index in np.ndindex(*targets.shape):
        if targets[index] != pad:
            z = logits[index]
            log_sum = np.logaddexp.reduce(z)
            losses.append(log_sum - (1 - smoothing) * z[targets[index]] - smoothing * z.mean())
    return (math.fsum(losses) / len(losses) if losses else 0.0), ()


# ------------------------------------------------------------------------ smoothed_cross_entropy_backward

smoothed_cross_entropy_backward = Exercise(
    reference.smoothed_cross_entropy_backward,
    outputs={"grad_logits": "... T vocab"},
    section="The gradient: p minus q′",
)


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
    return reference.smooth_labels(labels, log_p.shape[-1], eps).astype(log_p.dtype)


@smoothed_cross_entropy_backward.mistake("does not divide by the number of targets")
def not_divided(grad_loss, cache):
    """p - q' is there, and the loss was a *mean* over n targets: each row of the gradient is divided by n. Without it a
    larger batch takes longer steps. Reread 'The gradient: p minus q′'."""
    return reference.smoothed_cross_entropy_backward(grad_loss * max(1, len(cache[0])), cache)


@smoothed_cross_entropy_backward.mistake("divides by all positions, padding too")
def divided_by_all(grad_loss, cache):
    """You divide by the number of positions. The loss was a mean over the targets that count, so the gradient is
    divided by n, the number of rows in the cache. Reread 'Padding does not count'."""
    return reference.smoothed_cross_entropy_backward(grad_loss * len(cache[0]) / cache[2].size, cache)


@smoothed_cross_entropy_backward.mistake("subtracts the one-hot label")
def hard_difference(grad_loss, cache):
    """This is p - q with the one-hot q. The loss was made with the smoothed label, so its gradient is p - q'; with
    yours the model is pushed past its goal for ever. Reread 'The gradient: p minus q′'."""
    log_p, labels, counted, _ = cache
    return reference.smoothed_cross_entropy_backward(grad_loss, (log_p, labels, counted, 0.0))


@smoothed_cross_entropy_backward.mistake("adds eps/K for the wrong classes")
def plus_for_minus(grad_loss, cache):
    """For a wrong class the gradient is p - eps/K; yours is p + eps/K, as one well-read article has it. A row must add
    up to zero: check it. Reread 'The gradient: p minus q′'."""
    log_p, labels, counted, eps = cache
    K = log_p.shape[-1]
    right = one_hot(labels, K) == 1
    rows = np.exp(log_p) + np.where(right, -(1 - eps) - eps / K, eps / K).astype(log_p.dtype)
    return spread(rows * (grad_loss / max(1, len(log_p))), counted)


@smoothed_cross_entropy_backward.mistake("smooths over the K - 1 wrong classes")
def gradient_of_the_variant(grad_loss, cache):
    """Your q' has eps/(K-1) for the wrong classes. The forward's has eps/K for all, and 1 - eps more for the right
    one. Reread 'Three ways to spread it'."""
    log_p, labels, counted, eps = cache
    K = log_p.shape[-1]
    return reference.smoothed_cross_entropy_backward(grad_loss, (log_p, labels, counted, eps * K / (K - 1)))


@smoothed_cross_entropy_backward.mistake("has the sign reversed")
def uphill(grad_loss, cache):
    """This is q' - p, the direction downhill. The gradient points uphill: p - q'. The optimiser takes the minus.
    Reread 'The gradient: p minus q′'."""
    return -reference.smoothed_cross_entropy_backward(grad_loss, cache)


@smoothed_cross_entropy_backward.mistake("ignores grad_loss")
def as_if_one(grad_loss, cache):
    """The gradient of the loss itself is there; the factor `grad_loss`, from what comes after the loss, is not.
    Reread 'The gradient: p minus q′'."""
    return reference.smoothed_cross_entropy_backward(1.0, cache)


@smoothed_cross_entropy_backward.mistake("takes log-probabilities for probabilities")
def logarithms(grad_loss, cache):
    """The cache holds *logarithms* of probabilities. p is their exponential. Reread 'The gradient: p minus q′'."""
    log_p, _, counted, _ = cache
    return spread((log_p - soft_rows(cache)) * (grad_loss / max(1, len(log_p))), counted)


@smoothed_cross_entropy_backward.mistake("returns the rows that count, without the padding's places")
def rows_only(grad_loss, cache):
    """These are the n rows that count. The logits had the shape (..., T, vocab), and so has their gradient: zeros at
    padding. Write the rows to where `counted` is true. Reread 'Padding does not count'."""
    log_p = cache[0]
    return (np.exp(log_p) - soft_rows(cache)) * (grad_loss / max(1, len(log_p)))


@smoothed_cross_entropy_backward.mistake("answers in float64 whatever was asked")
def double_gradient(grad_loss, cache):
    """The numbers are right, and float32 came back as float64: np.zeros makes float64 unless you say
    dtype=... Reread 'The gradient: p minus q′'."""
    return reference.smoothed_cross_entropy_backward(grad_loss, cache).astype(np.float64)


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


# ------------------------------------------------------------------------------------- noam_learning_rate

noam_learning_rate = Exercise(reference.noam_learning_rate, outputs={"rate": ""}, section="The learning-rate schedule")


def at(draw, low, high, **others):
    warmup = draw.size(50, 500)
    return {"step": int(warmup * draw.rng.uniform(low, high)), "d_model": draw.size(20, 700), "warmup": warmup} | others


@noam_learning_rate.cases("the climb", points=1)
def _(draw):
    yield "during warm-up", at(draw, 0.2, 0.8)
    yield "the first step", at(draw, 0.2, 0.8, step=1)


@noam_learning_rate.cases("the corner and the descent", points=1)
def _(draw):
    yield "after warm-up", at(draw, 2, 6)
    inputs = at(draw, 1, 2)
    yield "at the corner", inputs | {"step": inputs["warmup"]}
    yield "no warm-up", at(draw, 1, 2, warmup=1)


@noam_learning_rate.cases("errors", points=1)
def _(draw):
    yield "step 0", at(draw, 1, 2, step=0)
    yield "a step below 0", at(draw, 1, 2, step=-draw.size())


def checked(step):
    if step < 1:
        raise ValueError("steps count from 1")
    return step


@noam_learning_rate.mistake("takes the larger branch")
def larger_branch(step, d_model, warmup=4000):
    """max where min belongs: the rate begins at its largest, falls to the corner, and then climbs for ever. The smaller
    branch wins: first the climb, then the root. Reread 'The learning-rate schedule'."""
    return d_model**-0.5 * max(checked(step) ** -0.5, step * warmup**-1.5)


@noam_learning_rate.mistake("has -0.5 for -1.5 at the warm-up")
def wrong_exponent(step, d_model, warmup=4000):
    """warmup**-0.5 where warmup**-1.5 belongs: the branches then meet at step warmup**(1/3), after a handful of steps,
    and at a far higher rate. Set the branches equal: they meet at s = w. Reread 'The learning-rate schedule'."""
    return d_model**-0.5 * min(checked(step) ** -0.5, step * warmup**-0.5)


@noam_learning_rate.mistake("loses the step in the climb")
def no_step(step, d_model, warmup=4000):
    """The climbing branch lacks its factor `step`, so it is a constant and nothing climbs: at step 1000 the rate is a
    thousandth of what it should be. One published proof loses it too. Reread 'The learning-rate schedule'."""
    return d_model**-0.5 * min(checked(step) ** -0.5, warmup**-1.5)


@noam_learning_rate.mistake("does not scale with d_model")
def any_width(step, d_model, warmup=4000):
    """The factor d_model**-0.5 is missing, so a wide model learns as fast as a narrow one; at width 512 that is 23
    times too fast. Reread 'The learning-rate schedule'."""
    return min(checked(step) ** -0.5, step * warmup**-1.5)


@noam_learning_rate.mistake("grows with d_model")
def grows_with_width(step, d_model, warmup=4000):
    """You multiply by the root of d_model; wider models want *smaller* rates: d_model**-0.5. Reread 'The learning-rate
    schedule'."""
    return d_model**0.5 * min(checked(step) ** -0.5, step * warmup**-1.5)


@noam_learning_rate.mistake("counts steps from 0")
def from_zero(step, d_model, warmup=4000):
    """You add 1 to the step. In this book steps count from 1, so yours is one step ahead all the way, and step 0 is
    accepted. (PyTorch's LambdaLR counts from 0: add 1 there, not here.) Reread 'The learning-rate schedule'."""
    if step < 0:
        raise ValueError("steps count from 0")
    return d_model**-0.5 * min((step + 1) ** -0.5, (step + 1) * warmup**-1.5)


@noam_learning_rate.mistake("lets step 0 through as step 1")
def at_least_one(step, d_model, warmup=4000):
    """The formula is right, and a step below 1 is quietly taken for step 1: then two first steps share a rate, and
    nobody hears of the wrong count. Raise a ValueError. Reread 'The learning-rate schedule'."""
    return reference.noam_learning_rate(max(1, step), d_model, warmup)


@noam_learning_rate.mistake("does not check the step")
def unchecked(step, d_model, warmup=4000):
    """Step 0 divides by zero, and for a negative step Python's root is a complex number. Raise a ValueError if the
    step is smaller than 1. Reread 'The learning-rate schedule'."""
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


@noam_learning_rate.equivalent
def by_branches(step, d_model, warmup=4000):
    checked(step)
    return 1 / math.sqrt(d_model * step) if step > warmup else step / math.sqrt(d_model * warmup**3)


@noam_learning_rate.equivalent
def from_the_corner(step, d_model, warmup=4000):
    ratio = checked(step) / warmup
    return (d_model * warmup) ** -0.5 * min(ratio, 1 / math.sqrt(ratio))


@noam_learning_rate.equivalent
def in_numpy(step, d_model, warmup=4000):
    s = float(checked(step))
    return float(np.minimum(s**-0.5, s * float(warmup) ** -1.5) / np.sqrt(d_model))


# ---------------------------------------------------------------------------------------------- adam_step

adam_step = Exercise(reference.adam_step, outputs={"parameters": "...", "moments": ""}, section="Adam", tolerance=1e-10)


def to_move(draw, *shape, step=None, dtype=np.float64, **constants):
    return {
        "parameters": draw.normal(*shape, dtype=dtype),
        "gradients": draw.normal(*shape, dtype=dtype),
        "moments": (draw.normal(*shape, dtype=dtype), (0.2 + draw.normal(*shape) ** 2).astype(dtype)),
        "step": draw.size(2, 9) if step is None else step,
        "learning_rate": float(draw.rng.uniform(0.1, 0.5)),
    } | constants


@adam_step.cases("the first step", points=1)
def _(draw):
    inputs = to_move(draw, draw.size(3, 8), step=1)
    yield "moments of zero", inputs | {"moments": tuple(np.zeros_like(m) for m in inputs["moments"])}


@adam_step.cases("later steps", points=2)
def _(draw):
    yield "a vector", to_move(draw, draw.size(3, 8))
    yield "a matrix", to_move(draw, *draw.sizes(2))
    yield "other constants", to_move(draw, *draw.sizes(2), beta_1=0.7, beta_2=0.95, eps=0.05)


@adam_step.cases("float32 and errors", points=2)
def _(draw):
    yield "float32", to_move(draw, *draw.sizes(2), dtype=np.float32)
    yield "step 0", to_move(draw, 3, step=0)


def adam(inputs, corrected=(True, True), root=lambda v, eps: np.sqrt(v) + eps, power=lambda b, s: b**s, complement=0):
    """Adam with some of its parts exchanged."""
    parameters, gradients, (m, v), step, rate, b1, b2, eps = inputs
    checked(step)
    old_1, old_2 = (1 - b1, 1 - b2) if complement else (b1, b2)
    m = old_1 * m + (1 - old_1) * gradients
    v = old_2 * v + (1 - old_2) * gradients**2
    m_hat = m / (1 - power(b1, step)) if corrected[0] else m
    v_hat = v / (1 - power(b2, step)) if corrected[1] else v
    return parameters - rate * m_hat / root(v_hat, eps), (m, v)


@adam_step.mistake("does not correct the bias")
def uncorrected(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """The averages start at zero and are used as they are: too small at first, by 1 - beta**step. With the paper's
    constants the first step has 0.71 of its length. Divide both before use. Reread 'Adam'."""
    inputs = (parameters, gradients, moments, step, learning_rate, beta_1, beta_2, eps)
    return adam(inputs, corrected=(False, False))


@adam_step.mistake("corrects the bias of the mean only")
def only_the_mean(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """The mean is corrected, the mean of squares is not: too small below the line, so the first steps are several
    times too long. Both averages start at zero. Reread 'Adam'."""
    inputs = (parameters, gradients, moments, step, learning_rate, beta_1, beta_2, eps)
    return adam(inputs, corrected=(True, False))


@adam_step.mistake("corrects by beta times step")
def times_not_power(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """The correction has beta * step where beta**step belongs; at step 1 they agree, later yours changes its sign. The
    weights of the average are a geometric series. Reread 'Adam'."""
    inputs = (parameters, gradients, moments, step, learning_rate, beta_1, beta_2, eps)
    return adam(inputs, root=lambda v, e: np.sqrt(np.abs(v)) + e, power=lambda b, s: b * s)


@adam_step.mistake("puts eps under the root")
def eps_inside(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """eps stands under the root, where 1e-9 acts like 3e-5: parameters with small gradients hardly move. It is added to
    the root. Reread 'Adam'."""
    inputs = (parameters, gradients, moments, step, learning_rate, beta_1, beta_2, eps)
    return adam(inputs, root=lambda v, e: np.sqrt(v + e))


@adam_step.mistake("forgets eps")
def without_eps(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """eps is not used. A parameter whose gradient has been zero so far divides 0 by 0. Add eps to the root. Reread
    'Adam'."""
    inputs = (parameters, gradients, moments, step, learning_rate, beta_1, beta_2, 0.0)
    return adam(inputs)


@adam_step.mistake("does not take the root")
def without_root(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """You divide by the mean of *squares*. Its root is the usual size of a gradient; without it a parameter with small
    gradients takes enormous steps. Reread 'Adam'."""
    inputs = (parameters, gradients, moments, step, learning_rate, beta_1, beta_2, eps)
    return adam(inputs, root=lambda v, e: v + e)


@adam_step.mistake("goes uphill")
def uphill_step(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """The step is added. The gradient points to where the loss grows, so subtract. Reread 'Adam'."""
    return reference.adam_step(parameters, gradients, moments, step, -learning_rate, beta_1, beta_2, eps)


@adam_step.mistake("exchanges beta and 1 - beta")
def betas_reversed(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """beta says how much of the old average *stays*; you keep 1 - beta of it. The averages then forget nearly all they
    have seen. Reread 'Adam'."""
    inputs = (parameters, gradients, moments, step, learning_rate, beta_1, beta_2, eps)
    return adam(inputs, complement=1)


@adam_step.mistake("averages the gradients themselves in place of their squares")
def not_squared(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """The second average is of the gradients' absolute values; it should be of their squares. Reread 'Adam'."""
    return reference.adam_step(
        parameters, np.sign(gradients) * np.sqrt(np.abs(gradients)), moments, step, learning_rate, beta_1, beta_2, eps
    )


@adam_step.mistake("hands back the corrected averages")
def corrected_moments(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """The step is right, and the averages returned are the *corrected* ones: the next step would correct them again.
    Return them as they were before the correction. Reread 'Adam'."""
    new, (m, v) = reference.adam_step(parameters, gradients, moments, step, learning_rate, beta_1, beta_2, eps)
    return new, (m / (1 - beta_1**step), v / (1 - beta_2**step))


@adam_step.mistake("hands back the old averages")
def old_moments(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """The step is right, and the averages returned are those that came in: nothing would be remembered from one step
    to the next. Return the new ones. Reread 'Adam'."""
    return reference.adam_step(parameters, gradients, moments, step, learning_rate, beta_1, beta_2, eps)[0], moments


@adam_step.mistake("updates the averages in place")
def in_place_moments(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """The numbers are right, and the caller's averages have changed: `mean *= ...` writes into them. If several
    parameters share an array of zeros at the start, as they may, each then remembers the others' gradients. Make new
    arrays. Reread 'Adam'."""
    new, fresh = reference.adam_step(parameters, gradients, moments, step, learning_rate, beta_1, beta_2, eps)
    for array, value in zip(moments, fresh, strict=True):
        array[...] = value
    return new, moments


@adam_step.mistake("updates the parameters in place")
def in_place_parameters(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """The numbers are right, and the caller's parameters have changed: `parameters -= ...` writes into them. Then no
    earlier checkpoint can be kept or averaged. Make a new array. Reread 'Adam'."""
    new, fresh = reference.adam_step(parameters, gradients, moments, step, learning_rate, beta_1, beta_2, eps)
    parameters[...] = new
    return parameters, fresh


@adam_step.mistake("does not check the step")
def step_zero(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """At step 0 the bias correction divides by 1 - beta**0 = 0, and everything becomes NaN or infinite. Raise a
    ValueError if the step is smaller than 1. Reread 'Adam'."""
    if step < 1:
        return np.full_like(parameters, np.nan), moments
    return reference.adam_step(parameters, gradients, moments, step, learning_rate, beta_1, beta_2, eps)


@adam_step.equivalent
def by_differences(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    checked(step)
    m, v = moments
    m, v = m + (1 - beta_1) * (gradients - m), v + (1 - beta_2) * (gradients * gradients - v)
    return parameters - learning_rate * (m / (1 - beta_1**step)) / (np.sqrt(v / (1 - beta_2**step)) + eps), (m, v)


@adam_step.equivalent
def as_pytorch_orders_it(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    checked(step)
    m = moments[0] * beta_1 + gradients * (1 - beta_1)
    v = moments[1] * beta_2 + np.square(gradients) * (1 - beta_2)
    root = np.sqrt(v) / math.sqrt(1 - beta_2**step) + eps
    return parameters - (learning_rate / (1 - beta_1**step)) * (m / root), (m, v)


@adam_step.equivalent
def number_by_number(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
    checked(step)
    new, mean, squares = (np.empty_like(parameters) for _ in range(3))
    for i in np.ndindex(*parameters.shape):
        mean[i] = beta_1 * moments[0][i] + (1 - beta_1) * gradients[i]
        squares[i] = beta_2 * moments[1][i] + (1 - beta_2) * gradients[i] ** 2
        down = math.sqrt(squares[i] / (1 - beta_2**step)) + eps
        new[i] = parameters[i] - learning_rate * mean[i] / (1 - beta_1**step) / down
    return new, (mean, squares)


# -------------------------------------------------------------------------------------------- exact_match

exact_match = Exercise(reference.exact_match, outputs={"fraction": ""}, section="When is a translation right?")


def sentences(draw, n, eos, low, width):
    """References (n, width) of tokens that are never eos, each ended by it, then padding."""
    rows = np.zeros((n, width), dtype=int)
    for row in rows:
        length = draw.size(2, width - 1)
        row[:length] = low + draw.rng.permutation(9)[:length]
        row[length] = eos
    return rows


def predicted(draw, eos=2, low=3):
    """Nine predictions: right; right with noise behind the end; a wrong word; too short; too long; endless; ...

    Each comes another number of times, so that a fraction says which of them were counted.
    """
    width = draw.size(7, 9)
    references = sentences(draw, 9, eos, low, width)
    predictions = np.pad(references, ((0, 0), (0, 2)))
    ends = (references == eos).argmax(axis=1)
    predictions[1, ends[1] + 1 :] = low + 1
    predictions[2, ends[2] + 1 :] = low + 2
    predictions[3, 0] = low + 9
    predictions[4, ends[4] - 1 :] = [eos, *[0] * (width + 2 - ends[4])]
    predictions[5, ends[5]], predictions[5, ends[5] + 1] = low + 4, eos
    predictions[6, ends[6] :] = low + 4
    predictions[7, :2] = predictions[7, 1::-1]
    rows = np.repeat(np.arange(9), 1 + draw.rng.permutation(9))
    return {"predictions": predictions[rows], "references": references[rows], "eos": eos}


@exact_match.cases("the idea", points=1)
def _(draw):
    for what in ("some first words wrong", "more sentences", "and others"):
        references = sentences(draw, draw.size(5, 11), 2, 3, 7)
        predictions = references.copy()
        predictions[: draw.size(1, 4), 0] = 15
        yield what, {"predictions": predictions, "references": references, "eos": 2}


@exact_match.cases("ends and widths", points=2)
def _(draw):
    yield "all that can happen", predicted(draw)
    yield "another end mark", predicted(draw, eos=1, low=3)
    references = sentences(draw, 3, 2, 3, 7)
    yield "predictions narrower than references", {"predictions": references[:, :3], "references": references, "eos": 2}


def up_to(tokens, eos, and_with=True):
    words = list(takewhile(lambda token: token != eos, tokens.tolist()))
    return words + [eos] * (and_with and eos in tokens)


def share(matches):
    return sum(matches) / len(matches)


@exact_match.mistake("compares what follows the end mark, too")
def whole_rows(predictions, references, eos=2):
    """You compare whole rows, so a right sentence fails when its padding or its leftovers differ. What follows the
    first end mark does not count. Reread 'When is a translation right?'."""
    width = max(predictions.shape[1], references.shape[1])
    p, r = (np.pad(a, ((0, 0), (0, width - a.shape[1]))) for a in (predictions, references))
    return float((p == r).all(axis=1).mean())


@exact_match.mistake("counts tokens, not sentences")
def token_accuracy(predictions, references, eos=2):
    """This is the share of right *tokens*: a sentence with one wrong word is still mostly right. A match is a whole
    sentence. Reread 'When is a translation right?'."""
    width = min(predictions.shape[1], references.shape[1])
    p, r = predictions[:, :width], references[:, :width]
    return float((p == r)[r != 0].mean())


@exact_match.mistake("lets a sentence without an end match")
def end_not_asked(predictions, references, eos=2):
    """You compare what stands before the end mark, and do not ask whether it comes: a prediction that breaks off
    without one counts as right. The end mark belongs to the sentence. Reread 'When is a translation right?'."""
    pairs = zip(predictions, references, strict=True)
    return share([up_to(p, eos, False)[: len(up_to(r, eos, False))] == up_to(r, eos, False) for p, r in pairs])


@exact_match.mistake("compares only as far as the reference goes")
def prefix_only(predictions, references, eos=2):
    """You compare the words that both have, and not the lengths: `zip` stops at the shorter one. A prediction that ends
    too early then counts as right. Reread 'When is a translation right?'."""
    pairs = zip(predictions, references, strict=True)

    def alike(p, r):
        return all(a == b for a, b in zip(up_to(p, eos, False), up_to(r, eos, False), strict=False))

    return share([alike(p, r) for p, r in pairs])


@exact_match.mistake("does not mind the order of the words")
def bag_of_words(predictions, references, eos=2):
    """The same words in another order count as right: sets and sorted lists forget order. For numbers the order is
    everything. Reread 'When is a translation right?'."""
    return share([sorted(up_to(p, eos)) == sorted(up_to(r, eos)) for p, r in zip(predictions, references, strict=True)])


@exact_match.mistake("takes 2 for the end mark, whatever eos is")
def end_is_two(predictions, references, eos=2):
    """The end mark is an argument, and you use 2. Reread 'When is a translation right?'."""
    return reference.exact_match(predictions, references, 2)


@exact_match.mistake("returns the number of matches")
def counted_not_divided(predictions, references, eos=2):
    """This is how many match. Divide by the number of sentences: a fraction from 0 to 1. Reread 'When is a translation
    right?'."""
    return float(reference.exact_match(predictions, references, eos) * len(references))


@exact_match.equivalent
def by_takewhile(predictions, references, eos=2):
    return share([up_to(p, eos) == up_to(r, eos) for p, r in zip(predictions, references, strict=True)])


@exact_match.equivalent
def by_mask(predictions, references, eos=2):
    width = max(predictions.shape[1], references.shape[1])
    p, r = (np.pad(a, ((0, 0), (0, width - a.shape[1])), constant_values=-1) for a in (predictions, references))
    counts = np.cumsum(r == eos, axis=1) - (r == eos) == 0
    return ((p == r) | ~counts).all(axis=1).mean()


@exact_match.equivalent
def by_position_of_the_end(predictions, references, eos=2):
    good = 0
    for p, r in zip(predictions, references, strict=True):
        n = int(np.argmax(r == eos)) + 1
        good += bool(len(p) >= n and np.array_equal(p[:n], r[:n]))
    return good / len(references)


# --------------------------------------------------------------------------------------------- train_step

train_step = Exercise(
    reference.train_step,
    outputs={"params": "", "moments": "", "loss": ""},
    order=("loss", "moments", "params"),
    section="One step of training",
    uses=("smoothed_cross_entropy", "smoothed_cross_entropy_backward", "adam_step"),
    tolerance=1e-7,  # Adam divides by the size of a gradient, and the key bias's is rounding noise
)


def to_train(draw, step=None, dtype=np.float64, **others):
    vocab, d_model, n_heads = draw.size(8, 12), 6, 2
    params = initialise(draw.rng, {"shared": vocab}, d_model, draw.size(7, 10), 1, 1, dtype)
    N, T_src, T_tgt = draw.sizes(3, low=3, high=7)
    src, tgt = draw.tokens(N, T_src, vocab=vocab, low=3), draw.tokens(N, T_tgt + 1, vocab=vocab, low=3)
    tgt[:, 0], tgt[:, -1] = 1, 2
    src[0, -1] = tgt[1, -1] = 0
    tgt[1, -2] = 2
    moments = [(0.1 * draw.normal(v.size, dtype=dtype), (0.5 + draw.normal(v.size) ** 2).astype(dtype))
               for v in to_vectors(params)]  # fmt: skip
    return {
        "params": params, "moments": moments, "step": draw.size(2, 9) if step is None else step, "src": src, "tgt": tgt,
        "n_heads": n_heads, "learning_rate": float(draw.rng.uniform(0.05, 0.2)),
        "smoothing": float(draw.rng.uniform(0.2, 0.4)), "pad": 0,
    } | others  # fmt: skip


@train_step.cases("the idea", points=2)
def _(draw):
    yield "a later step", to_train(draw)
    yield "no smoothing", to_train(draw, smoothing=0.0)


@train_step.cases("the first step", points=1)
def _(draw):
    inputs = to_train(draw, step=1)
    yield "moments of zero", inputs | {"moments": [(0 * m, 0 * v) for m, v in inputs["moments"]]}


@train_step.cases("another padding token", points=1)
def _(draw):
    inputs = to_train(draw)
    for tokens in (inputs["src"], inputs["tgt"]):
        tokens[tokens == 0] = 4
        tokens[-1, -1] = 3
    inputs["tgt"][-1, -2] = 2
    yield "pad is 3", inputs | {"pad": 3, "src": inputs["src"]}


def step_of(params, moments, step, src, tgt, n_heads, rate, smoothing, pad, inner=None, targets=None, loss_pad=None):
    """The reference in pieces, so that a mistake can exchange one: decoder input, targets, padding of the loss."""
    inner = tgt[:, :-1] if inner is None else inner
    targets = tgt[:, 1:] if targets is None else targets
    logits, cache = model.forward(params, src, inner, n_heads, pad)
    loss_pad = pad if loss_pad is None else loss_pad
    loss, loss_cache = reference.smoothed_cross_entropy(logits, targets, smoothing, loss_pad)
    gradients = model.backward(reference.smoothed_cross_entropy_backward(1.0, loss_cache), cache)
    vectors, fresh = [], []
    for vector, gradient, moment in zip(to_vectors(params), to_vectors(gradients), moments, strict=True):
        vector, moment = reference.adam_step(vector, gradient, moment, step, rate)
        vectors.append(vector)
        fresh.append(moment)
    return from_vectors(vectors, params), fresh, float(loss)


@train_step.mistake("does not shift the target")
def not_shifted(params, moments, step, src, tgt, n_heads, learning_rate, smoothing=0.1, pad=0):
    """The decoder is asked for the very token that it reads: input and target are both `tgt[:, :-1]`. The loss falls to
    its floor in no time, and nothing is learnt but copying. Ask for `tgt[:, 1:]`. Reread 'One step of training'."""
    return step_of(params, moments, step, src, tgt, n_heads, learning_rate, smoothing, pad, targets=tgt[:, :-1])


@train_step.mistake("lets the decoder read the answer")
def reads_the_answer(params, moments, step, src, tgt, n_heads, learning_rate, smoothing=0.1, pad=0):
    """The decoder reads `tgt[:, 1:]`, the tokens that it is to predict. It reads up to the last but one, starting with
    the begin mark: `tgt[:, :-1]`. Reread 'One step of training'."""
    return step_of(params, moments, step, src, tgt, n_heads, learning_rate, smoothing, pad, inner=tgt[:, 1:])


@train_step.mistake("does not smooth")
def trains_hard(params, moments, step, src, tgt, n_heads, learning_rate, smoothing=0.1, pad=0):
    """`smoothing` is not handed on to the loss, so the labels are one-hot. Reread 'One step of training'."""
    return step_of(params, moments, step, src, tgt, n_heads, learning_rate, 0.0, pad)


@train_step.mistake("counts padding in the loss")
def trains_on_padding(params, moments, step, src, tgt, n_heads, learning_rate, smoothing=0.1, pad=0):
    """Padded targets are in the loss. Hand `pad` on to `smoothed_cross_entropy` as well as to `forward`. Reread
    'Padding does not count'."""
    return step_of(params, moments, step, src, tgt, n_heads, learning_rate, smoothing, pad, loss_pad=-1)


@train_step.mistake("returns the loss after the step")
def loss_afterwards(params, moments, step, src, tgt, n_heads, learning_rate, smoothing=0.1, pad=0):
    """The step is right, and the loss is that of the *new* parameters. It costs a second forward pass; the loss before
    the step is there already. Reread 'One step of training'."""
    params, moments, _ = reference.train_step(params, moments, step, src, tgt, n_heads, learning_rate, smoothing, pad)
    logits, _ = model.forward(params, src, tgt[:, :-1], n_heads, pad)
    return params, moments, float(reference.smoothed_cross_entropy(logits, tgt[:, 1:], smoothing, pad)[0])


@train_step.mistake("does not hand the step on to Adam")
def always_step_one(params, moments, step, src, tgt, n_heads, learning_rate, smoothing=0.1, pad=0):
    """Adam is told that this is step 1, every time. The bias correction then blows the averages up long after they have
    filled. Hand `step` on. Reread 'Adam'."""
    return step_of(params, moments, 1, src, tgt, n_heads, learning_rate, smoothing, pad)


@train_step.mistake("forgets the moments")
def forgets_moments(params, moments, step, src, tgt, n_heads, learning_rate, smoothing=0.1, pad=0):
    """The moments returned are those that came in, so that Adam never remembers anything. Return the new ones. Reread
    'One step of training'."""
    new, _, loss = reference.train_step(params, moments, step, src, tgt, n_heads, learning_rate, smoothing, pad)
    return new, moments, loss


@train_step.mistake("takes plain gradient steps")
def plain_descent(params, moments, step, src, tgt, n_heads, learning_rate, smoothing=0.1, pad=0):
    """The parameters move by rate times gradient, without Adam: those with small gradients hardly move. Use your
    `adam_step`. Reread 'Adam'."""
    _, fresh, loss = reference.train_step(params, moments, step, src, tgt, n_heads, learning_rate, smoothing, pad)
    gradients = [(new - 0.9 * old) / (1 - 0.9) for (new, _), (old, _) in zip(fresh, moments, strict=True)]
    vectors = [v - learning_rate * g for v, g in zip(to_vectors(params), gradients, strict=True)]
    return from_vectors(vectors, params), fresh, loss


@train_step.mistake("leaves the parameters where they were")
def stands_still(params, moments, step, src, tgt, n_heads, learning_rate, smoothing=0.1, pad=0):
    """Everything is computed, and the parameters returned are the old ones. Put the new vectors into a tree with
    `from_vectors`, and return that. Reread 'One step of training'."""
    _, fresh, loss = reference.train_step(params, moments, step, src, tgt, n_heads, learning_rate, smoothing, pad)
    return params, fresh, loss


@train_step.equivalent
def in_pieces(params, moments, step, src, tgt, n_heads, learning_rate, smoothing=0.1, pad=0):
    return step_of(params, moments, step, src, tgt, n_heads, learning_rate, smoothing, pad)


@train_step.equivalent
def with_labels_built(params, moments, step, src, tgt, n_heads, learning_rate, smoothing=0.1, pad=0):
    memory, encoder_cache = model.encode(params, src, n_heads, pad)
    logits, decoder_cache = model.decode(params, tgt[:, :-1], memory, src, n_heads, pad)
    targets = tgt[:, 1:]
    counts = (targets != pad)[..., None]
    labels = reference.smooth_labels(targets, logits.shape[-1], smoothing)
    log_p = model.log_softmax(logits)
    loss = -(labels * log_p * counts).sum() / counts.sum()
    grad_logits = (np.exp(log_p) - labels) * counts / counts.sum()
    gradients = model.backward(grad_logits, (encoder_cache, decoder_cache, tuple(params["embeddings"])))
    triples = zip(to_vectors(params), to_vectors(gradients), moments, strict=True)
    steps = [by_differences(v, g, m, step, learning_rate) for v, g, m in triples]
    return from_vectors([v for v, _ in steps], params), [m for _, m in steps], float(loss)


@train_step.equivalent
def on_one_long_vector(params, moments, step, src, tgt, n_heads, learning_rate, smoothing=0.1, pad=0):
    logits, cache = model.forward(params, src, tgt[:, :-1], n_heads, pad)
    loss, loss_cache = reference.smoothed_cross_entropy(logits, tgt[:, 1:], smoothing, pad)
    gradients = model.backward(reference.smoothed_cross_entropy_backward(1.0, loss_cache), cache)
    ends = np.cumsum([len(vector) for vector in to_vectors(params)])[:-1]
    long = tuple(np.concatenate([pair[i] for pair in moments]) for i in (0, 1))
    vector = np.concatenate(to_vectors(params))
    new, (m, v) = reference.adam_step(vector, np.concatenate(to_vectors(gradients)), long, step, learning_rate)
    assert flatten(gradients).size == new.size
    pairs = list(zip(np.split(m, ends), np.split(v, ends), strict=True))
    return from_vectors(np.split(new, ends), params), pairs, float(loss)


# ----------------------------------------------------------------------------------- repaired_padded_loss

repaired_padded_loss = Exercise(reference.repaired_padded_loss, outputs={"loss": ""}, section="Find the bug")


def hard(inputs, **others):
    return {name: inputs[name] for name in ("logits", "targets", "pad")} | others


@repaired_padded_loss.cases("large logits", points=1)
def _(draw):
    inputs = hard(to_judge(draw))
    yield "logits in the thousands, no padding", inputs | {"logits": 1000 + inputs["logits"]}


@repaired_padded_loss.cases("the mean", points=1.5)
def _(draw):
    yield "sentences of different lengths", hard(to_judge(draw, n_padded=1))
    yield "another padding token", hard(to_judge(draw, 2, n_padded=1, pad=2))


@repaired_padded_loss.cases("anything at padding", points=1.5)
def _(draw):
    yield "-inf at padding", with_strange_padding(hard(to_judge(draw, n_padded=1)), -np.inf)


def half_mended(logits, targets, pad, *, stable, selects, over_counted):
    """The stub, with some of its three mistakes mended."""
    with np.errstate(all="ignore"):
        exponentials = np.exp(logits)
        log_p = model.log_softmax(logits) if stable else np.log(exponentials / exponentials.sum(axis=-1, keepdims=True))
        surprises = -np.take_along_axis(log_p, targets[..., None], axis=-1)[..., 0]
        counts = targets != pad
        total = surprises[counts].sum() if selects else (surprises * counts).sum()
        return total / (counts.sum() if over_counted else counts.size)


@repaired_padded_loss.mistake("three mistakes are left: nothing is mended")
def as_it_was(logits, targets, pad):
    """This is the function as it stood. Large logits overflow, infinite ones at padding become NaN, and the mean runs
    over padding too. Take one after the other. Reread 'Padding does not count'."""
    return half_mended(logits, targets, pad, stable=False, selects=False, over_counted=False)


@repaired_padded_loss.mistake("two mistakes are left: padding is divided by and multiplied away")
def only_stable(logits, targets, pad):
    """The overflow is mended; two mistakes are left, both at padding. By how many do you divide? And what is 0 times
    infinity? Reread 'Padding does not count'."""
    return half_mended(logits, targets, pad, stable=True, selects=False, over_counted=False)


@repaired_padded_loss.mistake("two mistakes are left: large logits, and the mean")
def only_selects(logits, targets, pad):
    """Padding is selected away; two mistakes are left. The mean still divides by all positions, and large logits
    overflow. Reread 'Padding does not count'."""
    return half_mended(logits, targets, pad, stable=False, selects=True, over_counted=False)


@repaired_padded_loss.mistake("two mistakes are left: large logits, and infinities at padding")
def only_the_mean_mended(logits, targets, pad):
    """The mean is mended; two mistakes are left. Large logits overflow, and 0 times an infinite surprise is NaN. Reread
    'Padding does not count'."""
    return half_mended(logits, targets, pad, stable=False, selects=False, over_counted=True)


@repaired_padded_loss.mistake("one mistake is left: large logits overflow")
def still_overflows(logits, targets, pad):
    """One mistake is left: exp overflows above 709, and the quotient is NaN. `log_softmax` never divides. Reread
    'Padding does not count'."""
    return half_mended(logits, targets, pad, stable=False, selects=True, over_counted=True)


@repaired_padded_loss.mistake("one mistake is left: zero times infinity")
def still_multiplies(logits, targets, pad):
    """One mistake is left: padding is multiplied by 0, and 0 times infinity is NaN. Select what counts instead. Reread
    'Padding does not count'."""
    return half_mended(logits, targets, pad, stable=True, selects=False, over_counted=True)


@repaired_padded_loss.mistake("one mistake is left: the mean counts padding")
def still_divides_by_all(logits, targets, pad):
    """One mistake is left: you divide by all positions. Divide by the number of targets that count. Reread 'Padding
    does not count'."""
    return half_mended(logits, targets, pad, stable=True, selects=True, over_counted=False)


@repaired_padded_loss.equivalent
def all_mended(logits, targets, pad):
    return half_mended(logits, targets, pad, stable=True, selects=True, over_counted=True)


@repaired_padded_loss.equivalent
def chapter_8_s(logits, targets, pad):
    return model.cross_entropy(logits, targets, pad)[0]


@repaired_padded_loss.equivalent
def one_target_after_the_other(logits, targets, pad):
    return target_by_target(logits, targets, 0.0, pad)[0]
