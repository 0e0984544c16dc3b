"""decoder_layer: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from autograder.exercises.cross.shared import STEPS, layered, to_decode
from autograder.exercises.multihead.multi_head_attention import all_by_einsum, one_head_after_the_other
from autograder.exercises.residual.add_norm import norm_of_update, row_for_row
from autograder.exercises.residual.feed_forward import unit_by_unit, with_einsum
from solutions import cross as reference
from solutions.dropout import dropout
from solutions.multihead import multi_head_attention
from solutions.residual import add_norm, feed_forward, layer_norm

decoder_layer = Exercise(
    reference.decoder_layer,
    outputs={"output": "... T d_model", "cache": UNJUDGED},
    section="The decoder layer",
)


@decoder_layer.cases("the idea", points=3)
def _(draw):
    yield "two sequences", to_decode(draw)
    yield "two sequences of one length", to_decode(draw, equally_long=True)


@decoder_layer.cases("masks", points=1)
def _(draw):
    yield "both masks", to_decode(draw, 1, masked=True)
    yield "both masks, sequences of one length", to_decode(draw, 1, masked=True, equally_long=True)
    inputs = to_decode(draw, 1, masked=True)
    inputs["memory_mask"][0] = False
    yield "a memory that is padding throughout", inputs
    inputs = to_decode(draw, 1, masked=True)
    self_mask, memory_mask = inputs["self_mask"][1], inputs["memory_mask"][0, 0]
    yield "masks of one axis", inputs | {"self_mask": self_mask, "memory_mask": memory_mask}


@decoder_layer.cases("batches, float32 and dropout", points=1)
def _(draw):
    yield "two batch axes", to_decode(draw, 2)
    yield "float32", to_decode(draw, 1, np.float32, masked=True)
    yield "dropout", to_decode(draw, 1) | {"rate": 0.3, "rng": np.random.default_rng(draw.size(0, 10_000))}


@decoder_layer.mistake("never uses the third norm")
def first_norm_twice(*inputs, **named):
    """You use norm_attention after the feed-forward as well, and never norm_feed_forward. Fresh norms are all alike, so
    a comparison with a fresh layer passes. After training it does not, and the third norm never learns."""
    return layered(*inputs, **named, norms={"feed_forward": "attention"})


@decoder_layer.mistake("uses the first norm twice, and the third never")
def norms_one_late(*inputs, **named):
    """The second sum goes through norm_attention again, and the third through norm_cross_attention, so
    norm_feed_forward is never used. Fresh norms are all alike, so a comparison with a fresh layer passes; after
    training it does not. (A published decoder does this.)"""
    return layered(*inputs, **named, norms={"cross_attention": "attention", "feed_forward": "cross_attention"})


@decoder_layer.mistake("uses the first norm for the cross-attention too")
def first_norm_for_cross(*inputs, **named):
    """norm_attention is used after both attentions, and norm_cross_attention is never used. Each sub-layer has a norm
    of its own."""
    return layered(*inputs, **named, norms={"cross_attention": "attention"})


@decoder_layer.mistake("adds the memory, not the stream")
def memory_added(x, memory, **named):
    """After the cross-attention you add the memory to its output. The stream runs through the decoder: add the
    sub-layer's output to the array that made the queries, the output of the first Add & Norm. The memory may have
    another length."""
    streams = iter((None, memory, None))

    def add(x, update, *parts):
        stream = next(streams)
        return add_norm(x if stream is None else stream, update, *parts)

    return layered(x, memory, **named, add=add)


@decoder_layer.mistake("puts cross-attention before self-attention")
def cross_first(*inputs, **named):
    """Your layer looks at the source before it has looked at what is written. A query for the source needs to know what
    came before, so self-attention comes first. All shapes agree either way."""
    return layered(*inputs, **named, steps=(STEPS[1], STEPS[0], STEPS[2]))


@decoder_layer.mistake("puts the feed-forward before the cross-attention")
def thinks_too_early(*inputs, **named):
    """The feed-forward is between the two attentions. It comes last, after both have gathered what they need."""
    return layered(*inputs, **named, steps=(STEPS[0], STEPS[2], STEPS[1]))


@decoder_layer.mistake("leaves out the cross-attention")
def no_cross(*inputs, **named):
    """The memory is never used: this is an encoder layer. The decoder would write without reading the source."""
    return layered(*inputs, **named, steps=(STEPS[0], STEPS[2]))


@decoder_layer.mistake("takes the memory's keys from x", reread="Who asks, and who answers")
def layer_keys_from_x(*inputs, **named):
    """In the cross-attention the keys come from the decoder. Keys and values are both made from the memory."""
    return layered(*inputs, **named, keys="x")


@decoder_layer.mistake("takes the memory's values from x", reread="Who asks, and who answers")
def layer_values_from_x(*inputs, **named):
    """In the cross-attention the values come from the decoder, so it searches the source and reads itself. Keys and
    values are both made from the memory."""
    return layered(*inputs, **named, values="x")


@decoder_layer.mistake("leaves out the memory mask", reread="The memory mask")
def layer_without_memory_mask(x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None):
    """memory_mask does not reach the cross-attention, so the decoder reads the padding of the source."""
    return layered(x, memory, params, n_heads, self_mask, None, rate, rng)


@decoder_layer.mistake("leaves out the causal mask")
def layer_without_self_mask(x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None):
    """self_mask does not reach the self-attention, so the decoder sees the words that it must predict."""
    return layered(x, memory, params, n_heads, None, memory_mask, rate, rng)


@decoder_layer.mistake("exchanges the two masks", reread="The memory mask")
def masks_exchanged(x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None):
    """The causal mask hides parts of the source, and the padding mask lets the decoder see its future. One is (T, T),
    the other (T, T_memory); you can swap them only if the lengths are equal."""
    return layered(x, memory, params, n_heads, memory_mask, self_mask, rate, rng)


@decoder_layer.mistake("uses one set of attention weights for both attentions")
def attention_shared(x, memory, params, n_heads, *rest, **named):
    """The cross-attention uses the self-attention's weights. These are two layers, each with its own parameters."""
    return layered(x, memory, params | {"cross_attention": params["attention"]}, n_heads, *rest, **named)


@decoder_layer.mistake("leaves out the residual connections")
def no_residuals(*inputs, **named):
    """You normalise the updates alone, so the stream stops at every sub-layer. Add each update to the stream first."""

    def norm_only(x, update, params, rate, rng):
        return layer_norm(dropout(update, rate, rng)[0], **params)

    return layered(*inputs, **named, add=norm_only)


@decoder_layer.mistake("does not drop")
def layer_without_dropout(x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None):
    """`rate` and `rng` do not reach the three sums, so nothing is ever dropped."""
    return layered(x, memory, params, n_heads, self_mask, memory_mask)


@decoder_layer.mistake("uses the second norm twice, and the third never")
def second_norm_twice(*inputs, **named):
    """The third sum goes through norm_cross_attention, and norm_feed_forward is never used. Fresh norms are all alike,
    so the mistake shows only after training. Each sub-layer has a norm of its own."""
    return layered(*inputs, **named, norms={"feed_forward": "cross_attention"})


@decoder_layer.mistake("makes the queries from the self-attention's output, before Add & Norm")
def asks_with_the_update(x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None):
    """The queries of the cross-attention are made from what the self-attention returned, not yet added to the stream
    and not yet normalised. The stream *after* the first Add & Norm asks."""
    attended, _ = multi_head_attention(x, x, x, params["attention"], n_heads, self_mask)
    x, _ = add_norm(x, attended, params["norm_attention"], rate, rng)
    recalled, _ = multi_head_attention(attended, memory, memory, params["cross_attention"], n_heads, memory_mask)
    x, _ = add_norm(x, recalled, params["norm_cross_attention"], rate, rng)
    return add_norm(x, feed_forward(x, params["feed_forward"])[0], params["norm_feed_forward"], rate, rng)


@decoder_layer.mistake("lets the memory ask", reread="Who asks, and who answers")
def layer_memory_asks(*inputs, **named):
    """In the cross-attention the memory asks, and the decoder answers. This runs only where both are equally long. The
    decoder asks; keys and values are both made from the memory."""

    def asked(query, key, value, *rest):
        return multi_head_attention(*((query, key, value) if query is key else (key, query, query)), *rest)

    return layered(*inputs, **named, attend=asked)


@decoder_layer.mistake("leaves out the feed-forward")
def no_thinking(*inputs, **named):
    """The layer ends after the cross-attention. The third sub-layer is the feed-forward, with a norm of its own."""
    return layered(*inputs, **named, steps=STEPS[:2])


@decoder_layer.mistake("leaves out the norms")
def no_norms(*inputs, **named):
    """The three updates are added, and nothing is normalised: the stream grows from layer to layer. A norm follows each
    sum."""

    def sum_only(x, update, params, rate, rng):
        return x + dropout(update, rate, rng)[0], None

    return layered(*inputs, **named, add=sum_only)


@decoder_layer.mistake("normalises the updates, not the sums")
def norms_of_updates(*inputs, **named):
    """Each sub-layer's output is normalised, and then added: x + norm(f(x)). The paper's layer is norm(x + f(x)), the
    norm after the sum."""
    return layered(*inputs, **named, add=norm_of_update)


@decoder_layer.mistake("puts the norms before the sub-layers")
def pre_norm(x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None):
    """This is a pre-norm layer, x + sublayer(norm(x)). It is a good layer, but not the paper's. There the norm comes
    after the sum, and the weights of one layer do not fit the other."""

    for name, mask in (("attention", self_mask), ("cross_attention", memory_mask), ("feed_forward", None)):
        normed, _ = layer_norm(x, **params[f"norm_{name}"])
        if name == "feed_forward":
            update, _ = feed_forward(normed, params[name])
        else:
            source = normed if name == "attention" else memory
            update, _ = multi_head_attention(normed, source, source, params[name], n_heads, mask)
        x = x + dropout(update, rate, rng)[0]
    return x, None


@decoder_layer.mistake("does not drop the feed-forward's output")
def dropout_twice(x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None):
    """Dropout is applied after the two attentions, and the feed-forward's output is added whole. Dropout applies to the
    outputs of all three sub-layers."""

    def whole_at_the_end(x, update, norm, rate, rng):
        return add_norm(x, update, norm, rate, None if norm is params["norm_feed_forward"] else rng)

    return layered(x, memory, params, n_heads, self_mask, memory_mask, rate, rng, add=whole_at_the_end)


def added_to(*sources):
    """The layer with other residual connections.

    sources: for each sub-layer, to which stream its output is added: 0 is x, 1 the stream after the first Add & Norm.
    """

    def layer(x, *inputs, **named):
        streams = [x]

        def add(newest, update, norm, rate, rng):
            summed = add_norm(streams[sources[len(streams) - 1]], update, norm, rate, rng)
            streams.append(summed[0])
            return summed

        return layered(x, *inputs, **named, add=add)

    return layer


@decoder_layer.mistake("adds every sub-layer's output to x")
def residual_from_x(*inputs, **named):
    """Each of the three outputs is added to the layer's input `x`. A sub-layer's output goes to what that sub-layer
    read: the cross-attention's to the stream after the first Add & Norm, the feed-forward's to the stream after the
    second."""
    return added_to(0, 0, 0)(*inputs, **named)


@decoder_layer.mistake("adds the stream twice")
def stream_added_twice(*inputs, **named):
    """You add the stream to each sub-layer's output before you call `add_norm`, which adds it once more. Hand the
    sub-layer's output over as it is."""
    return layered(*inputs, **named, add=lambda x, update, *parts: add_norm(x, x + update, *parts))


@decoder_layer.mistake("adds the cross-attention's output to x")
def second_residual_from_x(*inputs, **named):
    """What the cross-attention returns is added to the layer's input `x`, so what the self-attention found is in the
    queries only. Add it to the stream after the first Add & Norm, which the cross-attention read."""
    return added_to(0, 0, 2)(*inputs, **named)


@decoder_layer.mistake("adds the feed-forward's output to x")
def third_residual_from_x(*inputs, **named):
    """What the feed-forward returns is added to the layer's input `x`, so what the two attentions found leaves the
    stream. Add it to the stream after the second Add & Norm, which the feed-forward read."""
    return added_to(0, 1, 0)(*inputs, **named)


@decoder_layer.mistake("adds the feed-forward's output to the stream before the cross-attention")
def third_residual_one_early(*inputs, **named):
    """What the feed-forward returns is added to the stream after the *first* Add & Norm, so what the cross-attention
    found leaves the stream. Add it to the stream after the second, which the feed-forward read."""
    return added_to(0, 1, 1)(*inputs, **named)


@decoder_layer.mistake("uses the target's mask over the memory", reread="The memory mask")
def self_mask_over_memory(x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None):
    """Both attentions get self_mask. It is (T, T), so it fits the memory only where both sequences are equally long,
    and there it hides the end of the source from the first words. The cross-attention gets memory_mask."""
    return layered(x, memory, params, n_heads, self_mask, self_mask, rate, rng)


@decoder_layer.mistake("scales what dropout keeps twice")
def dropout_scaled_twice(x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None):
    """You divide what dropout keeps by 1 - rate twice. `add_norm` already drops and scales: give it the sub-layer's
    output as it is."""

    def scaled_before(x, update, norm, rate, rng):
        return add_norm(x, update / (1 - rate), norm, rate, rng)

    return layered(x, memory, params, n_heads, self_mask, memory_mask, rate, rng, add=scaled_before)


def asked_with(stream, fed_with):
    """The layer in which sub-layers read other streams.

    stream, fed_with: what the cross-attention and the feed-forward read: 0 is x, 1 the stream after the first Add &
    Norm, 2 that after the second. What they return is added to the newest stream.
    """

    def layer(x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None):
        streams = [x]

        def add(update, name):
            streams.append(add_norm(streams[-1], update[0], params[f"norm_{name}"], rate, rng)[0])

        add(multi_head_attention(x, x, x, params["attention"], n_heads, self_mask), "attention")
        cross = params["cross_attention"]
        add(multi_head_attention(streams[stream], memory, memory, cross, n_heads, memory_mask), "cross_attention")
        add(feed_forward(streams[fed_with], params["feed_forward"]), "feed_forward")
        return streams[-1], None

    return layer


@decoder_layer.mistake("makes the queries from the layer's input", reread="Who asks, and who answers")
def asks_with_x(*inputs, **named):
    """The queries of the cross-attention are made from the layer's input `x`, so what the self-attention found does not
    decide what is searched in the memory. Make them from the stream after the first Add & Norm."""
    return asked_with(0, 2)(*inputs, **named)


@decoder_layer.mistake("feeds the feed-forward with the stream before the cross-attention")
def fed_before_the_memory(*inputs, **named):
    """The feed-forward reads the stream after the *first* Add & Norm, so it does not see what the cross-attention found
    in the memory. It reads the stream after the second Add & Norm."""
    return asked_with(1, 1)(*inputs, **named)


@decoder_layer.mistake("feeds the feed-forward with the layer's input")
def fed_with_x(*inputs, **named):
    """The feed-forward reads the layer's input `x`, so it sees nothing of what the two attentions found. It reads the
    stream after the second Add & Norm."""
    return asked_with(1, 0)(*inputs, **named)


@decoder_layer.equivalent
def in_a_loop(*inputs, **named):
    return layered(*inputs, **named)


@decoder_layer.equivalent
def with_heads_in_turn(*inputs, **named):
    return layered(*inputs, **named, attend=one_head_after_the_other, feed=unit_by_unit)


@decoder_layer.equivalent
def with_rows_and_einsum(*inputs, **named):
    return layered(*inputs, **named, attend=all_by_einsum, feed=with_einsum, add=row_for_row)
