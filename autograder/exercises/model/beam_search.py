import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.model.copies import copies
from autograder.exercises.model.shared import MARKS, N_HEADS, decoded, renamed, sure
from solutions import decoding
from solutions import model as reference
from solutions.logarithms import log_softmax

beam_search = Exercise(
    decoding.beam_search,
    outputs={"tokens": "beam_width T", "scores": "beam_width"},
    section="Several hopeful beginnings",
)
wrong = short_mistakes(beam_search)


def beams(draw, width, alpha, max_length=5, ends=1.3):
    """Draw a sentence and a model that gives several words similar probabilities, so that beams differ."""
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
        at_the_end = sorted_at_the_end if alpha > 1 else normalised_at_the_end  # rarely shows with a small alpha
        of_the_penalty = [at_the_end, stops_with_the_best] if alpha else []
        if width == 1 or (many and not any(np.array_equal(wrong(**asked)[0], tokens) for wrong in of_the_penalty)):
            return asked
    return asked


def with_other_marks(draw):
    """Draw a sentence and a model whose marks have other numbers, and in which the number of the end mark matters."""
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


def normalised(log_p, length, last, alpha):
    return log_p / ((5 + length) / 6) ** alpha


def length_with_end(words, eos):
    return words.index(eos) + 1 if eos in words else len(words)


def searched(
    params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0, *,
    score=normalised, rank=None, sort=False, padded=True, length_of=length_with_end, logs_of=log_softmax,
    beginnings=lambda width: 1, done=all, ended_by_bos=False,
):  # fmt: skip
    """Run beam search over Python lists, with some of its parts replaced.

    score, rank: functions of log p, the length, the newest token's log p, and alpha. sort: whether to sort the result.
    padded: whether to pad finished hypotheses. logs_of: from a row of logits to log-probabilities. beginnings: from the
    width to the number of empty hypotheses at the start. done: whether the search stops, from the list of which
    hypotheses are finished. ended_by_bos: whether `bos` finishes a hypothesis.
    """
    eos = bos if ended_by_bos else eos
    rank = rank or score
    memory, _ = reference.encode(params, src, n_heads, pad)
    beam = [([], 0.0, 0.0)] * beginnings(beam_width)
    for _ in range(max_length):
        if done([eos in words for words, *_ in beam]):
            break
        grown = []
        for words, log_p, last in beam:
            if padded and eos in words:
                grown.append(([*words, pad], log_p, last))
                continue
            row = decoded(params, np.array([bos, *words]), memory, src, n_heads, pad)[0][-1]
            logs = logs_of(row)
            grown += [([*words, token], log_p + logs[token], logs[token]) for token in range(len(logs))]
        grown.sort(key=lambda one: -rank(one[1], length_of(one[0], eos), one[2], length_penalty))
        beam = grown[:beam_width]
    words = np.array([words for words, *_ in beam])
    scores = np.array([score(log_p, length_of(words, eos), last, length_penalty) for words, log_p, last in beam])
    order = np.argsort(-scores) if sort else slice(None)
    return words[order], scores[order]


wrong("not_normalised", searched, score=lambda log_p, *_: log_p)("""
    does not normalise the scores
    You rank hypotheses only by log p. Every further token lowers log p, so short sentences win. Divide by the length
    penalty.""")
wrong("divided_by_length", searched, score=lambda log_p, length, last, alpha: log_p / length**alpha)("""
    divides by the length itself
    You divide the scores by L to the power alpha. The penalty is ((5 + L) / 6)^alpha: the 5 limits the influence of the
    first few tokens.""")
normalised_at_the_end = wrong("normalised_at_the_end", searched, rank=lambda log_p, *_: log_p)("""
    normalises only at the very end
    You prune the beam by log p and normalise only the survivors. Longer hypotheses have been dropped before the penalty
    could help them, and the order is that of log p.""")
sorted_at_the_end = wrong("sorted_at_the_end", searched, rank=lambda log_p, *_: log_p, sort=True)("""
    normalises and sorts only at the very end
    You prune the beam by log p, and normalise and sort only the survivors. Longer hypotheses have been dropped before
    the penalty could help them. Divide by the penalty before you choose, at every step.""")
wrong("beams_write_on", searched, padded=False)("""
    lets finished hypotheses go on writing
    You continue a hypothesis with words after its end mark. It may continue only with padding, at no cost.""")
wrong(
    "newest_token_counts", searched, score=lambda log_p, length, last, alpha: normalised(last, length, last, alpha)
)("""
    ranks by the newest token alone
    Your score of a hypothesis is the log-probability of its newest token. Its log p is the sum over all its tokens:
    carry this sum along.""")
wrong("worst_first", lambda **inputs: tuple(part[::-1] for part in decoding.beam_search(**inputs)))("""
    returns the worst first
    The hypotheses are right, but in rising order. `argsort` sorts in rising order, so sort the negative scores.""")
wrong("begins_with_one", decoding.beam_search, bos=1)("""
    takes the begin mark to be token 1
    Every hypothesis begins with token 1, whatever `bos` says. Use the argument.""")
ends_with_two = wrong("ends_with_two", decoding.beam_search, eos=2)("""
    takes the end mark to be token 2
    A hypothesis ends with token 2, whatever `eos` says. Use the argument.""")
wrong("pads_with_zero", decoding.beam_search, pad=0)("""
    takes padding to be token 0
    You take padding to be token 0, whatever `pad` says: the model attends to the source's padding, and finished
    hypotheses are filled up with a word. Use the argument.""")
wrong("padding_has_length", searched, length_of=lambda words, eos: len(words))("""
    counts padding in the length
    Padding makes a finished hypothesis longer and its score better and better, although it gets no more words. Its
    length ends at its end mark.""")
wrong("identical_beams", searched, beginnings=lambda width: width)("""
    begins with as many copies as the beam is wide
    All hypotheses are the same sentence. At the start there is *one* beginning, the empty one. From beam_width copies
    of it, the search finds the best next word beam_width times, which is greedy decoding.""")
stops_with_the_best = wrong("stops_with_the_best", searched, done=lambda ends: ends[0])("""
    stops before all hypotheses are finished
    The search ends as soon as one hypothesis, such as the best, has its end mark, and the others stay unfinished. With
    a length penalty a longer hypothesis may still overtake it. Continue until all are finished.""")
wrong("end_has_no_length", searched, length_of=lambda words, eos: [*words, eos].index(eos))("""
    does not count the end mark in the length
    The length of a finished hypothesis counts only its words. Its log p includes that of the end mark, so its length
    counts the end mark, too.""")
wrong("probabilities_added", searched, logs_of=lambda row: np.exp(log_softmax(row)))("""
    adds up probabilities
    The scores are sums of probabilities. The probability of a sentence is the *product* of those of its tokens, so
    their logarithms add up: use log_softmax.""")
wrong("one_token_too_few", searched, score=lambda log_p, length, *rest: normalised(log_p, length - 1, *rest))("""
    counts one token too few
    Every length is too small by one: it is the length of the hypothesis before you added its newest token. L counts all
    tokens whose log-probabilities are in log p, the newest among them.""")
wrong(
    "penalty_multiplied", searched, score=lambda log_p, length, last, alpha: normalised(log_p, length, last, -alpha)
)("""
    multiplies by the length penalty
    You multiply log p by ((5 + L) / 6)^alpha. log p is negative, so long hypotheses lose even more: *divide* by the
    penalty.""")
wrong("logits_added", searched, logs_of=lambda row: row)("""
    adds up logits
    The scores are sums of logits. Logits of different rows cannot be compared: only log_softmax makes them
    log-probabilities, whose sum is the log-probability of the sentence.""")


def off_by(*, finished=0, unfinished=0):
    """Return a function that returns the length of a hypothesis plus a number: `finished` if it was finished before the
    newest token, otherwise `unfinished`."""
    return lambda words, eos: words.index(eos) + 1 + finished if eos in words[:-1] else len(words) + unfinished


wrong("newest_token_has_no_length", searched, length_of=off_by(unfinished=-1))("""
    compares hypotheses at lengths that differ by one
    You divide a growing hypothesis by the penalty of its length *before* the newest token, whose log-probability is
    already in the sum. Finished hypotheses have their full length, so the comparison is unfair to growing ones. Count
    the newest token.""")
wrong("unfinished_have_a_begin_mark", searched, length_of=off_by(unfinished=1))("""
    counts the begin mark of unfinished hypotheses only
    You divide a finished hypothesis by the penalty of its own length, but a growing one by the penalty of a length that
    is one too large, because it counts the begin mark. A larger penalty raises a negative score, so the comparison
    favours unfinished hypotheses. The decoder does not write the begin mark, so it never counts.""")
wrong("finished_have_a_begin_mark", searched, length_of=off_by(finished=1))("""
    counts the begin mark of finished hypotheses only
    You divide a growing hypothesis by the penalty of its own length, but a finished one by the penalty of a length that
    is one too large, because it counts the begin mark. A larger penalty raises a negative score, so the comparison
    favours finished hypotheses. The decoder does not write the begin mark, so it never counts.""")
wrong("finished_lose_their_end_mark", searched, length_of=off_by(finished=-1))("""
    does not count the end mark of hypotheses that have been finished before
    You divide a hypothesis that has just written its end mark by the penalty of its full length, but one step later by
    the penalty of a length that is one too small, without the end mark. Its log p includes that of the end mark, so
    count the end mark at every step.""")
wrong("begin_mark_has_length", searched, score=lambda log_p, length, *rest: normalised(log_p, length + 1, *rest))("""
    counts the begin mark in the length
    Every length is one too large, because the array of tokens begins with the begin mark. The decoder does not write
    this mark, so it does not count.""")
wrong("finished_at_once", lambda bos=1, **inputs: decoding.beam_search(**inputs | {"bos": bos, "eos": bos}))("""
    writes nothing
    You return no token. Either you lose what you write, or every hypothesis counts as finished from the start: it
    begins with `eos` instead of `bos`, or counts as finished once it contains `bos`, its first token.""")
wrong("ends_with_begin_mark", searched, ended_by_bos=True)("""
    does not look for the end mark
    You do not count a hypothesis with an end mark as finished. It continues, and its length includes what follows.
    Either you never look for the end mark, or you look for another token, such as `bos`. Look for `eos`.""")
wrong("begins_with_end_mark", lambda eos=2, **inputs: searched(**inputs | {"bos": eos, "eos": eos}))("""
    begins with the end mark
    Every hypothesis begins with `eos`, so the decoder continues as if after the end of a sentence. Begin with
    `bos`.""")
wrong("marks_exchanged", lambda bos=1, eos=2, **inputs: decoding.beam_search(**inputs | {"bos": eos, "eos": bos}))("""
    exchanges the begin mark and the end mark
    Every hypothesis begins with `eos`, and counts as finished once `bos` is written. Swap them: `bos` begins, and `eos`
    ends.""")


@beam_search.equivalent
def over_lists(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    return searched(params, src, n_heads, beam_width, length_penalty, max_length, bos, eos, pad)


@beam_search.equivalent
def as_a_list_of_rows(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    marks = (beam_width, length_penalty, max_length, bos, eos, pad)
    score = lambda log_p, length, last, alpha: 6.0**alpha * log_p * (5 + length) ** -alpha  # noqa: E731
    return list(searched(params, src, n_heads, *marks, score=score))


@beam_search.equivalent
def with_contiguous_copies(params, src, **options):
    tokens, scores = decoding.beam_search(params, src.copy(), **options)
    return np.asfortranarray(tokens), scores.copy()
