"""looks_back: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import Exercise
from check.measures import PROPERTIES
from solutions import position as reference

looks_back = Exercise(
    reference.looks_back,
    outputs=dict.fromkeys(PROPERTIES, "T"),
    section="A head that looks back",
    uses=("shift_matrix",),
    measure="looking_back",
    unseen=("encoding", "asks"),
)


def inputs(k, d_model, length, asks):
    encoding = reference.sinusoidal_encoding(length, d_model)
    return {"k": k, "d_model": d_model, "encoding": encoding, "asks": asks}


@looks_back.cases("finds the position", points=1)
def _(draw):
    k, pairs = draw.sizes(2, low=3, high=9)
    yield "one back", inputs(1, 2 * pairs, draw.size(7, 12), ["attended"])
    yield "several back", inputs(k, 2 * pairs, draw.size(12, 20), ["attended"])


@looks_back.cases("and no other", points=1)
def _(draw):
    k, pairs = draw.sizes(2, low=3, high=9)
    yield "one back", inputs(1, 2 * pairs, draw.size(7, 12), ["attended", "sharpness"])
    yield "several back", inputs(k, 2 * pairs, draw.size(12, 20), ["attended", "sharpness"])


@looks_back.cases("far, ahead, and with two clocks", points=1)
def _(draw):
    k, pairs = draw.sizes(2, low=3, high=9)
    asks = ["attended", "sharpness"]
    yield "a long sentence", inputs(10 * k, 2 * pairs, draw.size(150, 200), asks)
    yield "ahead", inputs(-k, 2 * pairs, draw.size(30, 40), asks)
    yield "two clocks", inputs(k, 4, draw.size(20, 60), asks)


STRENGTH = 1e5


def weights(query, d_model, key=None):
    return STRENGTH * query, np.eye(d_model) if key is None else key


@looks_back.mistake("looks ahead")
def ahead(k, d_model):
    """Each position finds the one k positions after it, because a matrix turns the clocks the wrong way. To look back,
    turn the query of position t to the row of position t - k, or turn the keys on by k positions."""
    return weights(reference.shift_matrix(k, d_model), d_model)


@looks_back.mistake("looks one back, whatever k is")
def one_back(k, d_model):
    """Each position finds the one directly before it, or for a negative k directly after it. Turn each clock by k times
    its own angle of one step."""
    return weights(reference.shift_matrix(-int(np.sign(k)), d_model), d_model)


@looks_back.mistake("looks at itself")
def itself(k, d_model):
    """Each position finds itself, because its query fits its own key best. Turn the query by k steps, each pair of
    columns at its own frequency, and leave the key, or the other way round. If you turn both, they still agree."""
    return weights(np.eye(d_model), d_model)


@looks_back.mistake("looks twice as far", reread="Dot products know the distance only")
def twice_as_far(k, d_model):
    """Each position finds the one 2k positions before it. You turn the query by k steps back and the key by k steps on,
    so the two turns add up. Turn only one of them."""
    return weights(reference.shift_matrix(-k, d_model), d_model, key=reference.shift_matrix(k, d_model))


@looks_back.mistake("looks in the right direction, but softly", reread="Dot products know the distance only")
def softly(k, d_model):
    """The right position gets the largest weight, but its neighbours also get a lot. The slow clocks hardly differ
    between neighbours, so the best score exceeds the next one only a little. Multiply the query by a large number."""
    return reference.shift_matrix(-k, d_model), np.eye(d_model)


@looks_back.mistake("is sharp enough for short sentences only", reread="Dot products know the distance only")
def sharp_when_near(k, d_model):
    """This strength is enough until the fastest clock has come round. Six positions are one turn of it, less 0.28
    radians, and the slower clocks have hardly moved by then. So in longer sentences the second-best score comes close.
    Make the query stronger."""
    return 80 * reference.shift_matrix(-k, d_model), np.eye(d_model)


@looks_back.mistake("turns all clocks at one speed", reread="A shift is a rotation")
def one_speed(k, d_model):
    """Each pair of columns is turned by k radians. Only the first clock turns by 1 radian for each position. Turn each
    pair by k times its own frequency."""
    turned = np.kron(np.eye(d_model // 2), reference.shift_matrix(-k, 2))
    return weights(turned, d_model)


@looks_back.mistake("moves the columns")
def columns_moved(k, d_model):
    """Your matrix moves the columns of the encoding by k. A column is a clock and not a position. To go back in time,
    turn each clock."""
    return weights(np.roll(np.eye(d_model), k, axis=1), d_model)


@looks_back.equivalent
def turned_keys(k, d_model):
    return STRENGTH * np.eye(d_model), reference.shift_matrix(k, d_model)


@looks_back.equivalent
def half_of_it_each(k, d_model):
    """Other directions in the space of queries and keys; both matrices are strong."""
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(d_model, d_model)))[0]
    return 300 * reference.shift_matrix(-k, d_model) @ rotation, 300 * rotation


@looks_back.equivalent
def fast_clocks_count_more(k, d_model):
    """Each clock has a strength of its own, and there are columns of zeros."""
    strengths = np.repeat(1 / np.arange(1, d_model // 2 + 1), 2)
    w_query = 1e5 * reference.shift_matrix(-k, d_model) * strengths
    return [np.pad(w_query, ((0, 0), (0, 3))), np.eye(d_model, d_model + 3)]


@looks_back.equivalent
def by_products_of_sines(k, d_model):
    """cos(a - b) = cos a cos b + sin a sin b, written out for each clock."""
    w_query, w_key = np.zeros((2, d_model, d_model))
    for sine in range(0, d_model, 2):
        angle = k / 10000 ** (sine / d_model)
        w_query[sine : sine + 2, sine : sine + 2] = [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]
        w_key[sine : sine + 2, sine : sine + 2] = np.eye(2)
    return 2e4 * np.sqrt(d_model) * w_query, w_key
