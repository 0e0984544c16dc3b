"""memory_mask: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.exercises.masking.padding_mask import expanded, reshaped
from autograder.exercises.masking.shared import sentences, token_cases, token_edge_cases
from solutions import masking as reference

memory_mask = Exercise(
    reference.memory_mask,
    outputs={"mask": "... T_target T_source"},
    section="The memory mask",
    uses=("padding_mask",),
)


def with_length(draw, cases):
    """The cases of a source, each with a target of another length."""
    for name, inputs in cases:
        tokens = inputs["tokens"]
        other = [n for n in range(2, 9) if n not in tokens.shape]
        length = int(draw.rng.choice(other))
        yield name, {"source_tokens": tokens, "target_length": length, "pad": inputs["pad"]}


@memory_mask.cases("sentences and batches", points=2)
def _(draw):
    yield from with_length(draw, token_cases(draw))


@memory_mask.cases("edge cases", points=1)
def _(draw):
    yield from with_length(draw, token_edge_cases(draw))
    tokens = sentences(draw, 2, 4)
    yield "a target as long as the source", {"source_tokens": tokens, "target_length": 4, "pad": 0}
    yield "a target of one token", {"source_tokens": tokens, "target_length": 1, "pad": 0}


@memory_mask.mistake("turns rows and columns round")
def memory_transposed(source_tokens, target_length, pad):
    """Your mask has a row for each source token. In cross-attention the *target* asks and the *source* is found: rows
    belong to queries, columns to keys, (..., T_target, T_source)."""
    return reference.memory_mask(source_tokens, target_length, pad).swapaxes(-1, -2)


@memory_mask.mistake("makes the encoder's own mask")
def source_against_source(source_tokens, target_length, pad):
    """This mask is (..., T_source, T_source): it serves the encoder's self-attention. In cross-attention there is a
    row for each position of the *target*; with source and target of one length, nobody would notice."""
    return reference.memory_mask(source_tokens, source_tokens.shape[-1], pad)


@memory_mask.mistake("hides the source's future")
def causal_memory(source_tokens, target_length, pad):
    """Target position i sees the source only up to position i. But the source has no future: it is known from the
    first word to the last before the decoder begins. Only its padding is hidden."""
    mask = reference.memory_mask(source_tokens, target_length, pad)
    return mask & np.tri(target_length, source_tokens.shape[-1], dtype=bool)


@memory_mask.mistake("means the opposite by True", reread="Two conventions, opposite to each other")
def inverted_memory(source_tokens, target_length, pad):
    """Your True marks the source's padding. In this book True means 'may attend'."""
    return ~reference.memory_mask(source_tokens, target_length, pad)


@memory_mask.mistake("allows the whole source")
def whole_source(source_tokens, target_length, pad):
    """Everything is allowed, the source's padding too, so every target position averages in vectors that mean
    nothing."""
    return np.ones_like(reference.memory_mask(source_tokens, target_length, pad))


@memory_mask.mistake("has one row for all positions")
def one_row(source_tokens, target_length, pad):
    """This is the source's padding mask, (..., 1, T_source). Attention would broadcast it and be right; here the mask
    is asked for with a row for each target position, (..., T_target, T_source), and `target_length` says how many."""
    return reference.padding_mask(source_tokens, pad)


@memory_mask.mistake("repeats along the first axis")
def repeats_the_batch(source_tokens, target_length, pad):
    """The rows are repeated along the first axis. With a single sentence that is the queries' axis; with a batch, it
    is the batch that grows. Count from the end: the queries are axis -2."""
    return np.repeat(reference.padding_mask(source_tokens, pad), target_length, axis=0)


@memory_mask.mistake("puts in an axis for the heads, too", reread="Which mask goes where")
def memory_for_the_heads(source_tokens, target_length, pad):
    """The mask is right, in shape (..., 1, T_target, T_source). Whoever makes the heads makes their axis; before that,
    it would meet the batch. Here the mask is (..., T_target, T_source)."""
    return reference.memory_mask(source_tokens, target_length, pad)[..., None, :, :]


@memory_mask.mistake("takes the sentences of the batch for positions")
def sentences_for_positions(source_tokens, target_length, pad):
    """Each position of the target is to have a row for *its own* sentence. Here the source's rule (..., T_source) is
    repeated without an axis for the target, so the sentences of the batch fill its place. Keep an axis for the queries:
    your `padding_mask` does."""
    return np.broadcast_to(source_tokens != pad, (*source_tokens.shape[:-1], target_length, source_tokens.shape[-1]))


@memory_mask.mistake("takes for granted that padding is 0", reread="The padding mask")
def memory_pad_is_zero(source_tokens, target_length, pad):
    """Padding is compared with 0, whatever `pad` is."""
    return reference.memory_mask(source_tokens, target_length, 0)


@memory_mask.equivalent
def broadcast_rows(source_tokens, target_length, pad):
    shape = (*source_tokens.shape[:-1], target_length, source_tokens.shape[-1])
    return np.broadcast_to(expanded(source_tokens, pad), shape)


@memory_mask.equivalent
def column_of_yes(source_tokens, target_length, pad):
    return np.ones((target_length, 1), bool) & reshaped(source_tokens, pad)


@memory_mask.equivalent
def stacked_rows(source_tokens, target_length, pad):
    return np.stack([source_tokens != pad] * target_length, axis=-2)


@memory_mask.equivalent
def tiled(source_tokens, target_length, pad):
    return np.tile(expanded(source_tokens, pad), (target_length, 1))
