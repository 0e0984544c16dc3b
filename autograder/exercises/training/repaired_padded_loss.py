"""repaired_padded_loss: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.exercises.training.shared import (
    to_judge,
    up_to_the_first_padding,
    up_to_the_last_word,
    with_padding_before_words,
    with_strange_padding,
)
from autograder.exercises.training.smoothed_cross_entropy import target_by_target
from solutions import model
from solutions import training as reference
from solutions.attention import softmax

repaired_padded_loss = Exercise(reference.repaired_padded_loss, outputs={"loss": ""}, section="Find the bug")


def hard(inputs, **others):
    return {name: inputs[name] for name in ("logits", "targets", "pad")} | others


@repaired_padded_loss.cases("large logits", points=1)
def _(draw):
    inputs = hard(to_judge(draw))
    yield "logits in the thousands, no padding", inputs | {"logits": 1000 + inputs["logits"]}
    inputs = hard(to_judge(draw))
    hardly = np.where(np.arange(inputs["logits"].shape[-1]) == inputs["targets"][..., :1, None], -3000, 0)
    yield "a word that hardly can be, no padding", inputs | {"logits": inputs["logits"] + hardly}


@repaired_padded_loss.cases("the mean", points=1.5)
def _(draw):
    yield "sentences of different lengths", hard(to_judge(draw, n_padded=1))
    yield "another padding token", hard(to_judge(draw, 2, n_padded=1, pad=2))
    yield "padding before and between words", hard(with_padding_before_words(to_judge(draw)))


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


@repaired_padded_loss.mistake("three mistakes are left: nothing is mended", reread="Padding does not count")
def as_it_was(logits, targets, pad):
    """This is the function as it stood. Large logits overflow, infinite ones at padding become NaN, and the mean runs
    over padding too. Take one after the other."""
    return half_mended(logits, targets, pad, stable=False, selects=False, over_counted=False)


@repaired_padded_loss.mistake(
    "two mistakes are left: padding is divided by and multiplied away", reread="Padding does not count"
)
def only_stable(logits, targets, pad):
    """The overflow is mended; two mistakes are left, both at padding. By how many do you divide? And what is 0 times
    infinity?"""
    return half_mended(logits, targets, pad, stable=True, selects=False, over_counted=False)


@repaired_padded_loss.mistake("two mistakes are left: large logits, and the mean", reread="Padding does not count")
def only_selects(logits, targets, pad):
    """Padding is selected away; two mistakes are left. The mean still divides by all positions, and large logits
    overflow."""
    return half_mended(logits, targets, pad, stable=False, selects=True, over_counted=False)


@repaired_padded_loss.mistake(
    "two mistakes are left: large logits, and infinities at padding", reread="Padding does not count"
)
def only_the_mean_mended(logits, targets, pad):
    """The mean is mended; two mistakes are left. Large logits overflow, and 0 times an infinite surprise is NaN."""
    return half_mended(logits, targets, pad, stable=False, selects=False, over_counted=True)


@repaired_padded_loss.mistake("one mistake is left: large logits overflow", reread="Padding does not count")
def still_overflows(logits, targets, pad):
    """One mistake is left: exp overflows above 709, and the quotient is NaN. `log_softmax` never divides."""
    return half_mended(logits, targets, pad, stable=False, selects=True, over_counted=True)


@repaired_padded_loss.mistake("one mistake is left: zero times infinity", reread="Padding does not count")
def still_multiplies(logits, targets, pad):
    """One mistake is left: padding is multiplied by 0, and 0 times infinity is NaN. Select what counts instead."""
    return half_mended(logits, targets, pad, stable=True, selects=False, over_counted=True)


@repaired_padded_loss.mistake("one mistake is left: the mean counts padding", reread="Padding does not count")
def still_divides_by_all(logits, targets, pad):
    """One mistake is left: you divide by all positions. Divide by the number of targets that count."""
    return half_mended(logits, targets, pad, stable=True, selects=True, over_counted=False)


@repaired_padded_loss.mistake(
    "one mistake is left: the logarithm of a probability of 0", reread="Padding does not count"
)
def logarithm_of_softmax(logits, targets, pad):
    """One mistake is left: the softmax is stable now, but a word whose logit is a thousand below the largest has the
    probability 0 in it, and log 0 is minus infinity. `log_softmax` never divides."""
    counts = targets != pad
    p = np.take_along_axis(softmax(logits[counts]), targets[counts][:, None], axis=-1)
    with np.errstate(divide="ignore"):
        return -np.log(p).mean()


@repaired_padded_loss.mistake("one mistake is left: padding before a word counts", reread="Padding does not count")
def only_trailing_padding(logits, targets, pad):
    """One mistake is left: you leave out the padding after the last word and count the padding before it. `pad` may
    stand anywhere: compare each target with it."""
    counts = up_to_the_last_word(targets, pad)
    return model.cross_entropy(logits[counts], targets[counts], -1)[0]


@repaired_padded_loss.mistake(
    "one mistake is left: nothing behind the first padding counts", reread="Padding does not count"
)
def words_behind_padding_lost(logits, targets, pad):
    """One mistake is left: you cut each sentence at its first padding, so the words behind it do not count. `pad` may
    stand anywhere: compare each target with it."""
    counts = up_to_the_first_padding(targets, pad)
    return model.cross_entropy(logits[counts], targets[counts], -1)[0]


@repaired_padded_loss.equivalent
def all_mended(logits, targets, pad):
    return half_mended(logits, targets, pad, stable=True, selects=True, over_counted=True)


@repaired_padded_loss.equivalent
def chapter_8_s(logits, targets, pad):
    return model.cross_entropy(logits, targets, pad)[0]


@repaired_padded_loss.equivalent
def one_target_after_the_other(logits, targets, pad):
    return target_by_target(logits, targets, 0.0, pad)[0]
