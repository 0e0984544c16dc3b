"""Modules that a chapter does not import: importing one costs nothing, and using one raises an exception."""

import numpy as np
import pytest

from autograder.sandbox import CHAPTER_DISTRIBUTIONS, Call, Cell, interpreter, run
from tests.autograder.sandbox.conftest import GOOD, X
from tests.patience import PATIENT

pytestmark = pytest.mark.sandbox
KINDS = pytest.mark.parametrize("kind", ["bwrap", "none"])
# `tabulate` is installed for the grader; neither a chapter nor a package that chapters import needs it.
REFUSED = "tabulate is not allowed in this exercise and earns no points: write it with NumPy"
SETUP = "try:\n    import tabulate\nexcept ModuleNotFoundError:\n    tabulate = None\nin_setup = tabulate\n"


@pytest.fixture
def imported(bundle):
    """imported(source, **options) -> the outcome of `f(x)`, and None or the exception of the cell that defines it."""

    def imported(source, **options):
        cells = [Cell("setup", SETUP), Cell("good", GOOD), Cell("mine", source)]
        result = run(cells, [Call("f", {"x": X})], bundle=bundle, limits=PATIENT, **options)
        return result.outcomes[0], result.cells["mine"]

    return imported


USES = {
    "a function": "import tabulate\ndef f(x):\n    return tabulate.tabulate(x)",
    "a name from it": "from tabulate import tabulate as t\ndef f(x):\n    return t(x)",
    "a part of it": "import tabulate.version as v\ndef f(x):\n    return v.parse(x)",
    "a part of a part": "from tabulate.deep import deeper\ndef f(x):\n    return deeper.deepest(x)",
    "inside a function": "def f(x):\n    import tabulate\n    return tabulate.tabulate(x)",
    "with importlib": "import importlib\nm = importlib.import_module('tabulate')\ndef f(x):\n    return m.tabulate(x)",
    "a number": "import tabulate\ndef f(x):\n    return x * tabulate.tau",
    "a number, the other way round": "import tabulate\ndef f(x):\n    return tabulate.tau - 1",
    "an array": "import tabulate\ndef f(x):\n    return np.exp(tabulate.tau)",
    "a list": "import tabulate\ndef f(x):\n    return [item for item in tabulate.formats]",
    "a dtype": "import tabulate\ndef f(x):\n    return x.astype(tabulate.float64)",
    "a context": "import tabulate\ndef f(x):\n    with tabulate.fast:\n        return x",
}


@KINDS
@pytest.mark.parametrize("source", USES.values(), ids=USES)
def test_using_a_refused_module_raises_an_import_error(imported, source, kind):
    outcome, cell = imported(source, kind=kind)
    assert (outcome.raised.type, outcome.raised.message) == ("ImportError", REFUSED)
    assert cell is None


@KINDS
def test_an_unused_import_costs_nothing(imported, kind):
    source = (
        "import tabulate, tabulate.version\nfrom tabulate import tabulate as t\n"
        "def f(x):\n    return (x, isinstance(x, tabulate.Table))"
    )
    value, is_table = imported(source, kind=kind)[0].value
    np.testing.assert_array_equal(value, X)
    assert is_table is False


def test_a_class_cannot_derive_from_a_class_of_a_refused_module(imported):
    outcome, cell = imported("import tabulate\nclass C(tabulate.Base):\n    pass\ndef f(x):\n    return 1")
    assert (cell.type, cell.message) == ("ImportError", REFUSED) and outcome.raised.type == "NameError"


@KINDS
def test_a_refused_module_is_missing_in_the_setup_cell(imported, kind):
    assert imported("def f(x):\n    return in_setup is None", kind=kind)[0].value is True


def test_without_the_finder_a_refused_module_is_still_missing(imported):
    source = """
import glob, sys

def f(x):
    sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__module__ == "_frozen_importlib_external"
                        or getattr(finder, "__module__", "").startswith("_frozen")]
    sys.modules.pop("tabulate", None)
    traces = [path for path in sys.path for path in glob.glob(f"{path}/tabulate*")]
    try:
        import tabulate
        traces.append(repr(tabulate))
    except ModuleNotFoundError:
        pass
    return traces
"""
    assert imported(source)[0].value == []


@KINDS
def test_packages_can_still_import_what_they_need(imported, kind):
    source = """
import matplotlib.pyplot as plt
import numpy.linalg, numpy.testing, sqlite3, xml.dom

def f(x):
    plt.plot(x[0])
    plt.savefig("drawn.svg")
    plt.close()
    return float(numpy.linalg.norm(x))
"""
    assert imported(source, kind=kind)[0].value == np.linalg.norm(X)


def test_modules_of_the_bundle_can_be_imported(imported):
    source = "from solutions.earlier import halve\nfrom figures import INK\nfrom check import check\n"
    assert imported(f"{source}def f(x):\n    return halve(4), INK")[0].value == (2.0, "black")


def test_further_distributions_can_be_imported(imported):
    source = "import tabulate\ndef f(x):\n    return tabulate.tabulate([[1]])"
    assert imported(source, distributions=(*CHAPTER_DISTRIBUTIONS, "tabulate"))[0].value.strip("- \n") == "1"


def test_the_sandbox_holds_only_the_distributions_that_chapters_need():
    names = set(interpreter.modules(CHAPTER_DISTRIBUTIONS))
    assert {"numpy", "matplotlib", "PIL"} < names
    assert not names & {"torch", "scipy", "nbgrader", "IPython", "solutions", "autograder"}
    assert all(path.exists() for path in interpreter.modules(("torch",)).values())


def test_a_distribution_that_is_not_installed_has_no_files():
    assert interpreter.modules(("no-such-distribution",)) == {}
