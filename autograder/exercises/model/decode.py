import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.model.shared import (
    EVERYWHERE,
    causal,
    decoded,
    only,
    question,
    renamed,
    sources,
    tables_replaced_by_the_shared_one,
    targets,
    unscaled,
    well_conditioned,
    with_one_table_of_its_own,
)
from solutions import model as reference
from solutions.cross import decoder_layer
from solutions.logarithms import log_softmax
from solutions.masking import padding_mask, target_mask
from solutions.model import table_for, unembed
from solutions.position import embed, sinusoidal_encoding
from solutions.residual import layer_norm

decode = Exercise(
    reference.decode, outputs={"logits": "... T_tgt vocab", "cache": UNJUDGED}, section="Writing: the decoder"
)
wrong = short_mistakes(decode)
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
    T = draw.size(5, 8)  # with padding in different sentences, so that every exchange of the two masks shows
    equal = {"tgt": targets(draw, 3, T), "src": sources(draw, 3, T), "memory": draw.normal(3, T, 4)}
    yield "source and target of one length", writing(draw) | equal
    yield "another padding token", renamed(draw, writing(draw))


@decode.cases("tables of their own and float32", points=1)
def _(draw):
    yield "three tables", writing(draw, tied=False)
    yield "float32", well_conditioned(reference.decode, lambda: writing(draw, dtype=np.float32))
    for role in ("target", "output"):
        yield f"a table beside a shared one, {role}", with_one_table_of_its_own(writing(draw, tied=False), role)


def with_shared_keys_and_values(layers):
    shared = {name: layers[0]["cross_attention"][name] for name in ("w_key", "b_key", "w_value", "b_value")}
    return [layer | {"cross_attention": layer["cross_attention"] | shared} for layer in layers]


@decode.mistake("has no causal mask")
def target_unmasked(params, tgt, memory, src, n_heads, pad=0):
    """Position t sees the tokens after it, and with teacher forcing the next token is the answer. In training the model
    can copy this token, but when it writes, there is nothing to copy. The decoder's self-attention needs
    target_mask."""
    return decoded(params, tgt, memory, src, n_heads, pad, over_target=lambda tgt, src, pad: padding_mask(tgt, pad))


wrong("target_padding_seen", decoded, over_target=lambda tgt, *_: causal(tgt))("""
    has a causal mask, and no padding mask, over the target
    The mask over the target is only causal. It hides padding at the end anyway, but not padding before a word.
    target_mask(tgt, pad) combines both masks.""")
wrong("sees_only_later_tokens", decoded, over_target=lambda tgt, src, pad: padding_mask(tgt, pad) & causal(tgt).T)("""
    has a causal mask that is transposed
    Position t sees itself and the tokens after it, and none before it. The causal mask is the lower triangle: rows are
    queries, columns are keys, so `np.tri`, not `np.triu`.""")
wrong(
    "target_mask_transposed", decoded, over_target=lambda tgt, src, pad: np.swapaxes(target_mask(tgt, pad), -1, -2)
)("""
    transposes the target's mask
    Position t sees itself and the tokens after it, and a row of padding sees nothing. The last two axes of the target's
    mask are exchanged: rows are queries, columns are keys. Use target_mask(tgt, pad) as it is.""")
wrong(
    "sees_only_earlier_tokens", decoded, over_target=lambda tgt, src, pad: padding_mask(tgt, pad) & causal(tgt, k=-1)
)("""
    does not let a position see its own token
    Position t sees only the tokens before t, not token t itself. Row t scores token t + 1, so it may see the tokens up
    to t: the diagonal of the causal mask is True.""")
wrong("memory_unmasked", decoded, over_memory=lambda *_: EVERYWHERE)("""
    has no memory mask
    The decoder attends to the memory of padding. Masking the encoder is not enough: padding has a row in the memory
    like every other token, and the decoder must not read this row.""")
wrong("target_unscaled", decoded, embedded=unscaled)("""
    does not scale the target's embedding
    You do not multiply the target's embedding by the root of d_model, as you do the source's. With a tied table the two
    stacks then disagree about the size of a word.""")
wrong("shared_memory_projections", decoded, layers=with_shared_keys_and_values)("""
    shares one key and value projection among all layers
    Every layer reads the memory with the first layer's keys and values. All layers share one memory, but each layer has
    its own w_key and w_value.""")
wrong("output_by_target_table", decoded, role="target")("""
    scores with the target's table -> One table in three roles
    The logits are products with the target's embedding. With tied tables that is right; if "output" has a table of its
    own, use that one.""")


@decode.mistake("prefers the shared table", reread="One table in three roles")
def shared_table_first(params, tgt, memory, src, n_heads, pad=0):
    """You take the shared table if there is one, even if the target or the output has a table of its own. Look for the
    role's own table first: the shared one is for roles without a table of their own."""
    return decoded(tables_replaced_by_the_shared_one(params), tgt, memory, src, n_heads, pad)


wrong("softmaxed", decoded, then=lambda logits, width: np.exp(log_softmax(logits)))("""
    returns probabilities
    These are probabilities: every row adds up to one. The loss computes a stable log-softmax itself, so the model ends
    with its logits.""")
wrong("output_scaled", decoded, then=lambda logits, width: logits * width**0.5)("""
    scales the output table by the root of d_model -> One table in three roles
    The logits are too large by the root of d_model. Scale only the two embeddings at the bottom. At the output, use the
    rows as they are.""")
wrong("pad_is_zero", decoded, pad=0)("""
    takes padding to be token 0 whatever `pad` says
    Both masks compare with 0, but here padding has another number. Use the argument `pad`.""")
wrong("target_pad_is_zero", decoded, over_target=lambda tgt, *_: target_mask(tgt, 0))("""
    takes the target's padding to be token 0
    The mask over the target compares with 0, but here padding has another number. Use the argument `pad`, as the other
    mask does.""")
wrong("memory_pad_is_zero", decoded, over_memory=lambda tgt, src, pad: padding_mask(src, 0))("""
    takes the source's padding to be token 0
    The mask over the memory compares with 0, but here padding has another number. Use the argument `pad`, as the other
    mask does.""")
wrong("first_decoder_layer_only", decoded, layers=lambda layers: layers[:1])("""
    uses the first layer only
    You make the logits from the output of the *first* layer and never use the layers above it. Go through all of
    params["decoder"].""")
wrong("decoder_in_reverse", decoded, layers=lambda layers: layers[::-1])("""
    goes through the layers in reverse
    The last layer of params["decoder"] reads the embedding, and the logits come from the first. The forward pass
    follows the order of the list; only the backward pass is `reversed`.""")
wrong("first_decoder_layer_again", decoded, layers=lambda layers: layers[:1] * len(layers))("""
    uses the first layer's weights in every layer
    Each pass of the loop uses params["decoder"][0]. Every layer has weights of its own; with a single layer this
    mistake does not show.""")
wrong("decoder_not_stacked", decoded, layers=lambda layers: layers[-1:])("""
    every layer reads the embedding
    Each layer gets the embedding and not the output of the layer below, so only the last layer counts. The output of
    each layer is the input of the next.""")
wrong("target_without_positions", decoded, embedded=lambda tokens, table: embed(tokens, table)[0])("""
    leaves out the positions
    You add no positions to the target, so the decoder sees which words it has written, but not in which order. Use
    `positional_embedding`.""")


@decode.mistake("adds the positions in every layer")
def positions_in_every_layer(params, tgt, memory, src, n_heads, pad=0):
    """Every layer's input gets the positions, so two layers add them twice. Add them once, to the embedding; the
    residual connections carry them on."""
    tables = params["embeddings"]
    x, _ = embed(tgt, table_for(tables, "target"))
    encoding = sinusoidal_encoding(*x.shape[-2:]).astype(x.dtype)
    for layer in params["decoder"]:
        x, _ = decoder_layer(x + encoding, memory, layer, n_heads, target_mask(tgt, pad), padding_mask(src, pad))
    return unembed(x, table_for(tables, "output"))[0], None


wrong("target_mask_over_memory", decoded, over_memory=lambda tgt, src, pad: target_mask(tgt, pad))("""
    uses the target's mask over the memory
    Both attentions get the target's mask. It fits the memory only if source and target are equally long, and then it
    hides the end of the source from the first words. Pass the source's padding mask to the cross-attention.""")
wrong(
    "masks_exchanged",
    decoded,
    over_target=lambda tgt, src, pad: padding_mask(src, pad),
    over_memory=lambda tgt, src, pad: target_mask(tgt, pad),
)("""
    exchanges the two masks
    The self-attention gets the mask of the memory, and the cross-attention that of the target. They fit only if source
    and target are equally long. A mask says which keys are visible: in the self-attention these are target tokens, in
    the cross-attention source tokens.""")
wrong("memory_mask_over_target", decoded, over_target=lambda tgt, src, pad: padding_mask(src, pad))("""
    uses the memory's mask over the target
    Both attentions get the memory's mask. It fits the target only if source and target are equally long. Then it hides
    target tokens at the places of source padding, and lets position t see the tokens after it. Pass target_mask to the
    self-attention.""")
wrong("source_padding_over_target", decoded, over_target=lambda tgt, src, pad: causal(tgt) & padding_mask(src, pad))("""
    hides target tokens at the places of source padding
    The mask over the target is causal, but its padding is that of the source. It fits only if source and target are
    equally long, and then it hides the wrong tokens. The keys of the self-attention are target tokens: use
    target_mask(tgt, pad).""")
wrong("target_padding_over_memory", decoded, over_memory=lambda tgt, src, pad: padding_mask(tgt, pad))("""
    hides the memory at the places of target padding
    You make the mask over the memory from the target's padding. It fits only if source and target are equally long, and
    then it hides the wrong rows. The keys of the cross-attention come from the source: use padding_mask(src, pad).""")
wrong("logarithms", decoded, then=lambda logits, width: log_softmax(logits))("""
    returns logarithms of probabilities
    These are log-probabilities: you have applied log_softmax to the logits. The loss does that itself, so return the
    logits as they are.""")


@decode.mistake("normalises the stream once more", reread="What nn.Transformer adds")
def decoder_final_norm(params, tgt, memory, src, n_heads, pad=0):
    """You have an extra norm between the last layer and the logits. Each layer of the paper already ends with a norm.
    nn.Transformer adds another norm, which only pre-norm stacks need."""
    _, (_, _, (x, table)) = reference.decode(params, tgt, memory, src, n_heads, pad)
    width = x.shape[-1]
    normed, _ = layer_norm(x, np.ones(width, x.dtype), np.zeros(width, x.dtype))
    return normed @ table.T, None


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
