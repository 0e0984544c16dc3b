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


def test_the_benchmark_of_the_classes_counts_a_worker_that_outlives_its_command():
    worker = "import time\nwhile time.process_time() < 1: pass"
    command = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {worker!r}])"
    benchmark = f"""
import subprocess, sys
from benchmarks import classes
classes.adopt_orphans()
before = classes.processor_seconds()
subprocess.run([sys.executable, "-c", {command!r}], capture_output=True)  # until the pipe closes: the worker has it
print(classes.processor_seconds() - before)
"""
    ran = subprocess.run([sys.executable, "-c", benchmark], capture_output=True, text=True, check=True)
    assert float(ran.stdout) >= 1
