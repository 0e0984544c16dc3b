import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from solutions import since as reference
from solutions.delta_rule import delta_rule

delta_rule_backward = Exercise(
    reference.delta_rule_backward,
    outputs={
        "grad_queries": "T d_key",
        "grad_keys": "T d_key",
        "grad_values": "T d_value",
        "grad_fades": "T",
        "grad_strengths": "T",
    },
    order=("grad_queries", "grad_values", "grad_strengths", "grad_keys", "grad_fades"),
    section="A memory, walked backwards: yours to derive",
)
wrong = short_mistakes(delta_rule_backward)


def a_text(draw, T=None, dtype=np.float64, **put):
    """Return a random cotangent and the cache of `delta_rule`."""
    length, d_key, d_value = draw.sizes(3, low=2, high=7)
    T = length if T is None else T
    keys = draw.normal(T, d_key)
    keys = keys / np.linalg.norm(keys, axis=-1, keepdims=True)
    fades, strengths = draw.rng.uniform(0.5, 1, size=(2, T))
    arrays = {
        "queries": draw.normal(T, d_key),
        "keys": keys,
        "values": draw.normal(T, d_value),
        "fades": fades,
        "strengths": strengths,
    } | put
    _, cache = delta_rule(*(array.astype(dtype) for array in arrays.values()))
    return {"grad_outputs": draw.normal(T, d_value, dtype=dtype), "cache": cache}


@delta_rule_backward.cases("one word", points=2)
def _(draw):
    yield "one word", a_text(draw, 1)
    inputs = a_text(draw, 4)
    inputs["grad_outputs"][1:] = 0
    yield "a gradient at the first word only", inputs


@delta_rule_backward.cases("back through the state", points=3)
def _(draw):
    length = draw.size(3, 7)
    inputs = a_text(draw, length)
    inputs["grad_outputs"][:-1] = 0
    yield "a gradient at the last word only", inputs
    yield "a gradient at every word", a_text(draw)
    yield "nothing fades", a_text(draw, length, fades=np.ones(length))
    yield (
        "keys that are longer than one",
        a_text(draw, length, keys=2 * draw.normal(length, 3), queries=draw.normal(length, 3)),
    )


@delta_rule_backward.cases("float32, and a state that is forgotten", points=1)
def _(draw):
    yield "float32", a_text(draw, 5, dtype=np.float32)  # with two words, only one fade has a gradient, which may cancel
    yield "a fade of 0 at the third word", a_text(draw, 5, fades=np.array([0.9, 0.7, 0.0, 0.8, 0.6]))


def walked(grad_outputs, cache, **put):
    """Walk back with single terms replaced.

    put: `state`, from the states and t to the state that the query reads; `missing`, what was missing at t, from
    (values, keys, faded) rows; `key`, from both terms of a key's gradient to the gradient; `through`, from (gradient of
    the state, gradient by way of what was missing) to that of the faded state; `carried`, from (fade, gradient of the
    faded state) to what arrives at the state before; `fade`, from (gradient of the faded state, state before) to the
    fade's; `faded`, from (fade, state before) to the state that the key reads; `value`, from (strength, gradient of
    what is written) to the value's gradient; `strength`, from (gradient of what is written, missing, strength) to the
    strength's; `order`, from T to the words in the order of the walk.
    """
    queries, keys, values, fades, strengths, states = cache
    gradients = [np.zeros_like(array) for array in (queries, keys, values, fades, strengths)]
    missing_of = put.get("missing", lambda value, key, faded: value - key @ faded)
    read = put.get("state", lambda states, t: states[t + 1])
    carried = np.zeros_like(states[0])
    for t in put.get("order", lambda T: range(T - 1, -1, -1))(len(queries)):
        fade, strength, before = fades[t], strengths[t], states[t]
        faded = put.get("faded", np.multiply)(fade, before)
        missing = missing_of(values[t], keys[t], faded)
        gradients[0][t] = read(states, t) @ grad_outputs[t]
        grad_state = put.get("arrives", lambda carried, own: carried + own)(
            carried, np.outer(queries[t], grad_outputs[t])
        )
        grad_written = keys[t] @ grad_state
        grad_missing = strength * grad_written
        gradients[1][t] = put.get("key", lambda writes, reads: writes + reads)(
            strength * (grad_state @ missing), -faded @ grad_missing
        )
        gradients[2][t] = put.get("value", lambda strength, grad: strength * grad)(strength, grad_written)
        gradients[4][t] = put.get("strength", lambda grad, missing, strength: grad @ missing)(
            grad_written, missing, strength
        )
        grad_faded = put.get("through", lambda grad, reads: grad - reads)(grad_state, np.outer(keys[t], grad_missing))
        gradients[3][t] = put.get("fade", lambda grad, before, fade: (grad * before).sum())(grad_faded, before, fade)
        carried = put.get("carried", lambda fade, grad: fade * grad)(fade, grad_faded)
    return tuple(gradients)


wrong("state_before", walked, state=lambda states, t: states[t])("""
    reads the state before the word
    The gradient of a query uses the state from before its word. The word writes first and reads afterwards: `states[t +
    1]`. At the first word the previous state is zero, and so is your gradient there.""")
wrong("nothing_carried", walked, carried=lambda fade, grad: np.zeros_like(grad))("""
    carries no gradient from word to word
    Each word gets the gradient of its own output only. Later words read what this word has written, so the gradient of
    the state is a sum over all later words: carry it from each word to the previous word.""")
wrong("replaced_not_added", walked, arrives=lambda carried, own: own if own.any() else carried)("""
    forgets the gradient that comes from later words
    The gradient of a word's own output replaces what has arrived from later words. The state goes both into the output
    and into the next state, so add the two gradients.""")
wrong("forwards", walked, order=range)("""
    goes from the first word to the last
    You carry the gradient from each word to the *next*. A word influences what comes after it, so its gradient comes
    from there: begin with the last word.""")
wrong("not_faded", walked, carried=lambda fade, grad: grad)("""
    does not let the gradient fade
    You pass the gradient of the faded state unchanged to the previous word. The faded state is the fade times the
    previous state, so multiply the gradient by the fade, too. If nothing fades, the two agree.""")
wrong("read_before_fading", walked, faded=lambda fade, before: before)("""
    reads the state before it fades
    What is missing, and the key's gradient, use `states[t]`. The state fades first, and the key reads afterwards:
    `fades[t] * states[t]`. If nothing fades, the two agree.""")
wrong("reading_forgotten", walked, through=lambda grad, reads: grad, key=lambda writes, reads: writes)("""
    forgets that writing reads the state
    The gradient goes back as if each word wrote strength times value. It writes what is *missing*, value minus what the
    key reads, so the previous state has a second path with a minus sign: the key times the gradient of what is missing.
    Without it, this is the gradient of a plain linear attention.""")
wrong("reading_added", walked, through=lambda grad, reads: grad + reads)("""
    has the wrong sign on the path through the reading
    The forward pass subtracts what the key reads from the value. You add its gradient to that of the state: subtract
    it.""")
wrong("key_writes", walked, key=lambda writes, reads: writes)("""
    counts the key only where it writes
    The key's gradient has only one of its two terms. The forward pass uses the key twice: to write the difference, and
    to read what it compares with the value.""")
wrong("key_reads", walked, key=lambda writes, reads: reads)("""
    counts the key only where it reads
    The key's gradient has only one of its two terms, that of reading. The key also says where to write the difference,
    and this term contains what was missing.""")
wrong("key_sign", walked, key=lambda writes, reads: writes - reads)("""
    adds both terms of the key with a plus
    The second term of the key's gradient has the wrong sign: what the key reads is *subtracted* from the value.""")
wrong("value_for_missing", walked, missing=lambda value, key, faded: value)("""
    takes the value for what is missing
    Your gradients of key and strength use the value. The word wrote strength times what was *missing*, which is the
    value minus what the key read. At the first word the two are the same.""")
wrong("value_without_strength", walked, value=lambda strength, grad: grad)("""
    forgets the strength in the values' gradient
    Your gradient of a value is right only if the word writes the whole value. The word writes only a share of it, the
    strength.""")
wrong("strength_kept", walked, strength=lambda grad, missing, strength: strength * (grad @ missing))("""
    keeps the strength in its own gradient
    The strength's gradient still has the strength as a factor. The strength multiplies what is missing, so its gradient
    is the product of the other two.""")
wrong("fade_kept", walked, fade=lambda grad, before, fade: (grad * (fade * before)).sum())("""
    multiplies by the faded state in the fade's gradient
    The fade's gradient still has the fade as a factor: you multiply by the faded state. The fade multiplies the
    previous state, so multiply by that state: `states[t]`.""")


@delta_rule_backward.mistake("leaves the reading out of the fade's gradient")
def fade_without_reading(grad_outputs, cache):
    """Your fade's gradient comes only from the state that stays. The key reads from the faded state, too, so the fade
    changes what is missing. Take the gradient of the faded state, which contains both paths."""
    right = reference.delta_rule_backward(grad_outputs, cache)
    kept = np.zeros_like(right[3])

    def through(grad, reads):
        through.grad = grad
        return grad - reads

    def fade(grad, before, fade):
        return (through.grad * before).sum()

    kept = walked(grad_outputs, cache, through=through, fade=fade)[3]
    return (*right[:3], kept, right[4])


@delta_rule_backward.mistake("returns float64 for float32")
def promoted(grad_outputs, cache):
    """Your gradients are float64 although all inputs are float32. `np.zeros` without a dtype does that: use
    `np.zeros_like`."""
    return tuple(array.astype(np.float64) for array in reference.delta_rule_backward(grad_outputs, cache))


@delta_rule_backward.equivalent
def term_by_term(grad_outputs, cache):
    return walked(grad_outputs, cache)


@delta_rule_backward.equivalent
def by_a_matrix(grad_outputs, cache):
    """For each word, multiply the state by fade (I - strength k k^T), and add strength k v^T."""
    queries, keys, values, fades, strengths, states = cache
    lists = [[] for _ in range(5)]
    carried = np.zeros_like(states[0])
    eye = np.eye(keys.shape[1], dtype=keys.dtype)
    for t in range(len(queries) - 1, -1, -1):
        k, before = keys[t][:, None], states[t]
        grad = carried + queries[t][:, None] * grad_outputs[t]
        projection = eye - strengths[t] * (k @ k.T)
        of_matrix = grad @ (fades[t] * before).T  # the gradient of the projection
        of_key = -strengths[t] * ((of_matrix + of_matrix.T) @ k) + strengths[t] * grad @ values[t][:, None]
        lists[0].append(states[t + 1] @ grad_outputs[t])
        lists[1].append(of_key[:, 0])
        lists[2].append(strengths[t] * (k.T @ grad)[0])
        lists[3].append(np.sum(grad * (projection @ before)))
        lists[4].append((k.T @ grad @ values[t])[0] - np.sum(of_matrix * (k @ k.T)))
        carried = fades[t] * (projection.T @ grad)
    return [np.array(rows[::-1]) for rows in lists]


@delta_rule_backward.equivalent
def gradients_of_states_first(grad_outputs, cache):
    queries, keys, values, fades, strengths, states = cache
    grads = np.einsum("tk,tv->tkv", queries, grad_outputs)
    faded = fades[:, None, None] * states[:-1]
    missing = values - np.einsum("tk,tkv->tv", keys, faded)
    for t in range(len(queries) - 1, 0, -1):
        grads[t - 1] += fades[t] * (grads[t] - strengths[t] * np.outer(keys[t], keys[t] @ grads[t]))
    written = np.einsum("tk,tkv->tv", keys, grads)
    of_missing = strengths[:, None] * written
    of_faded = grads - keys[:, :, None] * of_missing[:, None, :]
    return (
        np.einsum("tkv,tv->tk", states[1:], grad_outputs),
        strengths[:, None] * np.einsum("tkv,tv->tk", grads, missing) - np.einsum("tkv,tv->tk", faded, of_missing),
        of_missing,
        (of_faded * states[:-1]).sum(axis=(1, 2)),
        (written * missing).sum(axis=1),
    )
