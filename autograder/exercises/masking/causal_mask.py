"""causal_mask: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import Exercise
from solutions import masking as reference

causal_mask = Exercise(
    reference.causal_mask,
    outputs={"mask": "T_query T_key"},
    section="The causal mask",
)


@causal_mask.cases("the triangle", points=1)
def _(draw):
    for name, length in zip(("a short sentence", "a longer one"), sorted(draw.sizes(2, low=3, high=9)), strict=True):
        yield name, {"length": length}


@causal_mask.cases("edge cases", points=1)
def _(draw):
    yield "one token", {"length": 1}
    yield "two tokens", {"length": 2}
    yield "a long text", {"length": draw.size(50, 90)}


@causal_mask.mistake("allows the future, not the past")
def wrong_triangle(length):
    """This is the upper triangle: each position sees itself and what comes *after* it. Row i belongs to the query at
    position i, and its columns up to i are the past, so the True entries are on and below the diagonal."""
    return np.tri(length, dtype=bool).T


@causal_mask.mistake("forbids a position to see itself")
def without_the_diagonal(length):
    """The diagonal is False, so no position sees itself, and the first sees nothing at all. The decoder's input is
    shifted right by one: at position i is the token *before* the one to be predicted, so it may be seen."""
    return np.tri(length, k=-1, dtype=bool)


@causal_mask.mistake("looks one position ahead")
def one_too_many(length):
    """The boundary is one diagonal too high: each position sees the next one, too, which is the very token that it must
    predict."""
    return np.tri(length, k=1, dtype=bool)


@causal_mask.mistake("reads True as hidden", reread="Two conventions, opposite to each other")
def inverted_causal(length):
    """Your True marks what is *forbidden*, as in PyTorch's `nn.MultiheadAttention`. In this book, as in
    `scaled_dot_product_attention`, True means 'may attend'."""
    return ~np.tri(length, dtype=bool)


@causal_mask.mistake("makes an additive mask", reread="Two conventions, opposite to each other")
def additive_causal(length):
    """This mask holds 0 and -inf, to be added to scores. In this book a mask is boolean, and only `masked_softmax`
    knows what happens to the scores; two boolean masks can also be combined with `&`."""
    return np.where(np.tri(length, dtype=bool), 0.0, -np.inf)


@causal_mask.mistake("contains ones and zeros", reread="Two conventions, opposite to each other")
def ones_and_zeros(length):
    """The mask is made of numbers. Then `~mask` does not mean 'not' (~1 is -2 for integers, an error for floats), and
    indexing with the mask picks rows instead of filtering. Use dtype=bool."""
    return np.tri(length)


@causal_mask.mistake("contains whole numbers", reread="Two conventions, opposite to each other")
def whole_numbers(length):
    """The mask is made of the integers 1 and 0. Then `~mask` does not mean 'not' (~1 is -2), and indexing with the mask
    picks rows 1 and 0 instead of filtering. Use dtype=bool."""
    return np.tri(length, dtype=np.int64)


@causal_mask.mistake("puts an axis for the batch in front")
def axis_in_front(length):
    """The triangle is right, but its shape is (1, T, T). It is the same for every sentence, and NumPy aligns shapes
    from the right, so it needs no axis in front: (T, T)."""
    return np.tri(length, dtype=bool)[None]


@causal_mask.mistake("allows everything")
def all_allowed(length):
    """Every entry is True, so each position sees the whole sentence, including the future."""
    return np.ones((length, length), dtype=bool)


@causal_mask.equivalent
def by_comparing_positions(length):
    position = np.arange(length)
    return position[:, None] >= position


@causal_mask.equivalent
def lower_triangle_of_ones(length):
    return np.tril(np.ones((length, length), dtype=bool))


@causal_mask.equivalent
def not_the_upper_triangle(length):
    return ~np.triu(np.ones((length, length), dtype=bool), k=1)


@causal_mask.equivalent
def entry_by_entry(length):
    return np.array([[j <= i for j in range(length)] for i in range(length)])
