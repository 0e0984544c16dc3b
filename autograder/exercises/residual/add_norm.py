"""add_norm: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from autograder.exercises.residual.layer_norm import by_einsum, position_by_position, with_var
from autograder.exercises.residual.shared import generator, plain_norm, to_add
from solutions import residual as reference
from solutions.dropout import dropout

add_norm = Exercise(
    reference.add_norm,
    outputs={"output": "... d_model", "cache": UNJUDGED},
    section="Add and norm",
    uses=("layer_norm",),
)


@add_norm.cases("the idea", points=1)
def _(draw):
    yield "one position", to_add(draw, 0)
    yield "one sentence", to_add(draw)


@add_norm.cases("batches and float32", points=1)
def _(draw):
    yield "one batch axis", to_add(draw, 2)
    yield "two batch axes", to_add(draw, 3)
    yield "float32", to_add(draw, 2, np.float32)


@add_norm.cases("dropout", points=1)
def _(draw):
    yield "two fifths of the update are forgotten", to_add(draw, 2) | {"rate": 0.4, "rng": generator(draw)}
    yield "a rate, but no training", to_add(draw) | {"rate": 0.4}


@add_norm.mistake("leaves out the residual connection")
def no_stream(x, update, params, rate=0.0, rng=None):
    """x is missing from the sum: what the sub-layer did not pass on is lost, and so is the gradient's direct path
    back."""
    return plain_norm(dropout(update, rate, rng)[0], params), None


@add_norm.mistake("leaves out the norm")
def no_norm(x, update, params, rate=0.0, rng=None):
    """The sum is right, but it is not normalised: 'Add & Norm' has a second half."""
    return x + dropout(update, rate, rng)[0], None


@add_norm.mistake("normalises the update only")
def norm_of_update(x, update, params, rate=0.0, rng=None):
    """You return x + norm(update). In the paper's order the norm comes last, after the sum: norm(x + update)."""
    return x + plain_norm(dropout(update, rate, rng)[0], params), None


@add_norm.mistake("normalises the stream only")
def norm_of_stream(x, update, params, rate=0.0, rng=None):
    """You return norm(x) + update: the stream is normalised before the update is added. The norm takes the *sum*."""
    return plain_norm(x, params) + dropout(update, rate, rng)[0], None


@add_norm.mistake("normalises the stream before it is added, and the sum")
def norm_of_stream_and_sum(x, update, params, rate=0.0, rng=None):
    """You return norm(norm(x) + update): the stream goes through the norm twice, which loses its size relative to the
    update. Add x as it is, and normalise the sum, once."""
    return plain_norm(plain_norm(x, params) + dropout(update, rate, rng)[0], params), None


@add_norm.mistake("exchanges gain and bias", reread="Layer normalisation")
def gain_for_bias(x, update, params, rate=0.0, rng=None):
    """The norm multiplies by the bias and adds the gain. `layer_norm` takes the gain first, then the bias: hand them
    over by name."""
    exchanged = {"gain": params["bias"], "bias": params["gain"]}
    return plain_norm(x + dropout(update, rate, rng)[0], exchanged), None


@add_norm.mistake("drops the stream too", reread="Dropout")
def drops_the_sum(x, update, params, rate=0.0, rng=None):
    """You apply dropout to the sum, so the stream itself loses entries, more of them with each layer. Drop only the
    update. Without dropout the two agree."""
    return plain_norm(dropout(x + update, rate, rng)[0], params), None


@add_norm.mistake("drops the stream in place of the update", reread="Dropout")
def drops_the_stream(x, update, params, rate=0.0, rng=None):
    """You drop entries of x and leave the update whole. It is the other way round: entries of the update may be
    dropped, but the stream must arrive whole."""
    return plain_norm(dropout(x, rate, rng)[0] + update, params), None


@add_norm.mistake("enlarges the update twice", reread="Dropout")
def update_enlarged_twice(x, update, params, rate=0.0, rng=None):
    """What dropout keeps of the update is divided by 1 - rate once more. `dropout` has already done so, to make up for
    what it drops. Without dropout the two agree."""
    kept, _ = dropout(update, rate, rng)
    return plain_norm(x + kept * (1 if rng is None else 1 / (1 - rate)), params), None


@add_norm.mistake("drops after the norm", reread="Dropout")
def drops_after(x, update, params, rate=0.0, rng=None):
    """Dropout comes last, after sum and norm. The paper drops the output of the sub-layer *before* it is added."""
    return dropout(plain_norm(x + update, params), rate, rng)[0], None


@add_norm.mistake("does not drop", reread="Dropout")
def never_drops(x, update, params, rate=0.0, rng=None):
    """`rate` and `rng` are not used: nothing is ever dropped."""
    return plain_norm(x + update, params), None


@add_norm.mistake("writes the sum into the caller's x")
def in_place(x, update, params, rate=0.0, rng=None):
    """The caller's x has changed: `x += ...` writes the sum into it. The backward pass then finds the wrong array. Make
    a new one: `x + ...`."""
    output = reference.add_norm(x, update, params, rate, rng)
    x += update
    return output


@add_norm.mistake("forgets with a rate of its own", reread="Dropout")
def own_rate(x, update, params, rate=0.0, rng=None):
    """You always drop a tenth, as the paper does, and do not use `rate`. Pass it on to your `dropout`."""
    return plain_norm(x + dropout(update, 0.1, rng)[0], params), None


@add_norm.mistake("normalises both before it adds them")
def norm_of_each(x, update, params, rate=0.0, rng=None):
    """You return norm(x) + norm(update). Normalise the *sum*, once, so that the size of the update relative to the
    stream counts."""
    return plain_norm(x, params) + plain_norm(dropout(update, rate, rng)[0], params), None


@add_norm.mistake("multiplies by one plus the gain")
def one_plus_gain(x, update, params, rate=0.0, rng=None):
    """The normalised sum is multiplied by 1 + gain. Some models store the gain minus one and do so, but here the gain
    is the factor itself, which is 1 in a fresh layer. Call your `layer_norm` with the gain as it is."""
    return reference.add_norm(x, update, params | {"gain": 1 + params["gain"]}, rate, rng)


@add_norm.equivalent
def written_out(x, update, params, rate=0.0, rng=None):
    if rng is not None:
        update = np.where(rng.random(update.shape) < rate, 0, update / (1 - rate)).astype(x.dtype)
    return with_var(x + update, params["gain"], params["bias"])


@add_norm.equivalent
def row_for_row(x, update, params, rate=0.0, rng=None):
    kept, _ = dropout(update, rate, rng)
    return position_by_position(np.add(kept, x), params["gain"], params["bias"])


def one_number_at_a_time(x, rate, rng=None):
    """Return the output of `dropout`, entry by entry."""
    if rng is None:
        return x.copy()
    output = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        if rng.random() >= rate:
            output[index] = x[index] / (1 - rate)
    return output


@add_norm.equivalent
def sum_of_a_stack(x, update, params, rate=0.0, rng=None):
    stack = np.stack([x, one_number_at_a_time(update, rate, rng)])
    return by_einsum(stack.sum(axis=0), params["gain"], params["bias"])
