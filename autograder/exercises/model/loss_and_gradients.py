"""loss_and_gradients: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.exercises.model import backward as backward_mistakes
from autograder.exercises.model.shared import EVERYWHERE, question, renamed
from solutions import model as reference
from solutions.cross import decoder_layer
from solutions.masking import padding_mask, target_mask
from solutions.memory import memory_mask
from solutions.model import (
    backward,
    cross_entropy,
    cross_entropy_backward,
    log_softmax,
    table_for,
    unembed,
)
from solutions.parameters import map_tree
from solutions.position import positional_embedding

loss_and_gradients = Exercise(
    reference.loss_and_gradients,
    outputs={"loss": "", "grad_params": "dict"},
    section="The loss",
    uses=("encode", "decode", "forward", "backward"),
)


@loss_and_gradients.cases("nothing padded", points=3)
def _(draw):
    yield "separate tables", question(draw, tied=False, n=2, padded=False)
    yield "two decoder layers", question(draw, (1, 2), tied=False, n=2, padded=False)
    yield "tied three ways", question(draw, n=2, padded=False)


@loss_and_gradients.cases("padding", points=2)
def _(draw):
    # Padding is another token than 0, and 0 is a word.
    inputs = renamed(draw, question(draw, tied=False))
    inputs["tgt"][2, 2] = 0
    yield "a padded batch", inputs


def trained(
    params, src, tgt, n_heads, pad, *,
    given=None, asked=None, forward=reference.forward, loss=cross_entropy, back=backward,
):  # fmt: skip
    """Loss and gradients with any part exchanged: the decoder's input, its targets, and the functions that compute."""
    given = tgt[..., :-1] if given is None else given
    asked = tgt[..., 1:] if asked is None else asked
    logits, cache = forward(params, src, given, n_heads, pad)
    value, loss_cache = loss(logits, asked, pad)
    return value, back(cross_entropy_backward(1.0, loss_cache), cache)


@loss_and_gradients.mistake("does not shift the target", reread="Teacher forcing")
def not_shifted(params, src, tgt, n_heads, pad=0):
    """The decoder's target is the very token that it is given: it learns to repeat, and its loss looks excellent. Give
    it tgt[:-1] and ask for tgt[1:]."""
    return trained(params, src, tgt, n_heads, pad, given=tgt[..., :-1], asked=tgt[..., :-1])


@loss_and_gradients.mistake("exchanges the decoder's input and its target", reread="Teacher forcing")
def shift_reversed(params, src, tgt, n_heads, pad=0):
    """The decoder is given tgt[1:] and asked for tgt[:-1]: it learns to name the token *before* the one that it is
    given. Give it tgt[:-1] and ask for tgt[1:]."""
    return trained(params, src, tgt, n_heads, pad, given=tgt[..., 1:], asked=tgt[..., :-1])


@loss_and_gradients.mistake("predicts the whole target from the whole target", reread="Teacher forcing")
def not_cut(params, src, tgt, n_heads, pad=0):
    """The decoder reads all of tgt and must predict all of tgt, so each position only repeats the token that it reads.
    Give the decoder tgt[:-1] and let it predict tgt[1:]."""
    return trained(params, src, tgt, n_heads, pad, given=tgt, asked=tgt)


@loss_and_gradients.mistake("shifts the target twice", reread="Teacher forcing")
def shifted_twice(params, src, tgt, n_heads, pad=0):
    """After reading tgt[:t], the decoder must predict token t + 1 instead of token t: the target had been shifted when
    you shifted it again. Give the decoder tgt[:-1] and let it predict tgt[1:]."""
    return trained(params, src, tgt, n_heads, pad, given=tgt[..., :-2], asked=tgt[..., 2:])


@loss_and_gradients.mistake("shifts by rolling the flattened batch", reread="Teacher forcing")
def rolled(params, src, tgt, n_heads, pad=0):
    """Rolling the flattened batch puts the last token of one sentence in front of the next, and the begin mark becomes
    a target. Shift each sentence by itself: tgt[:-1] in, tgt[1:] out."""
    return trained(params, src, tgt, n_heads, pad, given=np.roll(tgt.reshape(-1), 1).reshape(tgt.shape), asked=tgt)


@loss_and_gradients.mistake("does not tell the model which token is padding", reread="The two stacks, joined")
def pad_kept_from_the_model(params, src, tgt, n_heads, pad=0):
    """`pad` does not reach the model, whose masks then use their default. Pass it on to `forward`, too."""
    return trained(params, src, tgt, n_heads, pad, forward=lambda p, s, t, n, _: reference.forward(p, s, t, n))


@loss_and_gradients.mistake("does not tell the loss which token is padding", reread="The loss")
def pad_kept_from_the_loss(params, src, tgt, n_heads, pad=0):
    """`pad` does not reach the loss, which then uses its default, and counts padding as words. Pass it on to
    `cross_entropy`, too."""
    return trained(params, src, tgt, n_heads, pad, loss=lambda logits, asked, _: cross_entropy(logits, asked))


@loss_and_gradients.mistake("the tied table learns as source only", reread="One table in three roles")
def tied_source_only(params, src, tgt, n_heads, pad=0):
    """The shared table's gradient contains the source's part alone. Every role that uses the table sends a gradient
    back to it, and these gradients add up."""
    return trained(params, src, tgt, n_heads, pad, back=backward_mistakes.tied_source_only)


@loss_and_gradients.mistake("the tied table learns as target only", reread="One table in three roles")
def tied_target_only(params, src, tgt, n_heads, pad=0):
    """The shared table's gradient contains the target's part alone, the part from the decoder's embedding. Every role
    that uses the table sends a gradient back to it, and these gradients add up."""
    return trained(params, src, tgt, n_heads, pad, back=backward_mistakes.tied_target_only)


@loss_and_gradients.mistake("the tied table learns as output only", reread="One table in three roles")
def tied_output_only(params, src, tgt, n_heads, pad=0):
    """The shared table's gradient contains the output's part alone. That part is the largest, so training seems to
    work, but the parts of the two embeddings are missing. The three parts add up."""
    return trained(params, src, tgt, n_heads, pad, back=backward_mistakes.tied_output_only)


@loss_and_gradients.mistake("the memory learns from the last decoder layer only")
def last_layer_only(params, src, tgt, n_heads, pad=0):
    """The memory's gradient is that of the last decoder layer. Every decoder layer has read the memory, so every one
    adds its part. With one layer this mistake does not show."""
    return trained(params, src, tgt, n_heads, pad, back=backward_mistakes.last_layer_only)


@loss_and_gradients.mistake("the memory learns from the first decoder layer only")
def first_layer_only(params, src, tgt, n_heads, pad=0):
    """Each decoder layer overwrites the memory's gradient, so only the gradient of the first layer, computed last,
    remains. Add them up."""
    return trained(params, src, tgt, n_heads, pad, back=backward_mistakes.first_layer_only)


@loss_and_gradients.mistake("the encoder learns nothing")
def nothing_for_the_encoder(params, src, tgt, n_heads, pad=0):
    """The gradients of the encoder, and of the source's embedding, are zero: you do not go on through the memory. Keys
    and values of every decoder layer came from it, and its gradient goes back into the encoder."""
    return trained(params, src, tgt, n_heads, pad, back=backward_mistakes.nothing_for_the_encoder)


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


@loss_and_gradients.mistake("trains without the causal mask", reread="Writing: the decoder")
def trained_without_causal_mask(params, src, tgt, n_heads, pad=0):
    """The loss is computed without the causal mask. Each position sees the token that it has to predict, and training
    seems to succeed until the model must write by itself."""
    return trained(params, src, tgt, n_heads, pad, forward=without_causal_mask)


@loss_and_gradients.mistake("trains without the memory mask", reread="Writing: the decoder")
def trained_without_memory_mask(params, src, tgt, n_heads, pad=0):
    """The decoder attends to the memory of padding, so the loss of a sentence depends on the length of its neighbours.
    The cross-attention needs memory_mask."""
    return trained(params, src, tgt, n_heads, pad, forward=without_memory_mask)


@loss_and_gradients.mistake("counts padding in the loss", reread="The loss")
def padding_counted(params, src, tgt, n_heads, pad=0):
    """Padding is a target here, and counts like a word. The model learns to write padding, and the longest sentence of
    a batch decides how much the others weigh. Select the targets that are not padding first."""
    return trained(params, src, tgt, n_heads, pad, loss=lambda logits, asked, _: cross_entropy(logits, asked, -1))


@loss_and_gradients.mistake("divides the loss by all places, padding too", reread="The loss")
def divided_by_all_places(params, src, tgt, n_heads, pad=0):
    """Padding adds nothing to the sum, but counts in the number by which you divide the sum: more padding makes loss
    and gradient smaller. Divide by the number of real targets."""
    loss, gradients = reference.loss_and_gradients(params, src, tgt, n_heads, pad)
    share = (tgt[..., 1:] != pad).mean()
    return loss * share, map_tree(lambda gradient: gradient * share, gradients)


@loss_and_gradients.mistake("begins the way back with the loss", reread="The loss")
def begins_with_the_loss(params, src, tgt, n_heads, pad=0):
    """All gradients are multiplied by the loss, because you pass the loss to `cross_entropy_backward`. It asks for the
    gradient of the loss with respect to itself, which is 1."""
    loss, gradients = reference.loss_and_gradients(params, src, tgt, n_heads, pad)
    return loss, map_tree(lambda gradient: loss * gradient, gradients)


@loss_and_gradients.mistake("adds up instead of averaging", reread="The loss")
def summed(params, src, tgt, n_heads, pad=0):
    """Loss and gradients are sums over the tokens, so they grow with the batch. Divide both by the number of real
    targets."""
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
