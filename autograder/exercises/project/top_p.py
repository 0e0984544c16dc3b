import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from solutions import project as reference
from solutions.attention import softmax

top_p = Exercise(reference.top_p, outputs={"probabilities": "... vocab"}, section="Temperature and top-p")
wrong = short_mistakes(top_p)


def inputs_of(draw, *shape, p=(0.5, 0.8), temperature=1.0, dtype=np.float64):
    return {
        "logits": (2 * draw.normal(*shape)).astype(dtype),
        "p": float(draw.rng.uniform(*p)),
        "temperature": temperature,
    }


@top_p.cases("the likeliest tokens", points=2)
def _(draw):
    n, vocab = draw.sizes(2, low=4, high=10)
    yield "one row", inputs_of(draw, vocab)
    yield "several rows", inputs_of(draw, n, vocab)
    yield "a small p", inputs_of(draw, n, vocab, p=(0.05, 0.1))
    yield "everything", inputs_of(draw, n, vocab) | {"p": 1.0}
    yield "two batch axes, single precision", inputs_of(draw, 2, n, vocab, dtype=np.float32)


@top_p.cases("the temperature", points=1)
def _(draw):
    n, vocab = draw.sizes(2, low=4, high=10)
    yield "cooler", inputs_of(draw, n, vocab, temperature=float(draw.rng.uniform(0.4, 0.7)))
    yield "warmer", inputs_of(draw, n, vocab, temperature=float(draw.rng.uniform(1.5, 3)))
    yield "cold and large logits", inputs_of(draw, n, vocab, temperature=1e-3) | {"logits": 40 * draw.normal(n, vocab)}


@top_p.cases("ties and refusals", points=1)
def _(draw):
    vocab = draw.size(5, 9)
    equal = np.zeros(vocab)
    equal[draw.rng.integers(2)] = -1.0  # one of the first tokens, so that the kept tokens are not the first
    yield "equally likely tokens", {"logits": equal, "p": 0.45, "temperature": 1.0}
    yield "a sum that is exactly p", {"logits": np.zeros(4), "p": 0.5, "temperature": 1.0}
    yield "a temperature of zero", inputs_of(draw, vocab) | {"temperature": 0.0}
    yield "a negative temperature", inputs_of(draw, vocab) | {"temperature": -1.0}
    yield "p of zero", inputs_of(draw, vocab) | {"p": 0.0}
    yield "a negative p", inputs_of(draw, vocab) | {"p": -0.5}
    yield "p above one", inputs_of(draw, vocab) | {"p": 1.2}


def checked(p, temperature):
    if p <= 0 or p > 1:
        raise ValueError("p must lie above 0, and not above 1")
    if temperature <= 0:
        raise ValueError("the temperature must be above 0")


def cut(probabilities, keep, normalise=True):
    """Keep the tokens that `keep` selects from sorted probabilities, and make their probabilities add up to one."""
    order = np.argsort(-probabilities, axis=-1, kind="stable")
    in_order = np.take_along_axis(probabilities, order, axis=-1)
    kept = np.where(keep(in_order), in_order, 0)
    if normalise:
        kept = kept / kept.sum(axis=-1, keepdims=True)
    result = np.zeros_like(kept)
    np.put_along_axis(result, order, kept, axis=-1)
    return result


def chosen(logits, p, temperature=1.0, *, keep=lambda row, p: before(row) < p, normalise=True):
    """Return `top_p` with another choice of what to keep, a function of sorted probabilities and p."""
    checked(p, temperature)
    return cut(softmax(logits / temperature), lambda row: keep(row, p), normalise)


def before(in_order):
    return np.cumsum(in_order, axis=-1) - in_order


def first(in_order):
    return np.arange(in_order.shape[-1]) == 0


wrong("crossing_left_out", chosen, keep=lambda row, p: (np.cumsum(row, axis=-1) <= p) | first(row))("""
    leaves out the token that reaches p
    You keep tokens as long as their sum stays within p, so the token with which the sum reaches p is missing. The
    tokens that you keep must add up to at least p.""")


@top_p.mistake("keeps one token too many")
def one_too_many(logits, p, temperature=1.0):
    """You keep one token more than needed: the sum has already reached p before it. Keep a token only if the sum of
    those *before* it is still below p."""
    checked(p, temperature)

    def keep(row):
        return np.roll(before(row) < p, 1, axis=-1) | first(row)

    return cut(softmax(logits / temperature), keep)


wrong("beyond_exactly_p", chosen, keep=lambda row, p: before(row) <= p)("""
    goes on where the sum is exactly p
    When the tokens that you keep add up to exactly p, you keep one more. Stop there: keep a token only if those before
    it add up to less than p.""")
wrong("not_normalised", chosen, normalise=False)("""
    does not make the rest add up to one
    The tokens that you keep have their old probabilities, which add up to less than one. Divide by their sum.""")
wrong("threshold", chosen, keep=lambda row, p: (row >= p) | first(row))("""
    keeps tokens that are likelier than p
    You compare the probability of each token with p. In top-p the *sum* of the likeliest tokens must reach p; a single
    token hardly ever does.""")
wrong("other_threshold", chosen, keep=lambda row, p: (row >= 1 - p) | first(row))("""
    keeps the tokens above 1 - p
    You keep each token whose own probability is at least 1 - p. In top-p the probabilities are added up, from the
    likeliest on, until they reach p.""")


@top_p.mistake("adds up from the unlikeliest")
def from_below(logits, p, temperature=1.0):
    """You sort the wrong way round, so you keep the unlikely tokens and lose the likely ones. `np.argsort` sorts in
    rising order: sort the negative probabilities."""
    checked(p, temperature)
    probabilities = softmax(logits / temperature)
    order = np.argsort(probabilities, axis=-1, kind="stable")
    upwards = np.take_along_axis(probabilities, order, axis=-1)
    kept = np.where(before(upwards) < p, upwards, 0)
    result = np.zeros_like(kept)
    np.put_along_axis(result, order, kept / kept.sum(axis=-1, keepdims=True), axis=-1)
    return result


wrong("sorted_ones", lambda logits, p, temperature=1.0: -np.sort(-reference.top_p(logits, p, temperature), axis=-1))("""
    returns the sorted probabilities
    Your probabilities are sorted. Entry k must be that of token k, so put them back in their places, for example with
    `np.put_along_axis`.""")


@top_p.mistake("takes places in the sorted order for tokens")
def places_for_tokens(logits, p, temperature=1.0):
    """You find the right places in the sorted order, but keep the tokens with these numbers. Place k of the order
    belongs to token `order[k]`: put the probabilities back with `np.put_along_axis`."""
    checked(p, temperature)
    probabilities = softmax(logits / temperature)
    in_order = -np.sort(-probabilities, axis=-1)
    kept = np.where((before(in_order) < p) & (in_order > 0), probabilities, 0)
    return kept / kept.sum(axis=-1, keepdims=True)


@top_p.mistake("applies a softmax to the probabilities that are left")
def softmax_of_the_rest(logits, p, temperature=1.0):
    """You hide the other tokens and apply a softmax to the probabilities that are left, so these become nearly equal. A
    softmax is for logits. Divide the probabilities by their sum."""
    checked(p, temperature)
    kept = cut(softmax(logits / temperature), lambda row: before(row) < p, normalise=False)
    return softmax(np.where(kept > 0, kept, -np.inf).astype(kept.dtype))


@top_p.mistake("multiplies by the temperature")
def multiplied(logits, p, temperature=1.0):
    """You multiply the logits by the temperature. A high temperature should make the distribution flatter: divide."""
    checked(p, temperature)
    return reference.top_p(logits * temperature, p)


@top_p.mistake("divides by the temperature twice")
def temperature_twice(logits, p, temperature=1.0):
    """You divide the logits by the temperature twice. Divide once."""
    checked(p, temperature)
    return reference.top_p(logits / temperature, p, temperature)


@top_p.mistake("ignores the temperature")
def no_temperature(logits, p, temperature=1.0):
    """The temperature has no effect on your result. Divide the logits by it before the softmax."""
    checked(p, temperature)
    return reference.top_p(logits, p)


@top_p.mistake("divides the probabilities by the temperature")
def after_softmax(logits, p, temperature=1.0):
    """You divide the probabilities by the temperature, not the logits. When you make them add up to one again, the
    factor cancels. Divide the logits before the softmax."""
    checked(p, temperature)
    probabilities = softmax(logits) / temperature
    return cut(probabilities, lambda row: before(row) < p)


@top_p.mistake("applies the temperature after the cut")
def cut_first(logits, p, temperature=1.0):
    """You choose the tokens at temperature 1 and change the temperature afterwards. The exercise asks for the
    temperature first: at a higher temperature the distribution is flatter, so more tokens are needed to reach p."""
    checked(p, temperature)
    allowed = reference.top_p(logits, p) > 0
    return softmax(np.where(allowed, logits / temperature, -np.inf))


@top_p.mistake("counts over all rows")
def all_rows(logits, p, temperature=1.0):
    """You sort and add up over all rows at once. Each row is a distribution of its own: work along the last axis."""
    checked(p, temperature)
    probabilities = softmax(logits / temperature)
    flat = cut(probabilities.reshape(-1), lambda row: before(row) < p * row.sum(), normalise=False)
    flat = flat.reshape(probabilities.shape)
    return flat / np.maximum(flat.sum(axis=-1, keepdims=True), 1e-300)


@top_p.mistake("chooses the likeliest token")
def greedy(logits, p, temperature=1.0):
    """All weight is on the likeliest token. That is greedy decoding; top-p keeps as many tokens as it takes to reach
    p."""
    checked(p, temperature)
    return cut(softmax(logits / temperature), first)


@top_p.mistake("keeps everything that is as likely as the last one kept")
def all_ties(logits, p, temperature=1.0):
    """You keep all tokens that are as likely as the last one that is needed. If several tokens are equally likely, keep
    only as many as it takes to reach p, and begin with the smaller numbers."""
    checked(p, temperature)
    probabilities = softmax(logits / temperature)
    exact = cut(probabilities, lambda row: before(row) < p, normalise=False)
    least = np.min(np.where(exact > 0, exact, np.inf), axis=-1, keepdims=True)
    kept = np.where(probabilities >= least, probabilities, 0)
    return kept / kept.sum(axis=-1, keepdims=True)


wrong("last_ties", lambda logits, p, temperature=1.0: reference.top_p(logits[..., ::-1], p, temperature)[..., ::-1])("""
    prefers larger numbers among equals
    Of equally likely tokens you keep those with the larger numbers. The exercise asks for the smaller numbers first:
    sort the negative probabilities with `kind="stable"`, and do not reverse a rising sort.""")


@top_p.mistake("refuses nothing")
def anything_goes(logits, p, temperature=1.0):
    """You accept any p and any temperature. At p = 0 no token would be kept, and at temperature 0 you divide by zero.
    Raise a ValueError first."""
    with np.errstate(all="ignore"):
        return cut(softmax(logits / temperature), lambda row: (before(row) < p) | first(row))


@top_p.mistake("keeps every token")
def every_token(logits, p, temperature=1.0):
    """You keep all tokens, whatever p is. Add up the probabilities from the likeliest on, stop as soon as the sum
    reaches p, and set the probabilities of all others to zero."""
    checked(p, temperature)
    return softmax(logits / temperature)


@top_p.mistake("keeps the tokens from p on")
def tail(logits, p, temperature=1.0):
    """You drop the likely tokens and keep the unlikely ones, from the token on at which the running sum reaches p. Keep
    the likely ones up to and including this token."""
    checked(p, temperature)
    with np.errstate(invalid="ignore"):
        return cut(softmax(logits / temperature), lambda in_order: np.cumsum(in_order, axis=-1) >= p)


@top_p.equivalent
def row_by_row(logits, p, temperature=1.0):
    checked(p, temperature)
    probabilities = softmax(logits / temperature)
    rows = probabilities.reshape(-1, probabilities.shape[-1])
    for row in rows:
        total, kept = 0.0, []
        for token in sorted(range(len(row)), key=lambda token: (-row[token], token)):
            kept.append(token)
            total += row[token]
            if total >= p and p < 1:
                break
        row[[token for token in range(len(row)) if token not in kept]] = 0
        row /= row.sum()
    return rows.reshape(logits.shape)


@top_p.equivalent
def by_masked_logits(logits, p, temperature=1.0):
    """Apply the softmax once more, to the tokens that are kept."""
    checked(p, temperature)
    warm = logits / temperature
    order = np.argsort(-warm, axis=-1, kind="stable")
    in_order = softmax(np.take_along_axis(warm, order, axis=-1))
    ranks = np.argsort(order, axis=-1, kind="stable")
    kept = np.take_along_axis(before(in_order) < p, ranks, axis=-1)
    return softmax(np.where(kept, warm, -np.inf))


@top_p.equivalent
def by_counting(logits, p, temperature=1.0):
    """Count how many tokens of each row are needed."""
    checked(p, temperature)
    probabilities = softmax(logits / temperature)
    order = np.argsort(-probabilities, axis=-1, kind="stable")
    sums = np.cumsum(np.take_along_axis(probabilities, order, axis=-1), axis=-1)
    needed = 1 + (sums < p).sum(axis=-1, keepdims=True)
    ranks = np.argsort(order, axis=-1, kind="stable")
    kept = probabilities * (ranks < needed)
    return kept / kept.sum(axis=-1, keepdims=True)
