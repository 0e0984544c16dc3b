import math

import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.training.shared import (
    one_hot,
    to_judge,
    up_to_the_first_padding,
    up_to_the_last_word,
    with_padding_before_words,
    with_strange_padding,
)
from solutions import model
from solutions import training as reference
from solutions.smoothing import smooth_labels

smoothed_cross_entropy = Exercise(
    reference.smoothed_cross_entropy,
    outputs={"loss": "", "cache": UNJUDGED},
    section="Padding does not count",
)
wrong = short_mistakes(smoothed_cross_entropy)


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
    yield "padding before and between words", with_padding_before_words(to_judge(draw))
    yield "infinite logits at padding", with_strange_padding(to_judge(draw, n_padded=1), -np.inf)
    inputs = to_judge(draw)
    yield "nothing but padding", inputs | {"targets": 0 * inputs["targets"]}


@smoothed_cross_entropy.cases("stability", points=1)
def _(draw):
    yield "logits in the thousands", to_judge(draw, scale=1000.0)


def loss_rows(logits, targets, smoothing, log=model.log_softmax):
    """Return the losses (..., T) with the smoothed labels, including those of padding."""
    labels = smooth_labels(targets, logits.shape[-1], smoothing)
    return -(labels * log(logits)).sum(axis=-1)


def mean_of_counted(losses, targets, pad):
    return losses[targets != pad].sum() / max(1, (targets != pad).sum())


@smoothed_cross_entropy.mistake("divides by all positions, padding too")
def mean_over_padding(logits, targets, smoothing=0.0, pad=0):
    """Your sum leaves padding out, but its divisor counts padding. The more padding a batch contains, the smaller its
    loss and gradients are. Divide by the number of targets that count."""
    losses = reference.smoothed_cross_entropy(logits, targets, smoothing, pad)[0]
    return losses * (targets != pad).sum() / targets.size, None


@smoothed_cross_entropy.mistake("multiplies padding by zero")
def times_zero(logits, targets, smoothing=0.0, pad=0):
    """Multiplying the loss at padding by 0 works until a logit there is infinite: 0 times infinity is NaN. Select what
    counts, `logits[targets != pad]`, before you compute."""
    counts = targets != pad
    return (loss_rows(logits, targets, smoothing) * counts).sum() / max(1, counts.sum()), None


@smoothed_cross_entropy.mistake("counts padding as a word")
def padding_counts(logits, targets, smoothing=0.0, pad=0):
    """Your loss counts padding like any other token, so the model learns to predict padding, which is easy and useless.
    Leave out the targets that equal `pad`."""
    return loss_rows(logits, targets, smoothing).mean(), None


@smoothed_cross_entropy.mistake("counts padding before a word")
def only_trailing_padding(logits, targets, smoothing=0.0, pad=0):
    """You leave out the padding after a sentence's last word, but count the padding before it. `pad` may occur
    anywhere: compare each target with it, `targets != pad`."""
    counts = up_to_the_last_word(targets, pad)
    return reference.smoothed_cross_entropy(logits[counts], targets[counts], smoothing, -1)


@smoothed_cross_entropy.mistake("stops at the first padding")
def words_behind_padding_lost(logits, targets, smoothing=0.0, pad=0):
    """You cut each sentence at its first padding, so the words after it do not count. `pad` may occur anywhere: compare
    each target with it, `targets != pad`."""
    counts = up_to_the_first_padding(targets, pad)
    return reference.smoothed_cross_entropy(logits[counts], targets[counts], smoothing, -1)


wrong("padding_is_zero", reference.smoothed_cross_entropy, pad=0)("""
    takes 0 for padding, whatever pad is
    You leave out token 0 even if `pad` is another token. Compare with the argument `pad`.""")


@smoothed_cross_entropy.mistake("adds up instead of averaging")
def summed(logits, targets, smoothing=0.0, pad=0):
    """You return the sum over the targets. Long batches then get larger gradients than short ones: divide by the number
    of targets that count."""
    loss, _ = reference.smoothed_cross_entropy(logits, targets, smoothing, pad)
    return loss * (targets != pad).sum(), None


@smoothed_cross_entropy.mistake("divides by the number of targets twice")
def averaged_twice(logits, targets, smoothing=0.0, pad=0):
    """Your loss is a mean that is divided by the number of targets once more. A mean (`.mean()`) has divided already:
    divide a sum, or do not divide."""
    loss, _ = reference.smoothed_cross_entropy(logits, targets, smoothing, pad)
    return loss / max(1, (targets != pad).sum()), None


@smoothed_cross_entropy.mistake("averages sentence by sentence first")
def mean_of_means(logits, targets, smoothing=0.0, pad=0):
    """You average each sentence, then the averages. A word in a short sentence then weighs more than a word in a long
    one. Take one mean over all targets that count."""
    if targets.ndim < 2:
        return reference.smoothed_cross_entropy(logits, targets, smoothing, pad)
    pairs = zip(logits.reshape(-1, *logits.shape[-2:]), targets.reshape(-1, targets.shape[-1]), strict=True)
    return np.mean([reference.smoothed_cross_entropy(z, t, smoothing, pad)[0] for z, t in pairs]), None


@smoothed_cross_entropy.mistake("divides by zero when everything is padding")
def nan_for_nothing(logits, targets, smoothing=0.0, pad=0):
    """If every target is padding, n is 0 and 0/0 is NaN. There is nothing to learn from such a batch, so its loss is
    0: divide by max(1, n)."""
    counts = targets != pad
    with np.errstate(invalid="ignore"):
        return loss_rows(logits[counts], targets[counts], smoothing).sum() / counts.sum(), None


@smoothed_cross_entropy.mistake("spreads eps over the K - 1 wrong classes", reread="Three ways to spread it")
def loss_of_the_variant(logits, targets, smoothing=0.0, pad=0):
    """Your labels are 1 - eps and eps/(K-1). This variant exists, but this book and PyTorch use another: eps/K for
    every class, and 1 - eps more for the right one."""
    K = logits.shape[-1]
    return reference.smoothed_cross_entropy(logits, targets, smoothing * K / (K - 1), pad)


@smoothed_cross_entropy.mistake("divides the sum over all classes by K - 1", reread="Three ways to spread it")
def one_class_less(logits, targets, smoothing=0.0, pad=0):
    """Your even part is the sum over all K classes, including the right one, divided by K - 1. A mean over K classes
    divides by K."""
    counts = targets != pad
    all_classes = -model.log_softmax(logits[counts]).sum(axis=-1) * smoothing / (logits.shape[-1] - 1)
    right = loss_rows(logits[counts], targets[counts], 0.0) * (1 - smoothing)
    return (all_classes + right).sum() / max(1, counts.sum()), None


@smoothed_cross_entropy.mistake("leaves the padding class out of the smoothing", reread="Three ways to spread it")
def smoothing_without_padding(logits, targets, smoothing=0.0, pad=0):
    """You spread the even part over K - 2 classes, and the padding class gets nothing. PyTorch and this book give eps/K
    to every class of the vocabulary."""
    counts, K = targets != pad, logits.shape[-1]
    rows, right = logits[counts], targets[counts]
    labels = np.where(one_hot(right, K) == 1, 1 - smoothing, smoothing / (K - 2))
    labels[..., pad] = 0
    return -(labels * model.log_softmax(rows)).sum() / max(1, len(rows)), None


wrong("unsmoothed", reference.smoothed_cross_entropy, smoothing=0.0)("""
    does not smooth -> Two cross-entropies
    You do not use `smoothing`, so this is the loss with one-hot labels.""")


def mixed(logits, targets, smoothing=0.0, pad=0, *, mix):
    """Mix the loss of one-hot labels and the mean surprise over all classes in another way."""
    hard, even = (reference.smoothed_cross_entropy(logits, targets, eps, pad)[0] for eps in (0.0, 1.0))
    return mix(hard, even, smoothing), None


wrong("right_part_only", mixed, mix=lambda hard, even, eps: (1 - eps) * hard)("""
    leaves out the mean over all classes -> Two cross-entropies
    You have (1 - eps) times the surprise at the right class, but not eps times the mean surprise over all classes.
    Without it you only scale down the loss of the one-hot label.""")


@smoothed_cross_entropy.mistake("adds up all classes where the mean belongs", reread="Two cross-entropies")
def sum_over_classes(logits, targets, smoothing=0.0, pad=0):
    """The even part is eps times the *mean* surprise over the K classes. Yours is eps times the sum, so it is K times
    too large. The uniform distribution gives each class 1/K."""
    hard = reference.smoothed_cross_entropy(logits, targets, 0.0, pad)[0]
    even = reference.smoothed_cross_entropy(logits, targets, 1.0, pad)[0]
    return (1 - smoothing) * hard + smoothing * even * logits.shape[-1], None


@smoothed_cross_entropy.mistake("overflows on large logits")
def naive_log_softmax(logits, targets, smoothing=0.0, pad=0):
    """Your loss is right for small logits, but infinite or NaN for large ones: either exp overflows, or a probability
    becomes 0 and its logarithm -inf. With `log_softmax` of chapter 8, neither happens."""
    counts = targets != pad

    def naive(z):
        exponentials = np.exp(z)
        return np.log(exponentials / exponentials.sum(axis=-1, keepdims=True))

    return mean_of_counted(loss_rows(logits[counts], targets[counts], smoothing, naive), targets[counts], pad), None


wrong("right_part_unscaled", mixed, mix=lambda hard, even, eps: hard + eps * even)("""
    does not scale the right class's part -> Two cross-entropies
    You add eps times the mean surprise to the whole surprise at the right class. The two shares add up to one: (1 -
    eps) of the first, eps of the second.""")
wrong("even_part_subtracted", mixed, mix=lambda hard, even, eps: (1 - eps) * hard - eps * even)("""
    subtracts the mean over all classes -> Two cross-entropies
    Your second part has the wrong sign. Log-probabilities are negative, and *both* parts of the loss have a minus
    sign.""")
wrong("even_part_only", mixed, mix=lambda hard, even, eps: eps * even)("""
    has the mean over all classes alone -> Two cross-entropies
    You have only eps times the mean surprise, so the right class counts no more than any other, and without smoothing
    the loss is zero. Add (1 - eps) times the surprise at the right class.""")


@smoothed_cross_entropy.mistake("exchanges eps and 1 - eps", reread="Two cross-entropies")
def shares_exchanged(logits, targets, smoothing=0.0, pad=0):
    """In your loss the right class has the share eps, and the mean over all classes has the share 1 - eps. But eps is
    the *small* share, which belongs to the mean over all classes."""
    return reference.smoothed_cross_entropy(logits, targets, 1 - smoothing, pad)


@smoothed_cross_entropy.mistake("is the divergence, not the cross-entropy", reread="Kullback and Leibler")
def divergence(logits, targets, smoothing=0.0, pad=0):
    """This is the Kullback-Leibler divergence: you subtract the label's own entropy, so a perfect model has a loss of
    0. The gradients are the same, but the exercise asks for the cross-entropy."""
    loss, _ = reference.smoothed_cross_entropy(logits, targets, smoothing, pad)
    return loss - (targets != pad).any() * reference.label_entropy(logits.shape[-1], smoothing), None


@smoothed_cross_entropy.mistake("divides by the number of sentences")
def by_sentences(logits, targets, smoothing=0.0, pad=0):
    """You divide the sum over the targets by the number of sentences, so batches of long sentences have a larger loss
    and larger gradients than batches of short ones. Divide by the number of targets that count."""
    loss, _ = reference.smoothed_cross_entropy(logits, targets, smoothing, pad)
    return loss * (targets != pad).sum() / math.prod(targets.shape[:-1]), None


@smoothed_cross_entropy.mistake("gives each wrong class eps/(K-2)", reread="Three ways to spread it")
def one_class_too_few(logits, targets, smoothing=0.0, pad=0):
    """Your labels have 1 - eps and, for each of the K - 1 wrong classes, eps/(K-2), so a row adds up to more than 1.
    Code that divides by K - 2 sets the padding class to 0 afterwards. In this book every class gets eps/K and the right
    one 1 - eps more."""
    counts, K = targets != pad, logits.shape[-1]
    labels = np.where(one_hot(targets[counts], K) == 1, 1 - smoothing, smoothing / (K - 2))
    return -(labels * model.log_softmax(logits[counts])).sum() / max(1, counts.sum()), None


wrong("even_part_unscaled", mixed, mix=lambda hard, even, eps: (1 - eps) * hard + even)("""
    does not scale the mean over all classes -> Two cross-entropies
    The surprise at the right class has the share 1 - eps, but the mean over all classes has the share 1 instead of eps,
    as if the label gave each class 1/K instead of eps/K. Its share is eps.""")


@smoothed_cross_entropy.mistake("averages over the vocabulary, too")
def mean_over_classes(logits, targets, smoothing=0.0, pad=0):
    """The loss is too small by the size of the vocabulary: `.mean()` runs over the classes as well. The loss at a
    target is a *sum* over its classes. Take the mean over the targets only."""
    return reference.smoothed_cross_entropy(logits, targets, smoothing, pad)[0] / logits.shape[-1], None


@smoothed_cross_entropy.mistake("adds up by one mask and divides by another")
def divided_by_another_mask(logits, targets, smoothing=0.0, pad=0):
    """Your sum leaves out the targets that equal `pad`, but its divisor leaves out those that equal 0. With another
    padding token the two masks differ. Make one mask, `targets != pad`, and use it for both."""
    loss, _ = reference.smoothed_cross_entropy(logits, targets, smoothing, pad)
    return loss * (targets != pad).sum() / max(1, (targets != 0).sum()), None


@smoothed_cross_entropy.mistake("leaves out 0 in the sum, and `pad` in the divisor")
def summed_by_another_mask(logits, targets, smoothing=0.0, pad=0):
    """Your sum leaves out the targets that equal 0, but its divisor leaves out those that equal `pad`. With another
    padding token the two masks differ. Make one mask, `targets != pad`, and use it for both."""
    return loss_rows(logits, targets, smoothing)[targets != 0].sum() / max(1, (targets != pad).sum()), None


@smoothed_cross_entropy.mistake("leaves padding out of the divisor only")
def padding_in_the_sum(logits, targets, smoothing=0.0, pad=0):
    """Your sum runs over all targets, including padding, but you divide by the number of targets without padding. Use
    one mask for both, `targets != pad`."""
    return loss_rows(logits, targets, smoothing).sum() / max(1, (targets != pad).sum()), None


@smoothed_cross_entropy.mistake("leaves padding out of one of the two terms only")
def padding_in_the_even_part(logits, targets, smoothing=0.0, pad=0):
    """The surprise at the right classes leaves padding out, but the even part of the smoothed labels, the mean over all
    classes, includes it. Use one mask for both terms, `targets != pad`."""
    counts, sharp, even = targets != pad, loss_rows(logits, targets, 0.0), loss_rows(logits, targets, 1.0)
    return ((1 - smoothing) * sharp[counts].sum() + smoothing * even.sum()) / max(1, counts.sum()), None


wrong("rest_spread", mixed, mix=lambda hard, even, eps: (1 - eps) * (hard + even))("""
    spreads 1 - eps over all classes -> Three ways to spread it
    Each class gets (1 - eps)/K instead of eps/K. Spread the *small* part, eps, over all classes; the right class gets 1
    - eps more.""")


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
