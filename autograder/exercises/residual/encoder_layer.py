"""encoder_layer: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from autograder.exercises.residual.add_norm import (
    no_stream,
    norm_of_stream,
    norm_of_update,
    row_for_row,
    sum_of_a_stack,
    update_enlarged_twice,
    written_out,
)
from autograder.exercises.residual.feed_forward import half_of_sum_and_size, unit_by_unit, with_einsum
from autograder.exercises.residual.shared import attend, generator, plain_norm, sentences, some_hidden, think
from solutions import residual as reference
from solutions.dropout import dropout

encoder_layer = Exercise(
    reference.encoder_layer,
    outputs={"output": "... T d_model", "cache": UNJUDGED},
    section="The encoder layer",
    uses=("add_norm", "feed_forward", "layer_norm"),
)


@encoder_layer.cases("the idea", points=2)
def _(draw):
    yield "one sentence", sentences(draw)
    inputs = sentences(draw)
    fresh = {"gain": np.ones_like(inputs["x"][0]), "bias": np.zeros_like(inputs["x"][0])}
    yield "fresh norms", inputs | {"params": inputs["params"] | {"norm_attention": fresh, "norm_feed_forward": fresh}}


@encoder_layer.cases("batches and float32", points=1)
def _(draw):
    yield "one batch axis", sentences(draw, 1)
    yield "two batch axes", sentences(draw, 2)
    yield "float32", sentences(draw, 1, np.float32)


@encoder_layer.cases("masks and dropout", points=1)
def _(draw):
    inputs = sentences(draw, 1)
    yield "a causal mask", inputs | {"mask": some_hidden(inputs["x"])}
    yield "a query that sees nothing", inputs | {"mask": some_hidden(inputs["x"], empty=True)}
    yield "dropout", sentences(draw, 1) | {"rate": 0.3, "rng": generator(draw)}
    inputs = sentences(draw, 1)
    yield "a mask (T,), one row for all queries", inputs | {"mask": some_hidden(inputs["x"])[-2]}


def normed_sum(x, update, params, rate=0.0, rng=None):
    return reference.add_norm(x, update, params, rate, rng)[0]


@encoder_layer.mistake("uses the first norm twice")
def first_norm_twice(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """Both sums go through norm_attention, and norm_feed_forward is never used. Fresh norms are all alike, so a
    comparison with a fresh layer passes, but the second norm never learns."""
    params = params | {"norm_feed_forward": params["norm_attention"]}
    return reference.encoder_layer(x, params, n_heads, mask, rate, rng)


@encoder_layer.mistake("exchanges the two norms")
def norms_exchanged(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """norm_feed_forward is used after the attention and norm_attention after the feed-forward. This does not show as
    long as both are fresh."""
    other = {"norm_attention": params["norm_feed_forward"], "norm_feed_forward": params["norm_attention"]}
    return reference.encoder_layer(x, params | other, n_heads, mask, rate, rng)


@encoder_layer.mistake("takes the second residual from the layer's input")
def from_the_input(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """The feed-forward's update is added to the x that entered the *layer*. Add it to the array that the feed-forward
    read, the stream after the attention. In your code, what the attention found never reaches the sum."""
    middle = normed_sum(x, attend(x, params, n_heads, mask), params["norm_attention"], rate, rng)
    return normed_sum(x, think(middle, params), params["norm_feed_forward"], rate, rng), None


@encoder_layer.mistake("feeds the layer's input to the feed-forward")
def in_parallel(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """The feed-forward gets the x that entered the layer and never sees what the attention found. It should read the
    stream after the first Add & Norm."""
    middle = normed_sum(x, attend(x, params, n_heads, mask), params["norm_attention"], rate, rng)
    return normed_sum(middle, think(x, params), params["norm_feed_forward"], rate, rng), None


@encoder_layer.mistake("puts the norms before the sub-layers", reread="Before or after?")
def pre_norm(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """This is a pre-norm layer, x + sublayer(norm(x)). It is a good layer, but not the paper's. There the norm comes
    after the sum, and the weights of one layer do not fit the other."""
    attended = attend(plain_norm(x, params["norm_attention"]), params, n_heads, mask)
    x = x + dropout(attended, rate, rng)[0]
    thought_of = think(plain_norm(x, params["norm_feed_forward"]), params)
    return x + dropout(thought_of, rate, rng)[0], None


@encoder_layer.mistake("takes the residual from the normalised stream", reread="Before or after?")
def normalised_stream(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """You normalise first, and then add the sub-layer's output to the *normalised* x: neither post-norm, norm(x +
    f(x)), nor pre-norm, x + f(norm(x)). The stream itself is overwritten at each norm."""
    x = plain_norm(x, params["norm_attention"])
    x = x + dropout(attend(x, params, n_heads, mask), rate, rng)[0]
    x = plain_norm(x, params["norm_feed_forward"])
    return x + dropout(think(x, params), rate, rng)[0], None


@encoder_layer.mistake("normalises the stream before it is added", reread="Before or after?")
def stream_normalised_first(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """Each sub-layer gets the stream as it is, and its output is added to the *normalised* stream: norm(x) + f(x). The
    sum is never normalised. The paper's order is norm(x + f(x)): first the sum, then the norm."""
    x = norm_of_stream(x, attend(x, params, n_heads, mask), params["norm_attention"], rate, rng)[0]
    return norm_of_stream(x, think(x, params), params["norm_feed_forward"], rate, rng)


@encoder_layer.mistake("puts the feed-forward before the attention")
def thinks_first(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """The feed-forward comes before the attention. The order is attention, then feed-forward: first gather information
    from the other positions, then process it."""
    x = normed_sum(x, think(x, params), params["norm_feed_forward"], rate, rng)
    return normed_sum(x, attend(x, params, n_heads, mask), params["norm_attention"], rate, rng), None


@encoder_layer.mistake("leaves out the residual around attention", reread="Add and norm")
def attention_without_stream(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """The stream stops at the attention: its output alone is normalised, without x. Each position then loses its own
    content."""
    middle = no_stream(x, attend(x, params, n_heads, mask), params["norm_attention"], rate, rng)[0]
    return normed_sum(middle, think(middle, params), params["norm_feed_forward"], rate, rng), None


@encoder_layer.mistake("leaves out the residual around the feed-forward", reread="Add and norm")
def thinking_without_stream(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """The first sum is there, but the second is not: the feed-forward's output alone is normalised. Each sub-layer has
    a residual connection."""
    middle = normed_sum(x, attend(x, params, n_heads, mask), params["norm_attention"], rate, rng)
    return no_stream(middle, think(middle, params), params["norm_feed_forward"], rate, rng)[0], None


@encoder_layer.mistake("ignores the mask")
def mask_ignored(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """The mask does not reach the attention, so words attend to padding. This does not show until a batch contains
    sentences of different lengths."""
    return reference.encoder_layer(x, params, n_heads, None, rate, rng)


@encoder_layer.mistake("drops the attention's output only", reread="Dropout")
def dropout_once(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """You add the feed-forward's output whole. Dropout applies to both outputs, first the attention's, then the
    feed-forward's."""
    x = normed_sum(x, attend(x, params, n_heads, mask), params["norm_attention"], rate, rng)
    return normed_sum(x, think(x, params), params["norm_feed_forward"]), None


@encoder_layer.mistake("does not drop", reread="Dropout")
def layer_without_dropout(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """`rate` and `rng` do not reach the two sums, so nothing is ever dropped."""
    return reference.encoder_layer(x, params, n_heads, mask)


@encoder_layer.mistake("drops the feed-forward's output only", reread="Dropout")
def dropout_after_thinking(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """You add the attention's output whole. Dropout applies to both outputs, first the attention's, then the
    feed-forward's."""
    x = normed_sum(x, attend(x, params, n_heads, mask), params["norm_attention"])
    return normed_sum(x, think(x, params), params["norm_feed_forward"], rate, rng), None


@encoder_layer.mistake("scales what dropout keeps twice", reread="Dropout")
def dropout_scaled_twice(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """You divide what dropout keeps by 1 - rate twice. `add_norm` already drops and scales: give it the sub-layer's
    output as it is. Without dropout the two agree."""
    x, _ = update_enlarged_twice(x, attend(x, params, n_heads, mask), params["norm_attention"], rate, rng)
    return update_enlarged_twice(x, think(x, params), params["norm_feed_forward"], rate, rng)


@encoder_layer.mistake("feeds the attention's output to the feed-forward, before Add & Norm")
def thinks_about_the_update(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """The feed-forward gets what the attention returned, not yet added to the stream and not yet normalised. It should
    read the stream *after* the first Add & Norm."""
    attended = attend(x, params, n_heads, mask)
    middle = normed_sum(x, attended, params["norm_attention"], rate, rng)
    return normed_sum(middle, think(attended, params), params["norm_feed_forward"], rate, rng), None


@encoder_layer.mistake("normalises the updates, not the sums", reread="Add and norm")
def norms_of_updates(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """Each sub-layer's output is normalised, and then added: x + norm(f(x)). The paper's layer is norm(x + f(x)), the
    norm after the sum."""
    x, _ = norm_of_update(x, attend(x, params, n_heads, mask), params["norm_attention"], rate, rng)
    return norm_of_update(x, think(x, params), params["norm_feed_forward"], rate, rng)


@encoder_layer.mistake("adds the stream twice", reread="Add and norm")
def stream_added_twice(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """You add the stream to each sub-layer's output before you call `add_norm`, which adds it once more. Hand the
    sub-layer's output over as it is."""
    x = normed_sum(x, x + attend(x, params, n_heads, mask), params["norm_attention"], rate, rng)
    return normed_sum(x, x + think(x, params), params["norm_feed_forward"], rate, rng), None


@encoder_layer.mistake("adds the stream twice around the attention", reread="Add and norm")
def stream_twice_in_front(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """You add the stream to the attention's output before you call `add_norm`, which adds it once more. The
    feed-forward is right. Hand the attention's output over as it is."""
    x = normed_sum(x, x + attend(x, params, n_heads, mask), params["norm_attention"], rate, rng)
    return normed_sum(x, think(x, params), params["norm_feed_forward"], rate, rng), None


@encoder_layer.mistake("adds the stream twice around the feed-forward", reread="Add and norm")
def stream_twice_at_the_end(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """You add the stream to the feed-forward's output before you call `add_norm`, which adds it once more. The
    attention is right. Hand the feed-forward's output over as it is."""
    x = normed_sum(x, attend(x, params, n_heads, mask), params["norm_attention"], rate, rng)
    return normed_sum(x, x + think(x, params), params["norm_feed_forward"], rate, rng), None


@encoder_layer.mistake("leaves out the first norm", reread="Add and norm")
def without_first_norm(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """The sum after the attention goes on as it is, and only the last sum is normalised. Each sum has a norm."""
    x = x + dropout(attend(x, params, n_heads, mask), rate, rng)[0]
    return normed_sum(x, think(x, params), params["norm_feed_forward"], rate, rng), None


@encoder_layer.mistake("leaves out the second norm", reread="Add and norm")
def without_second_norm(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """The layer ends on a sum: its output is not normalised. Each sum has a norm."""
    x = normed_sum(x, attend(x, params, n_heads, mask), params["norm_attention"], rate, rng)
    return x + dropout(think(x, params), rate, rng)[0], None


@encoder_layer.equivalent
def layer_written_out(x, params, n_heads, mask=None, rate=0.0, rng=None):
    for part, norm in (("attention", "norm_attention"), ("feed_forward", "norm_feed_forward")):
        update = attend(x, params, n_heads, mask) if part == "attention" else unit_by_unit(x, params[part])[0]
        x, _ = written_out(x, update, params[norm], rate, rng)
    return x, None


@encoder_layer.equivalent
def layer_by_rows(x, params, n_heads, mask=None, rate=0.0, rng=None):
    middle, _ = row_for_row(x, attend(x, params, n_heads, mask), params["norm_attention"], rate, rng)
    update, _ = with_einsum(middle, params["feed_forward"])
    return row_for_row(middle, update, params["norm_feed_forward"], rate, rng)


@encoder_layer.equivalent
def layer_by_stacks(x, params, n_heads, mask=None, rate=0.0, rng=None):
    mask = np.True_ if mask is None else mask
    everyone = np.broadcast_to(mask, (*x.shape[:-1], x.shape[-2]))
    middle, _ = sum_of_a_stack(x, attend(x, params, n_heads, everyone), params["norm_attention"], rate, rng)
    update, _ = half_of_sum_and_size(middle, params["feed_forward"])
    return sum_of_a_stack(middle, update, params["norm_feed_forward"], rate, rng)
