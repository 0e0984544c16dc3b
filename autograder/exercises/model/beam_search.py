"""beam_search: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.exercises.model.copies import copies
from autograder.exercises.model.shared import MARKS, N_HEADS, decoded, renamed, sure
from solutions import decoding
from solutions import model as reference
from solutions.logarithms import log_softmax

beam_search = Exercise(
    decoding.beam_search,
    outputs={"tokens": "beam_width T", "scores": "beam_width"},
    section="Several hopeful beginnings",
    uses=("encode", "decode"),
)


def beams(draw, width, alpha, max_length=5, ends=1.3):
    """One sentence, and a model that is torn between words, so that beams differ."""
    for _ in range(200):
        inputs = sure(draw, 2, ends, layers=(1, 1))
        tables = inputs["params"]["embeddings"]
        params = inputs["params"] | {"embeddings": tables | {"output": 0.3 * tables["output"]}}
        asked = {"params": params, "src": inputs["src"][1], "n_heads": N_HEADS, "beam_width": width}
        asked |= {"length_penalty": alpha, "max_length": max_length} | MARKS
        tokens, scores = decoding.beam_search(**asked)
        first_ends = {int((row == 2).argmax()) if 2 in row else max_length for row in tokens}
        apart = np.abs(np.diff(scores)).min(initial=1.0) > 1e-4
        many = apart and len(first_ends) > 1 and tokens.shape[1] == max_length
        at_the_end = sorted_at_the_end if alpha > 1 else normalised_at_the_end  # with a small alpha it shows rarely
        if width == 1 or (many and (not alpha or not np.array_equal(at_the_end(**asked)[0], tokens))):
            return asked
    return asked


def with_other_marks(draw):
    """A sentence and a model with marks of other numbers, on which the end mark shows whether its number counts."""
    while True:
        inputs = renamed(draw, beams(draw, 4, 2.0, max_length=4))
        if not np.array_equal(ends_with_two(**inputs)[1], decoding.beam_search(**inputs)[1]):
            return inputs


@beam_search.cases("the idea", points=4)
def _(draw):
    yield "three beginnings, scored by log p", next(copies(draw, beams, 3, 0.0))
    yield "four beginnings", next(copies(draw, beams, 4, 0.0))


@beam_search.cases("the length penalty", points=3)
def _(draw):
    yield "alpha = 0.6", next(copies(draw, beams, 4, 0.6))
    yield "alpha = 2", next(copies(draw, beams, 5, 2.0))


@beam_search.cases("edge cases", points=3)
def _(draw):
    yield "a beam of one", next(copies(draw, beams, 1, 0.6))
    yield "wider than the vocabulary", next(copies(draw, beams, 14, 0.6, 3))
    yield "marks and padding of other numbers", next(copies(draw, with_other_marks))


def searched(
    params, src, n_heads, width, max_length, bos, eos, pad, *,
    score, end="pad", rank=None, length_of=None, logs_of=log_softmax, beginnings=1, done=all, finished_by=None,
):  # fmt: skip
    """Beam search over Python lists; score(log p, length, log p of the newest), and what a finished one does.

    logs_of: what a row of logits is taken for. beginnings: how many empty ones. done: of which ends are there.
    finished_by: the mark of a finished hypothesis, if it is not eos.
    """
    eos = eos if finished_by is None else finished_by
    length_of = length_of or _length
    rank = rank or score
    memory, _ = reference.encode(params, src, n_heads, pad)
    beam = [([], 0.0, 0.0)] * beginnings
    for _ in range(max_length):
        if done([eos in words for words, *_ in beam]):
            break
        grown = []
        for words, log_p, last in beam:
            if end == "pad" and eos in words:
                grown.append(([*words, pad], log_p, last))
                continue
            row = decoded(params, np.array([bos, *words]), memory, src, n_heads, pad)[0][-1]
            logs = logs_of(row)
            grown += [([*words, token], log_p + logs[token], logs[token]) for token in range(len(logs))]
        beam = sorted(grown, key=lambda one: -rank(one[1], length_of(one[0], eos), one[2]))[:width]
    words = np.array([words for words, *_ in beam])
    return words, np.array([score(log_p, length_of(words, eos), last) for words, log_p, last in beam])


def _length(words, eos):
    return words.index(eos) + 1 if eos in words else len(words)


def by_penalty(alpha):
    return lambda log_p, length, last: log_p / ((5 + length) / 6) ** alpha


@beam_search.mistake("does not normalise the scores")
def not_normalised(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    """You rank hypotheses by log p alone. Every further token lowers log p, so short sentences win. Divide by the
    length penalty."""
    marks = (beam_width, max_length, bos, eos, pad)
    return searched(params, src, n_heads, *marks, score=by_penalty(0))


@beam_search.mistake("divides by the length itself")
def divided_by_length(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    """The scores are divided by L to the power alpha. The penalty is ((5 + L) / 6)^alpha: the 5 limits the influence of
    the first few tokens."""
    marks = (beam_width, max_length, bos, eos, pad)
    return searched(params, src, n_heads, *marks, score=lambda log_p, length, last: log_p / length**length_penalty)


@beam_search.mistake("normalises only at the very end")
def normalised_at_the_end(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    """The beam is pruned by log p and only the survivors are normalised. Longer hypotheses have been dropped before the
    penalty could help them, and the order is that of log p."""
    marks = (beam_width, max_length, bos, eos, pad)
    return searched(params, src, n_heads, *marks, score=by_penalty(length_penalty), rank=by_penalty(0))


@beam_search.mistake("normalises and sorts only at the very end")
def sorted_at_the_end(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    """The beam is pruned by log p, and only the survivors are normalised and sorted. Longer hypotheses have been
    dropped before the penalty could help them. Divide by the penalty before you choose, at every step."""
    tokens, scores = normalised_at_the_end(params, src, n_heads, beam_width, length_penalty, max_length, bos, eos, pad)
    order = np.argsort(-scores)
    return tokens[order], scores[order]


@beam_search.mistake("lets finished hypotheses go on writing")
def beams_write_on(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    """A hypothesis that has its end mark is continued with words. It may go on in one way only, by padding, at no
    cost."""
    marks = (beam_width, max_length, bos, eos, pad)
    return searched(params, src, n_heads, *marks, score=by_penalty(length_penalty), end="write")


@beam_search.mistake("ranks by the newest token alone")
def newest_token_counts(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    """The score of a hypothesis is the log-probability of its newest token. It is the sum over all its tokens: carry it
    along."""
    marks = (beam_width, max_length, bos, eos, pad)
    return searched(
        params, src, n_heads, *marks, score=lambda log_p, length, last: last / ((5 + length) / 6) ** length_penalty
    )


@beam_search.mistake("returns the worst first")
def worst_first(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    """The hypotheses are right, but in rising order. `argsort` sorts in rising order, so sort the negative scores."""
    tokens, scores = decoding.beam_search(params, src, n_heads, beam_width, length_penalty, max_length, bos, eos, pad)
    return tokens[::-1], scores[::-1]


@beam_search.mistake("takes the begin mark to be token 1")
def begins_with_one(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    """Every hypothesis begins with token 1, whatever `bos` says. Use the argument."""
    return decoding.beam_search(params, src, n_heads, beam_width, length_penalty, max_length, 1, eos, pad)


@beam_search.mistake("takes the end mark to be token 2")
def ends_with_two(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    """A hypothesis ends with token 2, whatever `eos` says. Use the argument."""
    return decoding.beam_search(params, src, n_heads, beam_width, length_penalty, max_length, bos, 2, pad)


@beam_search.mistake("takes padding to be token 0")
def pads_with_zero(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    """You take padding to be token 0, whatever `pad` says: the model attends to the source's padding, and finished
    hypotheses are filled up with a word. Use the argument."""
    return decoding.beam_search(params, src, n_heads, beam_width, length_penalty, max_length, bos, eos, 0)


@beam_search.mistake("counts padding in the length")
def padding_has_length(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    """A finished hypothesis grows longer by its padding, and its score better and better, although it gets no more
    words. Its length ends at its end mark."""
    marks = (beam_width, max_length, bos, eos, pad)
    return searched(
        params, src, n_heads, *marks, score=by_penalty(length_penalty), length_of=lambda words, eos: len(words)
    )


@beam_search.mistake("begins with as many copies as the beam is wide")
def identical_beams(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    """All hypotheses are the same sentence. At the start there is *one* beginning, the empty one; with beam_width
    copies of it, the best next word is found beam_width times, and this is greedy decoding."""
    marks = (beam_width, max_length, bos, eos, pad)
    return searched(params, src, n_heads, *marks, score=by_penalty(length_penalty), beginnings=beam_width)


@beam_search.mistake("stops before all hypotheses are finished")
def stops_with_the_best(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    """The search ends as soon as one hypothesis, such as the best, has its end mark, and the others stay unfinished.
    With a length penalty a longer one may still overtake it: go on until all are finished."""
    marks = (beam_width, max_length, bos, eos, pad)
    return searched(params, src, n_heads, *marks, score=by_penalty(length_penalty), done=lambda ends: ends[0])


@beam_search.mistake("does not count the end mark in the length")
def end_has_no_length(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    """The length of a finished hypothesis counts its words alone. Its log p includes that of the end mark, so its
    length counts the end mark, too."""
    marks = (beam_width, max_length, bos, eos, pad)
    return searched(
        params,
        src,
        n_heads,
        *marks,
        score=by_penalty(length_penalty),
        length_of=lambda words, eos: [*words, eos].index(eos),
    )


@beam_search.mistake("adds up probabilities")
def probabilities_added(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    """The scores are sums of probabilities. The probability of a sentence is the *product* of those of its tokens, so
    their logarithms add up: use log_softmax."""
    marks = (beam_width, max_length, bos, eos, pad)
    probabilities = {"logs_of": lambda row: np.exp(log_softmax(row))}
    return searched(params, src, n_heads, *marks, score=by_penalty(length_penalty), **probabilities)


@beam_search.mistake("counts one token too few")
def one_token_too_few(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    """Every length is too small by one: it is the length of the hypothesis before you added its newest token. L counts
    all tokens whose log-probabilities are in log p, the newest among them."""
    marks = (beam_width, max_length, bos, eos, pad)
    score = by_penalty(length_penalty)
    return searched(params, src, n_heads, *marks, score=lambda log_p, length, last: score(log_p, length - 1, last))


@beam_search.mistake("multiplies by the length penalty")
def penalty_multiplied(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    """You multiply log p by ((5 + L) / 6)^alpha. log p is negative, so long hypotheses lose even more: *divide* by the
    penalty."""
    marks = (beam_width, max_length, bos, eos, pad)
    return searched(params, src, n_heads, *marks, score=by_penalty(-length_penalty))


@beam_search.mistake("adds up logits")
def logits_added(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    """The scores are sums of logits. Logits of different rows cannot be compared: only log_softmax makes them
    log-probabilities, whose sum is the log-probability of the sentence."""
    marks = (beam_width, max_length, bos, eos, pad)
    return searched(params, src, n_heads, *marks, score=by_penalty(length_penalty), logs_of=lambda row: row)


def length_before_the_newest(words, eos):
    """The length of a finished hypothesis; of one that has just grown, its length before that."""
    return words.index(eos) + 1 if eos in words[:-1] else len(words) - 1


@beam_search.mistake("compares hypotheses at lengths that differ by one")
def newest_token_has_no_length(
    params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0
):
    """You divide a growing hypothesis by the penalty of its length *before* the newest token, whose log-probability is
    already in the sum. Finished hypotheses have their full length, so the comparison is unfair to the others. Count the
    newest token."""
    marks = (beam_width, max_length, bos, eos, pad)
    return searched(params, src, n_heads, *marks, score=by_penalty(length_penalty), length_of=length_before_the_newest)


def longer_while_unfinished(words, eos):
    """The length of a finished hypothesis; of one that grows, its length with the begin mark."""
    return words.index(eos) + 1 if eos in words[:-1] else len(words) + 1


@beam_search.mistake("counts the begin mark of unfinished hypotheses only")
def unfinished_have_a_begin_mark(
    params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0
):
    """You divide a finished hypothesis by the penalty of its own length, but a growing one by the penalty of a length
    that is one too large, because it counts the begin mark. A larger penalty raises a negative score, so the comparison
    favours unfinished hypotheses. The begin mark is given and not written, so it never counts."""
    marks = (beam_width, max_length, bos, eos, pad)
    return searched(params, src, n_heads, *marks, score=by_penalty(length_penalty), length_of=longer_while_unfinished)


def longer_once_finished(words, eos):
    """The length of a hypothesis that grows; of a finished one, its length with the begin mark."""
    return words.index(eos) + 2 if eos in words[:-1] else len(words)


@beam_search.mistake("counts the begin mark of finished hypotheses only")
def finished_have_a_begin_mark(
    params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0
):
    """You divide a growing hypothesis by the penalty of its own length, but a finished one by the penalty of a length
    that is one too large, because it counts the begin mark. A larger penalty raises a negative score, so the comparison
    favours finished hypotheses. The begin mark is given and not written, so it never counts."""
    marks = (beam_width, max_length, bos, eos, pad)
    return searched(params, src, n_heads, *marks, score=by_penalty(length_penalty), length_of=longer_once_finished)


def shorter_once_finished(words, eos):
    """The length of a hypothesis that grows; of a finished one, its length without the end mark."""
    return words.index(eos) if eos in words[:-1] else len(words)


@beam_search.mistake("does not count the end mark of hypotheses that have been finished before")
def finished_lose_their_end_mark(
    params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0
):
    """You divide a hypothesis that has just written its end mark by the penalty of its full length, but one step later
    by that of a length that is one too small, without the end mark. Its log p includes that of the end mark, so its
    length counts the end mark at every step."""
    marks = (beam_width, max_length, bos, eos, pad)
    return searched(params, src, n_heads, *marks, score=by_penalty(length_penalty), length_of=shorter_once_finished)


@beam_search.mistake("counts the begin mark in the length")
def begin_mark_has_length(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    """Every length is one too large, because the array of tokens begins with the begin mark. This mark is given and not
    written, so it does not count."""
    marks = (beam_width, max_length, bos, eos, pad)
    score = by_penalty(length_penalty)
    return searched(params, src, n_heads, *marks, score=lambda log_p, length, last: score(log_p, length + 1, last))


@beam_search.mistake("writes nothing")
def finished_at_once(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    """You return no token. Either you lose what you write, or every hypothesis counts as finished from the start: it
    begins with `eos` in place of `bos`, or counts as finished once it contains `bos`, its first token."""
    return decoding.beam_search(params, src, n_heads, beam_width, length_penalty, max_length, bos, bos, pad)


@beam_search.mistake("takes the begin mark for the end mark")
def ends_with_begin_mark(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    """A hypothesis counts as finished once `bos` is written, not `eos`. So it writes on after its end mark, and its
    length counts what follows. Look for `eos`."""
    marks = (beam_width, max_length, bos, eos, pad)
    return searched(params, src, n_heads, *marks, score=by_penalty(length_penalty), finished_by=bos)


@beam_search.mistake("begins with the end mark")
def begins_with_end_mark(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    """Every hypothesis begins with `eos`, so the decoder writes what it would write after the end of a sentence. Begin
    with `bos`."""
    marks = (beam_width, max_length, eos, eos, pad)
    return searched(params, src, n_heads, *marks, score=by_penalty(length_penalty))


@beam_search.mistake("exchanges the begin mark and the end mark")
def marks_exchanged(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    """Every hypothesis begins with `eos`, and counts as finished once `bos` is written. It is the other way round:
    `bos` begins, and `eos` ends."""
    return decoding.beam_search(params, src, n_heads, beam_width, length_penalty, max_length, eos, bos, pad)


@beam_search.equivalent
def over_lists(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    marks = (beam_width, max_length, bos, eos, pad)
    return searched(params, src, n_heads, *marks, score=by_penalty(length_penalty))


@beam_search.equivalent
def as_a_list_of_rows(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    marks = (beam_width, max_length, bos, eos, pad)
    scale = 6.0**length_penalty
    score = lambda log_p, length, last: scale * log_p * (5 + length) ** -length_penalty  # noqa: E731
    return list(searched(params, src, n_heads, *marks, score=score))


@beam_search.equivalent
def with_contiguous_copies(params, src, **options):
    tokens, scores = decoding.beam_search(params, src.copy(), **options)
    return np.asfortranarray(tokens), scores.copy()
