import math

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.authoring.weights_to_choose import sentences
from solutions import attention as reference

copies_predecessor = Exercise(
    reference.copies_predecessor,
    outputs={"attended": "sentences T", "sharpness": "sentences T", "copied": "sentences T"},
    section="Weights that you choose",
    measure="copying",
    unseen=("words", "asks"),
)
wrong = short_mistakes(copies_predecessor)

THE_SCALE = "Why divide by the square root of the key width"


@copies_predecessor.cases("looks one back", points=2)
def _(draw):
    yield from sentences(draw, low=4, high=9, asks=["attended"])


@copies_predecessor.cases("and nowhere else", points=1)
def _(draw):
    yield from sentences(draw, low=4, high=9, asks=["attended", "sharpness"])


@copies_predecessor.cases("takes the word along", points=1)
def _(draw):
    yield from sentences(draw, low=4, high=9, asks=["copied"])


@copies_predecessor.cases("for long sentences", points=1)
def _(draw):
    yield from sentences(draw, low=40, high=60, asks=["attended", "sharpness", "copied"])


def weights(n_words, length, *, shift=-1, strength=None):
    """Return the reference's weights with another shift, or another strength of the query."""
    w_query, w_key, w_value = reference.copies_predecessor(n_words, length)
    if strength is None:
        strength = w_query.max()
    w_query[n_words:] = strength * np.eye(length, k=shift)
    return w_query, w_key, w_value


wrong("not_scaled", lambda n_words, length: weights(n_words, length, strength=math.log(1000 * length)))("""
    forgets that the scores are divided -> Why divide by the square root of the key width
    Your queries would be strong enough if nothing divided the scores. Attention divides them by the square root of
    d_key, so a strength of 8 becomes 8 / sqrt(d_key). Multiply the query by that root.""")
wrong("strength_one", weights, strength=1.0)("""
    asks with ones -> From scores to weights: the softmax
    Each position looks one back, but softly. With ones in the query and in the key, the score of the predecessor is
    below 1 and all other scores are 0, so its weight is less than e times the weight of any other key. Multiply the
    query by a large number.""")
wrong("strength_of_short_sentences", weights, strength=20.0)("""
    is sharp enough for short sentences only -> From scores to weights: the softmax
    Your query has the same strength for every length. In a longer sentence, more keys share the rest of the weight, and
    attention divides the scores by a larger root, because the keys are wider. Compute the strength from `length`.""")
wrong("one_ahead", weights, shift=1)("""
    looks one ahead
    Each position finds the next position. Either the shift has the wrong sign (`k=1` instead of `k=-1`), or you swap
    w_query and w_key. The query of position t must equal the key of position t - 1.""")
wrong("itself", weights, shift=0)("""
    looks at itself
    Each position finds itself, because its query fits its own key best. Shift the rows of w_query or of w_key by one:
    the query of position t must equal the key of position t - 1.""")
wrong("two_back", weights, shift=-2)("""
    looks two back
    Each position finds the position two before it: your shift is too large by one.""")


@copies_predecessor.mistake("looks at all words before it")
def all_before(n_words, length):
    """The query of position t equals the sum of all keys before t, so they all get the same weight. It may contain only
    the key of position t - 1. `np.tril` makes a triangle; `np.eye` with `k=-1` makes a single diagonal."""
    w_query, w_key, w_value = weights(n_words, length)
    w_query[n_words:] = w_query.max() * np.tril(np.ones((length, length)), k=-1)
    return w_query, w_key, w_value


@copies_predecessor.mistake("looks for its own word")
def own_word(n_words, length):
    """The query of each position asks for the word there, and finds this word wherever it occurs. To find the
    predecessor, the query needs only the position: the rows of the words in w_query should be zero."""
    w_query, w_key, w_value = weights(n_words, length)
    words = np.vstack([np.eye(n_words), np.zeros((length, n_words))])
    return np.hstack([w_query, 3 * w_query.max() * words]), np.hstack([w_key, words]), w_value


@copies_predecessor.mistake("hands over the position, not the word", reread="From weights to output")
def position_handed_over(n_words, length):
    """You look at the right position, but its value contains its position and not its word. In w_value, the rows of the
    words should be the identity and the rows of the positions zero."""
    w_query, w_key, _ = weights(n_words, length)
    return w_query, w_key, np.vstack([np.zeros((n_words, n_words)), np.eye(length, n_words)])


wrong(
    "positions_first", lambda n_words, length: tuple(np.roll(w, length, axis=0) for w in weights(n_words, length))
)("""
    puts the positions first
    In your matrices, the rows of the positions are above those of the words. In x the columns of the words come first,
    so row n_words + t of each matrix belongs to position t.""")
wrong("transposed", lambda n_words, length: tuple(w.T for w in weights(n_words, length)))("""
    returns the matrices transposed
    Your matrices have a column for each feature of x. A vector is a row in this book and the matrix is on its right, `x
    @ w`, so each feature of x needs a row.""")


@copies_predecessor.equivalent
def shift_in_the_key(n_words, length):
    w_query, w_key, w_value = weights(n_words, length, shift=0)
    w_key[n_words:] = np.eye(length, k=1)
    return w_query, w_key, w_value


@copies_predecessor.equivalent
def rotated(n_words, length):
    w_query, w_key, w_value = weights(n_words, length)
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(length, length)))[0]
    return w_query @ rotation, w_key @ rotation, w_value


@copies_predecessor.equivalent
def points_on_a_circle(n_words, length):
    """Use two columns: the key of each position is a point on a circle, and its query points at the key before it."""
    angles = 2 * np.pi * np.arange(length) / length
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    no_words, no_positions = np.zeros((n_words, 2)), np.zeros((length, n_words))
    w_query = np.vstack([no_words, 20 * length**2 * np.roll(circle, 1, axis=0)])
    return w_query, np.vstack([no_words, circle]), np.vstack([np.eye(n_words), no_positions])


@copies_predecessor.equivalent
def points_on_a_parabola(n_words, length):
    """Use the score 2 (t - 1) s - s², which is largest at s = t - 1."""
    places = np.arange(length)
    w_query, w_key = np.zeros((2, n_words + length, 2))
    w_query[n_words:] = 20 * length * np.stack([2 * (places - 1), np.full(length, -1)], axis=1)
    w_key[n_words:] = np.stack([places, places**2], axis=1)
    return w_query, w_key, np.vstack([5 * np.eye(n_words), np.zeros((length, n_words))]).astype(np.float32)


@copies_predecessor.equivalent
def in_whole_numbers(n_words, length):
    """Let the first position ask for the last position, which the task allows."""
    w_query, w_key = np.zeros((2, n_words + length, length), dtype=np.int64)
    w_query[n_words:] = 100 * length * np.roll(np.eye(length, dtype=np.int64), 1, axis=0)[:, ::-1]
    w_key[n_words:] = np.eye(length, dtype=np.int64)[:, ::-1]
    return [w_query, w_key, np.eye(n_words + length, n_words, dtype=np.int64)]
