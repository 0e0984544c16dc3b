"""The gradients at the top of fresh stacks, compared with PyTorch's."""

import numpy as np
import pytest
import torch
from torch.nn.functional import layer_norm

from solutions.stacks import HIDDEN, N_WORDS, VARIANCE, WIDTH, top_gradients

pytestmark = pytest.mark.solutions
SEED = 4
STACKS = [
    {"norm": norm, "depth": depth, "update": update}
    for norm, depth, update in (("pre", 5, 1.0), ("post", 2, 1.0), ("post", 5, 1.0), ("pre", 2, 1.0), ("pre", 3, 0.3))
]


def by_autograd(norm, depth, update):
    rng = np.random.default_rng(SEED)
    stream, grad_output = torch.from_numpy(rng.normal(size=(2, N_WORDS, WIDTH)))
    for _ in range(depth):
        w_in = torch.from_numpy(rng.normal(size=(WIDTH, HIDDEN))) / WIDTH**0.5
        w_out = update * torch.from_numpy(rng.normal(size=(HIDDEN, WIDTH))) / (VARIANCE * HIDDEN) ** 0.5
        w_out.requires_grad_()
        inputs = layer_norm(stream, (WIDTH,)) if norm == "pre" else stream
        stream = stream + torch.tanh(inputs @ w_in) @ w_out
        if norm == "post":
            stream = layer_norm(stream, (WIDTH,))
    (layer_norm(stream, (WIDTH,)) * grad_output).sum().backward()
    return w_out.grad.norm().item()


def test_the_gradients_are_those_of_autograd_and_do_not_depend_on_other_stacks():
    together = top_gradients(STACKS, SEED)
    np.testing.assert_allclose(together, [by_autograd(**stack) for stack in STACKS], rtol=1e-4)
    assert together[::-1] == top_gradients(STACKS[::-1], SEED)
