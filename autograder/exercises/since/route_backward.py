"""route_backward: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import Exercise
from solutions import since as reference
from solutions.routing import route

route_backward = Exercise(
    reference.route_backward, outputs={"grad_scores": "T n_experts"}, section="A router: yours to derive"
)


def routed(draw, n_active, weight, *, gates=1.0, loss=None, dtype=np.float64):
    """Return random cotangents and the cache that `route` left, for a load that is uneven."""
    T, n_experts = draw.sizes(2, low=4, high=9)
    while True:
        scores = (draw.normal(T, n_experts) + draw.normal(n_experts)).astype(dtype)
        _, _, cache = route(scores, n_active, weight)
        if np.ptp(cache[2]):  # of equal shares, the gradient of the balancing loss is rounding alone
            break
    return {
        "grad_gates": (gates * draw.normal(T, n_experts)).astype(dtype),
        "grad_loss": float(draw.rng.uniform(0.5, 2)) if loss is None else loss,
        "cache": cache,
    }


@route_backward.cases("through the gates", points=2)
def _(draw):
    yield "two experts a word", routed(draw, 2, 0.5, loss=0.0)
    yield "three experts a word", routed(draw, 3, 0.5, loss=0.0)
    yield "one expert a word", routed(draw, 1, 0.5, loss=0.0)


@route_backward.cases("through the balancing loss", points=2)
def _(draw):
    yield "one expert a word", routed(draw, 1, 1.0, gates=0.0, loss=1.0)
    yield "two experts a word", routed(draw, 2, 1.5, gates=0.0)
    yield "a small weight", routed(draw, 3, 0.01, gates=0.0)


@route_backward.cases("both, and float32", points=1)
def _(draw):
    yield "both", routed(draw, 2, 0.8)
    yield "float32", routed(draw, 2, 0.8, dtype=np.float32)


def softmax_slope(weights, grad):
    return weights * (grad - (weights * grad).sum(axis=-1, keepdims=True))


def walked(grad_gates, grad_loss, cache, **put):
    """Go back with single terms replaced.

    put: `gates`, the gradient that comes through the gates; `balance`, the one that comes through the loss, of scores;
    `probabilities`, that of the probabilities.
    """
    gates, probabilities, shares, weight = cache
    n_words, n_experts = gates.shape
    kind = gates.dtype.type
    of_probabilities = np.broadcast_to(shares * kind(grad_loss * weight * n_experts / n_words), gates.shape)
    of_probabilities = put.get("probabilities", lambda grad: grad)(of_probabilities)
    balance = put.get("balance", softmax_slope)(probabilities, of_probabilities)
    return put.get("gates", softmax_slope(gates, grad_gates)) + balance


@route_backward.mistake("goes back through the softmax of all experts")
def all_experts(grad_gates, grad_loss, cache):
    """The gates' gradient went back through the softmax of *all* scores. The gates are the softmax of the chosen ones,
    so use the gates themselves. Experts that were not chosen then get nothing from the gates."""
    return walked(grad_gates, grad_loss, cache, gates=softmax_slope(cache[1], grad_gates))


@route_backward.mistake("treats the gates as constants")
def gates_constant(grad_gates, grad_loss, cache):
    """Nothing comes back through the gates. The choice is a constant, but a softmax decides how much each chosen expert
    counts, and it has a gradient."""
    return walked(grad_gates, grad_loss, cache, gates=np.zeros_like(grad_gates))


@route_backward.mistake("leaves out the balancing loss")
def loss_left_out(grad_gates, grad_loss, cache):
    """Nothing comes back through the balancing loss. `grad_loss` is its gradient: go on to the mean probabilities and
    through the softmax of all experts, and add both parts."""
    return walked(grad_gates, grad_loss, cache, balance=lambda probabilities, grad: np.zeros_like(grad))


@route_backward.mistake("leaves out the weighted mean of the gates")
def without_the_mean(grad_gates, grad_loss, cache):
    """On the path through the gates, you multiply gates and gradient, but subtract nothing. A word's gates add up to
    one, so its scores compete: subtract the weighted mean of the word's gradient first."""
    return walked(grad_gates, grad_loss, cache, gates=cache[0] * grad_gates)


@route_backward.mistake("takes the diagonal of the softmax's Jacobian alone")
def diagonal_alone(grad_gates, grad_loss, cache):
    """On both paths you multiply the gradient by p (1 - p), as for a sigmoid. That is the diagonal of the softmax's
    Jacobian. Each score also changes the weights of the other experts: subtract the weighted mean of the word's
    gradient, and multiply by p."""

    def slope(weights, grad):
        return weights * (1 - weights) * grad

    return walked(grad_gates, grad_loss, cache, gates=slope(cache[0], grad_gates), balance=slope)


@route_backward.mistake("subtracts a plain mean")
def plain_mean(grad_gates, grad_loss, cache):
    """On the path through the gates, you subtract the plain mean of a word's gradient. Subtract the mean in which each
    chosen expert counts by its gate, and the others do not count."""
    return walked(grad_gates, grad_loss, cache, gates=cache[0] * (grad_gates - grad_gates.mean(axis=-1, keepdims=True)))


@route_backward.mistake("takes the gates for the whole softmax in the loss")
def loss_through_gates(grad_gates, grad_loss, cache):
    """The balancing loss went back through the gates. It is made of the probabilities of *all* experts, chosen or not:
    that is how an expert with too little to do gets its gradient."""
    return walked(grad_gates, grad_loss, cache, balance=lambda probabilities, grad: softmax_slope(cache[0], grad))


@route_backward.mistake("stops at the probabilities")
def stops_at_probabilities(grad_gates, grad_loss, cache):
    """What you return from the balancing loss is the gradient of the probabilities. They are the softmax of the scores,
    so go back through the softmax, too."""
    return walked(grad_gates, grad_loss, cache, balance=lambda probabilities, grad: grad)


@route_backward.mistake("leaves out the weighted mean in the loss")
def loss_without_the_mean(grad_gates, grad_loss, cache):
    """On the path through the balancing loss, all scores get a gradient of the same sign. The probabilities of a word
    add up to one, so the others gain what one expert loses: subtract the weighted mean of the shares."""
    return walked(grad_gates, grad_loss, cache, balance=lambda probabilities, grad: probabilities * grad)


@route_backward.mistake("forgets that the loss takes a mean over the words")
def without_the_number_of_words(grad_gates, grad_loss, cache):
    """The part of the loss is T times too large. P_e is a mean over the T words, so each word has a factor 1/T."""
    return walked(grad_gates, grad_loss, cache, probabilities=lambda grad: grad * cache[0].dtype.type(len(cache[0])))


@route_backward.mistake("forgets the number of experts")
def without_the_number_of_experts(grad_gates, grad_loss, cache):
    """The part of the loss is n_experts times too small. The loss contains this factor, so that even shares give a loss
    of `weight`."""
    return walked(*(grad_gates, grad_loss, cache), probabilities=lambda grad: grad / cache[0].dtype.type(len(cache[2])))


@route_backward.mistake("forgets the weight of the loss")
def without_the_weight(grad_gates, grad_loss, cache):
    """The balancing loss is multiplied by `weight`, but your gradient is not."""
    return walked(grad_gates, grad_loss, (*cache[:3], 1.0))


@route_backward.mistake("takes grad_loss to be 1")
def loss_of_one(grad_gates, grad_loss, cache):
    """You add the gradient of the balancing loss as if it were the last thing that is computed. `grad_loss` arrives
    there, and may be 0: multiply by it."""
    return walked(grad_gates, 1.0, cache)


@route_backward.mistake("pushes towards the busy experts")
def wrong_sign(grad_gates, grad_loss, cache):
    """The part of the balancing loss has the wrong sign. You return the direction in which to go; a gradient points
    where the loss rises, towards experts whose share is large."""
    return walked(grad_gates, -grad_loss, cache)


@route_backward.mistake("replaces the shares by the mean probabilities")
def mean_probabilities(grad_gates, grad_loss, cache):
    """The gradient of a probability is proportional to the expert's *share* of the words. You use its mean
    probability, as if the loss were the sum of the squared means, or half of it."""
    gates, probabilities, _, weight = cache
    return walked(grad_gates, grad_loss, (gates, probabilities, probabilities.mean(axis=0), weight))


@route_backward.mistake("goes back through the shares")
def through_shares(grad_gates, grad_loss, cache):
    """You give the shares a gradient as well, as if they were the mean of the gates. They count choices, and a small
    change of the scores changes no choice. They are constants."""
    gates, probabilities, shares, weight = cache
    of_shares = probabilities.mean(axis=0) * gates.dtype.type(grad_loss * weight * len(shares) / len(gates))
    return walked(grad_gates, grad_loss, cache, gates=softmax_slope(gates, grad_gates + of_shares))


@route_backward.mistake("returns float64 for float32")
def promoted(grad_gates, grad_loss, cache):
    """A float64 array, or a NumPy float64 number, in your computation made the result float64. Return the dtype of the
    gates."""
    return walked(grad_gates, grad_loss, cache).astype(np.float64)


@route_backward.equivalent
def with_jacobians(grad_gates, grad_loss, cache):
    gates, probabilities, shares, weight = cache

    def back(rows, grad):
        return np.array([(np.diag(row) - np.outer(row, row)) @ g for row, g in zip(rows, grad, strict=True)])

    n_words, n_experts = gates.shape
    slopes = np.tile(shares, (n_words, 1)) * (grad_loss * weight * n_experts / n_words)
    return (back(gates, grad_gates) + back(probabilities, slopes)).astype(gates.dtype)


@route_backward.equivalent
def word_by_word(grad_gates, grad_loss, cache):
    gates, probabilities, shares, weight = cache
    grad_scores = np.zeros_like(gates)
    factor = float(grad_loss) * float(weight) * len(shares) / len(gates)
    for t, (gate, p) in enumerate(zip(gates, probabilities, strict=True)):
        chosen = gate > 0
        grad_scores[t, chosen] = gate[chosen] * (grad_gates[t, chosen] - gate[chosen] @ grad_gates[t, chosen])
        grad_scores[t] += p * (factor * (shares - p @ shares)).astype(p.dtype)
    return grad_scores


@route_backward.equivalent
def by_einsum(grad_gates, grad_loss, cache):
    gates, probabilities, shares, weight = cache
    through = gates * grad_gates - gates * np.einsum("te,te->t", gates, grad_gates)[:, None]
    spread = probabilities * shares - probabilities * np.einsum("te,e->t", probabilities, shares)[:, None]
    return through + spread * gates.dtype.type(grad_loss * weight * gates.shape[1] / gates.shape[0])
