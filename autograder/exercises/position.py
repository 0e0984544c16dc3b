"""Chapter 6, position: the cases, the known mistakes and the right rewrites of its exercises."""

import math

import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from solutions import position as reference

# ------------------------------------------------------------------------------------ sinusoidal_encoding

sinusoidal_encoding = Exercise(
    reference.sinusoidal_encoding,
    outputs={"encoding": "T d_model"},
    section="Clocks of many speeds",
)


@sinusoidal_encoding.cases("even widths", points=2)
def _(draw):
    length, pairs = draw.sizes(2, low=3, high=9)
    yield "a few positions", {"length": length, "d_model": 2 * pairs}
    length, pairs = draw.sizes(2, low=20, high=40)
    yield "more of them, and wider", {"length": length, "d_model": 2 * pairs}


@sinusoidal_encoding.cases("odd widths", points=1)
def _(draw):
    length, pairs = draw.sizes(2, low=3, high=9)
    yield "an odd width", {"length": length, "d_model": 2 * pairs + 1}
    yield "a single column", {"length": length, "d_model": 1}


@sinusoidal_encoding.cases("edge cases", points=1)
def _(draw):
    yield "one position", {"length": 1, "d_model": 2 * draw.size(2, 6)}
    yield "one pair", {"length": draw.size(4, 9), "d_model": 2}
    yield "a long text", {"length": draw.size(900, 1100), "d_model": 8}


def taking_turns(angles, d_model, even=np.sin, odd=np.cos):
    """Columns of `even` and `odd` in turn, from one angle per column."""
    return np.where(np.arange(d_model) % 2 == 0, even(angles), odd(angles))


def angles_of(length, d_model, base=10000.0, first=0):
    """An angle for each position and column; both columns of a pair have the same."""
    column = np.arange(d_model)
    return (first + np.arange(length))[:, None] / base ** ((column - column % 2) / d_model)


@sinusoidal_encoding.mistake("takes 1000 for 10000")
def base_1000(length, d_model):
    """The base is 1000: a slip that is in print, beside code that has 10000. The first pair is right, since any base to
    the power 0 is 1, and the slow pairs turn up to ten times too fast; entries differ by up to 2. Reread 'Clocks of
    many speeds'."""
    return taking_turns(angles_of(length, d_model, base=1000.0), d_model)


@sinusoidal_encoding.mistake("has i/d where 2i/d belongs")
def half_exponent(length, d_model):
    """The exponent is the number of the pair over d_model. It should be twice that, the column of the pair's sine. As
    it stands, the wavelengths end near 100 times 2 pi, not 10000 times. Reread 'Clocks of many speeds'."""
    return taking_turns(angles_of(length, d_model, base=100.0), d_model)


@sinusoidal_encoding.mistake("has a double exponent")
def double_exponent(length, d_model):
    """The column number already counts in twos: the 2i of the formula *is* the column of the sine. You double it once
    more, so the wavelengths run to the square of what they should. Reread 'Clocks of many speeds'."""
    return taking_turns(angles_of(length, d_model, base=1e8), d_model)


@sinusoidal_encoding.mistake("gives each column a speed of its own")
def speed_per_column(length, d_model):
    """The cosines have the exponent (2i + 1)/d_model. Sine and cosine of a pair must share one angle: only then are
    they the coordinates of a hand on a clock, and a shift a rotation. Reread 'Clocks of many speeds'."""
    return taking_turns(np.arange(length)[:, None] / 10000.0 ** (np.arange(d_model) / d_model), d_model)


@sinusoidal_encoding.mistake("puts all sines first, then all cosines")
def in_halves(length, d_model):
    """The right numbers in another order: sines in the left half, cosines in the right. A model trained with it works
    as well, since the order of features means nothing to it; weights from a model with the paper's order do not fit.
    In this book they take turns. Reread 'Clocks of many speeds'."""
    encoding = reference.sinusoidal_encoding(length, d_model)
    return np.concatenate([encoding[:, 0::2], encoding[:, 1::2]], axis=1)


@sinusoidal_encoding.mistake("swaps sine and cosine")
def swapped(length, d_model):
    """Cosines stand in the even columns and sines in the odd ones. Position 0 should read 0, 1, 0, 1, ... Reread
    'Clocks of many speeds'."""
    return taking_turns(angles_of(length, d_model), d_model, even=np.cos, odd=np.sin)


@sinusoidal_encoding.mistake("counts positions from 1")
def from_one(length, d_model):
    """Your first row is that of position 1. Every distance is still right, but weights trained with positions from 0
    do not fit. The first row should read 0, 1, 0, 1, ... Reread 'Clocks of many speeds'."""
    return taking_turns(angles_of(length, d_model, first=1), d_model)


@sinusoidal_encoding.mistake("multiplies where it should divide")
def too_fast(length, d_model):
    """The position is multiplied by the power of 10000 instead of divided. The hands then race round many times
    between two positions, and neighbours look unrelated. Reread 'Clocks of many speeds'."""
    return taking_turns(angles_of(length, d_model, base=1e-4), d_model)


@sinusoidal_encoding.mistake("stretches the wavelengths to reach the end")
def with_endpoint(length, d_model):
    """The last pair has the wavelength 10000 times 2 pi exactly, so you divide by one pair fewer than there are. Some
    libraries do. The paper's formula stops one step before. Reread 'Clocks of many speeds'."""
    pair = np.arange(d_model) // 2
    return taking_turns(np.arange(length)[:, None] / 10000.0 ** (pair / max(1, pair[-1])), d_model)


@sinusoidal_encoding.mistake("crashes when d_model is odd")
def even_only(length, d_model):
    """There are as many sines as even columns and as many cosines as odd ones: for an odd d_model, one cosine fewer.
    Filling both with the same number fails there. Cut the cosines to what fits. Reread 'Clocks of many speeds'."""
    angles = angles_of(length, d_model)[:, 0::2]
    encoding = np.zeros((length, d_model))
    encoding[:, 0::2] = np.sin(angles)
    encoding[:, 1::2] = np.cos(angles)
    return encoding


@sinusoidal_encoding.mistake("rounds an odd width up, and cuts")
def cut_from_even(length, d_model):
    """For an odd d_model you make one column more and cut it off. Then the exponents are over d_model + 1: nearly
    right, in all columns but the first two. Divide by the width that was asked for. Reread 'Clocks of many
    speeds'."""
    return reference.sinusoidal_encoding(length, d_model + d_model % 2)[:, :d_model]


@sinusoidal_encoding.mistake("drops the last column of an odd width")
def column_lost(length, d_model):
    """An odd d_model loses its last sine: the encoding is one column narrower than the embeddings that it is to be
    added to. Reread 'Clocks of many speeds'."""
    return reference.sinusoidal_encoding(length, d_model)[:, : d_model - d_model % 2]


@sinusoidal_encoding.equivalent
def entry_by_entry(length, d_model):
    encoding = np.zeros((length, d_model))
    for p in range(length):
        for j in range(d_model):
            angle = p / 10000 ** (2 * (j // 2) / d_model)
            encoding[p, j] = math.cos(angle) if j % 2 else math.sin(angle)
    return encoding


@sinusoidal_encoding.equivalent
def by_exponentials(length, d_model):
    rate = np.exp(np.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
    hands = np.exp(1j * np.outer(np.arange(length), rate))
    return np.stack([hands.imag, hands.real], axis=-1).reshape(length, -1)[:, :d_model]


@sinusoidal_encoding.equivalent
def cosine_as_a_late_sine(length, d_model):
    return np.sin(angles_of(length, d_model) + np.pi / 2 * (np.arange(d_model) % 2))


# ------------------------------------------------------------------------------------------- shift_matrix

shift_matrix = Exercise(
    reference.shift_matrix,
    outputs={"rotation": "d_model d_model"},
    section="A shift is a rotation",
)


@shift_matrix.cases("forwards", points=2)
def _(draw):
    k, pairs = draw.sizes(2, low=2, high=8)
    yield "a few positions on", {"k": k, "d_model": 2 * pairs}
    yield "one position on", {"k": 1, "d_model": 2 * draw.size(3, 8)}


@shift_matrix.cases("backwards and edge cases", points=1)
def _(draw):
    k, pairs = draw.sizes(2, low=2, high=8)
    yield "backwards", {"k": -k, "d_model": 2 * pairs}
    yield "not at all", {"k": 0, "d_model": 2 * draw.size(2, 6)}
    yield "one pair", {"k": k, "d_model": 2}
    yield "far", {"k": draw.size(100, 200), "d_model": 6}


@shift_matrix.cases("errors", points=1)
def _(draw):
    yield "even, before odd", {"k": draw.size(2, 6), "d_model": 2 * draw.size(2, 6)}
    yield "an odd width", {"k": 2, "d_model": 2 * draw.size(1, 6) + 1}


def blocks(k, d_model, base=10000.0, flip=-1.0):
    """One 2 x 2 block per pair; ValueError for an odd width."""
    refuse_odd(d_model)
    matrix = np.zeros((d_model, d_model))
    for j in range(0, d_model, 2):
        angle = k / base ** (j / d_model)
        c, s = math.cos(angle), math.sin(angle)
        matrix[j : j + 2, j : j + 2] = [[c, flip * s], [s, c]]
    return matrix


def refuse_odd(d_model):
    if d_model % 2:
        raise ValueError("odd")


@shift_matrix.mistake("moves the other way")
def transposed_rotation(k, d_model):
    """This matrix moves k positions *back*. It is the transpose of the right one: either a sign is turned round, or you
    built it for columns, R p, and here vectors are rows, p R. Reread 'A shift is a rotation'."""
    return blocks(-k, d_model)


@shift_matrix.mistake("has both signs plus")
def no_minus(k, d_model):
    """Both sines have a plus. The cosine of a sum has a minus in it: cos(a + b) = cos a cos b - sin a sin b. Without
    it the matrix is no rotation, and lengths change. Reread 'A shift is a rotation'."""
    return blocks(k, d_model, flip=1.0)


@shift_matrix.mistake("takes 1000 for 10000")
def shift_base_1000(k, d_model):
    """The base is 1000. The matrix must turn each pair at the speed at which the encoding has it turning. Reread 'A
    shift is a rotation'."""
    return blocks(k, d_model, base=1000.0)


@shift_matrix.mistake("has i/d where 2i/d belongs")
def shift_half_exponent(k, d_model):
    """The exponent is the pair's number over d_model; it should be twice that, as in the encoding. Reread 'A shift is
    a rotation'."""
    return blocks(k, d_model, base=100.0)


@shift_matrix.mistake("turns all pairs at one speed")
def one_speed(k, d_model):
    """Every pair is turned by k radians. That is right for the first pair alone; each has its own frequency. Reread
    'A shift is a rotation'."""
    return blocks(k, d_model, base=1.0)


@shift_matrix.mistake("ignores k")
def always_one(k, d_model):
    """The matrix moves one position on, whatever k is. Reread 'A shift is a rotation'."""
    return blocks(1, d_model)


@shift_matrix.mistake("multiplies the matrix by k")
def times_k(k, d_model):
    """You took k times the matrix of one step. Steps are made one after the other: the *angle* is multiplied by k, or
    the matrix taken to the k-th power. Reread 'A shift is a rotation'."""
    return k * blocks(1, d_model)


@shift_matrix.mistake("is made for sines and cosines in halves")
def rotation_in_halves(k, d_model):
    """This is right for an encoding with all sines on the left and all cosines on the right. Here they take turns, so
    each rotation sits in two neighbouring rows and columns. Reread 'A shift is a rotation'."""
    refuse_odd(d_model)
    order = np.concatenate([np.arange(0, d_model, 2), np.arange(1, d_model, 2)])
    return blocks(k, d_model)[np.ix_(order, order)]


@shift_matrix.mistake("moves the columns")
def rolled_columns(k, d_model):
    """This matrix moves *features* k columns on. We want the row of another position, with each feature in its own
    place. Reread 'A shift is a rotation'."""
    refuse_odd(d_model)
    return np.roll(np.eye(d_model), k, axis=1)


@shift_matrix.mistake("lets an odd width pass")
def odd_passes(k, d_model):
    """For an odd d_model you leave the last sine where it is. But it moves with the position, and without its cosine
    no matrix can say where to: raise ValueError. Reread 'A shift is a rotation'."""
    matrix = np.eye(d_model)
    even = d_model - d_model % 2
    for j in range(0, even, 2):
        angle = k / 10000.0 ** (j / d_model)
        matrix[j : j + 2, j : j + 2] = [
            [math.cos(angle), -math.sin(angle)],
            [math.sin(angle), math.cos(angle)],
        ]
    return matrix


@shift_matrix.equivalent
def block_after_block(k, d_model):
    return blocks(k, d_model)


@shift_matrix.equivalent
def power_of_one_step(k, d_model):
    return np.linalg.matrix_power(blocks(1, d_model), k)


@shift_matrix.equivalent
def from_the_encoding_s_row(k, d_model):
    refuse_odd(d_model)
    row = reference.sinusoidal_encoding(abs(k) + 1, d_model)[-1]
    sine, cosine = math.copysign(1, k) * row[0::2], row[1::2]
    turned = np.stack([cosine, -sine, sine, cosine], axis=-1).reshape(-1, 2, 2)
    return np.einsum("pq,pab->paqb", np.eye(d_model // 2), turned).reshape(d_model, d_model)


# ------------------------------------------------------------------------------ predicted_squared_lengths

predicted_squared_lengths = Exercise(
    reference.predicted_squared_lengths,
    outputs={"lengths": ""},
    section="Why the embeddings are scaled",
)


@predicted_squared_lengths.cases("the lengths", points=2)
def _(draw):
    d_model = 2 * draw.size(4, 9)
    yield "entries of variance one over d_model", {"d_model": d_model, "variance": 1 / d_model}
    yield "entries of variance 1", {"d_model": 2 * draw.size(10, 30), "variance": 1.0}
    yield "another variance", {"d_model": 2 * draw.size(2, 9), "variance": float(draw.rng.uniform(0.1, 0.6))}


def lengths(d_model, variance, scale=None, encoding=None):
    scaled = d_model * variance * (d_model if scale is None else scale)
    encoding = d_model / 2 if encoding is None else encoding
    return {"row": d_model * variance, "scaled": scaled, "encoding": encoding, "sum": scaled + encoding}


@predicted_squared_lengths.mistake("scales the squared length by the root")
def root_not_squared(d_model, variance):
    """The vector is multiplied by the root of d_model, so its *squared* length is multiplied by d_model. Reread 'Why
    the embeddings are scaled'."""
    return lengths(d_model, variance, scale=math.sqrt(d_model))


@predicted_squared_lengths.mistake("counts each column of the encoding as 1")
def encoding_counted_twice(d_model, variance):
    """Sine squared plus cosine squared is 1 for each *pair*, and there are half as many pairs as columns. Reread 'Why
    the embeddings are scaled'."""
    return lengths(d_model, variance, encoding=float(d_model))


@predicted_squared_lengths.mistake("adds lengths instead of their squares")
def triangle(d_model, variance):
    """For the sum you added the lengths and squared the result. The entries of the table have mean zero, so the mixed
    term of the square is zero in the mean, and the squares add up. Reread 'Why the embeddings are scaled'."""
    right = lengths(d_model, variance)
    return right | {"sum": (math.sqrt(right["scaled"]) + math.sqrt(right["encoding"])) ** 2}


@predicted_squared_lengths.mistake("takes one entry for the row")
def one_entry(d_model, variance):
    """The variance is the mean square of one entry; a row has d_model of them. Reread 'Why the embeddings are
    scaled'."""
    right = lengths(d_model, variance)
    return right | {"row": variance, "scaled": d_model * variance, "sum": d_model * variance + d_model / 2}


# -------------------------------------------------------------------------------------------------- embed

embed = Exercise(
    reference.embed,
    outputs={"output": "... T d_model", "cache": UNJUDGED},
    section="Embeddings: a look-up",
)


def looked_up(draw, *shape, dtype=np.float64, d_model=None, low=0):
    """Tokens of that shape and a table; the last token of the table always occurs."""
    vocab, width = draw.sizes(2, low=5, high=12)
    tokens = draw.rng.integers(low, vocab, size=shape)
    tokens.reshape(-1)[0] = vocab - 1
    return {"tokens": tokens, "table": draw.normal(vocab, width if d_model is None else d_model, dtype=dtype)}


def text_cases(draw):
    n_batch, T = draw.sizes(2, low=2, high=5)
    yield "one sentence", looked_up(draw, T + 1)
    yield "a batch", looked_up(draw, n_batch, T)
    yield "two batch axes", looked_up(draw, 2, n_batch, T)


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


@embed.mistake("forgets to scale")
def not_scaled(tokens, table):
    """These are the rows of the table as they stand. The paper multiplies them by the root of d_model. Reread 'Why the
    embeddings are scaled'."""
    return rows(tokens, table, 1.0)


@embed.mistake("divides by the root")
def divided(tokens, table):
    """The rows are divided by the root of d_model, as scores are in attention. Embeddings are *multiplied* by it:
    their entries are small, and are to become of the size of the encoding. Reread 'Why the embeddings are scaled'."""
    return rows(tokens, table, 1 / math.sqrt(table.shape[1]))


@embed.mistake("scales by d_model, not its root")
def whole_width(tokens, table):
    """The rows are multiplied by d_model; it should be its root. Reread 'Why the embeddings are scaled'."""
    return rows(tokens, table, float(table.shape[1]))


@embed.mistake("scales by the root of the vocabulary")
def root_of_vocab(tokens, table):
    """The factor is the root of the table's *height*. It should be that of its width, d_model. Reread 'Why the
    embeddings are scaled'."""
    return rows(tokens, table, math.sqrt(table.shape[0]))


@embed.mistake("reads a negative token as one from the end")
def negative_passes(tokens, table):
    """NumPy reads -1 as the last row, without a word. A negative token is a bug somewhere else (a padding number that
    was not replaced, say), and should be heard of here: raise IndexError. Reread 'Embeddings: a look-up'."""
    return table[tokens] * math.sqrt(table.shape[1]), (tokens, len(table))


@embed.mistake("clips unknown tokens")
def clipped(tokens, table):
    """A token outside the table is moved to its nearest row. The model then reads a word that was not there, and
    nobody learns of it: raise IndexError. Reread 'Embeddings: a look-up'."""
    return table[np.clip(tokens, 0, len(table) - 1)] * math.sqrt(table.shape[1]), (tokens, len(table))


@embed.mistake("makes float64 of float32")
def promoted(tokens, table):
    """A float32 table gives float64: `np.sqrt` of an int is a NumPy float64, and that decides the dtype of the
    product. A plain Python float, as `math.sqrt` gives, does not. Reread 'Embeddings: a look-up'."""
    output, cache = reference.embed(tokens, table)
    return output.astype(np.float64), cache


@embed.mistake("scales the caller's table")
def table_scaled_in_place(tokens, table):
    """The output is right, and the caller's table is larger than before: the next call will scale it again. Scale
    what you looked up, not the table. Reread 'Embeddings: a look-up'."""
    output, cache = reference.embed(tokens, table)
    table *= math.sqrt(table.shape[1])
    return output, cache


@embed.mistake("asks no tokens for their smallest")
def no_empty_text(tokens, table):
    """The smallest of no tokens does not exist, and NumPy raises ValueError. A text of no tokens is a rare guest, not
    an error: it has no token outside the table. Reread 'Embeddings: a look-up'."""
    if tokens.min() < 0 or tokens.max() >= len(table):
        raise IndexError
    return reference.embed(tokens, table)


def refuse_unknown(tokens, table):
    if ((tokens < 0) | (tokens >= len(table))).any():
        raise IndexError("unknown token")


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


# ----------------------------------------------------------------------------------------- embed_backward

embed_backward = Exercise(
    reference.embed_backward,
    outputs={"grad_table": "vocab d_model"},
    section="Backwards: a scatter-add",
)


def arriving(draw, *shape, dtype=np.float64, d_model=None, extra=3):
    """A random cotangent and the cache; the first and the last token of a text are the same, some never occur."""
    n_distinct, width = draw.sizes(2, low=4, high=9)
    tokens = draw.rng.integers(0, n_distinct, size=shape)
    tokens.reshape(-1)[-1] = tokens.reshape(-1)[0]
    width = width if d_model is None else d_model
    return {"grad_output": draw.normal(*shape, width, dtype=dtype), "cache": (tokens, n_distinct + extra)}


@embed_backward.cases("each token once", points=1)
def _(draw):
    vocab, width = draw.sizes(2, low=4, high=9)
    tokens = draw.rng.permutation(vocab)[: vocab - 1]
    yield "no token twice", {"grad_output": draw.normal(vocab - 1, width), "cache": (tokens, vocab)}


@embed_backward.cases("repeated tokens and batches", points=2)
def _(draw):
    T = draw.size(4, 9)
    yield "one sentence", arriving(draw, T)
    yield "a batch", arriving(draw, 2, T)
    yield "two batch axes", arriving(draw, 3, 2, T)


@embed_backward.cases("float32 and edge cases", points=1)
def _(draw):
    yield "float32", arriving(draw, 2, 4, dtype=np.float32)
    yield "one feature", arriving(draw, 5, d_model=1)
    inputs = arriving(draw, 4)
    tokens, vocab = inputs["cache"]
    yield "one token throughout", inputs | {"cache": (np.full_like(tokens, vocab - 1), vocab)}
    yield "no tokens at all", {"grad_output": inputs["grad_output"][:0], "cache": (tokens[:0], vocab)}


@embed_backward.mistake("counts a repeated token once")
def repeated_once(grad_output, cache):
    """`grad[tokens] += ...` with a repeated token adds only once: NumPy reads all rows, adds, and writes all rows
    back, and the last one written wins. No error, no warning, and right as long as no token comes twice. `np.add.at`
    adds every time. Reread 'Backwards: a scatter-add'."""
    tokens, vocab = cache
    grad_table = np.zeros((vocab, grad_output.shape[-1]), grad_output.dtype)
    grad_table[tokens] += grad_output
    return grad_table * math.sqrt(grad_output.shape[-1])


@embed_backward.mistake("forgets the scale")
def backward_unscaled(grad_output, cache):
    """What arrives is gathered rightly, but not scaled. The forward pass multiplies by the root of d_model, so the
    gradient does too. Reread 'Backwards: a scatter-add'."""
    return (reference.embed_backward(grad_output, cache) / math.sqrt(grad_output.shape[-1])).astype(grad_output.dtype)


@embed_backward.mistake("divides by the scale")
def backward_divided(grad_output, cache):
    """You divide by the root of d_model. A backward pass does not undo the forward pass: it multiplies by the same
    slope. Reread 'Backwards: a scatter-add'."""
    return (reference.embed_backward(grad_output, cache) / grad_output.shape[-1]).astype(grad_output.dtype)


@embed_backward.mistake("averages over the places of a token")
def averaged(grad_output, cache):
    """What arrives at a token's places is averaged. A row that is used five times moves the loss in five ways, and
    their slopes add up. Reread 'Backwards: a scatter-add'."""
    tokens, vocab = cache
    counts = np.maximum(1, np.bincount(tokens.reshape(-1), minlength=vocab))[:, None]
    return (reference.embed_backward(grad_output, cache) / counts).astype(grad_output.dtype)


@embed_backward.mistake("divides by the number of tokens")
def over_all_tokens(grad_output, cache):
    """The gradient is divided by the number of tokens. If the loss is a mean, that factor has arrived in
    `grad_output` already. Reread 'Backwards: a scatter-add'."""
    grad_table = reference.embed_backward(grad_output, cache) / max(1, cache[0].size)
    return grad_table.astype(grad_output.dtype)


@embed_backward.mistake("looks at the last sentence only")
def last_sentence(grad_output, cache):
    """Only the last sentence of the batch is gathered; a table is shared by all of them. Reread 'Backwards: a
    scatter-add'."""
    tokens, vocab = cache
    if tokens.ndim == 1:
        return reference.embed_backward(grad_output, cache)
    return reference.embed_backward(grad_output[-1], (tokens[-1], vocab))


@embed_backward.mistake("leaves out the tokens that do not occur")
def occurring_only(grad_output, cache):
    """The gradient has a row for each token that occurs. It must have the shape of the table: tokens that do not
    occur have the gradient zero. Reread 'Backwards: a scatter-add'."""
    return reference.embed_backward(grad_output, cache)[np.unique(cache[0])]


@embed_backward.mistake("makes float64 of float32")
def backward_promoted(grad_output, cache):
    """`np.zeros` makes float64 unless it is told otherwise; the gradient should have the dtype of what arrives.
    Reread 'Backwards: a scatter-add'."""
    return reference.embed_backward(grad_output, cache).astype(np.float64)


@embed_backward.equivalent
def by_one_hot(grad_output, cache):
    tokens, vocab = cache
    d_model = grad_output.shape[-1]
    hot = (tokens.reshape(-1) == np.arange(vocab)[:, None]).astype(grad_output.dtype)
    return hot @ grad_output.reshape(-1, d_model) * math.sqrt(d_model)


@embed_backward.equivalent
def place_by_place(grad_output, cache):
    tokens, vocab = cache
    grad_table = np.zeros((vocab, grad_output.shape[-1]), grad_output.dtype)
    for index in np.ndindex(tokens.shape):
        grad_table[tokens[index]] += grad_output[index] * math.sqrt(grad_output.shape[-1])
    return grad_table


@embed_backward.equivalent
def row_by_row(grad_output, cache):
    tokens, vocab = cache
    found = [grad_output[tokens == token].sum(axis=0) for token in range(vocab)]
    return np.stack(found) * grad_output.shape[-1] ** 0.5


# ----------------------------------------------------------------------------------- positional_embedding

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
    """The encoding is added first and then scaled with the embedding, so it is sqrt(d_model) times too large: it
    drowns the words instead of accompanying them. Scale first, then add. Reread 'What enters the first layer'."""
    scale = math.sqrt(table.shape[1])
    return with_positions(tokens, table, right_encoding(tokens, table, start) * scale)


@positional_embedding.mistake("forgets to scale the embeddings")
def positions_unscaled(tokens, table, start=0):
    """The encoding is added to rows of the table that are not scaled, and are small beside it. Reread 'Why the
    embeddings are scaled'."""
    _, cache = reference.embed(tokens, table)
    return (table[tokens] + right_encoding(tokens, table, start)).astype(table.dtype), cache


@positional_embedding.mistake("leaves the positions out")
def no_positions(tokens, table, start=0):
    """These are the embeddings alone: the model sees a bag of words. Reread 'Attention cannot count'."""
    return reference.embed(tokens, table)


@positional_embedding.mistake("ignores start")
def start_ignored(tokens, table, start=0):
    """Positions begin at 0, whatever `start` says. In decoding step by step each new token would think that it is the
    first. Reread 'What enters the first layer'."""
    return with_positions(tokens, table, right_encoding(tokens, table, 0))


@positional_embedding.mistake("counts positions from 1")
def positions_from_one(tokens, table, start=0):
    """The first token gets position 1 + start. Positions count from 0. Reread 'What enters the first layer'."""
    return with_positions(tokens, table, right_encoding(tokens, table, start + 1))


@positional_embedding.mistake("looks the encoding up by token")
def encoding_of_the_token(tokens, table, start=0):
    """The row of the encoding is chosen by the *token number*: a word gets the same one wherever it stands, and order
    is still invisible. Choose it by place. Reread 'What enters the first layer'."""
    encoding = reference.sinusoidal_encoding(start + len(table), table.shape[1])
    return with_positions(tokens, table, encoding[start + tokens])


@positional_embedding.mistake("numbers the sentences, not the words")
def batch_for_positions(tokens, table, start=0):
    """The encoding runs along the *first* axis: every word of the first sentence has position 0, every word of the
    second position 1. Code written for arrays (T, batch, d_model) does this when it is fed (batch, T, d_model),
    without an error. Positions are the last axis of the tokens. Reread 'What enters the first layer'."""
    encoding = reference.sinusoidal_encoding(start + tokens.shape[0], table.shape[1])[start:]
    return with_positions(tokens, table, encoding.reshape(-1, *(1 for _ in tokens.shape[1:]), table.shape[1]))


@positional_embedding.mistake("goes on counting into the next sentence")
def counts_through(tokens, table, start=0):
    """Positions run through the whole batch: the second sentence begins where the first one ended. Each sentence
    begins at `start`. Reread 'What enters the first layer'."""
    encoding = reference.sinusoidal_encoding(start + tokens.size, table.shape[1])[start:]
    return with_positions(tokens, table, encoding.reshape(*tokens.shape, table.shape[1]))


@positional_embedding.mistake("sets the positions beside the words")
def concatenated(tokens, table, start=0):
    """The encoding is put beside the embedding, so vectors are twice as wide. It could be done, but the paper adds.
    Reread 'Why add, and not concatenate?'."""
    embedding, cache = reference.embed(tokens, table)
    encoding = np.broadcast_to(right_encoding(tokens, table, start), embedding.shape)
    return np.concatenate([embedding, encoding.astype(table.dtype)], axis=-1), cache


@positional_embedding.mistake("makes float64 of float32")
def positions_promoted(tokens, table, start=0):
    """The encoding is float64, and so is a sum with it, whatever the table was. Bring the encoding into the table's
    dtype. Reread 'What enters the first layer'."""
    output, cache = reference.positional_embedding(tokens, table, start)
    return output.astype(np.float64), cache


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


# --------------------------------------------------------------------------------- repaired_add_positions

repaired_add_positions = Exercise(
    reference.repaired_add_positions,
    outputs={"output": "... T d_model"},
    section="Find the bug",
)


def vectors(draw, *batch, odd=0, dtype=np.float64):
    T, pairs = draw.sizes(2, low=3, high=8)
    return {"x": draw.normal(*batch, T, 2 * pairs + odd, dtype=dtype)}


@repaired_add_positions.cases("even widths", points=2)
def _(draw):
    yield "one sentence", vectors(draw)
    yield "two batch axes", vectors(draw, 2, 3)


@repaired_add_positions.cases("odd widths", points=1)
def _(draw):
    yield "an odd width", vectors(draw, odd=1)
    yield "an odd width, a batch", vectors(draw, 2, odd=1)


@repaired_add_positions.cases("float32", points=1)
def _(draw):
    yield "float32", vectors(draw, 2, dtype=np.float32)


def published(x, base=10000.0, odd=True, copy=True):
    """The function of the hunt, each of its three mistakes mended or not."""
    x = x.copy() if copy else x
    length, d_model = x.shape[-2:]
    for p in range(length):
        for i in range(0, d_model, 2):
            angle = p / base ** (i / d_model)
            x[..., p, i] += math.sin(angle)
            if i + 1 < d_model or not odd:
                x[..., p, i + 1] += math.cos(angle)
    return x


@repaired_add_positions.mistake("nothing is mended yet")
def as_published(x):
    """All three mistakes are still there. Compare the numbers with the formula first, from the third column on. Reread
    'Clocks of many speeds'."""
    return published(x, base=1000.0, odd=False, copy=False)


@repaired_add_positions.mistake("the base is mended; two mistakes are left")
def base_mended(x):
    """The numbers are right now. Two mistakes are left: one shows when d_model is odd, the other in the caller's
    array after the call. Reread 'Clocks of many speeds'."""
    return published(x, odd=False, copy=False)


@repaired_add_positions.mistake("odd widths are mended; two mistakes are left")
def odd_mended(x):
    """Odd widths no longer crash. Two mistakes are left: compare the numbers with the formula, and look at the
    caller's array after the call. Reread 'Clocks of many speeds'."""
    return published(x, base=1000.0, copy=False)


@repaired_add_positions.mistake("the caller's array is safe; two mistakes are left")
def copy_mended(x):
    """The caller's array is left alone now. Two mistakes are left: compare the numbers with the formula, and try an
    odd width. Reread 'Clocks of many speeds'."""
    return published(x, base=1000.0, odd=False)


@repaired_add_positions.mistake("almost: the caller's array is written into")
def only_copy_left(x):
    """The numbers are right for every width. What is left: `+=` writes into the caller's x. Call the function twice
    with the same array, and the second result has its positions twice. Reread 'What enters the first layer'."""
    return published(x, copy=False)


@repaired_add_positions.mistake("almost: odd widths crash")
def only_odd_left(x):
    """What is left: for an odd d_model the last sine has no cosine, and the column after it does not exist. Reread
    'Clocks of many speeds'."""
    return published(x, odd=False)


@repaired_add_positions.mistake("almost: the base is 1000")
def only_base_left(x):
    """What is left is in the numbers: the first pair is right and all others turn too fast. Look at the base. Reread
    'Clocks of many speeds'."""
    return published(x, base=1000.0)


@repaired_add_positions.mistake("almost: float32 comes back as float64")
def sum_promoted(x):
    """The numbers are right, and the caller's array is safe. What is left: a new sum with a float64 encoding is
    float64; writing into x had kept the dtype. Reread 'What enters the first layer'."""
    return published(x).astype(np.float64)


@repaired_add_positions.equivalent
def smallest_repair(x):
    return published(x)


@repaired_add_positions.equivalent
def with_a_new_encoding(x):
    return (x + cosine_as_a_late_sine(*x.shape[-2:])).astype(x.dtype)


@repaired_add_positions.equivalent
def added_to_a_copy(x):
    output = np.array(x)
    output += by_exponentials(*x.shape[-2:])
    return output
