"""The words of chapter 10: English spellings and their sounds, from the CMU Pronouncing Dictionary. Given.

"choir" becomes K W AY ER. The words have 3 to 10 letters; the sounds have no stress marks.
"""

from typing import NamedTuple

import numpy as np

PAD, BOS, EOS, SEP = 0, 1, 2, 3
LETTERS = "abcdefghijklmnopqrstuvwxyz"
SOUNDS = (
    *(
        "AA",
        "AE",
        "AH",
        "AO",
        "AW",
        "AY",
        "B",
        "CH",
        "D",
        "DH",
        "EH",
        "ER",
        "EY",
        "F",
        "G",
        "HH",
        "IH",
        "IY",
        "JH",
        "K",
    ),
    *("L", "M", "N", "NG", "OW", "OY", "P", "R", "S", "SH", "T", "TH", "UH", "UW", "V", "W", "Y", "Z", "ZH"),
)
VOCABULARY = ("<pad>", "<bos>", "<eos>", "<sep>", *LETTERS, *SOUNDS)
_INDEX = {token: index for index, token in enumerate(VOCABULARY)}


class Words(NamedTuple):
    """Spellings and sounds of N words, as indices into VOCABULARY, padded at the end.

    letters: (N, 10), uint8. sounds: (N, 15), uint8.
    """

    letters: np.ndarray
    sounds: np.ndarray

    def take(self, rows):
        """Return the words of these rows: a slice, or an array of indices."""
        return Words(self.letters[rows], self.sounds[rows])


def load_words(path):
    """Read a file of words.

    Args:
        path: a plain .npz file with the arrays "PART.letters" and "PART.sounds". A column of an array is a word,
            because letters in the same position compress better together.

    Returns:
        parts: dict of part -> Words. The shipped file has "known", to train on; "held_out", words drawn at random; and
            "held_out_families", words without any relative in "known".
    """
    with np.load(path, allow_pickle=False) as file:
        parts = [name.removesuffix(".letters") for name in file.files if name.endswith(".letters")]
        return {part: Words(file[f"{part}.letters"].T, file[f"{part}.sounds"].T) for part in parts}


def encode(texts):
    """Tokens of words that are written as letters, or as sounds between spaces.

    Args:
        texts: list of strings: "choir", or "K W AY ER".

    Returns:
        rows: (N, T), uint8, padded at the end.

    Raises:
        ValueError: a text is neither, or empty.
    """
    return padded([_tokens(text) for text in texts])


def _tokens(text):
    tokens = text.split() if text.isupper() else list(text)
    if not tokens or not all(token in _INDEX for token in tokens):
        raise ValueError(f"{text!r} is neither a word of the letters a to z nor a row of sounds such as 'K W AY ER'")
    return [_INDEX[token] for token in tokens]


def padded(rows):
    """Rows of tokens as one array, (N, T), uint8, with padding at the end of the shorter ones."""
    array = np.full((len(rows), max(map(len, rows), default=0)), PAD, np.uint8)
    for row, tokens in zip(array, rows, strict=True):
        row[: len(tokens)] = tokens
    return array


def spelled(row):
    """A row of tokens as text: "choir", or "K W AY ER". It ends before the end mark; padding is left out."""
    tokens = row.tolist()
    tokens = tokens[: tokens.index(EOS)] if EOS in tokens else tokens
    parts = [VOCABULARY[token] for token in tokens if token not in (PAD, BOS)]
    return ("" if all(len(part) == 1 and part.islower() for part in parts) else " ").join(parts)


def token_counts(rows):
    """How many tokens of each row are not padding: (N,)."""
    return (rows != PAD).sum(axis=-1)


def pairs(source, target):
    """A batch for a training step.

    Args:
        source, target: (N, T_source) and (N, T_target), tokens: letters and sounds, or the other way round.

    Returns:
        src: (N, T_src), int64, as wide as its longest row.
        tgt: (N, T_tgt), int64: begin mark, target, end mark, padding.
    """
    ends = token_counts(target)
    tgt = np.full((len(target), ends.max() + 2), PAD)
    tgt[:, 0] = BOS
    tgt[:, 1:-1] = target[:, : ends.max()]
    tgt[np.arange(len(tgt)), 1 + ends] = EOS
    return source[:, : token_counts(source).max()].astype(np.int64), tgt


def texts_of(words):
    """Words as one text each: begin mark, letters, SEP, sounds, end mark.

    Args:
        words: Words of N words.

    Returns:
        tokens: (N, T), int64, padded at the end.
    """
    n_letters, n_sounds = token_counts(words.letters), token_counts(words.sounds)
    tokens = np.full((len(n_letters), (n_letters + n_sounds).max() + 3), PAD)
    tokens[:, 0] = BOS
    rows = np.arange(len(tokens))
    row, place = np.nonzero(words.letters)
    tokens[row, 1 + place] = words.letters[row, place]
    tokens[rows, 1 + n_letters] = SEP
    row, place = np.nonzero(words.sounds)
    tokens[row, place + 2 + n_letters[row]] = words.sounds[row, place]
    tokens[rows, 2 + n_letters + n_sounds] = EOS
    return tokens
