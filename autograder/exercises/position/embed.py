"""embed: its cases, its known mistakes and its right rewrites."""

import math

import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from autograder.exercises.position.shared import looked_up, refuse_unknown, text_cases
from solutions import position as reference

embed = Exercise(
    reference.embed,
    outputs={"output": "... T d_model", "cache": UNJUDGED},
    section="Embeddings: a look-up",
)


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
    yield "all tokens known", looked_up(draw, 4)
    inputs = looked_up(draw, 4)
    yield "a token one too large", inputs | {"tokens": inputs["tokens"] + 1}
    inputs = looked_up(draw, 2, 3)
    inputs["tokens"][1, 1] = -1
    yield "a negative token", inputs


def rows(tokens, table, scale):
    """Checked rows times a factor, with the cache."""
    output, cache = reference.embed(tokens, table)
    return (output * (scale / math.sqrt(table.shape[1]))).astype(table.dtype), cache


@embed.mistake("forgets to scale", reread="Why the embeddings are scaled")
def not_scaled(tokens, table):
    """These are the rows of the table, unscaled. The paper multiplies them by the root of d_model."""
    return rows(tokens, table, 1.0)


@embed.mistake("divides by the root", reread="Why the embeddings are scaled")
def divided(tokens, table):
    """The rows are divided by the root of d_model, as scores are in attention. Embeddings are *multiplied* by it:
    their entries are small, and should become as large as those of the encoding."""
    return rows(tokens, table, 1 / math.sqrt(table.shape[1]))


@embed.mistake("scales by d_model, not its root", reread="Why the embeddings are scaled")
def whole_width(tokens, table):
    """You multiply the rows by d_model. Multiply by its root."""
    return rows(tokens, table, float(table.shape[1]))


@embed.mistake("scales by the root of the vocabulary", reread="Why the embeddings are scaled")
def root_of_vocab(tokens, table):
    """Your factor is the root of the table's *height*. It should be the root of its width, d_model."""
    return rows(tokens, table, math.sqrt(table.shape[0]))


@embed.mistake("reads a negative token as one from the end")
def negative_passes(tokens, table):
    """NumPy reads -1 as the last row, without an error. A negative token is a bug somewhere else (a padding number that
    was not replaced, say), and you should report it here: raise IndexError."""
    return table[tokens] * math.sqrt(table.shape[1]), (tokens, len(table))


@embed.mistake("clips unknown tokens")
def clipped(tokens, table):
    """A token outside the table is moved to its nearest row. The model then reads a word that was not there, and no
    error is reported: raise IndexError."""
    return table[np.clip(tokens, 0, len(table) - 1)] * math.sqrt(table.shape[1]), (tokens, len(table))


@embed.mistake("turns float32 into float64")
def promoted(tokens, table):
    """A float32 table gives float64: `np.sqrt` of an int is a NumPy float64, and it makes the product float64. A plain
    Python float, as `math.sqrt` gives, does not."""
    output, cache = reference.embed(tokens, table)
    return output.astype(np.float64), cache


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
    """A token outside the table gets a vector of zeros. The model then reads nothing where there was a word, and no
    error is reported: raise IndexError."""
    known = (tokens >= 0) & (tokens < len(table))
    output, cache = reference.embed(np.where(known, tokens, 0), table)
    return output * known[..., None], cache


@embed.mistake("gives token 0 zeros")
def token_0_is_zero(tokens, table):
    """Token 0 gets zeros, as with `padding_idx=0` in PyTorch. This table has no padding: token 0 has a row like every
    other, and the masks keep padding out."""
    output, cache = reference.embed(tokens, table)
    return output * (tokens != 0)[..., None], cache


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
