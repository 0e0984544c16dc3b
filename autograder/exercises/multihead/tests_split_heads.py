from functools import partial

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.functions_to_test import REFERENCE, functions_to_test
from autograder.authoring.short_mistakes import short_mistakes
from autograder.authoring.usual_wrong_tests import changed, in_double, raising, usual_wrong_tests
from autograder.exercises.multihead.split_heads import split_heads
from solutions import multihead as reference

tests_split_heads = Exercise(
    reference.tests_split_heads, outputs={"verdict": ""}, section="Why a reshape alone will not do", tests=split_heads
)
wrong = short_mistakes(tests_split_heads)

tried = partial(functions_to_test, exercise=split_heads)
right = reference.split_heads

# Each function is one object, so that the outcomes of our tests are cached for all submissions.
zeros = changed(right, np.zeros_like)
features_reversed = changed(right, lambda heads: heads[..., ::-1].copy())
no_single_sentence = raising(right, lambda n_axes: n_axes == 2)
always_double = changed(right, in_double)


def type_error(x, n_heads):
    if x.shape[-1] % n_heads:
        raise TypeError("the features cannot be divided")
    return reference.split_heads(x, n_heads)


# A test that always gives the same answer fails every aspect, because each aspect has right and wrong functions.
@tests_split_heads.cases("wrong for one sentence", points=1)
def _(draw):
    yield from tried(
        draw,
        right=[REFERENCE, "stacked_slices", "head_by_head"],
        wrong=[
            *("only_a_view", "dealt_in_turn", "not_moved", "each_head_turned", "heads_of_that_size"),
            ("returns zeros", zeros),
            ("reverses the features of each head", features_reversed),
        ],
        at_home=["zeros", "last axes", "reversed rows", "reversed matrices", "size of a part"],
    )


@tests_split_heads.cases("wrong for batches", points=1)
def _(draw):
    yield from tried(
        draw,
        right=[REFERENCE, "by_einsum", "head_by_head"],
        wrong=[
            *("axes_from_the_front", "one_batch_axis_only", "folded_into_the_batch", "heads_in_front"),
            "batch_and_heads_exchanged",
            ("raises an exception for a single sentence", no_single_sentence),
        ],
        at_home=["folded", "reversed batch", "reversed heads", "two batch axes", "single sentences"],
    )


@tests_split_heads.cases("right entries, and yet wrong", points=1)
def _(draw):
    yield from tried(
        draw,
        right=[REFERENCE, "stacked_slices", "by_einsum"],
        wrong=[
            "leftovers_dropped",
            ("raises a TypeError for features that cannot be divided, not a ValueError", type_error),
            ("returns float64 for float32", always_double),
        ],
        at_home=["no error", "other error", "double"],
    )


def numbered(shape):
    return np.arange(float(np.prod(shape))).reshape(shape)


def same_heads(heads, x, n_heads):
    d_head = x.shape[-1] // n_heads
    slices = [x[..., h * d_head : (h + 1) * d_head] for h in range(n_heads)]
    return np.array_equal(heads, np.stack(slices, axis=-3))


def keeps_float32(function, shape=(3, 4)):
    return function(np.ones(shape, np.float32), 2).dtype == np.float32


def raises_value_error(function):
    try:
        function(np.ones((4, 7)), 3)
    except ValueError:
        return True
    return False


def raises_something(function):
    try:
        function(np.ones((4, 7)), 3)
    except Exception:
        return True
    return False


PROMISES = (keeps_float32, raises_value_error)
SHAPES = (((5, 6), 3), ((2, 4, 15), 5), ((3, 2, 4, 10), 5))


def tested(function, *, shapes=SHAPES, fill=numbered, agree=same_heads, promises=PROMISES):
    """Run the test with these choices."""
    for shape, n_heads in shapes:
        x = fill(shape)
        if not agree(function(x, n_heads), x, n_heads):
            return False
    return all(holds(function) for holds in promises)


def right_shape(heads, x, n_heads):
    return heads.shape == (*x.shape[:-2], n_heads, x.shape[-2], x.shape[-1] // n_heads)


def shape_only(function):
    """Your test accepts functions that return the right shape with the entries in wrong places. A reshape alone does
    that. Compare the entries."""
    return tested(function, agree=right_shape)


def dtype_unwatched(function):
    return tested(function, promises=(raises_value_error,))


usual_wrong_tests(
    tests_split_heads,
    accepts="Call the function, and compare each head with its slice of the features.",
    rejects="Write down by hand what the right heads are for a small array, and compare your expected values with "
    "them.",
    shape_only=shape_only,
    dtype_unwatched=dtype_unwatched,
)


wrong("equal_entries", tested, fill=np.ones)("""
    uses entries that are all equal
    Your test accepts functions that put entries in wrong places, because all entries are the same. Give every entry a
    number of its own, for example with `np.arange`.""")
wrong("single_head", tested, shapes=[((5, 4), 1), ((2, 5, 4), 1), ((3, 2, 5, 4), 1)])("""
    tries a single head
    Your test accepts functions that are right for a single head. With one head there is nothing to move. Use several,
    and let their number differ from the number of features in a head.""")
wrong("single_sentence", tested, shapes=SHAPES[:1])("""
    tries no batch
    Your test accepts functions that are right for one sentence only. Try one batch axis, and two.""")
wrong(
    "one_batch_axis", tested, shapes=SHAPES[1:2], promises=(partial(keeps_float32, shape=(2, 3, 4)), raises_value_error)
)("""
    tries one batch axis only
    Your test accepts a function that takes exactly one batch axis for granted. Try a single sentence and two batch
    axes, too.""")
wrong("heads_as_wide_as_many", tested, shapes=[((5, 9), 3), ((2, 5, 4), 2), ((3, 2, 5, 4), 2)])("""
    tries as many heads as features in each
    Your test accepts a function that takes the number of heads for the size of a head. Let the two differ.""")
wrong("errors_unwatched", tested, promises=(keeps_float32,))("""
    does not ask for features that cannot be divided
    Your test accepts a function that drops the features that are left over. Call the function with a width that cannot
    be divided, and check that it raises a ValueError.""")
wrong("any_exception", tested, promises=(keeps_float32, raises_something))("""
    takes any exception for a ValueError
    Your test accepts a function that raises a TypeError for features that cannot be divided. The docstring of
    `split_heads` promises a ValueError. Catch a ValueError and nothing else: every other exception rejects the
    function.""")
wrong("promises_unwatched", tested, promises=())("""
    looks at the entries alone
    Your test finds all wrong entries. It accepts a function that drops features, and one that returns float64 for
    float32. The docstring of `split_heads` promises more than the entries.""")


@tests_split_heads.equivalent
def entry_by_entry(function):
    rng = np.random.default_rng(0)
    for batch in ((), (2,), (3, 2)):
        x = rng.normal(size=(*batch, 5, 12)).astype(np.float32)
        heads = function(x, 3)
        assert heads.shape == (*batch, 3, 5, 4)
        assert heads.dtype == np.float32
        for index in np.ndindex(*heads.shape):
            *before, h, t, i = index
            assert heads[index] == x[(*before, t, 4 * h + i)]
    try:
        function(np.ones((2, 5)), 2)
    except ValueError:
        return
    raise AssertionError("no error")


@tests_split_heads.equivalent
def by_merging(function):
    """Merge the split heads again. Merging is right by itself, so it reveals a wrong split."""
    for shape, n_heads in (((7, 6), 2), ((2, 3, 8), 4), ((2, 3, 5, 6), 3)):
        x = numbered(shape)
        heads = function(x=x, n_heads=n_heads)
        if heads.shape != (*shape[:-2], n_heads, shape[-2], shape[-1] // n_heads):
            return False
        if not np.array_equal(np.concatenate(np.moveaxis(heads, -3, 0), axis=-1), x):
            return False
    return keeps_float32(function) and raises_value_error(function)


@tests_split_heads.equivalent
def in_float32_alone(function):
    for shape, n_heads in SHAPES:
        x = numbered(shape).astype(np.float32)
        heads = function(x, n_heads)
        assert same_heads(heads, x, n_heads) and heads.dtype == x.dtype
    assert raises_value_error(function)
