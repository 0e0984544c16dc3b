"""A process that grades keeps the memory that it frees."""

import platform
import subprocess
import sys

import pytest

pytestmark = pytest.mark.autograder

FAULTS = """
import resource
import numpy as np
{}
def used():
    return [np.ones(10_000) for _ in range(20)] and resource.getrusage(resource.RUSAGE_SELF).ru_minflt
used()
print(-used() + used())
"""


def faults(preparation):
    """Return how often using 1.6 MB a second time needed memory from the kernel."""
    command = [sys.executable, "-c", FAULTS.format(preparation)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries do not need this")
def test_grading_uses_freed_memory_again():
    assert faults("") > 100
    assert faults("import autograder.grading.judging") < 10
