"""Exercises that ask for a test, at home: `check` does harm to the student's own function and tries the test on it."""

import inspect
from collections import Counter

import numpy as np
import pytest

from autograder.authoring.blind_tests import blind_tests
from autograder.authoring.exercise import exercises_of, find_exercise
from autograder.authoring.make_key import PUBLIC_SEED, full_key, make_key, make_questions, public_key
from autograder.authoring.problems import catching_cases, grade_function, problems
from autograder.exercises.training.tests_train_step import ARGUMENTS, arrays_of, situation
from autograder.layout import chapter_names
from check import bundle_data, key
from check.checking import checked
from check.harms.drafts import DRAFT_CHANGES, DRAFT_HARMS
from check.harms.harmed import HARMLESS, HARMS, Harmed, harmed
from check.harms.layers import LAYER_HARMS
from check.harms.look_ups import LOOK_UP_HARMS
from check.harms.steps import STEP_HARMS
from check.scoring import grade
from check.tested import FunctionUnderTest, arrays_in, out_of_reach
from check.values import pack, unpack
from solutions import backward, training
from solutions.attention import softmax
from solutions.dictionary import modern_layer, random_layer
from solutions.multihead import split_heads
from solutions.parameters import flatten, map_tree
from solutions.position import embed_backward
from solutions.residual import layer_norm
from solutions.since import accept_draft
from tests.choosing import thinned

pytestmark = pytest.mark.autograder

TESTS = [exercise for chapter in chapter_names() for exercise in exercises_of(chapter) if exercise.tests]
NAME = "tests_softmax_backward"
OF_ONE = pytest.mark.parametrize(
    "exercise",
    thinned(TESTS, [find_exercise(NAME)], "the same for each exercise that asks for a test"),
    ids=[exercise.name for exercise in TESTS],
)
OWN = inspect.getsource(backward.softmax_backward)
HONEST = inspect.getsource(backward.numerical_gradient) + inspect.getsource(backward.tests_softmax_backward)
STUB = "def {0}(*args, **kwargs):\n    raise NotImplementedError\n"


@pytest.fixture(scope="module", autouse=True)
def keys(tmp_path_factory):
    """The public keys that `check` needs, in a folder of their own."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "keys").mkdir()
    for name in (NAME, "softmax_backward", "numerical_gradient"):
        key.save(public_key(find_exercise(name)), folder / "keys" / f"{name}.npz")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(bundle_data.FOLDER, str(folder))
        yield


def feedback_on(*sources):
    """Return what `check` says about a test in a notebook of these cells."""
    notebook = {"np": np, "softmax": softmax}
    for source in sources:
        exec(source, notebook)
    before = notebook.get("softmax_backward")
    feedback = checked(notebook[NAME])
    assert notebook.get("softmax_backward") is before
    return feedback


def test_an_honest_test_passes():
    assert feedback_on(OWN, HONEST).result.passed


def test_a_test_that_remembers_the_first_function_earns_nothing():
    remembering = f"""
seen = []

def {NAME}(function):
    seen.append(function(np.arange(3.0), np.ones(3) / 3))
    return np.allclose(seen[0], seen[-1])"""
    feedback = feedback_on(OWN, remembering)
    assert feedback.result.earned == 0
    assert "Your test rejects your own `softmax_backward`." in feedback.text


def test_a_survivor_is_named_with_the_count():
    feedback = feedback_on(
        OWN, f"def {NAME}(function):\n    return function(np.ones((2, 3)), np.ones((2, 3))).shape == (2, 3)"
    )
    assert "Your test accepts a function that returns `grad_weights` unchanged (1 of 17 wrong" in feedback.text


def test_a_right_function_that_is_rejected_comes_first():
    feedback = feedback_on(OWN, f"def {NAME}(function):\n    return function(np.ones(2), np.ones(2) / 2).sum() != 0")
    assert "Your test rejects your own `softmax_backward`." in feedback.text.splitlines()[1]


def test_weights_that_no_softmax_returns_are_found_at_home():
    """The student's own function is right there by one formula; other functions, which are just as right, are not."""
    test = f"""def {NAME}(function):
    g, w = np.random.default_rng(0).random((2, 3, 4))
    return np.allclose(function(g, w), w * (g - (w * g).sum(axis=-1, keepdims=True)))"""
    text = feedback_on(OWN, test).text
    assert "Your test rejects your own `softmax_backward`, multiplied by the sum of each row of weights" in text


def test_another_value_is_no_verdict():
    feedback = feedback_on(OWN, f"def {NAME}(function):\n    return function(np.ones(2), np.ones(2) / 2)")
    assert "Your test returns a NumPy array" in feedback.text and "return True or nothing" in feedback.text


def test_an_exception_of_the_test_itself_is_told():
    feedback = feedback_on(OWN, f"def {NAME}(function):\n    return functoin(np.ones(2))")
    assert "raised NameError: name 'functoin' is not defined" in feedback.text
    assert feedback.result.earned == 0


def test_the_own_function_is_out_of_reach():
    test = f"def {NAME}(function):\n    return softmax_backward(np.ones(2), np.ones(2)) is None"
    assert out_of_reach("softmax_backward") in feedback_on(OWN, test).text


@pytest.mark.parametrize(
    "own", ["", STUB.format("softmax_backward"), "def softmax_backward(grad_weights, weights):\n    return weights"]
)
def test_without_a_right_function_of_its_own_nothing_is_tried(own):
    feedback = feedback_on(own, HONEST)
    assert feedback.result.blank and feedback.result.earned == 0
    assert "is tried on your own `softmax_backward`" in feedback.text
    assert "until it passes its check" in feedback.text


def test_a_stub_is_not_written_yet():
    assert "is not written yet" in feedback_on(OWN, STUB.format(NAME)).text


@OF_ONE
def test_a_public_key_holds_no_function(exercise, tmp_path):
    public = full_key(exercise, 2017)
    assert {type(value) for case in public.cases for value in case.inputs.values()} == {Harmed}
    key.save(public, tmp_path / "key.npz")
    assert key.load(tmp_path / "key.npz").cases == public.cases


@pytest.mark.parametrize("exercise", TESTS, ids=lambda exercise: exercise.name)
@pytest.mark.parametrize("at_home", [True, False])
def test_the_model_test_knows_right_from_wrong(exercise, at_home):
    for case in make_questions(exercise, 5, at_home).cases:
        is_right = case.name.startswith(("your own", "a right function"))
        assert case.expected.value is is_right, case.name


@pytest.mark.parametrize("seed", thinned(range(30), [5], "other keys: hidden functions do not depend on the seed"))
@OF_ONE
def test_a_known_mistake_earns_in_each_aspect_what_home_promises(exercise, seed):
    public, secret = make_key(exercise, PUBLIC_SEED, at_home=True), make_key(exercise, seed)
    for slug in exercise.mistakes:
        promised, graded = (
            [aspect.earned for aspect in grade(key, [case.mistakes[slug] for case in key.cases]).aspects]
            for key in (public, secret)
        )
        assert promised == graded, slug


@OF_ONE
@pytest.mark.parametrize("at_home", [True, False])
def test_no_blind_test_passes(exercise, at_home):
    assert [problem for problem in problems(exercise, make_key(exercise, 5, at_home)) if "blind" in problem] == []


@pytest.mark.parametrize("exercise", TESTS, ids=lambda exercise: exercise.name)
def test_each_exercise_has_blind_tests(exercise):
    assert len(list(blind_tests(exercise))) >= 2


@OF_ONE
def test_a_public_key_accepts_what_is_right(exercise):
    public = full_key(exercise, 2017)
    for function in (exercise.reference, *exercise.equivalents.values()):
        assert grade_function(exercise, public, function).passed, function.__name__


@OF_ONE
def test_a_public_key_catches_the_known_mistakes(exercise):
    public = full_key(exercise, 2017)
    assert {slug for slug in public.mistakes if not any(catching_cases(public, slug))} == set()


def test_a_hidden_function_cannot_be_stored():
    tree, arrays = pack(FunctionUnderTest("softmax_backward", backward.softmax_backward))
    assert (tree["kind"], arrays) == ("foreign", [])
    assert "solutions" not in repr(unpack(tree, arrays))


# Harms of functions with other arguments or promises.
OF_NORMS = ("third as zeros", "defaults", "unbiased")
OF_ERRORS = ("no error", "other error", "single rows", "single sentences")
OF_OTHERS = (
    *("two batch axes", "size of a part", "difference", *OF_ERRORS, *OF_NORMS),
    *(*DRAFT_HARMS, *LAYER_HARMS, *LOOK_UP_HARMS, *STEP_HARMS),
)
OTHER_CACHE = "other cache"


@pytest.mark.parametrize(
    "harm",
    [harm for harm in HARMS if harm not in OF_OTHERS],
)
@pytest.mark.parametrize("by_name", [True, False])
def test_every_harm_is_seen(harm, by_name):
    rng = np.random.default_rng(0)
    shape = (2, 3, 4, 5)
    arguments = rng.normal(size=shape).astype(np.float32), softmax(rng.normal(size=shape)).astype(np.float32)
    right = backward.softmax_backward(*arguments)
    given = [argument.copy() for argument in arguments]
    changed = harmed(backward.softmax_backward, harm)
    try:
        result = changed(weights=given[1], grad_weights=given[0]) if by_name else changed(*given)
    except ValueError:
        return
    same = result.shape == right.shape and result.dtype == right.dtype and np.allclose(result, right)
    assert not same or not all(map(np.array_equal, given, arguments))


OF_HEADS = [
    case.inputs["function"].harm for case in make_questions(find_exercise("tests_split_heads"), 1, at_home=True).cases
]


@pytest.mark.parametrize("harm", [harm for harm in OF_HEADS if harm not in ("", *OF_ERRORS, "double")])
def test_every_harm_of_heads_is_seen_in_whole_numbers(harm):
    """The page advises to number the entries with `np.arange`."""
    x = np.arange(3 * 2 * 5 * 6).reshape(3, 2, 5, 6)
    right = split_heads(x, 3)
    try:
        heads = harmed(split_heads, harm)(x, 3)
    except ValueError:
        return
    assert not np.array_equal(heads, right)


@pytest.mark.parametrize("second_name", [True, False])
def test_a_second_name_for_an_array_is_no_copy(second_name):
    keep = "cotangent" if second_name else "cotangent.copy()"
    test = f"""def {NAME}(function):
    rng = np.random.default_rng(0)
    for shape in ((5,), (3, 4), (2, 3, 4)):
        scores, cotangent = rng.normal(size=shape), rng.normal(size=shape)
        weights, before = softmax(scores), {keep}
        result = function(cotangent, weights)
        assert np.array_equal(cotangent, before) and np.array_equal(weights, softmax(scores))
        assert np.allclose(result, numerical_gradient(lambda s: (cotangent * softmax(s)).sum(), scores))
    assert function(weights.astype(np.float32), weights.astype(np.float32)).dtype == np.float32"""
    feedback = feedback_on(OWN, inspect.getsource(backward.numerical_gradient), test)
    assert feedback.result.passed != second_name
    assert ("accepts a function that writes into `grad_weights`" in feedback.text) == second_name


def test_numbers_in_a_list_are_written_too():
    tokens = [0, 1]
    probabilities = np.full((3, 2), 0.5)
    harmed(accept_draft, "writes")(tokens, probabilities[:2], probabilities, np.full(2, 0.5), 0.5)
    assert tokens != [0, 1]


@pytest.mark.parametrize("harm", LOOK_UP_HARMS)
@pytest.mark.parametrize("by_name", [True, False])
def test_every_harm_of_a_look_up_is_seen(harm, by_name):
    grad_output = np.random.default_rng(0).normal(size=(2, 3, 4))
    given = {"grad_output": grad_output, "cache": (np.array([[0, 3, 3], [1, 0, 3]]), 5)}
    right = embed_backward(**given)
    changed = harmed(embed_backward, harm)
    result = changed(**given) if by_name else changed(*given.values())
    assert result.shape != right.shape or not np.allclose(result, right)


@pytest.mark.parametrize("harm", OF_NORMS)
@pytest.mark.parametrize("by_name", [True, False])
def test_every_harm_of_a_norm_is_seen(harm, by_name):
    rng = np.random.default_rng(0)
    given = {"x": rng.normal(size=(3, 4)), "gain": rng.normal(size=4), "bias": rng.normal(size=4), "eps": 0.5}
    changed = harmed(layer_norm, harm)
    output, _ = changed(**given) if by_name else changed(*given.values())
    assert not np.allclose(output, layer_norm(**given)[0])


def test_the_variance_by_difference_is_seen_far_from_zero():
    x, gain, bias = (
        (1000 + np.random.default_rng(0).normal(size=(8, 100))).astype(np.float32),
        np.ones(100),
        np.zeros(100),
    )
    output, _ = harmed(layer_norm, "difference")(x, gain, bias)
    assert np.abs(output - layer_norm(x, gain, bias)[0]).max() > 0.05
    near, _ = harmed(layer_norm, "difference")(x - 1000, gain, bias)
    np.testing.assert_allclose(near, layer_norm(x - 1000, gain, bias)[0], atol=1e-4)


@pytest.mark.parametrize(("harm", "error"), [("no error", None), ("other error", TypeError)])
def test_a_harm_replaces_a_value_error(harm, error):
    changed = harmed(split_heads, harm)
    if error is None:
        assert changed(np.ones((4, 7)), 3) is not None
    else:
        with pytest.raises(error):
            changed(np.ones((4, 7)), 3)


@pytest.mark.parametrize(("harm", "shape"), [("single rows", (4,)), ("single sentences", (3, 4))])
def test_a_harm_refuses_too_few_axes(harm, shape):
    with pytest.raises(ValueError, match="too few axes"):
        harmed(lambda x: x, harm)(np.ones(shape))
    assert harmed(lambda x: x, harm)(np.ones((2, 2, 2))).shape == (2, 2, 2)


def test_another_cache_leaves_the_output_alone():
    rng = np.random.default_rng(0)
    given = rng.normal(size=(3, 4)), rng.normal(size=4), rng.normal(size=4)
    output, cache = harmed(layer_norm, OTHER_CACHE)(*given)
    assert np.array_equal(output, layer_norm(*given)[0]) and cache is None


@pytest.mark.parametrize("harm", STEP_HARMS)
@pytest.mark.parametrize("by_name", [True, False])
def test_every_harm_of_a_step_is_seen(harm, by_name):
    def flat(result):
        params, (mean, squares), loss = result
        return np.append(flatten([params, mean, squares]), loss)

    given, kept = situation(), situation()
    step = harmed(training.train_step, harm)
    result = flat(step(**given) if by_name else step(*given.values()))
    same_arguments = all(np.array_equal(arrays_of(given, [name]), arrays_of(kept, [name])) for name in ARGUMENTS)
    assert not np.allclose(result, flat(training.train_step(**kept)), rtol=0, atol=1e-4) or not same_arguments


@pytest.mark.parametrize("harm", LAYER_HARMS)
@pytest.mark.parametrize("by_name", [True, False])
def test_every_harm_of_a_layer_is_seen(harm, by_name):
    def flat(value):
        return np.concatenate([array.ravel() for array in arrays_in(value)])

    x, params = np.random.default_rng(0).normal(size=(2, 5, 16)), random_layer(np.random.default_rng(1), 4, 2)
    given = {"x": x.copy(), "params": map_tree(np.copy, params), "n_heads": 4}
    layer = harmed(modern_layer, harm)
    result, right = flat(layer(**given) if by_name else layer(*given.values())), flat(modern_layer(x, params, 4))
    is_right = result.shape == right.shape and np.allclose(result, right)
    assert not is_right or not np.array_equal(flat(given), flat([x, params]))


def texts_of(function):
    """How often each text comes from drafts of two tokens, with chances and places that are spread evenly.

    The name of a text also says whether the chances are as they were.
    """
    small, large = np.array([[6, 3, 3], [3, 3, 6]]) / 12, np.array([[3, 4, 5], [6, 3, 3], [4, 4, 4]]) / 12
    texts = Counter()
    for draft in np.ndindex(3, 3):
        for chances in np.ndindex(4, 4):
            for place in (np.arange(6) + 0.5) / 6:
                given = (np.array(chances) + 0.5) / 4
                kept = given.copy()
                text = tuple(map(int, function(np.array(draft), small, large, given, place)))
                texts[text, np.array_equal(given, kept)] += 12 * small[0, draft[0]] * 12 * small[1, draft[1]]
    return {text: round(count) for text, count in texts.items()}


@pytest.mark.parametrize("harm", DRAFT_HARMS)
def test_every_harm_of_a_checked_draft_is_seen(harm):
    assert texts_of(harmed(accept_draft, harm)) != texts_of(accept_draft)


@pytest.mark.parametrize("change", DRAFT_CHANGES)
def test_a_harmless_change_of_a_checked_draft_leaves_its_texts_as_likely(change):
    changed = harmed(accept_draft, change)
    assert texts_of(changed) == texts_of(accept_draft)
    even = np.full((2, 3), 1 / 3)
    assert len(changed(np.array([1]), even[:1], even, np.array([0.0]), 0.0)) == 2, "a chance of 1 would refuse"


@pytest.mark.parametrize("change", [change for change in HARMLESS if change not in {OTHER_CACHE, *DRAFT_CHANGES}])
def test_a_harmless_change_is_right_where_weights_come_from_softmax(change):
    rng = np.random.default_rng(0)
    cotangent, weights = rng.normal(size=(3, 4)), softmax(rng.normal(size=(3, 4)))
    result = harmed(backward.softmax_backward, change)(weights=weights, grad_weights=cotangent)
    np.testing.assert_allclose(result, backward.softmax_backward(cotangent, weights), rtol=1e-12)
