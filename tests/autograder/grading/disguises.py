"""Other weights with the same function: what a student can do to copied weights so that the numbers look different.

Neurons are exchanged and scaled, the columns of heads rotated, and columns of the stream exchanged. In chapter 12
columns may also change their sign. In chapter 10 only those columns are exchanged whose positional encoding hardly
changes over a word.
"""

import numpy as np

from solutions.letters_to_sounds import N_HEADS
from solutions.parameters import flatten, map_tree, unflatten

READS = ("w_in", "w_query", "w_key", "w_value", "w_gate", "w_up")  # matrices whose rows belong to columns of the stream


def disguised(weights, like):
    """Return the weights, float16, of a model with the same function. like: parameters of the chapter's model."""
    rng = np.random.default_rng(1)
    params = map_tree(lambda array: array.astype(np.float64), unflatten(weights, like))
    modern = "layers" in params
    d_model = params["table"].shape[-1] if modern else params["embeddings"]["shared"].shape[-1]
    for layer in params["layers"] if modern else (*params["encoder"], *params["decoder"]):
        exchange_neurons(layer["feed_forward"], rng)
        for name in ("attention", "self_attention", "cross_attention"):
            if name in layer:
                rotate_heads(layer[name], rng, modern)
    order, signs = np.arange(d_model), np.ones(d_model)
    if modern:
        order, signs = rng.permutation(d_model), rng.choice([-1.0, 1.0], d_model)
    else:
        for first in (36, 37):
            order[first::2] = rng.permutation(order[first::2])
    return flatten(exchange_columns(params, order, signs)).astype(np.float16)


def exchange_neurons(layer, rng):
    """Exchange two fifths of the neurons with each other, and scale all."""
    narrow = "w_down" if "w_down" in layer else "w_out"
    n = len(layer[narrow])
    order, some = np.arange(n), rng.permutation(n)[: 2 * n // 5]
    order[some] = np.roll(some, 1)
    scales = np.exp(rng.normal(size=n) / 2)
    for name in {"w_in", "b_in", "w_gate", "w_up"} & layer.keys():
        layer[name] = layer[name][..., order] * (1 if name == "w_gate" else scales)
    layer[narrow] = layer[narrow][order] / scales[:, None]


def rotate_heads(layer, rng, turned):
    """Rotate queries with their keys, and values with what reads them. turned: whether positions turn the pairs."""
    d_key = layer["w_query"].shape[1] // N_HEADS
    n_groups = layer["w_key"].shape[1] // d_key
    for names in (("query", "key"), ("value", "output")):
        pairs = turned and "key" in names
        rotations = [turns(rng, d_key) if pairs else rotation(rng, d_key) for _ in range(n_groups)]
        for name in names:
            for kind in {f"w_{name}", f"b_{name}"} & layer.keys() - {"b_output"}:
                array = layer[kind].T if name == "output" else layer[kind]
                heads = np.split(array, array.shape[-1] // d_key, axis=-1)
                rotated = [head @ rotations[i * n_groups // len(heads)] for i, head in enumerate(heads)]
                layer[kind] = np.concatenate(rotated, axis=-1)
                layer[kind] = layer[kind].T if name == "output" else layer[kind]


def rotation(rng, n):
    return np.linalg.qr(rng.normal(size=(n, n)))[0]


def turns(rng, n):
    """Return a rotation of each pair of columns, which the rotation by positions does not undo."""
    matrix = np.zeros((n, n))
    for i in range(0, n, 2):
        angle = rng.uniform(0, 2 * np.pi)
        matrix[i : i + 2, i : i + 2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    return matrix


def exchange_columns(tree, order, signs, name=""):
    """Return the parameters with the columns of the stream in another order."""
    if isinstance(tree, dict):
        return {key: exchange_columns(branch, order, signs, key) for key, branch in tree.items()}
    if isinstance(tree, list):
        return [exchange_columns(branch, order, signs, name) for branch in tree]
    if name in READS:
        return tree[order] * signs[:, None]
    if tree.shape[-1] != len(order) or name in ("b_query", "b_key", "b_value"):
        return tree
    is_gain = name.startswith(("gain", "norm"))
    return tree[..., order] * (1 if is_gain else signs)
