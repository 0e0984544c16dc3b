"""Initialise, traverse and store parameters, which are a plain nested dict.

Given code, not an exercise: chapters 8 and 9 use this module. A tree is an array, a list of trees or a dict of
trees. Parameters, their gradients and Adam's moments are trees with the same names, and `map_tree` goes through
several of them at once. A tree can be stored as one vector (`flatten`, `unflatten`) or as one file (`save`, `load`).
The functions traverse dicts in alphabetical order, so two trees with the same names always match.
"""

import math

import numpy as np


def initialise(rng, vocabularies, d_model, d_ff, n_encoder, n_decoder, dtype=np.float64):
    """Draw the parameters of a whole model.

    Args:
        rng: np.random.Generator
        vocabularies: dict of table name -> number of tokens: {"shared": vocab} ties source, target and output
            three ways; {"source": ..., "target": ..., "output": ...} ties nothing. A role without a table
            of its own uses the shared one.
        d_model, d_ff: width of the model, and of the feed-forward layer.
        n_encoder, n_decoder: number of layers.
        dtype: np.float64 or np.float32.

    Returns:
        params: {"embeddings": {...}, "encoder": [layer, ...], "decoder": [layer, ...]}. Matrices are Xavier
            uniform, biases 0, gains 1, embeddings N(0, 1 / d_model), so that a scaled embedding has entries of
            size 1, and the first loss is near log(vocab).
    """

    def matrix(n_in, n_out):
        bound = math.sqrt(6 / (n_in + n_out))
        return rng.uniform(-bound, bound, (n_in, n_out)).astype(dtype)

    def multi_head():
        names = ("query", "key", "value", "output")
        weights = {f"w_{name}": matrix(d_model, d_model) for name in names}
        return weights | {f"b_{name}": np.zeros(d_model, dtype) for name in names}

    def feed_forward():
        return {
            "w_in": matrix(d_model, d_ff),
            "b_in": np.zeros(d_ff, dtype),
            "w_out": matrix(d_ff, d_model),
            "b_out": np.zeros(d_model, dtype),
        }

    def norm():
        return {"gain": np.ones(d_model, dtype), "bias": np.zeros(d_model, dtype)}

    def encoder_layer():
        return {
            "attention": multi_head(),
            "norm_attention": norm(),
            "feed_forward": feed_forward(),
            "norm_feed_forward": norm(),
        }

    def decoder_layer():
        return {
            "attention": multi_head(),
            "norm_attention": norm(),
            "cross_attention": multi_head(),
            "norm_cross_attention": norm(),
            "feed_forward": feed_forward(),
            "norm_feed_forward": norm(),
        }

    tables = {
        name: (rng.normal(size=(vocab, d_model)) / math.sqrt(d_model)).astype(dtype)
        for name, vocab in vocabularies.items()
    }
    return {
        "embeddings": tables,
        "encoder": [encoder_layer() for _ in range(n_encoder)],
        "decoder": [decoder_layer() for _ in range(n_decoder)],
    }


def map_tree(f, tree, *others):
    """The same tree with f(array) instead of each array; with more trees, f(array, the others' arrays of that name).

    Args:
        f: function of one array per tree; what it returns becomes a leaf.
        tree: the tree whose names are followed.
        others: trees with the same names.
    """
    if isinstance(tree, dict):
        return {name: map_tree(f, tree[name], *(other[name] for other in others)) for name in sorted(tree)}
    if isinstance(tree, list):
        return [map_tree(f, *branches) for branches in zip(tree, *others, strict=True)]
    return f(tree, *others)


def named(tree):
    """All arrays of a tree by their path: {"decoder.0.norm_attention.gain": array, ...}."""
    if isinstance(tree, np.ndarray):
        return {"": tree}
    branches = sorted(tree.items()) if isinstance(tree, dict) else enumerate(tree)
    return {f"{name}.{path}".rstrip("."): array for name, branch in branches for path, array in named(branch).items()}


def leaves(tree):
    """All arrays of a tree, as a list."""
    if isinstance(tree, np.ndarray):
        return [tree]
    if not isinstance(tree, list | dict):
        raise TypeError(f"a tree is an array, or a list or a dict of trees, and this is a {type(tree).__name__}")
    branches = tree if isinstance(tree, list) else [tree[name] for name in sorted(tree)]
    return [leaf for branch in branches for leaf in leaves(branch)]


def flatten(tree):
    """All parameters as one vector, (n_parameters,)."""
    return np.concatenate(leaves(tree), axis=None)


def unflatten(vector, like):
    """The inverse of `flatten`: a tree like `like`, whose arrays are views of the vector."""
    end = 0

    def take(array):
        nonlocal end
        end += array.size
        return vector[end - array.size : end].reshape(array.shape)

    return map_tree(take, like)


def count(tree):
    """Number of parameters in a tree."""
    return sum(leaf.size for leaf in leaves(tree))


def save(path, params):
    """Write a tree to a plain .npz file, one array per path, without pickle."""
    np.savez_compressed(path, **named(params))


def load(path):
    """Read a tree that `save` wrote."""
    with np.load(path, allow_pickle=False) as file:
        tree = {}
        for name in file.files:
            *branches, leaf = name.split(".")
            branch = tree
            for step in branches:
                branch = branch.setdefault(step, {})
            branch[leaf] = file[name]
    return _with_lists(tree)


def _with_lists(tree):
    """Dicts whose names are 0, 1, 2, ... were lists."""
    if isinstance(tree, np.ndarray):
        return tree
    if tree and all(name.isdigit() for name in tree):
        return [_with_lists(tree[str(i)]) for i in range(len(tree))]
    return {name: _with_lists(branch) for name, branch in tree.items()}
