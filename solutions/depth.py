"""Chapter 5, deep stacks of sub-layers: what depth and norm do to a gradient, and what shows that a stack is broken."""

import math

import numpy as np

from solutions.predictions import order_and_reasons


def predicted_gradients(runs):
    """Predict the order of fresh stacks by the gradient at their top.

    Args:
        runs: list of dicts, one for each stack.
            norm: "pre" or "post".
            depth: number of sub-layers.
            update: standard deviation of each sub-layer's output.

    Returns:
        order: list of indices of `runs`, from the smallest gradient of
            the last sub-layer's second weight to the largest.
        reasons: list of names of settings, one for each pair of neighbours
            in the order: if the first of the two takes this setting from
            the second, its gradient comes closest to the second's.
    """

    def gradient(run):
        n_updates = run["depth"] if run["norm"] == "pre" else 1
        return 1 / math.sqrt(1 + n_updates * run["update"] ** 2)

    return order_and_reasons(gradient, runs)


def diagnose_depth(record):
    """Name the bug in a deep stack, and the sub-layer that has it.

    Args:
        record: dict of arrays with a row for each sub-layer, counted from 0.
            stream: (n_layers + 1, n_words, d_model).
            moved: (n_layers + 1, n_words).
            stream_gradients: (n_layers + 1,).
            gain_gradients, w_in_gradients, w_out_gradients: (n_layers,).
            See 'Read a broken stack'.

    Returns:
        bug: str, a name in the table of 'Read a broken stack'.
        first: int, the sub-layer with the bug; None if the bug is
            "nothing".
    """
    before, after = record["stream"][:-1], record["stream"][1:]
    spread = record["stream"].std(axis=(1, 2))
    kept = np.sum(before * after, axis=(1, 2)) / np.sum(before * before, axis=(1, 2))
    update = np.std(after - before, axis=(1, 2))
    large = update > 2.5 * np.median(update)
    gain, w_in, w_out = (record[f"{name}_gradients"] for name in ("gain", "w_in", "w_out"))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = w_out / w_in
    shrinks = spread[1:] < 0.9 * spread[:-1]
    signs = {
        "norm over the words": (record["moved"][1:, :-1] > 0).any(axis=1),
        "gain at zero": w_out == 0,
        "w_out at zero": w_in == 0,
        "norm missing": gain == 0,
        "norm after the sum": (np.abs(after.std(axis=-1) - 1) < 1e-3).all(axis=-1),
        "stream normalised": shrinks & (kept > 0.25),
        "residual missing": shrinks,
        "w_in not scaled": large & (ratio > np.median(ratio)),
        "w_out not scaled": large,
        "residual missing on the way back": record["stream_gradients"][:-1] < 0.8 * record["stream_gradients"][1:],
    }
    for bug, shown in signs.items():
        if shown.any():
            return bug, int(shown.argmax())
    return "nothing", None
