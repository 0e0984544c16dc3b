import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.model import backward as backward_mistakes
from autograder.exercises.model.shared import EVERYWHERE, question, renamed
from solutions import model as reference
from solutions.cross import decoder_layer
from solutions.masking import padding_mask, target_mask
from solutions.model import backward, cross_entropy, cross_entropy_backward, log_softmax, table_for, unembed
from solutions.parameters import map_tree
from solutions.position import positional_embedding

loss_and_gradients = Exercise(
    reference.loss_and_gradients, outputs={"loss": "", "grad_params": "dict"}, section="The loss"
)
wrong = short_mistakes(loss_and_gradients)


@loss_and_gradients.cases("nothing padded", points=3)
def _(draw):
    yield "separate tables", question(draw, tied=False, n=2, padded=False)
    yield "two decoder layers", question(draw, (1, 2), tied=False, n=2, padded=False)
    yield "tied three ways", question(draw, n=2, padded=False)


@loss_and_gradients.cases("padding", points=2)
def _(draw):
    # Padding is not token 0 here, and 0 is a word.
    inputs = renamed(draw, question(draw, tied=False))
    inputs["tgt"][2, 2] = 0
    yield "a padded batch", inputs


def trained(
    params, src, tgt, n_heads, pad=0, *,
    given=lambda tgt: tgt[..., :-1], asked=lambda tgt: tgt[..., 1:],
    forward=reference.forward, loss=cross_entropy, back=backward,
):  # fmt: skip
    """Return loss and gradients, with the decoder's input, its targets or some functions replaced."""
    logits, cache = forward(params, src, given(tgt), n_heads, pad)
    value, loss_cache = loss(logits, asked(tgt), pad)
    return value, back(cross_entropy_backward(1.0, loss_cache), cache)


wrong("not_shifted", trained, asked=lambda tgt: tgt[..., :-1])("""
    does not shift the target -> Teacher forcing
    The decoder must predict the token that it reads, so it learns to repeat, and its loss looks excellent. Give it
    tgt[:-1] and let it predict tgt[1:].""")
wrong("shift_reversed", trained, given=lambda tgt: tgt[..., 1:], asked=lambda tgt: tgt[..., :-1])("""
    exchanges the decoder's input and its target -> Teacher forcing
    The decoder reads tgt[1:] and must predict tgt[:-1], so it learns to name the token *before* the one that it reads.
    Give it tgt[:-1] and let it predict tgt[1:].""")
wrong("not_cut", trained, given=lambda tgt: tgt, asked=lambda tgt: tgt)("""
    predicts the whole target from the whole target -> Teacher forcing
    The decoder reads all of tgt and must predict all of tgt, so each position only repeats the token that it reads.
    Give the decoder tgt[:-1] and let it predict tgt[1:].""")
wrong("shifted_twice", trained, given=lambda tgt: tgt[..., :-2], asked=lambda tgt: tgt[..., 2:])("""
    shifts the target twice -> Teacher forcing
    After reading tgt[:t], the decoder must predict token t + 1 instead of token t, because you shift a target that is
    already shifted. Give the decoder tgt[:-1] and let it predict tgt[1:].""")
wrong("rolled", trained, given=lambda tgt: np.roll(tgt.reshape(-1), 1).reshape(tgt.shape), asked=lambda tgt: tgt)("""
    shifts by rolling the flattened batch -> Teacher forcing
    Rolling the flattened batch puts the last token of one sentence in front of the next, and the begin mark becomes a
    target. Shift each sentence by itself: give the decoder tgt[:-1] and let it predict tgt[1:].""")
wrong("pad_kept_from_the_model", trained, forward=lambda p, s, t, n, _: reference.forward(p, s, t, n))("""
    does not tell the model which token is padding -> The two stacks, joined
    `pad` does not reach the model, whose masks then use their default. Pass it on to `forward`, too.""")
wrong("pad_kept_from_the_loss", trained, loss=lambda logits, asked, _: cross_entropy(logits, asked))("""
    does not tell the loss which token is padding -> The loss
    `pad` does not reach the loss, which then uses its default, and counts padding as words. Pass it on to
    `cross_entropy`, too.""")
wrong("tied_source_only", trained, back=backward_mistakes.tied_source_only)("""
    the tied table learns as source only -> One table in three roles
    The shared table's gradient contains only the source's part, as if each role overwrote the one before. Every role
    that uses the table sends a gradient back to it, and these gradients add up.""")


def without_causal_mask(params, src, tgt, n_heads, pad):
    memory, encoder_cache = reference.encode(params, src, n_heads, pad)
    return _decoded_with(params, src, tgt, n_heads, pad, memory, encoder_cache, over_target=padding_mask(tgt, pad))


def without_memory_mask(params, src, tgt, n_heads, pad):
    memory, encoder_cache = reference.encode(params, src, n_heads, pad)
    return _decoded_with(params, src, tgt, n_heads, pad, memory, encoder_cache, over_memory=EVERYWHERE)


def _decoded_with(params, src, tgt, n_heads, pad, memory, encoder_cache, **masks):
    masks = {"over_target": target_mask(tgt, pad), "over_memory": padding_mask(src, pad)} | masks
    tables = params["embeddings"]
    x, embedding_cache = positional_embedding(tgt, table_for(tables, "target"))
    caches = []
    for layer in params["decoder"]:
        x, cache = decoder_layer(x, memory, layer, n_heads, masks["over_target"], masks["over_memory"])
        caches.append(cache)
    logits, output_cache = unembed(x, table_for(tables, "output"))
    return logits, (encoder_cache, (embedding_cache, caches, output_cache), tuple(tables))


wrong("trained_without_causal_mask", trained, forward=without_causal_mask)("""
    trains without the causal mask -> Writing: the decoder
    You compute the loss without the causal mask. Each position sees the token that it has to predict, and training
    seems to succeed until the model must write by itself.""")
wrong("trained_without_memory_mask", trained, forward=without_memory_mask)("""
    trains without the memory mask -> Writing: the decoder
    The decoder attends to the memory of padding, so the loss of a sentence depends on the length of its neighbours. The
    cross-attention needs padding_mask(src, pad).""")
wrong("padding_counted", trained, loss=lambda logits, asked, _: cross_entropy(logits, asked, -1))("""
    counts padding in the loss -> The loss
    Padding is a target here, and counts like a word. The model learns to write padding, and the longest sentence of a
    batch decides how much the others weigh. Select the targets that are not padding first.""")


def rescaled(params, src, tgt, n_heads, pad=0, *, factor, with_loss=True):
    """Multiply the gradients, and by default the loss, by a function of the loss and the targets that count."""
    loss, gradients = reference.loss_and_gradients(params, src, tgt, n_heads, pad)
    by = factor(loss, tgt[..., 1:] != pad)
    return loss * by if with_loss else loss, map_tree(lambda gradient: gradient * by, gradients)


wrong("divided_by_all_places", rescaled, factor=lambda loss, counted: counted.mean())("""
    divides the loss by all places, padding too -> The loss
    Padding adds nothing to the sum, but counts in the number by which you divide the sum: more padding makes loss and
    gradient smaller. Divide by the number of real targets.""")
wrong("begins_with_the_loss", rescaled, factor=lambda loss, counted: loss, with_loss=False)("""
    begins the way back with the loss -> The loss
    You multiply all gradients by the loss, because you pass the loss to `cross_entropy_backward`. Its first argument is
    the gradient of the loss with respect to itself, which is 1.""")
wrong("summed", rescaled, factor=lambda loss, counted: int(counted.sum()))("""
    adds up instead of averaging -> The loss
    Loss and gradients are sums over the tokens, so they grow with the batch. Divide both by the number of real
    targets.""")


def weighed(params, src, tgt, n_heads, pad=0, *, share_of):
    """Return the sum of all surprises, each times share_of(counted), and its gradients."""
    logits, cache = reference.forward(params, src, tgt[..., :-1], n_heads, pad)
    shares = share_of(tgt[..., 1:] != pad)[..., np.newaxis]
    hard = np.eye(logits.shape[-1])[tgt[..., 1:]]
    logs = log_softmax(logits)
    return -(shares * hard * logs).sum(), backward(shares * (np.exp(logs) - hard), cache)


wrong(
    "mean_of_means",
    weighed,
    share_of=lambda counted: counted / counted.sum(axis=-1, keepdims=True) / counted[..., 0].size,
)("""
    averages sentence by sentence first -> The loss
    You average each sentence, then the averages. A token of a short sentence then counts more than a token of a long
    sentence. Take one mean over all real targets of the batch.""")
wrong("by_sentences", weighed, share_of=lambda counted: counted / counted[..., 0].size)("""
    divides by the number of sentences -> The loss
    You divide the sum over all tokens by the number of sentences, so loss and gradients grow with the length of the
    sentences. Divide by the number of real targets.""")


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
