import math

import numpy as np

from autograder.authoring.diagnoses import one_of_each, overlooked, renamed
from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.residual.shared import norm_params
from solutions import cross as reference
from solutions.masking import masked_softmax
from solutions.residual import layer_norm

diagnose_decoder = Exercise(
    reference.diagnose_decoder, outputs={"bug": "", "first": ""}, section="A decoder with one bug"
)
wrong = short_mistakes(diagnose_decoder)

WEIGHT_BUGS = (
    "keys from the target", "queries and keys exchanged", "memory and target exchanged",
    "no mask", "mask transposed", "mask of the target", "causal mask as well",
)  # fmt: skip
SUM_BUGS = "residual from x", "no residual", "norm before the sum"


def weights_of(bug, *, stream, memory, source_mask, target_mask, w_query, w_key, **_):
    """Return the weights (N, T, T) of a cross-attention with this bug."""
    roles = {
        "keys from the target": (stream, stream),
        "queries and keys exchanged": (memory, stream),
        "memory and target exchanged": (memory, stream),
    }
    masks = {
        "no mask": np.True_,
        "mask transposed": source_mask.swapaxes(-1, -2),
        "mask of the target": target_mask,
        "causal mask as well": source_mask & np.tri(stream.shape[1], dtype=bool),
    }
    asks, searched = roles.get(bug, (stream, memory))
    scores = np.einsum("ntd,dk,ek,nse->nts", asks, w_query, w_key, searched) / math.sqrt(w_key.shape[1])
    return masked_softmax(scores, np.broadcast_to(masks.get(bug, source_mask), scores.shape))


def update_of(bug, weights, *, stream, memory, w_value, **_):
    """Return the update of the cross-attention, with this bug and these weights."""
    from_target = bug in ("values from the target", "memory and target exchanged")
    return weights @ (stream if from_target else memory) @ w_value


def seen_with(bug, inputs):
    """Return the weights and the output of a sub-layer with a bug."""
    weights = weights_of(bug, **inputs)
    update = update_of(bug, weights, **inputs)
    if bug == "norm before the sum":
        return weights, inputs["stream"] + layer_norm(update, **inputs["norm"])[0]
    residual = {"residual from x": inputs["x"], "no residual": 0}.get(bug, inputs["stream"])
    return weights, layer_norm(residual + update, **inputs["norm"])[0]


def decoded(draw, bug, *, one_word_first=False):
    """Draw four sentences whose sources have one word, the full length and two lengths between, and run a sub-layer
    with a bug.

    one_word_first: whether the first source has one word, which gets all the weight whatever the scores are.
    """
    length, width = draw.sizes(2, low=6, high=9)
    n_source = draw.rng.permutation([1, *(2 + draw.rng.permutation(length - 2)[:2]), length])
    if one_word_first:
        n_source = np.array([1, *n_source[n_source > 1]])
    n_target = n_source.copy()
    swapped = draw.rng.permutation(4)[:2]
    n_target[swapped] = n_target[swapped[::-1]]  # so that two sentences are as long as their source
    inputs = {name: draw.normal(4, length, width) for name in ("x", "stream", "memory")}
    inputs |= {f"{name}_mask": np.arange(length) < n[:, None, None] for name, n in
               (("source", n_source), ("target", n_target))}  # fmt: skip
    inputs |= {f"w_{role}": draw.normal(width, width) / math.sqrt(width) for role in ("query", "key", "value")}
    inputs["norm"] = norm_params(draw, width)
    weights, output = seen_with(bug, inputs)
    return {"inputs": inputs, "weights": weights, "output": output}


def drawn(draw, *bugs, hidden=None):
    """Yield a case with each bug. hidden: a bug that the first sentence hides."""
    return one_of_each(
        draw, "decoder", bugs, lambda bugs: (decoded(draw, bug, one_word_first=bug == hidden) for bug in bugs)
    )


@diagnose_decoder.cases("who asks, and who answers", points=2)
def _(draw):
    in_weights = "keys from the target", "queries and keys exchanged", "memory and target exchanged"
    yield from drawn(draw, *in_weights, "values from the target", hidden=draw.rng.choice(in_weights))


@diagnose_decoder.cases("the mask over the memory", points=2)
def _(draw):
    in_mask = "no mask", "mask transposed", "mask of the target", "causal mask as well"
    yield from drawn(draw, *in_mask, hidden="causal mask as well")


@diagnose_decoder.cases("the sum and its norm", points=1)
def _(draw):
    yield from drawn(draw, *SUM_BUGS)


def wrong_sentences(inputs, weights, output):
    """Return the name of the first array that differs from that of a right sub-layer, and the sentences in which it
    differs; ("", []) if none does."""
    expected = seen_with("nothing", inputs)
    for name, right, array in zip(("weights", "output"), expected, (weights, output), strict=True):
        if not np.allclose(right, array):
            return name, [n for n in range(len(array)) if not np.allclose(right[n], array[n])]
    return "", []


def missed(inputs, weights, output, *, bugs):
    return overlooked(reference.diagnose_decoder(inputs, weights, output), bugs)


def misnamed(inputs, weights, output, *, bugs, to):
    return renamed(reference.diagnose_decoder(inputs, weights, output), bugs, to=to)


def misplaced(inputs, weights, output, *, place):
    """Return the right diagnosis, with the place replaced by a function of the array and the sentence."""
    bug, first = reference.diagnose_decoder(inputs, weights, output)
    return bug, first and place(*first)


wrong("weights_alone", missed, bugs=["values from the target", *SUM_BUGS])("""
    looks at the weights alone
    You compare only the weights. A layer with right weights can still use the wrong values, add its update to the wrong
    array or normalise the wrong sum. If the weights are right, compare the output.""")
wrong("output_alone", misplaced, place=lambda array, sentence: ("output", sentence))("""
    looks at the output alone
    You name the output when the weights are already wrong. The weights come first, because they determine the
    output.""")


@diagnose_decoder.mistake("names the last sentence")
def last_sentence(inputs, weights, output):
    """You name the last sentence in which the array is wrong. `first` holds the first such sentence."""
    bug, first = reference.diagnose_decoder(inputs, weights, output)
    return bug, first and (first[0], wrong_sentences(inputs, weights, output)[1][-1])


wrong("sentence_zero", misplaced, place=lambda array, sentence: (array, 0))("""
    expects each bug in each sentence
    You name sentence 0 for each bug. A sentence can hide a bug. If its source has a single word, the weight is 1
    whatever the queries and keys are, and if its source has no padding, a missing mask changes nothing.""")
wrong("from_one", misplaced, place=lambda array, sentence: (array, sentence + 1))("""
    counts sentences from one
    Your sentence is one too large. Count sentences from 0, like the rows of an array.""")
wrong("array_alone", misplaced, place=lambda array, sentence: array)("""
    returns the array alone
    `first` holds two things, the array's name and the number of the sentence: `("weights", 2)`, for example. You return
    only the name.""")
wrong("sentence_first", misplaced, place=lambda array, sentence: (sentence, array))("""
    exchanges array and sentence
    Your `first` begins with the sentence. The name of the array comes first: `("weights", 2)`, for example.""")
wrong("with_the_query", misplaced, place=lambda array, sentence: (array, sentence, 0))("""
    names the query as well
    `first` is an array and a sentence, such as `("weights", 2)`. You add a third number.""")


@diagnose_decoder.mistake("gives a place to a right layer")
def place_for_nothing(inputs, weights, output):
    """If the bug is "nothing", `first` must be None, because no array differs. You return `("output", 0)`."""
    bug, first = reference.diagnose_decoder(inputs, weights, output)
    return bug, first or ("output", 0)


wrong(
    "queries_unseen",
    misnamed,
    bugs=["queries and keys exchanged", "memory and target exchanged"],
    to="keys from the target",
)("""
    takes exchanged queries and keys for keys from the target
    You name keys from the target whenever the mask is right and the weights are not. The queries may be wrong, too.
    Recompute the weights with the queries that you suspect, and compare.""")
wrong("values_unseen", misnamed, bugs=["memory and target exchanged"], to="queries and keys exchanged")("""
    does not look at the values where the weights are wrong
    Two bugs give the same weights: both swap queries and keys, but only one of them also makes the values from the
    target. The weights cannot distinguish them, so compare the output as well.""")
wrong("padding_as_no_mask", misnamed, bugs=["mask transposed", "mask of the target"], to="no mask")("""
    takes any weight on padding for a missing mask
    You name a missing mask as soon as padding of the source has weight. A transposed mask and the target's mask put
    weight on padding, too, but they also hide something: whole rows, or words of the source.""")
wrong("too_much_alone", missed, bugs=["causal mask as well"])("""
    looks for weight on padding alone
    You look only for weight where none should be. A causal mask over the memory does the opposite: it hides words of
    the source that every position should see.""")
wrong("any_residual", misnamed, bugs=["no residual", "norm before the sum"], to="residual from x")("""
    takes each wrong sum for a wrong residual
    You name the residual whenever weights and values are right and the output is not. The sum may also lack the stream,
    or the norm may come before the sum. Compute each of the three outputs and compare.""")
wrong("values_as_residual", misnamed, bugs=["values from the target"], to="residual from x")("""
    takes values from the target for a wrong residual
    You name the residual when the values are wrong. Both bugs give right weights and a wrong output. Compute the output
    with values from the stream, and compare.""")


@diagnose_decoder.equivalent
def by_questions(inputs, weights, output):
    """Read the mask from the places of the weights, and ask one question after another."""
    array, sentences = wrong_sentences(inputs, weights, output)
    if not sentences:
        return "nothing", None
    first = array, sentences[0]
    source, target = inputs["source_mask"], inputs["target_mask"]
    visible = weights > 0
    if array == "output":
        stream = inputs["stream"]
        update = weights @ (inputs["memory"] @ inputs["w_value"])
        sums = {"residual from x": inputs["x"] + update, "no residual": update}
        for bug, total in sums.items():
            if np.allclose(layer_norm(total, **inputs["norm"])[0], output):
                return bug, first
        before = np.allclose(layer_norm(update, **inputs["norm"])[0], output - stream)
        return ("norm before the sum" if before else "values from the target"), first
    if visible.all():
        return "no mask", first
    if not np.array_equal(visible, np.broadcast_to(source, visible.shape)):
        if not visible.any(axis=-1).all():
            return "mask transposed", first
        return ("mask of the target" if (visible == target).all() else "causal mask as well"), first
    if np.allclose(weights, weights_of("keys from the target", **inputs)):
        return "keys from the target", first
    update = update_of("nothing", weights, **inputs)
    from_memory = np.allclose(layer_norm(inputs["stream"] + update, **inputs["norm"])[0], output)
    return ("queries and keys exchanged" if from_memory else "memory and target exchanged"), first


@diagnose_decoder.equivalent
def by_making_each(inputs, weights, output):
    """Make the weights and the output of each bug, and return a list."""
    for bug in ("nothing", "values from the target", *SUM_BUGS, *WEIGHT_BUGS):
        made = seen_with(bug, inputs)
        if np.allclose(made[0], weights) and np.allclose(made[1], output):
            array, sentences = wrong_sentences(inputs, weights, output)
            return [bug, [array, sentences[0]] if sentences else None]
    raise ValueError("no bug of the table gives these weights and this output")


@diagnose_decoder.equivalent
def by_the_nearest(inputs, weights, output):
    """Choose the bug whose weights and output come closest, and return NumPy numbers."""

    def distance(bug):
        made = seen_with(bug, inputs)
        return np.abs(made[0] - weights).max() + np.abs(made[1] - output).max()

    bug = min(("nothing", *WEIGHT_BUGS, *SUM_BUGS, "values from the target"), key=distance)
    array, sentences = wrong_sentences(inputs, weights, output)
    return bug, (array, np.array(sentences)[0]) if sentences else None
