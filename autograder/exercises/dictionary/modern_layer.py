import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.dictionary.programs import halves, slip
from autograder.exercises.dictionary.shared import layer
from solutions import dictionary as reference
from solutions.position import rotate
from solutions.residual import layer_norm

modern_layer = Exercise(reference.modern_layer, outputs={"output": "... T d_model", "cache": ""}, section="The layer")
wrong = short_mistakes(modern_layer)


@modern_layer.cases("one text", points=2)
def _(draw):
    yield "groups of two heads", layer(draw)
    yield "groups of three heads", layer(draw, n_groups=2)


@modern_layer.cases("batches", points=1)
def _(draw):
    yield "a batch of texts", layer(draw, 1)
    yield "two batch axes", layer(draw, 2, n_heads=4, n_groups=2)


@modern_layer.cases("all groups and float32", points=2)
def _(draw):
    yield "a group for each head", layer(draw, 1, n_heads=3, n_groups=3)
    yield "one group for all heads", layer(draw, 1, n_heads=3, n_groups=1)
    yield "float32", layer(draw, 1, np.float32, n_heads=4, n_groups=2)


def changed(x, params, n_heads, *, texts=(), **names):
    """Run the reference with replaced texts, in which some names are other functions."""
    return slip(reference.modern_layer, *texts, **names)(x, params, n_heads)


@modern_layer.mistake("turns the values, too")
def turned_values(x, params, n_heads):
    """Your values are turned. Only queries and keys turn, because their product should depend on the distance. What a
    word says does not depend on its place."""
    value = 'split_heads(normed @ weights["w_value"], n_groups)'
    return changed(x, params, n_heads, texts=[(value, f"rotate({value}, positions)")])


wrong("no_turn", changed, rotate=lambda rows, positions: rows)("""
    turns nothing
    You use queries and keys without turning them. Then the layer cannot tell in which order the tokens stand.""")


@modern_layer.mistake("turns the queries alone")
def queries_alone(x, params, n_heads):
    """Your keys are not turned. The product of a turned query and a turned key depends on their distance; with a key at
    rest, it depends only on the query's place."""
    key = 'split_heads(normed @ weights["w_key"], n_groups)'
    return changed(x, params, n_heads, texts=[(f"rotate({key}, positions)", key)])


@modern_layer.mistake("turns before it splits")
def turned_whole(x, params, n_heads):
    """You turn the whole row before you split it into heads. Then each head gets other angles, and the first heads turn
    fast, the last ones slowly. Split first, and turn each head."""
    slips = [
        (
            f'rotate(split_heads(normed @ weights["{name}"], {n}), positions)',
            f'split_heads(rotate(normed @ weights["{name}"], positions), {n})',
        )
        for name, n in (("w_query", "n_heads"), ("w_key", "n_groups"))
    ]
    return changed(x, params, n_heads, texts=slips)


turned_halves = wrong("turned_halves", changed, rotate=halves)("""
    pairs column i with column i + d/2
    You turn column i with the column half a head further, as some programs do. This book turns neighbours, columns 2i
    and 2i + 1. Trained weights fit only one of the two.""")


@modern_layer.mistake("counts positions from 1 for the queries alone")
def shifted_queries(x, params, n_heads):
    """Your queries stand one position later than your keys. Both have the positions 0, 1, 2, ..."""
    query = 'split_heads(normed @ weights["w_query"], n_heads)'
    return changed(x, params, n_heads, texts=[(f"rotate({query}, positions)", f"rotate({query}, positions + 1)")])


@modern_layer.mistake("lets the heads of a group take turns")
def interleaved(x, params, n_heads):
    """In your layer head h reads the keys of group h modulo n_groups. Neighbouring heads share a group: heads 0, 1, ...
    read the first one. `np.tile` and `concatenate` copy in a different order from `np.repeat`."""
    copies = "np.repeat(shared, n_heads // n_groups, axis=-3)"
    return changed(x, params, n_heads, texts=[(copies, "np.concatenate([shared] * (n_heads // n_groups), axis=-3)")])


wrong(
    "divided_by_the_groups",
    changed,
    texts=[("np.repeat(shared, n_heads // n_groups, axis=-3)", "shared[..., np.arange(n_heads) // n_groups, :, :]")],
)("""
    divides the number of a head by n_groups
    In your layer, head h reads the keys of group h // n_groups. Divide h by the number of heads in a group, not by the
    number of groups.""")
wrong("sees_next", changed, causal_mask=lambda length: np.tri(length, k=1, dtype=bool))("""
    sees the next token
    A token of your layer sees the one after it. The mask hides everything *above* the diagonal.""")
wrong("no_mask", changed, causal_mask=lambda length: np.ones((length, length), bool))("""
    has no mask
    Tokens of your layer see later ones. A model that predicts the next token must not see it.""")
wrong("hides_itself", changed, causal_mask=lambda length: np.tri(length, k=-1, dtype=bool))("""
    does not see itself
    A token of your layer does not see itself. The mask allows the diagonal.""")
wrong("undivided", changed, texts=[("attention(queries,", "attention(queries * queries.dtype.type(d_key**0.5),")])("""
    does not divide the scores
    Your scores are not divided by the root of d_key.""")
wrong(
    "divided_by_width",
    changed,
    texts=[("attention(queries,", "attention(queries * queries.dtype.type(n_heads**-0.5),")],
)("""
    divides the scores by the root of d_model
    You divide the scores by the root of d_model. They are sums over one head's d_key numbers.""")
wrong(
    "divided_by_heads",
    changed,
    texts=[("attention(queries,", "attention(queries * queries.dtype.type((d_key / n_heads) ** 0.5),")],
)("""
    divides the scores by the root of the number of heads
    You divide the scores by the root of n_heads. Each is a sum of d_key products: divide it by the root of d_key.""")
wrong("multiplied", changed, texts=[("attention(queries,", "attention(queries * queries.dtype.type(d_key),")])("""
    multiplies the scores by the root of d_key
    You multiply the scores by the root of d_key, or divide them by its inverse. Divide them by the root itself.""")
wrong("added_to_normed", changed, texts=[("hidden = x + merged", "hidden = normed + merged")])("""
    adds to the normalised rows
    You add the attention's output to the *normalised* rows. The stream goes on as it came: add it to x.""")
wrong("thought_added_to_normed", changed, texts=[("hidden + update,", "normed_hidden + update,")])("""
    adds the feed-forward to its normalised rows
    You add the feed-forward's output to the rows that the second norm made. Add it to the rows before this norm.""")
wrong("no_first_sum", changed, texts=[("hidden = x + merged", "hidden = merged")])("""
    forgets to add x
    The attention's output replaces x in your layer. Add it to x.""")
wrong("no_second_sum", changed, texts=[("hidden + update,", "update,")])("""
    forgets the second sum
    Your layer returns only the feed-forward's output. Add it to the rows before the second norm.""")
wrong("second_sum_with_x", changed, texts=[("hidden + update,", "x + update,")])("""
    adds x twice
    You add the feed-forward's output to x, so the attention's output is lost. Add it to the sum of both.""")
wrong("first_norm_forgotten", changed, texts=[('normed @ weights["', 'x @ weights["')])("""
    does not normalise before the attention
    The attention reads x itself in your layer. It reads the normalised rows.""")
wrong("second_norm_forgotten", changed, texts=[("swiglu(normed_hidden,", "swiglu(hidden,")])("""
    does not normalise before the feed-forward
    The feed-forward reads the stream itself in your layer. It reads the normalised rows.""")


wrong("with_layer_norm", changed, rms_norm=lambda x, gain: layer_norm(x, gain, np.zeros_like(gain)))("""
    subtracts the mean of each row
    Your norms subtract the mean, as layer norm does. RMSNorm only divides by the root of the mean square.""")
wrong("gain_plus_one", changed, rms_norm=lambda x, gain: reference.rms_norm(x, 1 + gain))("""
    adds one to the gains
    You multiply the normalised rows by 1 + gain, as models do whose gains begin at zero. These gains begin at one:
    multiply by the gain itself.""")
wrong("eps_of_1e-6", changed, rms_norm=lambda x, gain: reference.rms_norm(x, gain, 1e-6))("""
    uses another eps
    The eps of your norms is 1e-6, as in some models. Keep the default of `rms_norm`, 1e-5.""")


@modern_layer.mistake("exchanges the two gains")
def gains_exchanged(x, params, n_heads):
    """You use each gain for the other norm."""
    exchanged = params | {"norm_attention": params["norm_feed_forward"], "norm_feed_forward": params["norm_attention"]}
    return reference.modern_layer(x, exchanged, n_heads)


@modern_layer.mistake("uses one gain twice")
def one_gain(x, params, n_heads):
    """Both norms of your layer use norm_attention. The second one has its own gain."""
    return reference.modern_layer(x, params | {"norm_feed_forward": params["norm_attention"]}, n_heads)


@modern_layer.mistake("normalises after the sums")
def post_norm(x, params, n_heads):
    """You normalise the sums, as in 2017. Here each sub-layer reads a normalised copy, and nothing normalises the
    stream itself."""
    slips = (
        ('normed @ weights["', 'x @ weights["'),
        (
            'hidden = x + merged @ weights["w_output"]',
            'hidden, _ = rms_norm(x + merged @ weights["w_output"], params["norm_attention"])',
        ),
        ("swiglu(normed_hidden,", "swiglu(hidden,"),
        ("hidden + update,", 'rms_norm(hidden + update, params["norm_feed_forward"])[0],'),
    )
    return changed(x, params, n_heads, texts=slips)


wrong("no_output_matrix", changed, texts=[('merged @ weights["w_output"]', "merged")])("""
    forgets the output matrix
    You add the merged heads to x. Multiply them by w_output first, which mixes the heads.""")
wrong("merged_unswapped", changed, merge_heads=lambda heads: heads.reshape(*heads.shape[:-3], heads.shape[-2], -1))("""
    merges the heads without swapping back
    You reshape the heads to rows while the axis of heads stands before the axis of positions, so positions mix. Swap
    the two axes first, as `merge_heads` does.""")
wrong("copies_in_cache", changed, texts=[("keys, values, attended", "copied_keys, copied_values, attended")])("""
    keeps the copies in its cache
    The output is right, but your cache holds the copied keys and values. `grouped_query_attention_backward` needs them
    with an axis of groups.""")


@modern_layer.mistake("keeps the keys before their turn")
def cache_before_turn(x, params, n_heads):
    """The output is right, but your cache holds queries and keys from before you turned them. The gradient of the
    scores needs those that were multiplied."""
    output, (norm, (normed, (queries, keys, values, attended), merged, weights), *rest) = reference.modern_layer(
        x, params, n_heads
    )
    back = -np.arange(x.shape[-2])
    heads = rotate(queries, back), rotate(keys, back), values, attended
    return output, (norm, (normed, heads, merged, weights), *rest)


@modern_layer.equivalent
def turned_after_copying(x, params, n_heads):
    """Copy the keys first, turn all heads, and mask by adding -inf."""
    weights, n_groups = params["attention"], params["attention"]["w_key"].shape[-1] * n_heads // x.shape[-1]
    normed, norm_attention = reference.rms_norm(x, params["norm_attention"])
    positions = np.arange(x.shape[-2])
    queries = rotate(reference.split_heads(normed @ weights["w_query"], n_heads), positions)
    keys, values = (reference.split_heads(normed @ weights[name], n_groups) for name in ("w_key", "w_value"))
    owner = np.arange(n_heads) * n_groups // n_heads
    scores = (
        queries
        @ rotate(keys[..., owner, :, :], positions).swapaxes(-1, -2)
        / np.sqrt(queries.shape[-1]).astype(queries.dtype)
    )
    scores = scores + np.triu(np.full((len(positions),) * 2, -np.inf, queries.dtype), 1)
    attended = np.exp(scores - scores.max(axis=-1, keepdims=True))
    attended = attended / attended.sum(axis=-1, keepdims=True)
    merged = reference.merge_heads(attended @ values[..., owner, :, :])
    hidden = x + merged @ weights["w_output"]
    normed_hidden, norm_feed_forward = reference.rms_norm(hidden, params["norm_feed_forward"])
    update, feed_forward = reference.swiglu(normed_hidden, params["feed_forward"])
    heads = queries, rotate(keys, positions), values, attended
    return hidden + update, (norm_attention, (normed, heads, merged, weights), norm_feed_forward, feed_forward)


@modern_layer.equivalent
def group_by_group(x, params, n_heads):
    """Attend for one group of heads after the other, and put the results side by side."""
    weights, d_key = params["attention"], x.shape[-1] // n_heads
    normed, norm_attention = reference.rms_norm(x, params["norm_attention"])
    n_groups = weights["w_key"].shape[-1] // d_key
    positions, mask = np.arange(x.shape[-2]), reference.causal_mask(x.shape[-2])
    queries = rotate(reference.split_heads(np.matmul(normed, weights["w_query"]), n_heads), positions)
    keys = rotate(reference.split_heads(np.matmul(normed, weights["w_key"]), n_groups), positions)
    values = reference.split_heads(np.matmul(normed, weights["w_value"]), n_groups)
    heads, attended = [], []
    for h in range(n_heads):
        g = h // (n_heads // n_groups)
        head, (*_, row) = reference.masked_attention(
            queries[..., h, :, :], keys[..., g, :, :], values[..., g, :, :], mask
        )
        heads.append(head)
        attended.append(row)
    merged = np.concatenate(heads, axis=-1)
    hidden = np.matmul(merged, weights["w_output"]) + x
    normed_hidden, norm_feed_forward = reference.rms_norm(hidden, params["norm_feed_forward"])
    update, feed_forward = reference.swiglu(normed_hidden, params["feed_forward"])
    cache = queries, keys, values, np.stack(attended, axis=-3)
    return hidden + update, (norm_attention, (normed, cache, merged, weights), norm_feed_forward, feed_forward)


@modern_layer.equivalent
def by_complex_numbers(x, params, n_heads):
    """Turn each pair of columns as a complex number."""

    def turned(rows, positions):
        pairs = rows[..., 0::2] + 1j * rows[..., 1::2]
        angles = np.outer(positions, 10000.0 ** (-np.arange(0, rows.shape[-1], 2) / rows.shape[-1]))
        pairs = pairs * np.exp(1j * angles)
        return np.stack([pairs.real, pairs.imag], axis=-1).reshape(rows.shape).astype(rows.dtype)

    return changed(x, params, n_heads, rotate=turned)
