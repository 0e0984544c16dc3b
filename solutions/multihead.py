"""Chapter 4, multi-head attention: several small attentions side by side, each with its own eyes.

The heads are an axis: (..., T, n_heads * d_head) <-> (..., n_heads, T, d_head), so that chapter 1's attention
runs for all of them at once.
"""

import numpy as np

from solutions.attention import attention
from solutions.backward import attention_backward, linear, linear_backward
from solutions.heads import merge_heads
from solutions.masked_attention import masked_attention


def split_heads(x, n_heads):
    """Give each head its own slice of the features.

    Args:
        x: (..., T, n_heads * d_head)
        n_heads: int

    Returns:
        heads: (..., n_heads, T, d_head), in the dtype of x: head h has the
            h-th slice of the features of every position.

    Raises:
        ValueError: the last axis cannot be divided by n_heads.

    Source: Vaswani et al. 2017, section 3.2.2.
    """
    *batch, length, d_model = x.shape
    if d_model % n_heads:
        raise ValueError(f"{d_model} features cannot be divided among {n_heads} heads")
    # Features are split first and moved second: reshaping straight to (n_heads, T, d_head) would mix positions.
    return x.reshape(*batch, length, n_heads, d_model // n_heads).swapaxes(-2, -3)


def tests_split_heads(function):
    """Test a function that claims to split the heads.

    Args:
        function: a candidate for `split_heads`, with the same arguments:
            x (..., T, n_heads * d_head) and n_heads, an int.

    Returns:
        verdict: True if the function keeps every promise of `split_heads`:
            each entry in its place for any number of batch axes, the dtype
            of x, and a ValueError for features that cannot be divided.
            False if it breaks one. A failed `assert` or an exception also
            counts as False, and a test that ends without a `return` counts
            as True.
    """
    for shape, n_heads in (((5, 6), 3), ((2, 4, 15), 5), ((3, 2, 4, 10), 5)):
        x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        d_head = shape[-1] // n_heads
        heads = function(x, n_heads)
        if heads.shape != (*shape[:-2], n_heads, shape[-2], d_head) or heads.dtype != x.dtype:
            return False
        for h in range(n_heads):
            if not np.array_equal(heads[..., h, :, :], x[..., h * d_head : (h + 1) * d_head]):
                return False
    try:
        function(np.ones((4, 7)), 3)
    except ValueError:
        return True
    return False


def multi_head_attention(query, key, value, params, n_heads, mask=None):
    """Project, split into heads, attend, merge, project.

    Args:
        query: (..., T_query, d_query), input of the queries.
        key: (..., T_key, d_key_in), input of the keys.
        value: (..., T_key, d_value_in), input of the values. In
            self-attention all three are the same array.
        params: dict of
            w_query (d_query, n_heads * d_key),
            w_key (d_key_in, n_heads * d_key),
            w_value (d_value_in, n_heads * d_value),
            w_output (n_heads * d_value, d_model),
            and their biases b_query, b_key, b_value, b_output.
        n_heads: int
        mask: None, or boolean, broadcastable to (..., T_query, T_key),
            True = may attend; the same for all heads.

    Returns:
        output: (..., T_query, d_model), finite however large the scores, in
            the dtype of the inputs. In each head, a query that may attend
            to nothing gets zeros.
        cache: (query_cache, key_cache, value_cache, attention_cache,
            output_cache), those of the four linear layers and of the
            attention; attention_cache[3] holds the weights,
            (..., n_heads, T_query, T_key).

    Source: Vaswani et al. 2017, section 3.2.2 (with biases, as in
    `nn.MultiheadAttention`).
    """
    queries, query_cache = linear(query, params["w_query"], params["b_query"])
    keys, key_cache = linear(key, params["w_key"], params["b_key"])
    values, value_cache = linear(value, params["w_value"], params["b_value"])
    queries, keys, values = (split_heads(projected, n_heads) for projected in (queries, keys, values))
    if mask is None:
        attended, attention_cache = attention(queries, keys, values)
    else:
        mask = np.expand_dims(np.atleast_2d(mask), -3)  # a mask (T_key,), one row for all queries, gets its second axis
        attended, attention_cache = masked_attention(queries, keys, values, mask)
    output, output_cache = linear(merge_heads(attended), params["w_output"], params["b_output"])
    return output, (query_cache, key_cache, value_cache, attention_cache, output_cache)


def cached_weights(cache):
    """Who attended to whom, for each head: the weights that a layer has kept.

    Args:
        cache: the cache of `multi_head_attention`.

    Returns:
        weights: (..., n_heads, T_query, T_key)
    """
    attention_cache = cache[3]
    return attention_cache[3]


def without_needless_biases(params):
    """Return the parameters of an equivalent layer without idle biases.

    Args:
        params: dict of the eight arrays of `multi_head_attention`.

    Returns:
        equivalent: dict with the same keys, shapes and dtypes; b_key and
            b_value are zeros, and otherwise only b_output differs. Wherever
            a query sees at least one key, the layer's output is the same.
            params is not modified.

    Source: derived in this chapter.
    """
    idle = {name: np.zeros_like(params[name]) for name in ("b_key", "b_value")}
    return params | idle | {"b_output": params["b_output"] + params["b_value"] @ params["w_output"]}


def multi_head_attention_backward(grad_output, cache):
    """The gradients of `multi_head_attention`, from its output back.

    Args:
        grad_output: (..., T_query, d_model)
        cache: (query_cache, key_cache, value_cache, attention_cache,
            output_cache) of `multi_head_attention`.

    Returns:
        grad_query: the shape of query; zero for a query that saw nothing.
        grad_key: the shape of key
        grad_value: the shape of value. In self-attention the gradient of x
            is the sum of these three.
        grad_params: dict with the keys and shapes of params. All gradients
            are in the dtype of grad_output.

    Source: derived in this chapter.
    """
    query_cache, key_cache, value_cache, attention_cache, output_cache = cache
    n_heads = attention_cache[0].shape[-3]
    grad_merged, grad_w_output, grad_b_output = linear_backward(grad_output, output_cache)
    grad_heads = attention_backward(split_heads(grad_merged, n_heads), attention_cache)
    grad_queries, grad_keys, grad_values = (merge_heads(grad) for grad in grad_heads)
    grad_query, grad_w_query, grad_b_query = linear_backward(grad_queries, query_cache)
    grad_key, grad_w_key, grad_b_key = linear_backward(grad_keys, key_cache)
    grad_value, grad_w_value, grad_b_value = linear_backward(grad_values, value_cache)
    # In the order of the derivation, from the output back.
    grad_params = {
        "w_output": grad_w_output,
        "b_output": grad_b_output,
        "w_value": grad_w_value,
        "b_value": grad_b_value,
        "w_query": grad_w_query,
        "b_query": grad_b_query,
        "w_key": grad_w_key,
        "b_key": grad_b_key,
    }
    return grad_query, grad_key, grad_value, grad_params


def two_heads(n_words, length):
    """Choose weights: head 0 reads the word before, head 1 the first word.

    A row of the input x (T, n_words + length), with T <= length, has two
    ones: in the column of the word, and in the column n_words + position.
    Of each matrix, the left half of the columns belongs to head 0 and the
    right half to head 1.

    In head 0, each position but the first gives at least 99% of its weight
    to the position before it; in head 1, every position to position 0. The
    output of a head is largest in the column of that position's word.

    Args:
        n_words: int, how many different words there are.
        length: int, the most words in a sentence, at least 2.

    Returns:
        w_query: (n_words + length, 2 * d_head), for any d_head up to 256.
        w_key: (n_words + length, 2 * d_head)
        w_value: (n_words + length, 2 * n_words)
    """
    no_words = np.zeros((n_words, 2 * length))
    before, first = np.eye(length, k=-1), np.repeat(np.eye(1, length), length, axis=0)
    strength = np.log(1000 * length) * np.sqrt(length)  # sqrt of one head's width
    w_query = np.vstack([no_words, strength * np.hstack([before, first])])
    w_key = np.vstack([no_words, np.hstack([np.eye(length)] * 2)])
    w_value = np.vstack([np.hstack([np.eye(n_words)] * 2), np.zeros((length, 2 * n_words))])
    return w_query, w_key, w_value


def grouped_query_attention(queries, keys, values):
    """Attention in which groups of query heads share keys and values.

    Args:
        queries: (..., n_heads, T_query, d_key)
        keys: (..., n_groups, T_key, d_key), where n_groups divides n_heads.
        values: (..., n_groups, T_key, d_value)

    Returns:
        output: (..., n_heads, T_query, d_value), in the dtype of the inputs.
            The first n_heads / n_groups heads use the first head of keys and
            values, the next ones use the second, and so on.
        cache: (queries, keys, values, weights), as in `attention`, with
            weights (..., n_heads, T_query, T_key). In it, keys and values
            have n_groups heads.

    Source: Ainslie et al. 2023, section 2.2.
    """
    sharing = queries.shape[-3] // keys.shape[-3]
    copied_keys, copied_values = (np.repeat(shared, sharing, axis=-3) for shared in (keys, values))
    output, (*_, weights) = attention(queries, copied_keys, copied_values)
    return output, (queries, keys, values, weights)


def grouped_query_attention_backward(grad_output, cache):
    """The gradients of `grouped_query_attention`.

    Args:
        grad_output: (..., n_heads, T_query, d_value)
        cache: (queries, keys, values, weights) of `grouped_query_attention`.

    Returns:
        grad_queries: (..., n_heads, T_query, d_key)
        grad_keys: (..., n_groups, T_key, d_key)
        grad_values: (..., n_groups, T_key, d_value), all three in the dtype
            of grad_output.

    Source: derived in this chapter from Ainslie et al. 2023, section 2.2.
    """
    queries, keys, values, weights = cache
    n_groups = keys.shape[-3]
    sharing = queries.shape[-3] // n_groups
    copied_keys, copied_values = (np.repeat(shared, sharing, axis=-3) for shared in (keys, values))
    grad_queries, *of_copies = attention_backward(grad_output, (queries, copied_keys, copied_values, weights))
    grad_keys, grad_values = (
        grad.reshape(*grad.shape[:-3], n_groups, sharing, *grad.shape[-2:]).sum(axis=-3) for grad in of_copies
    )
    return grad_queries, grad_keys, grad_values
