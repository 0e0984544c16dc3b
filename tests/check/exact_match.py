"""An exercise that no chapter asks for. Its answers are simple numbers, which wrong functions share by accident."""

from itertools import takewhile

import numpy as np

from autograder.authoring.exercise import Exercise
from solutions import numbers as reference

exact_match = Exercise(reference.exact_match, outputs={"fraction": ""}, section="When is a translation right?")


def sentences(draw, n, eos, low, width):
    """References (n, width) of tokens that are never eos, each ended by it, then padding."""
    rows = np.zeros((n, width), dtype=int)
    for row in rows:
        length = draw.size(2, width - 1)
        row[:length] = low + draw.rng.permutation(9)[:length]
        row[length] = eos
    return rows


def predicted(draw, eos=2, low=3):
    """Nine predictions: right; right with noise after the end; a wrong word; too short; too long; endless; ...

    One of the others has its first two words exchanged, and one has a wrong last word. Each occurs a different number
    of times, so that the fraction shows which of them were counted.
    """
    width = draw.size(7, 9)
    references = sentences(draw, 9, eos, low, width)
    predictions = np.pad(references, ((0, 0), (0, 2)))
    ends = (references == eos).argmax(axis=1)
    predictions[1, ends[1] + 1 :] = low + 1
    predictions[2, ends[2] + 1 :] = low + 2
    predictions[3, 0] = low + 9
    predictions[4, ends[4] - 1 :] = [eos, *[0] * (width + 2 - ends[4])]
    predictions[5, ends[5]], predictions[5, ends[5] + 1] = low + 4, eos
    predictions[6, ends[6] :] = low + 4
    predictions[7, :2] = predictions[7, 1::-1]
    predictions[8, ends[8] - 1] = low + 9
    rows = np.repeat(np.arange(9), 1 + draw.rng.permutation(9))
    return {"predictions": predictions[rows], "references": references[rows], "eos": eos}


@exact_match.cases("the idea", points=1)
def _(draw):
    for what in ("some first words wrong", "more sentences", "and others"):
        references = sentences(draw, draw.size(5, 11), 2, 3, 7)
        predictions = references.copy()
        predictions[: draw.size(1, 4), 0] = 15
        yield what, {"predictions": predictions, "references": references, "eos": 2}


@exact_match.cases("ends and widths", points=2)
def _(draw):
    yield "all that can happen", predicted(draw)
    yield "another end mark", predicted(draw, eos=1, low=3)
    references = sentences(draw, 3, 2, 3, 7)
    longest = (references == 2).argmax(axis=1).max()
    # As far as the longest sentence goes, without its end mark.
    yield (
        "predictions narrower than references",
        {"predictions": references[:, :longest], "references": references, "eos": 2},
    )
    yield "every sentence right", {"predictions": references.copy(), "references": references, "eos": 2}
    inputs = predicted(draw)
    width = inputs["references"].shape[1]
    yield "equal widths, and leftovers", inputs | {"predictions": inputs["predictions"][:, :width]}


def up_to(tokens, eos, and_with=True):
    words = list(takewhile(lambda token: token != eos, tokens.tolist()))
    return words + [eos] * (and_with and eos in tokens)


def share(matches):
    return sum(matches) / len(matches)


@exact_match.mistake("compares what follows the end mark, too")
def whole_rows(predictions, references, eos=2):
    """You compare whole rows, so a right sentence fails when something after its end mark differs. What follows the
    first end mark does not count."""
    width = max(predictions.shape[1], references.shape[1])
    p, r = (np.pad(a, ((0, 0), (0, width - a.shape[1]))) for a in (predictions, references))
    return float((p == r).all(axis=1).mean())


@exact_match.mistake("compares rows, cut to the shorter width")
def rows_cut_to_the_shorter(predictions, references, eos=2):
    """You compare whole rows up to the width of the narrower array. So a right sentence fails when something after its
    end mark differs, and a prediction that is too narrow for the end mark matches without it. Cut each pair of rows
    behind the first end mark, and compare the rest."""
    width = min(predictions.shape[1], references.shape[1])
    return float((predictions[:, :width] == references[:, :width]).all(axis=1).mean())


@exact_match.mistake("counts tokens, not sentences")
def token_accuracy(predictions, references, eos=2):
    """This is the share of right *tokens*: a sentence with one wrong word is still mostly right. A match is a whole
    sentence."""
    width = min(predictions.shape[1], references.shape[1])
    p, r = predictions[:, :width], references[:, :width]
    return float((p == r)[r != 0].mean())


@exact_match.mistake("lets a sentence without an end match")
def end_not_asked(predictions, references, eos=2):
    """You compare the words before the end mark, and not the end mark itself. So a prediction that ends without one
    counts as right. The end mark belongs to the sentence."""
    pairs = zip(predictions, references, strict=True)
    return share([up_to(p, eos, False)[: len(up_to(r, eos, False))] == up_to(r, eos, False) for p, r in pairs])


@exact_match.mistake("cuts the end mark off before it compares")
def end_cut_off(predictions, references, eos=2):
    """You cut both sentences before the end mark. So a prediction with all words but without the end mark counts as
    right. Keep the end mark."""
    return share([up_to(p, eos, False) == up_to(r, eos, False) for p, r in zip(predictions, references, strict=True)])


@exact_match.mistake("compares only as far as the reference goes")
def prefix_only(predictions, references, eos=2):
    """You do not compare the lengths: `zip` stops at the end of the shorter sentence. A prediction that ends
    too early then counts as right."""
    pairs = zip(predictions, references, strict=True)

    def alike(p, r):
        return all(a == b for a, b in zip(up_to(p, eos, False), up_to(r, eos, False), strict=False))

    return share([alike(p, r) for p, r in pairs])


@exact_match.mistake("does not mind the order of the words")
def bag_of_words(predictions, references, eos=2):
    """The same words in another order count as right: sets and sorted lists lose the order. The order matters here."""
    return share([sorted(up_to(p, eos)) == sorted(up_to(r, eos)) for p, r in zip(predictions, references, strict=True)])


@exact_match.mistake("takes 2 for the end mark, whatever eos is")
def end_is_two(predictions, references, eos=2):
    """You use the number 2 as the end mark. Use the argument."""
    return reference.exact_match(predictions, references, 2)


@exact_match.mistake("returns the number of matches")
def counted_not_divided(predictions, references, eos=2):
    """This is the number of matches. Divide it by the number of sentences, which gives a fraction from 0 to 1."""
    return float(reference.exact_match(predictions, references, eos) * len(references))


@exact_match.mistake("looks at the first sentence only")
def first_sentence(predictions, references, eos=2):
    """The answer is 1 or 0, and only the first pair decides, because a `return` is inside the loop. Count all pairs,
    and divide after the loop."""
    return float(reference.exact_match(predictions[:1], references[:1], eos))


@exact_match.mistake("asks for all sentences at once")
def all_or_nothing(predictions, references, eos=2):
    """The answer is 1 if every sentence is right, and 0 otherwise. Return the share of right sentences."""
    return float(reference.exact_match(predictions, references, eos) == 1)


@exact_match.mistake("returns the share that is wrong")
def share_of_errors(predictions, references, eos=2):
    """This is one minus the answer: the share of sentences that differ. Count those that are equal."""
    return 1 - reference.exact_match(predictions, references, eos)


@exact_match.mistake("compares the two arrays with `==`")
def plain_rows(predictions, references, eos=2):
    """`predictions == references` compares whole rows, including what follows the end mark, and raises an error when
    the two arrays differ in width. Cut each pair of rows behind the first end mark, and compare what is left."""
    return float((predictions == references).all(axis=1).mean())


@exact_match.mistake("compares each two rows with `==`")
def row_by_row(predictions, references, eos=2):
    """`p == r` compares two rows entry by entry, including what follows the end mark, and raises an error when the rows
    differ in length. Cut each pair of rows behind the first end mark, and compare what is left as lists."""
    return share([(p == r).all() for p, r in zip(predictions, references, strict=True)])


@exact_match.mistake("compares rows with np.array_equal")
def equal_rows(predictions, references, eos=2):
    """`np.array_equal` is False for rows of different widths, and looks at what follows the end mark. Cut each pair of
    rows behind the first end mark, and compare what is left."""
    return share([np.array_equal(p, r) for p, r in zip(predictions, references, strict=True)])


@exact_match.equivalent
def by_takewhile(predictions, references, eos=2):
    return share([up_to(p, eos) == up_to(r, eos) for p, r in zip(predictions, references, strict=True)])


@exact_match.equivalent
def by_mask(predictions, references, eos=2):
    width = max(predictions.shape[1], references.shape[1])
    p, r = (np.pad(a, ((0, 0), (0, width - a.shape[1])), constant_values=-1) for a in (predictions, references))
    counts = np.cumsum(r == eos, axis=1) - (r == eos) == 0
    return ((p == r) | ~counts).all(axis=1).mean()


@exact_match.equivalent
def by_position_of_the_end(predictions, references, eos=2):
    good = 0
    for p, r in zip(predictions, references, strict=True):
        n = int(np.argmax(r == eos)) + 1
        good += bool(len(p) >= n and np.array_equal(p[:n], r[:n]))
    return good / len(references)
