import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from check.measures import PROPERTIES
from solutions import position as reference

looks_back = Exercise(
    reference.looks_back,
    outputs=dict.fromkeys(PROPERTIES, "T"),
    section="A head that looks back",
    measure="looking_back",
    unseen=("encoding", "asks"),
)
wrong = short_mistakes(looks_back)


def inputs(k, d_model, length, asks):
    encoding = reference.sinusoidal_encoding(length, d_model)
    return {"k": k, "d_model": d_model, "encoding": encoding, "asks": asks}


def near(draw, asks):
    """Yield short sentences, with distances far from whole turns of the fastest clock, near which wrong turns look
    right."""
    pairs = draw.size(4, 9)
    yield "one back", inputs(1, 2 * pairs, draw.size(8, 12), asks)
    yield "several back", inputs(draw.size(4, 6), 2 * pairs, draw.size(12, 20), asks)


@looks_back.cases("finds the position", points=1)
def _(draw):
    yield from near(draw, ["attended"])


@looks_back.cases("and no other", points=1)
def _(draw):
    yield from near(draw, ["attended", "sharpness"])


@looks_back.cases("far, ahead, and with two clocks", points=1)
def _(draw):
    k, pairs = draw.size(4, 6), draw.size(3, 9)
    asks = ["attended", "sharpness"]
    yield "the longest sentence", inputs(10 * k, 2 * pairs, 200, asks)
    yield "ahead", inputs(-k, 2 * pairs, draw.size(30, 40), asks)
    yield "two clocks", inputs(k, 4, draw.size(20, 60), asks)


STRENGTH = 1e5


def weights(query, d_model, key=None):
    return STRENGTH * query, np.eye(d_model) if key is None else key


wrong("ahead", lambda k, d_model: weights(reference.shift_matrix(k, d_model), d_model))("""
    looks ahead
    Each position finds the position k steps after it, because a matrix turns the clocks the wrong way. To look back,
    turn the query of position t to the row of position t - k, or turn the keys forward by k positions.""")
wrong("one_back", lambda k, d_model: weights(reference.shift_matrix(-int(np.sign(k)), d_model), d_model))("""
    looks one back, whatever k is
    Each position finds the position directly before it, or for a negative k directly after it. Turn each clock by k
    times its own angle of one step.""")
wrong("itself", lambda k, d_model: weights(np.eye(d_model), d_model))("""
    looks at itself
    Each position finds itself, because its query fits its own key best. Turn the query by k steps, each pair of columns
    at its own frequency, and leave the key as it is, or turn only the key. If you turn both, they still agree.""")


@looks_back.mistake("looks twice as far", reread="Dot products know the distance only")
def twice_as_far(k, d_model):
    """Each position finds the position 2k steps before it. You turn the query back by k steps and the key forward by k
    steps, so the two turns add up. Turn only one of them."""
    return weights(reference.shift_matrix(-k, d_model), d_model, key=reference.shift_matrix(k, d_model))


wrong("softly", lambda k, d_model: (reference.shift_matrix(-k, d_model), np.eye(d_model)))("""
    looks in the right direction, but softly -> Dot products know the distance only
    The right position gets the largest weight, but its neighbours also get much of it. The slow clocks hardly differ
    between neighbours, so the best score is only a little larger than the second-best. Multiply the query by a large
    number.""")
wrong("sharp_with_many_clocks", lambda k, d_model: (80 * reference.shift_matrix(-k, d_model), np.eye(d_model)))("""
    is sharp enough with many clocks only -> Dot products know the distance only
    This strength is enough with many clocks. After six positions the fastest clock is only 0.28 radians short of a full
    turn. With two clocks, the second clock has hardly moved by then, so the second-best score comes close. Make the
    query stronger.""")
wrong(
    "one_speed", lambda k, d_model: weights(np.kron(np.eye(d_model // 2), reference.shift_matrix(-k, 2)), d_model)
)("""
    turns all clocks at one speed -> A shift is a rotation
    You turn each pair of columns by k radians. Only the first clock turns by 1 radian for each position. Turn each pair
    by k times its own frequency.""")
wrong("columns_moved", lambda k, d_model: weights(np.roll(np.eye(d_model), k, axis=1), d_model))("""
    moves the columns
    Your matrix moves the columns of the encoding by k. A column is a clock and not a position. To go back in time, turn
    each clock.""")


@looks_back.equivalent
def turned_keys(k, d_model):
    return STRENGTH * np.eye(d_model), reference.shift_matrix(k, d_model)


@looks_back.equivalent
def half_of_it_each(k, d_model):
    """Use other directions for queries and keys, with large entries in both matrices."""
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(d_model, d_model)))[0]
    return 300 * reference.shift_matrix(-k, d_model) @ rotation, 300 * rotation


@looks_back.equivalent
def fast_clocks_count_more(k, d_model):
    """Give each clock its own strength, and add columns of zeros."""
    strengths = np.repeat(1 / np.arange(1, d_model // 2 + 1), 2)
    w_query = 1e5 * reference.shift_matrix(-k, d_model) * strengths
    return [np.pad(w_query, ((0, 0), (0, 3))), np.eye(d_model, d_model + 3)]


@looks_back.equivalent
def by_products_of_sines(k, d_model):
    """Write out cos(a - b) = cos a cos b + sin a sin b for each clock."""
    w_query, w_key = np.zeros((2, d_model, d_model))
    for sine in range(0, d_model, 2):
        angle = k / 10000 ** (sine / d_model)
        w_query[sine : sine + 2, sine : sine + 2] = [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]
        w_key[sine : sine + 2, sine : sine + 2] = np.eye(2)
    return 2e4 * np.sqrt(d_model) * w_query, w_key
