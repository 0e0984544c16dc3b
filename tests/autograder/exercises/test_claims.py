"""What messages say about the consequences of known mistakes is true: each test measures it on a mistake's function.

Most of these messages say "never", "cannot" or "always".
"""

import numpy as np
import pytest

from autograder.authoring.exercise import Draw, find_exercise
from autograder.authoring.luck import earned
from autograder.authoring.make_key import make_questions
from autograder.exercises.masking.diagnose_masks import weights_of
from autograder.exercises.model.repaired_model_loss import BUGS
from autograder.exercises.model.shared import question
from solutions.smoothing import smooth_labels

pytestmark = pytest.mark.autograder

SEEDS = range(3)


def wrong(name, slug):
    return find_exercise(name).mistakes[slug][1]


def inputs_of(name):
    """Return the inputs of each seed's cases with values, but not of those with dropout, which varies."""
    cases = [case for seed in SEEDS for case in make_questions(find_exercise(name), seed).cases]
    return [case.inputs for case in cases if not case.expected.raised and not case.inputs.get("rate")]


def first(value):
    return value[0] if isinstance(value, tuple) else value


def changed(value):
    """Return a value with other numbers in all of its float arrays."""
    if isinstance(value, dict):
        return {name: changed(part) for name, part in value.items()}
    return 1.5 * value + 1 if isinstance(value, np.ndarray) and value.dtype.kind == "f" else value


def with_fresh_norms(params):
    def fresh(norm):
        return {"gain": np.ones_like(norm["gain"]), "bias": np.zeros_like(norm["bias"])}

    return {name: fresh(part) if name.startswith("norm") else part for name, part in params.items()}


def test_subtracting_zero_or_the_maximum_gives_nan_far_below_zero_alone():
    softmax = wrong("softmax", "zero_or_the_maximum")
    with np.errstate(all="ignore"):
        assert np.isnan(softmax(np.array([-1000.0, -1001.0]))).all()
        assert np.isfinite(softmax(np.array([1000.0, 999.0]))).all()


def test_cosines_make_no_weight_more_than_seven_point_four_times_another():
    ratios = [
        np.max(weights.max(axis=-1) / weights.min(axis=-1))
        for inputs in inputs_of("attention_weights")
        for weights in [np.float64(first(wrong("attention_weights", "by_cosine")(**inputs)))]
    ]
    assert 3 < max(ratios) < 7.4


UNUSED = [
    ("keys_by_w_query", "w_key"),
    ("queries_by_w_key", "w_query"),
    ("values_by_w_key", "w_value"),
    ("values_by_w_query", "w_value"),
]


@pytest.mark.parametrize("slug, projection", UNUSED)
def test_a_projection_that_is_not_used_changes_nothing(slug, projection):
    """Where all widths agree: elsewhere these functions raise."""
    attend = wrong("multi_head_attention", slug)
    for inputs in inputs_of("multi_head_attention"):
        params = inputs["params"]
        if len({size for name in ("w_query", "w_key", "w_value") for size in params[name].shape}) == 1:
            other = inputs | {"params": params | {projection: changed(params[projection])}}
            np.testing.assert_array_equal(first(attend(**inputs)), first(attend(**other)))


def test_a_decoder_without_cross_attention_does_not_use_the_memory():
    for inputs in inputs_of("decoder_layer"):
        other = inputs | {"memory": changed(inputs["memory"])}
        output, moved = (first(wrong("decoder_layer", "no_cross")(**given)) for given in (inputs, other))
        np.testing.assert_array_equal(output, moved)


ONE_NORM_TWICE = [
    ("encoder_layer", "first_norm_twice", "norm_feed_forward"),
    ("decoder_layer", "first_norm_twice", "norm_feed_forward"),
    ("decoder_layer", "norms_one_late", "norm_feed_forward"),
    ("decoder_layer", "second_norm_twice", "norm_feed_forward"),
    ("decoder_layer", "first_norm_for_cross", "norm_cross_attention"),
]


@pytest.mark.parametrize("exercise, slug, unused", ONE_NORM_TWICE)
def test_fresh_norms_hide_that_one_norm_is_not_used(exercise, slug, unused):
    for inputs in inputs_of(exercise):
        params = inputs["params"]
        output = first(wrong(exercise, slug)(**inputs))
        other = first(wrong(exercise, slug)(**inputs | {"params": params | {unused: changed(params[unused])}}))
        np.testing.assert_array_equal(output, other)
        fresh = inputs | {"params": with_fresh_norms(params)}
        right = first(find_exercise(exercise).reference(**fresh))
        np.testing.assert_allclose(first(wrong(exercise, slug)(**fresh)), right, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("exercise, slug, stack", [
    ("encode", "first_encoder_layer_only", "encoder"), ("decode", "first_decoder_layer_only", "decoder"),
])  # fmt: skip
def test_layers_above_the_first_are_not_used(exercise, slug, stack):
    for inputs in inputs_of(exercise):
        bottom, *above = inputs["params"][stack]
        params = inputs["params"] | {stack: type(inputs["params"][stack])([bottom, *map(changed, above)])}
        output = first(wrong(exercise, slug)(**inputs))
        np.testing.assert_array_equal(output, first(wrong(exercise, slug)(**inputs | {"params": params})))


def test_from_the_input_the_attention_reaches_the_output_through_the_feed_forward_alone():
    """Another last word moves the first word, unless the feed-forward returns zeros."""
    layer = wrong("encoder_layer", "from_the_input")
    for inputs in inputs_of("encoder_layer"):
        if "mask" in inputs or inputs["x"].dtype == np.float32:
            continue
        x, params = inputs["x"].copy(), inputs["params"]
        x[..., -1, :] = x[..., -1, ::-1]
        silent = params | {"feed_forward": {name: 0 * array for name, array in params["feed_forward"].items()}}
        moved = [
            np.abs(first(layer(**inputs | {"params": p}))[..., 0, :] - first(layer(x, p, inputs["n_heads"]))[..., 0, :])
            for p in (params, silent)
        ]
        assert moved[0].max() > 1e-3 and not moved[1].any()


def test_slopes_are_zero_if_the_function_gets_the_same_array_twice():
    for inputs in inputs_of("numerical_gradient"):
        assert not np.any(wrong("numerical_gradient", "asks_the_original")(**inputs))


def test_zero_is_the_right_gradient_for_a_constant_cotangent_alone():
    exercise = find_exercise("softmax_backward")
    weights = np.array([[0.2, 0.3, 0.5]])
    np.testing.assert_allclose(exercise.reference(np.full((1, 3), 7.0), weights), 0, atol=1e-15)
    assert np.abs(exercise.reference(np.array([[7.0, 7.0, 8.0]]), weights)).min() > 0.05


def test_a_decoder_always_passes_a_test_that_changes_nothing():
    for inputs in inputs_of("leaks"):
        assert wrong("leaks", "changes_nothing")(**inputs) is False


def test_padding_has_weight_with_or_and_none_without_a_causal_mask():
    for seed in SEEDS:
        for bug, has_weight in (("or in place of and", True), ("no causal mask", False)):
            inputs = weights_of(Draw(seed), bug)
            to_padding = inputs["weights"][
                np.broadcast_to((inputs["tokens"] == inputs["pad"])[:, None, :], inputs["weights"].shape)
            ]
            assert bool(to_padding.any()) == has_weight


def test_a_fresh_layer_norm_hides_a_gain_that_is_not_used():
    for inputs in inputs_of("layer_norm"):
        fresh = inputs | {"gain": np.ones_like(inputs["gain"])}
        expected = first(find_exercise("layer_norm").reference(**fresh))
        np.testing.assert_allclose(
            first(wrong("layer_norm", "without_the_gain")(**fresh)), expected, rtol=1e-4, atol=1e-5
        )


def test_where_the_model_has_reached_its_goal_the_one_hot_gradient_pushes_it_on():
    exercise = find_exercise("smoothed_cross_entropy")
    targets, vocab, smoothing = np.array([2, 1]), 5, 0.3
    goal = np.log(smooth_labels(targets, vocab, smoothing))
    _, cache = exercise.reference(goal, targets, smoothing)
    backward = find_exercise("smoothed_cross_entropy_backward")
    np.testing.assert_allclose(backward.reference(1.0, cache), 0, atol=1e-12)
    pushed = backward.mistakes["hard_difference"][1](1.0, cache)
    assert (pushed[[0, 1], targets] < -0.05).all()  # a step against the gradient raises the target's logit


@pytest.mark.parametrize("smoothing, floor", [(0.0, 0.0), (0.1, 0.5), (0.3, 1.2)])
def test_the_floor_of_the_loss_is_the_entropy_of_the_label(smoothing, floor):
    label = smooth_labels(np.array([3]), 11, smoothing)[0]
    entropy = -np.sum(label[label > 0] * np.log(label[label > 0]))
    assert entropy == pytest.approx(floor, abs=0.05)


def test_cutting_decimals_off_is_off_by_almost_a_scale_towards_zero():
    rng = np.random.default_rng(0)
    weight, size = rng.normal(size=(64, 40)), 8
    for slug, largest in ((None, 0.5), ("truncated", 1.0)):
        quantise = wrong("quantise_groups", slug) if slug else find_exercise("quantise_groups").reference
        codes, scales = quantise(weight, size)
        stored = np.repeat(scales, size, axis=0) * codes
        errors = np.abs(stored - weight) / np.repeat(scales, size, axis=0)
        assert largest - 0.05 < errors.max() <= largest + 1e-9
        if slug:
            assert (np.abs(stored) <= np.abs(weight) + 1e-12).all()


def test_a_gradient_of_the_logarithm_alone_is_zero():
    for inputs in inputs_of("reverse_divergence"):
        assert np.abs(wrong("reverse_divergence", "only_the_log")(**inputs)[1]).max() < 1e-6


def test_a_divergence_is_never_negative():
    reference = find_exercise("reverse_divergence").reference
    assert min(float(reference(**inputs)[0]) for inputs in inputs_of("reverse_divergence")) >= 0


def test_an_exchanged_ratio_accepts_each_guess_that_comes_too_often():
    for inputs in inputs_of("accept_draft"):
        n_right = 0
        for number, guess in enumerate(inputs["draft"]):
            if inputs["small"][number, guess] <= inputs["large"][number, guess]:
                break
            n_right += 1
        result = wrong("accept_draft", "exchanged")(**inputs)
        assert len(first(result)) >= n_right


MODULES = [
    ("EncoderLayer", "OneNormEncoder", "norm_feed_forward"), ("DecoderLayer", "FirstNormTwice", "norm_cross_attention"),
    ("DecoderLayer", "NormsOneLate", "norm_feed_forward"), ("DecoderLayer", "ThirdNormNever", "norm_feed_forward"),
]  # fmt: skip


@pytest.mark.parametrize("exercise, slug, unused", MODULES)
def test_a_norm_that_is_not_used_gets_no_gradient(exercise, slug, unused):
    import torch

    module = wrong(exercise, slug)(d_model=8, n_heads=2, d_ff=16)
    x = torch.randn(2, 3, 8, generator=torch.Generator().manual_seed(1))
    inputs = [x, x] if exercise == "DecoderLayer" else [x]
    module(*inputs).square().sum().backward()
    grads = {path: parameter.grad for path, parameter in module.named_parameters()}
    assert grads[f"{unused}.weight"] is None
    assert grads["norm_attention.weight"].abs().max() > 0


def wider(tokens):
    return np.pad(tokens, [(0, 0), (0, 1)])


SYMPTOMS = {
    "memory": lambda inputs: {"src": wider(inputs["src"])},
    "padding": lambda inputs: {"tgt": wider(inputs["tgt"])},
}


@pytest.mark.parametrize("bug", SYMPTOMS)
def test_the_loss_of_a_model_with_a_bug_has_the_symptom(bug):
    exercise, inputs = find_exercise("repaired_model_loss"), question(Draw(1))
    other = inputs | SYMPTOMS[bug](inputs)
    assert exercise.reference(**other) == pytest.approx(exercise.reference(**inputs), rel=1e-9)
    with_the_bug = [wrong for slug, (_, wrong) in exercise.mistakes.items() if slug.startswith(bug) and "left" in slug]
    assert with_the_bug
    for loss in with_the_bug:
        assert loss(**other) != pytest.approx(loss(**inputs), rel=1e-6)


@pytest.mark.parametrize("found, points", [("", 0), ("shift", 1), ("memory", 1), ("padding", 1), ("shift scale", 2)])
def test_a_bug_hunt_pays_by_the_bug(found, points):
    exercise = find_exercise("repaired_model_loss")
    left = "_".join(bug for bug in BUGS if bug not in found.split())
    for seed in SEEDS:
        assert sum(earned(exercise, make_questions(exercise, seed), wrong(exercise.name, f"{left}_left"))) == points
