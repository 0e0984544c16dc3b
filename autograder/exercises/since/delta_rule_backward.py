"""delta_rule_backward: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import Exercise
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


def a_text(draw, T=None, dtype=np.float64, **put):
    """Return a random cotangent and the cache that `delta_rule` left."""
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
    yield "float32", a_text(draw, 5, dtype=np.float32)  # of two words, only one fade has a gradient, which may cancel
    yield "a fade of 0 at the third word", a_text(draw, 5, fades=np.array([0.9, 0.7, 0.0, 0.8, 0.6]))


def walked(grad_outputs, cache, **put):
    """Walk back with single terms replaced.

    put: `state`, from the states and t to the state that is read; `missing`, what was missing at t, from (values, keys,
    faded) rows; `key`, from both terms of a key's gradient to the gradient; `through`, from (gradient of the state,
    gradient by way of what was missing) to that of the faded state; `carried`, from (fade, gradient of the faded state)
    to what arrives at the state before; `fade`, from (gradient of the faded state, state before) to the fade's;
    `faded`, from (fade, state before) to the state that the key reads; `value`, from (strength, gradient of what is
    written) to the value's gradient; `strength`, from (gradient of what is written, missing, strength) to the
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


@delta_rule_backward.mistake("reads the state before the word")
def state_before(grad_outputs, cache):
    """The gradient of a query uses the state from before its word. The word writes first and reads afterwards:
    `states[t + 1]`. At the first word the state before is zero, and so is your gradient there."""
    return walked(grad_outputs, cache, state=lambda states, t: states[t])


@delta_rule_backward.mistake("carries no gradient from word to word")
def nothing_carried(grad_outputs, cache):
    """Each word gets the gradient of its own output only. A later word reads what this one has written, so the gradient
    of the state is a sum over all later words: carry it from each word to the one before."""
    return walked(grad_outputs, cache, carried=lambda fade, grad: np.zeros_like(grad))


@delta_rule_backward.mistake("forgets the gradient that comes from later words")
def replaced_not_added(grad_outputs, cache):
    """The gradient of a word's own output replaces what has arrived from later words. The state goes both into the
    output and into the next state, so the two are added."""
    return walked(grad_outputs, cache, arrives=lambda carried, own: own if own.any() else carried)


@delta_rule_backward.mistake("goes from the first word to the last")
def forwards(grad_outputs, cache):
    """You carry the gradient from each word to the *next*. A word influences what comes after it, so its gradient comes
    from there: begin with the last word."""
    return walked(grad_outputs, cache, order=range)


@delta_rule_backward.mistake("does not let the gradient fade")
def not_faded(grad_outputs, cache):
    """You pass the gradient of the faded state to the word before unchanged. The faded state is the fade times the
    state before, so multiply the gradient by the fade, too. Where nothing fades, the two agree."""
    return walked(grad_outputs, cache, carried=lambda fade, grad: grad)


@delta_rule_backward.mistake("reads the state before it fades")
def read_before_fading(grad_outputs, cache):
    """What is missing, and the key's gradient, use `states[t]`. The state fades first, and the key reads afterwards:
    `fades[t] * states[t]`. Where nothing fades, the two agree."""
    return walked(grad_outputs, cache, faded=lambda fade, before: before)


@delta_rule_backward.mistake("forgets that writing reads the state")
def reading_forgotten(grad_outputs, cache):
    """The gradient goes back as if each word wrote strength times value. It writes what is *missing*, value minus what
    the key reads, so the state before has a second path, with a minus: the key times the gradient of what is missing.
    Without it, this is the gradient of a plain linear attention."""
    return walked(grad_outputs, cache, through=lambda grad, reads: grad, key=lambda writes, reads: writes)


@delta_rule_backward.mistake("has the wrong sign on the path through the reading")
def reading_added(grad_outputs, cache):
    """What the key reads is subtracted from the value. You add its gradient to that of the state: subtract it."""
    return walked(grad_outputs, cache, through=lambda grad, reads: grad + reads)


@delta_rule_backward.mistake("counts the key only where it writes")
def key_writes(grad_outputs, cache):
    """The key's gradient has one of two terms. The key is used twice: it says where the difference is written, and it
    reads what the value is compared with."""
    return walked(grad_outputs, cache, key=lambda writes, reads: writes)


@delta_rule_backward.mistake("counts the key only where it reads")
def key_reads(grad_outputs, cache):
    """The key's gradient has one of two terms, that of the reading. The key also says where the difference is written,
    and this term contains what was missing."""
    return walked(grad_outputs, cache, key=lambda writes, reads: reads)


@delta_rule_backward.mistake("adds both terms of the key with a plus")
def key_sign(grad_outputs, cache):
    """The second term of the key's gradient has the wrong sign: what the key reads is *subtracted* from the value."""
    return walked(grad_outputs, cache, key=lambda writes, reads: writes - reads)


@delta_rule_backward.mistake("takes the value for what is missing")
def value_for_missing(grad_outputs, cache):
    """Your gradients of key and strength use the value. The word wrote strength times what was *missing*, which is the
    value minus what the key read. At the first word the two are the same."""
    return walked(grad_outputs, cache, missing=lambda value, key, faded: value)


@delta_rule_backward.mistake("forgets the strength in the values' gradient")
def value_without_strength(grad_outputs, cache):
    """Your gradient of a value is right only if the whole value is written. The word writes only a share of it, the
    strength."""
    return walked(grad_outputs, cache, value=lambda strength, grad: grad)


@delta_rule_backward.mistake("keeps the strength in its own gradient")
def strength_kept(grad_outputs, cache):
    """The strength's gradient still has the strength as a factor. The strength multiplies what is missing, so its
    gradient is the product of the other two."""
    return walked(grad_outputs, cache, strength=lambda grad, missing, strength: strength * (grad @ missing))


@delta_rule_backward.mistake("multiplies by the faded state in the fade's gradient")
def fade_kept(grad_outputs, cache):
    """The fade's gradient still has the fade as a factor: you multiply by the faded state. The fade multiplies the
    state before, so multiply by that: `states[t]`."""
    return walked(grad_outputs, cache, fade=lambda grad, before, fade: (grad * (fade * before)).sum())


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
    """A word multiplies the state by fade (I - strength k k^T), and adds strength k v^T."""
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
