import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import changing, short_mistakes
from check.measures import PROPERTIES
from solutions import cross as reference

copies_source = Exercise(
    reference.copies_source,
    outputs=dict.fromkeys(PROPERTIES, "sentences T"),
    section="A decoder that copies",
    measure="copying_sources",
    unseen=("words", "asks"),
)
wrong = short_mistakes(copies_source)
changed = changing(reference.copies_source)


def sentences(draw, asks, *, backwards, n_words, length):
    """Return the inputs of a case: sentences of equal length, without repeated words."""
    words = np.array([draw.rng.permutation(n_words)[:length] for _ in range(4)])
    return {"n_words": n_words, "backwards": backwards, "words": words, "asks": asks}


@copies_source.cases("finds the place, word by word", points=1)
def _(draw):
    length, n_words = sorted(draw.sizes(2, low=4, high=12))
    yield "forwards", sentences(draw, ["attended"], backwards=False, n_words=n_words, length=length)


@copies_source.cases("finds the place, backwards", points=1)
def _(draw):
    length, n_words = sorted(draw.sizes(2, low=4, high=12))
    yield "backwards", sentences(draw, ["attended"], backwards=True, n_words=n_words, length=length)


@copies_source.cases("hands over what comes next", points=1)
def _(draw):
    for name, backwards in (("the next word", False), ("the word before", True)):
        length, n_words = sorted(draw.sizes(2, low=4, high=12))
        yield name, sentences(draw, ["copied"], backwards=backwards, n_words=n_words, length=length)


@copies_source.cases("looks nowhere else", points=1)
def _(draw):
    few, many = draw.size(6, 9), draw.size(70, 100)
    for name, backwards in (("forwards", False), ("backwards", True)):
        asks = ["attended", "sharpness"]
        yield f"few words, {name}", sentences(draw, asks, backwards=backwards, n_words=few, length=4)
        yield f"many words, {name}", sentences(draw, asks, backwards=backwards, n_words=many, length=50)


def halves(n_words):
    """Return two matrices: one reads the word at a place, the other the word before it."""
    n = n_words + 1
    return np.eye(2 * n, n), np.eye(2 * n, n, k=-n)


wrong("forwards_only", reference.copies_source, backwards=False)("""
    always writes forwards
    Your decoder copies forwards, even with `backwards`. Which half of the memory should the decoder search, and which
    should it return, if the next word comes before the last one?""")
wrong("directions_exchanged", lambda n_words, backwards: reference.copies_source(n_words, not backwards))("""
    exchanges the directions
    Your decoder writes backwards when it should write forwards, and forwards when it should write backwards. To write
    forwards, look for the place where the word *before* is the last word written.""")
wrong("same_half", changed, change=lambda w_query, w_key, w_value: (w_query, w_key, w_key))("""
    hands over the half that it searched
    Your decoder finds the right place, but repeats the word that it wrote last. Keys and values come from the same
    memory, but not from the same half of it: search one half, and return the other.""")
wrong("keys_from_the_values", changed, change=lambda w_query, w_key, w_value: (w_query, w_value, w_value))("""
    searches the word that it should hand over
    Your decoder looks at the place whose value is the word that it wrote last, and writes this word again. It should
    find the place whose value is the next word. Search the other half of the memory.""")
wrong(
    "both_halves", changed, change=lambda w_query, w_key, w_value: (w_query, sum(halves(len(w_query) - 1)), w_value)
)("""
    searches in both halves
    Each query finds two places, that of the word itself and the place after it, because your keys read both halves of
    the memory. Let the keys read one half.""")


@copies_source.mistake("leaves the mark out")
def without_the_mark(n_words, backwards):
    """Your decoder copies words, but it cannot begin or end a sentence. The mark is a word like any other here: it
    comes before the first word and after the last one, and the decoder must find it and write it. Give it a row and a
    column."""
    w_query, w_key, w_value = (np.copy(w) for w in reference.copies_source(n_words, backwards))
    w_query[n_words] = 0
    w_value[:, n_words] = 0
    return w_query, w_key, w_value


wrong("not_scaled", changed, change=lambda w_query, *others: (w_query / np.sqrt(len(w_query)), *others))("""
    forgets that the scores are divided
    Your decoder gives the right place too little weight, and less weight the more columns `w_key` has. Attention
    divides the scores by the square root of d_key. Multiply the queries by this root, and by a number such as 12.""")
wrong("softly", changed, change=lambda w_query, *others: (w_query / 3, *others))("""
    finds the place softly
    The right place has the largest weight, but all other places together have more than one per cent. With fifty places
    the right score must be about 10 larger than the others, after the division by the square root of d_key.""")


@copies_source.equivalent
def rotated(n_words, backwards):
    w_query, w_key, w_value = reference.copies_source(n_words, backwards)
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(n_words + 1, n_words + 1)))[0]
    return w_query @ rotation, w_key @ rotation, 3 * w_value


@copies_source.equivalent
def word_by_word(n_words, backwards):
    """Set the entries one by one, with a strong key instead of a strong query."""
    n = n_words + 1
    w_query, w_key, w_value = np.eye(n, dtype=np.float32), np.zeros((2 * n, n)), np.zeros((2 * n, n), dtype=np.int64)
    for word in range(n):
        searched, handed = (word, n + word) if backwards else (n + word, word)
        w_key[searched, word] = 1000
        w_value[handed, word] = 1
    return [w_query, w_key, w_value]


@copies_source.equivalent
def in_binary(n_words, backwards):
    """Use a column for each binary digit of a word's number, as 1 or -1, so that a score counts the digits that
    agree."""
    n, digits = n_words + 1, 7
    codes = 2.0 * (np.arange(n)[:, None] >> np.arange(digits) & 1) - 1
    here, before = np.vstack([codes, 0 * codes]), np.vstack([0 * codes, codes])
    w_value = halves(n_words)[backwards]
    return 40 * codes, here if backwards else before, w_value
