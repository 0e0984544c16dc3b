"""The benchmarks run with the code as it is now."""

import subprocess
import sys
from collections import Counter

import pytest

from tests.patience import PATIENT

pytestmark = pytest.mark.grading


def test_the_benchmark_of_a_class_times_functions_that_exist_and_restores_them():
    from benchmarks import thousand

    functions = [getattr(owner, name) for _, owner, name in thousand.PARTS]
    with thousand.timed(Counter()):
        assert all(getattr(owner, name) not in functions for _, owner, name in thousand.PARTS)
    assert [getattr(owner, name) for _, owner, name in thousand.PARTS] == functions


@pytest.mark.sandbox
def test_the_benchmark_of_the_chapters_times_each_process(tmp_path):
    from autograder.sandbox import Call, Cell, process, submission
    from benchmarks import chapters

    with chapters.timed_processes() as spent:
        submission.run([Cell("f", "def f():\n    return 1")], [Call("f", {})], bundle=tmp_path, limits=PATIENT)
    assert spent["processes"] == 1 and spent["student"] > 0 and spent["reference"] == 0
    assert submission.Process is process.Process


def test_the_benchmark_of_the_classes_counts_a_process_whose_time_the_kernel_adds_to_no_parent():
    from benchmarks import classes

    before = classes.processor_seconds()
    worker = "import time\nwhile time.process_time() < 1: pass"
    parent = "import signal, subprocess, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN)"
    subprocess.run([sys.executable, "-c", f"{parent}; subprocess.run([sys.executable, '-c', {worker!r}])"], check=True)
    assert classes.processor_seconds() - before > 0.5  # Linux counts in ticks


def test_the_benchmark_of_rounding_finds_a_case_that_one_rounding_decides():
    from autograder.authoring.exercise import find_exercise
    from benchmarks import rounding

    assert rounding.decided_by_rounding(find_exercise("clip_gradients"), 3) == ["single precision"]  # an exact length
    assert rounding.decided_by_rounding(find_exercise("softmax"), 3) == []
