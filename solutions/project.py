"""Chapter 10, letters and sounds: what training a real model needs, and a language model of one stack.

Shapes use the names of the book's notation page; `...` stands for any leading batch axes. A *run* is a dict
of what training must remember from step to step: the parameters, Adam's moments, and the number of steps made.
"""

import math

import numpy as np

from solutions.attention import attention, softmax
from solutions.backward import linear
from solutions.heads import merge_heads
from solutions.model import backward, forward, unembed
from solutions.multihead import split_heads
from solutions.parameters import flatten, map_tree, named
from solutions.position import positional_embedding
from solutions.residual import add_norm, feed_forward
from solutions.training import (
    adam_step,
    noam_learning_rate,
    smoothed_cross_entropy,
    smoothed_cross_entropy_backward,
)


def clip_gradients(gradients, longest):
    """Shorten all gradients by one factor, so that their length is bounded.

    Args:
        gradients: a tree: an array, or a list or a dict of trees.
        longest: float, the largest length allowed.

    Returns:
        clipped: the shortened gradients, each array in its dtype.
            Gradients that are short enough may be returned as they are.
        length: float, the length of all gradients together before
            clipping: the root of the sum of all squares.

    Source: Pascanu et al. 2013, algorithm 1.
    """
    length = float(np.linalg.norm(flatten(gradients)))
    factor = longest / max(length, longest)

    def shorter(gradient):
        return factor * gradient

    return map_tree(shorter, gradients), length


def batches_by_length(lengths, budget):
    """Put pairs of similar length into one batch, and count the padding.

    Args:
        lengths: (N, 2), integers: the tokens of each source, and of its
            target.
        budget: int. A batch has at most this many places, padding included:
            its number of pairs, times the sum of its longest source and its
            longest target. A pair that is longer is alone in a batch.

    Returns:
        batches: list of arrays of integers, the numbers of the pairs in
            each batch. The pairs are sorted by target, then by source,
            shortest first; equal ones keep their order. Each batch takes as
            many of the next pairs as fit.
        padding: (n_batches,), integers: the places of each batch that are
            padding.

    Source: Vaswani et al. 2017, section 5.1, batch by length.
    """
    batches, batch, longest = [], [], np.zeros(2, int)
    for pair in np.lexsort((lengths[:, 0], lengths[:, 1])).tolist():
        grown = np.maximum(longest, lengths[pair])
        if batch and (len(batch) + 1) * grown.sum() > budget:
            batches.append(np.array(batch))
            batch, grown = [], lengths[pair]
        batch.append(pair)
        longest = grown
    batches += [np.array(batch)] if batch else []
    places = [len(batch) * lengths[batch].max(axis=0).sum() for batch in batches]
    tokens = [lengths[batch].sum() for batch in batches]
    return batches, np.array(places, int) - np.array(tokens, int)


def edit_path(guess, truth):
    """Find the fewest edits that turn the truth into the guess.

    An edit replaces a token, leaves one out, or puts one in.

    Args:
        guess: (n,), integers.
        truth: (m,), integers.

    Returns:
        distance: int, the number of edits.
        path: (n_moves, 2), integers, from the beginning to the end: a row
            (i, j) pairs guess[i] with truth[j]; (-1, j) leaves truth[j]
            out; (i, -1) puts guess[i] in. Of several shortest paths, the
            one that, read from its end, prefers (i, j) to (-1, j), and
            (-1, j) to (i, -1).

    Source: Levenshtein 1966; Wagner & Fischer 1974.
    """
    n, m = len(guess), len(truth)
    table = np.add.outer(np.arange(n + 1), np.arange(m + 1))  # right in row 0 and in column 0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            replaced = table[i - 1, j - 1] + (guess[i - 1] != truth[j - 1])
            table[i, j] = min(replaced, table[i, j - 1] + 1, table[i - 1, j] + 1)
    path, i, j = [], n, m
    while i or j:
        if i and j and table[i, j] == table[i - 1, j - 1] + (guess[i - 1] != truth[j - 1]):
            i, j = i - 1, j - 1
            path.append((i, j))
        elif j and table[i, j] == table[i, j - 1] + 1:
            j -= 1
            path.append((-1, j))
        else:
            i -= 1
            path.append((i, -1))
    return int(table[n, m]), np.array(path[::-1], int).reshape(-1, 2)


def continue_run(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
    """Train on some more batches, as if the run had never stopped.

    Args:
        run: dict of "params", a tree as `initialise` makes it; "moments",
            Adam's (mean, mean_of_squares), two trees like params; and
            "step", the number of steps made so far, 0 at first.
        batches: iterable of (src, tgt), see `train_step`.
        n_heads: int
        peak: the highest learning rate, at step `warmup`. The rate rises
            linearly to it, then falls as 1 / sqrt(step).
        warmup: int
        longest: see `clip_gradients`.
        smoothing: eps of the label smoothing.
        pad: the padding token.

    Returns:
        run: the run after the last batch. The run passed in is not modified.
        log: (n_batches, 2), the loss of each batch before its step, and
            the length of its gradients before clipping.

    Source: Vaswani et al. 2017, section 5.
    """
    params, moments, step = run["params"], run["moments"], run["step"]
    log = []
    for src, tgt in batches:
        step += 1
        logits, model_cache = forward(params, src, tgt[:, :-1], n_heads, pad)
        loss, loss_cache = smoothed_cross_entropy(logits, tgt[:, 1:], smoothing, pad)
        gradients = backward(smoothed_cross_entropy_backward(1.0, loss_cache), model_cache)
        clipped, length = clip_gradients(gradients, longest)
        rate = peak * math.sqrt(warmup) * noam_learning_rate(step, 1, warmup)
        params, moments = adam_step(params, clipped, moments, step, rate)
        log.append((float(loss), length))
    return {"params": params, "moments": moments, "step": step}, np.array(log).reshape(-1, 2)


def saved_run(run):
    """Return a run as a flat dict of arrays, for a file without pickle.

    Args:
        run: see `continue_run`.

    Returns:
        arrays: dict of name -> array: "step", an int64 without axes; and
            each array of the three trees under "params.", "mean." or
            "mean_of_squares." and its path, such as
            "mean.encoder.0.norm_attention.gain". Values and dtypes are
            those of the run, bit for bit.
    """
    mean, mean_of_squares = run["moments"]
    trees = {"params": run["params"], "mean": mean, "mean_of_squares": mean_of_squares}
    return {"step": np.array(run["step"], np.int64), **named(trees)}


def predicted_ablations(runs):
    """Predict the order of short runs by their loss on new families.

    Args:
        runs: list of dicts, one for each run.
            words: how many words it trains on.
            rate: highest learning rate, at step 60 of 160.
            layers: the number of layers on each side.
            heads: the number of heads in each layer.
            smoothing: eps of the label smoothing.

    Returns:
        order: list of indices of `runs`, from the lowest loss to the
            highest. The loss is measured without smoothing.
    """

    def loss(run):
        by_rate = np.interp(math.log10(run["rate"]), (-4, -3, -2, -1), (2.6, 1.3, 0, 1.7))
        times_seen = 160 * 32 / run["words"]
        by_heart = 2.7 * max(0, math.log10(times_seen / 10))
        return by_rate + by_heart + 0.2 * (run["layers"] - 1) ** 1.5 + run["smoothing"]

    return sorted(range(len(runs)), key=lambda i: loss(runs[i]))


def diagnose_log(log):
    """Name the bug in a training log, and the column that shows it first.

    Args:
        log: dict of arrays with a row for every eighth step.
            step, loss, held_out, copied, past_moves, padding_moves:
            (n_rows,).
            updates: (n_rows, 3), of the embeddings, the encoder and the
            decoder.
            wrong: ().
            See 'Eight runs that failed'.

    Returns:
        bug: str, a name in the table of 'Eight runs that failed'.
        first: str, the name of the column that shows the bug at the
            earliest step; of several, the first in the list above. None
            if the bug is "nothing".
    """
    loss, held_out, updates = log["loss"], log["held_out"], log["updates"].max(axis=-1)
    knows_nothing = math.log(69)
    signs = [
        ("leak", "past_moves", log["past_moves"].max() > 0.01),
        ("padding not masked", "padding_moves", log["padding_moves"].max() > 0.01),
        ("layer frozen", "updates", (log["updates"] == 0).any()),
        ("no warm-up", "updates", updates[0] == updates.max()),
        ("rate too high", "updates", updates[0] > 5e-4),
        ("table not scaled", "loss", loss[0] > 2 * knows_nothing),
        ("labels not shifted", "loss", loss[0] < 0.9 * knows_nothing),
        ("overfitting", "held_out", held_out[-1] > held_out.min() + 0.2),
    ]
    return next(((bug, first) for bug, first, shown in signs if shown), ("nothing", None))


def top_p(logits, p, temperature=1.0):
    """The distribution from which top-p sampling draws the next token.

    Args:
        logits: (..., vocab)
        p: float, above 0 and at most 1.
        temperature: float, above 0; the logits are divided by it first.

    Returns:
        probabilities: (..., vocab), in the dtype of the logits, adding up
            to one. The likeliest tokens keep the ratios that they have
            after the softmax: the fewest whose probabilities add up to p
            or more. All others have 0. Of equally likely tokens, the one
            with the smaller number comes first.

    Raises:
        ValueError: p or temperature is out of its range.

    Source: Holtzman et al. 2020 (arXiv 1904.09751), section 3.1.
    """
    if not (0 < p <= 1 and temperature > 0):
        raise ValueError(f"p = {p} and temperature = {temperature}: 0 < p <= 1 and 0 < temperature are needed")
    probabilities = softmax(logits / temperature)
    order = np.argsort(-probabilities, axis=-1, kind="stable")
    sorted_ones = np.take_along_axis(probabilities, order, axis=-1)
    before = np.cumsum(sorted_ones, axis=-1) - sorted_ones
    kept = np.where(before < p, sorted_ones, 0)
    kept = kept / kept.sum(axis=-1, keepdims=True)
    result = np.zeros_like(kept)
    np.put_along_axis(result, order, kept, axis=-1)
    return result


def stack_step(params, token, past, n_heads):
    """Read one more token, with the keys and values of the older ones.

    Args:
        params: {"embeddings": {"shared": (vocab, d_model)},
            "layers": [layer, ...]}, each layer as `encoder_layer` takes
            it.
        token: (N,), integers, the newest token of each text; no padding.
        past: list of (keys, values), one for each layer, each
            (N, n_heads, t, d_head), of the t older tokens; t may be 0.
        n_heads: int

    Returns:
        logits: (N, vocab), in the dtype of the parameters: the last row
            of what all t + 1 tokens give with a causal mask.
        past: the list for the next step, of t + 1 tokens.

    Source: derived from chapter 8's cache; Shazeer 2019, section 2.
    """
    table = params["embeddings"]["shared"]
    x, _ = positional_embedding(token[:, np.newaxis], table, start=past[0][0].shape[-2])
    new_past = []
    for layer, (keys, values) in zip(params["layers"], past, strict=True):
        weights = layer["attention"]
        query, key, value = (
            split_heads(linear(x, weights[f"w_{role}"], weights[f"b_{role}"])[0], n_heads)
            for role in ("query", "key", "value")
        )
        keys, values = np.concatenate([keys, key], axis=-2), np.concatenate([values, value], axis=-2)
        heads, _ = attention(query, keys, values)
        attended, _ = linear(merge_heads(heads), weights["w_output"], weights["b_output"])
        x, _ = add_norm(x, attended, layer["norm_attention"])
        thought, _ = feed_forward(x, layer["feed_forward"])
        x, _ = add_norm(x, thought, layer["norm_feed_forward"])
        new_past.append((keys, values))
    return unembed(x[:, 0], table)[0], new_past
