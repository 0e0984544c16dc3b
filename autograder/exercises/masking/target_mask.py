import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.masking.causal_mask import by_comparing_positions
from autograder.exercises.masking.padding_mask import expanded, reshaped
from autograder.exercises.masking.shared import sentences, token_cases, token_edge_cases
from solutions import masking as reference

target_mask = Exercise(
    reference.target_mask,
    outputs={"mask": "... T T"},
    section="The target mask",
)
wrong = short_mistakes(target_mask)


@target_mask.cases("sentences and batches", points=1)
def _(draw):
    yield from token_cases(draw)
    T = draw.size(3, 6)
    yield "as many sentences as tokens", {"tokens": sentences(draw, T, T), "pad": 0}


@target_mask.cases("edge cases", points=1)
def _(draw):
    yield from token_edge_cases(draw)


@target_mask.mistake("forgets the padding")
def causal_alone(tokens, pad):
    """You hide the future, but not the padding. A causal mask happens to hide padding at the end from the real words
    before it, but not from the later rows of padding, and it does not hide padding on the left from the words after
    it."""
    T = tokens.shape[-1]
    return np.broadcast_to(reference.causal_mask(T), (*tokens.shape[:-1], T, T)).copy()


@target_mask.mistake("forgets the future")
def padding_alone(tokens, pad):
    """You hide the padding, but not the future: the decoder reads the token that it must predict. Combine the padding
    mask with the causal mask."""
    return np.repeat(reference.padding_mask(tokens, pad), tokens.shape[-1], axis=-2)


wrong("either", lambda tokens, pad: reference.causal_mask(tokens.shape[-1]) | reference.padding_mask(tokens, pad))("""
    allows what either mask allows
    You combine the masks with 'or' (for booleans, `+` is 'or', too). A key is then visible if it is past *or* real, so
    every real token of the future is visible. With True for 'may attend', both must be True: `&`.""")
wrong("inverted_target", lambda tokens, pad: ~reference.target_mask(tokens, pad))("""
    reads True as hidden -> Two conventions, opposite to each other
    Your True marks what is hidden. In this book True means 'may attend'.""")
wrong("batch_for_queries", lambda tokens, pad: np.tri(tokens.shape[-1], dtype=bool) & (tokens != pad))("""
    takes the sentences of the batch for queries -> The padding mask
    You combine a padding rule of shape (batch, T) with the causal mask (T, T). That is right for one sentence, an error
    for most batches, and silently wrong for a batch with as many sentences as tokens. Then the mask hides the padding
    of sentence i from query i of every sentence, and from no other query. Use your `padding_mask`, which keeps an axis
    for the queries.""")


@target_mask.mistake("takes the number of sentences for their length", reread="The causal mask")
def causal_in_the_number_of_sentences(tokens, pad):
    """`len(tokens)` is the length of the *first* axis. Without a batch, that is the number of tokens. With a batch, it
    is the number of sentences, so your causal mask has the wrong size. The tokens are along the last axis: use
    tokens.shape[-1]."""
    return reference.causal_mask(len(tokens)) & reference.padding_mask(tokens, pad)


wrong("target_for_the_heads", lambda tokens, pad: reference.target_mask(tokens, pad)[..., None, :, :])("""
    adds an axis for the heads, too -> Which mask goes where
    The mask is right, but its shape is (..., 1, T, T). The code that makes the heads also makes their axis. In other
    code, this axis would line up with the batch. Return (..., T, T).""")
wrong("target_in_numbers", lambda tokens, pad: reference.target_mask(tokens, pad).astype(np.int64))("""
    contains ones and zeros -> Two conventions, opposite to each other
    Your mask contains numbers, for example from a product of two masks of numbers. In this book a mask is boolean, and
    you combine two masks with `&`.""")


@target_mask.equivalent
def lower_part_of_the_padding_mask(tokens, pad):
    return np.tril(np.repeat(expanded(tokens, pad), tokens.shape[-1], axis=-2))


@target_mask.equivalent
def product_of_masks(tokens, pad):
    return by_comparing_positions(tokens.shape[-1]) * reshaped(tokens, pad)


@target_mask.equivalent
def row_after_row(tokens, pad):
    T = tokens.shape[-1]
    mask = np.zeros((*tokens.shape, T), bool)
    for i in range(T):
        mask[..., i, : i + 1] = tokens[..., : i + 1] != pad
    return mask


@target_mask.equivalent
def not_hidden_by_either(tokens, pad):
    position = np.arange(tokens.shape[-1])
    return ~((position > position[:, None]) | (tokens == pad)[..., None, :])
