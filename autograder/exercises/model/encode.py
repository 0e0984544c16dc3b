"""encode: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from autograder.exercises.model.shared import (
    EVERYWHERE,
    encoded,
    only,
    question,
    tables_replaced_by_the_shared_one,
    unscaled,
    with_one_table_of_its_own,
)
from solutions import model as reference
from solutions.masking import padding_mask, target_mask
from solutions.model import table_for
from solutions.position import embed, positional_embedding, sinusoidal_encoding
from solutions.residual import layer_norm

encode = Exercise(
    reference.encode,
    outputs={"memory": "... T_src d_model", "cache": UNJUDGED},
    section="Reading: the encoder",
)
OF_ENCODE = ("params", "src", "n_heads", "pad")


@encode.cases("the idea", points=1)
def _(draw):
    yield "two layers, nothing padded", only(question(draw, (2, 1), padded=False), *OF_ENCODE)


@encode.cases("padding and batches", points=1)
def _(draw):
    yield "a padded batch", only(question(draw, (1, 1)), *OF_ENCODE)
    inputs = only(question(draw, (1, 1)), *OF_ENCODE)
    yield "no batch axis", inputs | {"src": inputs["src"][1]}
    yield "another padding token", inputs | {"pad": int(inputs["src"][0, 1])}


@encode.cases("tables of their own and float32", points=1)
def _(draw):
    yield "three tables", only(question(draw, (1, 1), tied=False), *OF_ENCODE)
    yield "float32", only(question(draw, (1, 1), dtype=np.float32), *OF_ENCODE)
    inputs = only(question(draw, (1, 1), tied=False), *OF_ENCODE)
    yield "a source table beside a shared one", with_one_table_of_its_own(inputs, "source")


@encode.mistake("does not scale the embedding")
def source_unscaled(params, src, n_heads, pad=0):
    """The source's embedding is not multiplied by the root of d_model, so its positions drown its words. The decoder
    scales its embedding, so with a tied table the same word enters the two stacks at different sizes."""
    return encoded(params, src, n_heads, pad, x=unscaled(src, table_for(params["embeddings"], "source")))


@encode.mistake("leaves out the positions")
def source_without_positions(params, src, n_heads, pad=0):
    """No position is added: the encoder sees a bag of words, and a shuffled sentence gives a shuffled memory. Use
    `positional_embedding`."""
    return encoded(params, src, n_heads, pad, x=embed(src, table_for(params["embeddings"], "source"))[0])


@encode.mistake("adds the positions in every layer")
def positions_in_every_layer(params, src, n_heads, pad=0):
    """Every layer's input gets the positions, so with two layers they are in the sum twice. They are added once, to the
    embedding, and the residual connections carry them on."""
    x, _ = embed(src, table_for(params["embeddings"], "source"))
    encoding = sinusoidal_encoding(*x.shape[-2:]).astype(x.dtype)
    for layer in params["encoder"]:
        x, _ = encoded(params, src, n_heads, pad, x=x + encoding, layers=[layer])
    return x, None


@encode.mistake("prefers the shared table")
def shared_table_first(params, src, n_heads, pad=0):
    """You take the shared table if there is one, even if the source has a table of its own. Look for "source" first:
    the shared table is for roles without a table of their own."""
    return encoded(tables_replaced_by_the_shared_one(params), src, n_heads, pad)


@encode.mistake("takes the target's table")
def target_table(params, src, n_heads, pad=0):
    """You take the table of the target's tokens. The source has a table of its own, unless all roles share one."""
    table = table_for(params["embeddings"], "target")
    return encoded(params, src, n_heads, pad, x=positional_embedding(src, table)[0])


@encode.mistake("hides the padding's rows, too")
def padding_sees_nothing(params, src, n_heads, pad=0):
    """Padding may not ask here: the rows of its queries are hidden as well as its columns. The mask only says what may
    be seen: (1, T_src), one row for all queries. Every other place hides the memory of padding itself."""
    visible = padding_mask(src, pad)
    return encoded(params, src, n_heads, pad, mask=visible & np.swapaxes(visible, -1, -2))


@encode.mistake("attends to padding")
def source_unmasked(params, src, n_heads, pad=0):
    """Words attend to padding, so a sentence's memory depends on how long its neighbours in the batch are. Each layer
    needs padding_mask(src, pad)."""
    return encoded(params, src, n_heads, pad, mask=EVERYWHERE)


@encode.mistake("hides later words")
def source_causal(params, src, n_heads, pad=0):
    """The encoder has a causal mask. The whole source is there before the first word is written, so every word may see
    every other; only the decoder must not look ahead."""
    return encoded(params, src, n_heads, pad, mask=target_mask(src, pad))


@encode.mistake("uses the first layer's weights in every layer")
def first_encoder_layer_again(params, src, n_heads, pad=0):
    """Each pass of the loop uses params["encoder"][0]. Every layer has weights of its own; with a single layer this
    mistake does not show."""
    return encoded(params, src, n_heads, pad, layers=params["encoder"][:1] * len(params["encoder"]))


@encode.mistake("every layer reads the embedding")
def encoder_not_stacked(params, src, n_heads, pad=0):
    """Each layer gets the embedding and not the output of the layer below, so only the last layer counts. The output of
    one is the input of the next."""
    return encoded(params, src, n_heads, pad, layers=params["encoder"][-1:])


@encode.mistake("takes padding to be token 0 whatever `pad` says")
def pad_is_zero(params, src, n_heads, pad=0):
    """The mask compares with 0, but here padding has another number. Use the argument `pad`."""
    return encoded(params, src, n_heads, 0)


@encode.mistake("uses the first layer only")
def first_encoder_layer_only(params, src, n_heads, pad=0):
    """You return what the *first* layer made of the sentence; the layers above it are never used, as happens if
    `return` is inside the loop. Go through all of params["encoder"], and return after the last."""
    return encoded(params, src, n_heads, pad, layers=params["encoder"][:1])


@encode.mistake("goes through the layers in reverse")
def encoder_in_reverse(params, src, n_heads, pad=0):
    """The last layer of params["encoder"] reads the embedding, and the memory comes from the first. The forward pass
    follows the order of the list; only the backward pass is `reversed`."""
    return encoded(params, src, n_heads, pad, layers=params["encoder"][::-1])


@encode.mistake("hides the padding's rows, not its columns")
def padding_as_query(params, src, n_heads, pad=0):
    """The mask is (T_src, 1): padding may not *ask*, but every word still sees it. The columns say what may be seen:
    (1, T_src), one row for all queries."""
    return encoded(params, src, n_heads, pad, mask=np.swapaxes(padding_mask(src, pad), -1, -2))


@encode.mistake("normalises the memory once more", reread="What nn.Transformer adds")
def final_norm(params, src, n_heads, pad=0):
    """There is one more norm after the last layer. The paper's layers each end on a norm already; nn.Transformer adds
    another one, and pre-norm stacks need it."""
    memory, _ = encoded(params, src, n_heads, pad)
    width = memory.shape[-1]
    return layer_norm(memory, np.ones(width, memory.dtype), np.zeros(width, memory.dtype))


@encode.equivalent
def without_cache(params, src, n_heads, pad=0):
    return encoded(params, src, n_heads, pad)


@encode.equivalent
def sentence_by_sentence(params, src, n_heads, pad=0):
    rows = src.reshape(-1, src.shape[-1])
    memory = np.stack([encoded(params, row, n_heads, pad)[0] for row in rows])
    return memory.reshape(*src.shape, -1), []


@encode.equivalent
def by_one_hot(params, src, n_heads, pad=0):
    table = table_for(params["embeddings"], "source")
    x = np.eye(len(table), dtype=table.dtype)[src] @ table * table.shape[1] ** 0.5
    x = x + sinusoidal_encoding(src.shape[-1], table.shape[1]).astype(table.dtype)
    return encoded(params, src, n_heads, pad, x=x, mask=(src != pad)[..., np.newaxis, :])
