import numpy as np

from autograder.authoring.diagnoses import one_of_each, overlooked, renamed
from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from solutions import depth as reference
from solutions.broken_stacks import stack_record

diagnose_depth = Exercise(reference.diagnose_depth, outputs={"bug": "", "first": ""}, section="Read a broken stack")
wrong = short_mistakes(diagnose_depth)

# From one row to the next, the spread or the gradient either falls below the first factor or stays above the second.
FALLS, NEARLY_ONE = 0.7, 0.97
GONE, THERE = 0.1, 0.4  # shares of the stream that are left


def records(draw, *bugs):
    return one_of_each(draw, "stack", bugs, lambda bugs: ({"record": clear_record(bug, draw.rng)[0]} for bug in bugs))


def clear_record(bug, rng):
    """Draw records until one is clear enough for any sensible threshold. Return the record and the sub-layer with the
    bug."""
    while True:
        record, first = stack_record(bug, rng)
        before, after, gradients = record["stream"][:-1], record["stream"][1:], record["stream_gradients"]
        grows = after.std(axis=(1, 2)) / before.std(axis=(1, 2))
        kept = np.sum(before * after, axis=(1, 2)) / np.sum(before * before, axis=(1, 2))
        if (
            nothing_between(FALLS, NEARLY_ONE, grows)
            and nothing_between(FALLS, NEARLY_ONE, gradients[:-1] / gradients[1:])
            and nothing_between(GONE, THERE, kept[grows < FALLS])
        ):
            return record, first


def nothing_between(low, high, values):
    return ((values < low) | (values > high)).all()


@diagnose_depth.cases("the way past the sub-layer", points=4)
def _(draw):
    yield from records(draw, "residual missing", "residual missing on the way back", "stream normalised")


@diagnose_depth.cases("the norm", points=2)
def _(draw):
    yield from records(draw, "norm after the sum", "norm missing", "norm over the words")


@diagnose_depth.cases("the weights", points=4)
def _(draw):
    yield from records(draw, "gain at zero", "w_out at zero", "w_in not scaled", "w_out not scaled")


def placed(record, *, change):
    """Return the right name, and another sub-layer if there is one."""
    bug, first = reference.diagnose_depth(record)
    return bug, first if first is None else change(first)


wrong("one_late", placed, change=lambda first: first + 1)("""
    names the row of the stream that leaves the sub-layer
    Your sub-layer is one too high. Row `l` of `stream` *enters* sub-layer `l`, so a row that is wrong comes from the
    sub-layer below it.""")
wrong("one_early", placed, change=lambda first: first - 1)("""
    names the sub-layer below
    Your sub-layer is one too low. The gradient runs from the top down, so the sub-layers *below* a bug show it in their
    gradients, but have no bug themselves.""")


@diagnose_depth.mistake("names the top sub-layer")
def the_last(record):
    """You name the last sub-layer. A bug also shows in the activations of all sub-layers above it. Name the lowest one
    whose activations, or the highest one whose gradient, break with their neighbours."""
    return placed(record, change=lambda first: len(record["gain_gradients"]) - 1)


wrong("the_lowest", placed, change=lambda first: 0)("""
    names the bottom sub-layer
    You name sub-layer 0. All gradients below a bug differ from those of a healthy stack, including the lowest. The bug
    is where the gradient changes from one sub-layer to the next.""")


@diagnose_depth.mistake("gives a sub-layer to a healthy stack")
def layer_for_nothing(record):
    """If the bug is "nothing", `first` must be None: no sub-layer has a bug. You return 0."""
    bug, first = reference.diagnose_depth(record)
    return bug, 0 if first is None else first


@diagnose_depth.mistake("gives -1 as the sub-layer of a healthy stack")
def minus_one_for_nothing(record):
    """If the bug is "nothing", `first` must be None. You return -1, which Python reads as the last sub-layer."""
    bug, first = reference.diagnose_depth(record)
    return bug, -1 if first is None else first


wrong("layer_first", lambda record: reference.diagnose_depth(record)[::-1])("""
    returns the sub-layer before the name
    You return `(first, bug)`. The name comes first: `(bug, first)`.""")


@diagnose_depth.mistake("takes the growth of a healthy stream for a bug")
def growth_as_a_bug(record):
    """You name a bug in a healthy stack. Each sub-layer adds to the stream, so its spread grows from the first row to
    the last, and gradients grow towards the bottom. Compare each row with its neighbours, not with the first row."""
    bug, first = reference.diagnose_depth(record)
    return ("w_out not scaled", 0) if first is None else (bug, first)


@diagnose_depth.mistake("looks at the activations alone")
def activations_alone(record):
    """You call a stack healthy because its activations are all right. A bug of the backward pass changes no activation:
    look at `stream_gradients`, which must not fall from one row to the row below."""
    return overlooked(reference.diagnose_depth(record), ["residual missing on the way back"])


wrong("other_words_ignored", lambda record: overlooked(reference.diagnose_depth(record), ["norm over the words"]))("""
    does not look at the other words
    You overlook a norm over the words. Its rows look like any others. But this stack has no attention, so if only the
    last word changes, no other word may move: see `moved`.""")


@diagnose_depth.mistake("does not look for gradients of zero")
def zeros_overlooked(record):
    """You overlook parameters that get no gradient. A length of exactly zero never occurs by chance. Either the stack
    does not use the parameter, or a zero after it stops the gradient."""
    return overlooked(reference.diagnose_depth(record), ["gain at zero", "w_out at zero", "norm missing"])


def misnamed(record, *, bugs, to):
    return renamed(reference.diagnose_depth(record), bugs, to)


wrong("gain_as_w_out", misnamed, bugs=["gain at zero"], to="w_out at zero")("""
    takes a gain of zero for a w_out of zero
    In both stacks the update is zero. A gain of zero makes the hidden values zero, so that not even `w_out` gets a
    gradient. A `w_out` of zero gets a gradient, and is no longer zero after a step.""")
wrong("w_out_as_gain", misnamed, bugs=["w_out at zero"], to="gain at zero")("""
    takes a w_out of zero for a gain of zero
    In both stacks the update is zero, and the gain and `w_in` get no gradient. If `w_out` gets a gradient, its input is
    not zero, so the gain is not zero either: `w_out` is zero.""")
wrong("always_w_out", misnamed, bugs=["w_in not scaled"], to="w_out not scaled")("""
    takes every large update for a w_out that is not scaled
    A large update comes from `w_in` as well as from `w_out`, since relu passes a factor on. The gradients distinguish
    them: a large `w_in` makes the hidden values large, and with them the gradient of `w_out`.""")


@diagnose_depth.mistake("exchanges w_in and w_out")
def weights_exchanged(record):
    """You exchange the two weights. The gradient of a weight contains the *other* weight: a large `w_out` enlarges the
    gradient of `w_in`, and leaves its own as it is."""
    bug, first = reference.diagnose_depth(record)
    other = {"w_in not scaled": "w_out not scaled", "w_out not scaled": "w_in not scaled"}
    return other.get(bug, bug), first


wrong("missing_norm_as_weights", misnamed, bugs=["norm missing"], to="w_out not scaled")("""
    takes a missing norm for weights that are not scaled
    Without its norm, a sub-layer reads the stream at full size, and its update is too large. The update is also too
    large if the weights are not scaled. But if the norm is missing, its gain gets no gradient.""")
wrong("normalised_as_missing", misnamed, bugs=["stream normalised"], to="residual missing")("""
    takes a normalised stream for a missing residual
    In both stacks the spread of the stream falls. If the residual connection is missing, nothing of the stream is left.
    A normalised stream is still there, only shorter: compare the rows before and after by their products.""")
wrong("missing_as_normalised", misnamed, bugs=["residual missing"], to="stream normalised")("""
    takes a missing residual for a normalised stream
    In both stacks the spread of the stream falls. Check whether the rows after the sub-layer are still related to those
    before it: their products are near zero if the stream itself is gone.""")
wrong("after_as_normalised", misnamed, bugs=["norm after the sum"], to="stream normalised")("""
    takes a norm after the sum for a normalised stream
    In both stacks the stream is still there and has a smaller spread. After a norm, each word's row has a standard
    deviation of 1. If the update is added after the norm, the rows have larger and different standard deviations.""")
wrong("back_as_forward", misnamed, bugs=["residual missing on the way back"], to="residual missing")("""
    takes a residual missing in the backward pass for one missing in the forward pass
    You name a missing residual when the gradient falls. If the activations show nothing at this sub-layer, the forward
    pass is right, and the sum is missing only in the backward pass.""")


def shape_of(rows):
    """Remove mean and size from the rows (words, d_model). Two rows that differ only by a norm become equal."""
    centred = rows - rows.mean(axis=-1, keepdims=True)
    return centred / np.linalg.norm(centred)


def what_it_is(record, layer, falls=0.8, large=3):
    """Return the name of a sub-layer's bug, or None.

    falls: the factor below which the spread or the gradient falls. large: the factor above which an update is large.
    """
    gain, w_in, w_out = (record[f"{name}_gradients"][layer] for name in ("gain", "w_in", "w_out"))
    enters, leaves = record["stream"][layer : layer + 2]
    if not w_in:
        return "w_out at zero" if w_out else "gain at zero"
    if not gain:
        return "norm missing"
    if np.allclose(leaves.var(axis=-1), 1, atol=1e-2):
        return "norm after the sum"
    if leaves.std() < falls * enters.std():
        return "stream normalised" if (shape_of(enters) * shape_of(leaves)).sum() > 0.5 else "residual missing"
    if record["moved"][layer + 1, 0] > 1e-9:
        return "norm over the words"
    others = np.delete(np.diff(record["stream"], axis=0), layer, axis=0)
    if (leaves - enters).var() > large**2 * np.mean(others.var(axis=(1, 2))):
        neighbour = record["w_out_gradients"][layer - 1] / record["w_in_gradients"][layer - 1]
        return "w_in not scaled" if w_out / w_in > neighbour else "w_out not scaled"
    below, above = record["stream_gradients"][layer : layer + 2]
    return "residual missing on the way back" if below < falls * above else None


@diagnose_depth.equivalent
def sub_layer_by_sub_layer(record, **thresholds):
    for layer in range(len(record["gain_gradients"])):
        if bug := what_it_is(record, layer, **thresholds):
            return bug, layer
    return "nothing", None


@diagnose_depth.equivalent
def at_the_least_change(record):
    return sub_layer_by_sub_layer(record, falls=0.96, large=2)


@diagnose_depth.equivalent
def at_large_changes_alone(record):
    return sub_layer_by_sub_layer(record, falls=0.71, large=4)


@diagnose_depth.equivalent
def from_the_top(record):
    """Go from the top down, like the gradient, and return a list with a NumPy number."""
    found = ["nothing", None]
    for layer in np.arange(len(record["gain_gradients"]))[::-1]:
        if bug := what_it_is(record, layer):
            found = [bug, layer]
    return found


@diagnose_depth.equivalent
def by_logarithms(record):
    """Compare differences of logarithms with their median, and look at the update before the stream."""
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
