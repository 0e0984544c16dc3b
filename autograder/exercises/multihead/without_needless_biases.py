import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.multihead.shared import PROJECTIONS, layer
from solutions import multihead as reference

without_needless_biases = Exercise(
    reference.without_needless_biases, outputs={"equivalent": ""}, section="A bias that another one can carry"
)
wrong = short_mistakes(without_needless_biases)


@without_needless_biases.cases("the idea", points=2)
def _(draw):
    yield "all widths alike", {"params": layer(draw, square=6, n_heads=2)["params"]}
    yield "one head", {"params": layer(draw, n_heads=1)["params"]}
    yield "widths that all differ", {"params": layer(draw)["params"]}


@without_needless_biases.cases("float32, and biases of zero", points=1)
def _(draw):
    yield "float32", {"params": layer(draw, dtype=np.float32)["params"]}
    params = layer(draw)["params"]
    yield "a value bias of zero", {"params": params | {"b_value": np.zeros_like(params["b_value"])}}


def changed(params, **biases):
    """Return the right parameters with some biases replaced by functions of the given ones."""
    return reference.without_needless_biases(params) | {name: bias(params) for name, bias in biases.items()}


wrong("value_bias_dropped", changed, b_output=lambda p: p["b_output"])("""
    drops the value bias
    b_value is zero, and nothing takes its place. Unlike the key bias, the value bias changes the output. A query's
    weights add up to one, so every query gets b_value @ w_output, and b_output can carry this constant.""")
wrong("value_bias_twice", changed, b_value=lambda p: p["b_value"])("""
    folds the value bias and keeps it
    b_output carries the value bias now, and b_value is still there, so the layer adds it twice. Set b_value to
    zeros.""")
wrong("key_bias_kept", changed, b_key=lambda p: p["b_key"])("""
    keeps the key bias
    b_key is still there. It adds one number to a whole row of scores, and softmax ignores such a shift, so zeros give
    the same output.""")
wrong("key_bias_to_queries", changed, b_query=lambda p: p["b_query"] + p["b_key"])("""
    moves the key bias to the queries
    You add b_key to b_query. A query bias adds b · k_j to the scores, which depends on the key, so this changes the
    weights. The key bias needs no replacement.""")
wrong("query_bias_dropped", changed, b_query=lambda p: np.zeros_like(p["b_query"]))("""
    sets the query bias to zero as well
    b_query does have an effect: it adds b · k_j to the score of key j, which differs from key to key. Leave it as it
    is.""")
wrong("output_bias_replaced", changed, b_output=lambda p: p["b_value"] @ p["w_output"])("""
    replaces the output bias
    You lose the old b_output. The layer added it after w_output, so add b_value @ w_output to it.""")
wrong("subtracted", changed, b_output=lambda p: p["b_output"] - p["b_value"] @ p["w_output"])("""
    subtracts what it folds
    You subtract b_value @ w_output from b_output. Without a value bias the layer lacks exactly this term, so add
    it.""")


@without_needless_biases.mistake("removes the biases")
def removed(params):
    """b_key and b_value are not in your dictionary. `multi_head_attention` reads all eight parameters: put arrays of
    zeros there."""
    right = reference.without_needless_biases(params)
    return {name: right[name] for name in right if name not in ("b_key", "b_value")}


@without_needless_biases.mistake("writes into params")
def in_place(params):
    """The caller's params have changed, so the two layers can no longer be compared. Make a new dictionary, and new
    arrays for the three biases."""
    right = reference.without_needless_biases(params)
    for name in ("b_key", "b_value", "b_output"):
        params[name] += 1 + right[name]
    return right


@without_needless_biases.equivalent
def of_an_input_of_zeros(params):
    """Compute the layer for an input of zeros: it returns what it adds to every output."""
    dtype = params["b_value"].dtype
    nothing = {name: np.zeros((1, len(params[f"w_{name}"])), dtype) for name in PROJECTIONS}
    output, _ = reference.multi_head_attention(**nothing, params=params, n_heads=1)
    zeros = {name: np.zeros_like(params[name]) for name in ("b_key", "b_value")}
    return params | zeros | {"b_output": output[0]}


@without_needless_biases.equivalent
def copied_and_changed(params):
    equivalent = {name: array.copy() for name, array in params.items()}
    equivalent["b_output"] += np.einsum("i,ij->j", params["b_value"], params["w_output"])
    equivalent["b_key"][:] = 0
    equivalent["b_value"] *= 0
    return equivalent


@without_needless_biases.equivalent
def feature_by_feature(params):
    carried = sum(bias * row for bias, row in zip(params["b_value"], params["w_output"], strict=True))
    idle = ("b_key", "b_value")
    return {name: np.zeros_like(array) if name in idle else array for name, array in params.items()} | {
        "b_output": params["b_output"] + carried
    }
