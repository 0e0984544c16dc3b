"""without_needless_biases: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.exercises.multihead.shared import PROJECTIONS, layer
from solutions import multihead as reference

without_needless_biases = Exercise(
    reference.without_needless_biases,
    outputs={"equivalent": ""},
    section="A bias that another one can carry",
)


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
    """Return the right parameters with some biases replaced."""
    return reference.without_needless_biases(params) | biases


@without_needless_biases.mistake("drops the value bias")
def value_bias_dropped(params):
    """b_value is zero, and nothing takes its place. Unlike the key bias, it changes the output: every query gets
    b_value, whatever its weights are, because they add up to one. So b_output can carry it."""
    return changed(params, b_output=params["b_output"])


@without_needless_biases.mistake("folds the value bias and keeps it")
def value_bias_twice(params):
    """b_output carries the value bias now, and b_value is still there, so the layer adds it twice. Set b_value to
    zeros."""
    return changed(params, b_value=params["b_value"])


@without_needless_biases.mistake("keeps the key bias")
def key_bias_kept(params):
    """b_key is still there. It adds one number to a whole row of scores, and softmax ignores such a shift, so zeros
    give the same output."""
    return changed(params, b_key=params["b_key"])


@without_needless_biases.mistake("moves the key bias to the queries")
def key_bias_to_queries(params):
    """You add b_key to b_query. A query bias adds b · k_j to the scores, which depends on the key, so this changes the
    weights. The key bias needs no replacement."""
    return changed(params, b_query=params["b_query"] + params["b_key"])


@without_needless_biases.mistake("sets the query bias to zero as well")
def query_bias_dropped(params):
    """b_query does have an effect: it adds b · k_j to the score of key j, which differs from key to key. Leave it as it
    is."""
    return changed(params, b_query=np.zeros_like(params["b_query"]))


@without_needless_biases.mistake("replaces the output bias")
def output_bias_replaced(params):
    """The old b_output is lost. The layer added it after w_output, so add b_value @ w_output to it."""
    return changed(params, b_output=params["b_value"] @ params["w_output"])


@without_needless_biases.mistake("subtracts what it folds")
def subtracted(params):
    """You subtract b_value @ w_output from b_output. Without a value bias the layer lacks exactly this term, so add
    it."""
    return changed(params, b_output=params["b_output"] - params["b_value"] @ params["w_output"])


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
    """Without an input, the layer returns what it adds to every output."""
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
