"""tests_split_heads: its cases, its known mistakes and its right rewrites."""

from functools import partial

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.functions_to_test import REFERENCE, functions_to_test
from autograder.exercises.multihead.split_heads import split_heads
from solutions import multihead as reference

tests_split_heads = Exercise(
    reference.tests_split_heads,
    outputs={"verdict": ""},
    section="Why a reshape alone will not do",
    tests=split_heads,
)

tried = partial(functions_to_test, exercise=split_heads)


def always_double(x, n_heads):
    return reference.split_heads(x, n_heads).astype(np.float64)


def zeros(x, n_heads):
    return np.zeros_like(reference.split_heads(x, n_heads))


def features_reversed(x, n_heads):
    return reference.split_heads(x, n_heads)[..., ::-1].copy()


# A test that always gives the same answer fails every aspect: each has right functions and wrong ones.
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
        ],
        at_home=["folded", "reversed batch", "two batch axes"],
    )


@tests_split_heads.cases("right entries, and yet wrong", points=1)
def _(draw):
    yield from tried(
        draw,
        right=[REFERENCE, "stacked_slices", "by_einsum"],
        wrong=["leftovers_dropped", ("returns float64 for float32", always_double)],
        at_home=["no error", "double"],
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


PROMISES = (keeps_float32, raises_value_error)
SHAPES = (((5, 6), 3), ((2, 4, 15), 5), ((3, 2, 4, 10), 5))


def tested(function, *, shapes=SHAPES, fill=numbered, agree=same_heads, promises=PROMISES):
    """The test, with its choices left open."""
    for shape, n_heads in shapes:
        x = fill(shape)
        if not agree(function(x, n_heads), x, n_heads):
            return False
    return all(holds(function) for holds in promises)


@tests_split_heads.mistake("accepts every function")
def accepts_everything(function):
    """Your test accepts whatever it is given. Call the function, and compare each head with its slice of the
    features. A test that ends without a `return` and without an `assert` accepts."""


@tests_split_heads.mistake("rejects every function")
def rejects_everything(function):
    """Your test rejects right functions and wrong ones alike. Write down by hand what the right heads are for a small
    array, and compare your expected values with them."""
    return tested(function, agree=lambda heads, x, n_heads: heads.shape == x.shape)


@tests_split_heads.mistake("says True of wrong functions and False of right ones")
def answer_inverted(function):
    """Your answers are the wrong way round. True accepts a function."""
    return not reference.tests_split_heads(function)


def right_shape(heads, x, n_heads):
    return heads.shape == (*x.shape[:-2], n_heads, x.shape[-2], x.shape[-1] // n_heads)


@tests_split_heads.mistake("looks at the shape alone")
def shape_only(function):
    """Your test accepts functions that return the right shape with the entries in wrong places. A reshape alone does
    that. Compare the entries."""
    return tested(function, agree=right_shape)


@tests_split_heads.mistake("uses entries that are all equal")
def equal_entries(function):
    """Your test accepts functions that put entries in wrong places, because all entries are the same. Give every entry
    a number of its own: `np.arange`."""
    return tested(function, fill=np.ones)


@tests_split_heads.mistake("tries a single head")
def single_head(function):
    """Your test accepts functions that are right for a single head. With one head there is nothing to move. Use
    several, and let their number differ from the number of features in a head."""
    return tested(function, shapes=[((5, 4), 1), ((2, 5, 4), 1), ((3, 2, 5, 4), 1)])


@tests_split_heads.mistake("tries no batch")
def single_sentence(function):
    """Your test accepts functions that are right for one sentence only. Try one batch axis, and two."""
    return tested(function, shapes=SHAPES[:1])


@tests_split_heads.mistake("tries one batch axis only")
def one_batch_axis(function):
    """Your test accepts a function that takes exactly one batch axis for granted. Try a single sentence and two batch
    axes, too."""
    promises = partial(keeps_float32, shape=(2, 3, 4)), raises_value_error
    return tested(function, shapes=SHAPES[1:2], promises=promises)


@tests_split_heads.mistake("tries as many heads as features in each")
def heads_as_wide_as_many(function):
    """Your test accepts a function that takes the number of heads for the size of a head. Let the two differ."""
    return tested(function, shapes=[((5, 9), 3), ((2, 5, 4), 2), ((3, 2, 5, 4), 2)])


@tests_split_heads.mistake("does not ask for features that cannot be divided")
def errors_unwatched(function):
    """Your test accepts a function that drops the features that are left over. Call the function with a width that
    cannot be divided, and check that it raises a ValueError."""
    return tested(function, promises=(keeps_float32,))


@tests_split_heads.mistake("does not look at the dtype")
def dtype_unwatched(function):
    """Your test accepts a function that returns float64 for float32. Call it with float32 once, and look at the dtype
    of the result."""
    return tested(function, promises=(raises_value_error,))


@tests_split_heads.mistake("looks at the entries alone")
def promises_unwatched(function):
    """Your test finds all wrong entries. It accepts a function that drops features, and one that returns float64 for
    float32. The docstring of `split_heads` promises more than the entries."""
    return tested(function, promises=())


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
