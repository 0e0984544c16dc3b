"""padding_mask: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.exercises.masking.shared import sentences, token_cases, token_edge_cases
from solutions import masking as reference

padding_mask = Exercise(
    reference.padding_mask,
    outputs={"mask": "... 1 T_key"},
    section="The padding mask",
)


@padding_mask.cases("sentences and batches", points=2)
def _(draw):
    yield from token_cases(draw)
    T = draw.size(3, 6)
    yield "as many sentences as tokens", {"tokens": sentences(draw, T, T), "pad": 0}


@padding_mask.cases("edge cases", points=1)
def _(draw):
    yield from token_edge_cases(draw)


@padding_mask.mistake("reads True as hidden", reread="Two conventions, opposite to each other")
def inverted_padding(tokens, pad):
    """Your True marks the padding. In this book True means 'may attend', so it marks the real tokens. (PyTorch's
    `key_padding_mask` is the other way round.)"""
    return (tokens == pad)[..., None, :]


@padding_mask.mistake("takes every token for a real one")
def all_real(tokens, pad):
    """Every entry is True, whatever the tokens are, so that nothing is hidden. A token is real if it is not `pad`."""
    return np.ones((*tokens.shape[:-1], 1, tokens.shape[-1]), bool)


@padding_mask.mistake("masks the queries, not the keys", reread="Why padding masks keys, not queries")
def padded_queries(tokens, pad):
    """Your mask has shape (..., T, 1): it switches off the *rows* of the padding and lets every real word attend to
    padding. It should be the other way round: a rule about keys is a rule about columns, (..., 1, T_key)."""
    return (tokens != pad)[..., :, None]


@padding_mask.mistake("masks queries and keys both", reread="Why padding masks keys, not queries")
def padded_queries_and_keys(tokens, pad):
    """You switch off the rows of padding as well as the columns. Those rows then see nothing at all, which a plain
    softmax turns into NaN. Nothing is gained, because nothing reads their outputs. Mask the keys alone."""
    real = tokens != pad
    return real[..., :, None] & real[..., None, :]


@padding_mask.mistake("leaves out the queries' axis")
def no_axis_for_queries(tokens, pad):
    """This has shape (..., T_key). With scores (batch, T_query, T_key), NumPy aligns shapes from the right and takes
    your batch axis for the queries: an error at best, and nonsense without an error if there are as many sentences as
    tokens. Insert an axis of length 1 where the queries are."""
    return tokens != pad


@padding_mask.mistake("puts the new axis in front")
def axis_in_front(tokens, pad):
    """The axis of length 1 is in front of the batch: for (batch, T) that makes (1, batch, T), and the sentences of the
    batch become queries. It belongs just before the last axis. For a single sentence both are the same, so only a batch
    shows it."""
    return (tokens != pad)[None]


@padding_mask.mistake("adds an axis for the heads, too", reread="Which mask goes where")
def axis_for_heads_too(tokens, pad):
    """The shape is (..., 1, 1, T_key), one axis of length 1 for the queries and one for the heads. The code that makes
    the heads also makes their axis; before that, it would line up with the batch. Here the mask is (..., 1, T_key)."""
    return (tokens != pad)[..., None, None, :]


@padding_mask.mistake("makes an additive mask", reread="Two conventions, opposite to each other")
def additive_padding(tokens, pad):
    """This mask holds 0 and -inf, to be added to scores. In this book a mask is boolean, and only `masked_softmax`
    knows what happens to the scores."""
    return np.where(tokens != pad, 0.0, -np.inf)[..., None, :]


@padding_mask.mistake("repeats the row for every query")
def row_for_each_query(tokens, pad):
    """The values are right, and so is a (T, T) mask for the encoder. But every row is the same, so one row is enough:
    (..., 1, T_key) broadcasts to any number of queries, even if that is not the number of keys."""
    return np.repeat((tokens != pad)[..., None, :], tokens.shape[-1], axis=-2)


@padding_mask.mistake("takes for granted that padding is 0")
def pad_is_zero(tokens, pad):
    """You compare padding with 0, whatever `pad` is. Another tokeniser may give padding another number."""
    return (tokens != 0)[..., None, :]


@padding_mask.mistake("takes for granted that padding is the smallest token")
def pad_is_smallest(tokens, pad):
    """Tokens are compared with `>`, which is right only while no real token has a smaller number than padding. Tokens
    are names, not quantities: ask whether they differ."""
    return (tokens > pad)[..., None, :]


@padding_mask.mistake("contains ones and zeros", reread="Two conventions, opposite to each other")
def padding_in_numbers(tokens, pad):
    """The entries are numbers. In this book a mask is boolean, so that `~` means 'not' and `&` means 'and'."""
    return (tokens != pad)[..., None, :].astype(np.int64)


@padding_mask.mistake("takes every token above 0 for a real one")
def positive_tokens(tokens, pad):
    """Tokens are compared with `> 0`, whatever `pad` is. Tokens are names, not quantities: a real token may be 0 or
    negative, and padding may be any token. A token is real if it is not `pad`."""
    return (tokens > 0)[..., None, :]


@padding_mask.mistake("takes padding for a real token")
def from_pad_on(tokens, pad):
    """Tokens are compared with `>= pad`, so padding counts as real, and a real token with a smaller number does not.
    Tokens are names, not quantities: ask whether they differ from `pad`."""
    return (tokens >= pad)[..., None, :]


@padding_mask.equivalent
def reshaped(tokens, pad):
    return np.logical_not(tokens == pad).reshape(*tokens.shape[:-1], 1, tokens.shape[-1])


@padding_mask.equivalent
def expanded(tokens, pad):
    return np.expand_dims(np.not_equal(tokens, pad), -2)


@padding_mask.equivalent
def token_by_token(tokens, pad):
    mask = np.ones((*tokens.shape[:-1], 1, tokens.shape[-1]), bool)
    for index in np.ndindex(tokens.shape):
        mask[(*index[:-1], 0, index[-1])] = tokens[index] != pad
    return mask
