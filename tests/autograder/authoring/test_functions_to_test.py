"""The functions on which the grader tries a student's test come in an order that gives none of them away."""

from collections import Counter

from autograder.authoring.exercise import Draw, find_exercise
from autograder.authoring.functions_to_test import REFERENCE, functions_to_test
from check.verdicts_of_test import AGAIN

RIGHT = (REFERENCE, "with_var", "by_einsum")
WRONG = ("not_centred", "without_gain", "bias_first", "unbiased")


def names(seed):
    cases = functions_to_test(Draw(seed), find_exercise("layer_norm"), right=RIGHT, wrong=WRONG, at_home=())
    return [name for name, _ in cases]


def test_the_first_function_is_right_as_often_as_it_is_any_wrong_one():
    """Of nine functions three are right and two come again, so in an order by chance the first would often be right."""
    drawn = (names(seed)[0].removesuffix(AGAIN) for seed in range(500))
    first = Counter("right" if name.startswith("a right") else name for name in drawn)
    assert len(first) == 1 + len(WRONG)
    assert all(60 < count < 140 for count in first.values()), first


def test_every_function_comes_and_a_repeated_one_after_itself():
    for seed in range(20):
        drawn = names(seed)
        again = [name for name in drawn if name.endswith(AGAIN)]
        assert (len(drawn), len(set(drawn)), len(again)) == (9, 9, 2)
        assert all(drawn.index(name.removesuffix(AGAIN)) < drawn.index(name) for name in again)
