from functools import partial

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.functions_to_test import REFERENCE, functions_to_test
from autograder.authoring.short_mistakes import short_mistakes
from autograder.authoring.usual_wrong_tests import usual_wrong_tests
from autograder.exercises.since.accept_draft import accept_draft, checked, drawn
from solutions import since as reference

tests_accept_draft = Exercise(
    reference.tests_accept_draft, outputs={"verdict": ""}, section="A test without luck", tests=accept_draft
)
wrong = short_mistakes(tests_accept_draft)

tried = partial(functions_to_test, exercise=accept_draft)


# ------------------------------------------------------------------------- right functions with other random numbers


def from_the_end(draft, small, large, chances, place):
    """Return a right text: order the tokens from the last to the first, and accept at a large chance."""
    last = small.shape[1] - 1
    turned = [row[:, ::-1] for row in (small, large)]
    return last - checked(last - np.asarray(draft), *turned, 1 - np.asarray(chances), place)


def by_small_steps(draft, small, large, chances, place):
    """Return a right text after shifting chances and place by a third, as if [0, 1) were a circle. After such a shift,
    evenly spread numbers stay away from all multiples of one over their number."""
    return reference.accept_draft(draft, small, large, (np.asarray(chances) + 1 / 3) % 1, (place + 1 / 3) % 1)


RIGHT = [REFERENCE, ("reads its random numbers from the end", from_the_end), ("shifts its numbers", by_small_steps)]


# ---------------------------------------------------------------------------------------- further wrong functions


def too_often(draft, small, large, chances, place):
    return reference.accept_draft(draft, small, large, 0.7 * chances, place)


def draft_alone(draft, small, large, chances, place):
    return draft.copy()


def without_draft(draft, small, large, chances, place):
    return np.array([drawn(large[0], place)])


def first_rows(draft, small, large, chances, place):
    return reference.accept_draft(
        draft, *(np.repeat(rows[:1], len(rows), axis=0) for rows in (small, large)), chances, place
    )


def writes_into_draft(draft, small, large, chances, place):
    tokens = reference.accept_draft(draft, small, large, chances, place)
    draft[:] = 0
    return tokens


def writes_into_large(draft, small, large, chances, place):
    tokens = reference.accept_draft(draft, small, large, chances, place)
    large[: len(draft)] -= small
    return tokens


def writes_into_chances(draft, small, large, chances, place):
    tokens = reference.accept_draft(draft, small, large, chances, place)
    chances *= 0.5
    return tokens


# A test that always gives the same answer fails every aspect, because each aspect has right and wrong functions.
@tests_accept_draft.cases("wrong for the first token", points=2)
def _(draw):
    yield from tried(
        draw,
        right=[*RIGHT, "all_at_once"],
        wrong=[
            *("accepts_every_guess", "accepts_if_larger", "accepts_the_likeliest", "without_the_small", "exchanged"),
            *("replaced_from_large", "replaced_from_small", "absolute_difference", "not_normalised", "most_missing"),
            *("chance_again", "row_too_late"),
            ("accepts guesses too often", too_often),
            ("returns the draft as it is", draft_alone),
        ],
        at_home=[
            *("accepts all", "too willing", "too strict", "exchanged models", "replaced from large"),
            *("likeliest replacement", "chance again", "row too late"),
        ],
        right_at_home=["other chances", "other place", "shifted numbers"],
    )


@tests_accept_draft.cases("wrong after the first token", points=2)
def _(draw):
    yield from tried(
        draw,
        right=[*RIGHT, "by_a_list"],
        wrong=[
            *("keeps_the_rest", "keeps_the_refused", "not_replaced", "no_free_token", "free_row_too_early"),
            ("uses the first row of both models for all tokens", first_rows),
        ],
        at_home=["first probabilities", "no free token", "rest of the draft"],
        right_at_home=["other chances", "other place", "shifted numbers"],
    )


@tests_accept_draft.cases("right tokens, and yet wrong", points=1)
def _(draw):
    yield from tried(
        draw,
        right=[*RIGHT, "with_padded_rows"],
        wrong=[
            ("throws the draft away and draws one token from the large model", without_draft),
            ("writes into the draft", writes_into_draft),
            ("writes into the large model's probabilities", writes_into_large),
            ("writes into the chances", writes_into_chances),
        ],
        at_home=["no draft", "writes", "writes into chances"],
        right_at_home=["other chances", "other place", "shifted numbers"],
    )


# The probabilities of both models, and the number of chances that fits them. Four places fit both.
ONE_GUESS = np.array([[8, 4, 4]]) / 16, np.array([[4, 5, 7], [4, 8, 4]]) / 16, 4
TWO_GUESSES = np.array([[2, 2], [2, 2]]) / 4, np.array([[1, 3], [3, 1], [1, 3]]) / 4, 2
PLACES = 4
ALL = (0, 1, 2, 3)


def spread(count):
    """Return this many numbers, spread evenly over [0, 1)."""
    return (np.arange(count) + 0.5) / count


def edges(count):
    """Return this many numbers from 0 on, spread evenly over [0, 1)."""
    return np.arange(count) / count


def calls(small, large, n_chances, n_places=PLACES, numbers=spread):
    """Yield the arguments of every call, and its probability."""
    n, vocab = small.shape
    for draft in np.ndindex(*[vocab] * n):
        likely = np.prod(small[np.arange(n), list(draft)]) / (n_chances**n * n_places)
        for chances in np.ndindex(*[n_chances] * n):
            for place in numbers(n_places):
                yield (np.array(draft), small, large, numbers(n_chances)[list(chances)], place), likely


def texts(function, small, large, n_chances, n_places=PLACES, watched=ALL, numbers=spread):
    """Return text -> probability; None if one of the watched arguments changes."""
    found = {}
    for (*kept, place), likely in calls(small, large, n_chances, n_places, numbers):
        given = [array.copy() for array in kept]
        tokens = tuple(int(token) for token in function(*given, place))
        if not all(np.array_equal(given[k], kept[k]) for k in watched):
            return None
        found[tokens] = found.get(tokens, 0) + likely
    return found


def begins(found, text):
    return sum(share for tokens, share in found.items() if tokens[: len(text)] == text)


def right_texts(found, small, large, atol=1e-9, depth=3):
    """Compare the probabilities of all beginnings with those of the large model."""
    n, vocab = small.shape
    for length in range(1, min(depth, n + 1) + 1):
        for text in np.ndindex(*[vocab] * length):
            accepted = np.prod([min(small[t, text[t]], large[t, text[t]]) for t in range(length - 1)])
            if abs(begins(found, text) - accepted * large[length - 1, text[-1]]) > atol:
                return False
    return max(map(len, found)) <= n + 1


def tested(function, situations=(ONE_GUESS, TWO_GUESSES), *, watched=ALL, atol=1e-9, depth=3, numbers=spread):
    """Run the test with these choices."""
    for small, large, *counts in situations:
        found = texts(function, small, large, *counts, watched=watched, numbers=numbers)
        if found is None or not right_texts(found, small, large, atol, depth):
            return False
    return True


usual_wrong_tests(
    tests_accept_draft,
    accepts="Call the function with all drafts and with chances and places that are spread evenly, and compare how "
    "often each token comes.",
    rejects="Count how often each first token comes, with each draft as often as the small model draws it, and "
    "compare your expected values with what `accept_draft` gives. The means are exact only if each probability of "
    "accepting a guess is a multiple of one over the number of chances, and each probability of a replacement a "
    "multiple of one over the number of places.",
)


@tests_accept_draft.mistake("expects what accept_draft does with its random numbers")
def expects_own_numbers(function):
    """Your test rejects right functions, because it expects certain tokens for certain chances and places. A function
    may use its random numbers in a different way. Compare how often each token comes, over all chances and places."""
    for situation in (ONE_GUESS, TWO_GUESSES):
        for (*kept, place), _ in calls(*situation):
            given = [array.copy() for array in kept]
            if not np.array_equal(function(*given, place), reference.accept_draft(*kept, place)):
                return False
            if not all(map(np.array_equal, given, kept)):
                return False
    return True


wrong("on_the_edges", tested, numbers=edges)("""
    puts its random numbers on the edges
    Your test rejects right functions, because its chances or places are 0, 1/4, 1/2 and 3/4. If a guess should be
    accepted with probability 1/4, a function may accept or refuse it at a chance of exactly 1/4. Put the numbers in the
    middle, where this makes no difference: 1/8, 3/8, 5/8 and 7/8.""")
wrong("one_guess", lambda function: tested(function, [ONE_GUESS]))("""
    tries drafts of one token
    Your test accepts a function that keeps the guesses after a refused one, because a draft of one token has no later
    guesses. Try drafts of two tokens, too.""")
wrong("first_alone", tested, depth=1)("""
    looks at the first token alone
    Your test accepts functions whose first token is right, whatever follows. After an accepted guess the second token
    must have the probabilities of the large model's second row, and so on.""")
wrong("same_models", tested, situations=[(large[:-1], large, n) for _, large, n in (ONE_GUESS, TWO_GUESSES)])("""
    uses the same probabilities for both models
    Your test accepts functions that accept or replace wrongly. If the two models agree, no guess is refused. Let them
    differ.""")


@tests_accept_draft.mistake("has the same probabilities in every row")
def same_rows(function):
    """Your test accepts functions that read a wrong row of probabilities. Give each row different probabilities."""
    situations = (ONE_GUESS, TWO_GUESSES)
    return tested(function, [(small, large[[0] * len(large)], n_chances, 16) for small, large, n_chances in situations])


@tests_accept_draft.mistake("does not see how the replacement is drawn")
def one_missing(function):
    """Your test accepts functions that draw the replacement wrongly. If the large model gives only one token a larger
    probability than the small model does, as it must with two tokens, the replacement is not random. Let two tokens be
    missing, by different amounts. If you already do, your tolerance is too large."""
    small, large, n_chances = ONE_GUESS
    one_more = np.array([[4, 4, 8], *16 * large[1:]]) / 16
    return tested(function, [(small, one_more, n_chances), TWO_GUESSES])


wrong("too_loose", tested, atol=0.13)("""
    allows for an eighth
    Your test accepts functions that accept guesses a little too often. Over chances and places that are spread evenly,
    a mean is exact if the probabilities are multiples of one over their number. Then you need to allow only for
    rounding.""")
wrong("caller_unwatched", tested, watched=())("""
    does not look at the caller's arrays
    Your test accepts functions that write into their arguments. Keep copies, and compare afterwards.""")
wrong("draft_watched", tested, watched=(0,))("""
    looks whether the draft changes, and at no other array
    Your test finds a function that writes into the draft, but accepts one that writes into the probabilities or the
    chances. Compare all four arrays.""")


@tests_accept_draft.mistake("does not ask whether guesses are used")
def distribution_alone(function):
    """Your test accepts a function that throws the draft away and draws one token from the large model. Its token has
    the right distribution, but the draft was useless. Check that a second token comes as often as a guess is
    accepted."""
    for small, large, n_chances in (ONE_GUESS, TWO_GUESSES):
        found = texts(function, small, large, n_chances)
        n, vocab = small.shape
        if found is None or max(map(len, found)) > n + 1:
            return False
        for length in range(n + 1):
            for text in np.ndindex(*[vocab] * length):
                next_tokens = np.array([begins(found, (*text, token)) for token in range(vocab)])
                if not np.allclose(next_tokens, next_tokens.sum() * large[length]):
                    return False
    return True


@tests_accept_draft.equivalent
def by_beginnings(function):
    return tested(function)


@tests_accept_draft.equivalent
def with_four_tokens(function):
    small, large = np.array([[6, 3, 3, 12]]) / 24, np.array([[3, 5, 4, 12], [12, 6, 3, 3]]) / 24
    assert tested(function, [(small, large, 4, 24), TWO_GUESSES])


@tests_accept_draft.equivalent
def by_counting(function):
    """Count in whole numbers, 384 of which stand for a probability of 1."""
    for small, large, n_chances in (ONE_GUESS, TWO_GUESSES):
        n, vocab = small.shape
        counts = np.zeros([vocab + 1] * (n + 1))
        for (draft, *others), _ in calls(small, large, n_chances):
            given = draft.copy(), *(array.copy() for array in others[:-1])
            tokens = [int(token) for token in function(*given, others[-1])]
            assert len(tokens) <= n + 1 and all(map(np.array_equal, given, (draft, *others)))
            weight = np.prod([small[t, guess] * 16 for t, guess in enumerate(draft)])
            counts[tuple([*tokens, *[vocab] * n][: n + 1])] += weight
        counts /= (n_chances * 16) ** n * PLACES
        accepted = np.minimum(small, large[:-1])
        firsts = counts.reshape(vocab + 1, -1).sum(axis=1)
        seconds = counts.reshape(vocab + 1, vocab + 1, -1).sum(axis=2)
        assert np.allclose(firsts[:-1], large[0])
        assert np.allclose(seconds[:-1, :-1], np.outer(accepted[0], large[1]))
        if n == 2:
            assert np.allclose(counts[:-1, :-1, :-1], np.einsum("x,y,z->xyz", *accepted, large[2]))
