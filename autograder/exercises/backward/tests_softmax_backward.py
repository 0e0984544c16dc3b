from functools import partial

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.functions_to_test import REFERENCE, functions_to_test
from autograder.authoring.short_mistakes import short_mistakes
from autograder.authoring.usual_wrong_tests import raising, usual_wrong_tests
from autograder.exercises.backward.softmax_backward import softmax_backward
from solutions import backward as reference
from solutions.attention import softmax

tests_softmax_backward = Exercise(
    reference.tests_softmax_backward, outputs={"verdict": ""}, section="Why ones test nothing", tests=softmax_backward
)
wrong = short_mistakes(tests_softmax_backward)

tried = partial(functions_to_test, exercise=softmax_backward)
right = reference.softmax_backward

# Each function is one object, so that the outcomes of our tests are cached for all submissions.
no_batch = raising(right, lambda n_axes: n_axes > 2)
no_single_row = raising(right, lambda n_axes: n_axes == 1)


def first_column_only(grad_weights, weights):
    return reference.softmax_backward(grad_weights * (np.arange(weights.shape[-1]) == 0), weights)


def one_number_for_each_row(grad_weights, weights):
    return (weights * grad_weights).sum(axis=-1)


def mean_times_rows(grad_weights, weights):
    rows = weights.shape[-2] if weights.ndim > 1 else weights.shape[-1]
    mean = (weights * grad_weights).mean(axis=-1, keepdims=True, dtype=weights.dtype)
    return weights * (grad_weights - mean * weights.dtype.type(rows))


def first_item_only(grad_weights, weights):
    grad_scores = reference.softmax_backward(grad_weights, weights)
    if weights.ndim > 2:
        grad_scores[1:] = 0
    return grad_scores


def weights_changed(grad_weights, weights):
    grad_scores = reference.softmax_backward(grad_weights, weights)
    weights *= grad_weights
    return grad_scores


# A test that always gives the same answer fails every aspect, because each aspect has right and wrong functions.
@tests_softmax_backward.cases("plainly wrong formulas", points=1)
def _(draw):
    formulas = ["diagonal_jacobian", "without_the_outer_product", "without_the_diagonal", "slope_alone"]
    others = ["as_after_cross_entropy", "arguments_exchanged", "wrong_sign", "unweighted_sum", "softmax_skipped"]
    yield from tried(
        draw,
        right=[REFERENCE, "with_the_jacobian", "by_pairwise_differences"],
        wrong=[*formulas, *others, ("returns one number for each row", one_number_for_each_row)],
        at_home=["first argument", "tenth more", "maxima"],
        right_at_home=["sums of weights", "rounding"],
    )


@tests_softmax_backward.cases("wrong functions that some cotangents and weights hide", points=2)
def _(draw):
    yield from tried(
        draw,
        right=[REFERENCE, "row_by_row", "by_pairwise_differences"],
        wrong=[
            *("always_zero", "unweighted_mean", "without_the_weights_in_front", "softmax_twice"),
            ("reads only the first column of its cotangent", first_column_only),
        ],
        at_home=["zeros", "sign", "large", "one column", "equal second"],
        right_at_home=["sums of weights", "rounding"],
    )


@tests_softmax_backward.cases("wrong functions that some shapes hide", points=2)
def _(draw):
    yield from tried(
        draw,
        right=[REFERENCE, "both_terms_multiplied_out", "by_pairwise_differences"],
        wrong=[
            *("one_sum_for_all", "over_the_rows", "over_the_first_axis", "divided_by_the_rows"),
            *("sum_without_keepdims", "mean_of_the_products"),
            ("is right only where there are as many rows as weights", mean_times_rows),
            ("computes the first item of a batch only", first_item_only),
            ("raises an exception for a batch", no_batch),
            ("raises an exception for a single row", no_single_row),
        ],
        at_home=["first row", "reversed rows", "square", "first item", "batches", "single rows"],
        right_at_home=["sums of weights", "rounding"],
    )


@tests_softmax_backward.cases("right numbers, and yet wrong", points=1)
def _(draw):
    yield from tried(
        draw,
        right=[REFERENCE, "both_terms_multiplied_out", "with_the_jacobian"],
        wrong=["cotangent_changed", "always_double", ("writes into the weights", weights_changed)],
        at_home=["writes", "writes second", "double"],
        right_at_home=["rounding"],
    )


def at_random(rng, shape):
    return rng.normal(size=shape)


def measured(cotangent, scores):
    return reference.numerical_gradient(lambda s: (cotangent * softmax(s)).sum(), scores)


def by_formula(cotangent, scores):
    return reference.softmax_backward(cotangent, softmax(scores))


close = partial(np.allclose, rtol=0, atol=1e-7)


def keeps_the_caller_s_arrays(function):
    rng = np.random.default_rng(1)
    cotangent, weights = rng.normal(size=(3, 4)), softmax(rng.normal(size=(3, 4)))
    before = cotangent.copy(), weights.copy()
    function(cotangent, weights)
    return np.array_equal(cotangent, before[0]) and np.array_equal(weights, before[1])


def keeps_the_cotangent(function):
    cotangent, weights = np.random.default_rng(1).normal(size=(3, 4)), softmax(np.arange(12.0).reshape(3, 4))
    before = cotangent.copy()
    function(cotangent, weights)
    return np.array_equal(cotangent, before)


def keeps_float32(function):
    single = softmax(np.random.default_rng(2).normal(size=(3, 4)).astype(np.float32))
    return function(single, single).dtype == np.float32


MANNERS = (keeps_the_caller_s_arrays, keeps_float32)


def tested(
    function, *,
    shapes=((5,), (3, 4), (2, 3, 4)), cotangents=at_random, scores=at_random, truth=measured, agree=close,
    manners=MANNERS,
):  # fmt: skip
    """Run the test with these choices."""
    rng = np.random.default_rng(0)
    for shape in shapes:
        s, g = scores(rng, shape), cotangents(rng, shape)
        if not agree(function(g.copy(), softmax(s)), truth(g, s)):
            return False
    return all(bool(holds(function)) for holds in manners)


@tests_softmax_backward.mistake("draws no conclusion")
def no_conclusion(function):
    """Your test rejects a function only if it raises an exception, and accepts all others. A test that ends without a
    `return` and without an `assert` accepts: return the result of your comparison, or assert it."""
    tested(function, agree=lambda result, slopes: True, manners=())


wrong("bit_by_bit", tested, agree=np.array_equal)("""
    rejects every function
    Your test rejects right functions and wrong ones alike. A measured slope never equals a derived one bit for bit: in
    float64, the measurement is off by about 1e-10. Compare with a tolerance, such as 1e-7. If your tolerance is large
    enough, check the values that you compare with.""")
wrong("formula_bit_by_bit", tested, truth=by_formula, agree=np.array_equal)("""
    expects the numbers of one formula, bit for bit
    Your test rejects right functions that compute in a different order from your formula. Two right ways to compute a
    gradient differ by rounding. Compare with a tolerance, such as 1e-7: use `np.allclose`, not `==` or
    `np.array_equal`.""")


def shape_only(function):
    """Your test accepts every function whose result has the right shape. Compare the numbers, too, with slopes that you
    measure. If you already do, return the result of the comparison, or assert it."""
    return function(np.ones((2, 3)), np.full((2, 3), 1 / 3)).shape == (2, 3)


def dtype_unwatched(function):
    """Your test accepts a function that returns float64 for float32. Call the function with float32 once, and look at
    the dtype of the result."""
    return tested(function, manners=(keeps_the_caller_s_arrays,))


usual_wrong_tests(
    tests_softmax_backward,
    accepts="Call the function, and compare what it returns with slopes that you measure.",
    ends="",
    shape_only=shape_only,
    dtype_unwatched=dtype_unwatched,
)


wrong("cotangent_of_ones", tested, cotangents=lambda rng, shape: np.ones(shape))("""
    uses a cotangent of ones
    Your test accepts functions that are right for a cotangent of ones. With ones every slope is zero, because the
    weights of a row always add up to one. Draw the cotangent at random.""")
wrong("single_entry", tested, cotangents=lambda rng, shape: np.broadcast_to(np.arange(shape[-1]) == 0, shape) * 1.0)("""
    uses a cotangent with a single entry in each row
    Your test accepts a function that reads one column of the cotangent and no other. A cotangent that is zero elsewhere
    cannot show it. Draw all entries at random.""")
wrong("equal_weights", tested, scores=lambda rng, shape: np.zeros(shape))("""
    uses weights that are all equal
    Your test accepts functions that are right if all weights of a row are equal. Then the plain mean equals the
    weighted mean. Draw scores at random, and let `softmax` make the weights.""")


@tests_softmax_backward.mistake("checks only that each row adds up to zero")
def rows_add_up_to_zero(function):
    """Your test accepts functions whose rows add up to zero, whatever their entries are. So do rows of zeros and a
    gradient with the wrong sign. Compare every entry with a measured slope."""
    rng = np.random.default_rng(0)
    for shape in ((5,), (3, 4), (2, 3, 4)):
        if not close(function(rng.normal(size=shape), softmax(rng.normal(size=shape))).sum(axis=-1), 0):
            return False
    return all(bool(holds(function)) for holds in MANNERS)


wrong("single_row", tested, shapes=((5,),), manners=())("""
    tries a single row
    Your test accepts functions that are right for a single row, but mix different rows. Try several rows, and a
    batch.""")
wrong("no_batches", tested, shapes=((5,), (3, 4)))("""
    tries no batch
    Your test accepts functions that are right for a row or a matrix, and wrong for a batch. Try an array with three
    axes, too.""")
wrong("matrix_alone", tested, shapes=((3, 4),))("""
    tries matrices only
    Your test accepts functions that are right for a matrix and for no other array: they raise an exception for a single
    row, or are wrong for a batch. The docstring of `softmax_backward` promises any number of axes. Try one, two and
    three.""")
wrong("no_row", tested, shapes=((2, 3, 4, 5),))("""
    tries no single row
    Your test accepts a function that raises an exception for a single row. The docstring of `softmax_backward` promises
    any number of axes. Try an array with one axis, too.""")
wrong("square_only", tested, shapes=((5,), (4, 4), (3, 3, 3)))("""
    tries square arrays only
    Your test accepts a function that is right only if there are as many rows as weights. Let all sizes differ.""")
wrong("too_loose", tested, agree=partial(np.allclose, rtol=0, atol=0.3))("""
    forgives large errors
    The tolerance is too large: errors of a tenth pass, and most entries are no larger than that. A right gradient
    agrees with the measured gradient to 1e-9 here.""")


@tests_softmax_backward.mistake("uses weights that no softmax returns")
def weights_of_no_softmax(function):
    """Your test rejects a function that is right for every row of weights that adds up to one. `softmax` returns no
    other rows, so the function need not be right for them. Let `softmax` make the weights."""
    rng = np.random.default_rng(0)
    g, w = rng.normal(size=(3, 4)), rng.random(size=(3, 4))
    return close(function(g, w), w * (g - (w * g).sum(axis=-1, keepdims=True))) and tested(function)


@tests_softmax_backward.mistake("takes an exception for a right answer")
def swallows_exceptions(function):
    """Your test accepts a function that raises an exception. Do not catch the exception: it rejects the function
    without any `try`."""
    try:
        return tested(function)
    except Exception:
        return True


wrong("caller_s_arrays_unwatched", tested, manners=(keeps_float32,))("""
    does not look whether the arguments change
    Your test accepts a function that writes into its arguments. Keep copies, and compare the arrays with them after the
    call.""")
wrong("weights_unwatched", tested, manners=(keeps_the_cotangent, keeps_float32))("""
    looks whether the cotangent changes, and not at the weights
    Your test finds a function that writes into the cotangent, but accepts one that writes into the weights. Copy both
    arrays, and compare both after the call.""")
wrong("manners_unwatched", tested, manners=())("""
    looks at the numbers alone
    Your test finds all wrong numbers. It accepts functions that write into their arguments, or that return float64 for
    float32. Look at the arguments after the call, and at the dtype of the result.""")


@tests_softmax_backward.equivalent
def by_assertions(function):
    rng = np.random.default_rng(4)
    for shape in ((6,), (2, 5), (3, 2, 4)):
        scores, cotangent = rng.normal(size=shape), rng.normal(size=shape)
        weights = softmax(scores)
        copies = cotangent.copy(), weights.copy()
        slopes = reference.numerical_gradient(lambda s, g=cotangent: (g * softmax(s)).sum(), scores)
        np.testing.assert_allclose(function(cotangent, weights), slopes, atol=1e-6)
        assert (cotangent == copies[0]).all() and (weights == copies[1]).all()
    half = weights.astype(np.float32)
    assert function(half, half).dtype == np.float32


@tests_softmax_backward.equivalent
def by_the_jacobian(function):
    rng = np.random.default_rng(5)
    for shape in ((4,), (5, 3), (2, 3, 5)):
        weights, cotangent = softmax(rng.normal(size=shape)), rng.normal(size=shape)
        jacobian = weights[..., :, None] * (np.eye(shape[-1]) - weights[..., None, :])
        result = function(grad_weights=cotangent, weights=weights)
        if result.shape != shape or not np.allclose(result, (jacobian @ cotangent[..., None])[..., 0]):
            return False
    return all(bool(holds(function)) for holds in MANNERS)


@tests_softmax_backward.equivalent
def entry_by_entry(function):
    """Use one cotangent for each entry of the weights, to measure the whole Jacobian."""
    rng = np.random.default_rng(6)
    for shape in ((3,), (2, 4), (2, 3, 2)):
        scores = rng.normal(size=shape)
        for index in np.ndindex(shape):
            cotangent = np.zeros(shape)
            cotangent[index] = 1
            slopes = reference.numerical_gradient(lambda s, i=index: softmax(s)[i], scores)
            if not np.allclose(function(cotangent, softmax(scores)), slopes, atol=1e-7):
                return np.bool_(False)
    return all(bool(holds(function)) for holds in MANNERS)


@tests_softmax_backward.equivalent
def along_one_direction(function):
    """Measure a single slope for each shape, along a random direction."""
    rng = np.random.default_rng(7)
    for shape in ((7,), (4, 6), (3, 2, 5)):
        s, g, direction = rng.normal(size=(3, *shape))
        ahead, behind = softmax(s + 1e-5 * direction), softmax(s - 1e-5 * direction)
        slope = (g * (ahead - behind)).sum() / 2e-5
        assert abs((function(g.copy(), softmax(s)) * direction).sum() - slope) < 1e-7
        assert function(g, softmax(s)).shape == shape
    assert keeps_the_caller_s_arrays(function)
    assert keeps_float32(function)
