import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import changing, short_mistakes
from check.measures import PROPERTIES
from solutions import cross as reference

finds_subject = Exercise(
    reference.finds_subject,
    outputs=dict.fromkeys(PROPERTIES, "sentences T"),
    section="Each verb finds its subject",
    measure="finding_subjects",
    unseen=("words", "asks"),
)
wrong = short_mistakes(finds_subject)
changed = changing(reference.finds_subject)

NOUN, VERB = 1, 3  # add one for the plural


def lexicon(draw):
    """Return the kinds of some words, at least two of each kind, in random order."""
    kinds = np.concatenate([np.repeat(np.arange(5), 2), draw.rng.integers(5, size=draw.size(0, 6))])
    return draw.rng.permutation(kinds)


def words_of(draw, kinds, pattern):
    """Return a random word of each kind in a pattern."""
    return [int(draw.rng.choice(np.flatnonzero(kinds == kind))) for kind in pattern]


def few_words(draw, asks, pattern):
    """Yield sentences with a verb in the singular, then in the plural. pattern: a function of the verb's number and the
    other number that returns kinds."""
    for name, number in (("singular", 0), ("plural", 1)):
        kinds = lexicon(draw)
        patterns = [pattern(number, 1 - number) for _ in range(4)]
        words = np.array([words_of(draw, kinds, kinds_of_words) for kinds_of_words in patterns])
        yield name, {"kinds": kinds, "length": words.shape[1] + draw.size(0, 4), "words": words, "asks": asks}


@finds_subject.cases("one noun before the verb", points=2)
def _(draw):
    yield from few_words(draw, ["attended"], lambda n, other: [0, NOUN + n, 0, 0, 0, VERB + n, NOUN + n])


@finds_subject.cases("a noun of the other number between", points=1)
def _(draw):
    yield from few_words(draw, ["attended"], lambda n, other: [NOUN + n, 0, NOUN + other, 0, VERB + n, 0])


@finds_subject.cases("the last of several, and nowhere else", points=1)
def _(draw):
    yield from few_words(draw, ["attended", "sharpness"], lambda n, other: [NOUN + n, NOUN + n, 0, NOUN + n, VERB + n])


@finds_subject.cases("long sentences, and the word comes along", points=1)
def _(draw):
    kinds, length = lexicon(draw), draw.size(40, 60)
    words = np.array([words_of(draw, kinds, long_pattern(draw, length)) for _ in range(3)])
    yield "long sentences", {"kinds": kinds, "length": length, "words": words, "asks": list(PROPERTIES)}


def long_pattern(draw, length):
    """Return random kinds, beginning with a noun of each number, so that every verb has a subject."""
    return [NOUN, NOUN + 1, *draw.rng.choice(5, p=[0.5, 0.15, 0.15, 0.1, 0.1], size=length - 2)]


@finds_subject.mistake("ignores the number")
def any_noun(kinds, length):
    """Your verbs find the last noun before them, whether it agrees or not. In *the keys to the cabinet are*, the last
    noun is not the subject. Give singular and plural separate columns."""
    w_query, w_key, w_value = reference.finds_subject(kinds, length)
    w_query[:, :2] = w_query[:, :2].sum(axis=1, keepdims=True)
    return w_query, w_key, w_value


def with_keys(kinds, length, *, words=1, positions=1):
    """Return the reference's matrices, with a factor for the words' rows of w_key and one for the positions' rows."""
    w_query, w_key, w_value = reference.finds_subject(kinds, length)
    w_key[: len(kinds)] *= words(length) if callable(words) else words
    w_key[len(kinds) :] *= positions
    return w_query, w_key, w_value


wrong("first_noun", with_keys, positions=-1)("""
    takes the first noun that agrees
    If several nouns agree, your verbs find the first. The score should rise with the position of the key, but yours
    falls.""")
wrong("all_nouns", with_keys, positions=0)("""
    looks at all nouns that agree
    If several nouns agree, each gets the same weight, because your scores do not depend on the position. Add a term to
    the score that is larger for later keys.""")
wrong("bonus_too_small", with_keys, words=lambda length: 2.5 / length)("""
    lets a near word outweigh the subject
    A verb finds its subject if it is near, and otherwise a later word. The term for a noun that agrees must be larger
    than the largest difference between the terms for positions, which grows with `length`.""")


@finds_subject.mistake("finds the verb itself")
def itself(kinds, length):
    """Your verbs find themselves. A verb comes later than its subject, so its own key wins if it fits as well as the
    subject's key. Only the keys of nouns that agree should fit."""
    w_query, w_key, w_value = reference.finds_subject(kinds, length)
    for column, verb in enumerate((3, 4)):
        w_key[: len(kinds)][kinds == verb, column] = length
    return w_query, w_key, w_value


wrong("numbers_exchanged", changed, change=lambda w_query, w_key, w_value: (w_query[:, [1, 0, 2]], w_key, w_value))("""
    exchanges singular and plural
    Your singular verbs look for plural nouns, and your plural verbs for singular nouns. Compare the columns of w_query
    with those of w_key: the same column should stand for the same number.""")
wrong("softly", changed, change=lambda w_query, *others: (w_query / 10, *others))("""
    finds the subject softly
    The subject gets the largest weight, but a noun just before it also gets much of the weight. One position later
    should add about 10 to the score, and attention divides the score by the square root of d_key. Make the queries
    stronger.""")


@finds_subject.mistake("hands over the position, not the word")
def position_handed_over(kinds, length):
    """Your verbs find their subjects, but the value contains the position and not the word. In w_value, the rows of the
    words should be the identity and the rows of the positions zero."""
    w_query, w_key, _ = reference.finds_subject(kinds, length)
    return w_query, w_key, np.vstack([np.zeros((len(kinds), len(kinds))), np.eye(length, len(kinds))])


@finds_subject.equivalent
def table_of_scores(kinds, length):
    """Make the keys the rows of the identity, so that w_query is the table of all scores, times a constant."""
    n = len(kinds)
    scores = np.zeros((n + length, n + length))
    agrees = (kinds[:, None] >= 3) & (kinds[:, None] - 2 == kinds)
    scores[:n, :n] = 1000.0 * length * agrees
    scores[:n, n:] = 50.0 * np.arange(length)
    return scores, np.eye(n + length), np.eye(n + length, n)


@finds_subject.equivalent
def rotated(kinds, length):
    w_query, w_key, w_value = reference.finds_subject(kinds, length)
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    return w_query @ rotation, w_key @ rotation, 2 * w_value


@finds_subject.equivalent
def number_as_a_sign(kinds, length):
    """Use fewer columns: one for nouns, one for their number as +1 or -1, and one for the position; other words get
    very low scores."""
    n = len(kinds)
    number = np.where(kinds % 2, 1, -1)  # odd kinds are singular
    noun, verb = np.isin(kinds, (1, 2)), kinds >= 3
    w_query, w_key = np.zeros((2, n + length, 4), dtype=np.float32)
    w_query[:n] = 30 * np.stack([verb, verb * number, verb, 0 * verb], axis=1)
    w_key[:n, 0], w_key[:n, 1] = 2 * length * noun, 2 * length * noun * number
    w_key[n:, 2] = np.arange(length)
    return [w_query, w_key, np.eye(n + length, n, dtype=np.int64)]
