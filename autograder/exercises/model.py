"""Chapter 8, the full model: cases, known mistakes and right rewrites, in NumPy and as PyTorch modules."""

from itertools import product

import numpy as np
from torch import nn
from torch.nn import functional

from autograder.authoring.exercise import UNJUDGED, Exercise
from solutions import decoding, model_torch
from solutions import model as reference
from solutions.cross import decoder_layer
from solutions.masking import memory_mask, padding_mask, target_mask
from solutions.model import (
    backward,
    cross_entropy,
    cross_entropy_backward,
    decode_backward,
    encode_backward,
    log_softmax,
    table_for,
    tie,
    unembed,
)
from solutions.parameters import initialise, map_tree
from solutions.position import embed, positional_embedding, sinusoidal_encoding
from solutions.residual import encoder_layer

N_HEADS = 2
SPECIAL = 3  # padding, begin mark, end mark
EVERYWHERE = np.ones((1, 1), bool)  # a mask that hides nothing


def weights(draw, layers=(1, 1), tied=True, dtype=np.float64, sharp=False):
    """A small model of which no number is 0 or 1, as fresh norms and biases would hide mistakes."""
    vocab, other = draw.sizes(2, low=9, high=12)
    vocabularies = {"shared": vocab} if tied else {"source": other, "target": vocab, "output": vocab}
    d_model, d_ff = 4, draw.size(5, 8)
    params = initialise(draw.rng, vocabularies, d_model, d_ff, *layers)
    params = map_tree(lambda array: (array + 0.3 * draw.normal(*array.shape)).astype(dtype), params)
    if sharp:
        # Sure of itself, so that the best token is far from the second, and moved by the position above all.
        tables = params["embeddings"]
        params["embeddings"] = tables | {"target": 0.3 * tables["target"], "output": 5 * tables["output"]}
    return params


def sources(draw, n=3, T=5, padded=True):
    """Source tokens; the second sentence ends early if `padded`."""
    src = draw.tokens(n, T, vocab=9, low=SPECIAL)
    if padded:
        src[1, T // 2 :] = 0
    return src


def targets(draw, n=3, T=6, padded=True):
    """Target tokens between begin and end mark; the first sentence ends early if `padded`."""
    tgt = draw.tokens(n, T, vocab=9, low=SPECIAL)
    tgt[:, 0], tgt[:, -1] = 1, 2
    if padded:
        tgt[0, T - 3 :] = [2, 0, 0]
    return tgt


def question(draw, layers=(1, 1), tied=True, dtype=np.float64, n=3, padded=True):
    """Everything that the model as a whole is called with."""
    params = weights(draw, layers, tied, dtype)
    T_src, T_tgt = draw.sizes(2, low=4, high=8)
    return {
        "params": params,
        "src": sources(draw, n, T_src, padded),
        "tgt": targets(draw, n, T_tgt, padded),
        "n_heads": N_HEADS,
        "pad": 0,
    }


def only(inputs, *names):
    return {name: inputs[name] for name in names}


# ------------------------------------------------------------------------------------------------- encode

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


def encoded(params, src, n_heads, pad, *, x=None, mask=None, layers=None):
    """The encoder with any of its parts exchanged."""
    x = positional_embedding(src, table_for(params["embeddings"], "source"))[0] if x is None else x
    mask = padding_mask(src, pad) if mask is None else mask
    for layer in params["encoder"] if layers is None else layers:
        x, _ = encoder_layer(x, layer, n_heads, mask)
    return x, None


def unscaled(tokens, table):
    return table[tokens] + sinusoidal_encoding(tokens.shape[-1], table.shape[1]).astype(table.dtype)


@encode.mistake("does not scale the embedding")
def source_unscaled(params, src, n_heads, pad=0):
    """The source's embedding is not multiplied by the root of d_model, so its positions drown its words. The decoder
    scales its own, and with a tied table the same word then enters the two stacks at different sizes. Reread
    'Reading: the encoder'."""
    return encoded(params, src, n_heads, pad, x=unscaled(src, table_for(params["embeddings"], "source")))


@encode.mistake("leaves out the positions")
def source_without_positions(params, src, n_heads, pad=0):
    """No position is added: the encoder sees a bag of words, and a shuffled sentence gives a shuffled memory. Use
    `positional_embedding`. Reread 'Reading: the encoder'."""
    return encoded(params, src, n_heads, pad, x=embed(src, table_for(params["embeddings"], "source"))[0])


@encode.mistake("attends to padding")
def source_unmasked(params, src, n_heads, pad=0):
    """Words attend to padding, so a sentence's memory depends on how long its neighbours in the batch are. Each layer
    wants padding_mask(src, pad). Reread 'Reading: the encoder'."""
    return encoded(params, src, n_heads, pad, mask=EVERYWHERE)


@encode.mistake("reads ahead only backwards")
def source_causal(params, src, n_heads, pad=0):
    """The encoder has a causal mask. The whole source is there before the first word is written, so every word may see
    every other; only the decoder must not look ahead. Reread 'Reading: the encoder'."""
    return encoded(params, src, n_heads, pad, mask=target_mask(src, pad))


@encode.mistake("uses the first layer's weights in every layer")
def first_encoder_layer_again(params, src, n_heads, pad=0):
    """Each pass of the loop uses params["encoder"][0]. Every layer has weights of its own; with a single layer the slip
    cannot be seen. Reread 'Reading: the encoder'."""
    return encoded(params, src, n_heads, pad, layers=params["encoder"][:1] * len(params["encoder"]))


@encode.mistake("every layer reads the embedding")
def encoder_not_stacked(params, src, n_heads, pad=0):
    """Each layer is given the embedding, not what the layer below made of it, so only the last layer counts. The output
    of one is the input of the next. Reread 'Reading: the encoder'."""
    return encoded(params, src, n_heads, pad, layers=params["encoder"][-1:])


@encode.mistake("takes padding to be token 0 whatever `pad` says")
def pad_is_zero(params, src, n_heads, pad=0):
    """The mask compares with 0, and here padding has another number. Use the argument `pad`. Reread 'Reading: the
    encoder'."""
    return encoded(params, src, n_heads, 0)


@encode.equivalent
def source_without_cache(params, src, n_heads, pad=0):
    return encoded(params, src, n_heads, pad)


@encode.equivalent
def source_sentence_by_sentence(params, src, n_heads, pad=0):
    rows = src.reshape(-1, src.shape[-1])
    memory = np.stack([encoded(params, row, n_heads, pad)[0] for row in rows])
    return memory.reshape(*src.shape, -1), []


@encode.equivalent
def source_by_one_hot(params, src, n_heads, pad=0):
    table = table_for(params["embeddings"], "source")
    x = np.eye(len(table), dtype=table.dtype)[src] @ table * table.shape[1] ** 0.5
    x = x + sinusoidal_encoding(src.shape[-1], table.shape[1]).astype(table.dtype)
    return encoded(params, src, n_heads, pad, x=x, mask=(src != pad)[..., np.newaxis, :])


# ------------------------------------------------------------------------------------------------- decode

decode = Exercise(
    reference.decode,
    outputs={"logits": "... T_tgt vocab", "cache": UNJUDGED},
    section="Writing: the decoder",
)
OF_DECODE = ("params", "tgt", "memory", "src", "n_heads", "pad")


def writing(draw, *args, **options):
    inputs = question(draw, *args, **options)
    params = inputs["params"]
    memory = draw.normal(*inputs["src"].shape, 4, dtype=params["encoder"][0]["attention"]["w_key"].dtype)
    return only(inputs | {"memory": memory}, *OF_DECODE)


@decode.cases("the idea", points=2)
def _(draw):
    yield "two layers, nothing padded", writing(draw, (1, 2), padded=False)


@decode.cases("padding and batches", points=1)
def _(draw):
    yield "a padded batch", writing(draw, (1, 2))
    inputs = writing(draw)
    holes = inputs["tgt"].copy()
    holes[:, 1] = 0
    yield "padding in the middle", inputs | {"tgt": holes}
    yield "no batch axis", inputs | {name: inputs[name][1] for name in ("tgt", "src", "memory")}


@decode.cases("tables of their own and float32", points=1)
def _(draw):
    yield "three tables", writing(draw, tied=False)
    yield "float32", writing(draw, dtype=np.float32)


def decoded(params, tgt, memory, src, n_heads, pad, *, x=None, over_target=None, over_memory=None, layers=None):
    """The decoder with any of its parts exchanged; returns logits and layer caches."""
    embeddings = params["embeddings"]
    x = positional_embedding(tgt, table_for(embeddings, "target"))[0] if x is None else x
    over_target = target_mask(tgt, pad) if over_target is None else over_target
    over_memory = memory_mask(src, tgt.shape[-1], pad) if over_memory is None else over_memory
    for layer in params["decoder"] if layers is None else layers:
        x, _ = decoder_layer(x, memory, layer, n_heads, over_target, over_memory)
    return unembed(x, table_for(embeddings, "output"))[0], None


def with_shared_keys_and_values(layers):
    shared = {name: layers[0]["cross_attention"][name] for name in ("w_key", "b_key", "w_value", "b_value")}
    return [layer | {"cross_attention": layer["cross_attention"] | shared} for layer in layers]


@decode.mistake("has no causal mask")
def target_unmasked(params, tgt, memory, src, n_heads, pad=0):
    """Position t sees the tokens after it, and with teacher forcing the next token is the answer: the model learns to
    copy it, its loss falls to nearly nothing, and it cannot write. The decoder's own attention wants target_mask.
    Reread 'Writing: the decoder'."""
    return decoded(params, tgt, memory, src, n_heads, pad, over_target=padding_mask(tgt, pad))


@decode.mistake("has a causal mask, and no padding mask, over the target")
def target_padding_seen(params, tgt, memory, src, n_heads, pad=0):
    """The mask over the target is causal alone. Padding at the end is hidden by it anyway; padding before a word is
    not. target_mask(tgt, pad) is both masks in one. Reread 'Writing: the decoder'."""
    causal = np.tri(tgt.shape[-1], dtype=bool)
    return decoded(params, tgt, memory, src, n_heads, pad, over_target=causal)


@decode.mistake("has no memory mask")
def memory_unmasked(params, tgt, memory, src, n_heads, pad=0):
    """The decoder attends to the memory of padding. The encoder's mask does not help: padding has a row in the memory
    like every other token, filled with what it read. Reread 'Writing: the decoder'."""
    return decoded(params, tgt, memory, src, n_heads, pad, over_memory=EVERYWHERE)


@decode.mistake("does not scale the target's embedding")
def target_unscaled(params, tgt, memory, src, n_heads, pad=0):
    """The target's embedding is not multiplied by the root of d_model, while the source's is. With a tied table the two
    stacks then disagree about the size of a word. Reread 'Writing: the decoder'."""
    return decoded(params, tgt, memory, src, n_heads, pad, x=unscaled(tgt, table_for(params["embeddings"], "target")))


@decode.mistake("shares one key and value projection among all layers")
def shared_memory_projections(params, tgt, memory, src, n_heads, pad=0):
    """Every layer reads the memory with the first layer's keys and values. The memory is one; what a layer looks for in
    it, and what it takes, is the layer's own: each has its w_key and w_value. Reread 'Writing: the decoder'."""
    layers = with_shared_keys_and_values(params["decoder"])
    return decoded(params, tgt, memory, src, n_heads, pad, layers=layers)


@decode.mistake("scores with the target's table")
def output_by_target_table(params, tgt, memory, src, n_heads, pad=0):
    """The logits are products with the target's embedding. When the tables are tied that is right; when "output" has a
    table of its own, it is the one to use. Reread 'One table in three roles'."""
    tables = params["embeddings"]
    params = params | {"embeddings": tables | {"output": table_for(tables, "target")}}
    return decoded(params, tgt, memory, src, n_heads, pad)


@decode.mistake("returns probabilities")
def softmaxed(params, tgt, memory, src, n_heads, pad=0):
    """These are probabilities: every row adds up to one. The loss takes the logarithm of a softmax itself, stably, so
    the model ends with the scores, its logits. Reread 'Writing: the decoder'."""
    return np.exp(log_softmax(decoded(params, tgt, memory, src, n_heads, pad)[0])), None


@decode.mistake("scales the output table by the root of d_model")
def output_scaled(params, tgt, memory, src, n_heads, pad=0):
    """The logits are too large by the root of d_model. The scale belongs to the look-up at the two entrances; at the
    exit the rows are used as they are. Reread 'One table in three roles'."""
    return decoded(params, tgt, memory, src, n_heads, pad)[0] * memory.shape[-1] ** 0.5, None


@decode.equivalent
def target_without_cache(params, tgt, memory, src, n_heads, pad=0):
    return decoded(params, tgt, memory, src, n_heads, pad)


@decode.equivalent
def target_sentence_by_sentence(params, tgt, memory, src, n_heads, pad=0):
    if tgt.ndim == 1:
        return decoded(params, tgt, memory, src, n_heads, pad)
    rows = zip(tgt, memory, src, strict=True)
    return np.stack([decoded(params, t, m, s, n_heads, pad)[0] for t, m, s in rows]), None


@decode.equivalent
def target_prefix_by_prefix(params, tgt, memory, src, n_heads, pad=0):
    prefixes = (tgt[..., : t + 1] for t in range(tgt.shape[-1]))
    logits = [decoded(params, prefix, memory, src, n_heads, pad)[0][..., -1, :] for prefix in prefixes]
    return np.stack(logits, axis=-2), None


# ------------------------------------------------------------------------------------------------ forward

forward = Exercise(
    reference.forward,
    outputs={"logits": "... T_tgt vocab", "cache": UNJUDGED},
    section="The two stacks, joined",
    uses=("encode", "decode"),
)


@forward.cases("the idea", points=1)
def _(draw):
    yield "two layers and one", question(draw, (2, 1), padded=False)
    yield "one layer and two", question(draw, (1, 2), padded=False)


@forward.cases("padding, batches and dtypes", points=1)
def _(draw):
    yield "a padded batch, three tables", question(draw, tied=False)
    inputs = question(draw)
    yield "two batch axes", inputs | {name: np.stack([inputs[name]] * 2) for name in ("src", "tgt")}
    yield "another padding token", inputs | {"pad": int(inputs["src"][0, 1])}
    yield "float32", question(draw, dtype=np.float32)


@forward.mistake("shifts the target")
def shifts_inside(params, src, tgt, n_heads, pad=0):
    """The last target token is cut off here. `forward` is given the shifted target; it is the loss that shifts, because
    decoding, which calls the same functions, has nothing to cut off. Reread 'The two stacks, joined'."""
    return reference.forward(params, src, tgt[..., :-1], n_heads, pad)[0], None


@forward.mistake("hands the decoder the embedding, not the memory")
def encoder_skipped(params, src, tgt, n_heads, pad=0):
    """The decoder reads the source's embedding; the encoder's layers have no effect on the logits, and no gradient.
    Reread 'The two stacks, joined'."""
    memory, _ = positional_embedding(src, table_for(params["embeddings"], "source"))
    return reference.decode(params, tgt, memory, src, n_heads, pad)[0], None


@forward.mistake("forgets to pass the padding token on")
def pad_not_passed(params, src, tgt, n_heads, pad=0):
    """`pad` stops here, and the two halves use their default. Pass it on to both. Reread 'The two stacks, joined'."""
    return reference.forward(params, src, tgt, n_heads)[0], None


@forward.mistake("encodes the target")
def exchanged(params, src, tgt, n_heads, pad=0):
    """Source and target have changed places: the encoder reads what should be written. Reread 'The two stacks,
    joined'."""
    memory, _ = reference.encode(params, tgt, n_heads, pad)
    return reference.decode(params, src, memory, tgt, n_heads, pad)[0], None


@forward.mistake("lets each decoder layer read the encoder layer beside it")
def layer_by_layer(params, src, tgt, n_heads, pad=0):
    """Decoder layer i reads encoder layer i. In the paper's figure 1 a single arrow leaves the top of the encoder:
    every decoder layer reads the finished memory, and the two stacks need not be equally high. Reread 'The two
    stacks, joined'."""
    depths = [min(i + 1, len(params["encoder"])) for i in range(len(params["decoder"]))]
    x, _ = positional_embedding(tgt, table_for(params["embeddings"], "target"))
    masks = target_mask(tgt, pad), memory_mask(src, tgt.shape[-1], pad)
    for layer, depth in zip(params["decoder"], depths, strict=True):
        memory, _ = encoded(params, src, n_heads, pad, layers=params["encoder"][:depth])
        x, _ = decoder_layer(x, memory, layer, n_heads, *masks)
    return unembed(x, table_for(params["embeddings"], "output"))[0], None


@forward.equivalent
def both_by_hand(params, src, tgt, n_heads, pad=0):
    return decoded(params, tgt, encoded(params, src, n_heads, pad)[0], src, n_heads, pad)


@forward.equivalent
def one_prefix_after_another(params, src, tgt, n_heads, pad=0):
    return target_prefix_by_prefix(params, tgt, encoded(params, src, n_heads, pad)[0], src, n_heads, pad)


@forward.equivalent
def with_a_dict_as_cache(params, src, tgt, n_heads, pad=0):
    logits, cache = reference.forward(params, src, tgt, n_heads, pad)
    return logits, {"everything": cache}


# ------------------------------------------------------------------------------------- loss_and_gradients

loss_and_gradients = Exercise(
    reference.loss_and_gradients,
    outputs={"loss": "", "grad_params": "dict"},
    section="All the way back",
    uses=("encode", "decode", "forward"),
)


@loss_and_gradients.cases("separate tables", points=3)
def _(draw):
    yield "nothing padded", question(draw, tied=False, n=2, padded=False)


@loss_and_gradients.cases("several layers", points=2)
def _(draw):
    yield "two decoder layers", question(draw, (1, 2), tied=False, n=2, padded=False)


@loss_and_gradients.cases("one shared table", points=2)
def _(draw):
    yield "tied three ways", question(draw, n=2, padded=False)


@loss_and_gradients.cases("padding", points=1)
def _(draw):
    yield "a padded batch", question(draw, tied=False)


def trained(
    params,
    src,
    tgt,
    n_heads,
    pad,
    *,
    given=None,
    asked=None,
    forward=reference.forward,
    loss=cross_entropy,
    back=backward,
):
    """Loss and gradients with any part exchanged: what the decoder is given, what is asked of it, and how it goes."""
    given = tgt[..., :-1] if given is None else given
    asked = tgt[..., 1:] if asked is None else asked
    logits, cache = forward(params, src, given, n_heads, pad)
    value, loss_cache = loss(logits, asked, pad)
    return value, back(cross_entropy_backward(1.0, loss_cache), cache)


@loss_and_gradients.mistake("does not shift the target")
def not_shifted(params, src, tgt, n_heads, pad=0):
    """The decoder is asked for the very token that it is given: it learns to repeat, and its loss is splendid. Give it
    tgt[:-1] and ask for tgt[1:]. Reread 'Teacher forcing'."""
    return trained(params, src, tgt, n_heads, pad, given=tgt[..., :-1], asked=tgt[..., :-1])


@loss_and_gradients.mistake("shifts by rolling the flattened batch")
def rolled(params, src, tgt, n_heads, pad=0):
    """Rolling the flattened batch puts the last token of one sentence in front of the next, and the begin mark is asked
    for. Each sentence is shifted by itself: tgt[:-1] in, tgt[1:] out. Reread 'Teacher forcing'."""
    return trained(params, src, tgt, n_heads, pad, given=np.roll(tgt.reshape(-1), 1).reshape(tgt.shape), asked=tgt)


def one_role(role):
    def back(grad_logits, cache):
        encoder_cache, decoder_cache, names = cache
        grad_memory, grad_target, grad_output, grad_decoder = decode_backward(grad_logits, decoder_cache)
        grad_source, grad_encoder = encode_backward(grad_memory, encoder_cache)
        roles = {"source": grad_source, "target": grad_target, "output": grad_output}
        tied = tie(roles, names)
        tables = {"shared": roles[role]} if "shared" in tied else tied
        return {"embeddings": tables, "encoder": grad_encoder, "decoder": grad_decoder}

    return back


@loss_and_gradients.mistake("the tied table learns as source only")
def tied_source_only(params, src, tgt, n_heads, pad=0):
    """The shared table's gradient holds the source's part alone. It was used three times, so three gradients come back
    to it, and they add up. Reread 'One table in three roles'."""
    return trained(params, src, tgt, n_heads, pad, back=one_role("source"))


@loss_and_gradients.mistake("the tied table learns as target only")
def tied_target_only(params, src, tgt, n_heads, pad=0):
    """The shared table's gradient holds the target's part alone: what the decoder's entrance sent back. The source and
    the output used the table too, and the three parts add up. Reread 'One table in three roles'."""
    return trained(params, src, tgt, n_heads, pad, back=one_role("target"))


@loss_and_gradients.mistake("the tied table learns as output only")
def tied_output_only(params, src, tgt, n_heads, pad=0):
    """The shared table's gradient holds the output's part alone. That part is the largest, so training seems to work;
    the two look-ups are missing. The three parts add up. Reread 'One table in three roles'."""
    return trained(params, src, tgt, n_heads, pad, back=one_role("output"))


def memory_from(chosen):
    def back(grad_logits, cache):
        encoder_cache, decoder_cache, names = cache
        embedding_cache, layer_caches, output_cache = decoder_cache
        _, grad_target, grad_output, grad_decoder = decode_backward(grad_logits, decoder_cache)
        grad_x, _ = reference.unembed_backward(grad_logits, output_cache)
        parts = []
        for layer_cache in reversed(layer_caches):
            grad_x, part, _ = reference.decoder_layer_backward(grad_x, layer_cache)
            parts.append(part)
        grad_source, grad_encoder = encode_backward(parts[chosen], encoder_cache)
        tables = tie({"source": grad_source, "target": grad_target, "output": grad_output}, names)
        return {"embeddings": tables, "encoder": grad_encoder, "decoder": grad_decoder}

    return back


@loss_and_gradients.mistake("the memory learns from the last decoder layer only")
def last_layer_only(params, src, tgt, n_heads, pad=0):
    """The memory's gradient is that of the last decoder layer. Every decoder layer has read the memory, so every one
    adds its part; with one layer the slip cannot be seen. Reread 'All the way back'."""
    return trained(params, src, tgt, n_heads, pad, back=memory_from(0))


@loss_and_gradients.mistake("the memory learns from the first decoder layer only")
def first_layer_only(params, src, tgt, n_heads, pad=0):
    """Each decoder layer overwrites the memory's gradient, so that the first layer's, computed last, is what remains.
    Add them up. Reread 'All the way back'."""
    return trained(params, src, tgt, n_heads, pad, back=memory_from(-1))


def without_causal_mask(params, src, tgt, n_heads, pad):
    memory, encoder_cache = reference.encode(params, src, n_heads, pad)
    return _decoded_with(params, src, tgt, n_heads, pad, memory, encoder_cache, over_target=padding_mask(tgt, pad))


def without_memory_mask(params, src, tgt, n_heads, pad):
    memory, encoder_cache = reference.encode(params, src, n_heads, pad)
    return _decoded_with(params, src, tgt, n_heads, pad, memory, encoder_cache, over_memory=EVERYWHERE)


def _decoded_with(params, src, tgt, n_heads, pad, memory, encoder_cache, **masks):
    masks = {"over_target": target_mask(tgt, pad), "over_memory": memory_mask(src, tgt.shape[-1], pad)} | masks
    tables = params["embeddings"]
    x, embedding_cache = positional_embedding(tgt, table_for(tables, "target"))
    caches = []
    for layer in params["decoder"]:
        x, cache = decoder_layer(x, memory, layer, n_heads, masks["over_target"], masks["over_memory"])
        caches.append(cache)
    logits, output_cache = unembed(x, table_for(tables, "output"))
    return logits, (encoder_cache, (embedding_cache, caches, output_cache), tuple(tables))


@loss_and_gradients.mistake("trains without the causal mask")
def trained_without_causal_mask(params, src, tgt, n_heads, pad=0):
    """The loss is computed without the causal mask. Each position sees the token that it has to predict, and training
    looks like a triumph until the model must write by itself. Reread 'Writing: the decoder'."""
    return trained(params, src, tgt, n_heads, pad, forward=without_causal_mask)


@loss_and_gradients.mistake("trains without the memory mask")
def trained_without_memory_mask(params, src, tgt, n_heads, pad=0):
    """The decoder attends to the memory of padding, so the loss of a sentence depends on its neighbours' length. The
    cross-attention wants memory_mask. Reread 'Writing: the decoder'."""
    return trained(params, src, tgt, n_heads, pad, forward=without_memory_mask)


@loss_and_gradients.mistake("counts padding in the loss")
def padding_counted(params, src, tgt, n_heads, pad=0):
    """Padding is asked for, and counted, like a word. The model learns to write padding, and the longest sentence of a
    batch decides how much the others weigh. Select the targets that are not padding first. Reread 'The loss'."""
    return trained(params, src, tgt, n_heads, pad, loss=lambda logits, asked, _: cross_entropy(logits, asked, -1))


@loss_and_gradients.mistake("divides the loss by all places, padding too")
def divided_by_all_places(params, src, tgt, n_heads, pad=0):
    """Padding adds nothing to the sum, and is counted in the number that the sum is divided by: more padding, smaller
    loss and smaller gradient. Divide by the number of real targets. Reread 'The loss'."""
    loss, gradients = reference.loss_and_gradients(params, src, tgt, n_heads, pad)
    share = (tgt[..., 1:] != pad).mean()
    return loss * share, map_tree(lambda gradient: gradient * share, gradients)


@loss_and_gradients.mistake("adds up instead of averaging")
def summed(params, src, tgt, n_heads, pad=0):
    """Loss and gradients are sums over the tokens, so their size follows the batch's. Divide both by the number of real
    targets. Reread 'The loss'."""
    loss, gradients = reference.loss_and_gradients(params, src, tgt, n_heads, pad)
    n = int((tgt[..., 1:] != pad).sum())
    return loss * n, map_tree(lambda gradient: gradient * n, gradients)


@loss_and_gradients.equivalent
def sentence_by_sentence(params, src, tgt, n_heads, pad=0):
    counts = (tgt[..., 1:] != pad).sum(axis=-1)
    loss, total = 0.0, map_tree(np.zeros_like, params)
    for s, t, n in zip(src, tgt, counts / counts.sum(), strict=True):
        part, gradients = reference.loss_and_gradients(params, s, t, n_heads, pad)
        loss += n * part
        total = _added(total, gradients, n)
    return loss, total


def _added(total, gradients, share):
    if isinstance(total, dict):
        return {name: _added(total[name], gradients[name], share) for name in total}
    if isinstance(total, list):
        return [_added(a, b, share) for a, b in zip(total, gradients, strict=True)]
    return total + share * gradients


@loss_and_gradients.equivalent
def loss_as_a_float(params, src, tgt, n_heads, pad=0):
    loss, gradients = reference.loss_and_gradients(params, src, tgt, n_heads, pad)
    return float(loss), dict(reversed(gradients.items()))


@loss_and_gradients.equivalent
def in_two_halves(params, src, tgt, n_heads, pad=0):
    memory, encoder_cache = reference.encode(params, src, n_heads, pad)
    logits, decoder_cache = reference.decode(params, tgt[..., :-1], memory, src, n_heads, pad)
    real = tgt[..., 1:] != pad
    probabilities = np.exp(log_softmax(logits))
    hard = np.eye(logits.shape[-1])[tgt[..., 1:]]
    grad_logits = (probabilities - hard) * real[..., np.newaxis] / real.sum()
    loss = -(np.log((probabilities * hard).sum(axis=-1)) * real).sum() / real.sum()
    return loss, backward(grad_logits, (encoder_cache, decoder_cache, tuple(params["embeddings"])))


# ------------------------------------------------------------------------------------------ greedy_decode

greedy_decode = Exercise(
    decoding.greedy_decode,
    outputs={"tokens": "N T"},
    section="Writing word by word",
    uses=("encode", "decode"),
)
MARKS = {"bos": 1, "eos": 2, "pad": 0}


def sure(draw, n, ends, layers=(1, 2)):
    """A model and sources for which some sentences end early: `ends` times as eager to write the end mark."""
    params = weights(draw, layers, tied=False, sharp=True)
    tables = params["embeddings"]
    output = tables["output"].copy()
    output[2] *= ends
    return {
        "params": params | {"embeddings": tables | {"output": output}},
        "src": sources(draw, n, draw.size(4, 7)),
        "n_heads": N_HEADS,
    }


def told_apart(draw, options, *wrong):
    """Sources and a model on which these mistakes write other tokens than the reference, and than each other."""
    for ends in np.tile([1.0, 1.3, 1.6, 2.0], 100):
        inputs = sure(draw, 5, ends, layers=(1, 1)) | MARKS | options
        tokens = decoding.greedy_decode(**inputs)
        if inputs["eos"] in MARKS.values() and not _end_apart(tokens, inputs["max_length"]):
            continue
        written = [tokens.tolist(), *(one(**inputs).tolist() for one in wrong)]
        if all(a != b for i, a in enumerate(written) for b in written[:i]):
            return inputs
    return inputs


def _end_apart(tokens, max_length):
    ends = np.where((tokens == 2).any(axis=1), (tokens == 2).argmax(axis=1), max_length)
    return ends.min() > 0 and len(set(ends)) > 1 and ends.max() < max_length - 2


@greedy_decode.cases("the next word", points=2)
def _(draw):
    endless = {"max_length": 6, "eos": -1}
    yield "six words, no end", told_apart(draw, endless, positions_restart, newest_only, first_row)
    yield "another six words", told_apart(draw, endless, positions_restart, newest_only, first_row)


@greedy_decode.cases("the end mark", points=2)
def _(draw):
    wrong = never_stops, stops_at_the_first, words_after_the_end, always_full_width
    yield "all end, one after the other", told_apart(draw, {"max_length": 9}, *wrong)
    yield "all end, others", told_apart(draw, {"max_length": 10}, *wrong)


@greedy_decode.cases("edge cases", points=1)
def _(draw):
    yield "one word at most", sure(draw, 3, 1.0) | {"max_length": 1} | MARKS
    yield "another begin mark", sure(draw, 2, 1.0) | {"max_length": 5} | MARKS | {"bos": 4}


def greedily(params, src, n_heads, max_length, bos, eos, pad, *, step, done=None, keep=None):
    """Greedy decoding with its step, its stop and its padding exchanged."""
    done = done or (lambda ended: ended.all())
    keep = keep or (lambda newest, ended: np.where(ended, pad, newest))
    memory, _ = reference.encode(params, src, n_heads, pad)
    tokens = np.full((len(src), 1), bos)
    while tokens.shape[1] <= max_length:
        ended = (tokens == eos).any(axis=1)
        if done(ended):
            break
        newest = step(params, tokens, memory, src, n_heads, pad)
        tokens = np.concatenate([tokens, keep(newest, ended)[:, np.newaxis]], axis=1)
    return tokens[:, 1:]


def likeliest(params, tokens, memory, src, n_heads, pad):
    return decoded(params, tokens, memory, src, n_heads, pad)[0][:, -1].argmax(axis=-1)


@greedy_decode.mistake("never stops at the end mark")
def never_stops(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """Nobody looks for the end mark: every sentence goes on to max_length, with words after its end. A row that has its
    end mark gets padding, and when all have it the loop stops. Reread 'Writing word by word'."""
    marks = (max_length, bos, eos, pad)
    free = {"done": lambda ended: False, "keep": lambda newest, ended: newest}
    return greedily(params, src, n_heads, *marks, step=likeliest, **free)


@greedy_decode.mistake("stops when the first sentence ends")
def stops_at_the_first(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """The loop stops as soon as one sentence of the batch has its end mark, and cuts off the others. Use `all`, not
    `any`, over the sentences. Reread 'Writing word by word'."""
    return greedily(params, src, n_heads, max_length, bos, eos, pad, step=likeliest, done=lambda ended: ended.any())


@greedy_decode.mistake("writes words after the end mark")
def words_after_the_end(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """While others are being finished, a finished sentence goes on writing. Give it padding. Reread 'Writing word by
    word'."""
    keep = {"keep": lambda newest, ended: newest}
    return greedily(params, src, n_heads, max_length, bos, eos, pad, step=likeliest, **keep)


@greedy_decode.mistake("pads to max_length")
def always_full_width(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """When every sentence has its end mark there is nothing left to write; this goes on with columns of padding, and
    pays for each. Stop. Reread 'Writing word by word'."""
    return greedily(params, src, n_heads, max_length, bos, eos, pad, step=likeliest, done=lambda ended: False)


@greedy_decode.mistake("returns the begin mark")
def begin_mark_kept(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """The begin mark is still in front. It is given, not written. Reread 'Writing word by word'."""
    tokens = decoding.greedy_decode(params, src, n_heads, max_length, bos, eos, pad)
    return np.concatenate([np.full((len(src), 1), bos), tokens], axis=1)


@greedy_decode.mistake("positions restart at every step")
def positions_restart(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """Only the newest token is embedded, and at position 0 each time: the model believes that it is still writing the
    first word. In incremental decoding the newest token's position is the number of tokens before it. Reread
    'Remember the keys and values'."""

    def step(params, tokens, memory, src, n_heads, pad):
        x, _ = embed(tokens, table_for(params["embeddings"], "target"))
        x = x + sinusoidal_encoding(1, x.shape[-1])
        return decoded(params, tokens, memory, src, n_heads, pad, x=x)[0][:, -1].argmax(axis=-1)

    return greedily(params, src, n_heads, max_length, bos, eos, pad, step=step)


@greedy_decode.mistake("forgets what it has written")
def newest_only(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """The decoder is given the newest token alone. It has no other memory of what it wrote: give it all tokens so far,
    and take the last row. Reread 'Writing word by word'."""

    def step(params, tokens, memory, src, n_heads, pad):
        return likeliest(params, tokens[:, -1:], memory, src, n_heads, pad)

    return greedily(params, src, n_heads, max_length, bos, eos, pad, step=step)


@greedy_decode.mistake("reads the first row of the logits")
def first_row(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """The next token is read off the first row, which scores the first word however many have been written. The newest
    prefix is the last row, -1. Reread 'Writing word by word'."""

    def step(params, tokens, memory, src, n_heads, pad):
        return decoded(params, tokens, memory, src, n_heads, pad)[0][:, 0].argmax(axis=-1)

    return greedily(params, src, n_heads, max_length, bos, eos, pad, step=step)


@greedy_decode.equivalent
def with_remembered_keys(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    return decoding.incremental_greedy_decode(params, src, n_heads, max_length, bos, eos, pad)


@greedy_decode.equivalent
def with_another_loop(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    return greedily(params, src, n_heads, max_length, bos, eos, pad, step=likeliest)


@greedy_decode.equivalent
def one_sentence_after_another(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    rows = [
        greedily(params, row[np.newaxis], n_heads, max_length, bos, eos, pad, step=likeliest)[0].tolist() for row in src
    ]
    width = max(map(len, rows))
    return np.array([row + [pad] * (width - len(row)) for row in rows])


# -------------------------------------------------------------------------------------------- beam_search

beam_search = Exercise(
    decoding.beam_search,
    outputs={"tokens": "beam_width T", "scores": "beam_width"},
    section="Several hopeful beginnings",
    uses=("encode", "decode"),
)


def beams(draw, width, alpha, max_length=5, ends=1.3):
    """One sentence, and a model that is torn between words, so that beams differ."""
    for _ in range(60):
        inputs = sure(draw, 2, ends, layers=(1, 1))
        tables = inputs["params"]["embeddings"]
        params = inputs["params"] | {"embeddings": tables | {"output": 0.3 * tables["output"]}}
        asked = {"params": params, "src": inputs["src"][1], "n_heads": N_HEADS, "beam_width": width}
        asked |= {"length_penalty": alpha, "max_length": max_length} | MARKS
        tokens, scores = decoding.beam_search(**asked)
        first_ends = {int((row == 2).argmax()) if 2 in row else max_length for row in tokens}
        apart = np.abs(np.diff(scores)).min(initial=1.0) > 1e-4
        if width == 1 or (apart and len(first_ends) > 1 and tokens.shape[1] == max_length):
            return asked
    return asked


@beam_search.cases("the idea", points=2)
def _(draw):
    yield "three beginnings, scored by log p", beams(draw, 3, 0.0)
    yield "four beginnings", beams(draw, 4, 0.0)


@beam_search.cases("the length penalty", points=2)
def _(draw):
    yield "alpha = 0.6", beams(draw, 4, 0.6)
    yield "alpha = 2", beams(draw, 5, 2.0)


@beam_search.cases("edge cases", points=1)
def _(draw):
    yield "a beam of one", beams(draw, 1, 0.6)
    yield "wider than the vocabulary", beams(draw, 14, 0.6, max_length=3)


def searched(params, src, n_heads, width, max_length, bos, eos, pad, *, score, end="pad", rank=None, length_of=None):
    """Beam search over Python lists; score(log p, length, log p of the newest), and what a finished one does."""
    length_of = length_of or _length
    rank = rank or score
    memory, _ = reference.encode(params, src, n_heads, pad)
    beam = [([], 0.0, 0.0)]
    for _ in range(max_length):
        if all(eos in words for words, *_ in beam):
            break
        grown = []
        for words, log_p, last in beam:
            if end == "pad" and eos in words:
                grown.append(([*words, pad], log_p, last))
                continue
            row = decoded(params, np.array([bos, *words]), memory, src, n_heads, pad)[0][-1]
            logs = log_softmax(row)
            grown += [([*words, token], log_p + logs[token], logs[token]) for token in range(len(logs))]
        beam = sorted(grown, key=lambda one: -rank(one[1], length_of(one[0], eos), one[2]))[:width]
    words = np.array([words for words, *_ in beam])
    return words, np.array([score(log_p, length_of(words, eos), last) for words, log_p, last in beam])


def _length(words, eos):
    return words.index(eos) + 1 if eos in words else len(words)


def by_penalty(alpha):
    return lambda log_p, length, last: log_p / ((5 + length) / 6) ** alpha


@beam_search.mistake("does not normalise the scores")
def not_normalised(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    """Hypotheses are ranked by log p alone. Every further token lowers it, so short sentences win; the length penalty
    divides that away. Reread 'Several hopeful beginnings'."""
    marks = (beam_width, max_length, bos, eos, pad)
    return searched(params, src, n_heads, *marks, score=by_penalty(0))


@beam_search.mistake("divides by the length itself")
def divided_by_length(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    """The scores are divided by L to the power alpha. The penalty is ((5 + L) / 6)^alpha: the 5 keeps the first few
    tokens from mattering too much. Reread 'Several hopeful beginnings'."""
    marks = (beam_width, max_length, bos, eos, pad)
    return searched(params, src, n_heads, *marks, score=lambda log_p, length, last: log_p / length**length_penalty)


@beam_search.mistake("normalises only at the very end")
def normalised_at_the_end(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    """The beam is pruned by log p and only the survivors are normalised. Longer hypotheses have been thrown away before
    the penalty could speak for them, and the order is that of log p. Reread 'Several hopeful beginnings'."""
    marks = (beam_width, max_length, bos, eos, pad)
    return searched(params, src, n_heads, *marks, score=by_penalty(length_penalty), rank=by_penalty(0))


@beam_search.mistake("lets finished hypotheses write on")
def beams_write_on(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    """A hypothesis that has its end mark is continued with words. It may go on in one way only, by padding, at no cost.
    Reread 'Several hopeful beginnings'."""
    marks = (beam_width, max_length, bos, eos, pad)
    return searched(params, src, n_heads, *marks, score=by_penalty(length_penalty), end="write")


@beam_search.mistake("ranks by the newest token alone")
def newest_token_counts(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    """The score of a hypothesis is the log-probability of its newest token. It is the sum over all its tokens: carry it
    along. Reread 'Several hopeful beginnings'."""
    marks = (beam_width, max_length, bos, eos, pad)
    return searched(
        params, src, n_heads, *marks, score=lambda log_p, length, last: last / ((5 + length) / 6) ** length_penalty
    )


@beam_search.mistake("returns the worst first")
def worst_first(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    """The hypotheses are right, and in rising order. `argsort` rises; sort the negative scores. Reread 'Several hopeful
    beginnings'."""
    tokens, scores = decoding.beam_search(params, src, n_heads, beam_width, length_penalty, max_length, bos, eos, pad)
    return tokens[::-1], scores[::-1]


@beam_search.mistake("counts padding in the length")
def padding_has_length(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    """A finished hypothesis grows longer by its padding, and its score better and better, without a word being
    written. Its length ends at its end mark. Reread 'Several hopeful beginnings'."""
    marks = (beam_width, max_length, bos, eos, pad)
    return searched(
        params, src, n_heads, *marks, score=by_penalty(length_penalty), length_of=lambda words, eos: len(words)
    )


@beam_search.equivalent
def over_lists(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    marks = (beam_width, max_length, bos, eos, pad)
    return searched(params, src, n_heads, *marks, score=by_penalty(length_penalty))


@beam_search.equivalent
def as_a_list_of_rows(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    marks = (beam_width, max_length, bos, eos, pad)
    scale = 6.0**length_penalty
    score = lambda log_p, length, last: scale * log_p * (5 + length) ** -length_penalty  # noqa: E731
    return list(searched(params, src, n_heads, *marks, score=score))


@beam_search.equivalent
def with_contiguous_copies(params, src, **options):
    tokens, scores = decoding.beam_search(params, src.copy(), **options)
    return np.asfortranarray(tokens), scores.copy()


# ------------------------------------------------------------------------------------- repaired_model_loss

repaired_model_loss = Exercise(
    reference.repaired_model_loss,
    outputs={"loss": ""},
    section="Find the bug",
)
BUGS = {
    "shift": "the target is rolled over the flattened batch, so tokens cross from one sentence into the next. Reread "
    "'Teacher forcing'.",
    "scale": "one of the two embeddings is not scaled by the root of d_model. Reread 'Reading: the encoder'.",
    "memory": "the decoder attends to the memory of padding. Reread 'Writing: the decoder'.",
    "padding": "padding is counted in the loss as if it were a word. Reread 'The loss'.",
}


@repaired_model_loss.cases("no padding", points=2)
def _(draw):
    yield "one sentence pair", question(draw, n=1, padded=False)
    yield "a batch", question(draw, (1, 2), padded=False)


@repaired_model_loss.cases("sources of unequal length", points=1)
def _(draw):
    inputs = question(draw)
    yield "the source is padded", inputs | {"tgt": targets(draw, 3, 5, padded=False)}


@repaired_model_loss.cases("targets of unequal length", points=1)
def _(draw):
    inputs = question(draw)
    yield "the target is padded", inputs | {"src": sources(draw, 3, 4, padded=False)}
    yield "both are padded", question(draw, (2, 1))


def buggy(params, src, tgt, n_heads, pad, *, left):
    """The model's loss with the named bugs left in."""
    table = params["embeddings"]["shared"]
    given, asked = tgt[..., :-1], tgt[..., 1:]
    if "shift" in left:
        given, asked = np.roll(tgt.reshape(-1), 1).reshape(tgt.shape), tgt
    memory, _ = reference.encode(params, src, n_heads, pad)
    changed = {"x": unscaled(given, table)} if "scale" in left else {}
    if "memory" in left:
        changed["over_memory"] = EVERYWHERE
    logits, _ = decoded(params, given, memory, src, n_heads, pad, **changed)
    return cross_entropy(logits, asked, -1 if "padding" in left else pad)[0]


def _partly_mended(left):
    def wrong(params, src, tgt, n_heads, pad):
        return buggy(params, src, tgt, n_heads, pad, left=left)

    wrong.__name__ = "_".join(left) + "_left"
    found = len(BUGS) - len(left)
    wrong.__doc__ = f"Found so far: {found} of {len(BUGS)}. Next: {BUGS[left[0]]}"
    return f"{found} found, {len(left)} to go: {', '.join(left)}", wrong


for keep in product((True, False), repeat=len(BUGS)):
    if any(keep):
        description, partly_mended = _partly_mended([bug for bug, kept in zip(BUGS, keep, strict=True) if kept])
        repaired_model_loss.mistake(description)(partly_mended)


@repaired_model_loss.equivalent
def loss_alone(params, src, tgt, n_heads, pad):
    return buggy(params, src, tgt, n_heads, pad, left=())


@repaired_model_loss.equivalent
def loss_of_the_pair(params, src, tgt, n_heads, pad):
    return float(reference.loss_and_gradients(params, src, tgt, n_heads, pad)[0])


@repaired_model_loss.equivalent
def loss_by_sentences(params, src, tgt, n_heads, pad):
    counts = (tgt[:, 1:] != pad).sum(axis=1)
    losses = [buggy(params, s[None], t[None], n_heads, pad, left=()) for s, t in zip(src, tgt, strict=True)]
    return np.average(losses, weights=counts)


# ------------------------------------------------------------------------------------- the PyTorch modules


def asked_of(module_class, draw, arguments, inputs):
    """A case: the constructor's arguments, weights of which none is fresh, and what the module is called with."""
    state = module_class(**arguments).state_dict()
    drawn = {name: 0.5 * draw.normal(*tensor.shape) for name, tensor in state.items()}
    return {"arguments": arguments, "weights": drawn, "inputs": inputs}


MultiHeadAttention = Exercise(
    model_torch.MultiHeadAttention,
    outputs={"output": "... T_query d_model"},
    section="The same model in PyTorch",
)


@MultiHeadAttention.cases("the idea", points=2)
def _(draw):
    T_query, T_key, n = draw.sizes(3)
    inputs = [draw.normal(n, T_query, 12), draw.normal(n, T_key, 12), draw.normal(n, T_key, 12)]
    yield "three heads of width four", asked_of(model_torch.MultiHeadAttention, draw, HEADS_3, inputs)


@MultiHeadAttention.cases("masks and no batch axis", points=1)
def _(draw):
    T_query, T_key, n = draw.sizes(3)
    mask = draw.rng.random((n, T_query, T_key)) < 0.6
    mask[..., 0] = True
    inputs = [draw.normal(n, T_query, 12), draw.normal(n, T_key, 12), draw.normal(n, T_key, 12)]
    yield "a mask per sentence", asked_of(model_torch.MultiHeadAttention, draw, HEADS_3, [*inputs, mask])
    single = [array[0] for array in inputs]
    yield "one sentence", asked_of(model_torch.MultiHeadAttention, draw, HEADS_3, [*single, mask[0]])


HEADS_3 = {"d_model": 12, "n_heads": 3}


@MultiHeadAttention.mistake("splits the heads by a view alone")
class ViewOnlySplit(model_torch.MultiHeadAttention):
    """A view to (n_heads, T, d_head) cuts the sentence, not the vectors: each "head" then holds a few whole words.
    Split the last axis, and exchange two axes. Reread 'The same model in PyTorch'."""

    def split_heads(self, x):
        return x.reshape(*x.shape[:-2], self.n_heads, x.shape[-2], -1)


@MultiHeadAttention.mistake("interleaves the heads")
class Interleaved(model_torch.MultiHeadAttention):
    """Head h gets every n_heads-th feature. Its features are neighbours: the last axis splits as (n_heads, d_head), in
    that order. Reread 'The same model in PyTorch'."""

    def split_heads(self, x):
        return x.unflatten(-1, (-1, self.n_heads)).movedim(-1, -3)


@MultiHeadAttention.mistake("has its mask the wrong way round")
class InvertedMask(model_torch.MultiHeadAttention):
    """True means "may not attend" here, as in `nn.MultiheadAttention`. `scaled_dot_product_attention`, and this book,
    mean the opposite. Reread 'The same model in PyTorch'."""

    def forward(self, query, key, value, mask=None):
        return super().forward(query, key, value, None if mask is None else ~mask)


@MultiHeadAttention.mistake("ignores the mask")
class MaskIgnored(model_torch.MultiHeadAttention):
    """The mask is taken and never used. It goes into `scaled_dot_product_attention`, with an axis for the heads. Reread
    'The same model in PyTorch'."""

    def forward(self, query, key, value, mask=None):
        return super().forward(query, key, value)


@MultiHeadAttention.mistake("leaves out the output projection")
class NoOutputProjection(model_torch.MultiHeadAttention):
    """The merged heads are returned as they are: `linear_output` is built and never called, so the heads stay side by
    side and never meet. Reread 'The same model in PyTorch'."""

    def forward(self, query, key, value, mask=None):
        return attended(self, query, key, value, mask)


@MultiHeadAttention.mistake("makes the values from the key")
class ValuesFromKeys(model_torch.MultiHeadAttention):
    """`linear_value` is applied to `key`. In this model the two are always the same tensor, so that nothing shows; the
    function has three inputs and must use all of them. Reread 'The same model in PyTorch'."""

    def forward(self, query, key, value, mask=None):
        return super().forward(query, key, key, mask)


@MultiHeadAttention.mistake("scales by the root of d_model")
class ScaledByDModel(model_torch.MultiHeadAttention):
    """The scores are divided by the root of d_model. A head's queries and keys are only d_head wide, and it is their
    width that counts. Reread 'The same model in PyTorch'."""

    def forward(self, query, key, value, mask=None):
        return self.linear_output(attended(self, query, key, value, mask, scale=query.shape[-1] ** -0.5))


def attended(module, query, key, value, mask, scale=None):
    """The merged heads, before the output projection."""
    queries = module.split_heads(module.linear_query(query))
    keys = module.split_heads(module.linear_key(key))
    values = module.split_heads(module.linear_value(value))
    mask = None if mask is None else mask.unsqueeze(-3)
    heads = functional.scaled_dot_product_attention(queries, keys, values, mask, scale=scale)
    return heads.transpose(-2, -3).flatten(-2)


@MultiHeadAttention.equivalent
class BySoftmax(model_torch.MultiHeadAttention):
    def forward(self, query, key, value, mask=None):
        queries = self.split_heads(self.linear_query(query))
        keys = self.split_heads(self.linear_key(key))
        scores = queries @ keys.mT / queries.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask.unsqueeze(-3), -float("inf"))
        heads = scores.softmax(-1) @ self.split_heads(self.linear_value(value))
        return self.linear_output(heads.transpose(-2, -3).flatten(-2))


@MultiHeadAttention.equivalent
class HeadByHead(model_torch.MultiHeadAttention):
    def forward(self, query, key, value, mask=None):
        parts = zip(
            self.linear_query(query).chunk(self.n_heads, -1),
            self.linear_key(key).chunk(self.n_heads, -1),
            self.linear_value(value).chunk(self.n_heads, -1),
            self.linear_output.weight.chunk(self.n_heads, 1),
            strict=True,
        )
        heads = (functional.scaled_dot_product_attention(q, k, v, mask) @ w.T for q, k, v, w in parts)
        return sum(heads) + self.linear_output.bias


@MultiHeadAttention.equivalent
class WithScaledQueries(model_torch.MultiHeadAttention):
    def forward(self, query, key, value, mask=None):
        return self.linear_output(
            attended(self, query, key, value, mask, scale=self.n_heads**0.5 / query.shape[-1] ** 0.5)
        )


EncoderLayer = Exercise(
    model_torch.EncoderLayer,
    outputs={"output": "... T d_model"},
    section="The same model in PyTorch",
    uses=("MultiHeadAttention",),
)
LAYER = {"d_model": 8, "n_heads": 2, "d_ff": 11}


@EncoderLayer.cases("the idea", points=1)
def _(draw):
    n, T = draw.sizes(2)
    yield "no mask", asked_of(model_torch.EncoderLayer, draw, LAYER, [draw.normal(n, T, 8)])


@EncoderLayer.cases("masks and dropout", points=1)
def _(draw):
    n, T = draw.sizes(2)
    mask = np.ones((n, 1, T), bool)
    mask[0, 0, T // 2 :] = False
    yield "padding", asked_of(model_torch.EncoderLayer, draw, LAYER, [draw.normal(n, T, 8), mask])
    still = LAYER | {"dropout": 0.5}
    yield "dropout is still in evaluation", asked_of(model_torch.EncoderLayer, draw, still, [draw.normal(n, T, 8)])


class EncoderSteps(model_torch.EncoderLayer):
    """The layer with its sub-layers at hand."""

    def attend(self, x, mask):
        return self.dropout(self.attention(x, x, x, mask))

    def think(self, x):
        return self.dropout(self.feed_forward(x))


@EncoderLayer.mistake("normalises before, not after")
class PreNormEncoder(EncoderSteps):
    """This is pre-norm: each sub-layer gets a normalised input, and the sum is left as it is. The paper, and this
    model, normalise the sum. Reread 'The same model in PyTorch'."""

    def forward(self, x, mask=None):
        x = x + self.attend(self.norm_attention(x), mask)
        return x + self.think(self.norm_feed_forward(x))


@EncoderLayer.mistake("uses one norm twice")
class OneNormEncoder(EncoderSteps):
    """Both sums go through `norm_attention`. Fresh norms are all alike, so nothing shows until training has moved them;
    the other norm never gets a gradient. Reread 'The same model in PyTorch'."""

    def forward(self, x, mask=None):
        x = self.norm_attention(x + self.attend(x, mask))
        return self.norm_attention(x + self.think(x))


@EncoderLayer.mistake("leaves out the residual connections")
class NoResidualEncoder(EncoderSteps):
    """The sub-layers' outputs are normalised without x being added: "Add & Norm" lacks its Add. Reread 'The same
    model in PyTorch'."""

    def forward(self, x, mask=None):
        x = self.norm_attention(self.attend(x, mask))
        return self.norm_feed_forward(self.think(x))


@EncoderLayer.mistake("does not pass the mask on")
class EncoderWithoutMask(EncoderSteps):
    """The mask stops at the layer. Hand it to the attention. Reread 'The same model in PyTorch'."""

    def forward(self, x, mask=None):
        return super().forward(x)


@EncoderLayer.mistake("forgets in evaluation too")
class DropoutAlwaysOn(model_torch.EncoderLayer):
    """Dropout is active although the module is in evaluation mode. `nn.Dropout` knows the mode by itself;
    `functional.dropout` must be told: training=self.training. Reread 'The same model in PyTorch'."""

    def forward(self, x, mask=None):
        rate = 0.0 if self.dropout.p == 0 else 1.0
        x = self.norm_attention(x + functional.dropout(self.attention(x, x, x, mask), rate))
        return self.norm_feed_forward(x + functional.dropout(self.feed_forward(x), rate))


@EncoderLayer.equivalent
class EncoderStepByStep(EncoderSteps):
    def forward(self, x, mask=None):
        x = self.norm_attention(self.attend(x, mask) + x)
        return self.norm_feed_forward(self.think(x) + x)


@EncoderLayer.equivalent
class EncoderByFunctions(model_torch.EncoderLayer):
    def forward(self, x, mask=None):
        first, second = self.norm_attention, self.norm_feed_forward
        x = functional.layer_norm(x + self.attention(x, x, x, mask), first.normalized_shape, first.weight, first.bias)
        return functional.layer_norm(x + self.feed_forward(x), second.normalized_shape, second.weight, second.bias)


@EncoderLayer.equivalent
class EncoderByGather(model_torch.EncoderLayer):
    def forward(self, x, mask=None):
        hidden = x.clone()
        for norm, sub_layer in (
            (self.norm_attention, lambda y: self.attention(y, y, y, mask)),
            (self.norm_feed_forward, self.feed_forward),
        ):
            hidden = norm(hidden + self.dropout(sub_layer(hidden)))
        return hidden


DecoderLayer = Exercise(
    model_torch.DecoderLayer,
    outputs={"output": "... T d_model"},
    section="The same model in PyTorch",
    uses=("MultiHeadAttention",),
)


@DecoderLayer.cases("the idea", points=1)
def _(draw):
    n, T, T_memory = draw.sizes(3)
    inputs = [draw.normal(n, T, 8), draw.normal(n, T_memory, 8)]
    yield "no masks", asked_of(model_torch.DecoderLayer, draw, LAYER, inputs)


@DecoderLayer.cases("masks", points=1)
def _(draw):
    n, T, T_memory = draw.sizes(3, low=3)
    causal, padding = np.tri(T, dtype=bool), np.ones((n, 1, T_memory), bool)
    padding[0, 0, 1:] = False
    inputs = [draw.normal(n, T, 8), draw.normal(n, T_memory, 8), causal, padding]
    yield "both masks", asked_of(model_torch.DecoderLayer, draw, LAYER, inputs)


class DecoderSteps(model_torch.DecoderLayer):
    """The layer with its sub-layers at hand."""

    def attend(self, x, mask):
        return self.dropout(self.attention(x, x, x, mask))

    def recall(self, x, memory, mask):
        return self.dropout(self.cross_attention(x, memory, memory, mask))

    def think(self, x):
        return self.dropout(self.feed_forward(x))


@DecoderLayer.mistake("uses its first norm twice")
class FirstNormTwice(DecoderSteps):
    """The sum after the cross-attention goes through `norm_attention`, and `norm_cross_attention` never gets a
    gradient. With fresh norms all is well; with trained ones the error is of the size of the output. Reread 'The same
    model in PyTorch'."""

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x = self.norm_attention(x + self.attend(x, self_mask))
        x = self.norm_attention(x + self.recall(x, memory, memory_mask))
        return self.norm_feed_forward(x + self.think(x))


@DecoderLayer.mistake("asks the memory first")
class CrossFirst(DecoderSteps):
    """The cross-attention comes before the self-attention: the decoder asks the source before it has looked at what it
    wrote. Reread 'The same model in PyTorch'."""

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x = self.norm_cross_attention(x + self.recall(x, memory, memory_mask))
        x = self.norm_attention(x + self.attend(x, self_mask))
        return self.norm_feed_forward(x + self.think(x))


@DecoderLayer.mistake("has no memory mask")
class DecoderWithoutMemoryMask(DecoderSteps):
    """The cross-attention is not given its mask, and looks at padding. Reread 'The same model in PyTorch'."""

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        return super().forward(x, memory, self_mask)


@DecoderLayer.mistake("has no mask over itself")
class DecoderWithoutCausalMask(DecoderSteps):
    """The self-attention is not given its mask, and sees what is still to be written. Reread 'The same model in
    PyTorch'."""

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        return super().forward(x, memory, None, memory_mask)


@DecoderLayer.mistake("takes the values from the decoder")
class ValuesFromDecoder(DecoderSteps):
    """The roles are exchanged: the memory asks and the decoder answers, wherever the shapes allow it. Queries come from
    x; keys and values from the memory. Reread 'The same model in PyTorch'."""

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x = self.norm_attention(x + self.attend(x, self_mask))
        x = self.norm_cross_attention(x + self.cross_attention(x, x, x))
        return self.norm_feed_forward(x + self.think(x))


@DecoderLayer.equivalent
class DecoderStepByStep(DecoderSteps):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x = self.norm_attention(self.attend(x, self_mask) + x)
        x = self.norm_cross_attention(self.recall(x, memory, memory_mask) + x)
        return self.norm_feed_forward(self.think(x) + x)


@DecoderLayer.equivalent
class DecoderWithoutDropout(model_torch.DecoderLayer):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        y = self.norm_attention(x + self.attention(x, x, x, self_mask))
        z = self.norm_cross_attention(y + self.cross_attention(y, memory, memory, memory_mask))
        return self.norm_feed_forward(z + self.feed_forward(z))


@DecoderLayer.equivalent
class DecoderInALoop(DecoderSteps):
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        for norm, sub_layer in (
            (self.norm_attention, lambda y: self.attend(y, self_mask)),
            (self.norm_cross_attention, lambda y: self.recall(y, memory, memory_mask)),
            (self.norm_feed_forward, self.think),
        ):
            x = norm(x + sub_layer(x))
        return x


Transformer = Exercise(
    model_torch.Transformer,
    outputs={"logits": "... T_tgt vocab"},
    section="The same model in PyTorch",
    uses=("MultiHeadAttention", "EncoderLayer", "DecoderLayer"),
)


def whole(draw, layers, vocabularies, padded=True):
    arguments = LAYER | {"vocabularies": vocabularies, "n_encoder": layers[0], "n_decoder": layers[1]}
    T_src, T_tgt = draw.sizes(2, low=4, high=8)
    inputs = [sources(draw, 3, T_src, padded), targets(draw, 3, T_tgt, padded)]
    return asked_of(model_torch.Transformer, draw, arguments, inputs)


@Transformer.cases("the idea", points=2)
def _(draw):
    yield "one shared table", whole(draw, (1, 1), {"shared": 9}, padded=False)
    yield "two layers and one", whole(draw, (2, 1), {"shared": 10}, padded=False)


@Transformer.cases("padding", points=1)
def _(draw):
    yield "a padded batch", whole(draw, (1, 2), {"shared": 9})
    inputs = whole(draw, (1, 1), {"shared": 9})
    inputs["inputs"][1][:, 1] = 0
    yield "padding in the middle", inputs


@Transformer.cases("tables of their own", points=1)
def _(draw):
    yield "three tables", whole(draw, (1, 1), {"source": 10, "target": 11, "output": 9})


@Transformer.mistake("has no causal mask")
class ModelWithoutCausalMask(model_torch.Transformer):
    """Every position of the target sees those after it. Its mask is causal and padding in one: & joins them. Reread
    'The same model in PyTorch'."""

    def decode(self, tgt, memory, src):
        x = self.embed(tgt, self.table("target"))
        for layer in self.decoder:
            x = layer(x, memory, self.padding_mask(tgt), self.padding_mask(src))
        return functional.linear(x, self.table("output").weight)


@Transformer.mistake("has no memory mask")
class ModelWithoutMemoryMask(model_torch.Transformer):
    """The decoder layers are not told which source tokens are padding. Reread 'The same model in PyTorch'."""

    def decode(self, tgt, memory, src):
        return super().decode(tgt, memory, 1 + 0 * src)


@Transformer.mistake("does not scale the target's embedding")
class ModelWithoutTargetScale(model_torch.Transformer):
    """The source's embedding is multiplied by the root of d_model, the target's is not. Reread 'The same model in
    PyTorch'."""

    def decode(self, tgt, memory, src):
        self.unscaled = True
        return super().decode(tgt, memory, src)

    def embed(self, tokens, table):
        x = super().embed(tokens, table)
        return x - table(tokens) * (table.embedding_dim**0.5 - 1) if getattr(self, "unscaled", False) else x


@Transformer.mistake("scales neither embedding")
class ModelWithoutScale(model_torch.Transformer):
    """The embeddings are not multiplied by the root of d_model. Reread 'The same model in PyTorch'."""

    def embed(self, tokens, table):
        return super().embed(tokens, table) - table(tokens) * (table.embedding_dim**0.5 - 1)


@Transformer.mistake("adds no positions")
class ModelWithoutPositions(model_torch.Transformer):
    """The embeddings enter without their positions: the model cannot tell one order of words from another. Reread 'The
    same model in PyTorch'."""

    def embed(self, tokens, table):
        return table(tokens) * table.embedding_dim**0.5


@Transformer.mistake("has a final norm on each stack")
class ModelWithFinalNorms(model_torch.Transformer):
    """There is a layer norm too many after the last layer of each stack. `nn.Transformer` has them; the paper's post-
    norm model ends on a norm already. Reread 'What nn.Transformer adds'."""

    def encode(self, src):
        return functional.layer_norm(super().encode(src), (8,))


@Transformer.equivalent
class ModelSentenceBySentence(model_torch.Transformer):
    def forward(self, src, tgt):
        pairs = zip(src, tgt, strict=True)
        return nn.utils.rnn.pad_sequence([super(type(self), self).forward(s, t) for s, t in pairs], batch_first=True)


@Transformer.equivalent
class ModelByMatrixProduct(model_torch.Transformer):
    def forward(self, src, tgt):
        memory = self.encode(src)
        return self.decode(tgt, memory, src)


@Transformer.equivalent
class ModelByOneHot(model_torch.Transformer):
    def embed(self, tokens, table):
        one_hot = functional.one_hot(tokens, table.num_embeddings).to(table.weight)
        x = one_hot @ table.weight * table.embedding_dim**0.5
        encoding = sinusoidal_encoding(tokens.shape[-1], table.embedding_dim)
        return x + x.new_tensor(encoding)
