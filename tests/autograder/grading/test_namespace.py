"""Which names cells read and bind, and which of a student's own cells nothing depends on."""

import pytest

from autograder.grading.namespace import Names, experiments, names_in
from autograder.sandbox import Cell

pytestmark = pytest.mark.grading
EXERCISES = (
    Cell("setup", "import numpy as np"),
    Cell("softmax", "TABLE = {}\ndef softmax(x):\n    return helper(np.exp(x), TABLE)"),
)


def names(read="", bound="", variables="", inner=""):
    """inner: the names that are defined, but not in the notebook's namespace."""
    return Names(*(frozenset(words.split()) for words in (read, bound, variables, f"{bound} {inner}")))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f(a, b=c):\n    d = a.e\n    return [g(i) for i in d]  # h", names("c g", "f", inner="a b d i")),
        ("import numpy as np, os.path\nfrom math import pi", names("", "np os pi")),
        ("x = y = 1\nfor i in x:\n    z, *w = i", names("x i", "x y i z w", "x y i z w")),
        ("def f():\n    global count\n    count = 1", names("", "f count", "count")),
        ("await f()\nclass A(B):\n    x = y", names("f B y", "A", inner="x")),
        ("a.b = 1\nc[d] = 2", names("a c d")),
        ("def f(:", names()),
    ],
)
def test_names(source, expected):
    assert names_in(source) == expected


@pytest.mark.parametrize(
    ("own", "apart"),
    [
        (["losses = []\nfor step in range(9):\n    losses.append(softmax(step))\nplt.plot(losses)"], {"0"}),
        (["def helper(x, table):\n    return x"], set()),
        (["def helper(x, table):\n    return second(x)", "second = np.abs", "third = np.abs"], {"2"}),
        (["def helper(x, table):\n    return second(x)", "second = np.abs", "third = second"], set()),
        (["TABLE[1] = 2"], set()),
        (["fill(TABLE)"], set()),
        (["import numpy.linalg as np"], set()),
        (["def softmax(x):\n    return x"], set()),
        (["globals()['helper'] = abs"], set()),
        (["softmax(3"], {"0"}),
    ],
)
def test_cells_that_nothing_depends_on(own, apart):
    cells = [Cell(str(n), source, own=True) for n, source in enumerate(own)]
    assert experiments([*EXERCISES, *cells], ["softmax"]) == apart
