"""tests_embed_backward: its cases, its known mistakes and its right rewrites."""

from functools import partial

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.functions_to_test import REFERENCE, functions_to_test
from autograder.exercises.position.embed_backward import embed_backward
from solutions import position as reference

tests_embed_backward = Exercise(
    reference.tests_embed_backward, outputs={"verdict": ""}, section="A test for the look-up", tests=embed_backward
)

tried = partial(functions_to_test, exercise=embed_backward)


# ---------------------------------------------------------------------------------------- further wrong functions


def zeros(grad_output, cache):
    return np.zeros_like(reference.embed_backward(grad_output, cache))


def rows_reversed(grad_output, cache):
    return reference.embed_backward(grad_output, cache)[::-1].copy()


def a_little_too_large(grad_output, cache):
    grad_table = reference.embed_backward(grad_output, cache)
    return grad_table * grad_table.dtype.type(1.02)


def one_batch_axis(grad_output, cache):
    n_batch, length, d_model = grad_output.shape
    return reference.embed_backward(grad_output, cache)


def no_batch(grad_output, cache):
    length, d_model = grad_output.shape
    return reference.embed_backward(grad_output, cache)


# A test that always gives the same answer fails every aspect: each has right functions and wrong ones.
@tests_embed_backward.cases("wrong for one sentence", points=1)
def _(draw):
    yield from tried(
        draw,
        right=[REFERENCE, "by_one_hot", "row_by_row"],
        wrong=[
            *("backward_unscaled", "backward_divided", "backward_by_whole_width", "over_all_tokens"),
            ("returns zeros", zeros),
            ("returns the rows in reverse order", rows_reversed),
            ("is two per cent too large", a_little_too_large),
        ],
        at_home=["zeros", "large", "reversed rows", "sums", "one column"],
    )


@tests_embed_backward.cases("wrong for some tokens", points=1)
def _(draw):
    yield from tried(
        draw,
        right=[REFERENCE, "place_by_place", "row_by_row"],
        wrong=["repeated_once", "averaged", "occurring_only", "token_0_frozen"],
        at_home=["repeated tokens", "unused tokens", "token 0", "first row"],
    )


@tests_embed_backward.cases("wrong for batches, or for the caller", points=1)
def _(draw):
    yield from tried(
        draw,
        right=[REFERENCE, "place_by_place", "by_one_hot"],
        wrong=[
            *("last_sentence", "backward_promoted", "in_place"),
            ("raises an exception for a batch", no_batch),
            ("takes exactly one batch axis for granted", one_batch_axis),
        ],
        at_home=["last item", "two batch axes", "double", "writes"],
    )


TOKENS = np.array([0, 3, 1, 3, 0, 3])
VOCAB = 5  # tokens 2 and 4 do not occur
BATCHES = (), (2,), (2, 1)


def expected(grad_output, tokens, vocab):
    """The right gradient, one row of the table after the other."""
    rows = [grad_output[tokens == token].sum(axis=0) for token in range(vocab)]
    return np.stack(rows) * np.sqrt(grad_output.shape[-1])


def last_place_of_each_token(grad_output, tokens, vocab):
    """A wrong gradient, by an assignment that keeps one gradient of each token."""
    grad_table = np.zeros((vocab, grad_output.shape[-1]))
    grad_table[tokens] += grad_output * np.sqrt(grad_output.shape[-1])
    return grad_table


def keeps_float32(function, batch=(2,)):
    tokens = np.resize(TOKENS, (*batch, 3))
    return function(np.ones((*batch, 3, 4), np.float32), (tokens, VOCAB)).dtype == np.float32


def leaves_grad_output_alone(function, batch=(2,)):
    grad_output = np.ones((*batch, 3, 4))
    function(grad_output, (np.resize(TOKENS, (*batch, 3)), VOCAB))
    return bool((grad_output == 1).all())


PROMISES = (keeps_float32, leaves_grad_output_alone)


def tested(
    function, *, sentence=TOKENS, vocab=VOCAB, batches=BATCHES, width=3, truth=expected, rtol=1e-7, promises=PROMISES
):
    """The test, with its choices left open."""
    rng = np.random.default_rng(4)
    for batch in batches:
        tokens = np.resize(sentence, (*batch, len(sentence)))
        grad_output = rng.normal(size=(*tokens.shape, width))
        grad_table = function(grad_output.copy(), (tokens, vocab))
        right = truth(grad_output, tokens, vocab)
        if grad_table.shape != right.shape or not np.allclose(grad_table, right, rtol=rtol, atol=1e-9):
            return False
    return all(holds(function) for holds in promises)


@tests_embed_backward.mistake("accepts every function")
def accepts_everything(function):
    """Your test accepts whatever it is given. Call the function, and compare each row with the sum of the gradients
    that arrived at the places of that token. A test that ends without a `return` and without an `assert` accepts."""


@tests_embed_backward.mistake("rejects every function")
def rejects_everything(function):
    """Your test rejects right functions and wrong ones alike. Compute by hand what the right gradient is for two
    tokens, and compare your expectation with that. Is the factor √d_model in it?"""
    return function(np.ones((2, 4)), (np.array([0, 1]), 2)).shape == (4, 2)


@tests_embed_backward.mistake("says True of wrong functions and False of right ones")
def answer_inverted(function):
    """Your answers are the wrong way round. True accepts a function."""
    return not reference.tests_embed_backward(function)


@tests_embed_backward.mistake("looks at the shape alone")
def shape_only(function):
    """Your test accepts functions that return the right shape with wrong numbers. Compare the numbers."""
    return function(np.ones((6, 3)), (TOKENS, VOCAB)).shape == (VOCAB, 3)


@tests_embed_backward.mistake("has each token once")
def each_token_once(function):
    """Your test accepts functions that count a repeated token once, or average over its places. Where no token comes
    twice, these are right. Let a token come twice, and another one three times."""
    return tested(function, sentence=np.array([0, 3, 1]), batches=[()])


@tests_embed_backward.mistake("expects that a repeated token counts once")
def expects_repeated_once(function):
    """Your test rejects right functions, because it expects that a token that comes twice counts once. The line
    `expected[tokens] += ...` adds only one of the gradients to each row. Add the gradient of one place after the other,
    or use `np.add.at`."""
    return tested(function, truth=last_place_of_each_token)


@tests_embed_backward.mistake("has no token that does not occur")
def every_token_occurs(function):
    """Your test accepts a function that leaves out the rows of tokens that do not occur. Let `vocab` be larger than the
    tokens need, with a gap between them."""
    return tested(function, sentence=np.array([0, 2, 1, 2, 0]), vocab=3)


@tests_embed_backward.mistake("never has token 0")
def never_token_0(function):
    """Your test accepts a function that freezes row 0, as PyTorch does with `padding_idx=0`. Let token 0 occur."""
    return tested(function, sentence=np.array([1, 3, 1, 3, 3]))


@tests_embed_backward.mistake("tries a width of one")
def one_feature(function):
    """Your test accepts functions without the factor √d_model, or with a wrong one. For a width of one, d_model, its
    root and 1 are the same. Use more features."""
    return tested(function, width=1)


@tests_embed_backward.mistake("allows for a tenth")
def too_loose(function):
    """Your test accepts a function that is two per cent too large. Allow for rounding only: `np.allclose` as it is."""
    return tested(function, rtol=0.1)


@tests_embed_backward.mistake("tries no batch")
def no_batches(function):
    """Your test accepts functions that are right for a single sentence only. Try one batch axis, and two."""
    promises = [partial(holds, batch=()) for holds in PROMISES]
    return tested(function, batches=[()], promises=promises)


@tests_embed_backward.mistake("tries one batch axis only")
def one_batch_axis_only(function):
    """Your test accepts a function that takes exactly one batch axis for granted. Try a single sentence and two batch
    axes, too."""
    return tested(function, batches=[(2,)])


@tests_embed_backward.mistake("does not look at the dtype")
def dtype_unwatched(function):
    """Your test accepts a function that returns float64 for float32. Call it with float32 once, and look at the dtype
    of the result."""
    return tested(function, promises=(leaves_grad_output_alone,))


@tests_embed_backward.mistake("does not look at the caller's grad_output")
def caller_unwatched(function):
    """Your test accepts a function that writes into `grad_output`. Keep a copy of it, and compare afterwards."""
    return tested(function, promises=(keeps_float32,))


@tests_embed_backward.mistake("looks at the numbers alone")
def promises_unwatched(function):
    """Your test finds all wrong numbers. It accepts a function that returns float64 for float32, and one that writes
    into its argument. Look at the dtype, and keep a copy of `grad_output`."""
    return tested(function, promises=())


@tests_embed_backward.equivalent
def by_slopes(function):
    """Measured: each entry of the table is moved, and the loss is a weighted sum of what `embed` returns."""
    rng = np.random.default_rng(0)
    for shape in ((5,), (2, 3), (2, 2, 2)):
        tokens = rng.integers(0, 3, size=shape)
        tokens.flat[:2] = 0
        grad_output = rng.normal(size=(*shape, 2))
        before = grad_output.copy()
        grad_table = function(grad_output, (tokens, 4))
        assert np.array_equal(grad_output, before) and grad_table.shape == (4, 2)
        for n, m in np.ndindex(4, 2):
            table = np.zeros((4, 2))
            table[n, m] = 1.0  # the loss is linear, so that a step of 1 is exact
            assert np.isclose(grad_table[n, m], (before * np.sqrt(2) * table[tokens]).sum())
    assert keeps_float32(function)


@tests_embed_backward.equivalent
def entry_by_entry(function):
    rng = np.random.default_rng(1)
    for batch in ((), (3,), (1, 2)):
        tokens = np.resize([4, 0, 4, 1, 0], (*batch, 5))
        grad_output = rng.normal(size=(*batch, 5, 7)).astype(np.float32)
        kept = grad_output.copy()
        wanted = np.zeros((6, 7))
        for place in np.ndindex(tokens.shape):
            wanted[tokens[place]] += 7**0.5 * grad_output[place].astype(float)
        result = function(grad_output=grad_output, cache=(tokens, 6))
        if result.dtype != np.float32 or result.shape != wanted.shape or not np.array_equal(kept, grad_output):
            return False
        if np.abs(result - wanted).max() > 1e-5:
            return False
    return True


@tests_embed_backward.equivalent
def one_place_at_a_time(function):
    """By parts: a gradient is a sum over places, so one cotangent of one place after the other shows all of it."""
    tokens = np.array([[[2, 0], [2, 2]], [[5, 0], [2, 5]]])
    for t in (tokens, tokens[0], tokens[0, 1]):
        total = np.zeros((7, 3))
        for place in np.ndindex(t.shape):
            grad_output = np.zeros((*t.shape, 3))
            grad_output[place] = 1.0, -2.0, 4.0
            wanted = np.zeros((7, 3))
            wanted[t[place]] = np.sqrt(3) * grad_output[place]
            np.testing.assert_allclose(function(grad_output, (t, 7)), wanted)
            total += wanted
        together = np.broadcast_to([1.0, -2.0, 4.0], (*t.shape, 3)).copy()
        np.testing.assert_allclose(function(together, (t, 7)), total)
        assert (together == [1.0, -2.0, 4.0]).all()
    assert keeps_float32(function)
