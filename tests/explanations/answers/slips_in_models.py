"""Wrong answers about layers, stacks and searches."""

import numpy as np

from solutions import decoding, model
from solutions.attention import softmax
from solutions.cross import decoder_layer
from solutions.dropout import dropout
from solutions.logarithms import log_softmax
from solutions.masking import causal_mask, padding_mask, target_mask
from solutions.multihead import multi_head_attention
from solutions.position import positional_embedding, sinusoidal_encoding
from solutions.residual import add_norm, encoder_layer, feed_forward, layer_norm
from tests.explanations.registry import wrong

# ------------------------------------------------------------------------------------------- layers


@wrong("encoder_layer", names="norm_of_stream")
def layer_with_normalised_streams(x, params, n_heads, mask=None, rate=0.0, rng=None):
    update, _ = multi_head_attention(x, x, x, params["attention"], n_heads, mask)
    x = layer_norm(x, **params["norm_attention"])[0] + dropout(update, rate, rng)[0]
    update, _ = feed_forward(x, params["feed_forward"])
    return layer_norm(x, **params["norm_feed_forward"])[0] + dropout(update, rate, rng)[0], None


@wrong("encoder_layer", names="update_enlarged_twice")
def layer_with_enlarged_updates(x, params, n_heads, mask=None, rate=0.0, rng=None):
    factor = 1 / (1 - rate) if rng else 1
    update, _ = multi_head_attention(x, x, x, params["attention"], n_heads, mask)
    x, _ = layer_norm(x + factor * dropout(update, rate, rng)[0], **params["norm_attention"])
    update, _ = feed_forward(x, params["feed_forward"])
    return layer_norm(x + factor * dropout(update, rate, rng)[0], **params["norm_feed_forward"])


def layer_from_x(second, third):
    """A decoder layer whose second and third residual may begin at the layer's input."""

    def layer(x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None):
        own, _ = multi_head_attention(x, x, x, params["attention"], n_heads, self_mask)
        stream, _ = add_norm(x, own, params["norm_attention"], rate, rng)
        found, _ = multi_head_attention(stream, memory, memory, params["cross_attention"], n_heads, memory_mask)
        stream, _ = add_norm(x if second else stream, found, params["norm_cross_attention"], rate, rng)
        update, _ = feed_forward(stream, params["feed_forward"])
        return add_norm(x if third else stream, update, params["norm_feed_forward"], rate, rng)[0], None

    return layer


wrong("decoder_layer", names="residual_from_x", name="every_residual_from_x")(layer_from_x(True, True))
wrong("decoder_layer", names="second_residual_from_x", name="second_residual_from_x")(layer_from_x(True, False))
wrong("decoder_layer", names="third_residual_from_x", name="third_residual_from_x")(layer_from_x(False, True))


@wrong("decoder_layer", names="self_mask_over_memory")
def target_mask_for_both(x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None):
    return decoder_layer(x, memory, params, n_heads, self_mask, self_mask, rate, rng)


# ------------------------------------------------------------------------------------------- stacks


@wrong("encode", names="positions_in_every_layer")
def positions_before_each_encoder_layer(params, src, n_heads, pad=0):
    x, _ = positional_embedding(src, model.table_for(params["embeddings"], "source"))
    for i, layer in enumerate(params["encoder"]):
        x = x + sinusoidal_encoding(*x.shape[-2:]).astype(x.dtype) if i else x
        x, _ = encoder_layer(x, layer, n_heads, padding_mask(src, pad))
    return x, None


def decoder(params, tgt, memory, src, n_heads, pad, over_memory, again=False, over_target=None):
    """The decoder's stack. again: whether the positions are added before every layer."""
    over_target = target_mask(tgt, pad) if over_target is None else over_target
    x, _ = positional_embedding(tgt, model.table_for(params["embeddings"], "target"))
    for i, layer in enumerate(params["decoder"]):
        x = x + sinusoidal_encoding(*x.shape[-2:]).astype(x.dtype) if i and again else x
        x, _ = decoder_layer(x, memory, layer, n_heads, over_target, over_memory)
    return model.unembed(x, model.table_for(params["embeddings"], "output"))[0], None


@wrong("decode", names="positions_in_every_layer")
def positions_before_each_decoder_layer(params, tgt, memory, src, n_heads, pad=0):
    return decoder(params, tgt, memory, src, n_heads, pad, padding_mask(src, pad), again=True)


@wrong("decode", names="target_mask_over_memory")
def target_mask_over_the_memory(params, tgt, memory, src, n_heads, pad=0):
    return decoder(params, tgt, memory, src, n_heads, pad, target_mask(tgt, pad))


def with_masks(slug, masks):
    """An answer that gets both masks from masks(tgt, src, pad)."""

    @wrong("decode", names=slug, name=slug)
    def answer(params, tgt, memory, src, n_heads, pad=0):
        over_target, over_memory = masks(tgt, src, pad)
        return decoder(params, tgt, memory, src, n_heads, pad, over_memory, over_target=over_target)


def over_source(tgt, src, pad):
    return padding_mask(src, pad).repeat(tgt.shape[-1], axis=-2)


with_masks("target_mask_transposed", lambda t, s, pad: (target_mask(t, pad).swapaxes(-1, -2), padding_mask(s, pad)))
with_masks("masks_exchanged", lambda t, s, pad: (over_source(t, s, pad), target_mask(t, pad)))
with_masks("memory_mask_over_target", lambda t, s, pad: (over_source(t, s, pad), over_source(t, s, pad)))
with_masks(
    "source_padding_over_target",
    lambda t, s, pad: (causal_mask(t.shape[-1]) & (s != pad)[..., None, :], over_source(t, s, pad)),
)
with_masks("target_padding_over_memory", lambda t, s, pad: (target_mask(t, pad), padding_mask(t, pad)))


@wrong("loss_and_gradients", names="shift_reversed")
def input_and_target_exchanged(params, src, tgt, n_heads, pad=0):
    logits, cache = model.forward(params, src, tgt[:, 1:], n_heads, pad)
    loss, loss_cache = model.cross_entropy(logits, tgt[:, :-1], pad)
    return loss, model.backward(model.cross_entropy_backward(1.0, loss_cache), cache)


@wrong("loss_and_gradients", names="begins_with_the_loss")
def loss_as_its_own_gradient(params, src, tgt, n_heads, pad=0):
    logits, cache = model.forward(params, src, tgt[..., :-1], n_heads, pad)
    loss, loss_cache = model.cross_entropy(logits, tgt[..., 1:], pad)
    return loss, model.backward(model.cross_entropy_backward(loss, loss_cache), cache)


def surprises(params, src, given, asked, n_heads, pad):
    logits, _ = model.forward(params, src, given, n_heads, pad)
    return np.logaddexp.reduce(logits, axis=2) - np.take_along_axis(logits, asked[:, :, None], axis=2)[:, :, 0]


@wrong("repaired_model_loss", names="sentences_rolled")
def begins_with_its_last_token(params, src, tgt, n_heads, pad):
    given = np.concatenate([tgt[:, -1:], tgt[:, :-1]], axis=1)
    return surprises(params, src, given, tgt, n_heads, pad)[tgt != pad].mean()


@wrong("repaired_model_loss", names="divided_by_all_places")
def padding_times_zero(params, src, tgt, n_heads, pad):
    asked = tgt[:, 1:]
    return (surprises(params, src, tgt[:, :-1], asked, n_heads, pad) * (asked != pad)).mean()


# ------------------------------------------------------------------------------------------- searches


def beams_of(length_of):
    """A beam search that uses length_of(tokens, finished, eos) as the lengths of its hypotheses."""

    def search(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
        memory, _ = model.encode(params, src[None], n_heads, pad)
        tokens, log_p, scores = np.array([[bos]]), np.zeros(1), np.zeros(1)
        while not decoding._all_written(tokens, max_length, eos):
            n = len(tokens)
            logits, _ = model.decode(params, tokens, memory.repeat(n, 0), np.tile(src, (n, 1)), n_heads, pad)
            logs, finished = log_softmax(logits[:, -1]), (tokens == eos).any(1)
            logs[finished] = -np.inf
            logs[finished, pad] = 0
            logs = logs + log_p[:, None]
            ranks = logs / ((5 + length_of(tokens, finished, eos)[:, None]) / 6) ** length_penalty
            best = np.argsort(-ranks, axis=None, kind="stable")[:beam_width]
            best = best[ranks.flat[best] > -np.inf]
            parents, newest = np.divmod(best, logs.shape[1])
            tokens = np.concatenate([tokens[parents], newest[:, None]], axis=1)
            log_p, scores = logs.flat[best], ranks.flat[best]
        return tokens[:, 1:], scores

    return search


for of_finished, of_growing, slug in (
    (0, -1, "newest_token_has_no_length"),
    (0, 1, "unfinished_have_a_begin_mark"),
    (1, 0, "finished_have_a_begin_mark"),
    (-1, 0, "finished_lose_their_end_mark"),
):

    def length_of(tokens, finished, eos, more=(of_finished, of_growing)):
        return np.where(finished, (tokens == eos).argmax(1) + more[0], tokens.shape[1] + more[1])

    wrong("beam_search", names=slug, name=slug)(beams_of(length_of))


# ------------------------------------------------------------------------------------------- stacks and masks


def encoded(params, src, n_heads, role, mask):
    tables = params["embeddings"]
    x, _ = positional_embedding(src, tables[role if role in tables else "shared"])
    for layer in params["encoder"]:
        x, _ = encoder_layer(x, layer, n_heads, mask)
    return x, None


@wrong("encode", names="target_table")
def source_in_the_target_s_table(params, src, n_heads, pad=0):
    return encoded(params, src, n_heads, "target", padding_mask(src, pad))


@wrong("encode", names="padding_mask.padded_queries_and_keys")
def mask_by_an_outer_product(params, src, n_heads, pad=0):
    words = src != pad
    return encoded(params, src, n_heads, "source", words[..., :, None] & words[..., None, :])


# ------------------------------------------------------------------------------------------- sampling


def sorted_probabilities(logits, p, temperature):
    """Return probabilities, and in their sorted order which are kept."""
    if not (0 < p <= 1 and temperature > 0):
        raise ValueError
    probabilities = softmax(logits / temperature)
    in_order = -np.sort(-probabilities, axis=-1)
    return probabilities, np.where(np.cumsum(in_order, axis=-1) - in_order < p, in_order, 0)


@wrong("top_p", names="places_for_tokens")
def where_the_sorted_ones_are_kept(logits, p, temperature=1.0):
    probabilities, kept = sorted_probabilities(logits, p, temperature)
    result = np.where(kept > 0, probabilities, 0)
    return result / result.sum(axis=-1, keepdims=True)


@wrong("top_p", names="softmax_of_the_rest")
def rest_by_a_softmax(logits, p, temperature=1.0):
    probabilities, kept = sorted_probabilities(logits, p, temperature)
    order = np.argsort(-probabilities, axis=-1, kind="stable")
    result = np.full_like(kept, -np.inf)
    np.put_along_axis(result, order, np.where(kept > 0, kept, -np.inf).astype(kept.dtype), axis=-1)
    return softmax(result)


@wrong("beam_search", names="sorted_at_the_end")
def pruned_by_log_p(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    tokens, log_p = decoding.beam_search(params, src, n_heads, beam_width, 0.0, max_length, bos, eos, pad)
    lengths = np.where((tokens == eos).any(axis=1), (tokens == eos).argmax(axis=1) + 1, tokens.shape[1])
    scores = log_p / ((5 + lengths) / 6) ** length_penalty
    order = np.argsort(-scores)
    return tokens[order], scores[order]
