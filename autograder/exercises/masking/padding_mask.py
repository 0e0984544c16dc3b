import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.masking.shared import sentences, token_cases, token_edge_cases
from solutions import masking as reference

padding_mask = Exercise(
    reference.padding_mask,
    outputs={"mask": "... 1 T_key"},
    section="The padding mask",
)
wrong = short_mistakes(padding_mask)


@padding_mask.cases("sentences and batches", points=2)
def _(draw):
    yield from token_cases(draw)
    T = draw.size(3, 6)
    yield "as many sentences as tokens", {"tokens": sentences(draw, T, T), "pad": 0}


@padding_mask.cases("edge cases", points=1)
def _(draw):
    yield from token_edge_cases(draw)


wrong("inverted_padding", lambda tokens, pad: (tokens == pad)[..., None, :])("""
    reads True as hidden -> Two conventions, opposite to each other
    Your True marks the padding. In this book True means 'may attend', so it marks the real tokens. (In PyTorch's
    `key_padding_mask`, True marks the padding.)""")
wrong("all_real", lambda tokens, pad: np.ones((*tokens.shape[:-1], 1, tokens.shape[-1]), bool))("""
    takes every token for a real one
    Every entry is True, whatever the tokens are, so that nothing is hidden. A token is real if it is not `pad`.""")
wrong("padded_queries", lambda tokens, pad: (tokens != pad)[..., :, None])("""
    masks the queries, not the keys -> Why padding masks keys, not queries
    Your mask has shape (..., T, 1): it hides everything from the *rows* of padding, but lets every real word attend to
    padding. A rule about keys is a rule about columns: (..., 1, T_key).""")


@padding_mask.mistake("masks queries and keys both", reread="Why padding masks keys, not queries")
def padded_queries_and_keys(tokens, pad):
    """You mask the rows of padding as well as the columns. These rows then see nothing at all, which a plain softmax
    turns into NaN. You gain nothing, because nothing reads their outputs. Mask only the keys."""
    real = tokens != pad
    return real[..., :, None] & real[..., None, :]


wrong("no_axis_for_queries", lambda tokens, pad: tokens != pad)("""
    leaves out the queries' axis
    Your mask has shape (..., T_key). With scores (batch, T_query, T_key), NumPy aligns shapes from the right and takes
    your batch axis for the queries. You get an error, or, with as many sentences as tokens, wrong numbers without an
    error. Insert an axis of length 1 where the queries are.""")
wrong("axis_in_front", lambda tokens, pad: (tokens != pad)[None])("""
    puts the new axis in front
    Your axis of length 1 is in front of the batch. For (batch, T) that makes (1, batch, T), and the sentences of the
    batch become queries. Put the axis just before the last one. For a single sentence both are the same, so only a
    batch shows the mistake.""")
wrong("axis_for_heads_too", lambda tokens, pad: (tokens != pad)[..., None, None, :])("""
    adds an axis for the heads, too -> Which mask goes where
    The shape is (..., 1, 1, T_key), one axis of length 1 for the queries and one for the heads. The code that makes the
    heads also makes their axis. In other code, this axis would line up with the batch. Return (..., 1, T_key).""")
wrong("additive_padding", lambda tokens, pad: np.where(tokens != pad, 0.0, -np.inf)[..., None, :])("""
    makes an additive mask -> Two conventions, opposite to each other
    Your mask holds 0 and -inf, to add to scores. In this book a mask is boolean, and only `masked_softmax` changes the
    scores.""")
wrong("row_for_each_query", lambda tokens, pad: np.repeat((tokens != pad)[..., None, :], tokens.shape[-1], axis=-2))("""
    repeats the row for every query
    The values are right, and so is a (T, T) mask for the encoder. But every row is the same, so one row is enough:
    (..., 1, T_key) broadcasts to any number of queries, even if that is not the number of keys.""")
wrong("pad_is_zero", lambda tokens, pad: (tokens != 0)[..., None, :])("""
    takes for granted that padding is 0
    You compare padding with 0, whatever `pad` is. Another tokeniser may give padding another number.""")
wrong("pad_is_smallest", lambda tokens, pad: (tokens > pad)[..., None, :])("""
    takes for granted that padding is the smallest token
    You compare tokens with `>`, which is right only if no real token has a smaller number than padding. Tokens are
    names, not quantities: check whether they differ.""")
wrong("padding_in_numbers", lambda tokens, pad: (tokens != pad)[..., None, :].astype(np.int64))("""
    contains ones and zeros -> Two conventions, opposite to each other
    Your mask contains numbers. In this book a mask is boolean, so that `~` means 'not' and `&` means 'and'.""")
wrong("positive_tokens", lambda tokens, pad: (tokens > 0)[..., None, :])("""
    takes every token above 0 for a real one
    You compare tokens with `> 0`, whatever `pad` is. Tokens are names, not quantities: a real token may be 0 or
    negative, and padding may be any token. A token is real if it is not `pad`.""")
wrong("from_pad_on", lambda tokens, pad: (tokens >= pad)[..., None, :])("""
    takes padding for a real token
    You compare tokens with `>= pad`, so padding counts as real, and a real token with a smaller number does not. Tokens
    are names, not quantities: check whether they differ from `pad`.""")


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
