"""Chapter 12, a dictionary of invented words: a tokeniser, the layer of today, and its optimiser.

Shapes are written in the names of the book's notation page; `...` stands for any leading batch axes.
"""

from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np

from solutions.attention import softmax
from solutions.backward import linear_backward
from solutions.definitions import pieces
from solutions.heads import merge_heads
from solutions.masked_attention import masked_attention
from solutions.masking import causal_mask
from solutions.multihead import grouped_query_attention_backward, split_heads
from solutions.norms import rms_norm
from solutions.parameters import flatten, map_tree
from solutions.position import rotate, rotate_backward
from solutions.residual import rms_norm_backward
from solutions.training import adam_step


def merges_of(counts, n_merges):
    """Learn which neighbouring tokens to join, the most frequent first.

    Args:
        counts: dict of piece -> how often it occurs. A piece is a string,
            and begins as a list of its characters.
        n_merges: int

    Returns:
        merges: list of pairs of strings. Each is the pair of neighbours
            that is most frequent after the earlier merges (three equal
            tokens are two such pairs); of equally frequent pairs, the first
            in alphabetical order. A merge joins its pairs from left to
            right. The list is shorter than n_merges if no piece has two
            tokens left.

    Source: Sennrich et al. 2016, algorithm 1.
    """
    tokens = {piece: list(piece) for piece in counts}
    often, places = Counter(), defaultdict(set)

    def count(piece, sign):
        for pair in pairwise(tokens[piece]):
            often[pair] += sign * counts[piece]
            places[pair].add(piece)

    for piece in counts:
        count(piece, 1)
    merges = []
    while len(merges) < n_merges and any(often.values()):
        most = max(often.values())
        best = min(pair for pair, n in often.items() if n == most)
        merges.append(best)
        # Only the pieces that contain the pair change, so only these are counted anew.
        for piece in places.pop(best):
            count(piece, -1)
            tokens[piece] = joined(tokens[piece], best)
            count(piece, 1)
        del often[best]
    return merges


def joined(tokens, pair):
    """The same tokens with each occurrence of the pair as one token, from left to right."""
    result = []
    for token in tokens:
        if result and (result[-1], token) == pair:
            result[-1] += token
        else:
            result.append(token)
    return result


def text_tokens(text, merges):
    """Split a text into tokens.

    Args:
        text: str
        merges: list of pairs of strings, the oldest first, see `merges_of`.

    Returns:
        tokens: list of strings that together are the text. Each piece of
            the text (see `pieces`) begins as its characters. As long as
            two neighbours are a pair of `merges`, the oldest such pair is
            joined wherever it stands, from left to right.

    Source: Sennrich et al. 2016, section 3.2.
    """
    age = {pair: i for i, pair in enumerate(merges)}
    result = []
    for piece in pieces(text):
        tokens = list(piece)
        while known := [pair for pair in pairwise(tokens) if pair in age]:
            tokens = joined(tokens, min(known, key=age.get))
        result += tokens
    return result


def swiglu(x, params):
    """Widen twice, let one copy open and close the other, and narrow again.

    Args:
        x: (..., d_model)
        params: dict of w_gate and w_up, (d_model, d_ff), and w_down,
            (d_ff, d_model).

    Returns:
        output: (..., d_model), in the dtype of x: (silu(x w_gate) * (x w_up))
            w_down with silu(g) = g / (1 + exp(-g)), finite for every finite g.
        cache: (x, gate, up, params), gate = x w_gate and up = x w_up,
            (..., d_ff).

    Source: Shazeer 2020 (arXiv 2002.05202), equation 6.
    """
    gate, up = x @ params["w_gate"], x @ params["w_up"]
    return (gate * sigmoid(gate) * up) @ params["w_down"], (x, gate, up, params)


def swiglu_backward(grad_output, cache):
    """The gradients of `swiglu`: x is reached by the gate and by what it opens.

    Args:
        grad_output: (..., d_model)
        cache: (x, gate, up, params) of `swiglu`.

    Returns:
        grad_x: (..., d_model)
        grad_params: dict with the keys and shapes of params, summed over
            all leading axes.

    All gradients are in the dtype of grad_output.

    Source: derived in this chapter from Shazeer 2020.
    """
    x, gate, up, params = cache
    opening = sigmoid(gate)
    opened = gate * opening
    grad_hidden, grad_w_down, _ = linear_backward(grad_output, (opened * up, params["w_down"]))
    grad_gate = grad_hidden * up * (opening + opened * (1 - opening))
    grad_x_gate, grad_w_gate, _ = linear_backward(grad_gate, (x, params["w_gate"]))
    grad_x_up, grad_w_up, _ = linear_backward(grad_hidden * opened, (x, params["w_up"]))
    return grad_x_gate + grad_x_up, {"w_gate": grad_w_gate, "w_up": grad_w_up, "w_down": grad_w_down}


def sigmoid(x):
    """1 / (1 + exp(-x)), by tanh, which cannot overflow."""
    return 0.5 + 0.5 * np.tanh(0.5 * x)


def modern_layer(x, params, n_heads):
    """A layer of today: grouped heads that turn, and a gated feed-forward.

    It computes h = x + attention(norm(x)), then h + swiglu(norm(h)).

    Args:
        x: (..., T, d_model)
        params: dict of
            norm_attention, norm_feed_forward: (d_model,), the gains of two
                `rms_norm`, which keeps its default eps.
            attention: dict of w_query and w_output, (d_model, d_model), and
                w_key and w_value, (d_model, n_groups * d_key), with d_key =
                d_model / n_heads. No biases.
            feed_forward: see `swiglu`.
        n_heads: int, heads of queries; n_groups divides it.

    Returns:
        output: (..., T, d_model), in the dtype of x. Queries and keys are
            turned by their positions 0 .. T - 1 (`rotate`); heads of
            queries share keys and values as in `grouped_query_attention`;
            and no position sees a later one.
        cache: (norm_attention, attention, norm_feed_forward, feed_forward),
            the caches of the four steps. That of attention is (normed,
            heads, merged, weights) with the normalised rows, heads =
            (queries, keys, values, weights) as `grouped_query_attention`
            keeps them, the heads' output side by side, and
            params["attention"].

    Source: Touvron et al. 2023 (arXiv 2302.13971), section 2.2, and
    Ainslie et al. 2023.
    """
    weights = params["attention"]
    normed, norm_attention = rms_norm(x, params["norm_attention"])
    d_key = x.shape[-1] // n_heads
    n_groups = weights["w_key"].shape[-1] // d_key
    positions = np.arange(x.shape[-2])
    queries = rotate(split_heads(normed @ weights["w_query"], n_heads), positions)
    keys = rotate(split_heads(normed @ weights["w_key"], n_groups), positions)
    values = split_heads(normed @ weights["w_value"], n_groups)
    copied_keys, copied_values = (np.repeat(shared, n_heads // n_groups, axis=-3) for shared in (keys, values))
    heads, (*_, attended) = masked_attention(queries, copied_keys, copied_values, causal_mask(x.shape[-2]))
    merged = merge_heads(heads)
    hidden = x + merged @ weights["w_output"]
    normed_hidden, norm_feed_forward = rms_norm(hidden, params["norm_feed_forward"])
    update, feed_forward = swiglu(normed_hidden, params["feed_forward"])
    attention = normed, (queries, keys, values, attended), merged, weights
    return hidden + update, (norm_attention, attention, norm_feed_forward, feed_forward)


def modern_layer_backward(grad_output, cache):
    """The gradients of `modern_layer`: two ways lead back through each sum.

    Args:
        grad_output: (..., T, d_model)
        cache: (norm_attention, attention, norm_feed_forward, feed_forward)
            of `modern_layer`.

    Returns:
        grad_x: (..., T, d_model)
        grad_params: nested dict with the keys and shapes of params. All
            gradients are in the dtype of grad_output.

    Source: derived in this chapter.
    """
    norm_attention, (normed, heads_cache, merged, weights), norm_feed_forward, feed_forward = cache
    grad_normed_hidden, grad_feed_forward = swiglu_backward(grad_output, feed_forward)
    grad_through, grad_gain_feed_forward = rms_norm_backward(grad_normed_hidden, norm_feed_forward)
    grad_hidden = grad_output + grad_through
    grad_merged, grad_w_output, _ = linear_backward(grad_hidden, (merged, weights["w_output"]))
    queries, keys, values, _ = heads_cache
    grad_heads = split_heads(grad_merged, queries.shape[-3])
    grad_queries, grad_keys, grad_values = grouped_query_attention_backward(grad_heads, heads_cache)
    positions = np.arange(queries.shape[-2])
    grad_normed, grad_attention = 0, {"w_output": grad_w_output}
    for name, grad in (
        ("w_query", rotate_backward(grad_queries, positions)),
        ("w_key", rotate_backward(grad_keys, positions)),
        ("w_value", grad_values),
    ):
        grad_through, grad_attention[name], _ = linear_backward(merge_heads(grad), (normed, weights[name]))
        grad_normed = grad_normed + grad_through
    grad_through, grad_gain_attention = rms_norm_backward(grad_normed, norm_attention)
    grad_params = {
        "norm_attention": grad_gain_attention,
        "attention": grad_attention,
        "norm_feed_forward": grad_gain_feed_forward,
        "feed_forward": grad_feed_forward,
    }
    return grad_hidden + grad_through, grad_params


def predicted_tests(programs):
    """Predict which tests find the flaw of each program.

    Args:
        programs: list of dicts, one for each program.
            flaw: str, what differs from the right program.
            changes: str, where its code differs: in the "forward" pass, in
                the "backward" pass, in "both" (and they fit each other), in
                the "loss" and its gradient, or in the "optimiser".

    Returns:
        found_by: list of lists, the names of the tests that find the flaw:
            "slope", "reference" and "later token", in any order. The list
            is empty if none of the three does.
    """

    def found_by(flaw, changes):
        if changes in ("loss", "optimiser") or "positions" in flaw:  # the distance of two positions alone counts
            return []
        if "mask" in flaw or "sees" in flaw:  # the backward pass reads the weights from the cache
            return ["reference", "later token"]
        return {"forward": ["slope", "reference"], "backward": ["slope"], "both": ["reference"]}[changes]

    return [found_by(**program) for program in programs]


def diagnose_definer(record):
    """Name the bug of a program from a record of its run.

    Args:
        record: dict of arrays.
            loss: (n_steps,).
            held_out, padded, kept: (2,).
            moved: (T - 1,).
            slopes: dict of the name of an array -> (2,).
            See 'What the loss does not show'.

    Returns:
        bug: str, a name in the table of 'What the loss does not show'.
    """

    def differ(pair):
        one, other = pair
        return abs(one - other) > 1e-3 * abs(other)

    moved, slopes, (matrix, gain) = record["moved"], record["slopes"], record["kept"]
    signs = {
        "no mask": moved[0] > 1e-6,
        "mask one late": moved[-2] > 1e-6,
        "losses added up": record["loss"][0] > 10,
        "padding counted": differ(record["padded"]),
        "no last norm": not slopes["norm"].any(),
        "another function": differ(record["held_out"]),
        "gains decay": gain < 0.99,
        "decay in the gradient": differ((matrix, 0.95)),
        "size of the norm forgotten": differ(slopes["w_down"]),
        "slope of the gate cut short": differ(slopes["w_gate"]),
        "group averaged": differ(slopes["w_value"]),
        "scale forgotten": not any(differ(slopes[name] * (2, 1)) for name in ("w_query", "w_key")),
        "not turned back": differ(slopes["w_key"]),
    }
    return next((bug for bug, is_shown in signs.items() if is_shown), "nothing")


def random_layer(rng, n_heads, n_groups):
    """Draw parameters for `modern_layer`, gains too. A head has four features, so d_model is 4 * n_heads."""
    d_model, width, d_ff = 4 * n_heads, 4 * n_groups, 4 * n_heads + 1
    shapes = {
        "norm_attention": (d_model,),
        "attention": {
            "w_query": (d_model, d_model),
            "w_key": (d_model, width),
            "w_value": (d_model, width),
            "w_output": (d_model, d_model),
        },
        "norm_feed_forward": (d_model,),
        "feed_forward": {
            "w_gate": (d_model, d_ff),
            "w_up": (d_model, d_ff),
            "w_down": (d_ff, d_model),
        },
    }
    return map_tree(lambda shape: rng.normal(size=shape) / shape[-1] ** 0.25, shapes)


def tests_modern_layer(function):
    """Test a function that claims to be a layer of today.

    Args:
        function: a candidate for `modern_layer`, with the same arguments.

    Returns:
        verdict: True if the function keeps every promise of `modern_layer`:
            the right output for any leading axes and any number of groups,
            in the dtype of x; a cache from which `modern_layer_backward`
            computes the gradients; and x and params unchanged. False if it
            breaks one. A failed `assert` or an exception also counts as
            False, and a test that ends without a `return` counts as True.
    """
    rng = np.random.default_rng(0)

    def normed(x, gain):
        return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + 1e-5) * gain

    def complex_pairs(rows):
        return rows[..., 0::2] + 1j * rows[..., 1::2]

    def written_out(x, params, n_heads):
        """One text, token by token and head by head."""
        weights, d_key = params["attention"], x.shape[-1] // n_heads
        rows = normed(x, params["norm_attention"])
        queries, keys, values = (
            (rows @ weights[name]).reshape(len(x), -1, d_key) for name in ("w_query", "w_key", "w_value")
        )
        angles = 10000.0 ** (-np.arange(0, d_key, 2) / d_key)
        hidden = x.copy()
        for t, h in np.ndindex(len(x), n_heads):
            g = h * keys.shape[1] // n_heads
            turns = np.exp(1j * np.outer(t - np.arange(t + 1), angles))  # the distance alone counts
            products = complex_pairs(queries[t, h]) * complex_pairs(keys[: t + 1, g]).conj() * turns
            shares = softmax(products.real.sum(axis=-1) / np.sqrt(d_key))
            hidden[t] += shares @ values[: t + 1, g] @ weights["w_output"][h * d_key : (h + 1) * d_key]
        rows, weights = normed(hidden, params["norm_feed_forward"]), params["feed_forward"]
        gate = rows @ weights["w_gate"]
        return hidden + (gate / (1 + np.exp(-gate)) * (rows @ weights["w_up"])) @ weights["w_down"]

    def slope(cotangent, start, direction, n_heads):
        ahead, behind = (map_tree(lambda array, by, h=h: array + h * by, start, direction) for h in (1e-5, -1e-5))
        return (cotangent * (function(*ahead, n_heads)[0] - function(*behind, n_heads)[0])).sum() / 2e-5

    for batch, n_heads, n_groups in (((), 4, 2), ((3,), 6, 3), ((2, 1), 2, 1)):
        params, params_direction = (random_layer(rng, n_heads, n_groups) for _ in range(2))
        x, x_direction, cotangent = rng.normal(size=(3, *batch, 5, 4 * n_heads))
        given = map_tree(np.copy, [x, params])
        output, cache = function(*given, n_heads)
        if not np.array_equal(flatten(given), flatten([x, params])):
            return False
        for text in np.ndindex(*batch):
            if not np.allclose(output[text], written_out(x[text], params, n_heads)):
                return False
        gradients = flatten(list(modern_layer_backward(cotangent, cache)))
        direction = [x_direction, params_direction]
        if not np.isclose(gradients @ flatten(direction), slope(cotangent, [x, params], direction, n_heads), rtol=1e-5):
            return False
    single = map_tree(lambda array: array.astype(np.float32), [x, params])
    return function(*single, n_heads)[0].dtype == np.float32


def adamw_step(params, gradients, moments, step, learning_rate, decay, beta_1=0.9, beta_2=0.95, eps=1e-8):
    """One step of AdamW: matrices shrink a little, then Adam moves everything.

    Args:
        params, gradients, moments, step, learning_rate, beta_1, beta_2,
            eps: see `adam_step`.
        decay: float. A matrix, which is an array with two axes, loses the
            share decay * learning_rate of its numbers. An array with one
            axis, such as a gain, loses nothing.

    Returns:
        params: the new ones, each in its own dtype; what was handed in is
            left as it is.
        moments: (mean, mean_of_squares), the new ones. They know nothing of
            the decay.

    Source: Loshchilov & Hutter 2019, algorithm 2.
    """
    kept = 1 - learning_rate * decay
    shrunk = map_tree(lambda array: kept * array if array.ndim == 2 else array, params)
    return adam_step(shrunk, gradients, moments, step, learning_rate, beta_1, beta_2, eps)


def costs(sizes, length):
    """What a model costs, from its sizes alone.

    Args:
        sizes: dict of vocab, d_model, d_ff, n_layers, n_heads and n_groups,
            all int.
        length: int, how many tokens the cache holds once the newest one has
            been read.

    Returns:
        parameters: int, the numbers of the whole model. The table counts
            once, although input and output both use it.
        operations: int, the multiplications of all matrix products that
            read the newest token and score the next one. Look-up, turns,
            norms and gates do not count.
        cached: int, the numbers of the cache: keys and values of all
            layers, for `length` tokens.

    Source: derived in this chapter.
    """
    d_model, n_layers = sizes["d_model"], sizes["n_layers"]
    width = sizes["n_groups"] * (d_model // sizes["n_heads"])
    matrices = 2 * d_model * d_model + 2 * d_model * width + 3 * d_model * sizes["d_ff"]
    parameters = sizes["vocab"] * d_model + n_layers * (matrices + 2 * d_model) + d_model
    # A new token multiplies each number of a matrix once, and in each head all keys and all values.
    operations = sizes["vocab"] * d_model + n_layers * (matrices + 2 * d_model * length)
    return parameters, operations, n_layers * 2 * width * length
