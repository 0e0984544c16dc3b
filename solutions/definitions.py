"""The entries of chapter 12: English words and their glosses, from WordNet 3.0. Given.

An entry is a text such as "choir n: a chorus that sings": a word, its part of speech (n, v, a for adjectives, r for
adverbs), and what it means.
"""

import re

import numpy as np

PAD, END = 0, 1  # END ends a text, and stands before its first token
CHARACTERS = " '," + "-:" + "abcdefghijklmnopqrstuvwxyz"


def load_entries(path):
    """Read a file of entries.

    Args:
        path: of a plain .npz file that holds each part as the bytes of its text, with an entry on each line.

    Returns:
        parts: dict of part -> list of strings. The shipped file has "known", to train on, and "held_out", entries
            whose glosses do not occur in "known".
    """
    with np.load(path, allow_pickle=False) as file:
        names = [name for name in file.files if name not in ("notice", "merges")]
        return {name: file[name].tobytes().decode().split("\n") for name in names}


def load_merges(path):
    """Read the merges of the book's model from a file of entries: a list of pairs of strings."""
    with np.load(path, allow_pickle=False) as file:
        return [tuple(line.split("\t")) for line in file["merges"].tobytes().decode().split("\n")]


def pieces(text):
    """The parts of a text that merges never cross: words with the space before them, and single other characters."""
    return re.findall(r" ?[a-z]+|[^a-z]", text)


def vocabulary_of(merges):
    """All tokens in the order of their numbers: padding, the end, the characters, and what each merge joins."""
    return ["<pad>", "<end>", *CHARACTERS, *(left + right for left, right in merges)]


def numbered(texts, tokens_of, vocabulary):
    """Texts as lists of the numbers of their tokens.

    Args:
        texts: list of strings.
        tokens_of: a function that splits a text into tokens. It is called once for each different piece.
        vocabulary: list of strings, see `vocabulary_of`.

    Raises:
        KeyError: a token is not in the vocabulary.
    """
    number = {token: i for i, token in enumerate(vocabulary)}
    split = {piece: [number[token] for token in tokens_of(piece)] for piece in set(pieces("\n".join(texts))) - {"\n"}}
    return [[i for piece in pieces(text) for i in split[piece]] for text in texts]


def padded(texts):
    """Texts as one array, each between two END.

    Args:
        texts: list of lists of integers.

    Returns:
        tokens: (N, T), int64, padded at the end.
    """
    tokens = np.full((len(texts), 2 + max(map(len, texts))), PAD)
    tokens[:, 0] = END
    for row, text in zip(tokens, texts, strict=True):
        row[1 : 1 + len(text)] = text
        row[1 + len(text)] = END
    return tokens


def endless_batches(seed, texts, size):
    """Batches of texts of nearly one length, in a new random order in each pass.

    Args:
        seed: of the orders.
        texts: list of lists of integers.
        size: how many texts a batch has; the last one of a pass may have fewer.

    Yields:
        tokens: see `padded`.
    """
    rng = np.random.default_rng([seed, 1])
    lengths = np.array([len(text) for text in texts])
    while True:
        order = rng.permutation(len(texts))
        by_length = order[np.argsort(lengths[order], kind="stable")]
        starts = np.arange(0, len(texts), size)
        for start in rng.permutation(starts).tolist():
            yield padded([texts[i] for i in by_length[start : start + size]])
