import numpy as np

from autograder.authoring.diagnoses import one_of_each, overlooked, renamed
from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import changing, short_mistakes
from solutions import masking as reference
from solutions.attention import softmax

diagnose_masks = Exercise(
    reference.diagnose_masks, outputs={"bug": "", "first": ""}, section="Read the mask from the weights"
)
wrong = short_mistakes(diagnose_masks)
changed = changing(reference.diagnose_masks)


def weights_with(bug, scores, tokens, pad):
    """Return the weights (N, T, T) of a self-attention whose target mask has a bug."""
    length = tokens.shape[-1]
    causal, real = reference.causal_mask(length), reference.padding_mask(tokens, pad)
    if bug == "mask after the softmax":
        return softmax(scores) * (causal & real)
    masks = {
        "nothing": causal & real,
        "no causal mask": real,
        "causal mask transposed": causal.T & real,
        "own position hidden": np.tri(length, k=-1, dtype=bool) & real,
        "no padding mask": causal,
        "queries masked, not keys": causal & real.swapaxes(-1, -2),
        "padding of another sentence": causal & np.roll(real, 1, axis=0),
        "or in place of and": causal | real,
        "mask inverted": ~(causal & real),
    }
    return reference.masked_softmax(scores, masks[bug])


def weights_of(draw, bug):
    """Draw padded sentences of three different lengths, and weights with this bug."""
    length, pad = draw.size(5, 8), draw.size(0, 4)
    tokens = draw.tokens(3, length, vocab=12, low=4)
    for sentence, n_words in zip(tokens, draw.sizes(3, low=2, high=length + 1), strict=True):
        sentence[n_words:] = pad
    scores = draw.normal(3, length, length)
    return {"weights": weights_with(bug, scores, tokens, pad), "tokens": tokens, "pad": pad}


def drawn(draw, *bugs):
    return one_of_each(draw, "weights", bugs, lambda bugs: (weights_of(draw, bug) for bug in bugs))


@diagnose_masks.cases("the future", points=2)
def _(draw):
    yield from drawn(draw, "no causal mask", "causal mask transposed", "own position hidden")


@diagnose_masks.cases("the padding", points=2)
def _(draw):
    yield from drawn(draw, "no padding mask", "queries masked, not keys", "padding of another sentence")


@diagnose_masks.cases("both, and the softmax", points=1)
def _(draw):
    yield from drawn(draw, "or in place of and", "mask inverted", "mask after the softmax")


def missed(weights, tokens, pad, *, bugs):
    return overlooked(reference.diagnose_masks(weights, tokens, pad), bugs)


@diagnose_masks.mistake("looks above the diagonal alone")
def future_alone(weights, tokens, pad):
    """You look only for weights on later positions. Padding that is not masked also gets weight below the diagonal, in
    the rows of padding, and a word that is hidden by mistake gets no weight anywhere."""
    hidden = "no padding mask", "queries masked, not keys", "padding of another sentence", "own position hidden"
    return missed(weights, tokens, pad, bugs=hidden)


wrong("too_much_alone", missed, bugs=["own position hidden", "queries masked, not keys"])("""
    looks for too much weight alone
    You look only for weights that should be zero. A mask can also hide what should be visible: the position itself, or
    the words that a row of padding attends to. Compare in both directions.""")
wrong("sums_ignored", missed, bugs=["mask after the softmax"])("""
    does not add up the rows
    You miss a mask that comes after the softmax. Its zeros are in the right places, but the rest of a row does not add
    up to one, because the softmax had given weight to the hidden keys.""")


@diagnose_masks.mistake("names the last row with the bug")
def last_row(weights, tokens, pad):
    """You name the last wrong row. `first` is the first wrong row in reading order: sentence by sentence, and in each
    sentence query by query."""
    bug, first = reference.diagnose_masks(weights, tokens, pad)
    rows = [(n, t) for n in range(len(tokens)) for t in range(tokens.shape[1]) if is_wrong(weights, tokens, pad, n, t)]
    return bug, rows[-1] if rows else None


wrong("query_alone", changed, change=lambda bug, first: (bug, first and first[1]))("""
    returns the query alone
    `first` holds two numbers, the sentence and the query: `(sentence, query)`. You return only the query.""")
wrong("query_first", changed, change=lambda bug, first: (bug, first and first[::-1]))("""
    exchanges sentence and query
    Your `first` is `(query, sentence)`. The axes of the weights are sentence, query and key, in this order.""")
wrong("with_the_key", changed, change=lambda bug, first: (bug, first and (*first, 0)))("""
    names the key as well
    `first` is a row of weights: `(sentence, query)`. You add the key, so your tuple has three numbers.""")
wrong("row_for_nothing", changed, change=lambda bug, first: (bug, first or (0, 0)))("""
    gives a row to right weights
    If the bug is "nothing", `first` must be None, because every row is right. You return `(0, 0)`.""")


def misnamed(weights, tokens, pad, *, bugs, to):
    return renamed(reference.diagnose_masks(weights, tokens, pad), bugs, to)


wrong("transposed_as_missing", misnamed, bugs=["causal mask transposed"], to="no causal mask")("""
    takes a transposed mask for a missing one
    You name a missing causal mask whenever a position attends to a later one. A transposed mask shows the future, too,
    but it hides the past: below the diagonal all its weights are zero.""")
wrong("queries_as_own", misnamed, bugs=["queries masked, not keys"], to="own position hidden")("""
    takes masked queries for a hidden position
    Both bugs give rows of zeros. A mask that hides each position from itself leaves the first row of each sentence
    empty. Masked queries leave exactly the rows of padding empty.""")
wrong("another_as_none", misnamed, bugs=["padding of another sentence"], to="no padding mask")("""
    takes the padding of another sentence for no padding mask
    You name a missing padding mask because some padding has weight. But in the same batch some words of a sentence are
    hidden, or some of its padding: each sentence has the mask of the sentence before it.""")
wrong("or_as_missing", misnamed, bugs=["or in place of and"], to="no causal mask")("""
    takes or for a missing causal mask
    In both cases a position attends to later words. With `or`, a row of padding also attends to padding before it,
    because the past is always allowed. Without a causal mask no padding has weight anywhere.""")
wrong("pad_is_zero", reference.diagnose_masks, pad=0)("""
    assumes that padding is 0
    You compare the tokens with 0. The padding token is the argument `pad`, and may be another number.""")


def is_wrong(weights, tokens, pad, n, t):
    """Return whether row t of sentence n differs from that of a right mask."""
    right = [key <= t and token != pad for key, token in enumerate(tokens[n])]
    return [bool(w) for w in weights[n, t]] != right or not np.isclose(weights[n, t].sum(), any(right))


def first_wrong_row(weights, tokens, pad):
    n_sentences, length = tokens.shape
    rows = ((n, t) for n in range(n_sentences) for t in range(length) if is_wrong(weights, tokens, pad, n, t))
    return next(rows, None)


@diagnose_masks.equivalent
def by_questions(weights, tokens, pad):
    """Ask one question after another, without building a mask that has a bug."""
    first = first_wrong_row(weights, tokens, pad)
    if first is None:
        return "nothing", None
    words = tokens != pad
    seen, length = weights > 0, tokens.shape[1]
    future = np.triu(np.ones((length, length), bool), 1)
    on_words, on_padding = seen & words[:, None, :], seen & ~words[:, None, :]
    if (seen & future).any():
        if not on_padding.any():
            past = np.tri(length, k=-1, dtype=bool)
            return ("no causal mask" if (on_words & past).any() else "causal mask transposed"), first
        return ("or in place of and" if seen[:, 0, 0].all() else "mask inverted"), first
    if not seen[:, 0].any():
        return "own position hidden", first
    if not seen[~words].any():
        return "queries masked, not keys", first
    if np.array_equal(seen, np.broadcast_to(~future, seen.shape)):
        return "no padding mask", first
    return ("padding of another sentence" if on_padding.any() else "mask after the softmax"), first


@diagnose_masks.equivalent
def by_making_each(weights, tokens, pad):
    """Make weights with each bug from arbitrary scores, and return the row as a list."""
    first = first_wrong_row(weights, tokens, pad)
    if first is None:
        return "nothing", None
    bugs = (
        "no causal mask", "causal mask transposed", "own position hidden", "no padding mask",
        "queries masked, not keys", "padding of another sentence", "or in place of and", "mask inverted",
    )  # fmt: skip
    for bug in bugs:
        if ((weights_with(bug, np.zeros_like(weights), tokens, pad) > 0) == (weights > 0)).all():
            return bug, list(first)
    return "mask after the softmax", list(first)


@diagnose_masks.equivalent
def with_numpy_numbers(weights, tokens, pad):
    """Return the row as NumPy numbers."""
    bug, first = by_questions(weights, tokens, pad)
    return bug, None if first is None else tuple(np.array(first))
