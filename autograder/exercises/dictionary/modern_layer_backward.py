import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.dictionary.programs import slip
from autograder.exercises.dictionary.shared import layer
from solutions import dictionary as reference
from solutions.backward import attention_backward

modern_layer_backward = Exercise(
    reference.modern_layer_backward,
    outputs={"grad_x": "... T d_model", "grad_params": ""},
    order=("grad_params", "grad_x"),
    section="The layer backwards",
)
wrong = short_mistakes(modern_layer_backward)


def way_back(draw, *args, **sizes):
    """Return a random cotangent and the cache that the forward pass left."""
    inputs = layer(draw, *args, **sizes)
    output, cache = reference.modern_layer(**inputs)
    return {"grad_output": draw.normal(*output.shape, dtype=output.dtype), "cache": cache}


def without(cache, name):
    """Return a cache in which a matrix of the attention is zero."""
    norm, (normed, heads, merged, weights), *rest = cache
    return norm, (normed, heads, merged, weights | {name: np.zeros_like(weights[name])}), *rest


@modern_layer_backward.cases("the second half", points=2)
def _(draw):
    # With an output matrix of zeros, nothing goes back into the attention.
    for name, sizes in (("one text", {}), ("another text", {"n_groups": 2})):
        case = way_back(draw, **sizes)
        yield name, case | {"cache": without(case["cache"], "w_output")}


@modern_layer_backward.cases("the whole layer", points=4)
def _(draw):
    yield "groups of two heads", way_back(draw)
    yield "groups of three heads", way_back(draw, n_groups=2)
    yield "a group for each head", way_back(draw, n_heads=3, n_groups=3)


@modern_layer_backward.cases("batches and float32", points=2)
def _(draw):
    yield "a batch of texts", way_back(draw, 1)
    yield "two batch axes", way_back(draw, 2, n_heads=4, n_groups=2)
    yield "float32", way_back(draw, 1, np.float32, n_heads=4, n_groups=2)


def changed(grad_output, cache, *, texts=(), **names):
    """Run the reference with replaced texts, in which some names are other functions."""
    return slip(reference.modern_layer_backward, *texts, **names)(grad_output, cache)


@modern_layer_backward.mistake("does not turn the gradients back")
def no_turn_back(grad_output, cache):
    """You go on as if queries and keys had not turned, but the gradients that arrive are those of the turned arrays.
    Turn them back by the same positions."""
    return changed(grad_output, cache, rotate_backward=lambda grad, positions: grad)


wrong("turned_forwards", changed, rotate_backward=reference.rotate)("""
    turns the gradients forwards
    You turn the gradients of queries and keys by the angles of the forward pass. Backwards they turn the other way: the
    transpose of a rotation is its inverse.""")
wrong("turned_values", changed, texts=[("grad_values),", "rotate_backward(grad_values, positions)),")])("""
    turns the gradients of the values, too
    You turn the gradients of the values back. The values have not turned, so their gradients do not either.""")
wrong("queries_alone", changed, texts=[("rotate_backward(grad_keys, positions)", "grad_keys")])("""
    turns back the queries alone
    You turn the gradients of the queries back, but not those of the keys. Both had turned.""")
wrong("second_straight_path", changed, texts=[("grad_output + grad_through", "grad_through")])("""
    forgets what goes straight through the second sum
    What arrives at the middle of your layer comes only through the feed-forward. The sum also passes the gradient of
    the output on as it is.""")
wrong("first_straight_path", changed, texts=[("grad_hidden + grad_through", "grad_through")])("""
    forgets what goes straight through the first sum
    Your gradient of x comes only through the attention. The first sum also passes the gradient of the middle on as it
    is.""")
wrong(
    "both_straight_paths",
    changed,
    texts=[("grad_output + grad_through", "grad_through"), ("grad_hidden + grad_through", "grad_through")],
)("""
    forgets what goes straight through both sums
    Your gradient of x comes only through the sub-layers. At each of the two sums, a copy of the gradient also goes
    straight through.""")
wrong(
    "skips_the_middle",
    changed,
    texts=[
        ("(grad_hidden, (merged", "(grad_output, (merged"),
        ("grad_hidden + grad_through", "grad_output + grad_through"),
    ],
)("""
    starts the first half from the output's gradient
    Into the attention you send the gradient of the *output*. What arrives at the attention's output is the gradient of
    the middle, which includes what came back through the feed-forward.""")
wrong("attention_from_the_output", changed, texts=[("(grad_hidden, (merged", "(grad_output, (merged")])("""
    sends the output's gradient into the attention
    Into the attention you send the gradient of the *output*, although your gradient of x begins with that of the
    middle. Both need the gradient of the middle, which includes what came back through the feed-forward.""")
wrong("second_norm_skipped", changed, texts=[("grad_output + grad_through", "grad_output + grad_normed_hidden")])("""
    does not go back through the second norm
    What comes back from the feed-forward is the gradient of the *normalised* rows. Go back through the norm before you
    add it.""")
wrong("first_norm_skipped", changed, texts=[("grad_hidden + grad_through", "grad_hidden + grad_normed")])("""
    does not go back through the first norm
    What comes back from the attention is the gradient of the *normalised* rows. Go back through the norm before you add
    it.""")


wrong(
    "added_before_the_norm",
    changed,
    texts=[
        ("rms_norm_backward(grad_normed_hidden,", "rms_norm_backward(grad_output + grad_normed_hidden,"),
        ("grad_output + grad_through", "grad_through"),
    ],
)("""
    sends the straight path through the second norm
    You add the gradient of the output to what comes back from the feed-forward, and send the sum back through the norm.
    The straight path goes around the norm: go back through the norm first, and then add.""")


def without_path(grad_output, cache, *, name):
    """Run the reference without the gradient of the rows by one of the three matrices."""
    text = f'grad_normed + (grad_through if name != "{name}" else 0)'
    return changed(grad_output, cache, texts=[("grad_normed + grad_through", text)])


wrong("no_query_path", without_path, name="w_query")("""
    forgets the path by the queries
    The gradient of x lacks what comes back through w_query. The normalised rows were multiplied by three matrices, so
    three gradients add up.""")
wrong("no_key_path", without_path, name="w_key")("""
    forgets the path by the keys
    The gradient of x lacks what comes back through w_key. The normalised rows were multiplied by three matrices, so
    three gradients add up.""")
wrong("no_value_path", without_path, name="w_value")("""
    forgets the path by the values
    The gradient of x lacks what comes back through w_value. The normalised rows were multiplied by three matrices, so
    three gradients add up.""")


def of_groups(grad_output, cache, *, gather):
    """Run the reference with another way to gather the gradients of a group's copies."""

    def gathered(grad_output, cache):
        queries, keys, values, weights = cache
        n_groups = keys.shape[-3]
        sharing = queries.shape[-3] // n_groups
        copies = (np.repeat(shared, sharing, axis=-3) for shared in (keys, values))
        grad_queries, *grads = attention_backward(grad_output, (queries, *copies, weights))
        return grad_queries, *(
            gather(grad.reshape(*grad.shape[:-3], n_groups, sharing, *grad.shape[-2:])) for grad in grads
        )

    return changed(grad_output, cache, grouped_query_attention_backward=gathered)


wrong("averaged_groups", of_groups, gather=lambda grad: grad.mean(axis=-3))("""
    averages the gradients of a group
    The gradient of a group's keys and values is the mean over its heads. Each head used them, so the gradients of all
    heads add up.""")
wrong("first_of_group", of_groups, gather=lambda grad: grad[..., 0, :, :])("""
    takes a group's gradient from its first head
    The gradient of a group's keys and values comes only from its first head. Each head used them, so the gradients of
    all heads add up.""")


@modern_layer_backward.mistake("exchanges the gradients of the two gains")
def gains_exchanged(grad_output, cache):
    """The gradients of the two gains are under each other's names. They have the same shape, so no error tells you."""
    grad_x, grads = reference.modern_layer_backward(grad_output, cache)
    attention, feed_forward = grads["norm_attention"], grads["norm_feed_forward"]
    return grad_x, grads | {"norm_attention": feed_forward, "norm_feed_forward": attention}


@modern_layer_backward.mistake("leaves the gains without a gradient")
def gains_at_rest(grad_output, cache):
    """Your gradients of both gains are zero, so the gains would never learn. `rms_norm_backward` returns a gain's
    gradient as its second result."""
    grad_x, grads = reference.modern_layer_backward(grad_output, cache)
    return grad_x, grads | {name: np.zeros_like(grad) for name, grad in grads.items() if name.startswith("norm")}


@modern_layer_backward.mistake("exchanges the gradients of keys and values")
def keys_for_values(grad_output, cache):
    """The gradients of w_key and w_value are under each other's names. They have the same shape, so no error tells
    you."""
    grad_x, grads = reference.modern_layer_backward(grad_output, cache)
    attention = grads["attention"]
    exchanged = attention | {"w_key": attention["w_value"], "w_value": attention["w_key"]}
    return grad_x, grads | {"attention": exchanged}


wrong("merged_unswapped", changed, merge_heads=lambda heads: heads.reshape(*heads.shape[:-3], heads.shape[-2], -1))("""
    does not swap the axes when it merges
    You reshape the gradients of the heads to rows while the axis of heads stands before the axis of positions, so
    positions mix. Swap the two axes first, as `merge_heads` does.""")


@modern_layer_backward.mistake("multiplies x by the gradients of the matrices' rows")
def gradient_of_raw_rows(grad_output, cache):
    """You compute the gradients of the three matrices from the rows that came in. The matrices multiplied the
    *normalised* rows with their gain."""
    norm, (normed, heads, merged, weights), *rest = cache
    normalised, inverse_rms, gain = norm
    raw = normalised / inverse_rms
    return reference.modern_layer_backward(grad_output, (norm, (raw, heads, merged, weights), *rest))


@modern_layer_backward.mistake("forgets the gain in the matrices' gradients")
def gradient_without_gain(grad_output, cache):
    """You compute the gradients of the three matrices from the normalised rows without their gain."""
    norm, (normed, heads, merged, weights), *rest = cache
    return reference.modern_layer_backward(grad_output, (norm, (norm[0], heads, merged, weights), *rest))


@modern_layer_backward.mistake("adds up the gradients of the parts only")
def flat_names(grad_output, cache):
    """Your gradients are in one flat dict. Return them under the names of the parameters: those of the attention's
    matrices in the dict "attention", those of the feed-forward in "feed_forward"."""
    grad_x, grads = reference.modern_layer_backward(grad_output, cache)
    return grad_x, {**grads.pop("attention"), **grads.pop("feed_forward"), **grads}


@modern_layer_backward.equivalent
def each_matrix_by_itself(grad_output, cache):
    """Write out the attention, with sums over leading axes by tensordot."""
    norm_attention, (normed, (queries, keys, values, attended), merged, weights), norm_feed_forward, forward = cache
    grad_normed_hidden, grad_feed_forward = reference.swiglu_backward(grad_output, forward)
    grad_through, grad_second_gain = reference.rms_norm_backward(grad_normed_hidden, norm_feed_forward)
    grad_hidden = grad_through + grad_output
    rows = tuple(range(grad_output.ndim - 1))
    grad_heads = reference.split_heads(grad_hidden @ weights["w_output"].T, queries.shape[-3])
    sharing = queries.shape[-3] // keys.shape[-3]
    grad_weights = grad_heads @ np.repeat(values, sharing, axis=-3).swapaxes(-1, -2)
    grad_scores = attended * (grad_weights - (grad_weights * attended).sum(axis=-1, keepdims=True))
    grad_scores = grad_scores / queries.dtype.type(queries.shape[-1] ** 0.5)
    positions = np.arange(queries.shape[-2])

    def gathered(grads):
        return grads.reshape(*keys.shape[:-2], sharing, *keys.shape[-2:]).sum(axis=-3)

    parts = {
        "w_query": reference.rotate(grad_scores @ np.repeat(keys, sharing, axis=-3), -positions),
        "w_key": reference.rotate(gathered(grad_scores.swapaxes(-1, -2) @ queries), -positions),
        "w_value": gathered(attended.swapaxes(-1, -2) @ grad_heads),
    }
    parts = {name: reference.merge_heads(part) for name, part in parts.items()}
    grad_attention = {name: np.tensordot(normed, part, (rows, rows)) for name, part in parts.items()}
    grad_attention["w_output"] = np.tensordot(merged, grad_hidden, (rows, rows))
    grad_normed = sum(part @ weights[name].T for name, part in parts.items())
    grad_through, grad_first_gain = reference.rms_norm_backward(grad_normed, norm_attention)
    return grad_hidden + grad_through, {
        "norm_attention": grad_first_gain,
        "attention": grad_attention,
        "norm_feed_forward": grad_second_gain,
        "feed_forward": grad_feed_forward,
    }


@modern_layer_backward.equivalent
def three_matrices_at_once(grad_output, cache):
    """Put the three matrices side by side, and go back through all of them in one product."""
    norm_attention, (normed, heads, merged, weights), norm_feed_forward, forward = cache
    grad_normed_hidden, grad_feed_forward = reference.swiglu_backward(grad_output, forward)
    grad_through, grad_second_gain = reference.rms_norm_backward(grad_normed_hidden, norm_feed_forward)
    grad_hidden = grad_output + grad_through
    grad_merged, grad_w_output, _ = reference.linear_backward(grad_hidden, (merged, weights["w_output"]))
    positions = np.arange(heads[0].shape[-2])
    grads = reference.grouped_query_attention_backward(reference.split_heads(grad_merged, heads[0].shape[-3]), heads)
    turned = [reference.rotate_backward(grad, positions) for grad in grads[:2]] + [grads[2]]
    names = ("w_query", "w_key", "w_value")
    side_by_side = np.concatenate([weights[name] for name in names], axis=-1)
    rows = np.concatenate([reference.merge_heads(grad) for grad in turned], axis=-1)
    grad_normed, grad_all, _ = reference.linear_backward(rows, (normed, side_by_side))
    ends = np.cumsum([weights[name].shape[-1] for name in names])[:-1]
    grad_through, grad_first_gain = reference.rms_norm_backward(grad_normed, norm_attention)
    parts = dict(zip(names, np.split(grad_all, ends, axis=-1), strict=True))
    return grad_hidden + grad_through, {
        "norm_attention": grad_first_gain,
        "attention": parts | {"w_output": grad_w_output},
        "norm_feed_forward": grad_second_gain,
        "feed_forward": grad_feed_forward,
    }


@modern_layer_backward.equivalent
def text_by_text(grad_output, cache):
    """Go back through one text of a batch after the other, and add up."""
    if grad_output.ndim == 2:
        return reference.modern_layer_backward(grad_output, cache)
    norm_attention, (normed, heads, merged, weights), norm_feed_forward, (x, gate, up, params) = cache
    grad_x, total = [], None
    for i in range(len(grad_output)):
        part = (
            (norm_attention[0][i], norm_attention[1][i], norm_attention[2]),
            (normed[i], tuple(array[i] for array in heads), merged[i], weights),
            (norm_feed_forward[0][i], norm_feed_forward[1][i], norm_feed_forward[2]),
            (x[i], gate[i], up[i], params),
        )
        grad, grads = text_by_text(grad_output[i], part)
        grad_x.append(grad)
        total = grads if total is None else reference.map_tree(np.add, total, grads)
    return np.stack(grad_x), total
