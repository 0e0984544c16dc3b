"""Compare a training step of the NumPy model with eager PyTorch.

    python benchmarks/model.py [--rounds 7]

A step is forward, loss, backward and Adam for a model of 2 + 2 layers with d_ff = 4 d_model and a vocabulary of 512, in
float32 on one thread. The benchmark measures CPU time. `train_step` of solutions/training.py and the eager modules of
solutions/transformer_torch.py with torch.optim.Adam start from the same parameters, get the same batches and take
turns. "Products" compares only the matrix products of a step's linear layers: what NumPy's BLAS takes, divided by what
PyTorch's takes.
"""

import argparse
import os
import re
import sys
from functools import partial
from pathlib import Path

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np
import torch
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from benchmarks.timing import SIZES, turns
from solutions.model_torch import load_parameters
from solutions.parameters import initialise, named
from solutions.training import train_step, zero_moments
from solutions.transformer_torch import Transformer

N_LAYERS, VOCAB, LEARNING_RATE = 2, 512, 1e-3


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


if __name__ == "__main__":
    main()
