from functools import partial

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.functions_to_test import REFERENCE, functions_to_test
from autograder.authoring.short_mistakes import short_mistakes
from autograder.authoring.usual_wrong_tests import changed, raising, usual_wrong_tests
from autograder.exercises.position.embed_backward import embed_backward
from solutions import position as reference

tests_embed_backward = Exercise(
    reference.tests_embed_backward, outputs={"verdict": ""}, section="A test for the look-up", tests=embed_backward
)
wrong = short_mistakes(tests_embed_backward)

tried = partial(functions_to_test, exercise=embed_backward)
right = reference.embed_backward

# Each function is one object, so that the outcomes of our tests are cached for all submissions.
zeros = changed(right, np.zeros_like)
rows_reversed = changed(right, lambda grad_table: grad_table[::-1].copy())
no_batch = raising(right, lambda n_axes: n_axes > 2)
one_batch_axis_needed = raising(right, lambda n_axes: n_axes != 3)
no_single_sentence = raising(right, lambda n_axes: n_axes == 2)


# ---------------------------------------------------------------------------------------- further wrong functions


def of_the_next_position(grad_output, cache):
    return reference.embed_backward(np.roll(grad_output, 1, axis=-2), cache)


def a_little_too_large(grad_output, cache):
    grad_table = reference.embed_backward(grad_output, cache)
    return grad_table * grad_table.dtype.type(1.02)


# A test that always gives the same answer fails every aspect, because each aspect has right and wrong functions.
@tests_embed_backward.cases("wrong for one sentence", points=1)
def _(draw):
    yield from tried(
        draw,
        right=[REFERENCE, "by_one_hot", "row_by_row"],
        wrong=[
            *("backward_unscaled", "backward_divided", "backward_by_whole_width", "over_all_tokens"),
            ("returns zeros", zeros),
            ("returns the rows in reverse order", rows_reversed),
            ("gives a token the gradient of another position", of_the_next_position),
            ("is two per cent too large", a_little_too_large),
        ],
        at_home=["zeros", "large", "reversed rows", "other positions", "sums", "one column"],
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
            ("takes exactly one batch axis for granted", one_batch_axis_needed),
            ("raises an exception for a single sentence", no_single_sentence),
        ],
        at_home=["last item", "two batch axes", "single sentences", "double", "writes"],
    )


TOKENS = np.array([0, 3, 1, 3, 0, 3])
VOCAB = 5  # tokens 2 and 4 do not occur
BATCHES = (), (2,), (2, 1)


def expected(grad_output, tokens, vocab):
    """Compute the right gradient, one row of the table after the other."""
    rows = [grad_output[tokens == token].sum(axis=0) for token in range(vocab)]
    return np.stack(rows) * np.sqrt(grad_output.shape[-1])


def last_place_of_each_token(grad_output, tokens, vocab):
    """Return a wrong gradient, by an assignment that keeps only one gradient of each token."""
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


def drawn(rng, shape):
    return rng.normal(size=shape)


def tested(
    function, *, sentence=TOKENS, vocab=VOCAB, batches=BATCHES, width=3, truth=expected, rtol=1e-7, promises=PROMISES,
    fill=drawn,
):  # fmt: skip
    """Run the test with these choices."""
    rng = np.random.default_rng(4)
    for batch in batches:
        tokens = np.resize(sentence, (*batch, len(sentence)))
        grad_output = fill(rng, (*tokens.shape, width))
        grad_table = function(grad_output.copy(), (tokens, vocab))
        right = truth(grad_output, tokens, vocab)
        if grad_table.shape != right.shape or not np.allclose(grad_table, right, rtol=rtol, atol=1e-9):
            return False
    return all(holds(function) for holds in promises)


def shape_only(function):
    return function(np.ones((6, 3)), (TOKENS, VOCAB)).shape == (VOCAB, 3)


def dtype_unwatched(function):
    return tested(function, promises=(leaves_grad_output_alone,))


usual_wrong_tests(
    tests_embed_backward,
    accepts="Call the function, and compare each row with the sum of the gradients that arrived at the places of that "
    "token.",
    rejects="Compute the right gradient for two tokens by hand, and compare your expected gradient with it. Does yours "
    "contain the factor √d_model?",
    shape_only=shape_only,
    dtype_unwatched=dtype_unwatched,
)


wrong("gradient_of_ones", tested, fill=lambda rng, shape: np.ones(shape))("""
    uses a gradient of ones
    Your test accepts a function that gives a token the gradient of another position. With ones, all positions have the
    same gradient. Draw `grad_output` at random.""")
wrong("each_token_once", tested, sentence=np.array([0, 3, 1]), batches=[()])("""
    has each token once
    Your test accepts functions that count a repeated token once, or average over its places. If no token comes twice,
    these functions are right. Let one token come twice, and another three times.""")
wrong("expects_repeated_once", tested, truth=last_place_of_each_token)("""
    expects that a repeated token counts once
    Your test rejects right functions, because it counts a repeated token only once. The line `expected[tokens] += ...`
    adds only one of the gradients to each row. Add the gradients in a loop over the places, or use `np.add.at`.""")
wrong("every_token_occurs", tested, sentence=np.array([0, 2, 1, 2, 0]), vocab=3)("""
    has no token that does not occur
    Your test accepts a function that leaves out the rows of tokens that do not occur. Let `vocab` be larger than the
    tokens need, with a gap between them.""")
wrong("never_token_0", tested, sentence=np.array([1, 3, 1, 3, 3]))("""
    never has token 0
    Your test accepts a function that freezes row 0, as PyTorch does with `padding_idx=0`. Let token 0 occur.""")
wrong("one_feature", tested, width=1)("""
    tries a width of one
    Your test accepts functions without the factor √d_model, or with a wrong one. For a width of one, d_model, its root
    and 1 are the same. Use more features.""")
wrong("too_loose", tested, rtol=0.1)("""
    allows for a tenth
    Your test accepts a function that is two per cent too large. Allow for rounding only: `np.allclose` as it is.""")
wrong("no_batches", tested, batches=[()], promises=[partial(holds, batch=()) for holds in PROMISES])("""
    tries no batch
    Your test accepts functions that are right for a single sentence only. Try one batch axis, and two.""")
wrong("one_batch_axis_only", tested, batches=[(2,)])("""
    tries one batch axis only
    Your test accepts a function that takes exactly one batch axis for granted. Try a single sentence and two batch
    axes, too.""")
wrong("caller_unwatched", tested, promises=(keeps_float32,))("""
    does not look at the caller's grad_output
    Your test accepts a function that writes into `grad_output`. Keep a copy of it, and compare afterwards.""")
wrong("promises_unwatched", tested, promises=())("""
    looks at the numbers alone
    Your test finds all wrong numbers. It accepts functions that return float64 for float32, or that write into their
    argument. Look at the dtype, and keep a copy of `grad_output`.""")


@tests_embed_backward.equivalent
def by_slopes(function):
    """Measure the gradient: move each entry of the table, and take a weighted sum of the output of `embed` as the
    loss."""
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
    """Test in parts: a gradient is a sum over places, so cotangents that each cover one place show all of it."""
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
