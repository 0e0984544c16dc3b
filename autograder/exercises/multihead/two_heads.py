import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.authoring.weights_to_choose import sentences
from check.measures import PROPERTIES
from solutions import multihead as reference

two_heads = Exercise(
    reference.two_heads,
    outputs=dict.fromkeys(PROPERTIES, "heads sentences T"),
    section="Two heads that you choose",
    measure="two_heads",
    unseen=("words", "asks"),
)
wrong = short_mistakes(two_heads)


@two_heads.cases("both look where they should", points=2)
def _(draw):
    yield from sentences(draw, low=4, high=9, asks=["attended"])


@two_heads.cases("and nowhere else", points=1)
def _(draw):
    yield from sentences(draw, low=4, high=9, asks=["attended", "sharpness"])


@two_heads.cases("both take the word along", points=1)
def _(draw):
    yield from sentences(draw, low=4, high=9, asks=["copied"])


@two_heads.cases("for long sentences", points=1)
def _(draw):
    yield from sentences(draw, low=40, high=60, asks=list(PROPERTIES))


def one_before(length):
    return np.eye(length, k=-1)


def the_first(length):
    return np.repeat(np.eye(1, length), length, axis=0)


def weights(n_words, length, before=one_before, first=the_first, strength=None, change=lambda *matrices: matrices):
    """Return the reference's weights with other queries.

    before, first: functions of the length that return the queries of a head, (length, length). strength: a function of
    the length that returns a factor for the queries. change: a function to apply to the three matrices.
    """
    w_query, w_key, w_value = reference.two_heads(n_words, length)
    strength = strength(length) if strength else w_query.max()
    w_query[n_words:] = strength * np.hstack([before(length), first(length)])
    return tuple(change(w_query, w_key, w_value))


wrong("heads_exchanged", weights, change=lambda *matrices: [np.roll(w, w.shape[1] // 2, axis=1) for w in matrices])("""
    exchanges the heads
    Your head 0 finds the first word, and head 1 finds the word before. Each head has a block of columns: head 0 has the
    left half of w_query, of w_key and of w_value.""")
wrong(
    "columns_take_turns",
    weights,
    change=lambda *matrices: [np.stack(np.split(w, 2, axis=1), axis=2).reshape(len(w), -1) for w in matrices],
)("""
    lets the columns of the heads take turns -> From the loop to an axis
    Your columns belong to head 0, head 1, head 0, head 1, and so on. The split cuts the features into blocks side by
    side, so the first half of the columns belongs to head 0.""")
wrong("both_before", weights, first=one_before)("""
    asks the same in both heads
    Both heads find the word before. Head 1 needs another query: at every position, it equals the key of position 0.""")


def both_questions(length):
    return one_before(length) + the_first(length)


wrong("both_at_once", weights, before=both_questions, first=both_questions)("""
    asks both questions in each head -> Why one softmax is not enough
    Each head asks for the word before and for the first word, so each splits its weight between two positions. One
    softmax cannot answer two questions. Give each head a question of its own.""")
wrong("only_the_first_asks", weights, first=lambda length: np.diag(np.eye(length)[0]))("""
    lets only the first position ask
    In head 1 only position 0 has a query. Every position should find the first one, so each of them needs the same
    query: fill the whole column of w_query, not one entry.""")
wrong("last_place", weights, first=lambda length: np.repeat(np.eye(1, length, k=length - 1), length, axis=0))("""
    finds the last position instead of the first
    Head 1 asks for position `length - 1`, the last position of the longest sentence. The first word has position 0.""")
wrong("not_scaled", weights, strength=lambda length: np.log(1000 * length))("""
    forgets that the scores are divided -> What one head costs, and how it is scaled
    Your queries would be strong enough if nothing divided the scores. Each head divides its scores by the square root
    of its width, d_head. Multiply the queries by that root.""")


@two_heads.mistake("hands over values in one head only")
def one_value(n_words, length):
    """Head 1 looks at the right position, but its values are zero. Each head has its own block of w_value: put the
    identity into both."""
    w_query, w_key, w_value = weights(n_words, length)
    w_value[:, n_words:] = 0
    return w_query, w_key, w_value


@two_heads.equivalent
def shift_in_the_keys(n_words, length):
    """Shift the keys of head 0; in head 1, make all queries ones and all keys except the first zero."""
    w_query, w_key, w_value = weights(n_words, length, before=np.eye, first=lambda n: np.ones((n, n)))
    w_key[n_words:] = np.hstack([np.eye(length, k=1), np.diag(np.eye(length)[0])])
    return w_query, w_key, w_value


@two_heads.equivalent
def rotated(n_words, length):
    w_query, w_key, w_value = weights(n_words, length)
    rng, block = np.random.default_rng(1), np.zeros((2 * length, 2 * length))
    for head in (slice(length), slice(length, 2 * length)):
        block[head, head] = np.linalg.qr(rng.normal(size=(length, length)))[0]
    return w_query @ block, w_key @ block, w_value


@two_heads.equivalent
def two_columns_for_each_head(n_words, length):
    """Use the score 2 (t - 1) s - s² in head 0, which is largest at s = t - 1, and -s in head 1, largest at s = 0."""
    places, ones = np.arange(length), np.ones(length)
    w_query, w_key = np.zeros((2, n_words + length, 4))
    w_query[n_words:] = 20 * length * np.stack([2 * (places - 1), -ones, -ones, 0 * ones], axis=1)
    w_key[n_words:] = np.stack([places, places**2, places, 0 * ones], axis=1)
    w_value = np.zeros((n_words + length, 2 * n_words), dtype=np.float32)
    w_value[:n_words] = np.hstack([np.eye(n_words), 3 * np.eye(n_words)])
    return [w_query, w_key, w_value]
