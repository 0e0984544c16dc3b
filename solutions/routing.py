"""A router of experts, whose backward pass is an exercise of chapter 11. Given code, not an exercise."""

import numpy as np

from solutions.attention import softmax
from solutions.masking import masked_softmax


def route(scores, n_active, weight):
    """Choose experts for each word, and compute the loss that balances them.

    Args:
        scores: (T, n_experts), of which no two in a row are equal.
        n_active: int, how many experts each word gets.
        weight: float, the weight of the balancing loss.

    Returns:
        gates: (T, n_experts), the softmax of the chosen scores; 0 elsewhere.
        loss: float, weight times n_experts times the sum of share times
            mean probability over all experts.
        cache: (gates, probabilities, shares, weight); probabilities:
            (T, n_experts), the softmax of all scores; shares: (n_experts,),
            each expert's share of all that was sent.

    Source: Fedus, Zoph & Shazeer 2022 (arXiv 2101.03961), equations 4 to 6,
    for several experts a word.
    """
    last = np.sort(scores, axis=-1)[:, -n_active, None]
    chosen = scores >= last
    gates = masked_softmax(scores, chosen)
    probabilities = softmax(scores)
    shares = (chosen.sum(axis=0) / chosen.sum()).astype(scores.dtype)
    loss = weight * len(shares) * float(shares @ probabilities.mean(axis=0))
    return gates, loss, (gates, probabilities, shares, weight)
