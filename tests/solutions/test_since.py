"""Chapter 11: its gradients agree with PyTorch's, and its other functions with what they promise."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from solutions import since
from solutions.delta_rule import delta_rule
from solutions.routing import route
from solutions.since import accept_draft, delta_rule_backward, quantise_groups, reverse_divergence, route_backward
from tests.solutions.comparing import assert_close
from tests.solutions.conftest import TOLERANCE

pytestmark = pytest.mark.solutions


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("size", [1, 3, 7, 50])
def test_no_weight_is_off_by_more_than_half_a_scale(rng, dtype, bits, size):
    weight = rng.normal(size=(14, 5)).astype(dtype)
    weight[:7, 2] = 0
    codes, scales = quantise_groups(weight, size, bits)
    of_rows = np.repeat(scales, size, axis=0)[:14]
    assert codes.dtype == np.int8 and scales.dtype == dtype
    assert np.abs(codes.astype(int)).max() == 2 ** (bits - 1) - 1
    assert (np.abs(codes * of_rows - weight) <= of_rows * 0.500001).all()


@pytest.mark.parametrize("n_active", [1, 2, 4])
def test_the_router_s_gradient_agrees_with_pytorch(rng, dtype, n_active):
    scores, grad_gates = rng.normal(size=(2, 9, 5)).astype(dtype)
    gates, loss, cache = route(scores, n_active, 0.3)
    grad_scores = route_backward(grad_gates, 1.7, cache)

    leaf = torch.tensor(scores, requires_grad=True)
    chosen = torch.zeros(9, 5, dtype=torch.bool).scatter(1, leaf.topk(n_active).indices, True)
    their_gates = leaf.masked_fill(~chosen, -torch.inf).softmax(-1)
    shares = chosen.to(leaf.dtype).sum(0) / chosen.sum()
    their_loss = 0.3 * 5 * (shares * leaf.softmax(-1).mean(0)).sum()
    ((torch.tensor(grad_gates) * their_gates).sum() + 1.7 * their_loss).backward()
    assert_close(gates, their_gates.detach(), TOLERANCE[dtype])
    assert_close(np.asarray(loss, dtype), their_loss.detach(), TOLERANCE[dtype])
    assert_close(grad_scores, leaf.grad, TOLERANCE[dtype])


def test_the_tokens_of_a_checked_draft_have_the_large_model_s_distribution(rng):
    small, large = rng.dirichlet(np.ones(3), 1), rng.dirichlet(np.ones(3), 2)
    drafts = rng.choice(3, p=small[0], size=20_000)
    first = [accept_draft(draft, small, large, rng.random(1), rng.random())[0] for draft in drafts[:, None]]
    np.testing.assert_allclose(np.bincount(first, minlength=3) / len(first), large[0], atol=0.015)


def test_the_model_test_accepts_the_reference_and_finds_what_a_distribution_hides():
    def one_token(draft, small, large, chances, place):
        return accept_draft(draft[:0], small[:0], large[:1], chances[:0], place)

    assert since.tests_accept_draft(accept_draft) and not since.tests_accept_draft(one_token)


def test_the_delta_rule_s_gradients_agree_with_pytorch(rng, dtype):
    arrays = [rng.normal(size=(6, 3)), rng.normal(size=(6, 3)), rng.normal(size=(6, 4)), *rng.uniform(0.3, 1, (2, 6))]
    arrays = [array.astype(dtype) for array in arrays]
    arrays[1] /= np.linalg.norm(arrays[1], axis=1, keepdims=True)
    outputs, cache = delta_rule(*arrays)
    grad_outputs = rng.normal(size=outputs.shape).astype(dtype)

    leaves = [torch.tensor(array, requires_grad=True) for array in arrays]
    state, theirs = torch.zeros(3, 4, dtype=leaves[0].dtype), []
    for query, key, value, fade, strength in zip(*leaves, strict=True):
        state = fade * (state - strength * torch.outer(key, key @ state)) + strength * torch.outer(key, value)
        theirs.append(query @ state)
    theirs = torch.stack(theirs)
    theirs.backward(torch.tensor(grad_outputs))
    assert_close(outputs, theirs.detach(), TOLERANCE[dtype])
    for gradient, leaf in zip(delta_rule_backward(grad_outputs, cache), leaves, strict=True):
        assert_close(gradient, leaf.grad, TOLERANCE[dtype])


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4)])
def test_the_reverse_divergence_and_its_gradient_agree_with_pytorch(rng, dtype, shape):
    logits, teacher_logits = (3 * rng.normal(size=(2, *shape, 6))).astype(dtype)
    counts = rng.random(shape) < 0.6
    counts.flat[:2] = True, False
    loss, grad_logits = reverse_divergence(logits, teacher_logits, counts)

    leaf = torch.tensor(logits, requires_grad=True)
    teacher = torch.tensor(teacher_logits).log_softmax(-1)
    divergences = functional.kl_div(teacher, leaf.log_softmax(-1), reduction="none", log_target=True).sum(-1)
    divergences[torch.tensor(counts)].mean().backward()
    assert_close(loss, divergences[torch.tensor(counts)].mean().detach(), TOLERANCE[dtype])
    assert_close(grad_logits, leaf.grad, TOLERANCE[dtype])


def test_nothing_that_counts_gives_no_loss_and_no_gradient(rng):
    loss, grad_logits = reverse_divergence(*rng.normal(size=(2, 3, 4)), np.zeros(3, bool))
    assert loss == 0 and not grad_logits.any()
