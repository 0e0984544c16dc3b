"""Handed-in weights: where they are found, what they earn, and what an audit of a class says."""

import io
import re
import zipfile
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from autograder.authoring.hand_in import HandIn, hand_in_of
from autograder.cli.audit import LONGEST
from autograder.example import example_weights as example
from autograder.grading import audit
from autograder.grading.assignment import zipped_solutions
from autograder.grading.audit import HandedIn
from autograder.grading.grade_weights import grade_weights
from autograder.grading.handed_in_weights import weights_in
from autograder.grading.reading import Submission
from autograder.grading.submitted_file import File
from autograder.sandbox import run
from check.weights_file import MAX_BYTES, pack, unpack
from solutions.definer import SIZES, fresh_definer, mean_loss
from solutions.definitions import PAD
from solutions.letters_to_sounds import fresh_model, transcribe, until_end
from solutions.parameters import unflatten
from tests.autograder.grading.disguises import disguised
from tests.patience import PATIENT

DISHONEST = (
    *("lazy", "books-own", "classmate", "oversized", "pickle"),
    *("pickle-alone", "wrong-shape", "not-a-number", "zip-bomb", "giant"),
)


@dataclass(frozen=True)
class Asked:
    """A chapter that asks for weights.

    fresh: some parameters of its model. noise: with this noise, the honest weights earn some of the points.
    """

    chapter: str
    fresh: Any
    noise: float

    @cached_property
    def hand_in(self) -> HandIn:
        return hand_in_of(self.chapter)

    @cached_property
    def few(self) -> HandIn:
        """The same on few words."""
        return replace(self.hand_in, withheld=partial(self.hand_in.withheld, n=50))

    @cached_property
    def honest(self) -> tuple[np.ndarray, dict[str, float]]:
        """The weights and the recipe of an honest student."""
        return unpack(example.honest(self.chapter), self.hand_in.expected)

    def model(self):
        """The functions of the sandbox."""
        namespace = {}
        exec(self.hand_in.model, namespace)
        return namespace


PROJECT = Asked("10_project", fresh_model(0), 0.04)
DICTIONARY = Asked("12_dictionary", fresh_definer(np.random.default_rng(0), **SIZES), 0.015)


@pytest.fixture(params=[PROJECT, DICTIONARY], ids=lambda asked: asked.chapter)
def asked(request):
    return request.param


@pytest.mark.parametrize("n_words", [3, 200])
def test_words_decoded_in_groups_are_written_as_alone(n_words):
    good, _ = PROJECT.honest
    rows = PROJECT.hand_in.withheld(5)[0][:n_words]
    params = unflatten(good.astype(np.float32), PROJECT.fresh)
    for row, written in zip(rows, PROJECT.model()["written"](good, rows), strict=True):
        alone = transcribe(params, row[None])[0]
        assert until_end(written).tolist() == until_end(alone).tolist()


@pytest.mark.parametrize("n_entries", [3, 200])
def test_the_loss_of_groups_of_entries_is_the_loss_of_the_entries(n_entries):
    good, _ = DICTIONARY.honest
    rows, right = DICTIONARY.hand_in.withheld(5, n_entries)
    texts = [row[row != PAD][1:-1].tolist() for row in rows]
    params = unflatten(good.astype(np.float32), DICTIONARY.fresh)
    losses = DICTIONARY.model()["measured"](good, rows)
    assert abs(DICTIONARY.hand_in.figure(losses, right) - mean_loss(params, texts)) < 1e-5


@pytest.fixture(scope="module")
def solutions(tmp_path_factory):
    folder = tmp_path_factory.mktemp("solutions")
    with zipfile.ZipFile(io.BytesIO(zipped_solutions())) as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture
def graded(solutions):
    """graded(asked, raw) -> the result of a file of weights."""

    def graded(asked, raw, hand_in=None):
        measuring = partial(run, bundle=solutions, limits=PATIENT)
        return grade_weights(Submission(weights=File(raw)), 1, hand_in or asked.few, measuring)[0]

    return graded


def cell(*outputs):
    return {"cell_type": "code", "outputs": list(outputs)}


def test_the_output_of_hand_in_is_found_in_any_cell_and_the_last_counts():
    first, second = example.output(b"one file", {}), example.output(b"another", {})
    assert weights_in([cell(first), {"cell_type": "markdown"}, cell({"text": "x"}, second)]).raw == b"another"


def test_html_in_lines_is_joined():
    output = example.output(b"a file", {})
    output["data"]["text/html"] = output["data"]["text/html"].splitlines(keepends=True)
    assert weights_in([cell(output)]).raw == b"a file"


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


FOUND = {
    "10_project": ("of the sounds of 1,000 withheld words are wrong.", "choir: CH", "seed 1, steps 1500"),
    "12_dictionary": ("The loss of 1,000 withheld entries is 3.", "gloamer n: “", "seed 1, steps 12500"),
}


def test_honest_weights_earn_every_tier_on_the_withheld_words(graded, asked):
    result = graded(asked, example.honest(asked.chapter), asked.hand_in)
    assert result.passed and result.earned == result.points == asked.hand_in.points
    assert all(text in found for text, found in zip(FOUND[asked.chapter], result.found, strict=True)), result.found
    assert all(f"{word}: " in result.found[1] for word in asked.hand_in.examples)


@cache
def dishonest(chapter):
    """Return the file of each dishonest student, and whether it counts. They are made here because that takes time."""
    return {student: (raw, counts) for student, _, raw, counts in example.dishonest(chapter)}


@pytest.mark.parametrize("student", DISHONEST)
def test_dishonest_weights_earn_nothing(graded, asked, student):
    raw, counts = dishonest(asked.chapter)[student]
    result = graded(asked, raw)
    assert (result.earned > 0) == counts
    if not counts:
        assert result.verdict.kind == ("error rate" if student == "lazy" else "unusable"), result.verdict


def test_the_dishonest_are_these(asked):
    assert tuple(dishonest(asked.chapter)) == DISHONEST


def test_the_largest_numbers_of_float16_only_earn_nothing(graded, asked):
    good, recipe = asked.honest
    signs = np.where(np.arange(len(good)) % 3, np.float16(65504), np.float16(-65504))
    assert graded(asked, example.saved(signs, recipe)).earned == 0


def test_a_figure_between_two_limits_earns_the_easier_tiers(graded, asked):
    good, recipe = asked.honest
    noisy = good + asked.noise * np.random.default_rng(0).normal(size=len(good)).astype(np.float16)
    result = graded(asked, example.saved(noisy, recipe))
    holding = [aspect.holds for aspect in result.aspects]
    assert 0 < result.earned < result.points and holding == sorted(holding, reverse=True), result.found
    assert result.verdict.message == f"The next points need {asked.hand_in.tiers[sum(holding)].name}."


def test_a_loss_that_is_no_number_earns_nothing(graded, asked):
    no_number = replace(asked.few, figure=lambda measured, right: float("nan"))
    result = graded(asked, example.honest(asked.chapter), no_number)
    assert result.earned == 0 and result.verdict.message == "The weights could not be used by the book's model."


def test_the_words_of_a_course_are_withheld_and_do_not_depend_on_the_file(asked):
    rows, right = asked.hand_in.withheld(5)
    assert len(rows) == len(right) == 1000 and np.array_equal(rows, asked.hand_in.withheld(5)[0])
    assert not np.array_equal(rows, asked.hand_in.withheld(6)[0])


# ------------------------------------------------------------------------------------------------
# The audit


def handed_in(asked, student, weights=None, seed=1):
    recipe = asked.honest[1] | {"seed": seed}
    return HandedIn(student, asked.hand_in.start(recipe).astype(np.float16) if weights is None else weights, recipe)


def test_honest_students_with_seeds_of_their_own_raise_no_suspicion(asked):
    good, _ = asked.honest
    assert (
        list(
            audit.suspicions(
                [handed_in(asked, "a", good), handed_in(asked, "b", seed=5), handed_in(asked, "c", seed=6)],
                asked.hand_in,
            )
        )
        == []
    )


def test_a_copy_is_reported_even_with_noise_and_another_seed(asked):
    good, _ = asked.honest
    noisy = good + 0.01 * np.random.default_rng(0).normal(size=len(good)).astype(np.float16)
    found = list(
        audit.suspicions([handed_in(asked, "anna", good), handed_in(asked, "ben", noisy, seed=5)], asked.hand_in)
    )
    assert re.match(r"ben's weights did not start from the seed 5 \(correlation -?0\.0", found[0])
    assert found[1].startswith("anna and ben handed in models that compute nearly the same (likeness 0.9")
    assert found[1].endswith("Seeds of their recipes: 1 and 5.")


def test_a_file_that_went_around_is_one_sentence(asked):
    good, _ = asked.honest
    group = [handed_in(asked, name, good) for name in ("a", "b", "c", "d")]
    expected = (
        "a, b, c and d handed in models that compute nearly the same (likeness 1.000 or more). Seeds of their recipes: "
        "1."
    )
    assert list(audit.suspicions([*group, handed_in(asked, "e", seed=5)], asked.hand_in)) == [expected]


def test_the_books_weights_are_reported_even_with_noise(asked):
    book = asked.hand_in.book()
    noisy = book + 0.01 * np.random.default_rng(0).normal(size=len(book)).astype(np.float16)
    found = list(audit.suspicions([handed_in(asked, "carl", book), handed_in(asked, "dora", noisy)], asked.hand_in))
    assert found[0] == "carl's weights are the book's, or nearly (likeness 1.000); they earn no points."
    assert found[1].startswith("dora's weights are the book's, or nearly (likeness 0.9")


def test_the_books_weights_earn_nothing_even_with_one_number_changed(graded, asked):
    _, recipe = asked.honest
    changed = asked.hand_in.book().copy()
    changed[0] += 0.01
    result = graded(asked, example.saved(changed, recipe))
    assert result.earned == 0 and result.verdict.message.startswith("These are the book's own weights, or nearly.")


def test_a_disguise_changes_the_weights_and_not_the_answers(asked):
    good, _ = asked.honest
    other = disguised(good, asked.fresh)
    matrices = audit.is_in_matrix(asked.hand_in.expected)
    assert audit.correlation(good[matrices], other[matrices]) < 0.5
    rows, right = asked.hand_in.withheld(5, 50)
    first, second = (asked.hand_in.figure(asked.model()["measured"](weights, rows), right) for weights in (good, other))
    assert abs(first - second) < 0.005


def test_a_disguised_copy_is_reported_even_with_noise(asked):
    good, _ = asked.honest
    noisy = disguised(good, asked.fresh) + 0.01 * np.random.default_rng(0).normal(size=len(good)).astype(np.float16)
    found = list(
        audit.suspicions(
            [handed_in(asked, "anna", good), handed_in(asked, "ben", noisy), handed_in(asked, "cleo", seed=5)],
            asked.hand_in,
        )
    )
    assert found[-1].startswith("anna and ben handed in models that compute nearly the same (likeness 0.9")


def test_the_books_weights_in_disguise_are_reported(asked):
    found = audit.suspicions([handed_in(asked, "carl", disguised(asked.hand_in.book(), asked.fresh))], asked.hand_in)
    assert next(found).startswith("carl's weights are the book's, or nearly (likeness 1.000)")


def test_the_books_weights_in_disguise_earn_nothing(graded, asked):
    _, recipe = asked.honest
    result = graded(asked, example.saved(disguised(asked.hand_in.book(), asked.fresh), recipe))
    assert result.earned == 0 and result.verdict.message.startswith("These are the book's own weights, or nearly.")


def test_honest_models_are_far_from_the_limit(asked):
    """`benchmarks/weight_limits.py` compares more of them."""
    rows, _ = asked.hand_in.withheld(0, audit.N_ROWS)
    models = asked.honest[0], asked.hand_in.book(), asked.hand_in.start({"seed": 5}), asked.hand_in.start({"seed": 6})
    columns = [audit.hidden_columns(weights, asked.hand_in, rows) for weights in models]
    alike = [audit.likeness(one, other) for one, other in permutations(columns, 2)]
    assert max(alike) < asked.hand_in.copy - 0.15


def test_columns_that_overflow_are_like_no_others(asked):
    rows, _ = asked.hand_in.withheld(0, audit.N_ROWS)
    largest = np.full(len(asked.honest[0]), 65504, np.float16)
    columns = audit.hidden_columns(largest, asked.hand_in, rows)
    assert np.isfinite(columns).all() and audit.likeness(columns, columns) <= 1


def test_constant_weights_are_no_error(asked):
    good, _ = asked.honest
    constant = np.zeros_like(good)
    assert [line[:4] for line in audit.suspicions([handed_in(asked, "eve", constant)], asked.hand_in)] == ["eve'"]


def test_the_seed_draws_a_share_that_a_new_student_hardly_changes(asked):
    good, _ = asked.honest
    group = [handed_in(asked, f"s{n}", good, seed=n) for n in range(40)]
    names = [one.student for one in audit.drawn(group, 0.05, 1, asked.chapter)]
    assert len(names) == 2 and names != [one.student for one in audit.drawn(group, 0.05, 2, asked.chapter)]
    more = [*group, handed_in(asked, "new", good, seed=40)]
    later = [one.student for one in audit.drawn(more, 0.05, 1, asked.chapter)]
    assert set(names) <= set(later)
    assert audit.drawn(group, 0, 1, asked.chapter) == []


def test_students_who_name_the_same_seed_are_drawn_first(asked):
    good, _ = asked.honest
    group = [handed_in(asked, f"s{n}", good, seed=100 + n) for n in range(38)]
    same = [handed_in(asked, name, good, seed=5) for name in ("anna", "ben")]
    assert {one.student for one in audit.drawn([*group, *same], 0.05, 1, asked.chapter)} == {"anna", "ben"}
    assert {one.student for one in audit.drawn([*same, *group], 0.05, 2, asked.chapter)} == {"anna", "ben"}


@pytest.mark.parametrize(
    "asked, many_steps",
    [
        (PROJECT, {"steps": 100_000, "tokens": 1}),
        (PROJECT, {"steps": 100_000, "tokens": 60}),
        (DICTIONARY, {"steps": 200_000, "size": 1}),
    ],
)
def test_a_recipe_of_many_short_steps_is_too_long_to_run_again(asked, many_steps):
    """A step takes time however few tokens it has, and chapter 10's run keeps a whole model every 20 steps."""
    assert asked.hand_in.work(asked.honest[1] | many_steps) > LONGEST


@pytest.mark.thorough("it trains three models")
def test_a_recipe_is_trained_again_and_compared(asked):
    good, recipe = asked.honest
    short = recipe | {"steps": 20}
    honest = HandedIn("honest", asked.hand_in.retrained(short).astype(np.float16), short)
    other = HandedIn("other", good, recipe | {"steps": 20, "seed": 5})
    first, second = audit.rerun([honest, other], asked.chapter, jobs=2)
    assert (first.student, second.student) == ("honest", "other")
    assert first.alike > 0.99 and abs(first.way - 1) < 0.01 and first.agrees(asked.hand_in)
    assert second.alike < 0.1 and not second.agrees(asked.hand_in)


def test_a_longer_run_than_the_recipe_says_does_not_agree(asked):
    assert not audit.Rerun("longer", alike=0.99, way=1.1).agrees(asked.hand_in)


def test_what_a_notebook_packs_is_what_grading_reads(asked):
    _, recipe = asked.honest
    start = asked.hand_in.start(recipe)
    raw = pack(unflatten(start, asked.fresh), recipe, asked.hand_in.expected)
    assert np.array_equal(unpack(raw, asked.hand_in.expected)[0], start.astype(np.float16))
