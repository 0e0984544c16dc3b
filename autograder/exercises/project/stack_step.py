import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from solutions import project as reference
from solutions.attention import attention
from solutions.backward import linear
from solutions.heads import merge_heads
from solutions.model import unembed
from solutions.multihead import split_heads
from solutions.parameters import initialise, map_tree
from solutions.position import positional_embedding
from solutions.residual import add_norm, feed_forward, layer_norm

stack_step = Exercise(
    reference.stack_step,
    outputs={"logits": "N vocab", "past": ""},
    section="Remember what does not change",
    order=("past", "logits"),
)
wrong = short_mistakes(stack_step)


def inputs_of(draw, t, n_layers=2, n_heads=2, dtype=np.float64):
    """Draw a step after t tokens, with the keys and values of a real text."""
    n_texts, vocab = draw.sizes(2, low=3, high=9)
    full = initialise(draw.rng, {"shared": vocab}, 2 * n_heads * draw.size(1, 3), draw.size(5, 9), n_layers, 0)
    params = {"embeddings": full["embeddings"], "layers": full["encoder"]}
    params = map_tree(lambda array: (array + 0.3 * draw.normal(*array.shape)).astype(dtype), params)
    d_head = params["embeddings"]["shared"].shape[1] // n_heads
    past = [(np.zeros((n_texts, n_heads, 0, d_head), dtype),) * 2] * n_layers
    for token in draw.tokens(t, n_texts, vocab=vocab):
        _, past = reference.stack_step(params, token, past, n_heads)
    return {"params": params, "token": draw.tokens(n_texts, vocab=vocab), "past": past, "n_heads": n_heads}


@stack_step.cases("the first token", points=1)
def _(draw):
    yield "two layers", inputs_of(draw, 0)
    yield "one layer", inputs_of(draw, 0, n_layers=1)


@stack_step.cases("a later token", points=3)
def _(draw):
    yield "one layer, the second token", inputs_of(draw, 1, n_layers=1)
    yield "two layers, the fourth token", inputs_of(draw, 3)
    yield "three layers, three heads", inputs_of(draw, draw.size(4, 7), n_layers=3, n_heads=3)


@stack_step.cases("single precision", points=1)
def _(draw):
    yield "a later token", inputs_of(draw, draw.size(3, 6), dtype=np.float32)


def stepped(
    params, token, past, n_heads, *,
    place=lambda t: t, join=lambda old, new: np.concatenate([old, new], axis=-2), seen=lambda kept, old: kept,
    kept=lambda joined, old: joined, source=lambda layer_input, x: layer_input, scale=1.0,
    past_of=lambda past, number: past[number], embedded=1.0,
):  # fmt: skip
    """Run a step with some of its parts replaced.

    place: from the number of older tokens to the token's place. join: joins old and new keys or values. seen: selects
    the keys or values to attend to, kept: those to return; both from the joined and the old ones. source: selects the
    rows for keys and values from the layer's input and the stack's input. scale: a factor of the query. past_of:
    selects the keys and values of a layer. embedded: a factor of the embedding."""
    table = params["embeddings"]["shared"]
    x, _ = positional_embedding(token[:, None], table, start=place(past[0][0].shape[-2]))
    first = x = x * x.dtype.type(embedded)
    new_past = []
    for number, layer in enumerate(params["layers"]):
        weights, old = layer["attention"], past_of(past, number)

        def projected(role, rows, weights=weights):
            return split_heads(linear(rows, weights[f"w_{role}"], weights[f"b_{role}"])[0], n_heads)

        query = projected("query", x) * x.dtype.type(scale)
        joined = [join(o, projected(role, source(x, first))) for o, role in zip(old, ("key", "value"), strict=True)]
        heads, _ = attention(query, *(seen(j, o) for j, o in zip(joined, old, strict=True)))
        attended, _ = linear(merge_heads(heads), weights["w_output"], weights["b_output"])
        x = add_norm(x, attended, layer["norm_attention"])[0]
        thought, _ = feed_forward(x, layer["feed_forward"])
        x = add_norm(x, thought, layer["norm_feed_forward"])[0]
        new_past.append(tuple(kept(j, o) for j, o in zip(joined, old, strict=True)))
    return unembed(x[:, 0], table)[0], new_past


wrong("first_place", stepped, place=lambda t: 0)("""
    gives every token the first place
    Your token always has the encoding of place 0. The place is the number of tokens before it, which is the length of
    the keys in `past`.""")
wrong("one_too_far", stepped, place=lambda t: t + 1)("""
    is one place too far
    Your places are one too large. With t tokens before it, the new token has place t, since the first has place 0.""")


@stack_step.mistake("does not see itself")
def not_itself(params, token, past, n_heads):
    """The new token attends only to the older ones. A causal mask lets each position see itself, too: append its key
    and value first, then attend."""
    if past[0][0].shape[-2] == 0:
        return stepped(params, token, past, n_heads)
    return stepped(params, token, past, n_heads, seen=lambda joined, old: old)


wrong("only_itself", stepped, seen=lambda joined, old: joined[..., -1:, :])("""
    sees nothing but itself
    The new token attends only to itself, although you return the older keys and values. Attend to all of them.""")
forgets = wrong("forgets", stepped, kept=lambda joined, old: joined[..., -1:, :])("""
    forgets the older tokens
    You return only the keys and values of the newest token, so the next step has no past. Return the older keys and
    values, followed by the new ones.""")
wrong("nothing_new", stepped, kept=lambda joined, old: old)("""
    returns the past as it was
    Your logits are right, but the past lacks the new token. The next step would not see the token, and would give its
    place to the next token.""")
wrong("in_front", stepped, join=lambda old, new: np.concatenate([new, old], axis=-2))("""
    puts the new token in front
    You put the new keys and values in front of the older ones. The logits are the same, since attention ignores the
    order of keys, but the exercise asks for the past in the order of the text.""")


@stack_step.mistake("exchanges keys and values")
def exchanged(params, token, past, n_heads):
    """You swap keys and values in the past that you return. Each pair is (keys, values)."""
    logits, new_past = stepped(params, token, past, n_heads)
    return logits, [(values, keys) for keys, values in new_past]


wrong("first_layer", stepped, past_of=lambda past, number: past[0])("""
    uses the keys of the first layer in every layer
    Every layer attends to the keys and values of the first one. Each layer has its own, since its input differs: go
    through the layers and `past` together.""")
wrong("from_embedding", stepped, source=lambda layer_input, first: first)("""
    makes keys and values from the embedding
    Your keys and values of the later layers come from the embedding. Each layer makes them from its own input, as it
    makes the query.""")


@stack_step.mistake("scales the scores twice")
def scaled_twice(params, token, past, n_heads):
    """You divide the queries by the root of d_head, and `attention` divides the scores by it again. Pass the queries as
    they are."""
    d_head = past[0][0].shape[-1]
    return stepped(params, token, past, n_heads, scale=d_head**-0.5)


@stack_step.equivalent
def part_by_part(params, token, past, n_heads):
    return stepped(params, token, past, n_heads)


@stack_step.equivalent
def with_room(params, token, past, n_heads):
    """Make room for the whole text first, and write the new rows into it."""

    def join(old, new):
        room = np.zeros((*old.shape[:2], old.shape[2] + 1, old.shape[3]), old.dtype)
        room[:, :, :-1] = old
        room[:, :, -1:] = new
        return room

    return stepped(params, token, past, n_heads, join=join)


@stack_step.equivalent
def by_einsum(params, token, past, n_heads):
    """Compute the attention of one query by hand."""
    table = params["embeddings"]["shared"]
    x = positional_embedding(token[:, None], table, start=past[-1][1].shape[2])[0]
    new_past = []
    for layer, (keys, values) in zip(params["layers"], past, strict=True):
        w = layer["attention"]
        q, k, v = (split_heads(x @ w[f"w_{r}"] + w[f"b_{r}"], n_heads) for r in ("query", "key", "value"))
        keys, values = np.append(keys, k, axis=2), np.append(values, v, axis=2)
        scores = np.einsum("nhd,nhtd->nht", q[:, :, 0], keys) / np.sqrt(keys.dtype.type(keys.shape[-1]))
        strengths = np.exp(scores - scores.max(axis=-1, keepdims=True))
        seen = np.einsum("nht,nhtd->nhd", strengths / strengths.sum(axis=-1, keepdims=True), values)
        attended = seen.reshape(len(seen), 1, -1) @ w["w_output"] + w["b_output"]
        x = layer_norm(x + attended, **layer["norm_attention"])[0]
        x = layer_norm(x + feed_forward(x, layer["feed_forward"])[0], **layer["norm_feed_forward"])[0]
        new_past.append([keys, values])
    return x[:, 0] @ table.T, new_past
