import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.residual.layer_norm import by_einsum, with_var
from autograder.exercises.residual.shared import (
    attend,
    generator,
    plain_norm,
    row_for_row,
    sentences,
    some_hidden,
    think,
    unit_by_unit,
    with_einsum,
)
from solutions import residual as reference
from solutions.dropout import dropout
from solutions.residual import add_norm

encoder_layer = Exercise(
    reference.encoder_layer,
    outputs={"output": "... T d_model", "cache": UNJUDGED},
    section="The encoder layer",
)
wrong = short_mistakes(encoder_layer)


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


def layered(
    x, params, n_heads, mask=None, rate=0.0, rng=None, *,
    add=add_norm, add_first=None, add_last=None, norms=("norm_attention", "norm_feed_forward"),
    read=lambda x, attended, middle: middle, stream=lambda x, middle: middle,
):  # fmt: skip
    """Run the layer with some of its parts replaced.

    add, add_first, add_last: "Add & Norm", in both places or in one. read: what the feed-forward reads. stream: to what
    its output is added.
    """
    attended = attend(x, params, n_heads, mask)
    middle, _ = (add_first or add)(x, attended, params[norms[0]], rate, rng)
    thought = think(read(x, attended, middle), params)
    return (add_last or add)(stream(x, middle), thought, params[norms[1]], rate, rng)


def no_stream(x, update, params, rate, rng):
    return plain_norm(dropout(update, rate, rng)[0], params), None


def no_norm(x, update, params, rate, rng):
    return x + dropout(update, rate, rng)[0], None


def stream_twice(x, update, params, rate, rng):
    return add_norm(x, x + update, params, rate, rng)


def never_dropped(x, update, params, rate, rng):
    return add_norm(x, update, params)


wrong("first_norm_twice", layered, norms=("norm_attention", "norm_attention"))("""
    uses the first norm twice
    Both sums go through norm_attention, and you never use norm_feed_forward. Fresh norms are all alike, so a comparison
    with a fresh layer passes, but the second norm never learns.""")
wrong("norms_exchanged", layered, norms=("norm_feed_forward", "norm_attention"))("""
    exchanges the two norms
    You use norm_feed_forward after the attention and norm_attention after the feed-forward. This does not show as long
    as both norms are fresh.""")
wrong("from_the_input", layered, stream=lambda x, middle: x)("""
    takes the second residual from the layer's input
    You add the feed-forward's update to the x that entered the *layer*. Add it to the array that the feed-forward read,
    the stream after the attention. In your code, the attention's output reaches the layer's output only through the
    feed-forward, and not along the stream.""")
wrong("in_parallel", layered, read=lambda x, attended, middle: x)("""
    feeds the layer's input to the feed-forward
    The feed-forward gets the x that entered the layer and never sees the attention's output. It should read the stream
    after the first Add & Norm.""")
wrong("thinks_about_the_update", layered, read=lambda x, attended, middle: attended)("""
    feeds the attention's output to the feed-forward, before Add & Norm
    The feed-forward gets what the attention returned, before Add & Norm. It should read the stream *after* the first
    Add & Norm.""")
wrong("mask_ignored", layered, mask=None)("""
    ignores the mask
    The mask does not reach the attention, so words attend to padding. This does not show until a batch contains
    sentences of different lengths.""")
wrong("no_stream", layered, add=no_stream)("""
    leaves out both residual connections -> Add and norm
    You normalise what each sub-layer returns, without x. What a sub-layer did not pass on is lost, and so is the
    gradient's direct path back.""")
wrong("attention_without_stream", layered, add_first=no_stream)("""
    leaves out the residual around attention -> Add and norm
    The stream stops at the attention: you normalise its output alone, without x. Each position then loses its own
    content.""")
wrong("thinking_without_stream", layered, add_last=no_stream)("""
    leaves out the residual around the feed-forward -> Add and norm
    The first sum is there, but the second is not: you normalise the feed-forward's output alone. Each sub-layer has a
    residual connection.""")
wrong("no_norm", layered, add=no_norm)("""
    leaves out both norms -> Add and norm
    The sums are right, but you do not normalise them: the "Norm" of "Add & Norm" is missing.""")
wrong("without_first_norm", layered, add_first=no_norm)("""
    leaves out the first norm -> Add and norm
    You do not normalise the sum after the attention, only the last sum. Normalise both.""")
wrong("without_second_norm", layered, add_last=no_norm)("""
    leaves out the second norm -> Add and norm
    You do not normalise the last sum, which is the layer's output. Normalise both sums.""")
wrong("stream_added_twice", layered, add=stream_twice)("""
    adds the stream twice -> Add and norm
    You add the stream to each sub-layer's output before you call `add_norm`, which adds it once more. Pass the
    sub-layer's output as it is.""")
wrong("stream_twice_in_front", layered, add_first=stream_twice)("""
    adds the stream twice around the attention -> Add and norm
    You add the stream to the attention's output before you call `add_norm`, which adds it once more. The feed-forward
    is right. Pass the attention's output as it is.""")
wrong("stream_twice_at_the_end", layered, add_last=stream_twice)("""
    adds the stream twice around the feed-forward -> Add and norm
    You add the stream to the feed-forward's output before you call `add_norm`, which adds it once more. The attention
    is right. Pass the feed-forward's output as it is.""")
wrong(
    "norm_of_update",
    layered,
    add=lambda x, update, params, rate, rng: (x + no_stream(x, update, params, rate, rng)[0], None),
)("""
    normalises the updates only -> Add and norm
    You compute x + norm(update) after each sub-layer. In the paper's order the norm comes last, after the sum: norm(x +
    update).""")
wrong(
    "norm_of_stream",
    layered,
    add=lambda x, update, params, rate, rng: no_norm(plain_norm(x, params), update, params, rate, rng),
)("""
    normalises the stream only -> Add and norm
    You compute norm(x) + update after each sub-layer: you normalise the stream before you add the update. Normalise the
    *sum*.""")
wrong("never_drops", layered, add=never_dropped)("""
    does not drop -> Dropout
    You do not use `rate` and `rng`, so nothing is ever dropped. Pass them to both sums.""")
wrong("dropout_once", layered, add_last=never_dropped)("""
    drops the attention's output only -> Dropout
    You add the feed-forward's output whole. Dropout applies to both outputs, first the attention's, then the
    feed-forward's.""")
wrong("dropout_after_thinking", layered, add_first=never_dropped)("""
    drops the feed-forward's output only -> Dropout
    You add the attention's output whole. Dropout applies to both outputs, first the attention's, then the
    feed-forward's.""")
wrong(
    "drops_the_sum",
    layered,
    add=lambda x, update, params, rate, rng: (plain_norm(dropout(x + update, rate, rng)[0], params), None),
)("""
    drops the stream too -> Dropout
    You apply dropout to the sums, so the stream itself loses entries, and more entries with each layer. Drop only the
    updates. Without dropout the two agree.""")
wrong(
    "drops_the_stream",
    layered,
    add=lambda x, update, params, rate, rng: add_norm(dropout(x, rate, rng)[0], update, params),
)("""
    drops the stream instead of the updates -> Dropout
    You drop entries of x and leave the updates whole. Dropout may drop entries of an update, but the stream must arrive
    whole.""")
wrong(
    "drops_after", layered, add=lambda x, update, params, rate, rng: dropout(plain_norm(x + update, params), rate, rng)
)("""
    drops after the norms -> Dropout
    Your dropout comes last, after sum and norm. The paper applies it to the output of each sub-layer, *before* the
    sum.""")


@encoder_layer.mistake("enlarges the updates twice", reread="Dropout")
def update_enlarged_twice(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """You divide what dropout keeps of an update by 1 - rate once more. `dropout` has already divided it, to make up
    for what it drops. Without dropout the two agree."""
    factor = 1 if rng is None else 1 / (1 - rate)
    return layered(
        x, params, n_heads, mask, rate, rng, add=lambda x, update, *rest: add_norm(x, factor * update, *rest)
    )


@encoder_layer.mistake("puts the norms before the sub-layers", reread="Before or after?")
def pre_norm(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """This is a pre-norm layer, x + sublayer(norm(x)). It is a good layer, but not the paper's. In the paper the norm
    comes after the sum, and weights trained for one kind of layer do not fit the other."""
    attended = attend(plain_norm(x, params["norm_attention"]), params, n_heads, mask)
    x = x + dropout(attended, rate, rng)[0]
    thought_of = think(plain_norm(x, params["norm_feed_forward"]), params)
    return x + dropout(thought_of, rate, rng)[0], None


@encoder_layer.mistake("takes the residual from the normalised stream", reread="Before or after?")
def normalised_stream(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """You normalise first, and then add the sub-layer's output to the *normalised* x. This is neither post-norm, norm(x
    + f(x)), nor pre-norm, x + f(norm(x)). Each norm overwrites the stream itself."""
    x = plain_norm(x, params["norm_attention"])
    x = x + dropout(attend(x, params, n_heads, mask), rate, rng)[0]
    x = plain_norm(x, params["norm_feed_forward"])
    return x + dropout(think(x, params), rate, rng)[0], None


@encoder_layer.mistake("puts the feed-forward before the attention")
def thinks_first(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """The feed-forward comes before the attention. The order is attention, then feed-forward: first gather information
    from the other positions, then process it."""
    x, _ = add_norm(x, think(x, params), params["norm_feed_forward"], rate, rng)
    return add_norm(x, attend(x, params, n_heads, mask), params["norm_attention"], rate, rng)


@encoder_layer.mistake("drops entries of the layer's output, too", reread="Dropout")
def output_dropped(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """You apply dropout a third time, to the output of the last norm. Dropout applies only to what each sub-layer
    returns, before the sum."""
    output, _ = reference.encoder_layer(x, params, n_heads, mask, rate, rng)
    return dropout(output, rate, rng)[0], None


@encoder_layer.equivalent
def layer_written_out(*inputs, **named):
    def add(x, update, params, rate, rng):
        if rng is not None:
            update = np.where(rng.random(update.shape) < rate, 0, update / (1 - rate)).astype(x.dtype)
        return with_var(x + update, params["gain"], params["bias"])

    return layered(*inputs, **named, add=add)


@encoder_layer.equivalent
def layer_by_rows(x, params, n_heads, mask=None, rate=0.0, rng=None):
    middle, _ = row_for_row(x, attend(x, params, n_heads, mask), params["norm_attention"], rate, rng)
    update, _ = with_einsum(middle, params["feed_forward"])
    return row_for_row(middle, update, params["norm_feed_forward"], rate, rng)


@encoder_layer.equivalent
def layer_by_stacks(x, params, n_heads, mask=None, rate=0.0, rng=None):
    def add(x, update, params):
        stack = np.stack([x, dropout(update, rate, rng)[0]])
        return by_einsum(stack.sum(axis=0), params["gain"], params["bias"])

    mask = np.True_ if mask is None else mask
    everyone = np.broadcast_to(mask, (*x.shape[:-1], x.shape[-2]))
    middle, _ = add(x, attend(x, params, n_heads, everyone), params["norm_attention"])
    return add(middle, unit_by_unit(middle, params["feed_forward"])[0], params["norm_feed_forward"])
