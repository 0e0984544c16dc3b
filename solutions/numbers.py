"""The task of chapter 9: English number words to German morphemes, below 100,000. Given, not asked for.

"two hundred forty five" becomes "zwei hundert fünf und vier zig": tens and units change places, so a word-by-word
dictionary is not enough. The words come from the num2words package, whose German is wrong from 101,000 on.
"""

import re
from functools import cache

import numpy as np
from num2words import num2words

LIMIT = 100_000
PAD, BOS, EOS = 0, 1, 2
UNITS = ["null", "ein", "eins", "zwei", "drei", "vier", "fünf", "sech", "sechs", "sieb", "sieben", "acht", "neun"]
MORPHEMES = [*UNITS, "zehn", "elf", "zwölf", "zwan", "zig", "ßig", "und", "hundert", "tausend"]
# The longest first: "sieben und" must not be cut into "sieb" and a rest.
_MORPHEME = re.compile("|".join(sorted(MORPHEMES, key=len, reverse=True)))


@cache
def _spelt(number, language):
    """What num2words says; a training that asks for it again and again would spend seconds on that."""
    return num2words(number, lang=language)


def english(number):
    """245 -> ["two", "hundred", "forty", "five"]."""
    return [word for word in re.findall("[a-z]+", _spelt(number, "en")) if word != "and"]


def german(number):
    """245 -> ["zwei", "hundert", "fünf", "und", "vier", "zig"]; joined, they are the German word."""
    return _MORPHEME.findall(_spelt(number, "de"))


ENGLISH_WORDS = sorted({word for number in (*range(20), *range(20, 100, 10), 100, 1000) for word in english(number)})
VOCABULARY = ("<pad>", "<bos>", "<eos>", *ENGLISH_WORDS, *MORPHEMES)
_INDEX = {word: index for index, word in enumerate(VOCABULARY)}


def batch(numbers):
    """Numbers as padded sentence pairs.

    Args:
        numbers: integers in 0 .. 99,999, N of them.

    Returns:
        src: (N, T_src), English words, as indices into VOCABULARY.
        tgt: (N, T_tgt), begin mark, German morphemes, end mark.
    """
    pairs = [(english(int(number)), ["<bos>", *german(int(number)), "<eos>"]) for number in numbers]
    return _padded([source for source, _ in pairs]), _padded([target for _, target in pairs])


def batches(rng, numbers, size, n_batches):
    """Random batches of sentence pairs, each as wide as its longest sentences: yields (src, tgt), `size` rows each."""
    src, tgt = batch(numbers)
    for _ in range(n_batches):
        rows = rng.integers(len(numbers), size=size)
        yield _trimmed(src[rows]), _trimmed(tgt[rows])


def words(tokens):
    """A sentence as a string: the words of one row of indices, without begin mark, up to the end mark."""
    sentence = [VOCABULARY[token] for token in tokens if token not in (PAD, BOS)]
    return " ".join(sentence[: sentence.index("<eos>")] if "<eos>" in sentence else sentence)


def tens_and_units(number):
    """The pairs in which tens and units change places: 21,345 -> {(2, 1), (4, 5)}; 13 and 20 have none."""
    pairs = {divmod(part % 100, 10) for part in (number // 1000, number)}
    return {(tens, units) for tens, units in pairs if tens >= 2 and units >= 1}


def split(rng, n_test=2_000, n_held_out_pairs=8):
    """Divide the numbers into those to learn from and two kinds of unseen ones.

    Args:
        rng: np.random.Generator
        n_test: how many unseen numbers of each kind.
        n_held_out_pairs: how many of the 72 pairs of tens and units no training number may contain.

    Returns:
        train: all other numbers, shuffled.
        test: (n_test,), numbers whose pairs are all known, from other numbers.
        test_pairs: (n_test,), numbers with a held-out pair.
    """
    all_pairs = [(tens, units) for tens in range(2, 10) for units in range(1, 10)]
    held_out = {all_pairs[i] for i in rng.choice(len(all_pairs), n_held_out_pairs, replace=False)}
    numbers = rng.permutation(LIMIT)
    unseen_pair = np.array([bool(tens_and_units(number) & held_out) for number in numbers.tolist()])
    known = numbers[~unseen_pair]
    return known[n_test:], known[:n_test], numbers[unseen_pair][:n_test]


def _padded(sentences):
    rows = np.full((len(sentences), max(map(len, sentences))), PAD)
    for row, sentence in zip(rows, sentences, strict=True):
        row[: len(sentence)] = [_INDEX[word] for word in sentence]
    return rows


def _trimmed(rows):
    """Without the columns that are padding in every row."""
    return rows[:, (rows != PAD).any(axis=0)]
