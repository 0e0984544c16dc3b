"""Right ways to write the forward passes, as public code writes them."""

import math

import numpy as np

from solutions.attention import attention_weights, softmax
from solutions.dropout import dropout
from solutions.multihead import multi_head_attention
from solutions.position import embed, sinusoidal_encoding
from solutions.residual import feed_forward, layer_norm
from tests.explanations.registry import right

NANO_GPT = "https://github.com/karpathy/nanoGPT/blob/master/model.py"
ANNOTATED = "https://github.com/harvardnlp/annotated-transformer/blob/master/the_annotated_transformer.py"
SCIPY = "https://github.com/scipy/scipy/blob/main/scipy/special/_logsumexp.py"
NUMPY_ML = "https://github.com/ddbourgin/numpy-ml"
FLAX = "https://github.com/google/flax/blob/main/flax/linen/attention.py"
X_TRANSFORMERS = "https://github.com/lucidrains/x-transformers"
FAIRSEQ = "https://github.com/facebookresearch/fairseq/blob/main/fairseq/modules/sinusoidal_positional_embedding.py"
TENSOR2TENSOR = "https://github.com/tensorflow/tensor2tensor/blob/master/tensor2tensor/layers/common_attention.py"
JADORE = "https://github.com/jadore801120/attention-is-all-you-need-pytorch/blob/master/transformer/Modules.py"


def log_sum_exp(scores):
    top = np.max(scores, axis=-1, keepdims=True)
    return top + np.log(np.sum(np.exp(scores - top), axis=-1, keepdims=True))


def same_width(queries, keys):
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError(f"{queries.shape[-1]} features and {keys.shape[-1]}")


@right("softmax", SCIPY)
def by_log_sum_exp(scores):
    """The exponential of the scores less their log-sum-exp."""
    return np.exp(scores - log_sum_exp(scores))


@right("softmax", NUMPY_ML)
def row_by_row(scores):
    """A loop over all rows."""
    weights = np.empty_like(scores)
    for index in np.ndindex(scores.shape[:-1]):
        powers = np.exp(scores[index] - max(scores[index]))
        weights[index] = powers / powers.sum()
    return weights


@right("softmax", "https://stackoverflow.com/questions/34968722/how-to-implement-the-softmax-function-in-python")
def turned_and_back(scores):
    """Softmax down the columns of the transposed array."""
    columns = np.moveaxis(scores, -1, 0)
    powers = np.exp(columns - columns.max(axis=0))
    return np.moveaxis(powers / powers.sum(axis=0), 0, -1)


@right("softmax", "https://github.com/google/jax/blob/main/jax/_src/nn/functions.py")
def by_ufuncs(scores):
    """Reductions of ufuncs, on a copy that changes in place."""
    weights = np.array(scores)
    np.subtract(weights, np.maximum.reduce(weights, axis=-1, keepdims=True), out=weights)
    np.exp(weights, out=weights)
    weights /= np.add.reduce(weights, axis=-1, keepdims=True)
    return weights


@right("attention_weights", FLAX)
def scaled_queries_and_einsum(queries, keys):
    """Divides the queries by the root, and multiplies by einsum."""
    same_width(queries, keys)
    scores = np.einsum("...qd,...kd->...qk", queries / math.sqrt(queries.shape[-1]), keys)
    return softmax(scores)


@right("attention_weights", "https://github.com/openai/improved-diffusion/issues/54")
def fourth_roots(queries, keys):
    """Divides queries and keys by the fourth root each."""
    same_width(queries, keys)
    root = keys.shape[-1] ** 0.25
    return softmax((queries / root) @ (keys / root).swapaxes(-2, -1))


@right("attention", JADORE)
def keys_moved(queries, keys, values):
    """Transposes the keys with moveaxis, and multiplies by 1 / sqrt(d)."""
    same_width(queries, keys)
    weights = softmax(np.matmul(queries, np.moveaxis(keys, -1, -2)) * keys.shape[-1] ** -0.5)
    return np.matmul(weights, values), (queries, keys, values, weights)


@right("attention", "https://github.com/Dao-AILab/flash-attention")
def key_by_key(queries, keys, values):
    """One key after another, with a running maximum and a running sum."""
    same_width(queries, keys)
    top = np.full((*queries.shape[:-1], 1), -np.inf, queries.dtype)
    total, output = np.zeros_like(top), np.zeros((*queries.shape[:-1], values.shape[-1]), values.dtype)
    for k in range(keys.shape[-2]):
        score = (queries * keys[..., k : k + 1, :]).sum(axis=-1, keepdims=True) / math.sqrt(keys.shape[-1])
        new_top = np.maximum(top, score)
        old, new = np.exp(top - new_top), np.exp(score - new_top)
        total, output, top = total * old + new, output * old + new * values[..., k : k + 1, :], new_top
    return output / total, (queries, keys, values, attention_weights(queries, keys))


@right("causal_mask", NANO_GPT)
def by_tril(length):
    """The lower triangle of ones."""
    return np.tril(np.ones((length, length))) == 1


@right("causal_mask", ANNOTATED)
def not_above_the_diagonal(length):
    """What is not above the diagonal."""
    return np.triu(np.ones((length, length), dtype=np.uint8), k=1) == 0


@right("causal_mask", TENSOR2TENSOR)
def by_comparison(length):
    """Compares positions with each other."""
    positions = np.arange(length)
    return positions[:, None] >= positions


@right("padding_mask", ANNOTATED)
def by_expand_dims(tokens, pad):
    """Compares, then puts an axis before the last one."""
    return np.expand_dims(tokens != pad, axis=-2)


@right("target_mask", ANNOTATED)
def both_by_logical_and(tokens, pad):
    """Joins the masks with logical_and."""
    length = tokens.shape[-1]
    return np.logical_and((tokens != pad)[..., None, :], np.tril(np.ones((length, length), bool)))


@right("masked_softmax", "https://github.com/allenai/allennlp/issues/890")
def masked_before_and_after(scores, mask):
    """Takes the maximum of what is visible, and multiplies the exponentials by the mask."""
    visible = np.where(mask, scores, scores.dtype.type(-np.inf))
    top = np.max(visible, axis=-1, keepdims=True)
    powers = np.where(mask, np.exp(visible - np.where(np.isfinite(top), top, 0)), 0)
    total = powers.sum(axis=-1, keepdims=True)
    return powers / np.where(total == 0, 1, total).astype(scores.dtype)


@right("masked_softmax", "https://github.com/pytorch/pytorch/pull/131863")
def nan_to_zero(scores, mask):
    """Lets empty rows become NaN and sets them to zero."""
    weights = softmax(np.where(mask, scores, scores.dtype.type(-np.inf)))
    return np.nan_to_num(weights, nan=0.0)


@right("split_heads", FLAX)
def by_moveaxis(x, n_heads):
    """Reshapes and moves the heads' axis."""
    if x.shape[-1] % n_heads:
        raise ValueError
    return np.moveaxis(x.reshape(*x.shape[:-1], n_heads, -1), -2, -3)


@right("split_heads", X_TRANSFORMERS)
def by_stacking(x, n_heads):
    """Cuts the features into slices and stacks them."""
    return np.stack(np.split(x, n_heads, axis=-1), axis=-3)


@right("multi_head_attention", FLAX)
def by_einsum(query, key, value, params, n_heads, mask=None):
    """Keeps the heads as an axis of the weights, and contracts with einsum."""
    inputs = {"query": query, "key": key, "value": value}
    weights = {name: params[f"w_{name}"].reshape(x.shape[-1], n_heads, -1) for name, x in inputs.items()}
    q, k, v = (
        np.einsum("...td,dhe->...the", x, weights[name]) + params[f"b_{name}"].reshape(n_heads, -1)
        for name, x in inputs.items()
    )
    scores = np.einsum("...qhe,...khe->...hqk", q, k) / math.sqrt(q.shape[-1])
    if mask is None:
        shares = softmax(scores)
    else:
        mask = np.atleast_2d(mask)[..., None, :, :]
        shares = np.where(mask, np.nan_to_num(softmax(np.where(mask, scores, -np.inf))), 0).astype(scores.dtype)
    output = np.einsum("...hqk,...khe->...qhe", shares, v)
    w_output = params["w_output"].reshape(n_heads, -1, params["w_output"].shape[-1])
    return np.einsum("...qhe,hem->...qm", output, w_output) + params["b_output"], None


@right("multi_head_attention", "https://github.com/rasbt/LLMs-from-scratch")
def head_by_head(query, key, value, params, n_heads, mask=None):
    """One head after another, each with its own slice of the output's weight."""
    output = params["b_output"]
    for h in range(n_heads):
        q, k, v = (
            x @ np.split(params[f"w_{name}"], n_heads, axis=1)[h] + np.split(params[f"b_{name}"], n_heads)[h]
            for name, x in (("query", query), ("key", key), ("value", value))
        )
        scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
        hidden = scores if mask is None else np.where(mask, scores, -np.inf).astype(scores.dtype)
        output = output + np.nan_to_num(softmax(hidden)) @ v @ np.split(params["w_output"], n_heads)[h]
    return output, None


@right("layer_norm", "https://github.com/karpathy/llm.c/blob/master/train_gpt2.c")
def by_var(x, gain, bias, eps=1e-5):
    """NumPy's own variance, and a reciprocal root."""
    rstd = 1 / np.sqrt(x.var(axis=-1, keepdims=True) + eps)
    return (x - x.mean(axis=-1, keepdims=True)) * rstd * gain + bias, None


@right("layer_norm", "https://github.com/camlab-ethz/poseidon/issues/6")
def two_means(x, gain, bias, eps=1e-5):
    """The mean of squares less the square of the mean, of centred rows."""
    x = x - x.mean(axis=-1, keepdims=True)
    variance = (x**2).mean(axis=-1, keepdims=True) - x.mean(axis=-1, keepdims=True) ** 2
    return gain * x / (variance + eps) ** 0.5 + bias, None


@right("encoder_layer", JADORE)
def written_out(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """All sub-layers in one function, without add_norm."""
    update = multi_head_attention(x, x, x, params["attention"], n_heads, mask)[0]
    x = layer_norm(x + dropout(update, rate, rng)[0], **params["norm_attention"])[0]
    update = feed_forward(x, params["feed_forward"])[0]
    return layer_norm(x + dropout(update, rate, rng)[0], **params["norm_feed_forward"])[0], None


@right("sinusoidal_encoding", ANNOTATED)
def by_exp_and_log(length, d_model):
    """Rates as the exponential of a logarithm."""
    encoding = np.zeros((length, d_model))
    rates = np.exp(np.arange(0, d_model, 2) * -(math.log(10000.0) / d_model))
    encoding[:, 0::2] = np.sin(np.arange(length)[:, None] * rates)
    encoding[:, 1::2] = np.cos(np.arange(length)[:, None] * rates)[:, : d_model // 2]
    return encoding


@right("sinusoidal_encoding", "https://github.com/DongjunLee/transformer-tensorflow/issues/6")
def column_halved(length, d_model):
    """Angles of all columns, then sine or cosine of each."""
    columns = np.arange(d_model)
    angles = np.outer(np.arange(length), 10000.0 ** (-2 * (columns // 2) / d_model))
    return np.where(columns % 2 == 0, np.sin(angles), np.cos(angles))


@right("shift_matrix", "https://github.com/karpathy/nanochat/pull/489")
def block_by_block(k, d_model):
    """One rotation for each pair."""
    if d_model % 2:
        raise ValueError("no cosine for the last sine")
    rotation = np.zeros((d_model, d_model))
    for i in range(0, d_model, 2):
        angle = k / 10000 ** (i / d_model)
        c, s = math.cos(angle), math.sin(angle)
        rotation[i : i + 2, i : i + 2] = [[c, -s], [s, c]]
    return rotation


@right("shift_matrix", "https://datascience.stackexchange.com/questions/45691")
def solved_for(k, d_model, n_rows=200):
    """The matrix that fits rows of the encoding best. Its slow pairs are known to seven digits only."""
    if d_model % 2:
        raise ValueError("no cosine for the last sine")
    rows = sinusoidal_encoding(n_rows + abs(k), d_model)
    here, there = (rows[:n_rows], rows[k:]) if k >= 0 else (rows[-k:], rows[:n_rows])
    return np.linalg.pinv(here) @ there


@right("positional_embedding", FAIRSEQ)
def only_the_needed_rows(tokens, table, start=0):
    """Computes the rows from start on, and adds them to the embedding."""
    embedding, cache = embed(tokens, table)
    d_model = table.shape[-1]
    places = np.arange(start, start + tokens.shape[-1])[:, None]
    columns = np.arange(d_model)
    angles = places * 10000.0 ** (-(columns - columns % 2) / d_model)
    return embedding + np.where(columns % 2, np.cos(angles), np.sin(angles)).astype(table.dtype), cache


@right("cross_attention", TENSOR2TENSOR)
def scaled_queries(x, memory, w_query, w_key, w_value, mask):
    """Scales the queries, and sets empty rows to zero."""
    scale = x.dtype.type(1 / math.sqrt(w_query.shape[-1]))
    scores = (x @ w_query * scale) @ (memory @ w_key).swapaxes(-1, -2)
    weights = np.nan_to_num(softmax(np.where(mask, scores, scores.dtype.type(-np.inf))))
    return weights @ (memory @ w_value), None


@right("rotate", "https://github.com/meta-llama/llama/blob/main/llama/model.py")
def seen_as_complex(x, positions):
    """Views each pair as one complex number, in float64."""
    pairs = np.ascontiguousarray(x, dtype=np.float64).view(np.complex128)
    speeds = 1.0 / 10000.0 ** (np.arange(0, x.shape[-1], 2) / x.shape[-1])
    angles = np.outer(positions, speeds)
    return (pairs * (np.cos(angles) + 1j * np.sin(angles))).view(np.float64).astype(x.dtype)


@right("rotate", "https://github.com/karpathy/nanochat/pull/489")
def written_column_by_column(x, positions):
    """Writes into every second column of an empty array."""
    angles = np.outer(positions, np.exp(np.arange(0, x.shape[-1], 2) * (-math.log(10000.0) / x.shape[-1])))
    cosines, sines = np.cos(angles), np.sin(angles)
    rotated = np.empty_like(x)
    rotated[..., ::2] = x[..., ::2] * cosines - x[..., 1::2] * sines
    rotated[..., 1::2] = x[..., ::2] * sines + x[..., 1::2] * cosines
    return rotated


@right("rotate_backward", "https://github.com/huggingface/candle/pull/3612")
def the_forward_pass_with_minus_the_sine(grad_rotated, positions):
    """Turns with the negative sine."""
    angles = np.repeat(
        np.outer(positions, 10000.0 ** -(np.arange(0, grad_rotated.shape[-1], 2) / grad_rotated.shape[-1])), 2, -1
    )
    partner = np.stack((-grad_rotated[..., 1::2], grad_rotated[..., ::2]), axis=-1).reshape(grad_rotated.shape)
    return (grad_rotated * np.cos(angles) - partner * np.sin(angles)).astype(grad_rotated.dtype)
