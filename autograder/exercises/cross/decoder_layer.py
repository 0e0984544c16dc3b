import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.cross.shared import STEPS, layered, to_decode
from autograder.exercises.multihead.multi_head_attention import all_by_einsum, one_head_after_the_other
from autograder.exercises.residual.shared import row_for_row, unit_by_unit, with_einsum
from solutions import cross as reference
from solutions.dropout import dropout
from solutions.multihead import multi_head_attention
from solutions.residual import add_norm, feed_forward, layer_norm

decoder_layer = Exercise(
    reference.decoder_layer, outputs={"output": "... T d_model", "cache": UNJUDGED}, section="The decoder layer"
)
wrong = short_mistakes(decoder_layer)


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


wrong("first_norm_twice", layered, norms={"feed_forward": "attention"})("""
    never uses the third norm
    You use norm_attention after the feed-forward as well, and never norm_feed_forward. Fresh norms are all alike, so a
    comparison with a fresh layer passes. After training it fails, and the third norm never learns.""")
wrong("norms_one_late", layered, norms={"cross_attention": "attention", "feed_forward": "cross_attention"})("""
    uses the first norm twice, and the third never
    The second sum goes through norm_attention again, and the third through norm_cross_attention, so you never use
    norm_feed_forward. Fresh norms are all alike, so a comparison with a fresh layer passes; after training it fails. (A
    published decoder has this bug.)""")
wrong("first_norm_for_cross", layered, norms={"cross_attention": "attention"})("""
    uses the first norm for the cross-attention too
    You use norm_attention after both attentions, and never norm_cross_attention. Each sub-layer has a norm of its
    own.""")
wrong("memory_added", layered, adds_to={"cross_attention": "memory"})("""
    adds the memory, not the stream
    After the cross-attention you add the memory to its output. The stream runs through the decoder: add the
    sub-layer's output to the array that made the queries, the output of the first Add & Norm. The memory may have
    another length.""")
wrong("cross_first", layered, steps=(STEPS[1], STEPS[0], STEPS[2]))("""
    puts cross-attention before self-attention
    Your layer reads the source before it has read what the decoder wrote. A query for the source needs to know what
    came before, so self-attention comes first. All shapes agree either way.""")
wrong("thinks_too_early", layered, steps=(STEPS[0], STEPS[2], STEPS[1]))("""
    puts the feed-forward before the cross-attention
    The feed-forward is between the two attentions. Put it last, after both attentions.""")
wrong("no_cross", layered, steps=(STEPS[0], STEPS[2]))("""
    leaves out the cross-attention
    You never use the memory, so this is an encoder layer. The decoder would write without reading the source.""")
wrong("layer_keys_from_x", layered, keys="x")("""
    takes the memory's keys from x -> Who asks, and who answers
    In the cross-attention, you make the keys from the decoder's stream. Make both keys and values from the memory.""")
wrong("layer_values_from_x", layered, values="x")("""
    takes the memory's values from x -> Who asks, and who answers
    In the cross-attention, you make the values from the decoder's stream, so the decoder searches the source but reads
    itself. Make both keys and values from the memory.""")
wrong("layer_without_memory_mask", layered, memory_mask=None)("""
    leaves out the memory mask -> The memory mask
    memory_mask does not reach the cross-attention, so the decoder reads the padding of the source.""")
wrong("layer_without_self_mask", layered, self_mask=None)("""
    leaves out the causal mask
    self_mask does not reach the self-attention, so the decoder sees the words that it must predict.""")
wrong("masks_exchanged", layered, masks=lambda own, over_memory: (over_memory, own))("""
    exchanges the two masks -> The memory mask
    The causal mask hides parts of the source, and the padding mask lets the decoder see its future. The causal mask is
    (T, T), the other (T, T_memory), so there is no error only if the lengths are equal.""")
wrong("attention_shared", layered, weights={"cross_attention": "attention"})("""
    uses one set of attention weights for both attentions
    The cross-attention uses the self-attention's weights. The two attentions are separate layers, each with its own
    parameters.""")
wrong("second_norm_twice", layered, norms={"feed_forward": "cross_attention"})("""
    uses the second norm twice, and the third never
    The third sum goes through norm_cross_attention, and you never use norm_feed_forward. Fresh norms are all alike, so
    the mistake shows only after training. Each sub-layer has a norm of its own.""")


@decoder_layer.mistake("makes the queries from the self-attention's output, before Add & Norm")
def asks_with_the_update(x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None):
    """You make the queries of the cross-attention from what the self-attention returned, before Add & Norm. Make them
    from the stream *after* the first Add & Norm."""
    attended, _ = multi_head_attention(x, x, x, params["attention"], n_heads, self_mask)
    x, _ = add_norm(x, attended, params["norm_attention"], rate, rng)
    recalled, _ = multi_head_attention(attended, memory, memory, params["cross_attention"], n_heads, memory_mask)
    x, _ = add_norm(x, recalled, params["norm_cross_attention"], rate, rng)
    return add_norm(x, feed_forward(x, params["feed_forward"])[0], params["norm_feed_forward"], rate, rng)


wrong("layer_memory_asks", layered, queries="memory", keys="x", values="x")("""
    lets the memory ask -> Who asks, and who answers
    In the cross-attention, you make the queries from the memory, and the keys and values from the decoder's stream.
    This runs only if both are equally long. Make the queries from the stream, and the keys and values from the
    memory.""")
wrong("no_thinking", layered, steps=STEPS[:2])("""
    leaves out the feed-forward
    The layer ends after the cross-attention. The third sub-layer is the feed-forward, with a norm of its own.""")


@decoder_layer.mistake("puts the norms before the sub-layers")
def pre_norm(x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None):
    """This is a pre-norm layer, x + sublayer(norm(x)). It is a good layer, but not the paper's. In the paper the norm
    comes after the sum, and weights trained for one kind of layer do not fit the other."""

    for name, mask in (("attention", self_mask), ("cross_attention", memory_mask), ("feed_forward", None)):
        normed, _ = layer_norm(x, **params[f"norm_{name}"])
        if name == "feed_forward":
            update, _ = feed_forward(normed, params[name])
        else:
            source = normed if name == "attention" else memory
            update, _ = multi_head_attention(normed, source, source, params[name], n_heads, mask)
        x = x + dropout(update, rate, rng)[0]
    return x, None


wrong("dropout_twice", layered, undropped="feed_forward")("""
    does not drop the feed-forward's output
    You apply dropout after the two attentions, but add the feed-forward's output whole. Dropout applies to the outputs
    of all three sub-layers.""")
wrong("residual_from_x", layered, adds_to=dict.fromkeys(STEPS, 0))("""
    adds every sub-layer's output to x
    You add each of the three outputs to the layer's input `x`. Add each sub-layer's output to what this sub-layer
    read: the cross-attention's to the stream after the first Add & Norm, the feed-forward's to the stream after the
    second.""")
wrong("stream_added_twice", layered, add=lambda x, update, *parts: add_norm(x, x + update, *parts))("""
    adds the stream twice
    You add the stream to each sub-layer's output before you call `add_norm`, which adds it once more. Pass the
    sub-layer's output as it is.""")
wrong("second_residual_from_x", layered, adds_to={"cross_attention": 0})("""
    adds the cross-attention's output to x
    You add the cross-attention's output to the layer's input `x`, so the self-attention's output affects only the
    queries. Add it to the stream after the first Add & Norm, which the cross-attention read.""")
wrong("third_residual_from_x", layered, adds_to={"feed_forward": 0})("""
    adds the feed-forward's output to x
    You add the feed-forward's output to the layer's input `x`, so the outputs of the two attentions are lost from the
    stream. Add it to the stream after the second Add & Norm, which the feed-forward read.""")
wrong("third_residual_one_early", layered, adds_to={"feed_forward": 1})("""
    adds the feed-forward's output to the stream before the cross-attention
    You add the feed-forward's output to the stream after the *first* Add & Norm, so the cross-attention's output is
    lost from the stream. Add it to the stream after the second, which the feed-forward read.""")
wrong("self_mask_over_memory", layered, masks=lambda own, over_memory: (own, own))("""
    uses the target's mask over the memory -> The memory mask
    Both attentions get self_mask. It is (T, T), so it fits the memory only if both sequences are equally long, and then
    it hides the end of the source from the first words. Pass memory_mask to the cross-attention.""")
wrong("asks_with_x", layered, reads={"cross_attention": 0})("""
    makes the queries from the layer's input -> Who asks, and who answers
    You make the queries of the cross-attention from the layer's input `x`, so the self-attention's output does not
    affect what they find in the memory. Make them from the stream after the first Add & Norm.""")
wrong("fed_before_the_memory", layered, reads={"feed_forward": 1})("""
    feeds the feed-forward with the stream before the cross-attention
    The feed-forward reads the stream after the *first* Add & Norm, so it does not see the cross-attention's output. Let
    it read the stream after the second Add & Norm.""")
wrong("fed_with_x", layered, reads={"feed_forward": 0})("""
    feeds the feed-forward with the layer's input
    The feed-forward reads the layer's input `x`, so it does not see the outputs of the two attentions. Let it read the
    stream after the second Add & Norm.""")
wrong("no_second_norm", layered, norms={"cross_attention": None})("""
    leaves out the norm after the cross-attention
    You pass the sum after the cross-attention to the feed-forward without a norm. A norm follows each of the three
    sums.""")


@decoder_layer.equivalent
def in_a_loop(*inputs, **named):
    return layered(*inputs, **named)


@decoder_layer.equivalent
def with_heads_in_turn(*inputs, **named):
    return layered(*inputs, **named, attend=one_head_after_the_other, feed=unit_by_unit)


@decoder_layer.equivalent
def with_rows_and_einsum(*inputs, **named):
    return layered(*inputs, **named, attend=all_by_einsum, feed=with_einsum, add=row_for_row)
