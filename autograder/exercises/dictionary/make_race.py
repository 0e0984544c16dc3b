"""Make the runs of chapter 12's race: the layer of 2017, that of today, and those with one change; four vocabularies.

    python -m autograder.exercises.dictionary.make_race

trains with one thread and writes `chapters/race.npz`, which holds for each entrant its held-out losses (a token's, in
nats, one for each seed), the processor seconds of its runs, its parameters, and the tokens of the held-out entries. The
vocabularies train the reader's model, each for as many steps as take equal time; the file holds these, too. An
interrupted race continues where it was. All runs together take about half an hour of processor time.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # set before the import of NumPy: more threads add in another order

import math
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import islice
from typing import NamedTuple

import numpy as np

from autograder.exercises.dictionary.programs import PROGRAMS, Program, model_of, slip
from autograder.layout import REPO
from solutions import definer, definer_parameters, dictionary
from solutions.definer_parameters import fresh_definer
from solutions.definitions import endless_batches, load_entries, numbered, pieces, vocabulary_of
from solutions.masking import causal_mask
from solutions.parameters import count, initialise
from solutions.position import positional_embedding
from solutions.residual import (
    encoder_layer,
    encoder_layer_backward,
    feed_forward,
    feed_forward_backward,
    layer_norm,
    layer_norm_backward,
)
from solutions.training import zero_moments

STORED = REPO / "chapters" / "race.npz"
N_STEPS, N_SEEDS, SIZE, PEAK = 1_500, 3, 32, 3e-3
N_STEPS_LONG = 4_000  # of the reader's model with 1,024 tokens
TURN = 20  # steps with one vocabulary, before the next has its turn
SIZES = {"vocab": 1024, "d_model": 48, "d_ff": 128, "n_layers": 2, "n_heads": 4, "n_groups": 2}

Params = dict


class Entrant(NamedTuple):
    """A model that trains: how its parameters begin, and which functions of today's model it changes."""

    start: Callable[[np.random.Generator], Params]
    program: Program = {}
    n_tokens: int = SIZES["vocab"]


def today(rng: np.random.Generator, **sizes: int) -> Params:
    return fresh_definer(rng, **SIZES | sizes)


def of_2017(rng: np.random.Generator) -> Params:
    """Begin as chapter 8's model does; 163 features in the wide row give as many parameters as today's layer has."""
    params = initialise(rng, {"shared": SIZES["vocab"]}, SIZES["d_model"], 163, SIZES["n_layers"], 0, np.float32)
    return {"table": params["embeddings"]["shared"], "layers": params["encoder"], "norm": NO_GAIN}


def with_layer_norms(rng: np.random.Generator) -> Params:
    def norm(gain: np.ndarray) -> Params:
        return {"gain": gain, "bias": np.zeros_like(gain)}

    params = today(rng)
    layers = [
        layer | {name: norm(layer[name]) for name in layer if name.startswith("norm")} for layer in params["layers"]
    ]
    return params | {"layers": layers, "norm": norm(params["norm"])}


def with_norms_after(rng: np.random.Generator) -> Params:
    return today(rng) | {"norm": NO_GAIN}


def with_relu(rng: np.random.Generator) -> Params:
    def two_matrices(w_gate: np.ndarray, w_up: np.ndarray, w_down: np.ndarray) -> Params:
        return {
            "w_in": w_up,
            "b_in": np.zeros_like(w_up[0]),
            "w_out": w_down,
            "b_out": np.zeros_like(w_down[0]),
        }

    params = today(rng, d_ff=190)  # two matrices of this width, and biases, are as large as three of 128
    return params | {
        "layers": [layer | {"feed_forward": two_matrices(**layer["feed_forward"])} for layer in params["layers"]]
    }


def with_sinusoids(rng: np.random.Generator) -> Params:
    """Begin with a table as large as in 2017; the sinusoids would drown words that are smaller."""
    params = today(rng)
    return params | {"table": params["table"] / np.float32(0.02 * math.sqrt(SIZES["d_model"]))}


def _layer_norm_backward(grad_output, cache):
    grad_x, grad_gain, grad_bias = layer_norm_backward(grad_output, cache)
    return grad_x, {"gain": grad_gain, "bias": grad_bias}


NO_GAIN = np.ones(0, np.float32)
NO_LAST_NORM: Program = {
    "definer.rms_norm": lambda x, gain: (x, gain),
    "definer.rms_norm_backward": lambda grad, gain: (grad, gain),
}
LAYER_NORMS: Program = {
    f"{module}.{name}": function
    for module in ("definer", "dictionary")
    for name, function in (
        ("rms_norm", lambda x, params: layer_norm(x, **params)),
        ("rms_norm_backward", _layer_norm_backward),
    )
}
NORMS_AFTER: Program = NO_LAST_NORM | {
    "definer.modern_layer": slip(
        dictionary.modern_layer,
        ('normed, norm_attention = rms_norm(x, params["norm_attention"])', "normed = x"),
        (
            'hidden = x + merged @ weights["w_output"]',
            'hidden, norm_attention = rms_norm(x + merged @ weights["w_output"], params["norm_attention"])',
        ),
        ('normed_hidden, norm_feed_forward = rms_norm(hidden, params["norm_feed_forward"])', "normed_hidden = hidden"),
        (
            "return hidden + update,",
            'output, norm_feed_forward = rms_norm(hidden + update, params["norm_feed_forward"])\n    return output,',
        ),
    ),
    "definer.modern_layer_backward": slip(
        dictionary.modern_layer_backward,
        (
            "grad_normed_hidden, grad_feed_forward = swiglu_backward(grad_output, feed_forward)",
            "grad_sum, grad_gain_feed_forward = rms_norm_backward(grad_output, norm_feed_forward)\n"
            "    grad_through, grad_feed_forward = swiglu_backward(grad_sum, feed_forward)",
        ),
        (
            "grad_through, grad_gain_feed_forward = rms_norm_backward(grad_normed_hidden, norm_feed_forward)\n"
            "    grad_hidden = grad_output + grad_through",
            "grad_hidden, grad_gain_attention = rms_norm_backward(grad_sum + grad_through, norm_attention)",
        ),
        (
            "grad_through, grad_gain_attention = rms_norm_backward(grad_normed, norm_attention)",
            "grad_through = grad_normed",
        ),
    ),
}
RELU: Program = {"dictionary.swiglu": feed_forward, "dictionary.swiglu_backward": feed_forward_backward}
ADDED_POSITIONS: Program = {"definer.embed": positional_embedding}
LAYER_OF_2017: Program = {
    "definer.modern_layer": lambda x, params, n_heads: encoder_layer(x, params, n_heads, causal_mask(x.shape[-2])),
    "definer.modern_layer_backward": encoder_layer_backward,
}
ENTRANTS = {
    "today": Entrant(today),
    "2017": Entrant(of_2017, LAYER_OF_2017 | ADDED_POSITIONS | NO_LAST_NORM),
    "layer norm": Entrant(with_layer_norms, LAYER_NORMS),
    "norm after the sum": Entrant(with_norms_after, NORMS_AFTER),
    "relu": Entrant(with_relu, RELU),
    "sinusoids": Entrant(with_sinusoids, PROGRAMS["turns nothing"] | ADDED_POSITIONS),
    "a group for each head": Entrant(partial(today, n_groups=SIZES["n_heads"], d_ff=112)),
    "look-up not scaled": Entrant(today, PROGRAMS["does not scale the look-up"]),
}
VOCABULARIES = {
    f"{n} tokens": Entrant(partial(fresh_definer, **definer_parameters.SIZES | {"vocab": n}), n_tokens=n)
    for n in (256, 512, 1024, 2048)
}


@cache
def texts_of(n_tokens: int) -> dict[str, list[list[int]]]:
    """Return the entries as numbers, in a vocabulary of this many tokens."""
    entries = load_entries(REPO / "chapters" / "definitions.npz")
    counts = Counter(piece for line in entries["known"] for piece in pieces(line))
    merges = dictionary.merges_of(counts, n_tokens - len(vocabulary_of([])))
    tokens_of, vocabulary = partial(dictionary.text_tokens, merges=merges), vocabulary_of(merges)
    return {part: numbered(lines, tokens_of, vocabulary) for part, lines in entries.items()}


def training(entrant: Entrant, seed: int, texts: list[list[int]], n_steps: int) -> Iterator[Params]:
    """Train a model, and yield its parameters after each step."""
    params = entrant.start(np.random.default_rng(seed))
    model, moments = model_of(entrant.program), zero_moments(params)
    for step, tokens in enumerate(islice(endless_batches(seed, texts, SIZE), n_steps), start=1):
        rate = definer.cosine_rate(step / n_steps, PEAK)
        params, moments, _ = model.definer_step(params, moments, step, tokens, SIZES["n_heads"], rate)
        yield params


def timed(steps: Iterator[Params]) -> tuple[Params, float]:
    """Return the last parameters, and the processor seconds of these steps."""
    started = time.process_time()
    (params,) = deque(steps, maxlen=1)
    return params, time.process_time() - started


def equal_times() -> dict[str, int]:
    """Return how many steps take each vocabulary equally long.

    They take turns, so that what slows the machine down slows all of them. Each sees all entries once, so that it has
    batches of every length.
    """
    known = {name: texts_of(entrant.n_tokens)["known"] for name, entrant in VOCABULARIES.items()}
    n_steps = math.ceil(len(known["1024 tokens"]) / SIZE)
    runs = {name: training(entrant, 0, known[name], n_steps) for name, entrant in VOCABULARIES.items()}
    seconds = Counter()
    for _ in range(0, n_steps, TURN):
        for name, run in runs.items():
            seconds[name] += timed(islice(run, TURN))[1]
    return {name: round(N_STEPS_LONG * seconds["1024 tokens"] / seconds[name]) for name in runs}


def main() -> None:
    stored = {path: array.tolist() for path, array in np.load(STORED).items()} if STORED.exists() else {}
    if not all(f"{name}.steps" in stored for name in VOCABULARIES):
        stored |= {f"{name}.steps": n_steps for name, n_steps in equal_times().items()}
    for seed in range(N_SEEDS):
        for name, entrant in (ENTRANTS | VOCABULARIES).items():
            if len(stored.get(f"{name}.losses", ())) > seed:
                continue
            texts = texts_of(entrant.n_tokens)
            n_steps = stored.get(f"{name}.steps", N_STEPS)
            params, seconds = timed(training(entrant, seed, texts["known"], n_steps))
            loss = model_of(entrant.program).mean_loss(params, texts["held_out"], SIZES["n_heads"])
            stored[f"{name}.parameters"] = count(params)
            stored[f"{name}.tokens"] = sum(len(text) + 1 for text in texts["held_out"])
            stored.setdefault(f"{name}.losses", []).append(loss)
            stored.setdefault(f"{name}.seconds", []).append(seconds)
            print(f"{name:22} {seed}: {loss:.4f} nats, {seconds:.0f} s", flush=True)
            np.savez_compressed(STORED, **{path: np.array(value) for path, value in stored.items()})


if __name__ == "__main__":
    main()
