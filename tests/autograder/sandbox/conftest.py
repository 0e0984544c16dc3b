"""Fixtures: a small bundle, and runs of a submission that check that nothing stays behind."""

from dataclasses import replace

import numpy as np
import pytest

from autograder.sandbox import Call, Cell, run
from tests.leftovers import open_resources
from tests.patience import PATIENT

GOOD = """\
import numpy as np

def good(x):
    return 2 * x
"""
X = np.arange(6.0).reshape(2, 3)
# For code that computes without end. The wall clock, which also stops what a busy machine slows down, is far away.
SHORT = replace(PATIENT, call_seconds=2.0, cell_seconds=3.0, patience=0.3, wall_factor=200.0)


@pytest.fixture(scope="session")
def bundle(tmp_path_factory):
    folder = tmp_path_factory.mktemp("course") / "01_first"
    (folder / "solutions").mkdir(parents=True)
    (folder / "solutions" / "earlier.py").write_text("def halve(x):\n    return x / 2\n")
    (folder / "check" / "keys").mkdir(parents=True)
    (folder / "check" / "keys" / "softmax.npz").touch()
    (folder / "figures.py").write_text("INK = 'black'\n")
    (folder / "poem.txt").write_text("shipped with the chapter")
    return folder


@pytest.fixture
def submit(bundle):
    """submit(source, *names) -> the Run of a good cell and of `source`, with calls of the named functions.

    Only `good` gets an input.
    """

    def submit(source, *names, limits=PATIENT, kind="bwrap"):
        before = open_resources()
        cells = [Cell("good", GOOD), Cell("mine", source)]
        calls = [Call(name, {"x": X} if name == "good" else {}) for name in names]
        result = run(cells, calls, bundle=bundle, limits=limits, kind=kind)
        assert open_resources() <= before, "the run left a process or a descriptor open"
        return result

    return submit


@pytest.fixture
def ask(submit):
    """ask(source, name) -> the outcome of one function; a later call of `good` must still work."""

    def ask(source, name, **options):
        result = submit(source, name, "good", **options)
        np.testing.assert_array_equal(result.outcomes[1].value, 2 * X)
        return result.outcomes[0]

    return ask
