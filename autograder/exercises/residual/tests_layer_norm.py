"""tests_layer_norm: its cases, its known mistakes and its right rewrites."""

from functools import partial

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.functions_to_test import REFERENCE, functions_to_test
from autograder.exercises.residual.layer_norm import layer_norm
from solutions import residual as reference

tests_layer_norm = Exercise(
    reference.tests_layer_norm, outputs={"verdict": ""}, section="A test for every variant", tests=layer_norm
)

tried = partial(functions_to_test, exercise=layer_norm)


# ---------------------------------------------------------------------------------------- further wrong functions


def zeros(x, gain, bias, eps=1e-5):
    return np.zeros_like(x), None


def one_number_for_each_row(x, gain, bias, eps=1e-5):
    return x.mean(axis=-1), None


def one_batch_axis(x, gain, bias, eps=1e-5):
    n_batch, length, d_model = x.shape
    return reference.layer_norm(x, gain, bias, eps)


def eps_ignored(x, gain, bias, eps=1e-5):
    return reference.layer_norm(x, gain, bias)


def always_double(x, gain, bias, eps=1e-5):
    output, cache = reference.layer_norm(x, gain, bias, eps)
    return output.astype(np.float64), cache


# A test that always gives the same answer fails every aspect: each has right functions and wrong ones.
@tests_layer_norm.cases("wrong for one position", points=1)
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


@tests_layer_norm.cases("wrong for several positions", points=1)
def _(draw):
    yield from tried(
        draw,
        right=[REFERENCE, "position_by_position", "by_einsum"],
        wrong=[
            *("all_but_the_first", "over_time", "over_the_batch", "batch_norm", "over_everything", "over_the_sentence"),
            ("takes exactly one batch axis for granted", one_batch_axis),
        ],
        at_home=["first row", "reversed rows", "first item", "square", "batches"],
        right_at_home=["other cache"],
    )


@tests_layer_norm.cases("nearly right", points=1)
def _(draw):
    yield from tried(
        draw,
        right=[REFERENCE, "with_var", "position_by_position"],
        wrong=[
            *("unbiased", "eps_outside", "without_eps", "in_place"),
            ("ignores its argument eps", eps_ignored),
            ("returns float64 for float32", always_double),
        ],
        at_home=["large", "defaults", "double", "writes"],
        right_at_home=["other cache"],
    )


def expected(x, gain, bias, eps, ddof=0):
    """The right output, with another variance if asked."""
    spread = np.sqrt(x.var(axis=-1, keepdims=True, ddof=ddof) + eps)
    return (x - x.mean(axis=-1, keepdims=True)) / spread * gain + bias


def keeps_float32(function):
    x, gain, bias = (np.full(shape, 2, np.float32) for shape in ((3, 4), (4,), (4,)))
    return function(x, gain, bias)[0].dtype == np.float32


def leaves_x_alone(function):
    x = np.arange(12.0).reshape(3, 4)
    function(x, np.ones(4), np.zeros(4))
    return np.array_equal(x, np.arange(12.0).reshape(3, 4))


PROMISES = (keeps_float32, leaves_x_alone)
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
    """The test, with its choices left open."""
    rng = np.random.default_rng(3)
    for shape in shapes:
        for eps in epsilons:
            x, (gain, bias) = fill(rng, shape), params(rng, shape[-1])
            right = expected(x, gain, bias, eps, ddof)
            output, _ = function(x.copy(), gain, bias, eps)
            if output.shape != x.shape or not np.allclose(output, right, rtol=rtol, atol=rtol):
                return False
    return all(holds(function) for holds in promises)


@tests_layer_norm.mistake("accepts every function")
def accepts_everything(function):
    """Your test accepts whatever it is given. Call the function, and compare each row with what the three lines of
    layer normalisation give. A test that ends without a `return` and without an `assert` accepts."""


@tests_layer_norm.mistake("rejects every function")
def rejects_everything(function):
    """Your test rejects right functions and wrong ones alike. Give `x`, `gain` and `bias` the same dtype, and allow for
    rounding, as `np.allclose` does. If your test does both, compute by hand what the right output is for a row of two
    features. The variance divides by d_model, and `eps` is inside the root."""
    return function(np.ones((3, 4)), np.ones(4), np.ones(4))[0].shape == (4, 3)


@tests_layer_norm.mistake("says True of wrong functions and False of right ones")
def answer_inverted(function):
    """Your answers are the wrong way round. True accepts a function."""
    return not reference.tests_layer_norm(function)


@tests_layer_norm.mistake("looks at the shape alone")
def shape_only(function):
    """Your test accepts functions that return the right shape with wrong numbers. Compare the numbers."""
    return function(np.ones((3, 4)), np.ones(4), np.ones(4))[0].shape == (3, 4)


@tests_layer_norm.mistake("expects the unbiased variance")
def expects_unbiased(function):
    """Your test rejects right functions, because it divides the squares by d_model - 1. `np.var` divides by d_model,
    and so does layer normalisation."""
    return tested(function, ddof=1)


@tests_layer_norm.mistake("looks into the cache")
def looks_into_the_cache(function):
    """Your test rejects right functions, because it expects a certain cache. Test the output alone, because functions
    may keep different things: use `function(...)[0]`."""
    normalised, _, gain = function(np.arange(6.0), np.ones(6), np.zeros(6))[1]
    return np.allclose(normalised.mean(), 0) and tested(function)


@tests_layer_norm.mistake("tries fresh gains and biases")
def fresh_parameters(function):
    """Your test accepts functions that leave out the gain or the bias, or apply them in the wrong order. Gains of
    one and biases of zero hide it. Draw them at random."""
    return tested(function, params=fresh)


@tests_layer_norm.mistake("asks for mean zero and variance one, and nothing else")
def properties_alone(function):
    """Your test asks whether each row has mean zero and variance one. That needs fresh gains and biases, which hide
    that they are not used, and a tolerance in which eps disappears. Compare with the whole formula."""
    return tested(function, params=fresh, epsilons=(1e-5,), rtol=1e-3)


@tests_layer_norm.mistake("tries rows whose mean is zero")
def centred_rows(function):
    """Your test accepts functions that do not subtract the mean, because its rows have none. Draw rows far from
    zero."""

    def centred(rng, shape):
        x = drawn(rng, shape)
        return x - x.mean(axis=-1, keepdims=True)

    return tested(function, fill=centred)


@tests_layer_norm.mistake("tries a single position")
def single_position(function):
    """Your test accepts functions that take mean and variance over more than the features. With a single position
    there is nothing else to average over. Try several positions, and a batch."""
    return tested(function, shapes=SHAPES[:1])


@tests_layer_norm.mistake("tries no batch")
def no_batch(function):
    """Your test accepts a function that treats everything after the first axis as features. For a matrix that is right.
    Try a batch."""
    return tested(function, shapes=SHAPES[:2])


@tests_layer_norm.mistake("tries one batch axis only")
def one_batch_axis_only(function):
    """Your test accepts a function that takes exactly one batch axis for granted. Try a single position, a sentence
    and two batch axes, too."""

    def keeps_float32_in_a_batch(function):
        x, gain, bias = (np.full(shape, 2, np.float32) for shape in ((2, 3, 4), (4,), (4,)))
        return function(x, gain, bias)[0].dtype == np.float32

    return tested(function, shapes=SHAPES[2:3], promises=(keeps_float32_in_a_batch,))


@tests_layer_norm.mistake("tries the default eps alone")
def default_eps(function):
    """Your test accepts a function that ignores its argument `eps`. Call it with another number, such as 0.5."""
    return tested(function, epsilons=(1e-5,))


@tests_layer_norm.mistake("lets eps disappear in the tolerance")
def eps_in_the_tolerance(function):
    """Your test accepts functions that put eps in the wrong place or leave it out. At 1e-5 it changes the output by
    less than `np.allclose` allows. Call the function with an eps of 0.5."""
    return tested(function, epsilons=(1e-5,), rtol=1e-4)


@tests_layer_norm.mistake("allows for a tenth")
def too_loose(function):
    """Your test accepts a function that divides the squares by d_model - 1. Numbers that are a few per cent too small
    are wrong. Allow for rounding only: `np.allclose` as it is."""
    return tested(function, rtol=0.15)


@tests_layer_norm.mistake("does not look at the dtype")
def dtype_unwatched(function):
    """Your test accepts a function that returns float64 for float32. Call it with float32 once, and look at the dtype
    of the output."""
    return tested(function, promises=(leaves_x_alone,))


@tests_layer_norm.mistake("does not look at the caller's x")
def caller_unwatched(function):
    """Your test accepts a function that writes into its argument. Keep a copy of `x`, and compare afterwards."""
    return tested(function, promises=(keeps_float32,))


@tests_layer_norm.mistake("looks at the output alone")
def promises_unwatched(function):
    """Your test finds all wrong numbers. It accepts a function that returns float64 for float32, and one that writes
    into its argument. The docstring of `layer_norm` and the residual connection need both."""
    return tested(function, promises=())


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


@tests_layer_norm.equivalent
def by_undoing(function):
    """Recover x from the output, which works only if the output is right."""
    rng = np.random.default_rng(1)
    for shape in ((9,), (2, 8), (3, 2, 8), (2, 3, 4, 5)):
        x, gain, bias = 1 + rng.normal(size=shape), 1 + rng.random(shape[-1]), rng.normal(size=shape[-1])
        output = function(x=x, gain=gain, bias=bias, eps=2.0)[0]
        if output.shape != shape:
            return False
        undone = (output - bias) / gain * np.sqrt(np.var(x, axis=-1) + 2)[..., None] + np.mean(x, axis=-1)[..., None]
        if np.abs(undone - x).max() > 1e-9:
            return False
    return keeps_float32(function) and leaves_x_alone(function)


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
