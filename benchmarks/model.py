"""Compare a training step of the NumPy model with eager PyTorch, and incremental decoding with full decoding.

    python benchmarks/model.py [--rounds 7]

A step is forward, loss, backward and Adam for a model of 2 + 2 layers with d_ff = 4 d_model and a vocabulary of 512, in
float32 on one thread. The benchmark measures CPU time. All contenders start from the same parameters, get the same
batches and take turns. The share is the NumPy step's rate of operations divided by the machine's rate in one large
matrix product. "Products" compares only the matrix products of a step's linear layers: what NumPy's BLAS takes, divided
by what PyTorch's takes. Peak memory is measured in a separate process.

The contenders:
    NumPy      `train_step` of solutions/training.py
    vectors    the same, but Adam works on one vector for each part of the model (the embeddings, each layer): a few
               long arrays instead of many short ones, at the cost of copying the gradients into them
    PyTorch    solutions/transformer_torch.py, eager, with torch.optim.Adam
"""

import argparse
import multiprocessing
import os
import re
import sys
import time
from functools import partial
from pathlib import Path

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np
import torch
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from solutions.decoding import greedy_decode, incremental_greedy_decode
from solutions.model import backward, forward
from solutions.model_torch import load_parameters
from solutions.parameters import flatten, initialise, named, unflatten
from solutions.training import (
    adam_step,
    smoothed_cross_entropy,
    smoothed_cross_entropy_backward,
    train_step,
    zero_moments,
)
from solutions.transformer_torch import Transformer

SIZES = [(2, 8, 16, 4), (32, 16, 64, 4), (64, 32, 128, 8), (16, 64, 512, 8)]
TARGETS = [0.4, 1.0, 1.1, 1.1]
N_LAYERS, VOCAB, LEARNING_RATE = 2, 512, 1e-3


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--rounds", type=int, default=7, help="how many turns the contenders take at each size")
    rounds = arguments.parse_args().rounds
    torch.set_num_threads(1)
    print("NumPy:", np.show_config("dicts")["Build Dependencies"]["blas"]["openblas configuration"])
    print("PyTorch:", re.search(r"oneAPI[^\n]*|OpenBLAS[^\n]*|BLAS_INFO=\w+", torch.__config__.show())[0])
    print("                      |        ms a step          | by PyTorch's                   | matmul |    peak MB")
    print("  N   T d_model heads |   NumPy vectors   PyTorch | NumPy vectors (goal)  products | share  | NumPy PyTorch")
    for size, target in zip(SIZES, TARGETS, strict=True):
        numpy_time, vector_time, torch_time, rate_share = step_times(size, rounds)
        numpy_peak, torch_peak = (peak_megabytes(stepper, size) for stepper in (numpy_stepper, torch_stepper))
        print(
            "{:3d} {:3d} {:7d} {:5d}".format(*size),
            f"| {1e3 * numpy_time:7.2f} {1e3 * vector_time:7.2f} {1e3 * torch_time:9.2f}",
            f"| {numpy_time / torch_time:5.2f} {vector_time / torch_time:7.2f} {f'({target})':7}",
            f"{product_ratio(size, rounds):8.2f}",
            f"| {rate_share:6.0%} | {numpy_peak:5.0f} {torch_peak:8.0f}",
        )
    full, incremental = decoding_times(rounds)
    print(f"50 tokens for 16 sentences, d_model 64: full {full:.2f} s, incremental {incremental:.2f} s", end="")
    print(f", {full / incremental:.1f} times as fast (goal: 5)")


def step_times(size, rounds):
    """Return each contender's best CPU seconds per step, and the NumPy step's share of the matrix-product rate."""
    steppers = numpy_stepper(size), vector_stepper(size), torch_stepper(size)
    repeats = [max(1, round(0.3 / cpu_seconds(stepper))) for stepper in steppers]
    rates, times = [], []
    for _ in range(rounds):
        rates.append(matmul_rate())
        times.append([cpu_seconds(stepper, n) for stepper, n in zip(steppers, repeats, strict=True)])
    numpy_time, vector_time, torch_time = map(min, zip(*times, strict=True))
    return numpy_time, vector_time, torch_time, step_flops(size) / numpy_time / max(rates)


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
        repeats = max(1, round(0.02 / cpu_seconds(steps[0])))
        for turn in times:
            turn += [count * cpu_seconds(step, repeats) for step in steps]
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


def vector_stepper(size):
    """Return a function that does the same step with Adam on a list of a few long vectors."""
    like, src, tgt, n_heads = problem(size)
    vectors = to_vectors(like)
    state = [vectors, zero_moments(vectors), 0]

    def step():
        vectors, moments, count = state
        logits, cache = forward(from_vectors(vectors, like), src, tgt[:, :-1], n_heads)
        _, loss_cache = smoothed_cross_entropy(logits, tgt[:, 1:], smoothing=0.1)
        gradients = backward(smoothed_cross_entropy_backward(1.0, loss_cache), cache)
        state[:] = *adam_step(vectors, to_vectors(gradients), moments, count + 1, LEARNING_RATE), count + 1

    return step


def to_vectors(params):
    """Return one vector for each part of a model: the embeddings, each encoder layer, each decoder layer.

    One vector for a whole large model would be slower: each step would allocate new memory for it, and that takes
    longer than the arithmetic.
    """
    return [flatten(part) for part in (params["embeddings"], *params["encoder"], *params["decoder"])]


def from_vectors(vectors, like):
    """Return a model with the structure of `like` whose arrays are views of the vectors."""
    embeddings, *layers = vectors
    n_encoder = len(like["encoder"])
    return {
        "embeddings": unflatten(embeddings, like["embeddings"]),
        "encoder": list(map(unflatten, layers[:n_encoder], like["encoder"])),
        "decoder": list(map(unflatten, layers[n_encoder:], like["decoder"])),
    }


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


def step_flops(size):
    """Return the floating-point operations of one step's matrix products; backward has twice as many as forward."""
    n, length, d_model, _ = size
    projection = 2 * n * length * d_model * d_model
    attention = 4 * n * length * length * d_model + 4 * projection
    feed_forward = 8 * projection
    encoder, decoder = attention + feed_forward, 2 * attention + feed_forward
    return 3 * (N_LAYERS * (encoder + decoder) + 2 * n * length * d_model * VOCAB)


def matmul_rate(n=1024):
    """Return the floating-point operations per CPU second of one square matrix product in NumPy."""
    a = np.ones((n, n), np.float32)
    return 2 * n**3 / min(cpu_seconds(lambda: a @ a) for _ in range(3))


def cpu_seconds(function, repeats=1):
    """Return the CPU seconds of this process per call."""
    start = time.process_time()
    for _ in range(repeats):
        function()
    return (time.process_time() - start) / repeats


def peak_megabytes(make_stepper, size):
    """Return how many MB three steps add to the peak memory of a fresh process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_peak_growth, (make_stepper, size))


def _peak_growth(make_stepper, size):
    torch.set_num_threads(1)
    before = _peak_kilobytes()
    step = make_stepper(size)
    for _ in range(3):
        step()
    return (_peak_kilobytes() - before) / 1024


def _peak_kilobytes():
    """Return this process's peak memory, on Linux. `getrusage` would include the parent's memory before the exec."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])


def decoding_times(rounds):
    """Return the CPU seconds for 50 tokens of 16 sentences each, decoded in full and with cached keys and values."""
    rng = np.random.default_rng(0)
    params = initialise(rng, {"shared": VOCAB}, 64, 256, N_LAYERS, N_LAYERS, np.float32)
    src = rng.integers(3, VOCAB, (16, 12))
    never = -1  # no token has this number, so no sentence ends before 50 tokens
    return tuple(
        min(cpu_seconds(lambda decoder=decoder: decoder(params, src, 4, 50, eos=never)) for _ in range(min(rounds, 3)))
        for decoder in (greedy_decode, incremental_greedy_decode)
    )


if __name__ == "__main__":
    main()
