"""positional_embedding: its cases, its known mistakes and its right rewrites."""

import math

import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from autograder.exercises.position.embed import one_hot_product
from autograder.exercises.position.shared import angles_of, looked_up, refuse_unknown, taking_turns, text_cases
from autograder.exercises.position.sinusoidal_encoding import by_exponentials
from solutions import position as reference

positional_embedding = Exercise(
    reference.positional_embedding,
    outputs={"output": "... T d_model", "cache": UNJUDGED},
    section="What enters the first layer",
    uses=("sinusoidal_encoding", "embed"),
)


@positional_embedding.cases("sentences and batches", points=2)
def _(draw):
    yield from text_cases(draw)


@positional_embedding.cases("a later start", points=1)
def _(draw):
    start = draw.size(3, 9)
    yield "from a later position", looked_up(draw, 2, 4) | {"start": start}
    yield "a single later token", looked_up(draw, 3, 1) | {"start": start}
    yield "far into a long text", looked_up(draw, 2, 12) | {"start": draw.size(900, 1100)}


@positional_embedding.cases("float32, edge cases and errors", points=1)
def _(draw):
    yield "float32", looked_up(draw, 2, 3, dtype=np.float32)
    yield "an odd width", looked_up(draw, 3, d_model=7)
    inputs = looked_up(draw, 4)
    yield "a token one too large", inputs | {"tokens": inputs["tokens"] + 1}


def with_positions(tokens, table, encoding, scale=1.0):
    embedding, cache = reference.embed(tokens, table)
    return (scale * (embedding + encoding)).astype(table.dtype), cache


def right_encoding(tokens, table, start):
    return reference.sinusoidal_encoding(start + tokens.shape[-1], table.shape[1])[start:]


@positional_embedding.mistake("adds the positions before scaling")
def scaled_after_adding(tokens, table, start=0):
    """You add the encoding first and then scale it with the embedding, so it is sqrt(d_model) times too large: it
    drowns the words instead of accompanying them. Scale first, then add."""
    scale = math.sqrt(table.shape[1])
    return with_positions(tokens, table, right_encoding(tokens, table, start) * scale)


@positional_embedding.mistake("forgets to scale the embeddings", reread="Why the embeddings are scaled")
def positions_unscaled(tokens, table, start=0):
    """You add the encoding to rows of the table that are not scaled, and are small beside it."""
    _, cache = reference.embed(tokens, table)
    return (table[tokens] + right_encoding(tokens, table, start)).astype(table.dtype), cache


@positional_embedding.mistake("scales the embeddings twice", reread="Why the embeddings are scaled")
def scaled_twice(tokens, table, start=0):
    """The embeddings are scaled twice by sqrt(d_model), or by d_model itself, which is the same. Your `embed` returns
    them scaled already: add the encoding to what it returns."""
    embedding, cache = reference.embed(tokens, table)
    return (embedding * math.sqrt(table.shape[1]) + right_encoding(tokens, table, start)).astype(table.dtype), cache


@positional_embedding.mistake("leaves the positions out", reread="Attention cannot count")
def no_positions(tokens, table, start=0):
    """These are the embeddings alone: the model sees a bag of words."""
    return reference.embed(tokens, table)


@positional_embedding.mistake("ignores start")
def start_ignored(tokens, table, start=0):
    """Positions begin at 0, whatever `start` says. In step-by-step decoding, every new token would get the position of
    the first."""
    return with_positions(tokens, table, right_encoding(tokens, table, 0))


@positional_embedding.mistake("counts positions from 1")
def positions_from_one(tokens, table, start=0):
    """The first token gets position 1 + start. Positions count from 0."""
    return with_positions(tokens, table, right_encoding(tokens, table, start + 1))


@positional_embedding.mistake("looks the encoding up by token")
def encoding_of_the_token(tokens, table, start=0):
    """The row of the encoding is chosen by the *token number*: a word gets the same row wherever it is, and order is
    still invisible. Choose the row by position."""
    encoding = reference.sinusoidal_encoding(start + len(table), table.shape[1])
    return with_positions(tokens, table, encoding[start + tokens])


@positional_embedding.mistake("numbers the sentences, not the words")
def batch_for_positions(tokens, table, start=0):
    """The encoding runs along the *first* axis: every word of the first sentence has position 0, every word of the
    second position 1. Code written for arrays (T, batch, d_model) does this when it is fed (batch, T, d_model),
    without an error. Positions are the last axis of the tokens."""
    encoding = reference.sinusoidal_encoding(start + tokens.shape[0], table.shape[1])[start:]
    return with_positions(tokens, table, encoding.reshape(-1, *(1 for _ in tokens.shape[1:]), table.shape[1]))


@positional_embedding.mistake("goes on counting into the next sentence")
def counts_through(tokens, table, start=0):
    """Positions run through the whole batch: the second sentence begins where the first one ended. Each sentence
    begins at `start`."""
    encoding = reference.sinusoidal_encoding(start + tokens.size, table.shape[1])[start:]
    return with_positions(tokens, table, encoding.reshape(*tokens.shape, table.shape[1]))


@positional_embedding.mistake("puts the positions beside the words", reread="Why add, and not concatenate?")
def concatenated(tokens, table, start=0):
    """You put the encoding beside the embedding, so vectors are twice as wide. That can work, but the paper adds the
    two."""
    embedding, cache = reference.embed(tokens, table)
    encoding = np.broadcast_to(right_encoding(tokens, table, start), embedding.shape)
    return np.concatenate([embedding, encoding.astype(table.dtype)], axis=-1), cache


@positional_embedding.mistake("turns float32 into float64")
def positions_promoted(tokens, table, start=0):
    """The encoding is float64, and so is a sum with it, whatever the table's dtype is. Convert the encoding to the
    table's dtype."""
    output, cache = reference.positional_embedding(tokens, table, start)
    return output.astype(np.float64), cache


@positional_embedding.mistake("gives all words one position")
def one_position_for_all(tokens, table, start=0):
    """Every word gets the same row of the encoding, that of position T: `encoding[T]` is one row, `encoding[:T]` are
    the first T. With one row for all, order is still invisible."""
    encoding = reference.sinusoidal_encoding(start + tokens.shape[-1] + 1, table.shape[1])[-1]
    return with_positions(tokens, table, encoding)


@positional_embedding.mistake("counts positions from the end")
def counted_backwards(tokens, table, start=0):
    """The last word has the first position. Positions run from the first word on, so that a word keeps its position
    when others follow."""
    return with_positions(tokens, table, right_encoding(tokens, table, start)[::-1])


@positional_embedding.mistake("takes the positions from a table of fixed length")
def table_of_ten(tokens, table, start=0):
    """You take the positions from a table with a fixed number of rows, but this text goes beyond its last row. Compute
    as many as you need: `start + T` positions, of which you use the last T."""
    return with_positions(tokens, table, reference.sinusoidal_encoding(10, table.shape[1])[start:][: tokens.shape[-1]])


@positional_embedding.equivalent
def place_after_place(tokens, table, start=0):
    output, cache = reference.embed(tokens, table)
    for t in range(tokens.shape[-1]):
        output[..., t, :] += reference.sinusoidal_encoding(start + t + 1, table.shape[1])[-1]
    return output, cache


@positional_embedding.equivalent
def by_angles(tokens, table, start=0):
    refuse_unknown(tokens, table)
    d_model = table.shape[1]
    encoding = taking_turns(angles_of(tokens.shape[-1], d_model, first=start), d_model)
    return (encoding + table[tokens] * d_model**0.5).astype(table.dtype), None


@positional_embedding.equivalent
def added_into_the_embedding(tokens, table, start=0):
    output, cache = one_hot_product(tokens, table)
    output += by_exponentials(start + tokens.shape[-1], table.shape[1])[start:]
    return output, cache
