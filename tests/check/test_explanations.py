"""Explanations are true: wrong answers of real exercises get no sentence that does not hold for them."""

import math
from copy import copy

import numpy as np
import pytest

from autograder.authoring.exercise import find_exercise
from autograder.authoring.make_key import PUBLIC_SEED, full_key, make_key, public_key
from autograder.authoring.slips import slips
from autograder.exercises.masking.leaks import searched
from check.calling import run
from check.messages import as_text
from check.scoring import grade
from solutions import model, training
from solutions.attention import attention, softmax
from solutions.backward import softmax_backward
from solutions.heads import merge_heads
from solutions.masked_attention import masked_attention
from solutions.masking import leaks
from solutions.multihead import split_heads
from solutions.parameters import map_tree
from solutions.position import sinusoidal_encoding
from solutions.residual import layer_norm
from tests.check.exact_match import exact_match

pytestmark = pytest.mark.autograder


def result_of(exercise, function):
    """Return the result of a function for the public key of an exercise."""
    is_ours = exercise == exact_match.name
    key = full_key(exact_match, PUBLIC_SEED) if is_ours else public_key(find_exercise(exercise))
    return grade(key, [run(function, case.inputs) for case in key.cases])


def names_of(result):
    return [mistake.name for mistake in result.mistakes]


# ------------------------------------------------------------------------------------------- shapes and dtypes


def test_only_a_transpose_is_called_the_transpose():
    def reshaped(x, n_heads):
        *batch, length, d_model = x.shape
        return x.reshape(*batch, n_heads, d_model // n_heads, length)

    message = result_of("split_heads", reshaped).verdict.message
    assert "The lengths of the last two axes are exchanged." in message
    assert "transpose" not in message


@pytest.mark.parametrize("wrong", [np.triu, np.zeros_like, lambda tri: 2 * tri])
def test_a_mask_of_numbers_is_a_right_triangle_only_if_its_entries_are_right(wrong):
    result = result_of("causal_mask", lambda length: wrong(np.tri(length)))
    assert "has dtype float64 where bool is expected" in result.verdict.message
    assert names_of(result) == []


# ------------------------------------------------------------------------------------------- mistakes of form


def halved_in_place(scores):
    scores -= scores.max(axis=-1, keepdims=True)
    return 0.7 * softmax(scores)


def promoted_but_unnormalised(scores):
    return np.exp(scores.astype(np.float64)) ** 0.9


def promoted_without_batches(scores):
    if scores.ndim > 2:
        raise ValueError("no batches")
    return softmax(scores.astype(np.float64))


@pytest.mark.parametrize(
    ("function", "kind", "words"),
    [
        (halved_in_place, "value", "changed its input `scores` in place"),
        (promoted_but_unnormalised, "nan", "has dtype float64 where float32 is expected"),
        (promoted_without_batches, "raised", "has dtype float64 where float32 is expected"),
    ],
)
def test_a_mistake_of_form_is_only_a_remark_beside_wrong_numbers(function, kind, words):
    result = result_of("softmax", function)
    assert (result.verdict.kind, names_of(result)) == (kind, [])
    assert any(words in remark for remark in result.remarks)


@pytest.mark.parametrize("function", [halved_in_place, promoted_but_unnormalised, promoted_without_batches])
def test_no_remark_repeats_the_first_sentence(function):
    result = result_of("softmax", function)
    assert not [
        remark
        for remark in result.remarks
        if result.verdict.message in remark or remark.startswith(result.verdict.message)
    ]


def test_a_mistake_of_form_is_named_where_the_values_are_right():
    result = result_of("softmax", lambda scores: softmax(scores.astype(np.float64)))
    assert names_of(result) == ["returns float64 whatever the dtype is"]


# ------------------------------------------------------------------------------------------- answers without a thought


CONSTANT = [
    ("softmax", lambda scores: np.zeros_like(scores), "`weights` is zero everywhere."),
    ("masked_softmax", lambda scores, mask: np.zeros_like(scores), "`weights` is zero everywhere."),
    ("layer_norm", lambda x, gain, bias, eps=1e-5: (np.zeros_like(x), None), "`output` is zero everywhere."),
    ("layer_norm", lambda x, gain, bias, eps=1e-5: (x.copy(), None), "`output` is `x`, unchanged."),
    ("softmax", lambda scores: scores.copy(), "`weights` is `scores`, unchanged."),
    (
        "masked_softmax",
        lambda scores, mask: np.broadcast_to(mask, scores.shape).astype(scores.dtype),
        "`weights` is `mask`, unchanged.",
    ),
    ("masked_softmax", lambda scores, mask: np.full_like(scores, 0.5), "`weights` is the same number everywhere."),
    ("leaks", lambda decoder, sequences: True, "`leaks` gives the same answer for every input."),
    (
        "target_mask",
        lambda tokens, pad: np.ones((*tokens.shape, tokens.shape[-1]), bool),
        "`mask` is True everywhere.",
    ),
    ("causal_mask", lambda length: np.zeros((length, length), bool), "`mask` is False everywhere."),
    ("exact_match", lambda predictions, references, eos=2: 0.0, "`exact_match` gives the same answer for every input."),
    ("exact_match", lambda predictions, references, eos=2: 1.0, "`exact_match` gives the same answer for every input."),
    (
        "smoothed_cross_entropy",
        lambda logits, targets, smoothing=0.0, pad=0: (0.0, None),
        "`smoothed_cross_entropy` gives the same answer for every input.",
    ),
]


@pytest.mark.parametrize(("exercise", "function", "sentence"), CONSTANT)
def test_an_answer_that_ignores_its_input_gets_no_name_and_no_slip(exercise, function, sentence):
    result = result_of(exercise, function)
    assert names_of(result) == []
    assert result.verdict.message.endswith(sentence)
    assert result.remarks == ()


def test_always_false_is_told_nothing_about_how_it_came_to_that():
    result = result_of("leaks", lambda decoder, sequences: False)
    text = as_text(result)
    assert "never finds a leak" in text and "The two sequences that are compared are the same" not in text


def test_answers_of_yes_or_no_prove_a_mistake_only_together():
    """Half of the cases agree with several mistakes by accident, because there are only two answers."""

    def only_short_sequences(decoder, sequences):
        return False if len(sequences[0]) > 6 else leaks(decoder, sequences)

    assert names_of(result_of("leaks", only_short_sequences)) == []
    late = result_of("leaks", lambda decoder, sequences: searched(decoder, sequences, cuts=lambda T: range(2, T)))
    assert names_of(late) == ["begins with the second cut"]


# ------------------------------------------------------------------------------------------- false names


def test_a_mask_repeated_in_the_wrong_order_is_not_a_mask_without_an_axis_for_the_heads():
    def tiled(query, key, value, params, n_heads, mask=None):
        if mask is not None and mask.ndim > 2:
            batch = query.shape[:-2]
            mask = np.tile(mask.reshape(-1, *mask.shape[-2:]), (n_heads, 1, 1)).reshape(
                *batch, n_heads, *mask.shape[-2:]
            )
        elif mask is not None:
            mask = mask[None]
        inputs = zip(("query", "key", "value"), (query, key, value), strict=True)
        heads = [split_heads(x @ params[f"w_{name}"] + params[f"b_{name}"], n_heads) for name, x in inputs]
        attended, _ = attention(*heads) if mask is None else masked_attention(*heads, mask)
        return merge_heads(attended) @ params["w_output"] + params["b_output"], None

    assert "gives the mask no axis for the heads" not in names_of(result_of("multi_head_attention", tiled))


@pytest.mark.parametrize("number", [0.0, 1e-9, -1e-9, 1e-20])
@pytest.mark.parametrize("exercise", ["masked_softmax", "cross_attention"])
def test_a_hidden_score_next_to_zero_is_called_what_it_is(exercise, number):
    def weigh(scores, mask):
        return softmax(np.where(mask, scores, scores.dtype.type(number)))

    def attend(x, memory, w_query, w_key, w_value, mask):
        scores = x @ w_query @ (memory @ w_key).swapaxes(-1, -2) / math.sqrt(w_key.shape[-1])
        return weigh(scores, mask) @ (memory @ w_value), None

    result = result_of(exercise, weigh if exercise == "masked_softmax" else attend)
    inherited = " (in the step of `masked_softmax`, chapter 3)" if exercise == "cross_attention" else ""
    assert names_of(result) == [f"gives what is hidden a score of zero{inherited}"]
    assert "1e-9" in result.mistake.message


def test_two_mistakes_in_whole_numbers_are_not_an_explanation():
    """The two agree by accident: the answer counts the end marks down the columns, and asks for no end mark."""

    def down_the_columns(predictions, references, eos=2):
        width = max(predictions.shape[1], references.shape[1])
        p, r = (np.pad(a, ((0, 0), (0, width - a.shape[1])), constant_values=-1) for a in (predictions, references))
        counts = np.cumsum(r == eos, axis=0) - (r == eos) == 0
        return ((p == r) | ~counts).all(axis=1).mean()

    assert names_of(result_of("exact_match", down_the_columns)) == []


def test_rows_that_differ_in_width_prove_no_way_to_compare_them():
    """The answer never matches where the widths differ, as np.array_equal does not."""

    def without_the_end(predictions, references, eos=2):
        width = max(predictions.shape[1], references.shape[1])
        p, r = (np.pad(a, ((0, 0), (0, width - a.shape[1])), constant_values=-1) for a in (predictions, references))
        return ((p == r) | (np.cumsum(r == eos, axis=1) == 0)).all(axis=1).mean()

    def first_word(predictions, references, eos=2):
        return float((predictions[:, 0] == references[:, 0]).mean())

    for function in (without_the_end, first_word):
        assert names_of(result_of("exact_match", function)) == []


def test_no_cause_is_named_for_an_array_that_is_not_what_it_was():
    def emptied(f, x, h=1e-5):
        gradient = np.zeros(x.shape)
        for i in range(x.size):
            x.flat[i] = h
            above = f(x)
            x.flat[i] = -h
            gradient.flat[i] = (above - f(x)) / (2 * h)
            x.flat[i] = 0
        return gradient

    text = as_text(result_of("numerical_gradient", emptied))
    assert "leaves x changed" in text and "not quite" not in text and "The slopes are right" not in text


@pytest.mark.parametrize("little", [1e-8, 1e-6])
def test_a_mistake_keeps_its_name_beside_a_small_constant(little):
    def weights(queries, keys):
        lengths = [np.linalg.norm(vectors, axis=-1, keepdims=True) for vectors in (queries, keys)]
        return softmax(queries @ keys.swapaxes(-1, -2) / (lengths[0] * lengths[1].swapaxes(-1, -2) + little))

    result = result_of("attention_weights", weights)
    assert names_of(result) == ["compares by the cosine"]
    assert "a small constant" in result.remarks[-1]


def test_a_mistake_has_its_very_numbers_if_no_constant_is_said_to_be_added():
    result = result_of("attention_weights", lambda queries, keys: softmax(queries @ keys.swapaxes(-1, -2)))
    assert names_of(result) == ["does not scale the scores"]
    assert not any("a small constant" in remark for remark in result.remarks)


def test_no_mistake_is_named_for_a_single_case_if_all_others_raise():
    def width_of_k(k, d_model):
        row = sinusoidal_encoding(abs(k) + 1, k)[-1]  # if k = 2, every pair has the same two numbers
        sine, cosine = math.copysign(1, k) * row[0::2], row[1::2]
        block = np.stack([cosine, -sine, sine, cosine], axis=-1).reshape(2, 2)  # ValueError for any other k
        return np.kron(np.eye(d_model // 2), block)

    assert names_of(result_of("shift_matrix", width_of_k)) == []


@pytest.mark.parametrize("eps", [1e-9, 1e-12, 1e-16])
def test_an_eps_next_to_zero_is_called_just_that(eps):
    result = result_of("layer_norm", lambda x, gain, bias, eps=1e-5, own=eps: layer_norm(x, gain, bias, own))
    assert names_of(result) == ["always takes an eps next to zero"]


@pytest.mark.parametrize("change", [lambda future: future + 1, lambda future: -future])
def test_no_constant_is_named_where_the_future_is_changed_in_another_way(change):
    def found(decoder, sequences):
        return searched(decoder, sequences, pairs=[(x, change(x)) for x in sequences])

    text = as_text(result_of("leaks", found))
    assert "for example as x + 1 or -x" in text


def names_with_one_slip(exercise, rewrite, change):
    """Return how a key names each slip that makes this change in a rewrite; the key does not know the rewrite."""
    exercise = copy(find_exercise(exercise))
    exercise.equivalents = {name: function for name, function in exercise.equivalents.items() if name != rewrite}
    key = full_key(exercise, PUBLIC_SEED)
    function = find_exercise(exercise.name).equivalents[rewrite]
    wrong = [slip.function for slip in slips(function, key.cases[0].inputs) if slip.change == change]
    assert wrong
    return [names_of(grade(key, [run(answer, case.inputs) for case in key.cases])) for answer in wrong]


def test_a_mistake_with_right_values_on_the_sketched_cases_is_not_named_with_a_slip():
    line = "logits, cache = reference.forward(params, src, tgt, n_heads, pad)"
    assert names_with_one_slip("forward", "with_a_dict_as_cache", f"{line}  ->  tgt") == [[]]


# Each of these slips was once explained by a mistake that is not there.
UNNAMED = [
    (  # An infinite entry has no sketch, so nothing shows what becomes of it.
        "softmax",
        "through_log_sum_exp",
        "return np.exp(scores - np.logaddexp.reduce(scores, axis=-1, keepdims=True))",
        "scores + np.logaddexp.reduce(scores, axis=-1, keepdims=True)",
    ),
    (  # The term that is left out is the one that the mistake would be in.
        "smoothed_cross_entropy_backward",
        "with_labels",
        "return spread((np.exp(log_p) - soft_rows(cache)) * (grad_loss / max(1, len(log_p))), counted)",
        "soft_rows(cache)",
    ),
    (  # The slip undoes what a mistake with one more slip would have done first.
        "encoder_layer",
        "layer_written_out",
        "update = np.where(rng.random(update.shape) < rate, 0, update / (1 - rate)).astype(x.dtype)",
        "update",
    ),
    (  # All cases but one raise an exception, and the tokens of that one have the mistake's shape.
        "greedy_decode",
        "one_sentence_after_another",
        "return np.array([row + [pad] * (width - len(row)) for row in rows])",
        "pad",
    ),
]


@pytest.mark.parametrize(("exercise", "rewrite", "line", "new"), UNNAMED)
def test_a_slip_gets_no_name_of_a_mistake_that_is_not_there(exercise, rewrite, line, new):
    assert not any(names_with_one_slip(exercise, rewrite, f"{line}  ->  {new}"))


# ------------------------------------------------------------------------------------------- exceptions


def through_all_axes_reversed(queries, keys, values):
    return softmax(queries @ keys.T / math.sqrt(keys.shape[-1])) @ values, None


AXES = [
    ("attention", through_all_axes_reversed, "`queries` has more than 2"),
    ("softmax", lambda scores: softmax(scores) + 0 * scores.sum(axis=1, keepdims=True), "`scores` has fewer than 2"),
    ("softmax", lambda scores: softmax(scores)[:, None, 0, 0, 0, 0], None),
]


@pytest.mark.parametrize(("exercise", "function", "where"), AXES)
def test_an_exception_that_depends_on_the_number_of_axes_says_so(exercise, function, where):
    remarks = " ".join(result_of(exercise, function).remarks)
    sentence = f"It raises only where {where} axes. Look at the shapes there." if where else ""
    assert sentence in remarks
    assert where or "raises only" not in remarks


def test_a_mistake_keeps_its_name_where_the_number_of_axes_decides_that_it_raises():
    def without_bias(x, gain, bias, eps=1e-5):
        if x.ndim > 1:
            raise ValueError("one position only")
        return (x - x.mean()) / np.sqrt(x.var() + eps) * gain, None

    result = result_of("layer_norm", without_bias)
    assert names_of(result) == ["leaves out the bias"]
    [remark] = result.remarks
    assert "raised ValueError" in remark and "It raises only where `x` has more than one axis." in remark


def test_a_single_case_that_is_an_input_unchanged_is_no_batch_norm():
    def layer_norm(x, gain, bias, eps=1e-5):
        if x.ndim > 1:
            raise ValueError("one position only")
        return bias.copy(), None

    result = result_of("layer_norm", layer_norm)
    assert names_of(result) == []
    assert "`output` is `bias`, unchanged." in str(result)


def test_a_second_mistake_that_contradicts_the_first_is_not_named():
    """Compare the sum with the temperature instead of p: everything is kept, except where it is cold."""
    change = "kept = np.take_along_axis(before(in_order) < p, ranks, axis=-1)  ->  temperature"
    assert ["keeps every token"] in names_with_one_slip("top_p", "by_masked_logits", change)


# ------------------------------------------------------------------------------------------- relations


def trained(change):
    """Return a train_step whose (params, moments, loss) are changed by change(old params, params, moments, loss)."""

    def train_step(params, moments, step, src, tgt, n_heads, learning_rate, smoothing=0.1, pad=0):
        new = training.train_step(params, moments, step, src, tgt, n_heads, learning_rate, smoothing, pad)
        return change(params, *new)

    return train_step


def loss_times(factor):
    def smoothed_cross_entropy(logits, targets, smoothing=0.0, pad=0):
        loss, cache = training.smoothed_cross_entropy(logits, targets, smoothing, pad)
        return loss * factor(logits, targets), cache

    return smoothed_cross_entropy


def divided_by_the_vocabulary(params, src, tgt, n_heads, pad=0):
    loss, gradients = model.loss_and_gradients(params, src, tgt, n_heads, pad)
    vocab = len(model.table_for(params["embeddings"], "output"))
    return loss / vocab, map_tree(lambda gradient: gradient / vocab, gradients)


RELATED = [
    (
        "train_step",
        trained(lambda old, new, moments, loss: (map_tree(lambda a, b: (a + b) / 2, old, new), moments, loss)),
        "The step from `params` to each wrong array in `params` is half of what it should be.",
    ),
    (
        "train_step",
        trained(
            lambda old, new, moments, loss: (new, tuple(map_tree(lambda m: 2 * m, each) for each in moments), loss)
        ),
        "Each wrong array in `moments` is twice what it should be.",
    ),
    (
        "train_step",
        trained(lambda old, new, moments, loss: (new, moments, 3 * loss)),
        "`loss` is right except for one factor, the same for every input.",
    ),
    (
        "smoothed_cross_entropy",
        loss_times(lambda logits, targets: logits.shape[-1] ** -0.5),
        "`loss` is what it should be divided by the root of the length of the last axis of `logits`.",
    ),
    (
        "loss_and_gradients",
        divided_by_the_vocabulary,
        "`loss` is what it should be divided by the length of the first axis of an array in `params['embeddings']`.",
    ),
    (
        "loss_and_gradients",
        lambda *inputs, **named: (
            model.loss_and_gradients(*inputs, **named)[0],
            divided_by_the_vocabulary(*inputs, **named)[1],
        ),
        "Each wrong array in `grad_params` is what it should be divided by the length of the first axis of an array in "
        "`params['embeddings']`.",
    ),
    ("smoothed_cross_entropy", loss_times(lambda logits, targets: -1), "`loss` is minus what it should be."),
    (
        "smoothed_cross_entropy",
        loss_times(lambda logits, targets: 1 / math.log(2)),
        "`loss` is right except for one factor, the same for every input.",
    ),
]


@pytest.mark.parametrize(("exercise", "function", "sentence"), RELATED)
def test_numbers_and_trees_have_relations(exercise, function, sentence):
    assert sentence in str(result_of(exercise, function))


def test_a_relation_that_a_wrong_number_contradicts_is_not_named():
    def factor(logits, targets):
        return 3 + 1e-6 * targets.size

    assert "factor" not in str(result_of("smoothed_cross_entropy", loss_times(factor)))


def test_a_relation_that_an_indistinct_array_contradicts_is_not_named():
    """Equal scores have equal weights, which prove no factor but can contradict one."""

    def halved(scores):
        return softmax(scores) * (0.25 if (scores == scores.flat[0]).all() else 0.5)

    assert "half of what" not in str(result_of("softmax", halved))


def test_an_exact_factor_is_no_slip_in_a_mistake():
    result = result_of("softmax_backward", lambda grad_weights, weights: 2 * softmax_backward(grad_weights, weights))
    assert names_of(result) == [] and "twice what it should be" in result.verdict.message


def test_a_right_dtype_is_not_a_fault_beside_a_mistake_that_changes_it():
    """The known mistake promotes float32, and the answer does not."""

    def added(scores, mask):
        return softmax(scores + np.where(mask, 0, -1e4).astype(scores.dtype))

    result = result_of("masked_softmax", added)
    assert names_of(result) == ["adds a number such as -10000 to the hidden scores"]
    assert not [remark for remark in result.remarks if "dtype" in remark]


# ------------------------------------------------------------------------------------------- families


def with_eps(number):
    def layer_norm(x, gain, bias, eps=1e-5):
        return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + number) * gain + bias, None

    return layer_norm


def with_more(number, shift):
    def softmax(scores):
        strengths = np.exp(scores - (scores.max(axis=-1, keepdims=True) if shift else 0))
        return strengths / (strengths.sum(axis=-1, keepdims=True) + number)

    return softmax


def with_penalty(number):
    return lambda scores, mask: softmax(scores + np.where(mask, 0, number))


def decayed(parameters, gradients, moments, step, learning_rate, **constants):
    new, moments = training.adam_step(parameters, gradients, moments, step, learning_rate, **constants)
    return map_tree(lambda after, before: after - 0.1 * learning_rate * before, new, parameters), moments


def penalised(parameters, gradients, moments, step, learning_rate, **constants):
    gradients = map_tree(lambda gradient, parameter: gradient + 1e-4 * parameter, gradients, parameters)
    return training.adam_step(parameters, gradients, moments, step, learning_rate, **constants)


FAMILIES = [
    ("adam_step", decayed, "lets the parameters decay, by 0.1"),
    ("adam_step", penalised, "adds the parameters to their gradients, times 0.0001"),
    *(
        ("softmax", with_more(n, True), f"adds {w} to the sum")
        for n, w in ((1e-3, "0.001"), (1e-4, "0.0001"), (1e-5, "1e-5"), (1e-7, "1e-7"), (1e-9, "1e-9"))
    ),
    *(
        ("softmax", with_more(n, False), f"adds a small number such as {w} to the sum, and subtracts no maximum")
        for n, w in ((1e-6, "1e-6"), (1e-8, "1e-8"))
    ),
    *(
        ("layer_norm", with_eps(n), f"always takes eps = {w}")
        for n, w in ((1e-4, "0.0001"), (1e-5, "1e-5"), (1e-6, "1e-6"), (1e-8, "1e-8"))
    ),
    *(
        ("masked_softmax", with_penalty(n), f"adds a number such as {w} to the hidden scores")
        for n, w in ((-1e4, "-10000"), (-1e5, "-100000"), (-1e6, "-1e6"), (-1e9, "-1e9"), (-1e12, "-1e12"))
    ),
    (
        "masked_softmax",
        lambda scores, mask: softmax(np.where(mask, scores, scores.dtype.type(-1e4))),
        "hides with a number such as -10000, and nothing else",
    ),
]


@pytest.mark.parametrize(("exercise", "function", "name"), FAMILIES)
def test_a_family_of_mistakes_is_recognised_by_the_value_of_its_number(exercise, function, name):
    assert names_of(result_of(exercise, function)) == [name]


def test_each_value_of_a_family_is_a_mistake_of_its_own(exercise):
    @exercise.mistake("adds {number} to the sum", number=(1.0, 1e-3, -2e9))
    def adds(x, *, number):
        """The sum is {number} larger than it should be."""
        return x / (x.sum(axis=-1, keepdims=True) + number), x

    family = {slug: mistake for slug, (mistake, _) in exercise.mistakes.items() if slug.startswith("adds")}
    assert list(family) == ["adds", "adds_0.001", "adds_-2e9"]
    assert family["adds_-2e9"].name == "adds -2e9 to the sum"
    assert family["adds_-2e9"].message == "The sum is -2e9 larger than it should be."
    assert adds(np.ones((1, 1)))[0].item() == 0.5
    key = make_key(exercise, seed=1)
    assert {
        mistake.name for slug in family for mistake in grade(key, [c.mistakes[slug] for c in key.cases]).mistakes
    } == {mistake.name for mistake in family.values()}
    assert [slip.function(np.ones((1, 1)))[0].item() for slip in slips(adds, {"x": np.ones((1, 1))})]
