"""The task of chapter 9: English number words to German morphemes, below 100,000. Given code, not an exercise.

"two hundred forty five" becomes "zwei hundert fünf und vier zig": tens and units change places, so a word-by-word
dictionary is not enough.
"""

import numpy as np

LIMIT = 100_000
PAD, BOS, EOS = 0, 1, 2
ENGLISH_UNITS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
ENGLISH_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
UNITS = ["null", "ein", "eins", "zwei", "drei", "vier", "fünf", "sech", "sechs", "sieb", "sieben", "acht", "neun"]
MORPHEMES = [*UNITS, "zehn", "elf", "zwölf", "zwan", "zig", "ßig", "und", "hundert", "tausend"]
GERMAN_UNITS = (
    "null",
    "eins",
    "zwei",
    "drei",
    "vier",
    "fünf",
    "sechs",
    "sieben",
    "acht",
    "neun",
    "zehn",
    "elf",
    "zwölf",
)
SHORT = {"sechs": "sech", "sieben": "sieb"}  # in front of "zehn" and "zig"


def english(number):
    """245 -> ["two", "hundred", "forty", "five"]."""
    thousands, hundreds, rest = number // 1000, number // 100 % 10, number % 100
    words = [*english(thousands), "thousand"] if thousands else []
    words += [ENGLISH_UNITS[hundreds], "hundred"] if hundreds else []
    if rest >= 20:
        words += [ENGLISH_TENS[rest // 10 - 2]] + ([ENGLISH_UNITS[rest % 10]] if rest % 10 else [])
    elif rest or not words:
        words.append(ENGLISH_UNITS[rest])
    return words


def german(number):
    """245 -> ["zwei", "hundert", "fünf", "und", "vier", "zig"]; joined, they are the German word."""
    thousands, hundreds, rest = number // 1000, number // 100 % 10, number % 100
    morphemes = [*_before(german(thousands)), "tausend"] if thousands else []
    morphemes += [*_before([GERMAN_UNITS[hundreds]]), "hundert"] if hundreds else []
    if rest >= 20:
        tens, units = divmod(rest, 10)
        morphemes += [*_before([GERMAN_UNITS[units]]), "und"] if units else []
        morphemes += ["zwan" if tens == 2 else _short(tens), "ßig" if tens == 3 else "zig"]
    elif rest > 12:
        morphemes += [_short(rest - 10), "zehn"]
    elif rest or not morphemes:
        morphemes.append(GERMAN_UNITS[rest])
    return morphemes


def _before(morphemes):
    """The same morphemes in front of another one, where "eins" loses its s: ein-tausend."""
    return [*morphemes[:-1], "ein" if morphemes[-1] == "eins" else morphemes[-1]]


def _short(unit):
    """The morpheme of a unit in front of "zehn" and "zig", where two of them lose their end: sech-zehn, sieb-zig."""
    return SHORT.get(GERMAN_UNITS[unit], GERMAN_UNITS[unit])


ENGLISH_WORDS = sorted({*ENGLISH_UNITS, *ENGLISH_TENS, "hundred", "thousand"})
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
    """A sentence as a string: the words of one row of indices, without the begin mark, up to the end mark."""
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


def exact_match(predictions, references, eos=2):
    """Share of predictions that equal their reference up to the end mark.

    Args:
        predictions: (N, T_predicted), integers. What follows the first
            `eos` of a row does not count.
        references: (N, T_reference), integers, each row with an `eos`.
        eos: the token that ends a sentence; a prediction that never ends
            does not match.

    Returns:
        fraction: float from 0 to 1.
    """
    pairs = zip(predictions, references, strict=True)
    matches = [_sentence(prediction, eos) == _sentence(reference, eos) for prediction, reference in pairs]
    return sum(matches) / len(matches)


def _sentence(tokens, eos):
    """The tokens up to and including the first `eos`, as a list; all of them if there is none."""
    tokens = tokens.tolist()
    return tokens[: tokens.index(eos) + 1] if eos in tokens else tokens
