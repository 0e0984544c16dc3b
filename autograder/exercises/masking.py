"""Chapter 3, masking: the cases, the known mistakes and the right rewrites of its exercises."""

import math

import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from autograder.check import given_functions
from solutions import masking as reference
from solutions.attention import softmax
from solutions.backward import attention_backward, softmax_backward

# -------------------------------------------------------------------------------------------- causal_mask

causal_mask = Exercise(
    reference.causal_mask,
    outputs={"mask": "T_query T_key"},
    section="The causal mask",
)


@causal_mask.cases("the triangle", points=1)
def _(draw):
    for name, length in zip(("a short sentence", "a longer one"), sorted(draw.sizes(2, low=3, high=9)), strict=True):
        yield name, {"length": length}


@causal_mask.cases("edge cases", points=1)
def _(draw):
    yield "one token", {"length": 1}
    yield "two tokens", {"length": 2}
    yield "a long text", {"length": draw.size(50, 90)}


@causal_mask.mistake("allows the future, not the past")
def wrong_triangle(length):
    """This is the upper triangle: each position sees itself and what comes *after* it. Row i belongs to the query at
    position i, and its columns up to i are the past, so the True entries stand on and below the diagonal. Reread 'The
    causal mask'."""
    return np.tri(length, dtype=bool).T


@causal_mask.mistake("forbids a position to see itself")
def without_the_diagonal(length):
    """The diagonal is False, so no position sees itself, and the first sees nothing at all. The decoder's input is
    shifted right by one: what stands at position i is the token *before* the one to be predicted, so it may be seen.
    Reread 'The causal mask'."""
    return np.tri(length, k=-1, dtype=bool)


@causal_mask.mistake("looks one position ahead")
def one_too_many(length):
    """The boundary is one diagonal too high: each position sees the next one too, and that is the very token it is to
    predict. Reread 'The causal mask'."""
    return np.tri(length, k=1, dtype=bool)


@causal_mask.mistake("means the opposite by True")
def inverted_causal(length):
    """Your True marks what is *forbidden*: that is how PyTorch's `nn.MultiheadAttention` reads a mask. In this book,
    as in `scaled_dot_product_attention`, True means 'may attend'. Reread 'Two conventions, opposite to each
    other'."""
    return ~np.tri(length, dtype=bool)


@causal_mask.mistake("makes an additive mask")
def additive_causal(length):
    """This mask holds 0 and -inf, to be added to scores. In this book a mask is boolean, and only `masked_softmax`
    knows what happens to the scores; two boolean masks can also be combined with `&`. Reread 'Two conventions,
    opposite to each other'."""
    return np.where(np.tri(length, dtype=bool), 0.0, -np.inf)


@causal_mask.mistake("holds ones and zeros")
def ones_and_zeros(length):
    """The triangle is right, but it is made of numbers. Then `~mask` does not mean 'not' (~1 is -2 for integers, an
    error for floats), and indexing with it picks rows instead of filtering. Say dtype=bool. Reread 'Two conventions,
    opposite to each other'."""
    return np.tri(length)


@causal_mask.mistake("allows everything")
def all_allowed(length):
    """Every entry is True, so each position sees the whole sentence, the future too. Reread 'The causal mask'."""
    return np.ones((length, length), dtype=bool)


@causal_mask.equivalent
def by_comparing_positions(length):
    position = np.arange(length)
    return position[:, None] >= position


@causal_mask.equivalent
def lower_triangle_of_ones(length):
    return np.tril(np.ones((length, length), dtype=bool))


@causal_mask.equivalent
def not_the_upper_triangle(length):
    return ~np.triu(np.ones((length, length), dtype=bool), k=1)


@causal_mask.equivalent
def entry_by_entry(length):
    return np.array([[j <= i for j in range(length)] for i in range(length)])


# ------------------------------------------------------------------------------------------- padding_mask


def sentences(draw, *shape, pad=0):
    """Tokens whose rows begin with a real token and end in padding."""
    tokens = draw.tokens(*shape)
    if pad:
        tokens = np.where(tokens == pad, 0, tokens)
    lengths = np.array(draw.rng.integers(1, shape[-1], size=shape[:-1]))
    return np.where(np.arange(shape[-1]) < lengths[..., None], tokens, pad)


def token_cases(draw):
    """Sentences without, with one and with two batch axes, in all of which some rows end in padding."""
    yield "one sentence", {"tokens": sentences(draw, draw.size(3, 8)), "pad": 0}
    n_batch, T = draw.sizes(2, low=3)
    yield "a batch", {"tokens": sentences(draw, n_batch, T), "pad": 0}
    yield "two batch axes", {"tokens": sentences(draw, 2, n_batch, T), "pad": 0}


def token_edge_cases(draw):
    """Other paddings, and sentences that are all padding or have none."""
    T = draw.size(3, 8)
    yield "another padding token", {"tokens": sentences(draw, 2, T, pad=9), "pad": 9}
    yield "a negative padding token", {"tokens": sentences(draw, 2, T, pad=-1), "pad": -1}
    yield "no padding at all", {"tokens": draw.tokens(2, T), "pad": 0}
    tokens = draw.tokens(2, T)
    tokens[1] = 0
    yield "a sentence of padding alone", {"tokens": tokens, "pad": 0}
    yield "one token", {"tokens": draw.tokens(3, 1), "pad": 0}
    tokens = draw.tokens(2, T)
    tokens[:, 0] = 0
    yield "padding on the left", {"tokens": tokens, "pad": 0}


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


@padding_mask.mistake("means the opposite by True")
def inverted_padding(tokens, pad):
    """Your True marks the padding. In this book True means 'may attend', so it marks the real tokens. (PyTorch's
    `key_padding_mask` is the other way round.) Reread 'Two conventions, opposite to each other'."""
    return (tokens == pad)[..., None, :]


@padding_mask.mistake("masks the queries, not the keys")
def padded_queries(tokens, pad):
    """Your mask has shape (..., T, 1): it switches off the *rows* of the padding and lets every real word attend to
    padding. It is the other way round that helps: a rule about keys is a rule about columns, (..., 1, T_key). Reread
    'Why padding masks keys, not queries'."""
    return (tokens != pad)[..., :, None]


@padding_mask.mistake("masks queries and keys both")
def padded_queries_and_keys(tokens, pad):
    """Rows of padding are switched off as well as columns. Those rows then see nothing at all, which a plain softmax
    turns into NaN; and nothing is gained, since no one reads what stands there. Mask the keys alone. Reread 'Why
    padding masks keys, not queries'."""
    real = tokens != pad
    return real[..., :, None] & real[..., None, :]


@padding_mask.mistake("leaves out the queries' axis")
def no_axis_for_queries(tokens, pad):
    """This has shape (..., T_key). Against scores (batch, T_query, T_key) NumPy lines shapes up from the right and
    takes your batch axis for the queries: an error at best, and nonsense without an error when there are as many
    sentences as tokens. Put an axis of length 1 where the queries are. Reread 'The padding mask'."""
    return tokens != pad


@padding_mask.mistake("puts the new axis in front")
def axis_in_front(tokens, pad):
    """The axis of length 1 stands in front of the batch: for (batch, T) that makes (1, batch, T), and the sentences
    of the batch become queries. It belongs just before the last axis. For a single sentence both are the same, so
    only a batch shows it. Reread 'The padding mask'."""
    return (tokens != pad)[None]


@padding_mask.mistake("repeats the row for every query")
def row_for_each_query(tokens, pad):
    """The values are right, and so is a (T, T) mask for the encoder. But every row is the same, so one is enough:
    (..., 1, T_key) broadcasts to any number of queries, also where there are more or fewer of them than keys. Reread
    'The padding mask'."""
    return np.repeat((tokens != pad)[..., None, :], tokens.shape[-1], axis=-2)


@padding_mask.mistake("takes for granted that padding is 0")
def pad_is_zero(tokens, pad):
    """Padding is compared with 0, whatever `pad` is. Another tokeniser numbers its tokens otherwise. Reread 'The
    padding mask'."""
    return (tokens != 0)[..., None, :]


@padding_mask.mistake("takes for granted that padding is the smallest token")
def pad_is_smallest(tokens, pad):
    """Tokens are compared with `>`, which is right only while no real token has a smaller number than padding. Tokens
    are names, not quantities: ask whether they differ. Reread 'The padding mask'."""
    return (tokens > pad)[..., None, :]


@padding_mask.mistake("holds ones and zeros")
def padding_in_numbers(tokens, pad):
    """The right entries as numbers. A mask is boolean in this book: `~` means 'not' then, and `&` means 'and'. Reread
    'Two conventions, opposite to each other'."""
    return (tokens != pad)[..., None, :].astype(np.int64)


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


# -------------------------------------------------------------------------------------------- target_mask

target_mask = Exercise(
    reference.target_mask,
    outputs={"mask": "... T T"},
    section="The target mask",
    uses=("causal_mask", "padding_mask"),
)


@target_mask.cases("sentences and batches", points=2)
def _(draw):
    yield from token_cases(draw)
    T = draw.size(3, 6)
    yield "as many sentences as tokens", {"tokens": sentences(draw, T, T), "pad": 0}


@target_mask.cases("edge cases", points=1)
def _(draw):
    yield from token_edge_cases(draw)


@target_mask.mistake("forgets the padding")
def causal_alone(tokens, pad):
    """The future is hidden, and padding is not. A causal mask happens to hide padding at the end from the real words
    before it, but not from the rows after it, nor padding on the left from anyone. Reread 'The target mask'."""
    T = tokens.shape[-1]
    return np.broadcast_to(reference.causal_mask(T), (*tokens.shape[:-1], T, T)).copy()


@target_mask.mistake("forgets the future")
def padding_alone(tokens, pad):
    """Padding is hidden, and the future is not: the decoder reads the token that it is to predict. Combine the
    padding mask with the causal one. Reread 'The target mask'."""
    return np.repeat(reference.padding_mask(tokens, pad), tokens.shape[-1], axis=-2)


@target_mask.mistake("allows what either mask allows")
def either(tokens, pad):
    """You combine the masks with 'or' (for booleans, `+` is 'or' too): a key may be seen if it is past *or* real, so
    the real future is open. With True for 'may', both must agree: `&`. Reread 'The target mask'."""
    return reference.causal_mask(tokens.shape[-1]) | reference.padding_mask(tokens, pad)


@target_mask.mistake("masks the rows of padding, not its columns")
def rows_of_padding(tokens, pad):
    """The padding's *rows* are switched off: its queries see nothing, while later real words would still see padding.
    Padding is a rule about keys, that is, about columns. Reread 'Why padding masks keys, not queries'."""
    return reference.causal_mask(tokens.shape[-1]) & padded_queries(tokens, pad)


@target_mask.mistake("masks rows and columns of padding")
def rows_and_columns_of_padding(tokens, pad):
    """The padding's rows are switched off as well as its columns. Those rows see nothing at all then, which a plain
    softmax turns into NaN, and nobody needed them switched off. Reread 'Why padding masks keys, not queries'."""
    return reference.causal_mask(tokens.shape[-1]) & padded_queries_and_keys(tokens, pad)


@target_mask.mistake("means the opposite by True")
def inverted_target(tokens, pad):
    """Your True marks what is hidden. In this book True means 'may attend'. Reread 'Two conventions, opposite to each
    other'."""
    return ~reference.target_mask(tokens, pad)


@target_mask.mistake("takes the sentences of the batch for queries")
def batch_for_queries(tokens, pad):
    """The padding rule has shape (batch, T) where it meets the causal mask (T, T). That is right for one sentence, an
    error for most batches, and silently wrong for a batch of as many sentences as tokens: sentence i's padding then
    counts for query i of everyone. Use your `padding_mask`, which keeps an axis for the queries. Reread 'The padding
    mask'."""
    return np.tri(tokens.shape[-1], dtype=bool) & (tokens != pad)


@target_mask.mistake("looks the wrong way in time")
def anticausal(tokens, pad):
    """Padding is hidden, but of the real tokens each position sees the later ones, not the earlier. Row i belongs to
    query i, and its past lies left of the diagonal. Reread 'The causal mask'."""
    return reference.causal_mask(tokens.shape[-1]).T & reference.padding_mask(tokens, pad)


@target_mask.mistake("takes for granted that padding is 0")
def target_pad_is_zero(tokens, pad):
    """Padding is compared with 0, whatever `pad` is. Reread 'The padding mask'."""
    return reference.target_mask(tokens, 0)


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


# -------------------------------------------------------------------------------------------- memory_mask

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
    belong to queries, columns to keys, (..., T_target, T_source). Reread 'The memory mask'."""
    return reference.memory_mask(source_tokens, target_length, pad).swapaxes(-1, -2)


@memory_mask.mistake("makes the encoder's own mask")
def source_against_source(source_tokens, target_length, pad):
    """This mask is (..., T_source, T_source): it serves the encoder's self-attention. In cross-attention there is a
    row for each position of the *target*; with source and target of one length, nobody would notice. Reread 'The
    memory mask'."""
    return reference.memory_mask(source_tokens, source_tokens.shape[-1], pad)


@memory_mask.mistake("hides the source's future")
def causal_memory(source_tokens, target_length, pad):
    """Target position i sees the source only up to position i. But the source has no future: it is known from the
    first word to the last before the decoder begins. Only its padding is hidden. Reread 'The memory mask'."""
    mask = reference.memory_mask(source_tokens, target_length, pad)
    return mask & np.tri(target_length, source_tokens.shape[-1], dtype=bool)


@memory_mask.mistake("means the opposite by True")
def inverted_memory(source_tokens, target_length, pad):
    """Your True marks the source's padding. In this book True means 'may attend'. Reread 'Two conventions, opposite
    to each other'."""
    return ~reference.memory_mask(source_tokens, target_length, pad)


@memory_mask.mistake("allows the whole source")
def whole_source(source_tokens, target_length, pad):
    """Everything is allowed, the source's padding too, so every target position averages in vectors that mean
    nothing. Reread 'The memory mask'."""
    return np.ones_like(reference.memory_mask(source_tokens, target_length, pad))


@memory_mask.mistake("has one row for all positions")
def one_row(source_tokens, target_length, pad):
    """This is the source's padding mask, (..., 1, T_source). Attention would broadcast it and be right; here the mask
    is asked for with a row for each target position, (..., T_target, T_source), and `target_length` says how many.
    Reread 'The memory mask'."""
    return reference.padding_mask(source_tokens, pad)


@memory_mask.mistake("repeats along the first axis")
def repeats_the_batch(source_tokens, target_length, pad):
    """The rows are repeated along the first axis. With a single sentence that is the queries' axis; with a batch, it
    is the batch that grows. Count from the end: the queries are axis -2. Reread 'The memory mask'."""
    return np.repeat(reference.padding_mask(source_tokens, pad), target_length, axis=0)


@memory_mask.mistake("takes for granted that padding is 0")
def memory_pad_is_zero(source_tokens, target_length, pad):
    """Padding is compared with 0, whatever `pad` is. Reread 'The padding mask'."""
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


# ---------------------------------------------------------------------------------- predicted_mask_shapes

predicted_mask_shapes = Exercise(
    reference.predicted_mask_shapes,
    outputs={"shapes": "dict"},
    section="Which mask goes where",
)

SIZES = ("n_batch", "n_heads", "T_source", "T_target")


@predicted_mask_shapes.cases("the shapes", points=1)
def _(draw):
    yield "four different sizes", dict(zip(SIZES, draw.sizes(4), strict=True))
    yield "four other sizes", dict(zip(SIZES, draw.sizes(4, low=8, high=40), strict=True))


@predicted_mask_shapes.cases("sizes of one", points=1)
def _(draw):
    for size in SIZES:
        yield f"{size} = 1", dict(zip(SIZES, draw.sizes(4), strict=True)) | {size: 1}


@predicted_mask_shapes.mistake("gives cross-attention a row for each source token")
def cross_transposed(**sizes):
    """In cross-attention the target asks and the source is found, so scores and mask have T_target rows and T_source
    columns. Reread 'The memory mask'."""
    n_batch, n_heads, T_source, T_target = (sizes[size] for size in SIZES)
    wrong = {"memory": (n_batch, T_source, T_target), "cross_scores": (n_batch, n_heads, T_source, T_target)}
    return reference.predicted_mask_shapes(**sizes) | wrong


@predicted_mask_shapes.mistake("leaves out the queries' axis of the padding mask")
def source_without_queries(**sizes):
    """`padding_mask` keeps an axis of length 1 for the queries; without it, NumPy would take the batch for them.
    Reread 'The padding mask'."""
    return reference.predicted_mask_shapes(**sizes) | {"source": (sizes["n_batch"], sizes["T_source"])}


@predicted_mask_shapes.mistake("gives the padding mask a row for each query")
def source_in_full(**sizes):
    """All rows of a padding mask are alike, so `padding_mask` makes only one: its queries' axis has length 1. Reread
    'The padding mask'."""
    n_batch, T_source = sizes["n_batch"], sizes["T_source"]
    return reference.predicted_mask_shapes(**sizes) | {"source": (n_batch, T_source, T_source)}


@predicted_mask_shapes.mistake("has no axis for the heads")
def no_axis_for_heads(**sizes):
    """Lined up from the right, the batch axis of a (n_batch, T, T) mask meets the heads' axis of the scores: an
    error, or nonsense if there are as many sentences as heads. It needs an axis of length 1 in the heads' place.
    Reread 'Which mask goes where'."""
    shapes = reference.predicted_mask_shapes(**sizes)
    return shapes | {"target_for_all_heads": shapes["target"]}


@predicted_mask_shapes.mistake("copies the mask for every head")
def a_copy_for_each_head(**sizes):
    """That lines up, but it is not the smallest form: an axis of length 1 is stretched over all heads without a copy.
    Reread 'Which mask goes where'."""
    n_batch, n_heads, _, T_target = (sizes[size] for size in SIZES)
    wrong = {"target_for_all_heads": (n_batch, n_heads, T_target, T_target)}
    return reference.predicted_mask_shapes(**sizes) | wrong


@predicted_mask_shapes.mistake("puts the heads' axis in front of the batch")
def heads_in_front(**sizes):
    """The axis of length 1 stands before the batch. Scores are (n_batch, n_heads, T_query, T_key), so your batch axis
    would meet the heads. Reread 'Which mask goes where'."""
    T_target = sizes["T_target"]
    wrong = {"target_for_all_heads": (1, sizes["n_batch"], T_target, T_target)}
    return reference.predicted_mask_shapes(**sizes) | wrong


@predicted_mask_shapes.equivalent
def shapes_by_trying(n_batch, n_heads, T_source, T_target):
    source, target = np.ones((n_batch, T_source)), np.ones((n_batch, T_target))
    asks, found = np.ones((2, n_batch, n_heads, T_source, 1))
    asks_target = np.ones((n_batch, n_heads, T_target, 1))
    return {
        "source": expanded(source, 0).shape,
        "target": row_after_row(target, 0).shape,
        "memory": tiled(source, T_target, 0).shape,
        "encoder_scores": (asks @ found.swapaxes(-1, -2)).shape,
        "cross_scores": (asks_target @ found.swapaxes(-1, -2)).shape,
        "target_for_all_heads": row_after_row(target, 0)[:, None].shape,
    }


# ----------------------------------------------------------------------------------------- masked_softmax

masked_softmax = Exercise(
    reference.masked_softmax,
    outputs={"weights": "... n"},
    section="From masked scores to weights",
)


def random_mask(draw, *shape):
    """About half allowed; each row has an allowed entry and, unless it has only one, a hidden one."""
    mask = draw.rng.random(shape) < 0.5
    rows = mask.reshape(-1, shape[-1])
    for row in rows:
        some, other = draw.rng.permutation(shape[-1])[:2] if shape[-1] > 1 else (0, 0)
        row[other], row[some] = False, True
    return mask


def with_empty_row(mask):
    """The mask with nothing allowed in its second row (its only row, if it has one)."""
    mask = mask.copy()
    mask[..., min(1, mask.shape[-2] - 1), :] = False
    return mask


@masked_softmax.cases("the idea", points=1)
def _(draw):
    n = draw.size(3, 8)
    yield "one row", {"scores": draw.normal(n), "mask": random_mask(draw, n)}
    shape = draw.sizes(3, low=3)
    yield "many rows", {"scores": draw.normal(*shape), "mask": random_mask(draw, *shape)}
    yield "everything allowed", {"scores": draw.normal(*shape), "mask": np.ones(shape, bool)}


@masked_softmax.cases("masks that broadcast", points=1)
def _(draw):
    n_batch, n_heads, T_query, T_key = draw.sizes(4, low=3)
    scores = draw.normal(n_batch, n_heads, T_query, T_key)
    yield "the same for all sentences and heads", {"scores": scores, "mask": random_mask(draw, T_query, T_key)}
    yield "the same for all queries", {"scores": scores, "mask": random_mask(draw, n_batch, 1, 1, T_key)}
    yield "the same for all heads", {"scores": scores, "mask": random_mask(draw, n_batch, 1, T_query, T_key)}


@masked_softmax.cases("rows that see nothing", points=1)
def _(draw):
    shape = draw.sizes(3, low=3)
    mask = with_empty_row(random_mask(draw, *shape))
    yield "one row in each matrix", {"scores": draw.normal(*shape), "mask": mask}
    yield "all rows, by one broadcast No", {"scores": draw.normal(*shape), "mask": np.zeros((1, 1), bool)}


@masked_softmax.cases("large scores", points=1)
def _(draw):
    shape = draw.sizes(2, low=3)
    mask = random_mask(draw, *shape)
    scores = draw.normal(*shape)
    yield "scores in the thousands", {"scores": 3000 + 20 * scores, "mask": mask}
    yield "scores far below zero", {"scores": -3000 + 20 * scores, "mask": mask}
    yield "a hidden score that towers over the rest", {"scores": np.where(mask, scores, 1e5 + scores), "mask": mask}


@masked_softmax.cases("float32 and float16", points=1)
def _(draw):
    shape = draw.sizes(2, low=3)
    for dtype in (np.float32, np.float16):
        name = np.dtype(dtype).name
        mask = random_mask(draw, *shape)
        yield name, {"scores": draw.normal(*shape, dtype=dtype), "mask": mask}
        empty = with_empty_row(mask)
        yield f"{name}, a row that sees nothing", {"scores": draw.normal(*shape, dtype=dtype), "mask": empty}


def zero_if_empty(weights, mask):
    """The weights, with zeros in the rows in which nothing is allowed: what is left of NaN or of made-up weights."""
    return np.where(np.broadcast_to(mask.any(axis=-1, keepdims=True), weights.shape), weights, 0)


def filled(scores, mask, value):
    """Softmax after each hidden score is replaced, in the scores' own dtype."""
    return softmax(np.where(mask, scores, scores.dtype.type(value)))


@masked_softmax.mistake("masks after the softmax")
def after_the_softmax(scores, mask):
    """The softmax sees every score, and the hidden weights are set to zero afterwards. So the rows no longer add up
    to one, and what was hidden still decides by how much: it stands in the denominator of every weight. Mask the
    scores, before the softmax. Reread 'Why before the softmax'."""
    return softmax(scores) * mask


@masked_softmax.mistake("multiplies the scores by the mask")
def scores_times_mask(scores, mask):
    """A hidden score becomes 0, and 0 is a score like any other: exp(0) = 1 is often more than an allowed entry gets.
    To get no weight, a score must be minus infinity. Reread 'Why before the softmax'."""
    return softmax(scores * mask)


@masked_softmax.mistake("the mask has no effect")
def tiny_penalty(scores, mask):
    """The weights are those without a mask. Either it is not used at all, or it hides with -1e-20: that is not a very
    negative number, it is next to zero, and added to a score it changes nothing. (This slip stands in print.) Minus
    infinity is `-np.inf`. Reread 'Finite substitutes for infinity'."""
    return softmax(scores + np.where(mask, 0, -1e-20).astype(scores.dtype))


@masked_softmax.mistake("hides what is allowed, and allows what is hidden")
def polarity_inverted(scores, mask):
    """True is taken for 'hide'. PyTorch's `nn.MultiheadAttention` reads a mask like that; in this book, and in
    `scaled_dot_product_attention`, True means 'may attend'. Reread 'Two conventions, opposite to each other'."""
    return reference.masked_softmax(scores, ~mask)


@masked_softmax.mistake("gives even weights to a row that sees nothing")
def even_weights_when_empty(scores, mask):
    """Hidden scores are replaced by a very negative *finite* number. In a row where everything is hidden all scores
    are then equal, and softmax sees only differences: it hands out even weights, all of them to entries that must not
    be seen. Such a row is to be zero. Reread 'Rows that see nothing'."""
    return filled(scores, mask, -1e9)


@masked_softmax.mistake("ignores the mask in a row that sees nothing")
def unmasked_when_empty(scores, mask):
    """A large finite penalty is *added* to the hidden scores. In a row where everything is hidden, all scores go down
    together, and softmax does not see a shift: the weights are those without a mask. (Also, a hidden score that is
    large enough climbs over the penalty.) Reread 'Finite substitutes for infinity'."""
    return softmax(scores + np.where(mask, 0, -1e9))


@masked_softmax.mistake("gives NaN for a row that sees nothing")
def nan_when_empty(scores, mask):
    """Hidden scores become minus infinity, which is right. But in a row where everything is hidden, the row's maximum
    is minus infinity too, and -inf - (-inf) is NaN. Such rows need a rule of their own: weights of zero. Reread 'Rows
    that see nothing'."""
    return filled(scores, mask, -np.inf)


@masked_softmax.mistake("overflows in float16")
def too_large_for_half(scores, mask):
    """-1e20 does not exist in float16, whose largest number is 65504: it becomes -inf, and 0 times -inf, the penalty
    of an allowed entry, is NaN. Choose entries with `np.where` and write -np.inf, which every dtype has. Reread
    'Finite substitutes for infinity'."""
    penalty = (~mask).astype(scores.dtype) * scores.dtype.type(-1e20)
    return zero_if_empty(softmax(scores + penalty), mask)


@masked_softmax.mistake("takes the maximum over hidden scores too")
def maximum_over_everything(scores, mask):
    """Multiplying the exponentials by the mask, before the sum, is fine as algebra. But the maximum that is
    subtracted comes from all scores: when a hidden one towers over the rest, every allowed exponential underflows to
    0, and the row has nothing left to share out. Take the maximum over what is allowed. Reread 'Why before the
    softmax'."""
    strengths = np.exp(scores - scores.max(axis=-1, keepdims=True)) * mask
    total = strengths.sum(axis=-1, keepdims=True)
    return np.divide(strengths, total, out=np.zeros_like(strengths), where=total > 0)


@masked_softmax.mistake("renormalises, and divides zero by zero")
def renormalised(scores, mask):
    """Masking the finished weights and dividing by what is left is fine as algebra, and breaks when nothing is left:
    in a row that sees nothing, and in one where a hidden score took all the weight, 0/0 is NaN. Mask the scores,
    before the softmax. Reread 'Why before the softmax'."""
    weights = softmax(scores) * mask
    return weights / weights.sum(axis=-1, keepdims=True)


@masked_softmax.mistake("promotes float32 to float64")
def promoted_softmax(scores, mask):
    """The numbers are right, but float32 came back as float64. `np.where(mask, 0, -np.inf)` makes an array of
    float64, and adding it to the scores promotes them. Choose between the scores and -np.inf in one `np.where`: it
    keeps the scores' dtype. Reread 'From masked scores to weights'."""
    return zero_if_empty(softmax(scores + np.where(mask, 0.0, -np.inf)), mask)


@masked_softmax.mistake("needs a mask in the full shape of the scores")
def full_shape_only(scores, mask):
    """`scores[~mask] = ...` indexes with the mask, and an index must have the very shape of the scores; masks come
    smaller, (T_query, T_key) for all sentences or (..., 1, T_key) for all queries. `np.where` broadcasts, and makes a
    new array, too. Reread 'From masked scores to weights'."""
    hidden = scores.copy()
    hidden[~mask] = -np.inf
    return zero_if_empty(softmax(hidden), mask)


@masked_softmax.mistake("writes into the caller's scores")
def writes_into_scores(scores, mask):
    """The numbers are right, and the caller's scores have changed: hidden entries were overwritten in place. Make a
    new array, with `np.where`. Reread 'From masked scores to weights'."""
    np.copyto(scores, -np.inf, where=~mask)
    return zero_if_empty(softmax(scores), mask)


@masked_softmax.equivalent
def masked_row_by_row(scores, mask):
    mask = np.broadcast_to(mask, scores.shape)
    weights = np.zeros_like(scores)
    for index in np.ndindex(scores.shape[:-1]):
        allowed = mask[index]
        if allowed.any():
            weights[index][allowed] = softmax(scores[index][allowed])
    return weights


@masked_softmax.equivalent
def maximum_over_the_allowed(scores, mask):
    highest = np.max(scores, axis=-1, keepdims=True, where=np.broadcast_to(mask, scores.shape), initial=-np.inf)
    strengths = np.exp(np.where(mask, scores - highest, -np.inf).astype(scores.dtype))
    return strengths / np.maximum(strengths.sum(axis=-1, keepdims=True), np.finfo(scores.dtype).tiny)


@masked_softmax.equivalent
def nan_to_zero(scores, mask):
    return np.nan_to_num(filled(scores, mask, -np.inf), nan=0)


@masked_softmax.equivalent
def lowest_number_then_zero(scores, mask):
    return filled(scores, mask, np.finfo(scores.dtype).min) * mask


@masked_softmax.equivalent
def through_masked_arrays(scores, mask):
    hidden = np.ma.array(scores, mask=np.broadcast_to(~mask, scores.shape))
    strengths = np.ma.exp(hidden - hidden.max(axis=-1, keepdims=True))
    return (strengths / strengths.sum(axis=-1, keepdims=True)).filled(0).astype(scores.dtype)


# --------------------------------------------------------------------------------------- masked_attention


def roles(draw, n_batch_axes=0, dtype=np.float64, **given):
    """Queries, keys, values and a mask in which no two sizes agree, unless they are given."""
    names = ("T_query", "T_key", "d_key", "d_value")
    T_query, T_key, d_key, d_value = (dict(zip(names, draw.sizes(4, low=3, high=9), strict=True)) | given).values()
    batch = [2, 3][:n_batch_axes] if n_batch_axes < 2 else [2, 2]
    return {
        "queries": draw.normal(*batch, T_query, d_key, dtype=dtype),
        "keys": draw.normal(*batch, T_key, d_key, dtype=dtype),
        "values": draw.normal(*batch, T_key, d_value, dtype=dtype),
        "mask": random_mask(draw, *batch, T_query, T_key),
    }


masked_attention = Exercise(
    reference.masked_attention,
    outputs={"output": "... T_query d_value", "cache": UNJUDGED},
    section="Masked attention",
    uses=("masked_softmax",),
)


@masked_attention.cases("the idea", points=1)
def _(draw):
    yield "one sentence, a mask of its own", roles(draw)
    square = roles(draw, T_query=4, T_key=4)
    yield "as many queries as keys", square
    yield "a causal mask", square | {"mask": np.tri(4, dtype=bool)}


@masked_attention.cases("batches and masks", points=1)
def _(draw):
    yield "one batch axis", roles(draw, 1)
    inputs = roles(draw, 2)
    T_query, T_key = inputs["mask"].shape[-2:]
    yield "two batch axes", inputs
    yield "one mask for all heads", inputs | {"mask": random_mask(draw, 2, 1, T_query, T_key)}
    yield "one mask for all", inputs | {"mask": random_mask(draw, T_query, T_key)}
    yield "one row for all queries", inputs | {"mask": random_mask(draw, 2, 1, 1, T_key)}


@masked_attention.cases("queries that see nothing", points=1)
def _(draw):
    inputs = roles(draw, 1)
    yield "one in each sentence", inputs | {"mask": with_empty_row(inputs["mask"])}
    yield "all of them", inputs | {"mask": np.zeros((1, 1), bool)}


@masked_attention.cases("stability, float32 and edge cases", points=1)
def _(draw):
    inputs = roles(draw, 1)
    yield "scores in the thousands", inputs | {"queries": 100 * inputs["queries"], "keys": 100 * inputs["keys"]}
    inputs = roles(draw, 1, dtype=np.float32)
    yield "float32", inputs
    yield "float32, a query that sees nothing", inputs | {"mask": with_empty_row(inputs["mask"])}
    yield "T_query = 1", roles(draw, 1, T_query=1)
    yield "T_key = 1", roles(draw, 1, T_key=1)
    yield "d_key = 1", roles(draw, 1, d_key=1)
    inputs = roles(draw)
    T_query, d_key = inputs["queries"].shape
    yield "unequal d_key", inputs | {"queries": draw.normal(T_query, d_key + 1)}


def scaled_scores(queries, keys):
    """The scores before any mask."""
    return queries @ keys.swapaxes(-1, -2) / math.sqrt(keys.shape[-1])


def through(weigh):
    """Attention with another masked softmax."""

    def attend(queries, keys, values, mask):
        return weigh(scaled_scores(queries, keys), mask) @ values, None

    return attend


@masked_attention.mistake("the mask has no effect")
def mask_ignored(queries, keys, values, mask):
    """Every query sees every key. Either the mask is not used, or it hides with a number that is too small: -1e-20,
    which stands in print, changes no digit of a score. Minus infinity is `-np.inf`. Reread 'Finite substitutes for
    infinity'."""
    return softmax(scaled_scores(queries, keys)) @ values, None


@masked_attention.mistake("masks the weights, after the softmax")
def weights_masked_late(queries, keys, values, mask):
    """The mask is multiplied on after the softmax. The hidden values drop out, but the rows no longer add up to one,
    and the hidden scores still stand in every denominator: change the future, and the past's outputs change. Mask the
    scores, before the softmax. Reread 'Why before the softmax'."""
    return through(after_the_softmax)(queries, keys, values, mask)


@masked_attention.mistake("masks the output, in the shape of the values")
def output_masked(queries, keys, values, mask):
    """A triangle of -inf is laid over the *output*, in the shape of the values. It hides no key from any query: it
    makes most of the output infinite, the next layer NaN, and its first entry still has seen the future. A mask
    speaks of pairs of a query and a key, so it belongs on the scores, (..., T_query, T_key). Reread 'Why before the
    softmax'."""
    output, _ = mask_ignored(queries, keys, values, mask)
    T_query, d_value = output.shape[-2:]
    return np.where(np.tri(T_query, d_value, dtype=bool), output, -np.inf).astype(output.dtype), None


@masked_attention.mistake("means the opposite by True")
def inverted_attention(queries, keys, values, mask):
    """What the mask allows is hidden, and what it hides is allowed. In this book True means 'may attend'. Reread 'Two
    conventions, opposite to each other'."""
    return reference.masked_attention(queries, keys, values, ~mask)


@masked_attention.mistake("multiplies the scores by the mask")
def scores_multiplied(queries, keys, values, mask):
    """Hidden scores become 0, which is a score like any other. Only minus infinity gets no weight. Reread 'Why before
    the softmax'."""
    return through(scores_times_mask)(queries, keys, values, mask)


@masked_attention.mistake("averages everything for a query that sees nothing")
def even_average_when_empty(queries, keys, values, mask):
    """A query that may attend to nothing gets the plain average of all values, every one of them hidden from it: with
    a finite 'minus infinity' all its scores are equal. Its output is to be zero. Reread 'Rows that see nothing'."""
    return through(even_weights_when_empty)(queries, keys, values, mask)


@masked_attention.mistake("gives NaN for a query that sees nothing")
def nan_attention(queries, keys, values, mask):
    """A query that may attend to nothing gets NaN, and from there NaN spreads through every layer and every gradient.
    Its output is to be zero: use your `masked_softmax`. Reread 'Rows that see nothing'."""
    return through(nan_when_empty)(queries, keys, values, mask)


@masked_attention.mistake("does not scale the scores")
def unscaled_masked(queries, keys, values, mask):
    """The mask is right; the division by the square root of d_key is missing. Scale, mask, softmax, in this order.
    Reread 'Masked attention'."""
    return reference.masked_softmax(queries @ keys.swapaxes(-1, -2), mask) @ values, None


@masked_attention.mistake("puts in a heads' axis of its own")
def own_head_axis(queries, keys, values, mask):
    """An axis is put into the mask here, for the heads. But a mask arrives ready to broadcast: for (T_query, T_key) the
    extra axis does no harm, for a batch it turns sentences into heads. Whoever makes the heads makes their axis. Reread
    'Which mask goes where'."""
    return reference.masked_attention(queries, keys, values, mask[..., None, :, :])[0], None


@masked_attention.mistake("applies the mask to the first head only")
def first_head_only(queries, keys, values, mask):
    """Only the first matrix of the axis before the last two, the first head (or sentence), is masked; the others see
    everything. Let the mask broadcast over all leading axes. Reread 'Which mask goes where'."""
    scores = scaled_scores(queries, keys)
    mask = np.broadcast_to(mask, scores.shape).copy()
    if mask.ndim > 2:
        mask[..., 1:, :, :] = True
    return reference.masked_softmax(scores, mask) @ values, None


@masked_attention.mistake("needs a mask in the full shape of the scores")
def indexed_attention(queries, keys, values, mask):
    """The scores are indexed with the mask, so it must have their very shape; a mask for all sentences, or one row
    for all queries, is an error. `np.where` broadcasts. Reread 'From masked scores to weights'."""
    return through(full_shape_only)(queries, keys, values, mask)


@masked_attention.mistake("promotes float32 to float64")
def promoted_attention(queries, keys, values, mask):
    """float32 came back as float64: `np.where(mask, 0, -np.inf)` is an array of float64, and promotes the scores that
    it is added to. Reread 'From masked scores to weights'."""
    return through(promoted_softmax)(queries, keys, values, mask)


@masked_attention.equivalent
def by_einsum(queries, keys, values, mask):
    scores = np.einsum("...id,...jd->...ij", queries, keys) * keys.shape[-1] ** -0.5
    return np.einsum("...ij,...jv->...iv", nan_to_zero(scores, mask), values), None


@masked_attention.equivalent
def masked_before_the_scale(queries, keys, values, mask):
    """(S + M) / sqrt(d) instead of S / sqrt(d) + M: the same, for -inf only."""
    hidden = np.where(mask, queries @ keys.swapaxes(-1, -2), -np.inf).astype(queries.dtype) / math.sqrt(keys.shape[-1])
    return np.nan_to_num(softmax(hidden), nan=0) @ values, None


@masked_attention.equivalent
def only_the_visible_keys(queries, keys, values, mask):
    output = np.zeros((*queries.shape[:-1], values.shape[-1]), values.dtype)
    mask = np.broadcast_to(mask, (*queries.shape[:-1], keys.shape[-2]))
    for index in np.ndindex(queries.shape[:-1]):
        seen = mask[index]
        if seen.any():
            shares = softmax(keys[index[:-1]][seen] @ queries[index] / math.sqrt(keys.shape[-1]))
            output[index] = shares @ values[index[:-1]][seen]
    return output, None


@masked_attention.equivalent
def hidden_scores_made_lowest(queries, keys, values, mask):
    return through(lowest_number_then_zero)(queries, keys, values, mask)


# ------------------------------------------------------------------------------ masked_attention_backward

masked_attention_backward = Exercise(
    reference.masked_attention_backward,
    outputs={"grad_queries": "... T_query d_key", "grad_keys": "... T_key d_key", "grad_values": "... T_key d_value"},
    order=("grad_values", "grad_queries", "grad_keys"),
    section="Backwards through a mask",
)


def attended(draw, n_batch_axes=0, dtype=np.float64, empty=False, **sizes):
    """A random cotangent, and the cache as the forward pass leaves it."""
    inputs = roles(draw, n_batch_axes, dtype, **sizes)
    if empty:
        inputs["mask"] = with_empty_row(inputs["mask"])
    output, cache = reference.masked_attention(**inputs)
    return {"grad_output": draw.normal(*output.shape, dtype=dtype), "cache": cache}


@masked_attention_backward.cases("the idea", points=1)
def _(draw):
    yield "one sentence", attended(draw)
    yield "as many queries as keys", attended(draw, T_query=4, T_key=4)


@masked_attention_backward.cases("batches", points=1)
def _(draw):
    yield "one batch axis", attended(draw, 1)
    yield "two batch axes", attended(draw, 2)


@masked_attention_backward.cases("queries that see nothing, float32 and edge cases", points=1)
def _(draw):
    yield "queries that see nothing", attended(draw, 1, empty=True)
    yield "float32", attended(draw, 1, dtype=np.float32, empty=True)
    for size in ("T_query", "T_key", "d_value"):
        yield f"{size} = 1", attended(draw, 1, **{size: 1})


def from_scores(grad_scores, grad_output, cache, scale=None):
    """The three gradients, once that of the scaled scores is known."""
    queries, keys, _, weights = cache
    scale = 1 / math.sqrt(keys.shape[-1]) if scale is None else scale
    turned = grad_scores.swapaxes(-1, -2)
    return grad_scores @ keys * scale, turned @ queries * scale, weights.swapaxes(-1, -2) @ grad_output


def grad_weights_of(grad_output, cache):
    return grad_output @ cache[2].swapaxes(-1, -2)


@masked_attention_backward.mistake("puts minus infinity into the gradient")
def infinite_gradient(grad_output, cache):
    """-inf was the *score* of a hidden entry; its *gradient* is 0, since no change of what is hidden changes the
    output. With -inf in it, every product becomes infinite or NaN. Reread 'Backwards through a mask'."""
    grad_scores = softmax_backward(grad_weights_of(grad_output, cache), cache[-1])
    hidden = np.where(cache[-1] > 0, grad_scores, -np.inf).astype(grad_scores.dtype)
    return from_scores(hidden, grad_output, cache)


@masked_attention_backward.mistake("computes the weights anew, without the mask")
def weights_unmasked(grad_output, cache):
    """The backward pass makes its own weights, from queries and keys, and the mask is not in them: gradients flow to
    keys and values that no query saw. The cache holds the weights that were used. Reread 'Backwards through a
    mask'."""
    queries, keys, values, _ = cache
    return attention_backward(grad_output, (queries, keys, values, softmax(scaled_scores(queries, keys))))


@masked_attention_backward.mistake("renormalises the weights of rows that see nothing")
def renormalised_backward(grad_output, cache):
    """The weights are divided by their sum once more. They add up to one already, except in a row that sees nothing:
    there 0/0 is NaN. Use the weights as the cache holds them. Reread 'Backwards through a mask'."""
    *inputs, weights = cache
    return attention_backward(grad_output, (*inputs, weights / weights.sum(axis=-1, keepdims=True)))


@masked_attention_backward.mistake("cuts off every key that is hidden from someone")
def cut_off(grad_output, cache):
    """A key that *some* query may not see loses its gradient from all of them. A mask is about pairs: the key still
    owes its gradient to each query that did see it. Reread 'Backwards through a mask'."""
    grad_queries, grad_keys, grad_values = attention_backward(grad_output, cache)
    open_to_all = (cache[-1] > 0).all(axis=-2)[..., None]
    return grad_queries, grad_keys * open_to_all, grad_values * open_to_all


@masked_attention_backward.mistake("lets the hidden entries into the row's average")
def unweighted_average(grad_output, cache):
    """In the softmax's backward the row's average is weighted by the row's weights, so that hidden entries do not
    count. You subtract the plain mean over all keys, hidden ones too. Reread 'Backwards through a mask'."""
    grad_weights = grad_weights_of(grad_output, cache)
    centred = grad_weights - grad_weights.mean(axis=-1, keepdims=True)
    return from_scores(cache[-1] * centred, grad_output, cache)


@masked_attention_backward.mistake("treats the softmax's Jacobian as diagonal")
def diagonal_jacobian(grad_output, cache):
    """Softmax mixes a whole row, masked or not: the gradient of one score depends on what arrives at all entries that
    the query sees. a(1 - a) is only the diagonal. Reread 'Backwards through a mask'."""
    weights = cache[-1]
    return from_scores(grad_weights_of(grad_output, cache) * weights * (1 - weights), grad_output, cache)


@masked_attention_backward.mistake("masks what arrives, and forgets the softmax")
def mask_instead_of_softmax(grad_output, cache):
    """The gradient of the weights, with zeros where something is hidden, is taken for the gradient of the scores. The
    mask does not replace the softmax: its backward, weights times what arrives less its weighted average, is still to
    come. Reread 'Backwards through a mask'."""
    masked = np.where(cache[-1] > 0, grad_weights_of(grad_output, cache), 0)
    return from_scores(masked, grad_output, cache)


@masked_attention_backward.mistake("forgets the scale")
def scale_forgotten(grad_output, cache):
    """The gradients of queries and keys lack the factor one over the square root of d_key: the mask has not changed
    that. Reread 'Backwards through a mask'."""
    grad_scores = softmax_backward(grad_weights_of(grad_output, cache), cache[-1])
    return from_scores(grad_scores, grad_output, cache, scale=1)


@masked_attention_backward.equivalent
def the_long_way(grad_output, cache):
    grad_scores = softmax_backward(grad_weights_of(grad_output, cache), cache[-1])
    return from_scores(np.where(cache[-1] > 0, grad_scores, 0), grad_output, cache)


@masked_attention_backward.equivalent
def backward_by_einsum(grad_output, cache):
    queries, keys, values, weights = cache
    arriving = np.einsum("...iv,...jv->...ij", grad_output, values)
    average = np.einsum("...ij,...ij->...i", weights, arriving)[..., None]
    grad_scores = weights * (arriving - average) * keys.shape[-1] ** -0.5
    return (
        np.einsum("...ij,...jd->...id", grad_scores, keys),
        np.einsum("...ij,...id->...jd", grad_scores, queries),
        np.einsum("...ij,...iv->...jv", weights, grad_output),
    )


@masked_attention_backward.equivalent
def query_by_query(grad_output, cache):
    queries, keys, values, weights = cache
    grad_queries, grad_keys, grad_values = (np.zeros_like(array) for array in (queries, keys, values))
    for i in range(queries.shape[-2]):
        row = (queries[..., i : i + 1, :], keys, values, weights[..., i : i + 1, :])
        asked, found, given = attention_backward(grad_output[..., i : i + 1, :], row)
        grad_queries[..., i : i + 1, :] = asked
        grad_keys += found
        grad_values += given
    return grad_queries, grad_keys, grad_values


# -------------------------------------------------------------------------------------------------- leaks

leaks = Exercise(
    reference.leaks,
    outputs={"leaks": ""},
    section="A leak detector",
)


def sequences(draw, decoder):
    """Two sequences of vectors, different everywhere, and the decoder to be tried on them."""
    T, d = draw.size(5, 9), draw.size(2, 5)
    return {"decoder": decoder, "x": draw.normal(T, d), "other": draw.normal(T, d)}


def tried(draw, *decoders):
    for decoder in decoders:
        yield decoder.__name__.replace("_", " "), sequences(draw, decoder)


def mixtures(draw):
    """Decoders drawn anew, that no table of known ones has. Two or three of the four leak, anywhere."""
    names = ("a mixture", "another mixture", "a third mixture", "a fourth mixture")
    leaky = draw.rng.permutation([True, True, False, draw.rng.random() < 0.5])
    for name, leaks_somewhere in zip(names, leaky, strict=True):
        inputs = sequences(draw, None)
        T = len(inputs["x"])
        weights = np.tril(draw.normal(T, T))
        if leaks_somewhere:
            hears, heard = sorted(draw.rng.choice(T, size=2, replace=False))
            weights[hears, heard] = draw.rng.choice([-1.0, 1.0])
        yield name, inputs | {"decoder": given_functions.Mixture(weights)}


# A detector that always gives the same answer fails every aspect: each has leaky decoders and tight ones.
@leaks.cases("wide open, or shut", points=2)
def _(draw):
    yield from tried(draw, given_functions.looks_around, given_functions.looks_back, given_functions.running_sum)
    yield from tried(
        draw, given_functions.each_position_alone, given_functions.sum_of_the_past, given_functions.centred_over_time
    )
    yield from mixtures(draw)


@leaks.cases("one step, one place", points=1)
def _(draw):
    yield from tried(
        draw, given_functions.looks_one_ahead, given_functions.first_hears_second, given_functions.first_hears_third
    )
    yield from tried(draw, given_functions.last_but_one_hears_last, given_functions.looks_back)
    yield from mixtures(draw)


@leaks.cases("small leaks, and rounding", points=1)
def _(draw):
    yield from tried(
        draw, given_functions.divides_by_all, given_functions.whispers, given_functions.all_minus_the_future
    )
    yield from mixtures(draw)


@leaks.cases("tokens and edge cases", points=1)
def _(draw):
    T = draw.size(5, 9)
    tokens = draw.tokens(T, low=0)
    other = (tokens + draw.rng.integers(1, 10, size=T)) % 10
    for decoder in (given_functions.running_sum, given_functions.centred_over_time):
        name = decoder.__name__.replace("_", " ")
        yield f"tokens, {name}", {"decoder": decoder, "x": tokens, "other": other}
    inputs = sequences(draw, given_functions.centred_over_time)
    yield "two positions", inputs | {"x": inputs["x"][:2], "other": inputs["other"][:2]}
    yield "a single position", inputs | {"x": inputs["x"][:1], "other": inputs["other"][:1]}
    yield from mixtures(draw)


def searched(decoder, x, other, cuts=None, compared=lambda t: slice(0, t), close=np.allclose):
    """The detector, with its choices left open."""
    output = decoder(x)
    for t in range(1, len(x)) if cuts is None else cuts:
        if not close(decoder(np.concatenate([x[:t], other[t:]]))[compared(t)], output[compared(t)]):
            return True
    return False


@leaks.mistake("begins with the second cut")
def begins_late(decoder, x, other):
    """The first cut stands after the second position, so position 1 is never replaced while position 0 is watched: a
    decoder whose first output sees the second input gets away. Cut after every position, from 1 on. Reread 'A leak
    detector'."""
    return searched(decoder, x, other, cuts=range(2, len(x)))


@leaks.mistake("ends one cut too early")
def ends_early(decoder, x, other):
    """The last cut is missing, the one after which only the last input is new: a decoder that peeks at it from the
    last position but one gets away. Reread 'A leak detector'."""
    return searched(decoder, x, other, cuts=range(1, len(x) - 1))


@leaks.mistake("changes the last input only")
def last_input_only(decoder, x, other):
    """Only the last input is ever changed. Whoever looks at some other part of the future is not found. Cut after
    every position. Reread 'A leak detector'."""
    return searched(decoder, x, other, cuts=range(max(1, len(x) - 1), len(x)))


@leaks.mistake("makes a single cut, in the middle")
def one_cut_in_the_middle(decoder, x, other):
    """One cut shows only what crosses it: a leak with both ends in the first half, or both in the second, is not
    found. Cut after every position. Reread 'A leak detector'."""
    return searched(decoder, x, other, cuts=range(len(x) // 2, len(x) // 2 + 1) if len(x) > 1 else ())


@leaks.mistake("watches the first output only")
def first_output_only(decoder, x, other):
    """Only the output at position 0 is compared, and a leak at any other position is not found. At the cut t, compare
    all outputs before t. Reread 'A leak detector'."""
    return searched(decoder, x, other, compared=lambda t: slice(0, 1))


@leaks.mistake("compares whole outputs")
def whole_outputs(decoder, x, other):
    """The whole outputs are compared. Of course they differ: the later outputs *may* change when the later inputs do.
    Compare the outputs before the cut, and no others. Reread 'A leak detector'."""
    return searched(decoder, x, other, compared=lambda t: slice(None))


@leaks.mistake("compares the first output after the cut, too")
def one_output_too_many(decoder, x, other):
    """At the cut t, input t is new, and output t may depend on it: each position sees itself. You accuse every
    decoder that does. Compare outputs 0 to t - 1, that is, [:t]. Reread 'A leak detector'."""
    return searched(decoder, x, other, compared=lambda t: slice(0, t + 1))


@leaks.mistake("changes nothing")
def changes_nothing(decoder, x, other):
    """The two sequences that are compared are the same, so their outputs are: no leak can ever show. Take what comes
    after the cut from `other`. Reread 'A leak detector'."""
    return searched(decoder, x, x)


@leaks.mistake("changes the past and watches the future")
def past_and_future_swapped(decoder, x, other):
    """The beginning is changed, and the outputs after it are compared: that tells whether the decoder has a *memory*,
    which is what it is for. Keep the beginning, change the rest, and compare the beginning. Reread 'A leak
    detector'."""
    output = decoder(x)
    changed = (decoder(np.concatenate([other[:t], x[t:]]))[t:] for t in range(1, len(x)))
    return any(not np.allclose(after, output[len(x) - len(after) :]) for after in changed)


@leaks.mistake("says True when all is well")
def answer_inverted(decoder, x, other):
    """The answers are the wrong way round: True is to mean that the decoder leaks. Reread 'A leak detector'."""
    return not reference.leaks(decoder, x, other)


@leaks.mistake("accuses rounding")
def bit_by_bit(decoder, x, other):
    """Outputs are compared bit by bit. A sum in another order differs in its last digits, and a decoder in which the
    future cancels is accused of seeing it. Compare with a tolerance: `np.allclose`. Reread 'A leak detector'."""
    return searched(decoder, x, other, close=np.array_equal)


@leaks.mistake("overlooks small leaks")
def hard_of_hearing(decoder, x, other):
    """The tolerance is too generous: a leak of one part in a thousand passes, and a network can learn to amplify it.
    What rounding does in float64 is a thousand million times smaller; the defaults of `np.allclose` will do. Reread
    'A leak detector'."""
    return searched(decoder, x, other, close=lambda a, b: np.allclose(a, b, rtol=0.05, atol=0.05))


@leaks.mistake("writes into the caller's sequence")
def writes_into_x(decoder, x, other):
    """`x[t:] = other[t:]` changes the caller's x, and it does so at the very first cut: from then on there is no
    original to compare with, and honest decoders are accused. Build a new sequence. Reread 'A leak detector'."""
    output = decoder(x)
    for t in range(1, len(x)):
        x[t:] = other[t:]
        if not np.allclose(decoder(x)[:t], output[:t]):
            return True
    return False


@leaks.equivalent
def only_the_last_output_before_the_cut(decoder, x, other):
    return searched(decoder, x, other, compared=lambda t: slice(t - 1, t))


@leaks.equivalent
def last_cut_first(decoder, x, other):
    return searched(decoder, x, other, cuts=range(len(x) - 1, 0, -1))


@leaks.equivalent
def one_input_at_a_time(decoder, x, other):
    output = decoder(x)
    found = False
    for t in range(1, len(x)):
        changed = x.copy()
        changed[t] = other[t]
        found |= bool(np.abs(decoder(changed)[:t] - output[:t]).max() > 1e-8)
    return found


@leaks.equivalent
def by_prefixes(decoder, x, other):
    """Whoever does not look ahead gives the same outputs before the later inputs exist."""
    output = decoder(x)
    return any(not np.allclose(decoder(x[:t]), output[:t]) for t in range(1, len(x)))


# ------------------------------------------------------------------------- repaired_masked_self_attention

repaired_masked_self_attention = Exercise(
    reference.repaired_masked_self_attention,
    outputs={"output": "... T d_value", "weights": "... T T"},
    order=("weights", "output"),
    section="Find the bug",
)


def layer(draw, n_batch_axes=0, dtype=np.float64, empty=False):
    """A sequence, its projections and a mask, no two sizes alike."""
    T, d_model, d_key, d_value = draw.sizes(4, low=3, high=9)
    batch = [2, 3][:n_batch_axes]
    mask = random_mask(draw, *batch, T, T)
    return {
        "x": draw.normal(*batch, T, d_model, dtype=dtype),
        "w_query": draw.normal(d_model, d_key, dtype=dtype),
        "w_key": draw.normal(d_model, d_key, dtype=dtype),
        "w_value": draw.normal(d_model, d_value, dtype=dtype),
        "mask": with_empty_row(mask) if empty else mask,
    }


@repaired_masked_self_attention.cases("the mask before the softmax", points=2)
def _(draw):
    inputs = layer(draw)
    yield "one sentence", inputs
    yield "a causal mask", inputs | {"mask": np.tri(len(inputs["x"]), dtype=bool)}
    yield "two batch axes", layer(draw, 2)
    inputs = layer(draw, 1)
    yield "one mask for the batch", inputs | {"mask": inputs["mask"][0]}
    yield "large scores", inputs | {"x": 30 * inputs["x"]}


@repaired_masked_self_attention.cases("rows that see nothing", points=1)
def _(draw):
    yield "one in each sentence", layer(draw, 1, empty=True)
    yield "all of them", layer(draw, 1) | {"mask": np.zeros((1, 1), bool)}


@repaired_masked_self_attention.cases("float32", points=1)
def _(draw):
    yield "float32", layer(draw, 1, dtype=np.float32)
    yield "float32, a row that sees nothing", layer(draw, 1, dtype=np.float32, empty=True)


def published(x, w_query, w_key, w_value, mask, penalty, late_product=True, keep_dtype=False):
    """The function of the hunt, with its choices left open."""
    # To the last digit as the stub has it: what was float32 and became float64 is compared as float64.
    scores = np.einsum("...qd,...kd->...qk", x @ w_query, x @ w_key) / math.sqrt(w_key.shape[-1])
    added = np.where(mask, 0, penalty)
    weights = softmax(scores + (added.astype(x.dtype) if keep_dtype else added))
    weights = weights * mask if late_product else weights
    return weights @ (x @ w_value), weights


@repaired_masked_self_attention.mistake("nothing is mended yet")
def as_published(x, w_query, w_key, w_value, mask):
    """All mistakes are still there. Start with the sums of the rows: they should be one. Which number was the penalty
    meant to be? Reread 'Finite substitutes for infinity'."""
    return published(x, w_query, w_key, w_value, mask, penalty=-1e-20)


@repaired_masked_self_attention.mistake("the dtype is mended; the future still leaks")
def dtype_mended(x, w_query, w_key, w_value, mask):
    """float32 stays float32 now. Next, the sums of the rows: they should be one, and are less. What does the penalty
    do, and what was it meant to do? Reread 'Finite substitutes for infinity'."""
    return published(x, w_query, w_key, w_value, mask, penalty=-1e-20, keep_dtype=True)


@repaired_masked_self_attention.mistake("the product after the softmax is gone, and nothing has come in its place")
def product_dropped(x, w_query, w_key, w_value, mask):
    """The product after the softmax is gone. But it was the only thing that hid anything: the penalty of -1e-20 hides
    nothing, so now every position sees everything. Reread 'Finite substitutes for infinity'."""
    return published(x, w_query, w_key, w_value, mask, penalty=-1e-20, late_product=False)


@repaired_masked_self_attention.mistake("the weights are renormalised after the product")
def renormalised_weights(x, w_query, w_key, w_value, mask):
    """Dividing by what is left makes the rows add up to one again, and divides zero by zero where nothing is left.
    Mask the scores before the softmax, so that there is nothing to repair afterwards. Reread 'Why before the
    softmax'."""
    _, weights = as_published(x, w_query, w_key, w_value, mask)
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return weights @ (x @ w_value), weights


@repaired_masked_self_attention.mistake("the penalty is minus infinity now; rows that see nothing and float32 are left")
def infinite_and_promoted(x, w_query, w_key, w_value, mask):
    """The future is hidden now, in earnest. Next: what does softmax make of a row in which everything is minus
    infinity, and what is NaN times False? And which dtype has `np.where(mask, 0, -np.inf)`? Reread 'Rows that see
    nothing'."""
    return published(x, w_query, w_key, w_value, mask, penalty=-np.inf)


@repaired_masked_self_attention.mistake("almost: rows that see nothing are NaN")
def infinite(x, w_query, w_key, w_value, mask):
    """The future is hidden, and float32 stays float32. What is left: softmax makes NaN of a row in which everything
    is minus infinity, and a product with the mask does not cure it, since NaN times zero is NaN. Reread 'Rows that
    see nothing'."""
    return published(x, w_query, w_key, w_value, mask, penalty=-np.inf, keep_dtype=True)


@repaired_masked_self_attention.mistake("almost: rows that see nothing share themselves out evenly")
def large_without_product(x, w_query, w_key, w_value, mask):
    """With a large finite penalty, a row in which everything is hidden gets even weights, for entries that it must
    not see. Here the product after the softmax would have been of use, after all. Reread 'Rows that see nothing'."""
    return published(x, w_query, w_key, w_value, mask, penalty=-1e20, late_product=False, keep_dtype=True)


@repaired_masked_self_attention.mistake("almost: float32 comes back as float64")
def large_and_promoted(x, w_query, w_key, w_value, mask):
    """The mask is right in every row. What is left: `np.where` between two plain numbers makes an array of float64,
    and that promotes the scores. Reread 'From masked scores to weights'."""
    return published(x, w_query, w_key, w_value, mask, penalty=-1e20)


@repaired_masked_self_attention.equivalent
def smallest_repair(x, w_query, w_key, w_value, mask):
    return published(x, w_query, w_key, w_value, mask, penalty=-1e20, keep_dtype=True)


@repaired_masked_self_attention.equivalent
def infinity_and_a_rule(x, w_query, w_key, w_value, mask):
    weights = zero_if_empty(infinite(x, w_query, w_key, w_value, mask)[1], mask).astype(x.dtype)
    return weights @ (x @ w_value), weights


@repaired_masked_self_attention.equivalent
def row_by_row_repaired(x, w_query, w_key, w_value, mask):
    weights = masked_row_by_row(scaled_scores(x @ w_query, x @ w_key), mask)
    return np.einsum("...ij,...jv->...iv", weights, x @ w_value), weights


@repaired_masked_self_attention.equivalent
def with_a_new_softmax(x, w_query, w_key, w_value, mask):
    weights = maximum_over_the_allowed(scaled_scores(x @ w_query, x @ w_key), mask)
    return weights @ x @ w_value, weights
