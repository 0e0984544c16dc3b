"""Compare a training step of the NumPy models with eager PyTorch.

    python benchmarks/model.py [--rounds 7]

First chapter 8's model. A step is forward, loss, backward and Adam for a model of 2 + 2 layers with d_ff = 4 d_model
and a vocabulary of 512, in float32 on one thread. The benchmark measures CPU time. `train_step` of
solutions/training.py and the eager modules of solutions/transformer_torch.py with torch.optim.Adam start from the same
parameters, get the same batches and take turns. "Products" compares only the matrix products of a step's linear layers:
what NumPy's BLAS takes, divided by what PyTorch's takes.

Then chapter 12's model, at the sizes of the reader's and of the page's. Its steps are those of solutions/definer.py on
batches of 32 entries, with clipping and AdamW. PyTorch's layer is the twin with which the chapter compares its own.
"""

import argparse
import math
import os
import re
import sys
from functools import partial
from itertools import islice
from pathlib import Path

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np
import torch
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from benchmarks.timing import REPO, SIZES, turns
from chapters import parity
from solutions import definer
from solutions.definer_parameters import SIZES as READER_SIZES
from solutions.definer_parameters import fresh_definer
from solutions.definitions import PAD, endless_batches, load_entries, load_merges, numbered, vocabulary_of
from solutions.dictionary import text_tokens
from solutions.model_torch import load_parameters
from solutions.parameters import initialise, named
from solutions.training import train_step, zero_moments
from solutions.transformer_torch import Transformer

N_LAYERS, VOCAB, LEARNING_RATE, DECAY = 2, 512, 1e-3, 0.05
PAGE_SIZES = READER_SIZES | {"d_model": 128, "d_ff": 320, "n_layers": 4}


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--rounds", type=int, default=7, help="how many turns the contenders take at each size")
    rounds = arguments.parse_args().rounds
    torch.set_num_threads(1)
    print("NumPy:", np.show_config("dicts")["Build Dependencies"]["blas"]["openblas configuration"])
    print("PyTorch:", re.search(r"oneAPI[^\n]*|OpenBLAS[^\n]*|BLAS_INFO=\w+", torch.__config__.show())[0])
    print("                      |    ms a step      | by PyTorch's")
    print("  N   T d_model heads |   NumPy   PyTorch | step  products")
    for size in SIZES:
        ours, theirs = turns([numpy_stepper(size), torch_stepper(size)], 0.3, rounds).min(axis=0)
        print(
            "{:3d} {:3d} {:7d} {:5d}".format(*size),
            f"| {1e3 * ours:7.2f} {1e3 * theirs:9.2f}",
            f"| {ours / theirs:5.2f} {product_ratio(size, rounds):8.2f}",
        )
    batches = entry_batches(20)
    n_tokens = sum((tokens[:, 1:] != PAD).sum() for tokens in batches)
    print("chapter 12   |  tokens a second  | by PyTorch's")
    print("d_model d_ff |   NumPy   PyTorch |")
    for sizes in (READER_SIZES, PAGE_SIZES):
        steppers = [numpy_definer(sizes, batches), torch_definer(sizes, batches)]
        ours, theirs = n_tokens / turns(steppers, 0.3, rounds).min(axis=0)
        print(f"{sizes['d_model']:7d} {sizes['d_ff']:4d} | {ours:7,.0f} {theirs:9,.0f} | {ours / theirs:5.2f}")


def product_ratio(size, rounds):
    """Return NumPy's CPU seconds for the products of a step's linear layers, divided by PyTorch's for the same ones."""
    n, length, d_model, _ = size
    rng = np.random.default_rng(0)
    times = np.zeros((rounds, 2))
    # An encoder and a decoder layer have 12 projections, and two layers in each of two feed-forward networks.
    for d_in, d_out, count in ((d_model, d_model, 12), (d_model, 4 * d_model, 2), (4 * d_model, d_model, 2)):
        shapes = (n * length, d_in), (d_in, d_out), (n * length, d_out)
        arrays = [rng.normal(size=shape).astype(np.float32) for shape in shapes]
        steps = [partial(linear_products, *arrays), partial(linear_products, *map(torch.from_numpy, arrays))]
        times += count * turns(steps, 0.02, rounds)
    numpy_time, torch_time = times.min(axis=0)
    return numpy_time / torch_time


def linear_products(x, weight, grad_output):
    """Multiply as a linear layer does forward and backward."""
    x @ weight
    grad_output @ weight.T
    x.T @ grad_output


def numpy_stepper(size):
    """Return a function that does one training step in NumPy."""
    params, src, tgt, n_heads = problem(size)
    state = [params, zero_moments(params), 0]

    def step():
        state[2] += 1
        state[0], state[1], _ = train_step(*state, src, tgt, n_heads, LEARNING_RATE, smoothing=0.1)

    return step


def torch_stepper(size):
    """Return a function that does the same step in eager PyTorch."""
    params, src, tgt, n_heads = problem(size)
    d_model = size[2]
    model = Transformer({"shared": VOCAB}, d_model, n_heads, 4 * d_model, N_LAYERS, N_LAYERS)
    load_parameters(model, named(params))
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE, betas=(0.9, 0.98), eps=1e-9)
    src, tgt = torch.tensor(src), torch.tensor(tgt)

    def step():
        optimizer.zero_grad()
        logits = model(src, tgt[:, :-1])
        loss = functional.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten(), ignore_index=0, label_smoothing=0.1)
        loss.backward()
        optimizer.step()

    return step


def problem(size):
    """Return the parameters and a batch without padding, which all contenders share."""
    n, length, d_model, n_heads = size
    rng = np.random.default_rng(0)
    params = initialise(rng, {"shared": VOCAB}, d_model, 4 * d_model, N_LAYERS, N_LAYERS, np.float32)
    return params, rng.integers(1, VOCAB, (n, length)), rng.integers(1, VOCAB, (n, length + 1)), n_heads


def entry_batches(n):
    """Return the first batches of the chapter's recipe, each (32, T)."""
    path = REPO / "chapters" / "definitions.npz"
    merges = load_merges(path)
    texts = numbered(load_entries(path)["known"], partial(text_tokens, merges=merges), vocabulary_of(merges))
    return list(islice(endless_batches(0, texts, definer.RECIPE["size"]), n))


def numpy_definer(sizes, batches):
    """Return a function that does a step of NumPy's training with each batch, and returns the last loss."""
    params = fresh_definer(np.random.default_rng(0), **sizes)
    state = [params, zero_moments(params), 0]

    def step():
        for tokens in batches:
            state[2] += 1
            state[0], state[1], loss = definer.definer_step(
                *state, tokens, sizes["n_heads"], LEARNING_RATE, decay=DECAY
            )
        return loss

    return step


def torch_definer(sizes, batches):
    """Return a function that does the same steps in eager PyTorch."""
    params = fresh_definer(np.random.default_rng(0), **sizes)
    params = parity.mapped(lambda array: torch.tensor(array, requires_grad=True), params)
    layer, scale = parity.modern_layer(sizes["n_heads"]), math.sqrt(sizes["d_model"])
    arrays = [array for _, array in parity.leaves(params)]
    groups = [
        {"params": [array for array in arrays if array.ndim == 2], "weight_decay": DECAY},
        {"params": [array for array in arrays if array.ndim == 1], "weight_decay": 0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=LEARNING_RATE, betas=(0.9, 0.95), eps=1e-8)

    def step():
        for tokens in map(torch.from_numpy, batches):
            optimizer.zero_grad()
            x = functional.embedding(tokens[:, :-1], params["table"]) * scale
            for layer_params in params["layers"]:
                x = layer(x, layer_params)
            x = functional.rms_norm(x, params["norm"].shape, params["norm"], eps=1e-5)
            logits = functional.linear(x, params["table"])
            loss = functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=PAD)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(arrays, 1.0)
            optimizer.step()
        return loss.item()

    return step


if __name__ == "__main__":
    main()
