"""Wrong answers to chapter 8, the full model."""

import numpy as np

from autograder.exercises.model.beam_search import normalised, searched
from solutions import model
from solutions.cross import decoder_layer
from solutions.logarithms import log_softmax
from solutions.masking import causal_mask, padding_mask, target_mask
from solutions.model import backward, cross_entropy, cross_entropy_backward, forward, table_for, unembed
from solutions.position import positional_embedding, sinusoidal_encoding
from solutions.residual import encoder_layer, layer_norm
from tests.explanations.registry import wrong


def encoded(params, src, n_heads, mask, *, before=lambda x: x):
    """An encoder with the step before each layer as a parameter."""
    x, _ = positional_embedding(src, table_for(params["embeddings"], "source"))
    for layer in params["encoder"]:
        x, _ = encoder_layer(before(x), layer, n_heads, mask)
    return x


def decoded(params, tgt, memories, src, n_heads, pad, mask=None):
    """A decoder; memories: one for each layer."""
    x, _ = positional_embedding(tgt, table_for(params["embeddings"], "target"))
    over_target = target_mask(tgt, pad) if mask is None else mask
    over_memory = padding_mask(src, pad)
    for layer, memory in zip(params["decoder"], memories, strict=True):
        x, _ = decoder_layer(x, memory, layer, n_heads, over_target, over_memory)
    return unembed(x, table_for(params["embeddings"], "output"))[0]


@wrong("encode", "https://github.com/Atcold/NYU-DLSP20/issues/270", names="encoder_not_stacked")
def only_the_last_layer_counts(params, src, n_heads, pad=0):
    """Every layer reads the embedding, so that only the last one counts."""
    embedding, _ = positional_embedding(src, table_for(params["embeddings"], "source"))
    x = embedding
    for layer in params["encoder"]:
        x, _ = encoder_layer(embedding, layer, n_heads, padding_mask(src, pad))
    return x, None


@wrong("encode", "https://github.com/jingyaogong/minimind-v/issues/76", names="source_unmasked")
def padding_not_masked(params, src, n_heads, pad=0):
    """Passes no mask to the layers."""
    return encoded(params, src, n_heads, None), None


@wrong("encode", "https://github.com/pytorch/pytorch/issues/24930", names="final_norm")
def one_norm_more(params, src, n_heads, pad=0):
    """Normalises the output of the last layer once more."""
    memory = encoded(params, src, n_heads, padding_mask(src, pad))
    width = memory.shape[-1]
    return layer_norm(memory, np.ones(width, memory.dtype), np.zeros(width, memory.dtype))[0], None


@wrong(
    "encode",
    "https://github.com/649453932/Chinese-Text-Classification-Pytorch/issues/53",
    names="positions_in_every_layer",
)
def positions_before_each_layer(params, src, n_heads, pad=0):
    """Adds the positions before every layer but the first, too."""
    positions, first = None, True

    def before(x):
        nonlocal positions, first
        positions = sinusoidal_encoding(*x.shape[-2:]).astype(x.dtype)
        added, first = (x if first else x + positions), False
        return added

    return encoded(params, src, n_heads, padding_mask(src, pad), before=before), None


@wrong("decode", "https://github.com/kzl/decision-transformer/issues/30", names="target_unmasked")
def padding_mask_alone(params, tgt, memory, src, n_heads, pad=0):
    """Hides the target's padding and not its future."""
    memories = [memory] * len(params["decoder"])
    return decoded(params, tgt, memories, src, n_heads, pad, padding_mask(tgt, pad)), None


@wrong("decode", "https://github.com/facebookresearch/SymbolicMathematics/issues/19", names="target_padding_seen")
def causal_mask_alone(params, tgt, memory, src, n_heads, pad=0):
    """Hides the target's future and not its padding."""
    memories = [memory] * len(params["decoder"])
    return decoded(params, tgt, memories, src, n_heads, pad, causal_mask(tgt.shape[-1])), None


@wrong("decode", "https://github.com/simon-ging/coot-videotext/issues/5", names="decoder_not_stacked")
def decoder_layers_read_the_embedding(params, tgt, memory, src, n_heads, pad=0):
    """Every layer reads the embedding, so that only the last one counts."""
    last_only = params | {"decoder": params["decoder"][-1:]}
    return decoded(last_only, tgt, [memory], src, n_heads, pad), None


@wrong("forward", "https://github.com/jadore801120/attention-is-all-you-need-pytorch/issues/27", names="layer_by_layer")
def layer_beside_layer(params, src, tgt, n_heads, pad=0):
    """Hands each decoder layer the output of the encoder layer beside it."""
    memories = []
    x, _ = positional_embedding(src, table_for(params["embeddings"], "source"))
    for layer in params["encoder"]:
        x, _ = encoder_layer(x, layer, n_heads, padding_mask(src, pad))
        memories.append(x)
    n_decoder = len(params["decoder"])
    return decoded(params, tgt, (memories + [x] * n_decoder)[:n_decoder], src, n_heads, pad), None


@wrong("loss_and_gradients", "https://github.com/Project-MONAI/GenerativeModels/issues/314", names="not_cut")
def predicts_what_it_reads(params, src, tgt, n_heads, pad=0):
    """Predicts token t from the tokens up to t."""
    logits, cache = forward(params, src, tgt, n_heads, pad)
    loss, loss_cache = cross_entropy(logits, tgt, pad)
    return loss, backward(cross_entropy_backward(1.0, loss_cache), cache)


@wrong("loss_and_gradients", "https://github.com/huggingface/transformers/issues/47394", names="shifted_twice")
def shifted_twice(params, src, tgt, n_heads, pad=0):
    """Shifts the labels twice, and predicts token t + 2."""
    logits, cache = forward(params, src, tgt[..., :-2], n_heads, pad)
    loss, loss_cache = cross_entropy(logits, tgt[..., 2:], pad)
    return loss, backward(cross_entropy_backward(1.0, loss_cache), cache)


@wrong("loss_and_gradients", "https://github.com/paiml/entrenar/issues/314", names="backward.tied_output_only")
def tied_table_as_output_only(params, src, tgt, n_heads, pad=0):
    """Does not add the gradients of source and target to the tied table's."""
    logits, cache = forward(params, src, tgt[..., :-1], n_heads, pad)
    loss, loss_cache = cross_entropy(logits, tgt[..., 1:], pad)
    grad_logits = cross_entropy_backward(1.0, loss_cache)
    gradients = backward(grad_logits, cache)
    _, _, grad_output, _ = model.decode_backward(grad_logits, cache[1])
    if "shared" in params["embeddings"]:
        gradients["embeddings"] = gradients["embeddings"] | {"shared": grad_output}
    return loss, gradients


@wrong("loss_and_gradients", "https://github.com/tracel-ai/burn/issues/5568", names="divided_by_all_places")
def padding_in_the_denominator(params, src, tgt, n_heads, pad=0):
    """Divides the loss by all places, padding too."""
    logits, cache = forward(params, src, tgt[..., :-1], n_heads, pad)
    labels = tgt[..., 1:]
    loss, loss_cache = cross_entropy(logits, labels, pad)
    share = float((labels != pad).mean())
    return loss * share, backward(cross_entropy_backward(share, loss_cache), cache)


@wrong("loss_and_gradients", "https://github.com/NVIDIA/Megatron-LM/issues/844")
def memory_gradient_halved(params, src, tgt, n_heads, pad=0):
    """Halves the gradient of the embeddings."""
    logits, cache = forward(params, src, tgt[..., :-1], n_heads, pad)
    loss, loss_cache = cross_entropy(logits, tgt[..., 1:], pad)
    gradients = backward(cross_entropy_backward(1.0, loss_cache), cache)
    halves = {name: table / 2 for name, table in gradients["embeddings"].items()}
    return loss, gradients | {"embeddings": halves}


@wrong("greedy_decode", "https://github.com/lucidrains/h-transformer-1d/issues/9", names="never_stops")
def end_mark_ignored(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """Looks for the end mark in a way that works for a single sentence only."""
    memory, _ = model.encode(params, src, n_heads, pad)
    tokens = np.full((len(src), 1), bos)
    while tokens.shape[1] <= max_length and not (len(src) == 1 and tokens[0, -1] == eos):
        logits, _ = model.decode(params, tokens, memory, src, n_heads, pad)
        tokens = np.concatenate([tokens, logits[:, -1].argmax(axis=-1)[:, None]], axis=1)
    return tokens[:, 1:]


@wrong("greedy_decode", "https://github.com/joeynmt/joeynmt/issues/45", names="always_full_width")
def writes_until_the_end(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """Never stops before max_length; what follows the end mark is cut to padding."""
    memory, _ = model.encode(params, src, n_heads, pad)
    tokens = np.full((len(src), 1), bos)
    for _ in range(max_length):
        logits, _ = model.decode(params, tokens, memory, src, n_heads, pad)
        newest = np.where((tokens == eos).any(axis=1), pad, logits[:, -1].argmax(axis=-1))
        tokens = np.concatenate([tokens, newest[:, None]], axis=1)
    return tokens[:, 1:]


@wrong("beam_search", "https://github.com/joeynmt/joeynmt/issues/148", names="stops_with_the_best")
def stops_with_the_first(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    """Stops as soon as the best hypothesis has its end mark."""
    settings = (beam_width, length_penalty, max_length, bos, eos, pad)
    return searched(params, src, n_heads, *settings, done=lambda ends: ends[0])


@wrong("beam_search", "https://github.com/awslabs/sockeye/issues/483", names="one_token_too_few")
def one_token_short(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    """Counts one token less than a hypothesis has."""

    def score(log_p, length, last, alpha):
        return normalised(log_p, length - 1, last, alpha)

    return searched(params, src, n_heads, beam_width, length_penalty, max_length, bos, eos, pad, score=score)


@wrong("beam_search", "https://github.com/atulkum/pointer_summarizer/issues/26", names="probabilities_added")
def adds_probabilities(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    """Adds up probabilities, not their logarithms."""
    settings = (beam_width, length_penalty, max_length, bos, eos, pad)
    return searched(params, src, n_heads, *settings, logs_of=lambda logits: np.exp(log_softmax(logits)))


@wrong("beam_search", "https://github.com/huggingface/transformers/issues/26624", names="begin_mark_has_length")
def begin_mark_in_the_length(
    params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0
):
    """Counts what the hypothesis began with in its length."""

    def score(log_p, length, last, alpha):
        return normalised(log_p, length + 1, last, alpha)

    return searched(params, src, n_heads, beam_width, length_penalty, max_length, bos, eos, pad, score=score)
