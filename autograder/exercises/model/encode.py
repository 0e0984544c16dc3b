from functools import partial

import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.model.shared import (
    EVERYWHERE,
    encoded,
    only,
    question,
    tables_replaced_by_the_shared_one,
    well_conditioned,
    with_one_table_of_its_own,
)
from solutions import model as reference
from solutions.masking import padding_mask, target_mask
from solutions.model import table_for
from solutions.position import embed, sinusoidal_encoding
from solutions.residual import encoder_layer, layer_norm

encode = Exercise(
    reference.encode, outputs={"memory": "... T_src d_model", "cache": UNJUDGED}, section="Reading: the encoder"
)
wrong = short_mistakes(encode)
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
    in_float32 = partial(question, draw, (1, 1), dtype=np.float32)
    yield "float32", well_conditioned(reference.encode, lambda: only(in_float32(), *OF_ENCODE))
    inputs = only(question(draw, (1, 1), tied=False), *OF_ENCODE)
    yield "a source table beside a shared one", with_one_table_of_its_own(inputs, "source")


@encode.mistake("adds the positions in every layer")
def positions_in_every_layer(params, src, n_heads, pad=0):
    """Every layer's input gets the positions, so two layers add them twice. Add them once, to the embedding; the
    residual connections carry them on."""
    x, _ = embed(src, table_for(params["embeddings"], "source"))
    encoding = sinusoidal_encoding(*x.shape[-2:]).astype(x.dtype)
    for layer in params["encoder"]:
        x, _ = encoder_layer(x + encoding, layer, n_heads, padding_mask(src, pad))
    return x, None


@encode.mistake("prefers the shared table")
def shared_table_first(params, src, n_heads, pad=0):
    """You take the shared table if there is one, even if the source has a table of its own. Look for "source" first:
    the shared table is for roles without a table of their own."""
    return encoded(tables_replaced_by_the_shared_one(params), src, n_heads, pad)


wrong("target_table", encoded, role="target")("""
    takes the target's table
    You take the table of the target's tokens. The source has a table of its own, unless all roles share one.""")
wrong("source_unmasked", encoded, mask=lambda *_: EVERYWHERE)("""
    attends to padding
    Words attend to padding, so a sentence's memory depends on how long its neighbours in the batch are. Each layer
    needs padding_mask(src, pad).""")
wrong("source_causal", encoded, mask=target_mask)("""
    hides later words
    The encoder has a causal mask. The encoder reads the whole source before the decoder writes, so every word may see
    every other word. Only the decoder must not look ahead.""")
wrong("first_encoder_layer_again", encoded, layers=lambda layers: layers[:1] * len(layers))("""
    uses the first layer's weights in every layer
    Each pass of the loop uses params["encoder"][0]. Every layer has weights of its own; with a single layer this
    mistake does not show.""")
wrong("encoder_not_stacked", encoded, layers=lambda layers: layers[-1:])("""
    every layer reads the embedding
    Each layer gets the embedding and not the output of the layer below, so only the last layer counts. The output of
    each layer is the input of the next.""")
wrong("pad_is_zero", encoded, pad=0)("""
    takes padding to be token 0 whatever `pad` says
    The mask compares with 0, but here padding has another number. Use the argument `pad`.""")
wrong("first_encoder_layer_only", encoded, layers=lambda layers: layers[:1])("""
    uses the first layer only
    You return the output of the *first* layer and never use the layers above it. This happens if `return` is inside the
    loop. Go through all of params["encoder"], and return after the last.""")
wrong("encoder_in_reverse", encoded, layers=lambda layers: layers[::-1])("""
    goes through the layers in reverse
    The last layer of params["encoder"] reads the embedding, and the memory comes from the first. The forward pass
    follows the order of the list; only the backward pass is `reversed`.""")


@encode.mistake("normalises the memory once more", reread="What nn.Transformer adds")
def final_norm(params, src, n_heads, pad=0):
    """You have an extra norm after the last layer. Each layer of the paper already ends with a norm. nn.Transformer
    adds another norm, which only pre-norm stacks need."""
    memory, _ = encoded(params, src, n_heads, pad)
    width = memory.shape[-1]
    return layer_norm(memory, np.ones(width, memory.dtype), np.zeros(width, memory.dtype))


wrong("last_encoder_layer_missing", encoded, layers=lambda layers: layers[:-1])("""
    leaves out the last layer
    Your loop ends one layer too early. Go through all layers of params["encoder"].""")


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
    mask = (src != pad)[..., np.newaxis, :]
    return encoded(params, src, n_heads, pad, embedded=lambda *_: x, mask=lambda *_: mask)
