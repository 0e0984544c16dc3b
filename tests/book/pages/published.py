"""The errors of the coverage page as answers of students, each as short as possible and in our own code.

`WRONG` has pairs of a row and a function for the exercise that the row names. `NAMELESS` are the rows that name no
mistake.
"""

import math

import numpy as np

from solutions import backward, cross, masking, model, model_torch, multihead, position, residual
from solutions.attention import softmax
from solutions.smoothing import smooth_labels

# No exercise asks for this code: an error without an explanation, a sentence about distant positions, an order that is
# irrelevant for minus infinity, the drawing of tables and matrices, and what the book gives: the schedule, and
# attention with a mask.
NAMELESS = ("E11", "E12", "E16", "E25", "E27", "E29", "E30", "E32", "E34")
WRONG = []


def row(name):
    """Register the decorated function as the error of a row."""

    def register(wrong):
        WRONG.append((name, wrong))
        return wrong

    return register


def transposed(array):
    return array.swapaxes(-1, -2)


# ---------------------------------------------------------------------------------------- chapters 1 to 3


@row("E1")
def tiny_penalty(scores, mask):
    return softmax(scores + scores.dtype.type(-1e-20) * ~mask)


@row("E2")
def finite_penalty(scores, mask):
    return softmax(np.where(mask, scores, -1e20))


@row("E3")
def length_from_the_notebook(x, memory, w_query, w_key, w_value, mask):
    source_length = 7  # the length of the memory in the notebook where the code was written
    keys, values = memory[..., :source_length, :] @ w_key, memory[..., :source_length, :] @ w_value
    scores = x @ w_query @ transposed(keys) / math.sqrt(w_key.shape[-1])
    return masking.masked_softmax(scores, mask) @ values, None


@row("E4")
def keys_of_the_decoder(x, memory, w_query, w_key, w_value, mask):
    queries, keys, values = x @ w_query, x @ w_key, memory @ w_value
    scores = queries @ transposed(keys) / math.sqrt(w_key.shape[-1])
    return masking.masked_softmax(scores, mask) @ values, None


@row("E5")
def only_where_row_and_column_cross(grad_scores, x, a):
    diagonal = np.diagonal(grad_scores, axis1=-2, axis2=-1)[..., None]
    grad_x = diagonal * (x @ (a + a.T))  # x_i counts where k = i and l = i, not where k = i or l = i
    grad_a = (transposed(x) @ grad_scores @ x).reshape(-1, *a.shape).sum(axis=0)
    return grad_x, grad_a


@row("E6")
def derived_without_scale(grad_output, cache):
    x, w_query, w_key, w_value, (queries, keys, values, weights) = cache
    grad_weights = grad_output @ transposed(values)
    grad_scores = weights * (grad_weights - (weights * grad_weights).sum(axis=-1, keepdims=True))
    grads = grad_scores @ keys, transposed(grad_scores) @ queries, transposed(weights) @ grad_output
    rows = x.reshape(-1, x.shape[-1])
    back = [
        (grad @ w.T, rows.T @ grad.reshape(-1, w.shape[1]))
        for grad, w in zip(grads, (w_query, w_key, w_value), strict=True)
    ]
    return sum(grad_x for grad_x, _ in back), *(grad_w for _, grad_w in back)


@row("E7")
def plain_softmax(scores):
    return np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)


@row("E9")
def in_float64(scores):
    scores = np.array(scores, dtype=np.float64)
    strengths = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return strengths / strengths.sum(axis=-1, keepdims=True)


@row("E17")
def logistic_derivative(grad_weights, weights):
    return weights * (1 - weights) * grad_weights


@row("E18")
def right_for_ones(grad_weights, weights):
    ones = np.ones_like(weights)  # the input of its only test
    return weights * (ones - (ones * weights).sum(axis=-1, keepdims=True))


@row("E19")
def keys_from_values(grad_output, cache):
    queries, keys, values, weights = cache
    grad_scores = backward.softmax_backward(grad_output @ transposed(values), weights) / math.sqrt(keys.shape[-1])
    return grad_scores @ keys, transposed(grad_scores) @ values, transposed(weights) @ grad_output


@row("E26")
def minus_infinity(scores, mask):
    return softmax(np.where(mask, scores, -np.inf))


# ---------------------------------------------------------------------------------------- chapters 4 to 6


def heads(query, key, value, params, n_heads, mask, *, biases=True, late=False):
    def projected(x, name):
        return multihead.split_heads(x @ params[f"w_{name}"] + biases * params[f"b_{name}"], n_heads)

    queries, keys, values = projected(query, "query"), projected(key, "key"), projected(value, "value")
    root = math.sqrt(keys.shape[-1])
    allowed = np.ones((1, 1), bool) if mask is None else np.expand_dims(mask, -3)
    weights = masking.masked_softmax(queries @ transposed(keys) / (1 if late else root), allowed)
    output = multihead.merge_heads(weights @ values) @ params["w_output"] + params["b_output"]
    return output / (root if late else 1), None


@row("E14")
def root_at_the_end(query, key, value, params, n_heads, mask=None):
    return heads(query, key, value, params, n_heads, mask, late=True)


@row("E35")
def no_biases(query, key, value, params, n_heads, mask=None):
    return heads(query, key, value, params, n_heads, mask, biases=False)


def heads_back(grad_output, cache, grad_of_scores):
    """Return the gradients of multi-head attention, with grad_of_scores(grad_weights, weights) before the scale."""
    query_cache, key_cache, value_cache, (queries, keys, values, weights), output_cache = cache
    grad_merged, grad_w_output, grad_b_output = backward.linear_backward(grad_output, output_cache)
    grad_heads = multihead.split_heads(grad_merged, queries.shape[-3])
    grad_scores = grad_of_scores(grad_heads @ transposed(values), weights) / math.sqrt(keys.shape[-1])
    parts = grad_scores @ keys, transposed(grad_scores) @ queries, transposed(weights) @ grad_heads
    grads, grad_params = [], {"w_output": grad_w_output, "b_output": grad_b_output}
    for name, part, linear in zip(("query", "key", "value"), parts, cache[:3], strict=True):
        grad, grad_params[f"w_{name}"], grad_params[f"b_{name}"] = backward.linear_backward(
            multihead.merge_heads(part), linear
        )
        grads.append(grad)
    return *grads, grad_params


@row("E10")
def checked_on_copies_of_one_head(grad_output, cache):
    *roles, weights = cache[3]
    weights = np.repeat(weights[..., :1, :, :], weights.shape[-3], axis=-3)
    return heads_back(grad_output, (*cache[:3], (*roles, weights), cache[4]), backward.softmax_backward)


@row("E20")
def derivation_that_one_step_confirmed(grad_output, cache):
    return heads_back(grad_output, cache, lambda grad_weights, weights: grad_weights * weights * (1 - weights))


@row("E13")
def fresh_norm(x, gain, bias, eps=1e-5):
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + eps), None


@row("E15")
class EndsInRelu(model_torch.EncoderLayer):
    def forward(self, x, mask=None):
        x = self.norm_attention(x + self.dropout(self.attention(x, x, x, mask)))
        return self.norm_feed_forward(x + self.dropout(self.feed_forward(x).relu()))


@row("E24")
def base_of_a_thousand(length, d_model):
    column = np.arange(d_model)
    angles = np.arange(length)[:, None] / 1000 ** (2 * (column // 2) / d_model)
    return np.where(column % 2 == 0, np.sin(angles), np.cos(angles))


@row("E31")
def column_pairs(length, d_model):
    encoding = np.zeros((length, d_model))
    for p in range(length):
        for i in range(0, d_model, 2):
            encoding[p, i] = np.sin(p / 10000 ** (i / d_model))
            encoding[p, i + 1] = np.cos(p / 10000 ** (i / d_model))
    return encoding


@row("E31")
def as_many_cosines_as_sines(length, d_model):
    encoding = np.zeros((length, d_model))
    speeds = np.exp(-math.log(10000) / d_model * np.arange(0, d_model, 2))
    encoding[:, 0::2] = np.sin(np.arange(length)[:, None] * speeds)
    encoding[:, 1::2] = np.cos(np.arange(length)[:, None] * speeds)
    return encoding


# ---------------------------------------------------------------------------------------- chapters 7 to 9


@row("E21")
def two_norms_of_three(x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None):
    first, second = params["norm_attention"], params["norm_cross_attention"]
    attended, _ = multihead.multi_head_attention(x, x, x, params["attention"], n_heads, self_mask)
    x, _ = residual.add_norm(x, attended, first, rate, rng)
    crossed, _ = multihead.multi_head_attention(x, memory, memory, params["cross_attention"], n_heads, memory_mask)
    x, _ = residual.add_norm(x, crossed, first, rate, rng)
    fed_forward, _ = residual.feed_forward(x, params["feed_forward"])
    return residual.add_norm(x, fed_forward, second, rate, rng)[0], None


@row("E8")
def one_memory_projection(params, tgt, memory, src, n_heads, pad=0):
    embeddings = params["embeddings"]
    x, _ = position.positional_embedding(tgt, model.table_for(embeddings, "target"))
    masks = masking.target_mask(tgt, pad), masking.padding_mask(src, pad)
    first = params["decoder"][0]["cross_attention"]
    for layer in params["decoder"]:
        weights = layer["cross_attention"] | {name: first[name] for name in ("w_key", "b_key", "w_value", "b_value")}
        x, _ = cross.decoder_layer(x, memory, layer | {"cross_attention": weights}, n_heads, *masks)
    return x @ model.table_for(embeddings, "output").T, None


@row("E33")
def rolled_over_the_batch(params, src, tgt, n_heads, pad=0):
    shifted = np.roll(tgt.ravel(), 1).reshape(tgt.shape)
    logits, cache = model.forward(params, src, shifted, n_heads, pad)
    loss, loss_cache = model.cross_entropy(logits, tgt, pad)
    return loss, model.backward(model.cross_entropy_backward(1.0, loss_cache), cache)


@row("E36")
def encoder_with_a_final_norm(params, src, n_heads, pad=0):
    memory, cache = model.encode(params, src, n_heads, pad)
    centred = memory - memory.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5), cache


@row("E22")
def wrong_classes_share(logits, targets, smoothing=0.0, pad=0):
    counted = targets != pad
    right = np.arange(logits.shape[-1]) == targets[counted][:, None]
    labels = np.where(right, 1 - smoothing, smoothing / (logits.shape[-1] - 1)).astype(logits.dtype)
    surprises = -(labels * model.log_softmax(logits[counted])).sum(axis=-1)
    return surprises.sum() / max(1, int(counted.sum())), None


@row("E23")
def padding_times_zero(logits, targets, smoothing=0.0, pad=0):
    log_p = model.log_softmax(logits)
    labels = smooth_labels(targets, logits.shape[-1], smoothing).astype(logits.dtype)
    surprises = -(labels * log_p).sum(axis=-1)
    counts = (targets != pad).astype(logits.dtype)
    return (surprises * counts).sum() / max(1, int(counts.sum())), None


@row("E28")
def plus_at_the_wrong_classes(grad_loss, cache):
    log_p, labels, counted, smoothing = cache
    n, vocab = log_p.shape
    gradient = np.exp(log_p) + smoothing / vocab
    gradient[np.arange(n), labels] -= 1 - smoothing + 2 * smoothing / vocab
    grad_logits = np.zeros((*counted.shape, vocab), log_p.dtype)
    grad_logits[counted] = gradient * (grad_loss / max(1, n))
    return grad_logits
