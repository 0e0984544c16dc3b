"""diagnose_depth: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.diagnoses import one_of_each, overlooked, renamed
from autograder.authoring.exercise import Exercise
from solutions import depth as reference
from solutions.broken_stacks import stack_record

diagnose_depth = Exercise(reference.diagnose_depth, outputs={"bug": "", "first": ""}, section="Read a broken stack")


def records(draw, *bugs):
    return one_of_each(draw, "stack", bugs, lambda bugs: ({"record": stack_record(bug, draw.rng)[0]} for bug in bugs))


@diagnose_depth.cases("the way past the sub-layer", points=2)
def _(draw):
    yield from records(draw, "residual missing", "residual missing on the way back", "stream normalised")


@diagnose_depth.cases("the norm", points=1)
def _(draw):
    yield from records(draw, "norm after the sum", "norm missing", "norm over the words")


@diagnose_depth.cases("the weights", points=2)
def _(draw):
    yield from records(draw, "gain at zero", "w_out at zero", "w_in not scaled", "w_out not scaled")


def with_first(diagnosis, change):
    """Return the diagnosis, with another sub-layer where there is one."""
    bug, first = diagnosis
    return bug, first if first is None else change(first)


@diagnose_depth.mistake("names the row of the stream that leaves the sub-layer")
def one_late(record):
    """Your sub-layer is one too high. Row `l` of `stream` *enters* sub-layer `l`, so a row that is wrong comes from the
    sub-layer below it."""
    return with_first(reference.diagnose_depth(record), lambda first: first + 1)


@diagnose_depth.mistake("names the sub-layer below")
def one_early(record):
    """Your sub-layer is one too low. The gradient is walked from the top down, so the sub-layers *below* a bug show it
    in their gradients, and have no bug themselves."""
    return with_first(reference.diagnose_depth(record), lambda first: first - 1)


@diagnose_depth.mistake("names the top sub-layer")
def the_last(record):
    """You name the last sub-layer. A bug also shows in the activations of all sub-layers above it. Name the lowest one
    whose activations, or the highest one whose gradient, break with their neighbours."""
    return with_first(reference.diagnose_depth(record), lambda first: len(record["gain_gradients"]) - 1)


@diagnose_depth.mistake("names the bottom sub-layer")
def the_lowest(record):
    """You name sub-layer 0. All gradients below a bug differ from those of a healthy stack, and so does the lowest. The
    bug is where the gradient changes from one sub-layer to the next."""
    return with_first(reference.diagnose_depth(record), lambda first: 0)


@diagnose_depth.mistake("gives a sub-layer to a healthy stack")
def layer_for_nothing(record):
    """Where the bug is "nothing", `first` must be None: no sub-layer has a bug. You return 0."""
    bug, first = reference.diagnose_depth(record)
    return bug, 0 if first is None else first


@diagnose_depth.mistake("gives -1 as the sub-layer of a healthy stack")
def minus_one_for_nothing(record):
    """Where the bug is "nothing", `first` must be None. You return -1, which Python reads as the last sub-layer."""
    bug, first = reference.diagnose_depth(record)
    return bug, -1 if first is None else first


@diagnose_depth.mistake("returns the sub-layer before the name")
def layer_first(record):
    """You return `(first, bug)`. The name comes first: `(bug, first)`."""
    return reference.diagnose_depth(record)[::-1]


@diagnose_depth.mistake("takes the growth of a healthy stream for a bug")
def growth_as_a_bug(record):
    """You name a bug in a healthy stack. Each sub-layer adds to the stream, so its spread grows from the first row to
    the last, and gradients grow towards the bottom. Compare each row with its neighbours, not with the first row."""
    bug, first = reference.diagnose_depth(record)
    return ("w_out not scaled", 0) if first is None else (bug, first)


@diagnose_depth.mistake("looks at the activations alone")
def activations_alone(record):
    """You call a stack healthy whose activations are all right. A bug of the backward pass changes no activation: look
    at `stream_gradients`, which must not fall from one row to the row below."""
    return overlooked(reference.diagnose_depth(record), ["residual missing on the way back"])


@diagnose_depth.mistake("does not look at the other words")
def other_words_ignored(record):
    """You overlook a norm over the words. Its rows look like any others. But this stack has no attention, so where the
    last word alone changes, no other word may move: see `moved`."""
    return overlooked(reference.diagnose_depth(record), ["norm over the words"])


@diagnose_depth.mistake("does not look for gradients of zero")
def zeros_overlooked(record):
    """You overlook parameters that get no gradient. A length of exactly zero never comes by chance: it says that the
    parameter is not used, or that a zero stands behind it."""
    return overlooked(reference.diagnose_depth(record), ["gain at zero", "w_out at zero", "norm missing"])


@diagnose_depth.mistake("takes a gain of zero for a w_out of zero")
def gain_as_w_out(record):
    """In both stacks the update is zero. A gain of zero makes the hidden values zero, so that not even `w_out` gets a
    gradient. A `w_out` of zero gets one, and is no longer zero after a step."""
    return renamed(reference.diagnose_depth(record), ["gain at zero"], to="w_out at zero")


@diagnose_depth.mistake("takes a w_out of zero for a gain of zero")
def w_out_as_gain(record):
    """In both stacks the update is zero, and the gain and `w_in` get no gradient. If `w_out` gets one, its input is not
    zero, so the gain is not zero either: `w_out` is."""
    return renamed(reference.diagnose_depth(record), ["w_out at zero"], to="gain at zero")


@diagnose_depth.mistake("takes every large update for a w_out that is not scaled")
def always_w_out(record):
    """A large update comes from `w_in` as well as from `w_out`, since relu passes a factor on. The gradients tell: a
    large `w_in` makes the hidden values large, and with them the gradient of `w_out`."""
    return renamed(reference.diagnose_depth(record), ["w_in not scaled"], to="w_out not scaled")


@diagnose_depth.mistake("exchanges w_in and w_out")
def weights_exchanged(record):
    """You exchange the two weights. The gradient of a weight contains the *other* weight: a large `w_out` enlarges the
    gradient of `w_in`, and leaves its own as it is."""
    bug, first = reference.diagnose_depth(record)
    other = {"w_in not scaled": "w_out not scaled", "w_out not scaled": "w_in not scaled"}
    return other.get(bug, bug), first


@diagnose_depth.mistake("takes a missing norm for weights that are not scaled")
def missing_norm_as_weights(record):
    """Without its norm a sub-layer reads the whole stream, and its update is too large. So it is if the weights are not
    scaled. But a norm that is not used has a gain without a gradient."""
    return renamed(reference.diagnose_depth(record), ["norm missing"], to="w_out not scaled")


@diagnose_depth.mistake("takes a normalised stream for a missing residual")
def normalised_as_missing(record):
    """In both stacks the spread of the stream falls. If the residual connection is missing, nothing of the stream is
    left. A normalised stream is still there, only shorter: compare the rows before and after by their products."""
    return renamed(reference.diagnose_depth(record), ["stream normalised"], to="residual missing")


@diagnose_depth.mistake("takes a missing residual for a normalised stream")
def missing_as_normalised(record):
    """In both stacks the spread of the stream falls. Ask whether the rows behind the sub-layer still have to do with
    those in front of it: their products are near zero if the stream itself is gone."""
    return renamed(reference.diagnose_depth(record), ["residual missing"], to="stream normalised")


@diagnose_depth.mistake("takes a norm after the sum for a normalised stream")
def after_as_normalised(record):
    """In both stacks the stream is still there and has a smaller spread. Behind a norm, each word's row has a standard
    deviation of 1. Where the update was added behind the norm, the rows have larger and different ones."""
    return renamed(reference.diagnose_depth(record), ["norm after the sum"], to="stream normalised")


@diagnose_depth.mistake("takes a residual missing in the backward pass for one missing in the forward pass")
def back_as_forward(record):
    """You name a missing residual where the gradient falls. If the activations show nothing at this sub-layer, the
    forward pass is right, and the sum is missing in the backward pass alone."""
    return renamed(reference.diagnose_depth(record), ["residual missing on the way back"], to="residual missing")


def shape_of(rows):
    """Return rows (words, d_model) without mean and size: what two rows that differ by a norm have in common."""
    centred = rows - rows.mean(axis=-1, keepdims=True)
    return centred / np.linalg.norm(centred)


def what_it_is(record, layer):
    """Return the name of the bug of a sub-layer, or None: one question after the other."""
    gain, w_in, w_out = (record[f"{name}_gradients"][layer] for name in ("gain", "w_in", "w_out"))
    enters, leaves = record["stream"][layer : layer + 2]
    if not w_in:
        return "w_out at zero" if w_out else "gain at zero"
    if not gain:
        return "norm missing"
    if np.allclose(leaves.var(axis=-1), 1, atol=1e-2):
        return "norm after the sum"
    if leaves.var() < 0.8 * enters.var():
        return "stream normalised" if (shape_of(enters) * shape_of(leaves)).sum() > 0.5 else "residual missing"
    if record["moved"][layer + 1, 0] > 1e-9:
        return "norm over the words"
    others = np.delete(np.diff(record["stream"], axis=0), layer, axis=0)
    if (leaves - enters).var() > 9 * np.mean(others.var(axis=(1, 2))):
        neighbour = record["w_out_gradients"][layer - 1] / record["w_in_gradients"][layer - 1]
        return "w_in not scaled" if w_out / w_in > neighbour else "w_out not scaled"
    below, above = record["stream_gradients"][layer : layer + 2]
    return "residual missing on the way back" if below < 0.75 * above else None


@diagnose_depth.equivalent
def sub_layer_by_sub_layer(record):
    for layer in range(len(record["gain_gradients"])):
        if bug := what_it_is(record, layer):
            return bug, layer
    return "nothing", None


@diagnose_depth.equivalent
def from_the_top(record):
    """From the top down, as the gradient goes, and a list with a NumPy number."""
    found = ["nothing", None]
    for layer in np.arange(len(record["gain_gradients"]))[::-1]:
        if bug := what_it_is(record, layer):
            found = [bug, layer]
    return found


@diagnose_depth.equivalent
def by_logarithms(record):
    """Steps of logarithms against their median, and the update before the stream."""
    after, lengths = record["stream"][1:], np.linalg.norm(record["stream"], axis=(1, 2))
    updates = np.linalg.norm(np.diff(record["stream"], axis=0), axis=(1, 2))
    usual = np.median(updates)
    for layer, update in enumerate(updates):
        gains = [record[f"{name}_gradients"][layer] for name in ("gain", "w_in", "w_out")]
        if update == 0:
            return ("gain at zero" if max(gains) == 0 else "w_out at zero"), layer
        if min(gains) == 0:
            return "norm missing", layer
        if record["moved"][layer + 1, :-1].sum() > 0:
            return "norm over the words", layer
        if np.log(lengths[layer + 1] / lengths[layer]) < -0.1:
            if np.ptp(after[layer].std(axis=-1)) < 0.01:
                return "norm after the sum", layer
            cosine = np.vdot(record["stream"][layer], after[layer]) / (lengths[layer] * lengths[layer + 1])
            return ("stream normalised" if cosine > 0.5 else "residual missing"), layer
        if update > 3 * usual:
            others = np.median(record["w_out_gradients"] / record["w_in_gradients"])
            return ("w_in not scaled" if gains[2] / gains[1] > others else "w_out not scaled"), layer
        if np.log(record["stream_gradients"][layer] / record["stream_gradients"][layer + 1]) < -0.3:
            return "residual missing on the way back", layer
    return "nothing", None
