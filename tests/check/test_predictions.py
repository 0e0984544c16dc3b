"""A predicted order of runs is judged by runs that were made."""

from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import pytest

from autograder.authoring.exercise import Draw, Exercise
from autograder.authoring.make_key import make_key
from autograder.authoring.runs_to_order import OUTPUTS, UNSEEN, both_orders, runs_to_order
from check.checking import tried
from check.key import load, save
from check.measures import Malformed
from check.measuring import outcomes_of
from check.predictions import ORDER, in_words, predicted, right
from check.scoring import grade, points_for_share
from solutions.predictions import order_and_reasons

RUNS = [{"height": h, "width": w} for h, w in ((3, 1), (2, 10), (1, 1), (9, 9))]  # areas 3, 20, 1 and 81


def areas(runs, seed):
    return [float(run["height"] * run["width"]) for run in runs]


def predicted_areas(runs):
    return order_and_reasons(lambda run: run["height"] * run["width"], runs)


def heights_alone(runs):
    """It orders by the height, and a wider run may be larger."""
    return order_and_reasons(lambda run: run["height"] + run["width"] / 1000, runs)


class Unshuffled:
    """A Draw whose permutations leave everything in place."""

    def __init__(self):
        self.rng = self

    def permutation(self, n):
        return np.arange(n)

    def integers(self, n):
        return 0


@pytest.fixture(scope="module")
def exercise():
    exercise = Exercise(predicted_areas, outputs=OUTPUTS, section="Areas", measure=ORDER, unseen=UNSEEN)
    for name, reasons in (("order", False), ("reasons", True)):

        @exercise.cases(name, points=1)
        def _(draw, reasons=reasons):
            yield "four runs", next(runs_to_order(Unshuffled(), areas, [RUNS], reasons=reasons))

    exercise.mistake("orders by the height")(heights_alone)
    return exercise


@pytest.fixture(scope="module")
def key(exercise):
    return make_key(exercise, 1)


def returns(order, reasons):
    return lambda runs: (order, reasons)


RIGHT = [2, 0, 1, 3], ["height", "width", "height"]


@pytest.mark.parametrize(
    "answer",
    [RIGHT, (np.array(RIGHT[0]), tuple(RIGHT[1])), list(RIGHT), (list(np.array(RIGHT[0])), list(np.array(RIGHT[1])))],
)
def test_right_predictions_pass_in_any_form(key, answer):
    assert grade(key, outcomes_of(lambda runs: answer, key)).passed


def test_the_runs_decide_and_not_the_reference(key):
    order, reasons, *_ = key.cases[1].expected.value
    assert order.tolist() == RIGHT[0] and reasons.tolist() == [0, 1, 0]
    assert key.cases[0].expected.value[1] is None


@pytest.mark.parametrize(
    ("order", "reasons", "expected"),
    [
        (
            [2, 1, 0, 3],
            RIGHT[1],
            "Run 1 comes before run 0 in your order. The runs were made: run 1 gives 20, and run 0 gives 3.",
        ),
        (
            RIGHT[0],
            ["height", "height", "height"],
            "Your order is right: run 0 gives 3 and run 1 gives 20. But run 0 with the `height` of run 1 gives 2, and "
            "another setting brings it closer.",
        ),
        (
            RIGHT[0],
            ["width", "width", "height"],
            "Your order is right: run 2 gives 1 and run 0 gives 3. But both have the same `width`, so it cannot be the "
            "reason.",
        ),
        ([2, 0, 1], RIGHT[1], "`order` should hold each of the indices 0 to 3 once."),
        ([1, 0, 2, 2], RIGHT[1], "`order` should hold each of the indices 0 to 3 once."),
        ([1.0, 0, 2, 3], RIGHT[1], "`order` should hold each of the indices 0 to 3 once."),
        ([[1], [0, 2], 3], RIGHT[1], "`order` should hold each of the indices 0 to 3 once."),
        ([True, False, 2, 3], RIGHT[1], "`order` should hold each of the indices 0 to 3 once."),
        (np.array(1), RIGHT[1], "`order` should hold each of the indices 0 to 3 once."),
        (None, RIGHT[1], "`order` should hold each of the indices 0 to 3 once."),
        (RIGHT[0], ["height"], "`reasons` should be a list of 3 names, one for each pair of neighbours in your order."),
        (
            RIGHT[0],
            np.array(RIGHT[1]),
            "`reasons` should be a list of 3 names, one for each pair of neighbours in your order.",
        ),
        (RIGHT[0], None, "`reasons` should be a list of 3 names, one for each pair of neighbours in your order."),
        (
            RIGHT[0],
            ["height", "depth", "width"],
            "Each of `reasons` should be the name of a setting: 'height', 'width'.",
        ),
        (RIGHT[0], [0, 1, 0], "Each of `reasons` should be the name of a setting: 'height', 'width'."),
    ],
)
def test_a_wrong_prediction_gets_a_sentence(key, order, reasons, expected):
    assert grade(key, outcomes_of(returns(order, reasons), key)).verdict.message == expected


@pytest.mark.parametrize("answer", [None, [2, 0, 1, 3], (1, 2, 3)])
def test_an_answer_without_two_parts_gets_a_sentence(key, answer):
    result = grade(key, outcomes_of(lambda runs: answer, key))
    assert result.verdict.message == "The result should be an order and its reasons: end with `return order, reasons`."


def test_a_right_order_with_wrong_reasons_earns_the_order(key):
    assert grade(key, outcomes_of(returns(RIGHT[0], ["height"] * 3), key)).earned == 1


@pytest.mark.parametrize(
    ("share", "earned"), [(0, 0), (0.5, 0), (2 / 3, 0), (0.74, 0), (0.75, 0.5), (5 / 6, 1), (11 / 12, 1.5), (1, 2)]
)
def test_points_begin_above_two_thirds_and_only_everything_earns_all(share, earned):
    assert points_for_share(2, share) == earned
    assert points_for_share(2, 1 - 1e-6) == 1.5


@pytest.mark.parametrize(
    ("order", "reasons", "earned"),
    [
        (RIGHT[0], RIGHT[1], [1, 1]),
        ([0, 2, 1, 3], RIGHT[1], [0.5, 0]),  # five of six pairs; one of three reasons is about neighbours
        (RIGHT[0], ["height", "width", "width"], [1, 0]),  # two of three reasons
        ([0, 2, 3, 1], RIGHT[1], [0, 0]),
        ([0, 0, 0, 0], RIGHT[1], [0, 0]),
    ],
)
def test_points_grow_with_the_share_that_is_right(key, order, reasons, earned):
    result = grade(key, outcomes_of(returns(order, reasons), key))
    assert [aspect.earned for aspect in result.aspects] == earned
    assert result.passed == (earned == [1, 1])


@pytest.mark.parametrize(
    ("order", "reasons", "expected"),
    [
        ([0, 2, 1, 3], RIGHT[1], "5 of 6 pairs are in the right order."),
        (RIGHT[0], ["height", "width", "width"], "2 of 3 reasons are right."),
    ],
)
def test_in_grading_a_sentence_says_how_many_are_right_and_not_which(key, order, reasons, expected):
    outcomes = outcomes_of(returns(order, reasons), key)
    hidden = [replace(outcome, quoted=False) for outcome in outcomes]
    assert grade(key, hidden).verdict.message == expected
    assert grade(key, outcomes).verdict.message.startswith(("Run ", "Your order"))


@pytest.mark.parametrize("n", [4, 5, 9, 14])
def test_no_right_order_is_its_own_inverse(n):
    draw = Draw(0)
    for _ in range(200):
        made = draw.rng.permutation(n).astype(float)
        for order in both_orders(draw, made):
            right_order = np.argsort(made[order])
            ranks = np.argsort(right_order)
            assert sorted(order) == list(range(n)) and ranks.tolist() != right_order.tolist()


@pytest.mark.parametrize("n", [2, 3])
def test_a_list_of_which_every_right_order_may_be_its_own_inverse_is_refused(n):
    with pytest.raises(ValueError, match="ask for four or more"):
        both_orders(Draw(0), np.arange(n))


def test_the_second_list_is_the_first_one_backwards():
    first, second = runs_to_order(Draw(0), areas, [RUNS], reasons=True)
    assert first["runs"] == second["runs"][::-1] and first["made"].tolist() == second["made"][::-1].tolist()
    assert np.array_equal(first["moved"], second["moved"][::-1, ::-1])


def test_a_rule_that_finds_all_runs_equal_has_half_of_the_pairs_right():
    asked = {"moved": np.zeros(0), "asks": ["order alone"]}
    for order in both_orders(Draw(0), MADE):
        assert sum(predicted(given, RUNS, MADE, **asked)[2][0] for given in (order, order[::-1])) == 4  # of 4, twice


def test_a_mistake_is_named(key):
    result = grade(key, outcomes_of(heights_alone, key))
    assert result.mistakes == (key.mistakes["heights_alone"],) and not result.remarks


def test_at_home_the_results_of_the_runs_stay_hidden(key):
    text = tried(returns(RIGHT[0][::-1], RIGHT[1]), key).text
    assert "runs = [{'height': 3, 'width': 1}" in text
    assert "made = " not in text and "moved = " not in text and "asks" not in text


def test_a_key_is_kept(key, tmp_path):
    save(key, tmp_path / "key.npz")
    stored = load(tmp_path / "key.npz")
    assert stored.digest == key.digest
    assert grade(stored, outcomes_of(predicted_areas, stored)).passed


MADE = np.array([[1.0, 2.0], [1.5, 2.5], [2.2, 3.0], [5.0, 6.0]])  # runs 0 and 1 overlap, and runs 1 and 2


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [1, 0, 2, 3], [0, 2, 1, 3]])
def test_runs_that_the_seeds_do_not_distinguish_are_right_in_any_order(order):
    asked = {"moved": np.zeros(0), "asks": ["order alone"]}
    expected, *_ = right(MADE, **asked)
    found, reasons, counts, sentence = predicted(np.array(order), RUNS, MADE, **asked)
    assert (found.tolist(), reasons, counts, sentence) == (expected.tolist(), None, (4, 4), "")


@pytest.mark.parametrize(
    ("order", "runs"),
    [([2, 0, 1, 3], (2, 0)), ([2, 1, 0, 3], (2, 0)), ([0, 3, 1, 2], (3, 1)), ([3, 2, 1, 0], (3, 1))],
)
def test_a_pair_that_contradicts_every_seed_is_wrong_wherever_it_stands(order, runs):
    asked = {"moved": np.zeros(0), "asks": ["order alone"]}
    found, _, (n_right, n_judged), sentence = predicted(order, RUNS, MADE, **asked)
    assert n_right < n_judged == 4
    assert found.tolist() != right(MADE, **asked)[0].tolist()
    first, second = runs
    assert order.index(first) < order.index(second)
    assert sentence.startswith(f"Run {first} comes before run {second} in your order. The runs were made: run {first}")
    assert sentence.endswith(" with 2 seeds.")


def test_every_order_is_judged_by_its_pairs_alone():
    asked = {"moved": np.zeros(0), "asks": ["order alone"]}
    for order in permutations(range(4)):
        wrong = any(MADE[a].min() > MADE[b].max() for a, b in combinations(order, 2))
        _, _, (n_right, n_judged), sentence = predicted(list(order), RUNS, MADE, **asked)
        assert bool(sentence) == (n_right < n_judged) == wrong


FITTING = np.array([[True, False], [True, True], [False, False]])
ASKS = ["names", "tall", "wide"]


@pytest.mark.parametrize("answer", [[["tall"], ["wide", "tall"], []], (("tall", "tall"), ("tall", "wide"), ())])
def test_names_are_right_in_any_order(answer):
    fits, reasons, counts, sentence = predicted(answer, [{}] * 3, FITTING, np.zeros(0), ASKS)
    assert np.array_equal(fits, right(FITTING, np.zeros(0), ASKS)[0])
    assert (reasons, counts, sentence) == (None, (3, 3), "")


def test_the_first_wrong_names_are_told_and_a_share_is_right():
    fits, reasons, counts, sentence = predicted([["tall"], ["wide"], ["wide"]], [{}] * 3, FITTING, np.zeros(0), ASKS)
    assert (counts, sentence) == ((1, 3), "You expect for number 1 of the list: wide. We tried it: tall, wide.")
    assert in_words(fits, reasons, counts) == "1 of 3 answers are right."


@pytest.mark.parametrize(
    "answer", [None, [], [["tall"], ["wide"]], ["tall", "wide", ""], [["long"], [], []], [[1], [], []]]
)
def test_other_names_are_malformed(answer):
    with pytest.raises(Malformed, match="list"):
        predicted(answer, [{}] * 3, FITTING, np.zeros(0), ASKS)
