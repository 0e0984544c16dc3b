import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.model.copies import copies
from autograder.exercises.model.shared import MARKS, SPECIAL, decoded, renamed, sure
from solutions import decoding
from solutions import model as reference
from solutions.position import embed, sinusoidal_encoding

greedy_decode = Exercise(decoding.greedy_decode, outputs={"tokens": "N T"}, section="Writing word by word")
wrong = short_mistakes(greedy_decode)


N_SENTENCES = 5


def told_apart(draw, max_length, *wrong):
    """Draw sources and a model for which the reference and these mistakes all write different tokens."""
    while True:
        inputs = ending_apart(draw, max_length)
        if all_differ(inputs, decoding.greedy_decode, *wrong):
            return inputs


def endless(draw, max_length, *wrong):
    """Do the same without an end mark. The model writes neither padding nor the usual end mark."""
    while True:
        inputs = sure(draw, N_SENTENCES, 1.0, layers=(1, 1)) | {"max_length": max_length} | MARKS | {"eos": -1}
        tokens = decoding.greedy_decode(**inputs)
        if np.isin(tokens, [MARKS["pad"], MARKS["eos"]]).any():
            continue
        if all_differ(inputs, decoding.greedy_decode, *wrong):
            return inputs


def with_other_marks(draw, max_length):
    """Draw sources and a model whose marks have other numbers, and for which all mistakes about these numbers
    differ."""
    while True:
        inputs = renamed(draw, told_apart(draw, max_length, words_after_the_end))
        if all_differ(inputs, decoding.greedy_decode, *DEAF):
            return inputs


def ending_apart(draw, max_length):
    """Draw sources and a model that writes at least one word for each source and ends every sentence.

    It writes no padding, and the first sentence is neither the shortest nor the longest.
    """
    while True:
        inputs = sure(draw, 4 * N_SENTENCES, 1.0, layers=(1, 1)) | {"max_length": max_length} | MARKS
        inputs["src"][::2, inputs["src"].shape[1] // 2 :] = inputs["pad"]
        tokens = decoding.greedy_decode(**inputs | {"eos": -1})
        # Most models hardly ever write a given token. So the end mark replaces a word that first occurs at different
        # places.
        for word in range(SPECIAL, 9):
            ends = np.where((tokens == word).any(axis=1), (tokens == word).argmax(axis=1), max_length)
            usable = np.flatnonzero((ends > 0) & (ends < max_length - 2))
            chosen = draw.rng.permutation(usable)[:N_SENTENCES]
            chosen = np.roll(chosen[np.argsort(ends[chosen])], N_SENTENCES // 2)  # the third shortest comes first
            src = inputs["src"][chosen]
            if len(src) < N_SENTENCES or not (src == inputs["pad"]).any() or (tokens[chosen] == inputs["pad"]).any():
                continue
            if min(ends[chosen]) < ends[chosen[0]] < max(ends[chosen]):
                return exchanged(inputs, word, inputs["eos"]) | {"src": src}


def exchanged(inputs, word, other):
    """Return the same model with two of its output tokens exchanged."""
    tables = inputs["params"]["embeddings"]
    new = np.arange(len(tables["target"]))
    new[[word, other]] = other, word
    written = {name: tables[name][new] for name in ("target", "output")}
    return inputs | {"params": inputs["params"] | {"embeddings": tables | written}}


def with_padding_written(draw, max_length):
    """Draw sources and a model that writes the padding token like a word, without an end mark."""
    while True:
        inputs = endless(draw, max_length)
        word = decoding.greedy_decode(**inputs)[0, 0]
        inputs = exchanged(inputs, word, inputs["pad"])
        if all_differ(inputs, decoding.greedy_decode, stops_at_padding):
            return inputs


def all_differ(inputs, *functions):
    """Return whether all functions write different tokens."""
    written = []
    for function in functions:
        tokens = function(**inputs).tolist()
        if tokens in written:
            return False
        written.append(tokens)
    return True


@greedy_decode.cases("the next word", points=2)
def _(draw):
    found = copies(draw, endless, 6, positions_restart, newest_only, first_row)
    yield "six words, no end", next(found)
    yield "another six words", next(found)


@greedy_decode.cases("the end mark", points=2)
def _(draw):
    wrong = never_stops, stops_at_the_first, words_after_the_end, always_full_width, begins_with_end_mark
    yield "all end, one after the other", next(copies(draw, told_apart, 9, *wrong))
    yield "all end, others", next(copies(draw, told_apart, 10, *wrong))


@greedy_decode.cases("edge cases", points=1)
def _(draw):
    yield "padding that the model writes", next(copies(draw, with_padding_written, 5))
    yield "one word at most", sure(draw, 3, 1.0) | {"max_length": 1} | MARKS
    yield "another begin mark", sure(draw, 2, 1.0) | {"max_length": 5} | MARKS | {"bos": 4}
    yield "marks and padding of other numbers", next(copies(draw, with_other_marks, 8))


def likeliest(params, tokens, memory, src, n_heads, pad):
    return decoded(params, tokens, memory, src, n_heads, pad)[0][:, -1].argmax(axis=-1)


def greedily(
    params, src, n_heads, max_length=50, bos=1, eos=2, pad=0, *,
    step=likeliest, done=np.all, keep=lambda newest, ended, eos, pad: np.where(ended, pad, newest),
    finished=lambda tokens, eos, pad: (tokens == eos).any(axis=1),
):  # fmt: skip
    """Decode greedily, with the step, the stopping rule and the padding replaced."""
    memory, _ = reference.encode(params, src, n_heads, pad)
    tokens = np.full((len(src), 1), bos)
    while tokens.shape[1] <= max_length:
        ended = finished(tokens, eos, pad)
        if done(ended):
            break
        newest = step(params, tokens, memory, src, n_heads, pad)
        tokens = np.concatenate([tokens, keep(newest, ended, eos, pad)[:, np.newaxis]], axis=1)
    return tokens[:, 1:]


never_stops = wrong("never_stops", greedily, done=lambda ended: False, keep=lambda newest, *_: newest)("""
    never stops at the end mark
    Your loop does not look for the end mark: every sentence goes on to max_length, with words after its end. After its
    end mark a row gets padding, and the loop stops when all rows have their end marks.""")
stops_at_the_first = wrong("stops_at_the_first", greedily, done=np.any)("""
    stops when the first sentence ends
    The loop stops as soon as one sentence of the batch has its end mark, which cuts off the others. Use `all`, not
    `any`, over the sentences.""")


@greedy_decode.mistake("cuts all sentences to the length of the first")
def as_long_as_the_first(**inputs):
    """You make all sentences as long as the first of the batch, and cut off longer ones. Make the array as wide as the
    longest sentence."""
    tokens, eos = decoding.greedy_decode(**inputs), inputs.get("eos", 2)
    return tokens[:, : np.append(np.flatnonzero(tokens[0] == eos) + 1, tokens.shape[1])[0]]


words_after_the_end = wrong("words_after_the_end", greedily, keep=lambda newest, *_: newest)("""
    writes words after the end mark
    A finished sentence gets more words while others are unfinished. Give it padding.""")
always_full_width = wrong("always_full_width", greedily, done=lambda ended: False)("""
    pads to max_length
    When every sentence has its end mark, nothing is left to write. Your loop adds columns of padding, and each column
    costs time. Stop the loop.""")
wrong("fills_up_with_ends", greedily, keep=lambda newest, ended, eos, pad: np.where(ended, eos, newest))("""
    fills up with the end mark
    You fill up a sentence with more end marks after its first. One end mark ends it: fill it up with padding.""")
stops_at_padding = wrong(
    "stops_at_padding",
    greedily,
    finished=lambda tokens, eos, pad: ((tokens == eos) | (tokens == pad))[:, 1:].any(axis=1),
)("""
    takes padding that the model writes for an end
    You treat a sentence as finished when its newest token is padding. The model may write this token like any other:
    only the end mark ends a sentence. Remember which sentences have an end mark.""")


@greedy_decode.mistake("returns the begin mark")
def begin_mark_kept(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """Your sentences still start with the begin mark. The decoder does not write it, so leave it out."""
    tokens = decoding.greedy_decode(params, src, n_heads, max_length, bos, eos, pad)
    return np.concatenate([np.full((len(src), 1), bos), tokens], axis=1)


@greedy_decode.mistake("positions restart at every step", reread="Remember the keys and values")
def positions_restart(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """You embed only the newest token, at position 0 each time, so the model behaves as if it were still writing the
    first word. In incremental decoding the newest token's position is the number of tokens before it."""

    def step(params, tokens, memory, src, n_heads, pad):
        def embedded(tokens, table):
            return embed(tokens, table)[0] + sinusoidal_encoding(1, table.shape[-1])

        return decoded(params, tokens, memory, src, n_heads, pad, embedded=embedded)[0][:, -1].argmax(axis=-1)

    return greedily(params, src, n_heads, max_length, bos, eos, pad, step=step)


newest_only = wrong(
    "newest_only", greedily, step=lambda params, tokens, *rest: likeliest(params, tokens[:, -1:], *rest)
)("""
    forgets what it has written
    You give the decoder only the newest token. It has no other memory of what it wrote. Give it all tokens so far, and
    take the last row.""")
first_row = wrong("first_row", greedily, step=lambda *inputs: decoded(*inputs)[0][:, 0].argmax(axis=-1))("""
    reads the first row of the logits
    You read the next token off the first row, which always scores the first word. The last row, -1, has seen all tokens
    so far.""")
begins_with_one = wrong("begins_with_one", decoding.greedy_decode, bos=1)("""
    takes the begin mark to be token 1
    Every sentence begins with token 1, whatever `bos` says. Use the argument.""")
ends_with_two = wrong("ends_with_two", decoding.greedy_decode, eos=2)("""
    takes the end mark to be token 2
    Every sentence ends with token 2, whatever `eos` says. Use the argument.""")
wrong("fills_up_with_zeros", greedily, keep=lambda newest, ended, *_: np.where(ended, 0, newest))("""
    fills up with token 0
    After its end mark you fill up a sentence with 0, whatever `pad` says. Use the argument.""")


def padded_by(reads, writes):
    """Return a step that passes `pad` to the encoder if `reads`, and to the decoder if `writes`; otherwise token 0."""

    def step(params, tokens, memory, src, n_heads, pad):
        memory, _ = reference.encode(params, src, n_heads, pad if reads else 0)
        return likeliest(params, tokens, memory, src, n_heads, pad if writes else 0)

    return step


pad_not_passed = wrong("pad_not_passed", greedily, step=padded_by(reads=False, writes=False))("""
    does not tell the model which token is padding
    `pad` does not reach `encode` and `decode`, whose masks then use their default: the model attends to padding, and
    not to the word that has the default's number. Pass it on to both.""")
pad_not_to_decode = wrong("pad_not_to_decode", greedily, step=padded_by(reads=True, writes=False))("""
    does not tell the decoder which token is padding
    `pad` reaches `encode`, but `decode` uses its default: it attends to the source's padding, and not to the word that
    has the default's number. Pass it on to both.""")
pad_not_to_encode = wrong("pad_not_to_encode", greedily, step=padded_by(reads=False, writes=True))("""
    does not tell the encoder which token is padding
    `pad` reaches `decode`, but `encode` uses its default: the source's words attend to padding, and not to the word
    that has the default's number. Pass it on to both.""")


# Each is wrong about one number. The tokens that they write must differ from the right ones and from each other.
DEAF = begins_with_one, ends_with_two, pad_not_passed, pad_not_to_decode, pad_not_to_encode


@greedy_decode.mistake("writes padding instead of the end mark")
def end_mark_lost(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """When a sentence ends, you write padding and not its end mark, so a finished sentence looks like an unfinished
    one. Padding begins *after* the end mark."""
    tokens = decoding.greedy_decode(params, src, n_heads, max_length, bos, eos, pad)
    return np.where(tokens == eos, pad, tokens)


wrong("one_word_short", lambda max_length=50, **inputs: greedily(max_length=max_length - 1, **inputs))("""
    counts the begin mark among the words
    The decoder may write max_length words, but you stop one word earlier, because you count the begin mark.""")
wrong("finished_at_once", lambda bos=1, **inputs: decoding.greedy_decode(**inputs | {"bos": bos, "eos": bos}))("""
    writes nothing
    You return no token. Either you lose what you write, or every sentence counts as finished from the start: it begins
    with `eos` instead of `bos`, or counts as finished once it contains `bos`, its first token.""")


@greedy_decode.mistake("begins with the end mark")
def begins_with_end_mark(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """Every sentence begins with `eos`, so the decoder continues as if after the end of a sentence. Begin with
    `bos`."""
    finished = {"finished": lambda tokens, eos, pad: (tokens[:, 1:] == eos).any(axis=1)}
    return greedily(params, src, n_heads, max_length, eos, eos, pad, **finished)


wrong("marks_exchanged", lambda bos=1, eos=2, **inputs: decoding.greedy_decode(**inputs | {"bos": eos, "eos": bos}))("""
    exchanges the begin mark and the end mark
    Every sentence begins with `eos`, and counts as finished once `bos` is written. Swap them: `bos` begins, and `eos`
    ends.""")


@greedy_decode.equivalent
def with_remembered_keys(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    return decoding.incremental_greedy_decode(params, src, n_heads, max_length, bos, eos, pad)


@greedy_decode.equivalent
def with_another_loop(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    return greedily(params, src, n_heads, max_length, bos, eos, pad, step=likeliest)


@greedy_decode.equivalent
def one_sentence_after_another(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    rows = [
        greedily(params, row[np.newaxis], n_heads, max_length, bos, eos, pad, step=likeliest)[0].tolist() for row in src
    ]
    width = max(map(len, rows))
    return np.array([row + [pad] * (width - len(row)) for row in rows])
