"""The benchmarks run with the code as it is now."""

import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

pytestmark = pytest.mark.grading


def test_the_benchmark_of_a_class_times_functions_that_exist_and_restores_them():
    from benchmarks import thousand

    functions = [getattr(owner, name) for _, owner, name in thousand.PARTS]
    with thousand.timed(Counter()):
        assert all(getattr(owner, name) not in functions for _, owner, name in thousand.PARTS)
    assert [getattr(owner, name) for _, owner, name in thousand.PARTS] == functions


def test_the_benchmark_of_the_classes_counts_a_process_whose_time_the_kernel_adds_to_no_parent():
    from benchmarks import classes

    before = classes.processor_seconds()
    worker = "import time\nwhile time.process_time() < 1: pass"
    parent = "import signal, subprocess, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN)"
    subprocess.run([sys.executable, "-c", f"{parent}; subprocess.run([sys.executable, '-c', {worker!r}])"], check=True)
    assert classes.processor_seconds() - before > 0.5  # Linux counts in ticks


def test_the_benchmark_of_rounding_finds_a_case_that_one_rounding_decides():
    from autograder.authoring.exercise import Exercise, find_exercise
    from benchmarks import rounding

    exercise = Exercise(above_one, outputs={"above": "n"}, section="Above one")

    @exercise.cases("everything", points=1)
    def _(draw):
        yield "few digits left", {"x": 1 + 1e-9 * draw.normal(3)}
        yield "whole numbers", {"x": np.array([3.0, 5.0])}

    assert rounding.decided_by_rounding(exercise, 3) == ["few digits left"]
    assert rounding.decided_by_rounding(find_exercise("softmax"), 3) == []


def above_one(x):
    """Return how much the numbers exceed 1."""
    return x - 1


@pytest.mark.parametrize("order", ["from the end", "rounded once"])
def test_a_reference_in_another_order_rounds_otherwise(order):
    from autograder.authoring.exercise import find_exercise
    from benchmarks.reordering import reordered_reference

    exercise = find_exercise("attention")
    queries, keys, values = np.random.default_rng(1).normal(size=(3, 40, 40))
    expected, _ = exercise.reference(queries, keys, values)
    output, _ = reordered_reference(exercise, order)(queries, keys, values)
    np.testing.assert_allclose(output, expected, rtol=1e-9)
    assert (output != expected).any()
    assert exercise.reference is sys.modules["solutions.attention"].attention


def test_no_key_asks_what_an_optimiser_makes_of_a_gradient_of_zero():
    """With this key the key bias, whose gradient is rounding noise, cost a right answer two points."""
    from autograder.authoring.exercise import find_exercise
    from benchmarks import rounding

    assert rounding.decided_by_rounding(find_exercise("continue_run"), 14) == []


def test_the_benchmark_of_the_models_compares_the_same_steps():
    from benchmarks import model

    sizes = {"vocab": 30, "d_model": 8, "d_ff": 12, "n_layers": 2, "n_heads": 4, "n_groups": 2}
    batches = [model.definer.padded(np.random.default_rng(0).integers(2, 30, (3, n)).tolist()) for n in (4, 7)]
    ours, theirs = (make(sizes, batches) for make in (model.numpy_definer, model.torch_definer))
    for _ in range(5):
        assert abs(ours() - theirs()) < 2e-5
