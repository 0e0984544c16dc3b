"""greedy_decode: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.exercises.model.copies import copies
from autograder.exercises.model.shared import MARKS, SPECIAL, decoded, renamed, sure
from solutions import decoding
from solutions import model as reference
from solutions.model import table_for
from solutions.position import embed, sinusoidal_encoding

greedy_decode = Exercise(
    decoding.greedy_decode,
    outputs={"tokens": "N T"},
    section="Writing word by word",
    uses=("encode", "decode"),
)


N_SENTENCES = 5


def told_apart(draw, max_length, *wrong):
    """Sources and a model on which these mistakes write other tokens than the reference, and than each other."""
    while True:
        inputs = ending_apart(draw, max_length)
        if all_differ(inputs, decoding.greedy_decode, *wrong):
            return inputs


def endless(draw, max_length, *wrong):
    """The same, without an end mark."""
    while True:
        inputs = sure(draw, N_SENTENCES, 1.0, layers=(1, 1)) | {"max_length": max_length} | MARKS | {"eos": -1}
        if all_differ(inputs, decoding.greedy_decode, *wrong):
            return inputs


def with_other_marks(draw, max_length):
    """Sources and a model with marks of other numbers, on which all mistakes about one of the numbers differ."""
    while True:
        inputs = renamed(draw, told_apart(draw, max_length, words_after_the_end))
        if all_differ(inputs, decoding.greedy_decode, *DEAF):
            return inputs


def ending_apart(draw, max_length):
    """Sources and a model that writes at least a word for each and ends them all, but not all after the same word."""
    while True:
        inputs = sure(draw, 4 * N_SENTENCES, 1.0, layers=(1, 1)) | {"max_length": max_length} | MARKS
        inputs["src"][::2, inputs["src"].shape[1] // 2 :] = inputs["pad"]
        tokens = decoding.greedy_decode(**inputs | {"eos": -1})
        # Most models hardly ever write one given token. So the end mark takes the place of a word that ends them apart.
        for word in range(SPECIAL, 9):
            ends = np.where((tokens == word).any(axis=1), (tokens == word).argmax(axis=1), max_length)
            usable = np.flatnonzero((ends > 0) & (ends < max_length - 2))
            chosen = draw.rng.permutation(usable)[:N_SENTENCES]
            src = inputs["src"][chosen]
            if len(src) == N_SENTENCES and len(set(ends[chosen])) > 1 and (src == inputs["pad"]).any():
                return exchanged(inputs, word, inputs["eos"]) | {"src": src}


def exchanged(inputs, word, other):
    """The same model, which writes each of two tokens where it wrote the other one."""
    tables = inputs["params"]["embeddings"]
    new = np.arange(len(tables["target"]))
    new[[word, other]] = other, word
    written = {name: tables[name][new] for name in ("target", "output")}
    return inputs | {"params": inputs["params"] | {"embeddings": tables | written}}


def with_padding_written(draw, max_length):
    """Sources and a model that writes the padding token like a word, without an end mark."""
    while True:
        inputs = endless(draw, max_length)
        word = decoding.greedy_decode(**inputs)[0, 0]
        inputs = exchanged(inputs, word, inputs["pad"])
        if all_differ(inputs, decoding.greedy_decode, stops_at_padding):
            return inputs


def all_differ(inputs, *functions):
    """Whether all functions write different tokens."""
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
    wrong = never_stops, stops_at_the_first, words_after_the_end, always_full_width
    yield "all end, one after the other", next(copies(draw, told_apart, 9, *wrong))
    yield "all end, others", next(copies(draw, told_apart, 10, *wrong))


@greedy_decode.cases("edge cases", points=1)
def _(draw):
    yield "padding that the model writes", next(copies(draw, with_padding_written, 5))
    yield "one word at most", sure(draw, 3, 1.0) | {"max_length": 1} | MARKS
    yield "another begin mark", sure(draw, 2, 1.0) | {"max_length": 5} | MARKS | {"bos": 4}
    yield "marks and padding of other numbers", next(copies(draw, with_other_marks, 8))


def greedily(params, src, n_heads, max_length, bos, eos, pad, *, step, done=None, keep=None, finished=None):
    """Greedy decoding with its step, its stop and its padding exchanged."""
    done = done or (lambda ended: ended.all())
    keep = keep or (lambda newest, ended: np.where(ended, pad, newest))
    memory, _ = reference.encode(params, src, n_heads, pad)
    tokens = np.full((len(src), 1), bos)
    while tokens.shape[1] <= max_length:
        ended = finished(tokens) if finished else (tokens == eos).any(axis=1)
        if done(ended):
            break
        newest = step(params, tokens, memory, src, n_heads, pad)
        tokens = np.concatenate([tokens, keep(newest, ended)[:, np.newaxis]], axis=1)
    return tokens[:, 1:]


def likeliest(params, tokens, memory, src, n_heads, pad):
    return decoded(params, tokens, memory, src, n_heads, pad)[0][:, -1].argmax(axis=-1)


@greedy_decode.mistake("never stops at the end mark")
def never_stops(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """Your loop does not look for the end mark: every sentence goes on to max_length, with words after its end. A row
    that has its end mark gets padding, and when all rows have theirs, the loop stops."""
    marks = (max_length, bos, eos, pad)
    free = {"done": lambda ended: False, "keep": lambda newest, ended: newest}
    return greedily(params, src, n_heads, *marks, step=likeliest, **free)


@greedy_decode.mistake("stops when the first sentence ends")
def stops_at_the_first(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """The loop stops as soon as one sentence of the batch has its end mark, which cuts off the others. Use `all`, not
    `any`, over the sentences."""
    return greedily(params, src, n_heads, max_length, bos, eos, pad, step=likeliest, done=lambda ended: ended.any())


@greedy_decode.mistake("writes words after the end mark")
def words_after_the_end(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """A finished sentence goes on writing while the others are unfinished. Give it padding."""
    keep = {"keep": lambda newest, ended: newest}
    return greedily(params, src, n_heads, max_length, bos, eos, pad, step=likeliest, **keep)


@greedy_decode.mistake("pads to max_length")
def always_full_width(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """When every sentence has its end mark, nothing is left to write. Your loop goes on with columns of padding, and
    each costs time. Stop."""
    return greedily(params, src, n_heads, max_length, bos, eos, pad, step=likeliest, done=lambda ended: False)


@greedy_decode.mistake("fills up with the end mark")
def fills_up_with_ends(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """After its end mark a sentence is filled up with further end marks. One end mark ends it: what follows is
    padding."""
    keep = {"keep": lambda newest, ended: np.where(ended, eos, newest)}
    return greedily(params, src, n_heads, max_length, bos, eos, pad, step=likeliest, **keep)


@greedy_decode.mistake("takes padding that the model writes for an end")
def stops_at_padding(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """You take a sentence for finished when its newest token is padding. The model may write this token like any other:
    only the end mark ends a sentence. Remember which sentences have it."""

    def finished(tokens):
        return ((tokens == eos) | (tokens == pad))[:, 1:].any(axis=1)

    return greedily(params, src, n_heads, max_length, bos, eos, pad, step=likeliest, finished=finished)


@greedy_decode.mistake("returns the begin mark")
def begin_mark_kept(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """The begin mark is still in front. It is given, not written."""
    tokens = decoding.greedy_decode(params, src, n_heads, max_length, bos, eos, pad)
    return np.concatenate([np.full((len(src), 1), bos), tokens], axis=1)


@greedy_decode.mistake("positions restart at every step", reread="Remember the keys and values")
def positions_restart(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """Only the newest token is embedded, and at position 0 each time: the model believes that it is still writing the
    first word. In incremental decoding the newest token's position is the number of tokens before it."""

    def step(params, tokens, memory, src, n_heads, pad):
        x, _ = embed(tokens, table_for(params["embeddings"], "target"))
        x = x + sinusoidal_encoding(1, x.shape[-1])
        return decoded(params, tokens, memory, src, n_heads, pad, x=x)[0][:, -1].argmax(axis=-1)

    return greedily(params, src, n_heads, max_length, bos, eos, pad, step=step)


@greedy_decode.mistake("forgets what it has written")
def newest_only(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """You give the decoder the newest token alone. It has no other memory of what it wrote: give it all tokens so far,
    and take the last row."""

    def step(params, tokens, memory, src, n_heads, pad):
        return likeliest(params, tokens[:, -1:], memory, src, n_heads, pad)

    return greedily(params, src, n_heads, max_length, bos, eos, pad, step=step)


@greedy_decode.mistake("reads the first row of the logits")
def first_row(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """You read the next token off the first row, which always scores the first word. The last row, -1, has seen all
    tokens so far."""

    def step(params, tokens, memory, src, n_heads, pad):
        return decoded(params, tokens, memory, src, n_heads, pad)[0][:, 0].argmax(axis=-1)

    return greedily(params, src, n_heads, max_length, bos, eos, pad, step=step)


@greedy_decode.mistake("takes the begin mark to be token 1")
def begins_with_one(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """Writing begins with token 1, whatever `bos` says. Use the argument."""
    return decoding.greedy_decode(params, src, n_heads, max_length, 1, eos, pad)


@greedy_decode.mistake("takes the end mark to be token 2")
def ends_with_two(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """Writing ends with token 2, whatever `eos` says. Use the argument."""
    return decoding.greedy_decode(params, src, n_heads, max_length, bos, 2, pad)


@greedy_decode.mistake("fills up with token 0")
def fills_up_with_zeros(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """After its end mark a sentence is filled up with 0, whatever `pad` says. Use the argument."""
    keep = {"keep": lambda newest, ended: np.where(ended, 0, newest)}
    return greedily(params, src, n_heads, max_length, bos, eos, pad, step=likeliest, **keep)


def padded_by(reads, writes):
    """Greedy decoding in which padding is token 0 for the encoder, or for the decoder, unless told otherwise."""

    def written(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
        def step(params, tokens, memory, src, n_heads, pad):
            memory, _ = reference.encode(params, src, n_heads, pad if reads else 0)
            return likeliest(params, tokens, memory, src, n_heads, pad if writes else 0)

        return greedily(params, src, n_heads, max_length, bos, eos, pad, step=step)

    return written


@greedy_decode.mistake("does not tell the model which token is padding")
def pad_not_passed(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """`pad` does not reach `encode` and `decode`, whose masks then use their default: the model attends to padding, and
    not to the word that has the default's number. Pass it on to both."""
    return padded_by(reads=False, writes=False)(params, src, n_heads, max_length, bos, eos, pad)


@greedy_decode.mistake("does not tell the decoder which token is padding")
def pad_not_to_decode(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """`pad` reaches `encode`, but `decode` uses its default: it attends to the source's padding, and not to the word
    that has the default's number. Pass it on to both."""
    return padded_by(reads=True, writes=False)(params, src, n_heads, max_length, bos, eos, pad)


@greedy_decode.mistake("does not tell the encoder which token is padding")
def pad_not_to_encode(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """`pad` reaches `decode`, but `encode` uses its default: the source's words attend to padding, and not to the word
    that has the default's number. Pass it on to both."""
    return padded_by(reads=False, writes=True)(params, src, n_heads, max_length, bos, eos, pad)


# Wrong about one number each; what is written must give away every one of them, and tell them from each other.
DEAF = begins_with_one, ends_with_two, pad_not_passed, pad_not_to_decode, pad_not_to_encode


@greedy_decode.mistake("writes padding in place of the end mark")
def end_mark_lost(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """A sentence that ends gets padding at once, and its end mark is never written, so a finished sentence looks like
    one that was broken off. Padding begins *after* the end mark."""
    tokens = decoding.greedy_decode(params, src, n_heads, max_length, bos, eos, pad)
    return np.where(tokens == eos, pad, tokens)


@greedy_decode.mistake("counts the begin mark among the words")
def one_word_short(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """max_length words may be written, but you stop one word earlier, because you count the begin mark, which is
    given."""
    return greedily(params, src, n_heads, max_length - 1, bos, eos, pad, step=likeliest)


@greedy_decode.mistake("writes nothing")
def finished_at_once(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """You return no token. Either you lose what you write, or every sentence counts as finished from the start: it
    begins with `eos` in place of `bos`, or counts as finished once it contains `bos`, its first token."""
    return decoding.greedy_decode(params, src, n_heads, max_length, bos, bos, pad)


@greedy_decode.mistake("begins with the end mark")
def begins_with_end_mark(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """Every sentence begins with `eos`, so the decoder writes what it would write after the end of a sentence. Begin
    with `bos`."""
    finished = {"finished": lambda tokens: (tokens[:, 1:] == eos).any(axis=1)}
    return greedily(params, src, n_heads, max_length, eos, eos, pad, step=likeliest, **finished)


@greedy_decode.mistake("exchanges the begin mark and the end mark")
def marks_exchanged(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """Every sentence begins with `eos`, and counts as finished once `bos` is written. It is the other way round: `bos`
    begins, and `eos` ends."""
    return decoding.greedy_decode(params, src, n_heads, max_length, eos, bos, pad)


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
