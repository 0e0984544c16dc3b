"""Chapter 11: five changes since 2017, one step further than the page that shows them."""

import numpy as np

from solutions.attention import softmax
from solutions.logarithms import log_softmax


def quantise_groups(weight, size, bits=8):
    """Store a matrix as small integers, with a scale for each group of rows.

    Args:
        weight: (n_in, n_out)
        size: int. In each column, `size` neighbours form a group. The last
            group has fewer if n_in is not a multiple of size.
        bits: int from 2 to 8. The codes go from -m to m, where m is
            2**(bits - 1) - 1.

    Returns:
        codes: (n_in, n_out), int8. A code times its scale is the multiple of
            the scale that is nearest to the weight.
        scales: (n_groups, n_out), in the dtype of weight: the largest
            magnitude of each group, divided by m. It is 0 for a group of
            zeros, and so are the codes of this group.

    Source: the blocks of Dettmers et al. 2022 (arXiv 2110.02861), here with
    evenly spaced integers.
    """
    most = 2 ** (bits - 1) - 1
    n_in, n_out = weight.shape
    n_groups = -(-n_in // size)
    padded = np.zeros((n_groups * size, n_out), weight.dtype)
    padded[:n_in] = weight
    groups = padded.reshape(n_groups, size, n_out)
    scales = np.abs(groups).max(axis=1) / weight.dtype.type(most)
    divisors = np.where(scales > 0, scales, 1)[:, None]
    codes = np.round(groups / divisors).astype(np.int8)
    return codes.reshape(-1, n_out)[:n_in], scales


def route_backward(grad_gates, grad_loss, cache):
    """Return the gradient of `route` with respect to the scores.

    Args:
        grad_gates: (T, n_experts), of the gates.
        grad_loss: float, of the balancing loss.
        cache: (gates, probabilities, shares, weight) of `route`;
            gates, probabilities: (T, n_experts), shares: (n_experts,).

    Returns:
        grad_scores: (T, n_experts), in the dtype of gates. A small step
            changes no choice, so the shares are constants.

    Source: derived in this chapter from Fedus, Zoph & Shazeer 2022.
    """
    gates, probabilities, shares, weight = cache
    through_gates = gates * (grad_gates - (gates * grad_gates).sum(axis=-1, keepdims=True))
    grad_probabilities = shares * gates.dtype.type(grad_loss * weight * len(shares) / len(gates))
    mean = probabilities @ grad_probabilities
    return through_gates + probabilities * (grad_probabilities - mean[:, None])


def accept_draft(draft, small, large, chances, place):
    """Turn a small model's draft into text as the large model would write it.

    Args:
        draft: (n,), integers: the tokens that the small model has drawn.
        small: (n, vocab), the small model's probabilities; token i of the
            draft was drawn from row i, so its probability is not 0.
        large: (n + 1, vocab), the large model's probabilities after the same
            tokens. The last row is for the token after the whole draft.
        chances: (n,), drawn evenly from [0, 1). Guess i is accepted if
            chances[i] * small < large, with the probabilities of the guess.
        place: float, drawn evenly from [0, 1), for the last token. It is the
            first token for which the sum of the probabilities up to and
            including it, divided by the sum of all, exceeds place.

    Returns:
        tokens: (m,), array of 1 to n + 1 integers: the guesses before the
            first that is refused, and one more token. It replaces the
            refused guess, drawn from max(0, large - small). If no guess is
            refused, it is drawn from the last row of large.

    Source: Leviathan, Kalman & Matias 2023 (arXiv 2211.17192), algorithm 1.
    """
    n_accepted, weights = len(draft), large[-1]
    for i, guess in enumerate(draft):
        if not chances[i] * small[i, guess] < large[i, guess]:
            n_accepted, weights = i, np.maximum(large[i] - small[i], 0)
            break
    sums = np.cumsum(weights)
    last = np.argmax(sums > place * sums[-1])
    return np.append(draft[:n_accepted], last)


def tests_accept_draft(function):
    """Test a function that claims to check drafts.

    Args:
        function: a candidate for `accept_draft`, with the same arguments:
            draft (n,), small (n, vocab), large (n + 1, vocab), chances (n,)
            and place. It may use chances and place differently from
            `accept_draft`, for example 1 - place for place.

    Returns:
        verdict: True if the function keeps its promise: for drafts that the
            small model draws, and for chances and places drawn evenly from
            [0, 1), the tokens have exactly the distribution of the large
            model; each guess is accepted as often as by `accept_draft`; and
            all arguments stay as they are. False if the function breaks it.
            A failed `assert` or an exception also counts as False, and a
            test that ends without a `return` counts as True.
    """

    def spread(count):
        return (np.arange(count) + 0.5) / count

    def texts(small, large, n_chances):
        """Return the probability of each text; `vocab` stands for no token."""
        n, vocab = small.shape
        shares = np.zeros((vocab + 1,) * (n + 1))
        for draft in np.ndindex(*[vocab] * n):
            likely = np.prod(small[np.arange(n), list(draft)]) / (n_chances**n * 4)
            for chances in np.ndindex(*[n_chances] * n):
                for place in spread(4):
                    kept = np.array(draft), small, large, spread(n_chances)[list(chances)]
                    given = [array.copy() for array in kept]
                    tokens = function(*given, place)
                    assert all(map(np.array_equal, given, kept))
                    shares[(*tokens, *[vocab] * (n + 1 - len(tokens)))] += likely
        return shares

    one_guess = np.array([[8, 4, 4]]) / 16, np.array([[4, 5, 7], [4, 8, 4]]) / 16, 4
    two_guesses = np.array([[2, 2], [2, 2]]) / 4, np.array([[1, 3], [3, 1], [1, 3]]) / 4, 2
    for small, large, n_chances in (one_guess, two_guesses):
        shares, accepted = texts(small, large, n_chances), np.array(1.0)
        for t, row in enumerate(large):
            beginnings = shares.sum(axis=tuple(range(t + 1, len(large))))
            beginnings = beginnings[(slice(-1),) * (t + 1)]
            if not np.allclose(beginnings, np.multiply.outer(accepted, row)):
                return False
            if t < len(small):
                accepted = np.multiply.outer(accepted, np.minimum(small[t], row))
    return True


def delta_rule_backward(grad_outputs, cache):
    """Return the gradients of `delta_rule`, from the last word to the first.

    Args:
        grad_outputs: (T, d_value)
        cache: (queries, keys, values, fades, strengths, states) of
            `delta_rule`; states: (T + 1, d_key, d_value), of which
            states[t] is the state before word t and states[t + 1] the one
            after it.

    Returns:
        grad_queries: (T, d_key)
        grad_keys: (T, d_key)
        grad_values: (T, d_value)
        grad_fades: (T,)
        grad_strengths: (T,)

    All gradients are in the dtype of grad_outputs.

    Source: derived in this chapter from Yang, Kautz & Hatamizadeh 2025.
    """
    queries, keys, values, fades, strengths, states = cache
    gradients = [np.zeros_like(array) for array in (queries, keys, values, fades, strengths)]
    grad_queries, grad_keys, grad_values, grad_fades, grad_strengths = gradients
    grad_state = np.zeros_like(states[0])
    for t in reversed(range(len(queries))):
        faded = fades[t] * states[t]
        missing = values[t] - keys[t] @ faded
        grad_queries[t] = states[t + 1] @ grad_outputs[t]
        grad_state = grad_state + np.outer(queries[t], grad_outputs[t])
        grad_written = keys[t] @ grad_state
        grad_strengths[t] = grad_written @ missing
        grad_missing = strengths[t] * grad_written
        grad_values[t] = grad_missing
        grad_keys[t] = strengths[t] * (grad_state @ missing) - faded @ grad_missing
        grad_faded = grad_state - np.outer(keys[t], grad_missing)
        grad_fades[t] = (grad_faded * states[t]).sum()
        grad_state = fades[t] * grad_faded
    return tuple(gradients)


def reverse_divergence(logits, teacher_logits, counts):
    """How far a student is from its teacher, on the student's own texts.

    Args:
        logits: (..., T, vocab), the student's.
        teacher_logits: (..., T, vocab), the teacher's after the same tokens.
        counts: (..., T), boolean: the positions whose next token the student
            has written. The question and padding do not count.

    Returns:
        loss: a scalar in the dtype of `logits`, the mean over the positions
            that count of KL(student || teacher), in nats; 0 if none counts.
        grad_logits: (..., T, vocab), the gradient of the loss, in the dtype
            of logits; zero where nothing counts.

    Source: Agarwal et al. 2024 (arXiv 2306.13649), section 3, with the
    reverse KL divergence.
    """
    student = softmax(logits)
    surplus = log_softmax(logits) - log_softmax(teacher_logits)
    divergence = (student * surplus).sum(axis=-1, keepdims=True)
    is_counted = counts[..., None]
    n_counted = logits.dtype.type(max(counts.sum(), 1))
    loss = divergence[is_counted].sum() / n_counted
    grad_logits = student * (surplus - divergence) / n_counted
    return loss, np.where(is_counted, grad_logits, 0)
