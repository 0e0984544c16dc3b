"""Time three implementations of multi-head self-attention, forward and backward.

    python benchmarks/attention.py

The benchmark uses float32 and one thread, and measures CPU time. The contenders take turns within one run, so a busy
machine slows all of them alike. A ratio is the median over the turns of our time divided by theirs. The benchmark
asserts nothing.

The contenders:
    ours       solutions/multihead.py
    module     nn.MultiheadAttention, eager, with its default arguments
    textbook   NumPy straight from the usual formulas: scores as x A x^T with A = W_Q W_K^T for each head, and for
               each row the softmax's Jacobian diag(s) - s s^T; no biases
"""

import os

# NumPy and PyTorch read these when they are imported.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from benchmarks.timing import SIZES, turns
from solutions.attention import softmax
from solutions.heads import merge_heads
from solutions.multihead import multi_head_attention, multi_head_attention_backward, split_heads

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


CONTENDERS = (ours, module, textbook)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print(f"{'(N, T, d_model, heads)':<22}" + "".join(f"{contender.__name__:>12}" for contender in CONTENDERS))
    for *shape, n_heads in SIZES:
        seconds = turns([contender(*make_case(*shape), n_heads) for contender in CONTENDERS], SECONDS_PER_TURN, TURNS)
        ratios = np.median(seconds[:, :1] / seconds[:, 1:], axis=0)
        print(f"{(*shape, n_heads)!s:<22}" + "".join(f"{1000 * t:>9.3f} ms" for t in np.median(seconds, axis=0)))
        print(f"{'  ours / theirs':<34}" + "".join(f"{ratio:>12.2f}" for ratio in ratios))


if __name__ == "__main__":
    main()
