from functools import partial

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.functions_to_test import REFERENCE, functions_to_test
from autograder.authoring.short_mistakes import short_mistakes
from autograder.authoring.usual_wrong_tests import changed, in_double, raising, usual_wrong_tests
from autograder.exercises.dictionary.modern_layer import (
    group_by_group,
    interleaved,
    modern_layer,
    turned_after_copying,
    turned_halves,
)
from autograder.exercises.dictionary.programs import slip
from solutions import dictionary as reference
from solutions.parameters import flatten, map_tree

tests_modern_layer = Exercise(
    reference.tests_modern_layer, outputs={"verdict": ""}, section="A test for a layer", tests=modern_layer
)
wrong = short_mistakes(tests_modern_layer)

tried = partial(functions_to_test, exercise=modern_layer)
right = reference.modern_layer

# Each function is one object, so that the outcomes of our tests are cached for all submissions.
no_batch = raising(right, lambda n_axes: n_axes > 2)
no_second_batch_axis = raising(right, lambda n_axes: n_axes > 3)
no_single_text = raising(right, lambda n_axes: n_axes == 2)
always_double = changed(right, in_double)
first_text_only = changed(right, lambda output: output if output.ndim < 3 else output * _first_ones(output))


# ---------------------------------------------------------------------------------------- further wrong functions


def _first_ones(array):
    return np.concatenate([np.ones_like(array[:1]), np.zeros_like(array[1:])])


def _gated(gate_of):
    def gated(x, params):
        gate, up = x @ params["w_gate"], x @ params["w_up"]
        return (gate_of(gate) * up) @ params["w_down"], (x, gate, up, params)

    return slip(right, swiglu=gated)


def _first_pair_shown(length):
    mask = np.tri(length, dtype=bool)
    mask[:1, 1:2] = True
    return mask


plain_gate = _gated(lambda gate: gate)
sigmoid_gate = _gated(reference.sigmoid)
first_sees_second = slip(right, causal_mask=_first_pair_shown)


def rows_in_cache(x, params, n_heads):
    output, (norm, attention, *rest) = reference.modern_layer(x, params, n_heads)
    return output, (norm, (x.copy(), *attention[1:]), *rest)


def norms_exchanged_in_cache(x, params, n_heads):
    output, (first, attention, second, feed_forward) = reference.modern_layer(x, params, n_heads)
    return output, (second, attention, first, feed_forward)


def writes_into_x(x, params, n_heads):
    output, cache = reference.modern_layer(x.copy(), params, n_heads)
    x += 1
    return output, cache


def writes_into_gains(x, params, n_heads):
    output, cache = reference.modern_layer(x, map_tree(np.copy, params), n_heads)
    params["norm_attention"] *= params["norm_attention"].dtype.type(0.5)
    return output, cache


# A test that always gives the same answer fails every aspect, because each aspect has right and wrong functions.
@tests_modern_layer.cases("wrong in the attention", points=2)
def _(draw):
    yield from tried(
        draw,
        right=[REFERENCE, "turned_after_copying", "by_complex_numbers"],
        wrong=[
            *("turned_values", "no_turn", "queries_alone", "turned_whole", "turned_halves", "shifted_queries"),
            *("interleaved", "undivided", "divided_by_width", "merged_unswapped"),
        ],
        at_home=["halves", "heads in turns", "scores not divided", "keys for values"],
        right_at_home=["rounding"],
    )


@tests_modern_layer.cases("wrong sums, norms and gates", points=1)
def _(draw):
    yield from tried(
        draw,
        right=[REFERENCE, "group_by_group", "by_complex_numbers"],
        wrong=[
            *("added_to_normed", "thought_added_to_normed", "no_first_sum", "no_second_sum", "second_sum_with_x"),
            *("first_norm_forgotten", "second_norm_forgotten", "gains_exchanged", "one_gain", "post_norm"),
            "no_output_matrix",
            ("has a gate without its sigmoid", plain_gate),
            ("has a sigmoid as its gate", sigmoid_gate),
        ],
        at_home=["x not added", "gains exchanged", "gate for up", "no output matrix", "zeros"],
        right_at_home=["rounding"],
    )


@tests_modern_layer.cases("tokens that see what they must not see", points=1)
def _(draw):
    yield from tried(
        draw,
        right=[REFERENCE, "group_by_group", "by_complex_numbers"],
        wrong=[
            *("sees_next", "no_mask"),
            ("lets the first token see the second one", first_sees_second),
        ],
        at_home=["next signs"],
        right_at_home=["rounding"],
    )


@tests_modern_layer.cases("a cache that does not fit", points=1)
def _(draw):
    yield from tried(
        draw,
        right=[REFERENCE, "group_by_group", "by_complex_numbers"],
        wrong=[
            *("copies_in_cache", "cache_before_turn"),
            ("keeps x in its cache instead of the normalised rows", rows_in_cache),
            ("exchanges the caches of the two norms", norms_exchanged_in_cache),
        ],
        at_home=["cache of copies", "cache of rows", "cache of weights"],
        right_at_home=["rounding"],
    )


@tests_modern_layer.cases("right numbers, and yet wrong", points=1)
def _(draw):
    yield from tried(
        draw,
        right=[REFERENCE, "turned_after_copying", "by_complex_numbers"],
        wrong=[
            ("raises an exception for a batch", no_batch),
            ("raises an exception for two batch axes", no_second_batch_axis),
            ("raises an exception for a single text", no_single_text),
            ("computes the first text of a batch only", first_text_only),
            ("returns float64 for float32", always_double),
            ("writes into x", writes_into_x),
            ("writes into the gains", writes_into_gains),
        ],
        at_home=["batches", "two batch axes", "single sentences", "first item", "double", "writes", "writes gains"],
        right_at_home=["rounding"],
    )


# batch axes, heads, groups
SIZES = ((), 4, 2), ((3,), 6, 3), ((2, 3), 4, 2)


def layer_of(rng, n_heads, n_groups, d_key=4, gain=None):
    """Draw a layer as `random_layer` does, with another width of a head or with gains of one."""
    d_model, width, d_ff = d_key * n_heads, d_key * n_groups, d_key * n_heads + 1
    columns = {"w_query": d_model, "w_key": width, "w_value": width, "w_output": d_model}
    feed_forward = {"w_gate": (d_model, d_ff), "w_up": (d_model, d_ff), "w_down": (d_ff, d_model)}
    shapes = {"attention": {name: (d_model, n) for name, n in columns.items()}, "feed_forward": feed_forward}
    params = map_tree(lambda shape: rng.normal(size=shape) / shape[-1] ** 0.25, shapes)
    gains = (rng.normal(size=d_model) if gain is None else np.full(d_model, gain) for _ in range(2))
    return params | dict(zip(("norm_attention", "norm_feed_forward"), gains, strict=True))


def all_rows(output):
    return output


def same_gradients(function, x, params, n_heads):
    """Whether the cache gives the gradients of the right layer."""
    cotangent = np.random.default_rng(1).normal(size=x.shape)
    own, exact = (
        flatten(list(reference.modern_layer_backward(cotangent, layer(*map_tree(np.copy, [x, params]), n_heads)[1])))
        for layer in (function, right)
    )
    return own.shape == exact.shape and np.allclose(own, exact)


def no_gradients(function, x, params, n_heads):
    return True


def keeps_x(function):
    params = layer_of(np.random.default_rng(2), 2, 1)
    x = np.random.default_rng(3).normal(size=(3, 8))
    before = x.copy()
    function(x, params, 2)
    return np.array_equal(x, before)


def keeps_params(function):
    params = layer_of(np.random.default_rng(2), 2, 1)
    before = flatten(params)
    function(np.ones((3, 8)), params, 2)
    return np.array_equal(flatten(params), before)


def keeps_float32(function):
    params = map_tree(lambda array: array.astype(np.float32), layer_of(np.random.default_rng(2), 2, 1))
    return function(np.ones((3, 8), np.float32), params, 2)[0].dtype == np.float32


MANNERS = (keeps_x, keeps_params, keeps_float32)


def tested(
    function, *, sizes=SIZES, length=5, layers=layer_of, rows=all_rows, truth=right, agree=np.allclose,
    gradients=same_gradients, manners=MANNERS,
):  # fmt: skip
    """Run the test with these choices."""
    rng = np.random.default_rng(0)
    for batch, n_heads, n_groups in sizes:
        params = layers(rng, n_heads, n_groups)
        x = rng.normal(size=(*batch, length, len(params["norm_attention"])))
        output, _ = function(x.copy(), map_tree(np.copy, params), n_heads)
        if output.shape != x.shape or not agree(rows(output), rows(truth(x, params, n_heads)[0])):
            return False
        if not gradients(function, x, params, n_heads):
            return False
    return all(bool(holds(function)) for holds in manners)


def shape_only(function):
    return function(np.ones((3, 8)), layer_of(np.random.default_rng(0), 2, 1), 2)[0].shape == (3, 8)


def dtype_unwatched(function):
    return tested(function, manners=MANNERS[:2])


usual_wrong_tests(
    tests_modern_layer,
    accepts="Call the function with a layer that you draw, and compare what it returns with what you write out for one "
    "token and one head at a time.",
    rejects="Allow for rounding, as `np.allclose` does. If you already do, check what you compare with: your own "
    "`modern_layer` must pass your test.",
    shape_only=shape_only,
    dtype_unwatched=dtype_unwatched,
    result="output",
)

wrong("bit_by_bit", tested, agree=np.array_equal)("""
    expects the numbers of one formula, bit for bit
    Your test rejects right functions that compute in a different order from yours. Compare with `np.allclose`, not with
    `==` or `np.array_equal`.""")
wrong("expects_halves", tested, truth=turned_halves, gradients=no_gradients)("""
    expects that column i turns with column i + d/2
    Your test rejects right functions, because it turns column i with the column half a head further. This book turns
    columns 2i and 2i + 1 together. -> The layer""")
wrong("expects_taking_turns", tested, truth=interleaved, gradients=no_gradients)("""
    expects that the heads of a group take turns
    Your test rejects right functions, because it lets head h read group h modulo n_groups. Neighbouring heads share a
    group: head h reads group h // (n_heads // n_groups).""")
wrong("one_token", tested, length=1)("""
    tries texts of one token
    Your test accepts functions that turn wrongly or see later tokens. A single token stands at position 0, where
    nothing turns, and attends to itself. Try several tokens.""")
wrong("single_pair", tested, layers=partial(layer_of, d_key=2))("""
    gives each head two features
    Your test accepts a function that turns column i with column i + d/2. With two features there is only one pair. Give
    each head four.""")
wrong("own_group", tested, sizes=[(batch, n_heads, n_heads) for batch, n_heads, _ in SIZES])("""
    gives each head its own keys
    Your test accepts functions that copy keys and values wrongly. If there are as many groups as heads, nothing is
    copied. Try two groups of two heads.""")
wrong("one_group", tested, sizes=[(batch, n_heads, 1) for batch, n_heads, _ in SIZES])("""
    tries a single group
    Your test accepts a function in which the heads of a group take turns. If all heads share one group, the order of
    the copies does not matter. Try two groups of two heads.""")
wrong("gains_of_one", tested, layers=partial(layer_of, gain=1.0))("""
    tries gains of one
    Your test accepts functions that use the wrong gain. Fresh gains are all ones, which hides it. Draw both gains at
    random.""")
wrong("last_row", tested, rows=lambda output: output[..., -1, :], gradients=no_gradients)("""
    looks at the last token alone
    Your test accepts functions whose tokens see later ones. The last token may see all others, so its row is right
    without a mask. Compare the rows of all tokens, and the gradients.""")
wrong("first_row", tested, rows=lambda output: output[..., 0, :], gradients=no_gradients)("""
    looks at the first token alone
    Your test accepts functions that turn wrongly. The first token attends to itself alone, and at position 0 nothing
    turns. Compare the rows of all tokens, and the gradients.""")
wrong("cache_unwatched", tested, gradients=no_gradients)("""
    does not look at the cache
    Your test accepts functions with a right output and a useless cache. Hand the cache to `modern_layer_backward`, and
    compare the gradients with slopes that you measure.""")
wrong("too_loose", tested, agree=partial(np.allclose, atol=1e3), gradients=no_gradients)("""
    forgives large errors
    The tolerance of your test is larger than the outputs. Two right ways to compute a layer agree to 1e-12 in
    float64.""")
wrong("no_batches", tested, sizes=[((), n_heads, n_groups) for _, n_heads, n_groups in SIZES])("""
    tries no batch
    Your test accepts functions that are right for a single text, and wrong or broken for a batch. Try one batch axis,
    and two.""")


@tests_modern_layer.mistake("tries batches only")
def batches_alone(function):
    """Your test accepts a function that raises an exception for a single text. The docstring of `modern_layer` promises
    any number of leading axes. Try none, too."""

    def in_a_batch(manner):
        return lambda function: manner(lambda x, params, n_heads: (function(x[None], params, n_heads)[0][0], None))

    return tested(function, sizes=SIZES[1:], manners=[in_a_batch(manner) for manner in MANNERS])


@tests_modern_layer.mistake("compares slopes and nothing else")
def slopes_alone(function):
    """Your test accepts functions whose tokens see later ones. Their gradients are right: the backward pass takes the
    weights from the cache, so it knows nothing of the mask. Also change a later token, and compare the earlier rows."""
    rng = np.random.default_rng(4)
    for batch, n_heads, n_groups in SIZES:
        params, direction = (layer_of(rng, n_heads, n_groups) for _ in range(2))
        x, x_direction, cotangent = rng.normal(size=(3, *batch, 5, 4 * n_heads))
        if not has_slope(function, cotangent, [x, params], [x_direction, direction], n_heads):
            return False
    return all(bool(holds(function)) for holds in MANNERS)


def has_slope(function, cotangent, start, direction, n_heads):
    """Whether the gradients that the cache gives are the slope that we measure."""
    gradients = reference.modern_layer_backward(cotangent, function(*start, n_heads)[1])
    ends = [
        (cotangent * function(*map_tree(lambda array, by, h=h: array + h * by, start, direction), n_heads)[0]).sum()
        for h in (1e-5, -1e-5)
    ]
    return np.isclose(flatten(list(gradients)) @ flatten(direction), (ends[0] - ends[1]) / 2e-5, rtol=1e-5)


def sees_the_past_alone(function, batch=()):
    rng = np.random.default_rng(5)
    params, x = layer_of(rng, 4, 2), rng.normal(size=(*batch, 5, 16))
    rows, _ = function(x, params, 4)
    for t in range(1, 5):
        later = x.copy()
        later[..., t:, :] += 1
        if not np.allclose(function(later, params, 4)[0][..., :t, :], rows[..., :t, :]):
            return False
    return True


@tests_modern_layer.mistake("changes later tokens and nothing else")
def later_tokens_alone(function):
    """Your test finds a token that sees later ones, and accepts every other mistake. Compare the outputs with what you
    write out yourself, and the gradients with slopes."""
    return all(sees_the_past_alone(function, batch) for batch in ((), (2,), (2, 3))) and all(
        bool(holds(function)) for holds in MANNERS
    )


@tests_modern_layer.mistake("takes an exception for a right answer")
def swallows_exceptions(function):
    """Your test accepts functions that raise an exception, or whose cache makes `modern_layer_backward` raise one. Do
    not catch it: an exception rejects the function without any `try`."""
    try:
        return tested(function)
    except Exception:
        return True


wrong("x_unwatched", tested, manners=MANNERS[1:])("""
    does not look whether x changes
    Your test accepts a function that writes into x. Keep a copy, and compare afterwards.""")
wrong("params_unwatched", tested, manners=(keeps_x, keeps_float32))("""
    does not look whether params change
    Your test accepts a function that writes into the parameters, which would train them in secret. Keep a copy of all,
    for example with `flatten`, and compare afterwards.""")
wrong("manners_unwatched", tested, manners=())("""
    looks at the numbers alone
    Your test finds all wrong numbers. It accepts functions that write into their arguments, or that return float64 for
    float32. Look at the arguments after the call, and at the dtype of the output.""")


@tests_modern_layer.equivalent
def by_the_cache(function):
    """Compare each array that the cache must hold, and the output with sums over all heads at once."""
    rng = np.random.default_rng(6)
    for batch, n_heads, n_groups in (((), 4, 2), ((2,), 4, 2), ((1, 2), 6, 2)):
        params, x = reference.random_layer(rng, n_heads, n_groups), rng.normal(size=(*batch, 4, 4 * n_heads))
        kept = flatten([x, params])
        output, cache = function(x=x, params=params, n_heads=n_heads)
        assert np.array_equal(flatten([x, params]), kept)
        expected, expected_cache = turned_after_copying(x, params, n_heads)
        np.testing.assert_allclose(output, expected, atol=1e-8)
        for own, exact in zip(arrays(cache), arrays(expected_cache), strict=True):
            np.testing.assert_allclose(own, exact, atol=1e-8)
    half = map_tree(lambda array: array.astype(np.float32), [x, params])
    assert function(*half, n_heads)[0].dtype == np.float32


def arrays(cache):
    """The arrays of nested tuples and dicts, in a fixed order."""
    if isinstance(cache, dict):
        cache = [cache[name] for name in sorted(cache)]
    return [cache] if isinstance(cache, np.ndarray) else [array for part in cache for array in arrays(part)]


@tests_modern_layer.equivalent
def by_slopes_and_later_tokens(function):
    """Trust the backward pass: only a layer that fits it has its slopes. Add what it cannot see."""
    if not slopes_alone(function) or not all(sees_the_past_alone(function, batch) for batch in ((), (2,), (2, 3))):
        return False
    params = reference.random_layer(np.random.default_rng(7), 2, 2)
    x = np.random.default_rng(8).normal(size=(1, 8))
    return np.allclose(function(x, params, 2)[0], right(x, params, 2)[0])


@tests_modern_layer.equivalent
def entry_by_entry_gradients(function):
    """Measure the slope of each gain and each entry of x, and write out the output with the rewrite by groups."""
    rng = np.random.default_rng(9)
    for batch, n_heads, n_groups in (((), 4, 2), ((2,), 2, 1), ((1, 2), 2, 2)):
        params, x = reference.random_layer(rng, n_heads, n_groups), rng.normal(size=(*batch, 3, 4 * n_heads))
        copies, cotangent = map_tree(np.copy, [x, params]), rng.normal(size=x.shape)
        output, cache = function(x, params, n_heads)
        if not np.allclose(output, group_by_group(*copies, n_heads)[0]):
            return False
        if not np.array_equal(flatten(copies), flatten([x, params])):
            return np.bool_(False)
        grad_x, grads = reference.modern_layer_backward(cotangent, cache)
        exact_x, exact = reference.modern_layer_backward(cotangent, right(x, params, n_heads)[1])
        if not np.allclose(grad_x, exact_x) or not np.allclose(flatten(grads), flatten(exact)):
            return False
    return bool(keeps_float32(function))
