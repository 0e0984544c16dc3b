"""Keys depend only on their exercise and seed, and can be saved and loaded."""

import re

import numpy as np
import pytest

from autograder.authoring.exercise import find_exercise
from autograder.authoring.make_key import PUBLIC_SEED, make_key
from autograder.authoring.problems import problems
from autograder.errors import UserError
from check import input_functions
from check.calling import run
from check.key import load, save
from check.values import Foreign, Malformed, pack, unpack

pytestmark = pytest.mark.autograder


def test_a_saved_key_is_loaded_as_it_was(key, tmp_path):
    save(key, tmp_path / "key.npz")
    assert load(tmp_path / "key.npz").digest == key.digest


def test_a_key_stores_equal_arrays_once_and_no_cache(exercise, key, tmp_path):
    @exercise.mistake("rounds another way")
    def other_order(x):
        """Right, except for the last bits where rows have other sums."""
        if not x.shape[-1]:
            raise ValueError
        return (x * (1 / x.sum(-1, keepdims=True))) if len(x) > 1 else x, x

    for name, penalty in {"endless": np.inf, "endless_too": -np.inf, "nowhere": np.nan}.items():

        def wrong(x, penalty=penalty):
            """Infinite numbers are like no others."""
            return x + penalty, x

        wrong.__name__ = name
        exercise.mistake(name)(wrong)
    longer = make_key(exercise, seed=1)
    (case, *_) = longer.cases
    assert [case.mistakes[name].value[0].flat[0] for name in ("endless", "endless_too")] == [np.inf, -np.inf]
    del exercise.mistakes["endless"], exercise.mistakes["endless_too"], exercise.mistakes["nowhere"]
    longer = make_key(exercise, seed=1)
    (case, *_) = longer.cases
    assert case.mistakes["other_order"].value[0].tobytes() == case.expected.value[0].tobytes()
    assert {outcome.value[1] for outcome in (case.expected, *case.mistakes.values())} == {None}
    for name, saved in {"key": key, "longer": longer}.items():
        save(saved, tmp_path / f"{name}.npz")
    with np.load(tmp_path / "key.npz") as stored, np.load(tmp_path / "longer.npz") as more:
        assert stored["float64"].size == more["float64"].size
    assert load(tmp_path / "longer.npz").cases[0].inputs["x"].tobytes() == case.inputs["x"].tobytes()


def test_the_seed_decides_the_cases(exercise, key):
    assert make_key(exercise, seed=1).digest == key.digest
    assert make_key(exercise, seed=2).digest != key.digest


def test_a_case_added_to_one_aspect_does_not_change_the_others(exercise, key):
    @exercise.cases("more", points=1)
    def _(draw):
        yield "one row", {"x": draw.normal(1, 3)}

    longer = make_key(exercise, seed=1)
    assert all(np.array_equal(a.inputs["x"], b.inputs["x"]) for a, b in zip(key.cases, longer.cases, strict=False))


def test_case_names_are_unique(exercise):
    @exercise.cases("twice", points=1)
    def _(draw):
        yield "same", {"x": np.ones((1, 1))}
        yield "same", {"x": np.ones((1, 1))}

    with pytest.raises(ValueError, match="share a name"):
        make_key(exercise, seed=1)


def test_find_exercise_names_an_unknown_exercise():
    with pytest.raises(UserError, match="no_such_exercise"):
        find_exercise("no_such_exercise")


def test_a_sound_exercise_has_no_problems(exercise, key):
    assert problems(exercise, key) == []
    assert list(key.mistakes) == ["whole_sum", "column_sum"]


def test_problems_are_found(exercise):
    @exercise.mistake("is not a mistake at all")
    def harmless(x):
        """Nothing is wrong here."""
        return exercise.reference(x)

    @exercise.mistake("is the first mistake again")
    def again(x):
        """Said twice."""
        return x / np.sum(x), x

    @exercise.equivalent
    def wrong_rewrite(x):
        return x, x

    text = "\n".join(problems(exercise, make_key(exercise, PUBLIC_SEED)))
    assert "harmless passes every case" in text
    assert "no case distinguishes whole_sum from again" in text
    assert "the equivalent wrong_rewrite is rejected" in text


def test_a_reference_that_changes_its_input_is_found(exercise):
    def in_place(x):
        x += 1
        return x, x

    exercise.reference = in_place
    assert any("the reference fails the case" in problem for problem in problems(exercise, make_key(exercise, 1)))


def named(value):
    """Return the id of a test without an address, because all processes of a run must give a test the same id."""
    return re.sub(r" at 0x\w+", "", repr(value))


VALUES = [
    None, True, 3, 2.5, float("nan"), "words", (1, [2, {"a": np.arange(3)}]), np.float32(1.5), np.zeros((0, 2), bool),
    input_functions.weighted_sines,
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=named)
def test_packed_values_are_unpacked_as_they_were(value):
    assert repr(unpack(*pack(value))) == repr(np.array(value) if isinstance(value, np.generic) else value)


def test_a_named_tuple_becomes_a_plain_one():
    value = unpack(*pack(np.linalg.slogdet(np.eye(2))))
    assert type(value) is tuple and value == (1, 0)


def test_a_packed_random_generator_is_unpacked_as_it_was():
    assert unpack(*pack(np.random.default_rng(3))).normal() == np.random.default_rng(3).normal()


@pytest.mark.parametrize("value", [object(), 1j, 2**70, np.array([None]), (x for x in ()), {1: 2}, print], ids=named)
def test_a_value_that_cannot_be_packed_is_named(value):
    assert isinstance(unpack(*pack(value)), Foreign)


@pytest.mark.parametrize(
    "tree",
    [
        None, [], {}, {"kind": "other"}, {"kind": "array", "index": 0}, {"kind": "array", "index": True},
        {"kind": "int", "value": "3"}, {"kind": "float", "value": "x"}, {"kind": "tuple", "items": {}},
        {"kind": "function", "name": "eval"}, {"kind": "generator", "state": {"a": 1}}, {"kind": "float", "value": 1},
    ],
    ids=named,
)  # fmt: skip
def test_malformed_values_are_refused(tree):
    with pytest.raises(Malformed):
        unpack(tree, [])


def test_a_foreign_value_keeps_its_name_when_packed_again():
    once = unpack(*pack(object()))
    assert unpack(*pack(once)) == once == Foreign("object")


def test_an_array_is_named_once():
    twice = {"kind": "tuple", "items": [{"kind": "array", "index": 0}] * 2}
    with pytest.raises(Malformed):
        unpack(twice, [np.ones(2)])


def test_ints_are_bounded():
    with pytest.raises(Malformed):
        unpack({"kind": "int", "value": 2**63}, [])


def test_a_value_that_is_too_large_to_pack_is_named():
    value = run(lambda: [[0] * 20_000 for _ in range(11)], {}).value
    assert value == Foreign("value too large to look at")


def test_depth_is_bounded():
    deep = {"kind": "none"}
    for _ in range(100):
        deep = {"kind": "list", "items": [deep]}
    with pytest.raises(Malformed):
        unpack(deep, [])
    nested = []
    nested.append(nested)
    unpack(*pack(nested))


@pytest.mark.parametrize("drawn", input_functions.DRAWN.values())
def test_a_drawn_function_is_packed_with_its_weights(drawn):
    function = drawn(np.tril(np.ones((3, 3))))
    carried = unpack(*pack(function))
    assert np.array_equal(carried(np.arange(3.0)), function(np.arange(3.0)))
