"""Compare five implementations of multi-head self-attention, forward and backward, in time and in memory.

    python benchmarks/attention.py

The benchmark uses float32 and one thread, and measures CPU time. The contenders take turns within one run, so a busy
machine slows all of them alike. A ratio is the median over the turns of our time divided by theirs. Peak memory is that
of one forward and backward pass in a fresh process. The benchmark asserts nothing.

The contenders:
    ours       solutions/multihead.py
    module     nn.MultiheadAttention, eager, with its default arguments
    sdpa       PyTorch's linear and scaled_dot_product_attention, written out by hand
    textbook   NumPy straight from the usual formulas: scores as x A x^T with A = W_Q W_K^T for each head, and for
               each row the softmax's Jacobian diag(s) - s s^T; no biases
    stacked    as textbook, but with the products from left to right and all Jacobians built at once
"""

import os

# NumPy and PyTorch read these when they are imported.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from solutions.attention import softmax
from solutions.heads import merge_heads
from solutions.multihead import multi_head_attention, multi_head_attention_backward, split_heads

SIZES = [(2, 8, 16, 4), (32, 16, 64, 4), (64, 32, 128, 8), (16, 64, 512, 8)]  # (N, T, d_model, n_heads)
TURNS = 15
SECONDS_PER_TURN = 0.05


def make_case(n_batch, length, d_model):
    """Return x and a cotangent, both (n_batch, length, d_model), and the params of `multi_head_attention`."""
    rng = np.random.default_rng(0)
    x, grad_output = rng.normal(size=(2, n_batch, length, d_model)).astype(np.float32)
    params = {}
    for role in ("query", "key", "value", "output"):
        params[f"w_{role}"] = (rng.normal(size=(d_model, d_model)) / d_model**0.5).astype(np.float32)
        params[f"b_{role}"] = rng.normal(size=d_model).astype(np.float32)
    return x, grad_output, params


def ours(x, grad_output, params, n_heads):
    def step():
        _, cache = multi_head_attention(x, x, x, params, n_heads)
        grad_query, grad_key, grad_value, grad_params = multi_head_attention_backward(grad_output, cache)
        return grad_query + grad_key + grad_value, grad_params

    return step


def module(x, grad_output, params, n_heads):
    attention = nn.MultiheadAttention(x.shape[-1], n_heads, batch_first=True)
    x, grad_output = torch.tensor(x, requires_grad=True), torch.tensor(grad_output)

    def step():
        x.grad = None
        attention.zero_grad()
        attention(x, x, x)[0].backward(grad_output)

    return step


def sdpa(x, grad_output, params, n_heads):
    roles = ("query", "key", "value")
    fused = [np.concatenate([params[f"{kind}_{role}"] for role in roles], axis=-1) for kind in "wb"]
    arrays = x, fused[0].T.copy(), fused[1], params["w_output"].T.copy(), params["b_output"]
    leaves = x, w_fused, b_fused, w_output, b_output = [torch.tensor(a, requires_grad=True) for a in arrays]
    grad_output = torch.tensor(grad_output)

    def step():
        for leaf in leaves:
            leaf.grad = None
        projected = functional.linear(x, w_fused, b_fused)
        heads = (part.unflatten(-1, (n_heads, -1)).transpose(1, 2) for part in projected.chunk(3, dim=-1))
        attended = functional.scaled_dot_product_attention(*heads)
        functional.linear(attended.transpose(1, 2).flatten(2), w_output, b_output).backward(grad_output)

    return step


def textbook(x, grad_output, params, n_heads):
    x = x[:, np.newaxis]
    w_query, w_key, w_value = (split_heads(params[f"w_{role}"], n_heads) for role in ("query", "key", "value"))
    w_output, scale = params["w_output"], (x.shape[-1] // n_heads) ** -0.5

    def transposed(a):
        return a.swapaxes(-1, -2)

    def step():
        a = w_query @ transposed(w_key)  # (n_heads, d_model, d_model)
        weights = softmax(x @ a @ transposed(x) * np.float32(scale))
        values = x @ w_value
        merged = merge_heads(weights @ values)
        merged @ w_output  # the output
        grad_w_output = np.sum(transposed(merged) @ grad_output, axis=0)
        grad_attended = split_heads(grad_output @ w_output.T, n_heads)
        grad_scores = grad_attended @ transposed(values)
        for row in np.ndindex(weights.shape[:-1]):
            jacobian = np.diag(weights[row]) - np.outer(weights[row], weights[row])
            grad_scores[row] = jacobian @ grad_scores[row]
        grad_scores *= np.float32(scale)
        grad_values = transposed(weights) @ grad_attended
        grad_a = np.sum(transposed(x) @ grad_scores @ x, axis=0)
        grad_x = grad_scores @ x @ transposed(a) + transposed(grad_scores) @ x @ a
        grad_x += grad_values @ transposed(w_value)
        grad_w_value = np.sum(transposed(x) @ grad_values, axis=0)
        return grad_x.sum(axis=1), grad_a @ w_key, transposed(grad_a) @ w_query, grad_w_value, grad_w_output

    return step


def stacked(x, grad_output, params, n_heads):
    x = x[:, np.newaxis]
    w_query, w_key, w_value = (split_heads(params[f"w_{role}"], n_heads) for role in ("query", "key", "value"))
    w_output, scale = params["w_output"], (x.shape[-1] // n_heads) ** -0.5

    def transposed(a):
        return a.swapaxes(-1, -2)

    def step():
        weights = softmax(x @ w_query @ transposed(w_key) @ transposed(x) * np.float32(scale))
        values = x @ w_value
        merged = merge_heads(weights @ values)
        merged @ w_output  # the output
        grad_w_output = np.sum(transposed(merged) @ grad_output, axis=0)
        grad_attended = split_heads(grad_output @ w_output.T, n_heads)
        jacobian = weights[..., np.newaxis] * np.eye(weights.shape[-1], dtype=np.float32)
        jacobian -= weights[..., np.newaxis] * weights[..., np.newaxis, :]
        grad_weights = grad_attended @ transposed(values)
        grad_scores = (jacobian @ grad_weights[..., np.newaxis])[..., 0] * np.float32(scale)
        grad_values = transposed(weights) @ grad_attended
        grad_a = np.sum(transposed(x) @ grad_scores @ x, axis=0)
        grad_x = grad_scores @ x @ w_key @ transposed(w_query)
        grad_x += transposed(grad_scores) @ x @ w_query @ transposed(w_key)
        grad_x += grad_values @ transposed(w_value)
        grad_w_value = np.sum(transposed(x) @ grad_values, axis=0)
        return grad_x.sum(axis=1), grad_a @ w_key, transposed(grad_a) @ w_query, grad_w_value, grad_w_output

    return step


CONTENDERS = {step.__name__: step for step in (ours, module, sdpa, textbook, stacked)}


def make_step(name, size):
    """Return the contender's step for one of SIZES. The caller warms it up."""
    *shape, n_heads = size
    return CONTENDERS[name](*make_case(*shape), n_heads)


def cpu_seconds(step, repeats):
    start = time.process_time()
    for _ in range(repeats):
        step()
    return (time.process_time() - start) / repeats


def measure(size):
    """Return CPU seconds, (TURNS, contenders). In a turn each contender runs once, for about SECONDS_PER_TURN."""
    steps = [make_step(name, size) for name in CONTENDERS]
    repeats = []
    for step in steps:
        cpu_seconds(step, 2)
        repeats.append(max(1, round(SECONDS_PER_TURN / cpu_seconds(step, 1))))
    turns = [[cpu_seconds(step, n) for step, n in zip(steps, repeats, strict=True)] for _ in range(TURNS)]
    return np.array(turns)


def peak_megabytes(name, size):
    """Return how many MB one step adds to the peak memory of a fresh process: on Linux only, NaN elsewhere."""
    command = [sys.executable, __file__, "--peak", name, str(SIZES.index(size))]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def print_own_peak(name, size):
    """Print the peak of this fresh process. A small step comes first, so that one-off initialisation does not count."""
    make_step(name, SIZES[0])()
    step, status = make_step(name, size), Path("/proc/self/status")
    if not status.exists():
        print("nan")
        return
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = _kilobytes(status, "VmRSS")
    step()
    print((_kilobytes(status, "VmHWM") - before) / 1024)


def _kilobytes(status, field):
    return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith(field))


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    if sys.argv[1:2] == ["--peak"]:
        print_own_peak(sys.argv[2], SIZES[int(sys.argv[3])])
        return
    names = list(CONTENDERS)
    print(f"{'(N, T, d_model, heads)':<22}" + "".join(f"{name:>12}" for name in names))
    for size in SIZES:
        seconds = measure(size)
        ratios = np.median(seconds[:, :1] / seconds[:, 1:], axis=0)
        times = "".join(f"{1000 * t:>9.3f} ms" for t in np.median(seconds, axis=0))
        print(f"{size!s:<22}{times}")
        print(f"{'  ours / theirs':<34}" + "".join(f"{ratio:>12.2f}" for ratio in ratios))
        print(f"{'  peak memory':<22}" + "".join(f"{peak_megabytes(name, size):>9.1f} MB" for name in names))


if __name__ == "__main__":
    main()
