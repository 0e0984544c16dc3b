"""The functions on which the grader tries a student's test come in an order that gives none of them away."""

from collections import Counter

from autograder.authoring.exercise import Draw, find_exercise
from autograder.authoring.functions_to_test import REFERENCE, functions_to_test

RIGHT = (REFERENCE, "with_var", "by_einsum")
WRONG = ("not_centred", "without_gain", "bias_first", "unbiased")


def names(seed):
    cases = functions_to_test(Draw(seed), find_exercise("layer_norm"), right=RIGHT, wrong=WRONG, at_home=())
    return [name for name, _ in cases]


def test_the_first_function_is_right_as_often_as_it_is_any_wrong_one():
    """Three of seven functions are right, so in an order by chance the first one would often be right."""
    drawn = (names(seed)[0] for seed in range(500))
    first = Counter("right" if name.startswith("a right") else name for name in drawn)
    assert len(first) == 1 + len(WRONG)
    assert all(60 < count < 140 for count in first.values()), first


def test_every_function_comes_once_in_an_order_of_each_key():
    orders = [names(seed) for seed in range(9)]
    assert {frozenset(order) for order in orders} == {frozenset(orders[0])} and len(set(map(tuple, orders))) == 9
    assert len(orders[0]) == len(set(orders[0])) == len(RIGHT) + len(WRONG)
