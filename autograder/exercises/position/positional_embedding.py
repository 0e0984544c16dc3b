import math

import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from autograder.authoring.short_mistakes import changing, short_mistakes
from autograder.exercises.position.embed import one_hot_product
from autograder.exercises.position.shared import angles_of, looked_up, refuse_unknown, taking_turns, text_cases
from autograder.exercises.position.sinusoidal_encoding import by_exponentials
from solutions import position as reference

positional_embedding = Exercise(
    reference.positional_embedding,
    outputs={"output": "... T d_model", "cache": UNJUDGED},
    section="What enters the first layer",
)
wrong = short_mistakes(positional_embedding)


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


def with_positions(tokens, table, start=0, *, encoding):
    """Add another encoding, a function of the same inputs."""
    added = encoding(tokens, table, start)
    embedding, cache = reference.embed(tokens, table)
    return (embedding + added).astype(table.dtype), cache


def rows_of(length, table):
    return reference.sinusoidal_encoding(length, table.shape[1])


def right_encoding(tokens, table, start):
    return rows_of(start + tokens.shape[-1], table)[start:]


wrong(
    "scaled_after_adding",
    with_positions,
    encoding=lambda tokens, table, start: right_encoding(tokens, table, start) * math.sqrt(table.shape[1]),
)("""
    adds the positions before scaling
    You add the encoding first and then scale it with the embedding, so it is sqrt(d_model) times too large, and drowns
    out the words. Scale first, then add.""")


@positional_embedding.mistake("scales the embeddings twice", reread="Why the embeddings are scaled")
def scaled_twice(tokens, table, start=0):
    """You scale the embeddings twice by sqrt(d_model), or by d_model itself, which is the same. Your `embed` already
    returns scaled embeddings: add the encoding to them."""
    embedding, cache = reference.embed(tokens, table)
    return (embedding * math.sqrt(table.shape[1]) + right_encoding(tokens, table, start)).astype(table.dtype), cache


wrong("no_positions", lambda tokens, table, start=0: reference.embed(tokens, table))("""
    leaves the positions out -> Attention cannot count
    You return only the embeddings, so the model sees a bag of words. Add the encoding.""")
wrong("start_ignored", with_positions, encoding=lambda tokens, table, start: right_encoding(tokens, table, 0))("""
    ignores start
    Positions begin at 0, whatever `start` says. In step-by-step decoding, every new token would get the position of the
    first.""")
wrong(
    "encoding_of_the_token",
    with_positions,
    encoding=lambda tokens, table, start: rows_of(start + len(table), table)[start + tokens],
)("""
    looks the encoding up by token
    You choose the row of the encoding by the *token number*, so a word gets the same row wherever it is, and the order
    is still invisible. Choose the row by position.""")


@positional_embedding.mistake("numbers the sentences, not the words")
def batch_for_positions(tokens, table, start=0):
    """The encoding runs along the *first* axis: every word of the first sentence has position 0, and every word of the
    second sentence has position 1. Code for arrays (T, batch, d_model) does this, without an error, if it gets (batch,
    T, d_model). Positions run along the last axis of the tokens."""
    encoding = reference.sinusoidal_encoding(start + tokens.shape[0], table.shape[1])[start:]
    encoding = encoding.reshape(-1, *(1 for _ in tokens.shape[1:]), table.shape[1])
    return with_positions(tokens, table, encoding=lambda *_: encoding)


wrong(
    "counts_through",
    with_positions,
    encoding=lambda tokens, table, start: rows_of(start + tokens.size, table)[start:].reshape(*tokens.shape, -1),
)("""
    goes on counting into the next sentence
    Your positions run through the whole batch: the second sentence begins where the first ended. Each sentence begins
    at `start`.""")


@positional_embedding.mistake("puts the positions beside the words", reread="Why add, and not concatenate?")
def concatenated(tokens, table, start=0):
    """You put the encoding beside the embedding, so vectors are twice as wide. That can work, but the paper adds the
    encoding to the embedding."""
    embedding, cache = reference.embed(tokens, table)
    encoding = np.broadcast_to(right_encoding(tokens, table, start), embedding.shape)
    return np.concatenate([embedding, encoding.astype(table.dtype)], axis=-1), cache


wrong(
    "positions_promoted",
    changing(reference.positional_embedding),
    change=lambda x, cache: (x.astype(np.float64), cache),
)("""
    turns float32 into float64
    The encoding is float64, so its sum with the embeddings is float64, whatever the table's dtype is. Convert the
    encoding to the table's dtype.""")
wrong(
    "one_position_for_all",
    with_positions,
    encoding=lambda tokens, table, start: rows_of(start + tokens.shape[-1] + 1, table)[-1],
)("""
    gives all words one position
    Every word gets the same row of the encoding, that of position T: `encoding[T]` is one row, and `encoding[:T]` are
    the first T rows. With one row for all words, the order is still invisible.""")
wrong(
    "counted_backwards",
    with_positions,
    encoding=lambda tokens, table, start: right_encoding(tokens, table, start)[::-1],
)("""
    counts positions from the end
    The last word has the first position. Positions run from the first word on, so that a word keeps its position when
    others follow.""")
wrong(
    "table_of_ten", with_positions, encoding=lambda tokens, table, start: rows_of(10, table)[start:][: tokens.shape[-1]]
)("""
    takes the positions from a table of fixed length
    You take the positions from a table with a fixed number of rows, but this text goes beyond its last row. Compute as
    many rows as you need: `start + T`, of which you use the last T.""")
wrong(
    "start_counted_twice",
    with_positions,
    encoding=lambda tokens, table, start: right_encoding(tokens, table, 2 * start),
)("""
    counts `start` twice
    The first position is 2 * start: you add `start` to positions that already begin at `start`. Add it once.""")


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
