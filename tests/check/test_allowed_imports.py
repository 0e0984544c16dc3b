"""A function that computes with a package that its exercise does not allow: the package is named."""

import math
import sys
import types

import numpy as np
import pytest

from autograder.authoring.exercise import exercises_of
from autograder.layout import chapter_names
from check import checking as module
from check.allowed_imports import foreign, is_allowed
from check.checking import CheckFailed, check

pytestmark = pytest.mark.autograder


@pytest.fixture
def notebook(monkeypatch):
    """notebook(source) -> the names of a notebook in which a package called `fastmath` can be imported."""
    package = types.ModuleType("fastmath")
    exec(compile("def softmax(x):\n    return x", "/site-packages/fastmath/special.py", "exec"), vars(package))
    package.softmax.__module__ = "fastmath.special"
    package.expit = np.frompyfunc(math.exp, 1, 1)
    package.Tensor = type("Tensor", (), {"__module__": "fastmath.core"})
    vars(package)[package.expit.__name__] = package.expit
    monkeypatch.setitem(sys.modules, "fastmath", package)

    def notebook(source):
        names = {"__name__": "__main__", "np": np}
        exec(source, names)
        return names

    return notebook


FOREIGN = {
    "a module": "import fastmath\ndef f(x):\n    return fastmath.softmax(x)",
    "a module by another name": "import fastmath as fm\ndef f(x):\n    return fm.softmax(x)",
    "a function": "from fastmath import softmax as sm\ndef f(x):\n    return sm(x)",
    "a ufunc": "from fastmath import expit\ndef f(x):\n    return expit(x)",
    "a type": "from fastmath import Tensor\ndef f(x):\n    return Tensor()",
    "an object": "from fastmath import Tensor\nkept = Tensor()\ndef f(x):\n    return kept",
    "an import inside": "def f(x):\n    import fastmath\n    return fastmath.softmax(x)",
    "an import inside, of a part": "def f(x):\n    from fastmath.special import softmax\n    return softmax(x)",
    "a helper": "import fastmath\ndef g(x):\n    return fastmath.softmax(x)\ndef f(x):\n    return g(x)",
    "an inner function": "import fastmath\ndef f(x):\n    return [fastmath.softmax(row) for row in x]",
    "what it encloses": "import fastmath\ndef outer(m):\n    return lambda x: m.softmax(x)\nf = outer(fastmath)",
    "the function itself": "from fastmath import softmax as f",
}


@pytest.mark.parametrize("source", FOREIGN.values(), ids=FOREIGN)
def test_the_package_that_a_function_computes_with_is_named(notebook, source):
    assert foreign(notebook(source)["f"]) == ["fastmath"]


HARMLESS = {
    "numpy": "def f(x):\n    return np.linalg.norm(x)",
    "python's own": "import math\nfrom functools import reduce\ndef f(x):\n    return math.exp(reduce(max, x))",
    "an import that nothing needs": "import fastmath\ndef f(x):\n    return np.exp(x)",
    "another function's": "import fastmath\ndef g(x):\n    return fastmath.softmax(x)\ndef f(x):\n    return np.exp(x)",
    "an attribute of that name": "import fastmath as linalg\ndef f(x):\n    return np.linalg.norm(x)",
    "a local of that name": "import fastmath\ndef f(x):\n    fastmath = x\n    return fastmath",
    "itself": "def f(x):\n    return f(x[1:]) if len(x) else x",
    "a class of one's own": "class Rows(list):\n    pass\ndef f(x):\n    return Rows(x)",
    "what is not defined": "def f(x):\n    return nowhere(x)",
    "drawing": "import matplotlib.pyplot as plt\ndef f(x):\n    plt.plot(x)",
    "showing": "def f(x):\n    from IPython.display import display\n    display(x)",
}


@pytest.mark.parametrize("source", HARMLESS.values(), ids=HARMLESS)
def test_no_other_package_is_named(notebook, source):
    assert foreign(notebook(source)["f"]) == []


def test_a_function_of_pytorch_belongs_to_pytorch():
    torch = pytest.importorskip("torch")
    assert foreign(torch.softmax) == foreign(torch.nn.functional.softmax) == ["torch"]


def test_check_names_the_package_and_gives_no_points(notebook, key, monkeypatch, capsys):
    monkeypatch.setattr(module, "public_key", lambda name: key)
    names = notebook("import fastmath\ndef normalised(x):\n    fastmath\n    return x / x.sum(-1, keepdims=True), x")
    with pytest.raises(CheckFailed, match="0 of 4 points"):
        check(names["normalised"])
    message = "raised ImportError: fastmath is not allowed in this exercise and earns no points"
    assert message in capsys.readouterr().out


@pytest.mark.parametrize("chapter", chapter_names())
def test_no_right_answer_uses_a_forbidden_package(chapter):
    for exercise in exercises_of(chapter):
        if not isinstance(exercise.reference, type):
            for function in (exercise.reference, *exercise.equivalents.values()):
                assert foreign(function) == [], function


def test_our_own_modules_are_recognised():
    assert all(map(is_allowed, ("numpy", "numpy.linalg", "os.path", "solutions.attention", "check", "__future__")))
    assert not any(map(is_allowed, ("torch", "torch.nn", "scipy", "nump", "")))
