from functools import partial

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.functions_to_test import REFERENCE, functions_to_test
from autograder.authoring.short_mistakes import short_mistakes
from autograder.authoring.usual_wrong_tests import changed, in_double, raising, usual_wrong_tests
from autograder.exercises.residual.layer_norm import layer_norm
from solutions import residual as reference

tests_layer_norm = Exercise(
    reference.tests_layer_norm, outputs={"verdict": ""}, section="A test for every variant", tests=layer_norm
)
wrong = short_mistakes(tests_layer_norm)

tried = partial(functions_to_test, exercise=layer_norm)
right = reference.layer_norm

# Each function is one object, so that the outcomes of our tests are cached for all submissions.
zeros = changed(right, np.zeros_like)
one_batch_axis_needed = raising(right, lambda n_axes: n_axes != 3)
no_single_position = raising(right, lambda n_axes: n_axes == 1)
always_double = changed(right, in_double)


# ---------------------------------------------------------------------------------------- further wrong functions


def one_number_for_each_row(x, gain, bias, eps=1e-5):
    return x.mean(axis=-1), None


def squares_over_positions(x, gain, bias, eps=1e-5):
    centred = x - x.mean(axis=-1, keepdims=True)
    positions = x.shape[-2] if x.ndim > 1 else x.shape[-1]
    variance = (centred * centred).sum(axis=-1, keepdims=True, dtype=x.dtype) / x.dtype.type(positions)
    return centred / np.sqrt(variance + eps) * gain + bias, None


def eps_ignored(x, gain, bias, eps=1e-5):
    return reference.layer_norm(x, gain, bias)


# A test that always gives the same answer fails every aspect, because each aspect has right and wrong functions.
@tests_layer_norm.cases("wrong for one position", points=2)
def _(draw):
    yield from tried(
        draw,
        right=[REFERENCE, "with_var", "by_einsum"],
        wrong=[
            *("not_centred", "only_centred", "by_variance", "root_mean_square", "sum_of_squares"),
            *("without_gain", "bias_first", "without_the_gain", "without_the_bias"),
            ("returns zeros", zeros),
            ("returns one number for each row", one_number_for_each_row),
        ],
        at_home=["zeros", "second as ones", "third as zeros", "means", "first argument"],
        right_at_home=["other cache"],
    )


@tests_layer_norm.cases("wrong for several positions", points=2)
def _(draw):
    yield from tried(
        draw,
        right=[REFERENCE, "position_by_position", "by_einsum"],
        wrong=[
            *("all_but_the_first", "over_time", "over_the_batch", "batch_norm", "over_everything", "over_the_sentence"),
            ("takes exactly one batch axis for granted", one_batch_axis_needed),
            ("raises an exception for a single position", no_single_position),
            ("is right only where there are as many positions as features", squares_over_positions),
        ],
        at_home=["first row", "reversed rows", "first item", "square", "batches", "one batch axis", "single rows"],
        right_at_home=["other cache"],
    )


@tests_layer_norm.cases("nearly right", points=2)
def _(draw):
    yield from tried(
        draw,
        right=[REFERENCE, "with_var", "by_einsum"],
        wrong=[
            *("unbiased", "variance_by_difference", "eps_outside", "without_eps", "in_place"),
            ("ignores its argument eps", eps_ignored),
            ("returns float64 for float32", always_double),
        ],
        at_home=["unbiased", "defaults", "difference", "double", "writes"],
        right_at_home=["other cache"],
    )


def expected(x, gain, bias, eps, ddof=0):
    """Return the right output, or the output with the unbiased variance."""
    spread = np.sqrt(x.var(axis=-1, keepdims=True, ddof=ddof) + eps)
    return (x - x.mean(axis=-1, keepdims=True)) / spread * gain + bias


def keeps_float32(function):
    x, gain, bias = (np.full(shape, 2, np.float32) for shape in ((3, 4), (4,), (4,)))
    return function(x, gain, bias)[0].dtype == np.float32


def leaves_x_alone(function):
    x = np.arange(12.0).reshape(3, 4)
    function(x, np.ones(4), np.zeros(4))
    return np.array_equal(x, np.arange(12.0).reshape(3, 4))


def right_far_from_zero(function):
    """Try single rows of many features, on which other mistakes, such as the unbiased variance, hardly show."""
    gain, bias = np.ones(100, np.float32), np.zeros(100, np.float32)
    for x in (1000 + np.random.default_rng(5).normal(size=(8, 100))).astype(np.float32):
        right = expected(x.astype(np.float64), gain, bias, 1e-5)
        if not np.allclose(function(x, gain, bias)[0], right, rtol=0, atol=0.05):
            return False
    return True


PROMISES = (keeps_float32, leaves_x_alone, right_far_from_zero)
SHAPES = ((7,), (4, 6), (2, 3, 5), (2, 3, 4, 6))


def fresh(rng, width):
    return np.ones(width), np.zeros(width)


def trained(rng, width):
    return rng.normal(size=(2, width))


def drawn(rng, shape):
    return 3 + 2 * rng.normal(size=shape)


def tested(
    function, *, shapes=SHAPES, epsilons=(1e-5, 0.5), params=trained, fill=drawn, rtol=1e-7, ddof=0, promises=PROMISES
):
    """Run the test with these choices."""
    rng = np.random.default_rng(3)
    for shape in shapes:
        for eps in epsilons:
            x, (gain, bias) = fill(rng, shape), params(rng, shape[-1])
            right = expected(x, gain, bias, eps, ddof)
            output, _ = function(x.copy(), gain, bias, eps)
            if output.shape != x.shape or not np.allclose(output, right, rtol=rtol, atol=rtol):
                return False
    return all(holds(function) for holds in promises)


def shape_only(function):
    return function(np.ones((3, 4)), np.ones(4), np.ones(4))[0].shape == (3, 4)


def dtype_unwatched(function):
    return tested(function, promises=(leaves_x_alone, right_far_from_zero))


usual_wrong_tests(
    tests_layer_norm,
    accepts="Call the function, and compare each row with what the three lines of layer normalisation give.",
    rejects="Give `x`, `gain` and `bias` the same dtype, and allow for rounding, as `np.allclose` does. If your test "
    "already does both, compute the right output for a row of two features by hand. The variance divides by d_model, "
    "and `eps` is inside the root.",
    shape_only=shape_only,
    dtype_unwatched=dtype_unwatched,
    result="output",
)


wrong("expects_unbiased", tested, ddof=1)("""
    expects the unbiased variance
    Your test rejects right functions, because it divides the squares by d_model - 1. `np.var` divides by d_model, and
    so does layer normalisation.""")


@tests_layer_norm.mistake("looks into the cache")
def looks_into_the_cache(function):
    """Your test rejects right functions, because it expects a certain cache. Test only the output, `function(...)[0]`,
    because functions may keep different things in the cache."""
    normalised, _, gain = function(np.arange(6.0), np.ones(6), np.zeros(6))[1]
    return np.allclose(normalised.mean(), 0) and tested(function)


wrong("fresh_parameters", tested, params=fresh)("""
    tries fresh gains and biases
    Your test accepts functions that leave out the gain or the bias, or apply them in the wrong order. Gains of one and
    biases of zero hide it. Draw them at random.""")
wrong("properties_alone", tested, params=fresh, epsilons=(1e-5,), rtol=1e-3)("""
    asks for mean zero and variance one, and nothing else
    Your test asks whether each row has mean zero and variance one. That needs fresh gains and biases, which hide
    whether a function uses them, and a tolerance in which eps disappears. Compare with the whole formula.""")


@tests_layer_norm.mistake("tries rows whose mean is zero")
def centred_rows(function):
    """Your test accepts functions that do not subtract the mean, because the means of its rows are zero. Draw rows far
    from zero."""

    def centred(rng, shape):
        x = drawn(rng, shape)
        return x - x.mean(axis=-1, keepdims=True)

    return tested(function, fill=centred, promises=(keeps_float32, leaves_x_alone))


wrong("single_position", tested, shapes=SHAPES[:1])("""
    tries a single position
    Your test accepts functions that take mean and variance over more than the features. With a single position there is
    nothing else to average over. Try several positions, and a batch.""")
wrong("no_batch", tested, shapes=SHAPES[:2])("""
    tries no batch
    Your test accepts a function that treats everything after the first axis as features. This is right for a matrix.
    Try a batch.""")


@tests_layer_norm.mistake("tries one batch axis only")
def one_batch_axis_only(function):
    """Your test accepts a function that takes exactly one batch axis for granted. Try a single position, a sentence
    and two batch axes, too."""

    def keeps_float32_in_a_batch(function):
        x, gain, bias = (np.full(shape, 2, np.float32) for shape in ((2, 3, 4), (4,), (4,)))
        return function(x, gain, bias)[0].dtype == np.float32

    return tested(function, shapes=SHAPES[2:3], promises=(keeps_float32_in_a_batch,))


wrong("square_only", tested, shapes=((5,), (4, 4), (2, 3, 3), (4, 4, 4, 4)))("""
    tries square arrays only
    Your test accepts a function that divides by the number of positions instead of the number of features. If both
    numbers are the same, this is right. Let all sizes differ.""")
wrong("near_zero_alone", tested, promises=(keeps_float32, leaves_x_alone))("""
    tries no row far from zero
    Your test accepts a function that computes the variance as the mean of the squares minus the square of the mean. In
    float32 this difference loses its digits if the mean is large. Try float32 rows with a mean of 1,000, and allow for
    an error of 0.01.""")
wrong("default_eps", tested, epsilons=(1e-5,))("""
    tries the default eps alone
    Your test accepts a function that ignores its argument `eps`. Call it with another number, such as 0.5.""")
wrong("eps_in_the_tolerance", tested, epsilons=(1e-5,), rtol=1e-4)("""
    lets eps disappear in the tolerance
    Your test accepts functions that put eps in the wrong place or leave it out. At 1e-5 it changes the output by less
    than `np.allclose` allows. Call the function with an eps of 0.5.""")
wrong("too_loose", tested, rtol=0.15)("""
    allows for a tenth
    Your test accepts a function that divides the squares by d_model - 1. Numbers that are a few per cent too small are
    wrong. Allow for rounding only: `np.allclose` as it is.""")
wrong("caller_unwatched", tested, promises=(keeps_float32, right_far_from_zero))("""
    does not look at the caller's x
    Your test accepts a function that writes into its argument. Keep a copy of `x`, and compare afterwards.""")
wrong("promises_unwatched", tested, promises=())("""
    looks at the output alone
    Your test finds all wrong numbers in rows near zero. It accepts functions that return float64 for float32, that
    write into their argument, or that are wrong for float32 rows with a mean of 1,000. Look at the dtype, keep a copy
    of `x`, and try such rows.""")


@tests_layer_norm.equivalent
def entry_by_entry(function):
    rng = np.random.default_rng(0)
    for batch in ((), (3,), (2, 3), (2, 1, 3)):
        x, (gain, bias) = (5 + rng.normal(size=(*batch, 4))).astype(np.float32), rng.normal(size=(2, 4))
        before = x.copy()
        output, _ = function(x, gain.astype(np.float32), bias.astype(np.float32), eps=0.1)
        assert output.dtype == np.float32 and output.shape == x.shape and np.array_equal(x, before)
        for index in np.ndindex(*batch):
            mean = sum(map(float, x[index])) / 4
            variance = sum((float(entry) - mean) ** 2 for entry in x[index]) / 4
            for i in range(4):
                right = gain[i] * (x[index][i] - mean) / (variance + 0.1) ** 0.5 + bias[i]
                assert abs(output[index][i] - right) < 1e-4
    assert right_far_from_zero(function)


@tests_layer_norm.equivalent
def by_undoing(function):
    """Recover x from the output, which succeeds only if the output is right."""
    rng = np.random.default_rng(1)
    for shape in ((9,), (2, 8), (3, 2, 8), (2, 3, 4, 5)):
        x, gain, bias = 1 + rng.normal(size=shape), 1 + rng.random(shape[-1]), rng.normal(size=shape[-1])
        output = function(x=x, gain=gain, bias=bias, eps=2.0)[0]
        if output.shape != shape:
            return False
        undone = (output - bias) / gain * np.sqrt(np.var(x, axis=-1) + 2)[..., None] + np.mean(x, axis=-1)[..., None]
        if np.abs(undone - x).max() > 1e-9:
            return False
    return all(holds(function) for holds in PROMISES)


@tests_layer_norm.equivalent
def in_float32_alone(function):
    rng = np.random.default_rng(2)
    for shape in SHAPES:
        x, gain, bias = (array.astype(np.float32) for array in (drawn(rng, shape), *rng.normal(size=(2, shape[-1]))))
        kept = x.copy()
        output, *_ = function(x, gain, bias, 0.25)
        assert output.dtype == x.dtype
        np.testing.assert_allclose(output, expected(x, gain, bias, 0.25), rtol=1e-3, atol=1e-4)
        np.testing.assert_array_equal(x, kept)
    assert right_far_from_zero(function)
