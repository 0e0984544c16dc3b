"""The order of some runs by a predicted number, and the settings that decide. Given code, not an exercise."""

from itertools import pairwise


def order_and_reasons(predict, runs):
    """Order runs by a number, and name the setting that decides for each pair of neighbours.

    Args:
        predict: takes the settings of a run, a dict, and returns a number.
        runs: list of such dicts, all with the same names.

    Returns:
        order: list of indices of `runs`, from the smallest number to the largest.
        reasons: list of names of settings, one for each pair of neighbours in the order: if the first of the two
            takes this setting from the second, its number comes closest to the second's.
    """
    order = sorted(range(len(runs)), key=lambda i: predict(runs[i]))
    return order, [_decisive(predict, runs[first], runs[second]) for first, second in pairwise(order)]


def _decisive(predict, first, second):
    goal = predict(second)
    return min(first, key=lambda name: abs(predict(first | {name: second[name]}) - goal))
