import math

import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.position.shared import looked_up, refuse_unknown, text_cases
from solutions import position as reference

embed = Exercise(
    reference.embed, outputs={"output": "... T d_model", "cache": UNJUDGED}, section="Embeddings: a look-up"
)
wrong = short_mistakes(embed)


@embed.cases("sentences and batches", points=2)
def _(draw):
    yield from text_cases(draw)


@embed.cases("float32 and edge cases", points=1)
def _(draw):
    yield "float32", looked_up(draw, 2, 3, dtype=np.float32)
    yield "one token", looked_up(draw, 1)
    yield "one feature", looked_up(draw, 4, d_model=1)
    inputs = looked_up(draw, 3)
    yield "no tokens at all", inputs | {"tokens": inputs["tokens"][:0]}
    inputs = looked_up(draw, 3)
    yield "token 0 throughout", inputs | {"tokens": np.zeros_like(inputs["tokens"])}


@embed.cases("errors", points=1)
def _(draw):
    yield "all tokens known", looked_up(draw, 4, low=1)
    inputs = looked_up(draw, 4, low=1)
    yield "a token one too large", inputs | {"tokens": inputs["tokens"] + 1}
    inputs = looked_up(draw, 2, 3)
    inputs["tokens"][1, 1] = -1
    yield "a negative token", inputs


def scaled(tokens, table, *, scale):
    """Multiply the rows of known tokens by a function of vocab and d_model, and return the cache, too."""
    output, cache = reference.embed(tokens, table)
    return (output * (scale(*table.shape) / math.sqrt(table.shape[1]))).astype(table.dtype), cache


def changed(tokens, table, *, change):
    """Apply a function to the right output and the tokens, and return the cache, too."""
    output, cache = reference.embed(tokens, table)
    return change(output, tokens), cache


wrong("not_scaled", scaled, scale=lambda vocab, d_model: 1.0)("""
    forgets to scale -> Why the embeddings are scaled
    You return the rows of the table without scaling them. Multiply them by the root of d_model, as the paper does.""")
wrong("divided", scaled, scale=lambda vocab, d_model: 1 / math.sqrt(d_model))("""
    divides by the root -> Why the embeddings are scaled
    You divide the rows by the root of d_model, like the scores in attention. *Multiply* embeddings by it: their entries
    are small, and should become as large as those of the encoding.""")
wrong("whole_width", scaled, scale=lambda vocab, d_model: float(d_model))("""
    scales by d_model, not its root -> Why the embeddings are scaled
    You multiply the rows by d_model. Multiply by its root.""")
wrong("root_of_vocab", scaled, scale=lambda vocab, d_model: math.sqrt(vocab))("""
    scales by the root of the vocabulary -> Why the embeddings are scaled
    Your factor is the root of the table's *height*. It should be the root of its width, d_model.""")
wrong("negative_passes", lambda tokens, table: (table[tokens] * math.sqrt(table.shape[1]), (tokens, len(table))))("""
    reads a negative token as one from the end
    NumPy reads -1 as the last row, without an error. A negative token comes from a bug elsewhere, for example a padding
    number that was not replaced. Report it here: raise IndexError.""")


@embed.mistake("clips unknown tokens")
def clipped(tokens, table):
    """You move a token outside the table to the nearest row. The model then reads a word that was not there, without an
    error. Raise IndexError instead."""
    return table[np.clip(tokens, 0, len(table) - 1)] * math.sqrt(table.shape[1]), (tokens, len(table))


wrong("promoted", changed, change=lambda output, tokens: output.astype(np.float64))("""
    turns float32 into float64
    A float32 table gives float64: `np.sqrt` of an int is a NumPy float64, and it makes the product float64. A plain
    Python float, such as `math.sqrt` returns, does not.""")


@embed.mistake("scales the caller's table")
def table_scaled_in_place(tokens, table):
    """You change the caller's table: the next call will scale it again. Scale what you looked up, not the table."""
    output, cache = reference.embed(tokens, table)
    table *= math.sqrt(table.shape[1])
    return output, cache


@embed.mistake("takes the minimum of no tokens")
def no_empty_text(tokens, table):
    """An empty array has no minimum, so NumPy raises ValueError. A text without tokens is rare, but not an error: it
    has no token outside the table."""
    if tokens.min() < 0 or tokens.max() >= len(table):
        raise IndexError
    return reference.embed(tokens, table)


@embed.mistake("gives an unknown token zeros")
def unknown_is_zero(tokens, table):
    """You give a token outside the table a vector of zeros. The model then reads nothing where there was a word,
    without an error. Raise IndexError instead."""
    known = (tokens >= 0) & (tokens < len(table))
    output, cache = reference.embed(np.where(known, tokens, 0), table)
    return output * known[..., None], cache


wrong("token_0_is_zero", changed, change=lambda output, tokens: output * (tokens != 0)[..., None])("""
    gives token 0 zeros
    Token 0 gets zeros, as with `padding_idx=0` in PyTorch. This table has no padding: token 0 has a row like every
    other token, and the masks keep padding out.""")


@embed.equivalent
def one_hot_product(tokens, table):
    refuse_unknown(tokens, table)
    hot = (tokens[..., None] == np.arange(len(table))).astype(table.dtype)
    return hot @ table * table.shape[1] ** 0.5, (tokens, len(table))


@embed.equivalent
def scaled_table_first(tokens, table):
    refuse_unknown(tokens, table)
    return np.take(math.sqrt(table.shape[1]) * table, tokens, axis=0), None


@embed.equivalent
def token_by_token(tokens, table):
    refuse_unknown(tokens, table)
    output = np.zeros((*tokens.shape, table.shape[1]), table.dtype)
    for index in np.ndindex(tokens.shape):
        output[index] = table[tokens[index]] * math.sqrt(table.shape[1])
    return output, (tokens, table)
