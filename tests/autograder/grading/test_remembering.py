"""A student's test that knows nothing, and judges a function by those that it saw before, earns next to nothing."""

from collections import defaultdict
from copy import deepcopy
from functools import cache, partial

import numpy as np
import pytest

from autograder.authoring.exercise import exercises_of
from autograder.authoring.make_key import make_questions
from autograder.grading.judging import calls_of, judge_exercise
from autograder.layout import chapter_names
from check.calling import Outcome, run
from check.values import pack
from tests.choosing import thinned

TESTS = {each.name: (chapter, each) for chapter in chapter_names() for each in exercises_of(chapter) if each.tests}
# Once most files earned something from remembering in these. In others, right functions differ by their rounding.
QUICK = ["tests_softmax_backward", "tests_embed_backward"]


def accepts_the_first(values, seen):
    return values == [*seen, values][0]


def accepts_the_second(values, seen):
    different = list(dict.fromkeys([*seen, values]))
    return len(different) > 1 and values == different[1]


def accepts_all_until_one_comes_again(values, seen):
    """Then it accepts only functions with the values that came again first."""
    return values == next((repeated for i, repeated in enumerate(seen) if repeated in seen[:i]), values)


def accepts_all_but_the_first_until_one_comes_again(values, seen):
    return bool(seen) and accepts_all_until_one_comes_again(values, seen)


def accepts_the_first_until_one_comes_again(values, seen):
    return accepts_all_until_one_comes_again(values, seen) and (
        len({*seen}) < len(seen) or values == [*seen, values][0]
    )


def accepts_what_comes_again(values, seen):
    return values in seen


REMEMBERING = [
    accepts_the_first,
    accepts_the_second,
    accepts_all_until_one_comes_again,
    accepts_all_but_the_first_until_one_comes_again,
    accepts_the_first_until_one_comes_again,
    accepts_what_comes_again,
]


@pytest.mark.parametrize("verdict", REMEMBERING)
@pytest.mark.parametrize("name", thinned(TESTS, QUICK, "another exercise"))
def test_at_most_one_of_20_files_that_differ_in_a_comment_earns_something(name, verdict):
    shown = cache(partial(what_it_does, TESTS[name][1].tests))
    lucky = [seed for seed in range(20) if earned(name, seed, verdict, shown)]
    assert len(lucky) < 2, lucky


def earned(name, seed, verdict, shown):
    """Return the points of a test that judges a function by its values and those of the functions before it."""
    chapter, exercise = TESTS[name]
    key = make_questions(exercise, seed)
    outcomes, memory = [], defaultdict(list)
    for call in calls_of(chapter, {name: key}):
        values, seen = shown(call.inputs["function"]), memory[call.group]
        outcomes.append(Outcome(value=verdict(values, seen)))
        seen.append(values)
    return judge_exercise(key, outcomes).earned


def what_it_does(exercise, function):
    """Return, as text, what a function does with a few inputs: its rounded outcomes, and the inputs afterwards."""
    inputs = [deepcopy(case.inputs) for case in make_questions(exercise, 1).cases[:6]]
    outcomes = [run(function, arguments) for arguments in inputs]
    tree, arrays = pack([[(each.value, each.raised and each.raised.type) for each in outcomes], inputs])
    return f"{tree} {[(array.dtype, (np.round(array, 6) + 0).tolist()) for array in arrays]}"
