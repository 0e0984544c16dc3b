"""The model that the page of chapter 12 runs: a trained definer with its table in 8 bits and all else in 4.

    python -m solutions.page_model WEIGHTS.npz ENTRIES.npz FILE.npz

reads trained weights, prints what a few precisions cost, and writes the file beside the page.
"""

import sys

import numpy as np

from solutions.definer import definer_forward, mean_loss
from solutions.definitions import END, load_entries, load_merges, numbered, vocabulary_of
from solutions.dictionary import text_tokens
from solutions.parameters import load, named, unflatten
from solutions.project import top_p
from solutions.since import quantise_groups

N_HEADS, GROUP = 4, 32
TABLE_BITS, BITS = 8, 4


def quantised(params, bits, table_bits=None):
    """The arrays of a file that needs few bytes.

    Args:
        params: nested dict, such as those of `fresh_definer`.
        bits: of all matrices, see `quantise_groups`.
        table_bits: those of "table", if they are others.

    Returns:
        arrays: dict. A matrix has its codes, int8, under its path, and under path + ".scales" its scales in half
            precision, each for 32 neighbours of a column. A vector is stored in half precision.
    """
    arrays = {}
    for path, array in named(params).items():
        if array.ndim == 2:
            codes, scales = quantise_groups(array, GROUP, (path == "table" and table_bits) or bits)
            arrays |= {path: codes, f"{path}.scales": scales.astype(np.float16)}
        else:
            arrays[path] = array.astype(np.float16)
    return arrays


def restored(arrays, like):
    """The parameters that come back from `quantised`, float32, as a tree like `like`."""

    def numbers(path):
        values = arrays[path].astype(np.float32)
        if values.ndim == 2:
            values *= np.repeat(arrays[f"{path}.scales"].astype(np.float32), GROUP, axis=0)[: len(values)]
        return values.ravel()

    return unflatten(np.concatenate([numbers(path) for path in named(like)]), like)


def code_bits(codes):
    """How many bits a code needs, if the largest is 2**(bits - 1) - 1."""
    return int(np.abs(codes).max()).bit_length() + 1


def n_bytes(arrays):
    """How many bytes the arrays of `quantised` need, if each code has its few bits."""
    packed = [-(-code_bits(array) * array.size // 8) for array in arrays.values() if array.dtype == np.int8]
    return sum(packed) + sum(array.nbytes for array in arrays.values() if array.dtype != np.int8)


def defined(params, beginning, merges, rng, p=0.9, temperature=0.7, longest=40):
    """Draw a definition.

    Args:
        params: see `fresh_definer`.
        beginning: str, such as "gloamer n:".
        merges: see `text_tokens`.
        rng: np.random.Generator, which gives a number for each token.
        p, temperature: see `top_p`.
        longest: how many tokens are drawn.

    Returns:
        gloss: str
    """
    vocabulary = vocabulary_of(merges)
    [tokens] = numbered([beginning], lambda piece: text_tokens(piece, merges), vocabulary)
    tokens, gloss = [END, *tokens], ""
    for place in rng.random(longest):
        logits, _ = definer_forward(params, np.array(tokens), N_HEADS)
        chances = top_p(logits[-1].astype(np.float64), p, temperature)
        tokens.append(int((chances.cumsum() <= place * chances.sum()).sum()))
        if tokens[-1] == END:
            break
        gloss += vocabulary[tokens[-1]]
    return gloss.strip()


def main(weights, entries, path):
    params, merges = load(weights), load_merges(entries)
    vocabulary = vocabulary_of(merges)
    texts = numbered(load_entries(entries)["held_out"], lambda text: text_tokens(text, merges), vocabulary)
    n_numbers = sum(array.size for array in named(params).values())
    print(f"float32: {4 * n_numbers:,} bytes, held out {mean_loss(params, texts):.4f}")
    for bits, table_bits in ((8, 8), (4, 4), (BITS, TABLE_BITS)):
        arrays = quantised(params, bits, table_bits)
        loss = mean_loss(restored(arrays, params), texts)
        print(f"{bits} bits, table {table_bits}: {n_bytes(arrays):,} bytes, held out {loss:.4f}")
    with np.load(entries, allow_pickle=False) as file:
        np.savez_compressed(path, notice=file["notice"], **arrays)


if __name__ == "__main__":
    main(*sys.argv[1:])
