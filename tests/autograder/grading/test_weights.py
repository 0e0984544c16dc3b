"""Handed-in weights: where they are found, what they earn, and what an audit of a class says."""

import io
import zipfile
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from autograder.authoring.hand_in import hand_in_of
from autograder.cli.audit import LONGEST
from autograder.example import weights as example
from autograder.grading import audit
from autograder.grading.assignment import zipped_solutions
from autograder.grading.audit import HandedIn
from autograder.grading.handed_in_weights import weights_in
from autograder.grading.reading import Submission
from autograder.grading.submitted_file import File
from autograder.grading.weights import grade_weights
from autograder.sandbox import run
from check.weights_file import MAX_BYTES, pack, unpack
from solutions.letters_to_sounds import fresh_model, transcribe, until_end
from solutions.parameters import unflatten
from tests.patience import PATIENT

CHAPTER = "10_project"
HAND_IN = hand_in_of(CHAPTER)
DISHONEST = (
    *("lazy", "books-own", "classmate", "oversized", "pickle"),
    *("pickle-alone", "wrong-shape", "not-a-number", "zip-bomb", "giant"),
)
GOOD, RECIPE = unpack(example.honest(), HAND_IN.expected)


def few_words(seed):
    rows, right = HAND_IN.withheld(seed)
    return rows[:50], right[:50]


FEW = replace(HAND_IN, withheld=few_words)


@pytest.mark.parametrize("n_words", [3, 200])
def test_words_decoded_in_groups_are_written_as_alone(n_words):
    namespace = {}
    exec(HAND_IN.decoder, namespace)
    rows = HAND_IN.withheld(5)[0][:n_words]
    params = unflatten(GOOD.astype(np.float32), fresh_model(0))
    for row, written in zip(rows, namespace["transcribed"](GOOD, rows), strict=True):
        alone = transcribe(params, row[None])[0]
        assert until_end(written).tolist() == until_end(alone).tolist()


@pytest.fixture(scope="module")
def solutions(tmp_path_factory):
    folder = tmp_path_factory.mktemp("solutions")
    with zipfile.ZipFile(io.BytesIO(zipped_solutions())) as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture
def graded(solutions):
    """graded(raw) -> the result of a file of weights."""

    def graded(raw, hand_in=FEW):
        decode = partial(run, bundle=solutions, limits=PATIENT)
        return grade_weights(Submission(weights=File(raw)), 1, hand_in, decode)[0]

    return graded


def cell(*outputs):
    return {"cell_type": "code", "outputs": list(outputs)}


def test_the_output_of_hand_in_is_found_in_any_cell_and_the_last_counts():
    other = example.saved(GOOD, RECIPE | {"seed": 2})
    first, second = example.output(other, {}), example.output(example.honest(), {})
    assert weights_in([cell(first), {"cell_type": "markdown"}, cell({"text": "x"}, second)]).raw == example.honest()


def test_html_in_lines_is_joined():
    output = example.output(example.honest(), {})
    output["data"]["text/html"] = output["data"]["text/html"].splitlines(keepends=True)
    assert weights_in([cell(output)]).raw == example.honest()


def html(text):
    return [cell({"data": {"text/html": text}})]


DAMAGED = example.packed(b"abc", {}).html.replace("YWJj", "YWJ")

NOT_FOUND = {
    "no outputs": ([cell()], "All of its outputs were cleared. Run the cell `hand_in(params, recipe)`"),
    "other outputs": (html("<b>5</b>"), "The notebook holds no weights. Run the cell"),
    "damaged text": (
        html(DAMAGED),
        "changed",
    ),
    "far too large": ([cell(example.output(bytes(4 * MAX_BYTES), {}))], "more than 500,000 bytes"),
    "malformed cells": (
        [None, 3, {"outputs": 5}, cell(None, [], {"data": {"text/html": [1, None]}})],
        "holds no weights",
    ),
}


@pytest.mark.parametrize("cells, words", NOT_FOUND.values(), ids=NOT_FOUND)
def test_without_weights_students_read_what_to_do(cells, words):
    file = weights_in(cells)
    assert not file.raw and words in file.trouble


def test_honest_weights_earn_every_tier_on_the_withheld_words(graded):
    result = graded(example.honest(), HAND_IN)
    assert result.passed and result.earned == result.points == HAND_IN.points
    assert "of the sounds of 1,000 withheld words are wrong." in result.found[0]
    assert all(f"{word}: " in result.found[1] for word in HAND_IN.examples) and "seed 1, steps" in result.found[2]


@pytest.fixture(scope="module")
def dishonest():
    """Return the file of each dishonest student, and whether it counts. They are made here because that takes time."""
    files = {student: (raw, counts) for student, _, raw, counts in example.dishonest(HAND_IN)}
    assert tuple(files) == DISHONEST
    return files


@pytest.mark.parametrize("student", DISHONEST)
def test_dishonest_weights_earn_nothing(graded, dishonest, student):
    raw, counts = dishonest[student]
    result = graded(raw)
    assert (result.earned > 0) == counts
    if not counts:
        assert result.verdict.kind == ("error rate" if student == "lazy" else "unusable"), result.verdict


def test_the_largest_numbers_of_float16_only_earn_nothing(graded):
    signs = np.where(np.arange(len(GOOD)) % 3, np.float16(65504), np.float16(-65504))
    assert graded(example.saved(signs, RECIPE)).earned == 0


def test_a_rate_between_two_limits_earns_the_easier_tiers(graded):
    noisy = GOOD + 0.04 * np.random.default_rng(0).normal(size=len(GOOD)).astype(np.float16)
    result = graded(example.saved(noisy, RECIPE))
    holding = [aspect.holds for aspect in result.aspects]
    assert 0 < result.earned < result.points and holding == sorted(holding, reverse=True)
    assert result.verdict.message == f"The next points need {HAND_IN.tiers[sum(holding)].name}."


def test_the_words_of_a_course_are_withheld_and_do_not_depend_on_the_file():
    rows, right = HAND_IN.withheld(5)
    assert len(rows) == len(right) == 1000 and np.array_equal(rows, HAND_IN.withheld(5)[0])
    assert not np.array_equal(rows, HAND_IN.withheld(6)[0])


# ------------------------------------------------------------------------------------------------
# The audit


def handed_in(student, weights=None, seed=RECIPE["seed"]):
    recipe = RECIPE | {"seed": seed}
    return HandedIn(student, HAND_IN.start(recipe).astype(np.float16) if weights is None else weights, recipe)


def test_honest_students_with_seeds_of_their_own_raise_no_suspicion():
    assert list(audit.suspicions([handed_in("a", GOOD), handed_in("b", seed=5), handed_in("c", seed=6)], HAND_IN)) == []


def test_a_copy_is_reported_even_with_noise_and_another_seed():
    noisy = GOOD + 0.01 * np.random.default_rng(0).normal(size=len(GOOD)).astype(np.float16)
    found = list(audit.suspicions([handed_in("anna", GOOD), handed_in("ben", noisy, seed=5)], HAND_IN))
    assert found[0].startswith("ben's weights did not start from the seed 5 (correlation 0.0")
    assert found[1].startswith("anna and ben handed in nearly the same weights (correlation 0.9")
    assert found[1].endswith("Seeds of their recipes: 1 and 5.")


def test_a_file_that_went_around_is_one_sentence():
    group = [handed_in(name, GOOD) for name in ("a", "b", "c", "d")]
    expected = (
        "a, b, c and d handed in nearly the same weights (correlation 1.0000 or more). Seeds of their recipes: 1."
    )
    assert list(audit.suspicions([*group, handed_in("e", seed=5)], HAND_IN)) == [expected]


def test_the_books_weights_are_reported_even_with_noise():
    book = HAND_IN.book()
    noisy = book + 0.01 * np.random.default_rng(0).normal(size=len(book)).astype(np.float16)
    found = list(audit.suspicions([handed_in("carl", book), handed_in("dora", noisy)], HAND_IN))
    assert found[0] == "carl's weights are the book's, or nearly (correlation 1.000); they earn no points."
    assert found[1].startswith("dora's weights are the book's, or nearly (correlation 0.9")


def test_the_books_weights_earn_nothing_even_with_one_number_changed(graded):
    changed = HAND_IN.book().copy()
    changed[0] += 0.01
    result = graded(example.saved(changed, RECIPE))
    assert result.earned == 0 and result.verdict.message.startswith("These are the book's own weights, or nearly.")


def test_constant_weights_are_no_error():
    constant = np.zeros_like(GOOD)
    assert [line[:4] for line in audit.suspicions([handed_in("eve", constant)], HAND_IN)] == ["eve'"]


def test_the_seed_draws_a_share_that_a_new_student_hardly_changes():
    group = [handed_in(f"s{n}", GOOD) for n in range(40)]
    names = [one.student for one in audit.drawn(group, 0.05, 1, CHAPTER)]
    assert len(names) == 2 and names != [one.student for one in audit.drawn(group, 0.05, 2, CHAPTER)]
    later = [one.student for one in audit.drawn([*group, handed_in("new", GOOD)], 0.05, 1, CHAPTER)]
    assert set(names) <= set(later)
    assert audit.drawn(group, 0, 1, CHAPTER) == []


@pytest.mark.parametrize("tokens", [1, 60])
def test_a_recipe_of_many_short_steps_is_too_long_to_run_again(tokens):
    """A run keeps a whole model every 20 steps, however few tokens a step has."""
    assert HAND_IN.work(RECIPE | {"steps": 100_000, "tokens": tokens}) > LONGEST


@pytest.mark.thorough("it trains three models")
def test_a_recipe_is_trained_again_and_compared():
    short = RECIPE | {"steps": 20}
    honest = HandedIn("honest", HAND_IN.retrained(short).astype(np.float16), short)
    other = HandedIn("other", GOOD, RECIPE | {"steps": 20, "seed": 5})
    first, second = audit.rerun([honest, other], CHAPTER, jobs=2)
    assert (first.student, second.student) == ("honest", "other")
    assert first.alike > 0.99 and abs(first.way - 1) < 0.01 and first.agrees(HAND_IN)
    assert second.alike < 0.1 and not second.agrees(HAND_IN)


def test_a_longer_run_than_the_recipe_says_does_not_agree():
    assert not audit.Rerun("longer", alike=0.99, way=1.1).agrees(HAND_IN)


def test_what_a_notebook_packs_is_what_grading_reads():
    start = HAND_IN.start(RECIPE)
    from solutions.letters_to_sounds import fresh_model

    raw = pack(unflatten(start, fresh_model(0)), RECIPE, HAND_IN.expected)
    assert np.array_equal(unpack(raw, HAND_IN.expected)[0], start.astype(np.float16))
