"""Matrices are judged by what they do on sentences that their function never saw."""

import numpy as np
import pytest

from autograder.authoring.exercise import Exercise, find_exercise
from autograder.authoring.make_key import make_key
from check.calling import Outcome, Raised
from check.checking import tried
from check.key import load, save
from check.measures import LARGEST, MOST_COLUMNS, Attention, bands, properties
from check.measuring import measured_outcomes, outcomes_of
from check.scoring import grade

WORDS = np.array([[0, 2, 1], [1, 1, 0]])


def looks_back(n_words, length, strength=1000.0):
    w_query = np.vstack([np.zeros((n_words, length)), strength * np.eye(length, k=-1)])
    w_key = np.vstack([np.zeros((n_words, length)), np.eye(length)])
    return w_query, w_key, np.eye(n_words + length, n_words)


def looks_ahead(n_words, length):
    """It looks the other way."""
    w_query, w_key, w_value = looks_back(n_words, length)
    return w_key, w_query, w_value


def too_narrow(n_words, length):
    """It forgets the positions."""
    return tuple(w[:n_words] for w in looks_back(n_words, length))


@pytest.fixture(scope="module")
def exercise():
    exercise = Exercise(
        looks_back,
        outputs=dict.fromkeys(("attended", "sharpness", "copied"), "sentences T"),
        section="Looking back",
        measure="copying",
        unseen=("words", "asks"),
    )
    inputs = {"n_words": 3, "length": 4, "words": WORDS}
    for name in ("attended", "sharpness", "copied"):
        exercise.cases(name, points=1)(lambda draw, name=name: [(name, inputs | {"asks": [name]})])
    exercise.mistake("looks ahead")(looks_ahead)
    exercise.mistake("is too narrow")(too_narrow)
    return exercise


@pytest.fixture(scope="module")
def key(exercise):
    return make_key(exercise, 1)


def changed(number, matrix):
    """Return a function that is right, but for one matrix."""

    def function(n_words, length):
        matrices = list(looks_back(n_words, length))
        matrices[number] = matrix(matrices[number]) if callable(matrix) else matrix
        return matrices

    return function


def sentence(function, key):
    return grade(key, outcomes_of(function, key)).verdict.message


# ------------------------------------------------------------------------------------------ what is measured


def test_a_key_holds_what_matrices_do_and_asks_for_one_property_at_a_time(key):
    attended, sharpness, copied = (case.expected.value for case in key.cases)
    assert attended[0].tolist() == [[0, 0, 1], [0, 0, 1]] and attended[1:] == (None, None)
    assert sharpness[1].tolist() == [[0, 100, 100], [0, 100, 100]]
    assert copied[2].tolist() == [[0, 0, 2], [0, 1, 1]]


def test_the_function_gets_the_sizes_only(key):
    assert all(case.inputs == {"n_words": 3, "length": 4} for case in key.cases)
    assert all(case.size == WORDS.size for case in key.cases)


def test_equal_largest_weights_attend_to_no_position():
    strengths = np.array([[1.0, 1.0, 0.5], [0.4, 0.6, 1.0]])
    attended, sharpness, copied = properties(
        Attention(strengths, None, np.array([True, True])), ["attended", "sharpness"]
    )
    assert attended.tolist() == [-1, 2] and sharpness.tolist() == [40, 50] and copied is None


@pytest.mark.parametrize(("largest", "band"), [(0.49, 0), (0.51, 1), (0.98, 1), (0.991, 2)])
def test_sharpness_has_three_bands(largest, band):
    strengths = np.array([[1.0, *2 * [(1 - largest) / 2 / largest]]])
    percent = properties(Attention(strengths, None, np.array([True])), ["sharpness"])[1]
    assert percent == [int(100 * largest)] and bands("sharpness", percent) == [band]


def test_other_matrices_that_do_the_same_pass(key):
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]

    def rotated(n_words, length):
        w_query, w_key, w_value = looks_back(n_words, length)
        return [w_query @ rotation, w_key @ rotation, w_value.astype(np.float32)]

    assert grade(key, outcomes_of(rotated, key)).passed


def test_exceptions_and_stopped_calls_stay_as_they_are(key):
    outcomes = [Outcome(raised=Raised("ValueError", "x")), Outcome(stopped="waited"), Outcome(stopped="waited")]
    assert measured_outcomes(key, outcomes) == outcomes


# ------------------------------------------------------------------------------------------ what a student reads


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (looks_ahead, "In a sentence of 3 words, position 1 attends most to position 2, not to position 0."),
        (
            changed(0, lambda w: 0 * w),
            "In a sentence of 3 words, position 1 does not attend most to one position; it should to position 0.",
        ),
        (
            lambda n_words, length: looks_back(n_words, length, strength=4.0),
            "In a sentence of 3 words, position 1 gives 78% of its weight to one position, "
            "and should give at least 99%.",
        ),
        (
            changed(2, lambda w: w[:, ::-1]),
            "In a sentence of 3 words, the output at position 1 is largest for word 2, not for word 0.",
        ),
        (lambda n_words, length: None, "The result should be 3 matrices: end with `return w_query, w_key, w_value`."),
        (
            lambda n_words, length: looks_back(n_words, length)[:2],
            "The result should be 3 matrices: end with `return w_query, w_key, w_value`.",
        ),
        (changed(1, [[1.0]]), "`w_key` should be a matrix: a NumPy array of numbers with two axes."),
        (changed(1, np.zeros(7)), "`w_key` should be a matrix: a NumPy array of numbers with two axes."),
        (changed(1, lambda w: w > 0), "`w_key` should be a matrix: a NumPy array of numbers with two axes."),
        (too_narrow, "`w_query` has 3 rows and 4 columns, but needs 7 rows: the input has 7 features."),
        (
            changed(0, np.zeros((7, MOST_COLUMNS + 1))),
            "`w_query` has 513 columns, but at most 512 are allowed.",
        ),
        (changed(0, lambda w: w[:, :3]), "`w_query` has 3 columns and `w_key` has 4."),
        (changed(2, lambda w: w[:, :2]), "`w_value` has 2 columns, but should have 3."),
        (changed(1, lambda w: w / 0), "`w_key` contains NaN or infinity."),
        (
            changed(0, lambda w: w * LARGEST),
            "`w_query` contains a number beyond a million. No softmax needs that much.",
        ),
    ],
)
def test_a_wrong_answer_gets_a_sentence(key, function, expected):
    assert sentence(function, key) == expected


def test_each_matrix_may_have_its_own_number_of_rows():
    """Queries come from the decoder, keys and values from a memory of a different width."""
    copies = make_key(find_exercise("copies_source"), 1)
    n = 1 + min(case.inputs["n_words"] for case in copies.cases)

    def one_width(n_words, backwards):
        return [np.eye(n_words + 1)] * 3

    shape = f"{n} rows and {n} columns"
    expected = f"`w_key` has {shape}, but needs {2 * n} rows: the input has {2 * n} features."
    assert sentence(one_width, copies) == expected


def test_columns_without_any_number_are_no_error(key):
    none = changed(0, np.zeros((7, 0)))
    both = lambda n_words, length: [none(n_words, length)[0], np.zeros((7, 0)), np.eye(7, 3)]  # noqa: E731
    assert "does not attend most to one position" in sentence(both, key)


def test_mistakes_are_named_malformed_ones_too(key):
    for slug, wrong in (("looks_ahead", looks_ahead), ("too_narrow", too_narrow)):
        result = grade(key, outcomes_of(wrong, key))
        assert result.mistakes == (key.mistakes[slug],) and not result.remarks


def test_a_malformed_answer_is_a_known_mistake_only_if_its_shape_is(key):
    assert grade(key, outcomes_of(changed(0, np.zeros((3, 9))), key)).mistakes == ()


def test_an_answer_without_a_known_mistake_gets_no_relation_and_no_slip(key):
    result = grade(key, outcomes_of(changed(2, lambda w: w[:, ::-1]), key))
    assert result.mistakes == result.remarks == () and result.earned == 2


def test_at_home_the_sentence_is_shown(key):
    text = tried(looks_ahead, key).text
    assert "words = array([[0, 2, 1],\n       [1, 1, 0]])" in text and "asks" not in text


# ------------------------------------------------------------------------------------------ how a key is kept


def test_a_key_is_kept_with_its_unseen_inputs(key, tmp_path):
    save(key, tmp_path / "key.npz")
    stored = load(tmp_path / "key.npz")
    assert stored.digest == key.digest and stored.measure == "copying"
    assert stored.cases[0].unseen["words"].tolist() == WORDS.tolist()
    assert grade(stored, outcomes_of(looks_back, stored)).passed
