import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from solutions import since as reference
from solutions.routing import route

route_backward = Exercise(
    reference.route_backward, outputs={"grad_scores": "T n_experts"}, section="A router: yours to derive"
)
wrong = short_mistakes(route_backward)


def routed(draw, n_active, weight, *, gates=1.0, loss=None, dtype=np.float64):
    """Return random cotangents and the cache of `route`, for an uneven load."""
    T, n_experts = draw.sizes(2, low=4, high=9)
    while True:
        scores = (draw.normal(T, n_experts) + draw.normal(n_experts)).astype(dtype)
        _, _, cache = route(scores, n_active, weight)
        if np.ptp(cache[2]):  # with equal shares, the gradient of the balancing loss is only rounding
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


def softmax_slope(weights, grad, *_):
    return weights * (grad - (weights * grad).sum(axis=-1, keepdims=True))


def walked(grad_gates, grad_loss, cache, **put):
    """Go back with single terms replaced.

    put: `through`, from (gates, their gradient, probabilities) to the scores' gradient through the gates; `balance`,
    from (probabilities, their gradient, gates) to their gradient through the loss; `probabilities`, from the gradient
    of the probabilities and the gates to another gradient.
    """
    gates, probabilities, shares, weight = cache
    n_words, n_experts = gates.shape
    kind = gates.dtype.type
    of_probabilities = np.broadcast_to(shares * kind(grad_loss * weight * n_experts / n_words), gates.shape)
    of_probabilities = put.get("probabilities", lambda grad, gates: grad)(of_probabilities, gates)
    balance = put.get("balance", softmax_slope)(probabilities, of_probabilities, gates)
    return put.get("through", softmax_slope)(gates, grad_gates, probabilities) + balance


@route_backward.mistake("goes back through the softmax of all experts")
def all_experts(grad_gates, grad_loss, cache):
    """You pass the gates' gradient back through the softmax of *all* scores. The gates are the softmax of the chosen
    scores, so use the gates themselves. Experts that were not chosen then get nothing from the gates."""
    return walked(grad_gates, grad_loss, cache, through=lambda *_: softmax_slope(cache[1], grad_gates))


@route_backward.mistake("gives the experts that were not chosen no gradient")
def chosen_alone(grad_gates, grad_loss, cache):
    """The scores of experts that were not chosen get a gradient of zero. The gates ignore these experts, but the mean
    probabilities in the balancing loss do not, and only their gradient can bring back an expert that is not used."""
    return np.where(cache[0] > 0, reference.route_backward(grad_gates, grad_loss, cache), 0)


wrong("gates_constant", walked, through=lambda gates, grad, probabilities: np.zeros_like(grad))("""
    treats the gates as constants
    Nothing comes back through the gates. The choice is a constant, but a softmax decides how much each chosen expert
    counts, and this softmax has a gradient.""")
wrong("loss_left_out", walked, balance=lambda probabilities, grad, gates: np.zeros_like(grad))("""
    leaves out the balancing loss
    Nothing comes back through the balancing loss. `grad_loss` is its gradient: go on to the mean probabilities and
    through the softmax of all experts, and add both parts.""")
wrong("without_the_mean", walked, through=lambda gates, grad, probabilities: gates * grad)("""
    leaves out the weighted mean of the gates
    On the path through the gates, you multiply gates and gradient, but subtract nothing. A word's gates add up to one,
    so its scores compete: subtract the weighted mean of the word's gradient first.""")


@route_backward.mistake("takes the diagonal of the softmax's Jacobian alone")
def diagonal_alone(grad_gates, grad_loss, cache):
    """On both paths you multiply the gradient by p (1 - p), as for a sigmoid. That is the diagonal of the softmax's
    Jacobian. Each score also changes the weights of the other experts: subtract the weighted mean of the word's
    gradient, and multiply by p."""

    def slope(weights, grad, *_):
        return weights * (1 - weights) * grad

    return walked(grad_gates, grad_loss, cache, through=slope, balance=slope)


wrong("plain_mean", walked, through=lambda gates, grad, *_: gates * (grad - grad.mean(axis=-1, keepdims=True)))("""
    subtracts a plain mean
    On the path through the gates, you subtract the plain mean of a word's gradient. Subtract the mean in which each
    chosen expert counts by its gate, and the others do not count.""")
wrong("loss_through_gates", walked, balance=lambda probabilities, grad, gates: softmax_slope(gates, grad))("""
    takes the gates for the whole softmax in the loss
    You pass the gradient of the balancing loss back through the gates. This loss contains the probabilities of *all*
    experts, chosen or not, so even a rarely chosen expert gets a gradient.""")
wrong("stops_at_probabilities", walked, balance=lambda probabilities, grad, gates: grad)("""
    stops at the probabilities
    From the balancing loss, you return the gradient of the probabilities. They are the softmax of the scores, so go
    back through the softmax, too.""")
wrong("loss_without_the_mean", walked, balance=lambda probabilities, grad, gates: probabilities * grad)("""
    leaves out the weighted mean in the loss
    On the path through the balancing loss, all scores get a gradient of the same sign. The probabilities of a word add
    up to one, so the others gain what one expert loses: subtract the weighted mean of the shares.""")
wrong("without_the_number_of_words", walked, probabilities=lambda grad, gates: grad * gates.dtype.type(len(gates)))("""
    forgets that the loss takes a mean over the words
    Your gradient of the balancing loss is T times too large. P_e is a mean over the T words, so each word has a factor
    1/T.""")
wrong(
    "without_the_number_of_experts", walked, probabilities=lambda grad, gates: grad / gates.dtype.type(gates.shape[1])
)("""
    forgets the number of experts
    Your gradient of the balancing loss is n_experts times too small. The loss contains this factor, so that even shares
    give a loss of `weight`.""")
wrong("without_the_weight", lambda grad_gates, grad_loss, cache: walked(grad_gates, grad_loss, (*cache[:3], 1.0)))("""
    forgets the weight of the loss
    The balancing loss is multiplied by `weight`, but your gradient is not.""")
wrong("loss_of_one", walked, grad_loss=1.0)("""
    takes grad_loss to be 1
    You add the gradient of the balancing loss as if nothing followed this loss. `grad_loss` is the gradient that
    arrives there, and may be 0: multiply by it.""")
wrong("wrong_sign", lambda grad_gates, grad_loss, cache: walked(grad_gates, -grad_loss, cache))("""
    pushes towards the busy experts
    Your gradient of the balancing loss has the wrong sign. A gradient points where the loss rises: towards experts
    whose share is large.""")


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
    return walked(grad_gates + of_shares, grad_loss, cache)


wrong("promoted", lambda grad_gates, grad_loss, cache: walked(grad_gates, grad_loss, cache).astype(np.float64))("""
    returns float64 for float32
    A float64 array, or a NumPy float64 number, in your computation made the result float64. Return the dtype of the
    gates.""")
wrong(
    "divided_by_the_chosen", walked, probabilities=lambda grad, gates: grad / gates.dtype.type((gates[0] > 0).sum())
)("""
    divides by the number of chosen experts, too
    Your gradient of the balancing loss is too small by a factor, the number of experts that each word gets. The shares
    already add up to one, and P_e is a mean over the T words: divide only by T.""")


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
