"""target_mask: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.exercises.masking.causal_mask import by_comparing_positions
from autograder.exercises.masking.padding_mask import expanded, padded_queries, padded_queries_and_keys, reshaped
from autograder.exercises.masking.shared import sentences, token_cases, token_edge_cases
from solutions import masking as reference

target_mask = Exercise(
    reference.target_mask,
    outputs={"mask": "... T T"},
    section="The target mask",
    uses=("causal_mask", "padding_mask"),
)


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
    """The future is hidden, but padding is not. A causal mask happens to hide padding at the end from the real words
    before it, but not from the later rows of padding, and it does not hide padding on the left from the words after
    it."""
    T = tokens.shape[-1]
    return np.broadcast_to(reference.causal_mask(T), (*tokens.shape[:-1], T, T)).copy()


@target_mask.mistake("forgets the future")
def padding_alone(tokens, pad):
    """Padding is hidden, but the future is not: the decoder reads the token that it must predict. Combine the padding
    mask with the causal one."""
    return np.repeat(reference.padding_mask(tokens, pad), tokens.shape[-1], axis=-2)


@target_mask.mistake("allows what either mask allows")
def either(tokens, pad):
    """You combine the masks with 'or' (for booleans, `+` is 'or' too): a key may be seen if it is past *or* real, so
    every real token of the future is visible. With True for 'may attend', both must be True: `&`."""
    return reference.causal_mask(tokens.shape[-1]) | reference.padding_mask(tokens, pad)


@target_mask.mistake("masks the rows of padding, not its columns", reread="Why padding masks keys, not queries")
def rows_of_padding(tokens, pad):
    """The *rows* of the padding are switched off: its queries see nothing, while later real words would still see
    padding. Padding is a rule about keys, that is, about columns."""
    return reference.causal_mask(tokens.shape[-1]) & padded_queries(tokens, pad)


@target_mask.mistake("masks rows and columns of padding", reread="Why padding masks keys, not queries")
def rows_and_columns_of_padding(tokens, pad):
    """The rows of the padding are switched off as well as its columns. Those rows then see nothing at all, which a
    plain softmax turns into NaN, and there was no need to switch them off."""
    return reference.causal_mask(tokens.shape[-1]) & padded_queries_and_keys(tokens, pad)


@target_mask.mistake("reads True as hidden", reread="Two conventions, opposite to each other")
def inverted_target(tokens, pad):
    """Your True marks what is hidden. In this book True means 'may attend'."""
    return ~reference.target_mask(tokens, pad)


@target_mask.mistake("takes the sentences of the batch for queries", reread="The padding mask")
def batch_for_queries(tokens, pad):
    """The padding rule has shape (batch, T) where it meets the causal mask (T, T). That is right for one sentence, an
    error for most batches, and silently wrong for a batch of as many sentences as tokens: the padding of sentence i is
    then hidden from query i of every sentence, and from no other query. Use your `padding_mask`, which keeps an axis
    for the queries."""
    return np.tri(tokens.shape[-1], dtype=bool) & (tokens != pad)


@target_mask.mistake("looks the wrong way in time", reread="The causal mask")
def anticausal(tokens, pad):
    """Padding is hidden, but of the real tokens each position sees the later ones, not the earlier. Row i belongs to
    query i, and its past is to the left of the diagonal."""
    return reference.causal_mask(tokens.shape[-1]).T & reference.padding_mask(tokens, pad)


@target_mask.mistake("adds an axis for the heads, too", reread="Which mask goes where")
def target_for_the_heads(tokens, pad):
    """The mask is right, but its shape is (..., 1, T, T). The code that makes the heads also makes their axis; before
    that, it would line up with the batch. Here the mask is (..., T, T)."""
    return reference.target_mask(tokens, pad)[..., None, :, :]


@target_mask.mistake("contains ones and zeros", reread="Two conventions, opposite to each other")
def target_in_numbers(tokens, pad):
    """The entries are numbers, from a product of two masks of numbers, say. A mask is boolean in this book, and two are
    combined with `&`."""
    return reference.target_mask(tokens, pad).astype(np.int64)


@target_mask.mistake("hides the present, too", reread="The causal mask")
def present_hidden(tokens, pad):
    """The diagonal is False, so no position sees itself, and the first sees nothing at all. The token at position i of
    the decoder's input is the one *before* the token to be predicted, so it may be seen."""
    return np.tri(tokens.shape[-1], k=-1, dtype=bool) & reference.padding_mask(tokens, pad)


@target_mask.mistake("looks one position ahead", reread="The causal mask")
def target_one_ahead(tokens, pad):
    """The boundary is one diagonal too high: each position sees the next one, too, which is the very token that it must
    predict."""
    return np.tri(tokens.shape[-1], k=1, dtype=bool) & reference.padding_mask(tokens, pad)


@target_mask.mistake("takes for granted that padding is 0", reread="The padding mask")
def target_pad_is_zero(tokens, pad):
    """You compare padding with 0, whatever `pad` is."""
    return reference.target_mask(tokens, 0)


@target_mask.mistake("takes every token above 0 for a real one", reread="The padding mask")
def target_positive_tokens(tokens, pad):
    """Tokens are compared with `> 0`, whatever `pad` is. Tokens are names, not quantities: a real token may be 0 or
    negative, and padding may be any token. A token is real if it is not `pad`."""
    return reference.causal_mask(tokens.shape[-1]) & (tokens > 0)[..., None, :]


@target_mask.mistake("takes for granted that padding is the smallest token", reread="The padding mask")
def target_pad_is_smallest(tokens, pad):
    """Tokens are compared with `> pad`, which is right only while no real token has a smaller number than padding.
    Tokens are names, not quantities: ask whether they differ."""
    return reference.causal_mask(tokens.shape[-1]) & (tokens > pad)[..., None, :]


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
