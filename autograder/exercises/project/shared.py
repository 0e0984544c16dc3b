"""Draw small models, runs and padded batches for several exercises of chapter 10."""

import numpy as np

from solutions.parameters import initialise, map_tree


def small_run(draw, step, dtype=np.float64, vocab=9):
    """Draw a run of a small model after some steps. Its moments are zero only before step 1."""
    d_model = 2 * draw.size(2, 4)
    params = initialise(draw.rng, {"shared": vocab}, d_model, draw.size(5, 9), 1, 1)
    size = 0.05 if step else 0.0
    moved = map_tree(lambda array: array + size * draw.normal(*array.shape), params)
    mean = map_tree(lambda array: size * draw.normal(*array.shape), params)
    squares = map_tree(lambda array: (size * (1 + draw.rng.random(size=array.shape))) ** 2, params)
    cast = [map_tree(lambda array: array.astype(dtype), tree) for tree in (moved, mean, squares)]
    return {"params": cast[0], "moments": (cast[1], cast[2]), "step": step}


def small_batches(draw, n_batches, vocab=9, pad=0):
    """Draw batches of padded pairs, whose targets begin with 1 and end with 2."""
    batches = []
    for _ in range(n_batches):
        n_pairs, T_src, T_tgt = draw.sizes(3, low=3, high=7)
        src, tgt = draw.tokens(n_pairs, T_src, vocab=vocab, low=3), draw.tokens(n_pairs, T_tgt + 1, vocab=vocab, low=3)
        for rows in (src, tgt):
            rows[rows == pad] = vocab - 1
        tgt[:, 0], tgt[:, -1] = 1, 2
        tgt[0, -2:] = 2, pad
        src[0, -1] = pad
        batches.append((src, tgt))
    return batches
