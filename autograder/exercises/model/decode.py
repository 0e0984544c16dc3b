"""decode: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from autograder.exercises.model.shared import (
    EVERYWHERE,
    decoded,
    only,
    question,
    renamed,
    tables_replaced_by_the_shared_one,
    unscaled,
    with_one_table_of_its_own,
)
from solutions import model as reference
from solutions.cross import decoder_layer
from solutions.logarithms import log_softmax
from solutions.masking import padding_mask, target_mask
from solutions.memory import memory_mask
from solutions.model import table_for, unembed
from solutions.position import embed, sinusoidal_encoding

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
    inputs = writing(draw)
    T = min(inputs["tgt"].shape[1], inputs["src"].shape[1])
    cut = {name: inputs[name][:, :T] for name in ("tgt", "src", "memory")}
    yield "source and target of one length", inputs | cut
    yield "another padding token", renamed(draw, writing(draw))


@decode.cases("tables of their own and float32", points=1)
def _(draw):
    yield "three tables", writing(draw, tied=False)
    yield "float32", writing(draw, dtype=np.float32)
    for role in ("target", "output"):
        yield f"a table beside a shared one, {role}", with_one_table_of_its_own(writing(draw, tied=False), role)


def with_shared_keys_and_values(layers):
    shared = {name: layers[0]["cross_attention"][name] for name in ("w_key", "b_key", "w_value", "b_value")}
    return [layer | {"cross_attention": layer["cross_attention"] | shared} for layer in layers]


@decode.mistake("has no causal mask")
def target_unmasked(params, tgt, memory, src, n_heads, pad=0):
    """Position t sees the tokens after it, and with teacher forcing the next token is the answer: the model learns to
    copy it, its loss falls to nearly nothing, and it cannot write. The decoder's self-attention needs target_mask."""
    return decoded(params, tgt, memory, src, n_heads, pad, over_target=padding_mask(tgt, pad))


@decode.mistake("has a causal mask, and no padding mask, over the target")
def target_padding_seen(params, tgt, memory, src, n_heads, pad=0):
    """The mask over the target is only causal. It hides padding at the end anyway, but not padding before a word.
    target_mask(tgt, pad) is both masks in one."""
    causal = np.tri(tgt.shape[-1], dtype=bool)
    return decoded(params, tgt, memory, src, n_heads, pad, over_target=causal)


@decode.mistake("has a causal mask that is transposed")
def sees_only_later_tokens(params, tgt, memory, src, n_heads, pad=0):
    """Position t sees itself and the tokens after it, and none before it. The causal mask is the lower triangle: rows
    are queries, columns are keys, so `np.tri`, not `np.triu`."""
    later = np.tri(tgt.shape[-1], dtype=bool).T
    return decoded(params, tgt, memory, src, n_heads, pad, over_target=padding_mask(tgt, pad) & later)


@decode.mistake("does not let a position see its own token")
def sees_only_earlier_tokens(params, tgt, memory, src, n_heads, pad=0):
    """Position t sees only the tokens before t, not token t itself. Row t scores token t + 1, so it may see the tokens
    up to t: the diagonal of the causal mask is True."""
    earlier = np.tri(tgt.shape[-1], k=-1, dtype=bool)
    return decoded(params, tgt, memory, src, n_heads, pad, over_target=padding_mask(tgt, pad) & earlier)


@decode.mistake("has no memory mask")
def memory_unmasked(params, tgt, memory, src, n_heads, pad=0):
    """The decoder attends to the memory of padding. The encoder's mask does not help: padding has a row in the memory
    like every other token, computed from what it attended to."""
    return decoded(params, tgt, memory, src, n_heads, pad, over_memory=EVERYWHERE)


@decode.mistake("does not scale the target's embedding")
def target_unscaled(params, tgt, memory, src, n_heads, pad=0):
    """The target's embedding is not multiplied by the root of d_model, while the source's is. With a tied table the two
    stacks then disagree about the size of a word."""
    return decoded(params, tgt, memory, src, n_heads, pad, x=unscaled(tgt, table_for(params["embeddings"], "target")))


@decode.mistake("shares one key and value projection among all layers")
def shared_memory_projections(params, tgt, memory, src, n_heads, pad=0):
    """Every layer reads the memory with the first layer's keys and values. All layers share one memory, but each layer
    has its own w_key and w_value, so each finds and takes something else."""
    layers = with_shared_keys_and_values(params["decoder"])
    return decoded(params, tgt, memory, src, n_heads, pad, layers=layers)


@decode.mistake("scores with the target's table", reread="One table in three roles")
def output_by_target_table(params, tgt, memory, src, n_heads, pad=0):
    """The logits are products with the target's embedding. With tied tables that is right; if "output" has a table of
    its own, use that one."""
    tables = params["embeddings"]
    params = params | {"embeddings": tables | {"output": table_for(tables, "target")}}
    return decoded(params, tgt, memory, src, n_heads, pad)


@decode.mistake("prefers the shared table", reread="One table in three roles")
def shared_table_first(params, tgt, memory, src, n_heads, pad=0):
    """You take the shared table if there is one, even if the target or the output has a table of its own. Look for the
    role's own table first: the shared one is for roles without a table of their own."""
    return decoded(tables_replaced_by_the_shared_one(params), tgt, memory, src, n_heads, pad)


@decode.mistake("returns probabilities")
def softmaxed(params, tgt, memory, src, n_heads, pad=0):
    """These are probabilities: every row adds up to one. The loss computes a stable log-softmax itself, so the model
    ends with its logits."""
    return np.exp(log_softmax(decoded(params, tgt, memory, src, n_heads, pad)[0])), None


@decode.mistake("scales the output table by the root of d_model", reread="One table in three roles")
def output_scaled(params, tgt, memory, src, n_heads, pad=0):
    """The logits are too large by the root of d_model. Only the two embeddings at the bottom are scaled. At the output,
    use the rows as they are."""
    return decoded(params, tgt, memory, src, n_heads, pad)[0] * memory.shape[-1] ** 0.5, None


@decode.mistake("takes padding to be token 0 whatever `pad` says")
def pad_is_zero(params, tgt, memory, src, n_heads, pad=0):
    """Both masks compare with 0, but here padding has another number. Use the argument `pad`."""
    return decoded(params, tgt, memory, src, n_heads, 0)


@decode.mistake("takes the target's padding to be token 0")
def target_pad_is_zero(params, tgt, memory, src, n_heads, pad=0):
    """The mask over the target compares with 0, but here padding has another number. Use the argument `pad`, as the
    other mask does."""
    return decoded(params, tgt, memory, src, n_heads, pad, over_target=target_mask(tgt, 0))


@decode.mistake("takes the source's padding to be token 0")
def memory_pad_is_zero(params, tgt, memory, src, n_heads, pad=0):
    """The mask over the memory compares with 0, but here padding has another number. Use the argument `pad`, as the
    other mask does."""
    over_memory = memory_mask(src, tgt.shape[-1], 0)
    return decoded(params, tgt, memory, src, n_heads, pad, over_memory=over_memory)


@decode.mistake("uses the first layer only")
def first_decoder_layer_only(params, tgt, memory, src, n_heads, pad=0):
    """The logits are made from what the *first* layer returned; the layers above it are never used. Go through all of
    params["decoder"]."""
    return decoded(params, tgt, memory, src, n_heads, pad, layers=params["decoder"][:1])


@decode.mistake("goes through the layers in reverse")
def decoder_in_reverse(params, tgt, memory, src, n_heads, pad=0):
    """The last layer of params["decoder"] reads the embedding, and the logits come from the first. The forward pass
    follows the order of the list; only the backward pass is `reversed`."""
    return decoded(params, tgt, memory, src, n_heads, pad, layers=params["decoder"][::-1])


@decode.mistake("uses the first layer's weights in every layer")
def first_decoder_layer_again(params, tgt, memory, src, n_heads, pad=0):
    """Each pass of the loop uses params["decoder"][0]. Every layer has weights of its own; with a single layer this
    mistake does not show."""
    return decoded(params, tgt, memory, src, n_heads, pad, layers=params["decoder"][:1] * len(params["decoder"]))


@decode.mistake("every layer reads the embedding")
def decoder_not_stacked(params, tgt, memory, src, n_heads, pad=0):
    """Each layer gets the embedding and not the output of the layer below, so only the last layer counts. The output of
    one is the input of the next."""
    return decoded(params, tgt, memory, src, n_heads, pad, layers=params["decoder"][-1:])


@decode.mistake("leaves out the positions")
def target_without_positions(params, tgt, memory, src, n_heads, pad=0):
    """No position is added to the target: the decoder sees which words it has written, but not in which order. Use
    `positional_embedding`."""
    x, _ = embed(tgt, table_for(params["embeddings"], "target"))
    return decoded(params, tgt, memory, src, n_heads, pad, x=x)


@decode.mistake("adds the positions in every layer")
def positions_in_every_layer(params, tgt, memory, src, n_heads, pad=0):
    """Every layer's input gets the positions, so with two layers they are in the sum twice. They are added once, to the
    embedding, and the residual connections carry them on."""
    tables = params["embeddings"]
    x, _ = embed(tgt, table_for(tables, "target"))
    encoding = sinusoidal_encoding(*x.shape[-2:]).astype(x.dtype)
    for layer in params["decoder"]:
        x, _ = decoder_layer(
            x + encoding, memory, layer, n_heads, target_mask(tgt, pad), memory_mask(src, tgt.shape[-1], pad)
        )
    return unembed(x, table_for(tables, "output"))[0], None


@decode.mistake("uses the target's mask over the memory")
def target_mask_over_memory(params, tgt, memory, src, n_heads, pad=0):
    """Both attentions get the target's mask. It fits the memory only where source and target are equally long, and
    there it hides the end of the source from the first words. The cross-attention gets memory_mask."""
    return decoded(params, tgt, memory, src, n_heads, pad, over_memory=target_mask(tgt, pad))


@decode.mistake("returns logarithms of probabilities")
def logarithms(params, tgt, memory, src, n_heads, pad=0):
    """These are log-probabilities: you have applied log_softmax to the logits. The loss does that itself, so return the
    logits as they are."""
    return log_softmax(decoded(params, tgt, memory, src, n_heads, pad)[0]), None


@decode.equivalent
def without_cache(params, tgt, memory, src, n_heads, pad=0):
    return decoded(params, tgt, memory, src, n_heads, pad)


@decode.equivalent
def sentence_by_sentence(params, tgt, memory, src, n_heads, pad=0):
    if tgt.ndim == 1:
        return decoded(params, tgt, memory, src, n_heads, pad)
    rows = zip(tgt, memory, src, strict=True)
    return np.stack([decoded(params, t, m, s, n_heads, pad)[0] for t, m, s in rows]), None


@decode.equivalent
def prefix_by_prefix(params, tgt, memory, src, n_heads, pad=0):
    prefixes = (tgt[..., : t + 1] for t in range(tgt.shape[-1]))
    logits = [decoded(params, prefix, memory, src, n_heads, pad)[0][..., -1, :] for prefix in prefixes]
    return np.stack(logits, axis=-2), None
