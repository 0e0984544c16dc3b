"""Measure a program of chapter 12 by what its functions do with the parameters of a run. Given.

The functions are an argument, so that a notebook can measure its own ones, and grading can measure wrong ones.
"""

import numpy as np

from solutions.definitions import END, PAD
from solutions.parameters import map_tree, named
from solutions.training import zero_moments


def program_record(program, params, tokens, n_heads):
    """Measure what needs no other program.

    Args:
        program: dict of name -> function, such as `globals()` of a notebook. It has the model's functions
            (`definer_forward`, `definer_backward`, `smoothed_cross_entropy`, `smoothed_cross_entropy_backward`) and the
            optimiser's (`adamw_step`).
        params: see `fresh_definer`; measured in double precision.
        tokens: (N, T), texts of one length, see `padded`.
        n_heads: int

    Returns:
        record: dict of arrays.
            moved: (T - 1,), how far the logits of each token move, at most, if only the last token changes,
                to nine decimals: sums in another order differ by less.
            padded: (2,), the loss of the texts alone, and with three columns of padding after them.
            slopes: dict of the table, the last norm and each array of the last layer -> (2,), how fast the loss rises
                along the gradient of this array: measured, and according to the gradient.
            kept: (2,), the share of the table and of the last norm that a step of the optimiser keeps, with a gradient
                of zero, a learning rate of 0.1 and a decay of 0.5.
    """
    params = map_tree(lambda array: array.astype(np.float64), params)

    def loss_of(tokens):
        logits, cache = program["definer_forward"](params, tokens[:, :-1], n_heads)
        return *program["smoothed_cross_entropy"](logits, tokens[:, 1:]), logits, cache

    loss, loss_cache, logits, cache = loss_of(tokens)
    grad_logits = program["smoothed_cross_entropy_backward"](1.0, loss_cache)
    gradients = named(program["definer_backward"](grad_logits, cache))
    last_layer = f"layers.{len(params['layers']) - 1}."
    slopes = {}
    for path, array in named(params).items():
        if path in ("table", "norm") or path.startswith(last_layer):
            length = np.linalg.norm(gradients[path])
            step = 1e-5 * gradients[path] / (length or 1)
            array += step  # in place, so it is the model's
            ahead = loss_of(tokens)[0]
            array -= 2 * step
            behind = loss_of(tokens)[0]
            array += step
            slopes[path.rpartition(".")[-1]] = np.array([(ahead - behind) / 2e-5, length])
    other = tokens.copy()
    other[:, -2] = END
    with_padding = np.pad(tokens, ((0, 0), (0, 3)), constant_values=PAD)
    before = {name: params[name] for name in ("table", "norm")}
    moments, zeros = zero_moments(before), map_tree(np.zeros_like, before)
    after, _ = program["adamw_step"](before, zeros, moments, 1, 0.1, 0.5)
    return {
        "moved": np.abs(loss_of(other)[2] - logits).max(axis=(0, 2)).round(9),
        "padded": np.array([loss, loss_of(with_padding)[0]]),
        "slopes": slopes,
        "kept": np.array([np.linalg.norm(after[name]) / np.linalg.norm(before[name]) for name in before]),
    }
