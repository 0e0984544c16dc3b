"""A small bundle, a good submission, and a check that nothing is left behind."""

from dataclasses import replace

import numpy as np
import pytest

from autograder.sandbox import Call, Cell, run
from tests.leftovers import held
from tests.patience import PATIENT

GOOD = """\
import numpy as np

def good(x):
    return 2 * x
"""
X = np.arange(6.0).reshape(2, 3)
# For code that never ends: short, so that the tests are.
QUICK = replace(PATIENT, call_seconds=2.0, cell_seconds=3.0, patience=0.3)


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
    """submit(source, *names): run `source` and a good cell; call each function, without inputs but for `good`."""

    def submit(source, *names, limits=PATIENT, kind="bwrap"):
        before = held()
        cells = [Cell("good", GOOD), Cell("mine", source)]
        calls = [Call(name, {"x": X} if name == "good" else {}) for name in names]
        done = run(cells, calls, bundle=bundle, limits=limits, kind=kind)
        assert held() <= before, "a process or a descriptor was left"
        return done

    return submit


@pytest.fixture
def ask(submit):
    """ask(source, name): what the one function came to, after which `good` must be as good as ever."""

    def ask(source, name, **options):
        done = submit(source, name, "good", **options)
        np.testing.assert_array_equal(done.outcomes[1].value, 2 * X)
        return done.outcomes[0]

    return ask
