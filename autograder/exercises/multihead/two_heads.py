"""two_heads: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import Exercise
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


def weights(n_words, length, before=None, first=None, strength=None):
    """Return the reference's weights with other queries; before and first are (length, length), one for each head."""
    w_query, w_key, w_value = reference.two_heads(n_words, length)
    before = np.eye(length, k=-1) if before is None else before
    first = np.repeat(np.eye(1, length), length, axis=0) if first is None else first
    w_query[n_words:] = (strength or w_query.max()) * np.hstack([before, first])
    return w_query, w_key, w_value


@two_heads.mistake("exchanges the heads")
def heads_exchanged(n_words, length):
    """The head on the left finds the first word, and the one on the right the word before. A head is its block of
    columns: head 0 has the left half of w_query, of w_key and of w_value."""
    return tuple(np.roll(w, w.shape[1] // 2, axis=1) for w in weights(n_words, length))


@two_heads.mistake("lets the columns of the heads take turns", reread="From the loop to an axis")
def columns_take_turns(n_words, length):
    """Your columns belong to head 0, head 1, head 0, head 1, and so on. The split cuts the features into blocks side by
    side, so the first half of the columns is head 0."""
    return tuple(np.stack(np.split(w, 2, axis=1), axis=2).reshape(len(w), -1) for w in weights(n_words, length))


@two_heads.mistake("asks the same in both heads")
def both_before(n_words, length):
    """Both heads find the word before. Head 1 needs another query: at every position, it equals the key of position
    0."""
    return weights(n_words, length, first=np.eye(length, k=-1))


@two_heads.mistake("asks both questions in each head", reread="Why one softmax is not enough")
def both_at_once(n_words, length):
    """Each head asks for the word before and for the first word, so each splits its weight between two positions. One
    softmax cannot answer two questions. Give each head a question of its own."""
    both = np.eye(length, k=-1) + np.repeat(np.eye(1, length), length, axis=0)
    return weights(n_words, length, before=both, first=both)


@two_heads.mistake("lets only the first position ask")
def only_the_first_asks(n_words, length):
    """In head 1 only position 0 has a query. Every position should find the first one, so each of them needs the same
    query: fill the whole column of w_query, not one entry."""
    return weights(n_words, length, first=np.diag(np.eye(length)[0]))


@two_heads.mistake("finds the last position in place of the first")
def last_place(n_words, length):
    """Head 1 asks for the position `length - 1`, which is the last one of the longest sentence. The first word has
    position 0."""
    return weights(n_words, length, first=np.repeat(np.eye(1, length, k=length - 1), length, axis=0))


@two_heads.mistake("forgets that the scores are divided", reread="What one head costs, and how it is scaled")
def not_scaled(n_words, length):
    """Your queries would be strong enough if nothing divided the scores. Each head divides its scores by the square
    root of its width, d_head. Multiply the queries by that root."""
    return weights(n_words, length, strength=np.log(1000 * length))


@two_heads.mistake("hands over values in one head only")
def one_value(n_words, length):
    """Head 1 looks at the right position, but its values are zero. Each head has its own block of w_value: put the
    identity into both."""
    w_query, w_key, w_value = weights(n_words, length)
    w_value[:, n_words:] = 0
    return w_query, w_key, w_value


@two_heads.equivalent
def shift_in_the_keys(n_words, length):
    """Head 0 shifts its keys; in head 1 all queries are ones, and only the first key is not zero."""
    w_query, w_key, w_value = weights(n_words, length, before=np.eye(length), first=np.ones((length, length)))
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
    """Head 0 has the score 2 (t - 1) s - s², largest at s = t - 1; head 1 the score -s, largest at 0."""
    places, ones = np.arange(length), np.ones(length)
    w_query, w_key = np.zeros((2, n_words + length, 4))
    w_query[n_words:] = 20 * length * np.stack([2 * (places - 1), -ones, -ones, 0 * ones], axis=1)
    w_key[n_words:] = np.stack([places, places**2, places, 0 * ones], axis=1)
    w_value = np.zeros((n_words + length, 2 * n_words), dtype=np.float32)
    w_value[:n_words] = np.hstack([np.eye(n_words), 3 * np.eye(n_words)])
    return [w_query, w_key, w_value]
