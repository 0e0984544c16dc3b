import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from solutions import masking as reference

causal_mask = Exercise(
    reference.causal_mask,
    outputs={"mask": "T_query T_key"},
    section="The causal mask",
)
wrong = short_mistakes(causal_mask)


@causal_mask.cases("the triangle", points=1)
def _(draw):
    for name, length in zip(("a short sentence", "a longer one"), sorted(draw.sizes(2, low=3, high=9)), strict=True):
        yield name, {"length": length}


@causal_mask.cases("edge cases", points=1)
def _(draw):
    yield "one token", {"length": 1}
    yield "two tokens", {"length": 2}
    yield "a long text", {"length": draw.size(50, 90)}


wrong("wrong_triangle", lambda length: np.tri(length, dtype=bool).T)("""
    allows the future, not the past
    You return the upper triangle, so each position sees itself and what comes *after* it. Row i belongs to the query at
    position i, and its columns up to i are the past, so the True entries are on and below the diagonal.""")
wrong("without_the_diagonal", lambda length: np.tri(length, k=-1, dtype=bool))("""
    forbids a position to see itself
    Your diagonal is False, so no position sees itself, and the first position sees nothing at all. The decoder's input
    is shifted right by one: position i holds the token *before* the token to predict, so position i may see it.""")
wrong("one_too_many", lambda length: np.tri(length, k=1, dtype=bool))("""
    looks one position ahead
    Your boundary is one diagonal too high. Each position also sees the next position, which holds the very token that
    it must predict.""")
wrong("inverted_causal", lambda length: ~np.tri(length, dtype=bool))("""
    reads True as hidden -> Two conventions, opposite to each other
    Your True marks what is *forbidden*, as in PyTorch's `nn.MultiheadAttention`. In this book, as in
    `scaled_dot_product_attention`, True means 'may attend'.""")
wrong("additive_causal", lambda length: np.where(np.tri(length, dtype=bool), 0.0, -np.inf))("""
    makes an additive mask -> Two conventions, opposite to each other
    Your mask holds 0 and -inf, to add to scores. In this book a mask is boolean, and only `masked_softmax` changes the
    scores. You can also combine two boolean masks with `&`.""")
wrong("ones_and_zeros", lambda length: np.tri(length))("""
    contains ones and zeros -> Two conventions, opposite to each other
    Your mask contains numbers. Then `~mask` does not mean 'not' (~1 is -2 for integers, an error for floats), and
    indexing with the mask picks rows instead of filtering. Use dtype=bool.""")
wrong("whole_numbers", lambda length: np.tri(length, dtype=np.int64))("""
    contains whole numbers -> Two conventions, opposite to each other
    Your mask contains the integers 1 and 0. Then `~mask` does not mean 'not' (~1 is -2), and indexing with the mask
    picks rows 1 and 0 instead of filtering. Use dtype=bool.""")
wrong("axis_in_front", lambda length: np.tri(length, dtype=bool)[None])("""
    puts an axis for the batch in front
    The triangle is right, but its shape is (1, T, T). The mask is the same for every sentence, and NumPy aligns shapes
    from the right, so it needs no axis in front: (T, T).""")
wrong("all_allowed", lambda length: np.ones((length, length), dtype=bool))("""
    allows everything
    Every entry is True, so each position sees the whole sentence, including the future.""")


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
