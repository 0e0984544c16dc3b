"""Modules that a chapter does not import: importing one costs nothing, and using one raises an exception."""

import numpy as np
import pytest

from autograder.sandbox import CHAPTER_DISTRIBUTIONS, Call, Cell, interpreter, run
from check import values
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
        cells = [Cell("setup", SETUP), Cell("good", f"import refused_too\n{GOOD}"), Cell("mine", source)]
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
    outcome, cell = imported("import tabulate\nclass C(tabulate.Base):\n    pass\ndef f(x):\n    return C()")
    assert (cell.type, cell.message) == ("ImportError", REFUSED) and outcome.raised.type == "NameError"


def test_a_function_below_the_use_of_a_refused_module_counts(imported):
    outcome, cell = imported("import tabulate\ntabulate.seed(0)\ndef f(x):\n    return 1")
    assert (cell.type, cell.message, outcome.value) == ("ImportError", REFUSED, 1)


MISSING = "except ImportError:\n    tabulate = None\n"
OPTIONAL = {
    "import error": f"try:\n    import tabulate\n{MISSING}",
    "module not found": "try:\n    import tabulate\nexcept ModuleNotFoundError:\n    tabulate = None",
    "one of several": "try:\n    import tabulate\nexcept (ImportError, OSError):\n    tabulate = None",
    "any exception": "try:\n    import tabulate\nexcept Exception as error:\n    tabulate = None",
    "anything": "try:\n    import tabulate\nexcept:\n    tabulate = None",
    "a name from it": f"try:\n    from tabulate import (\n        tabulate\n    )\n{MISSING}",
    "a part of it": f"try:\n    import tabulate.version as tabulate\n{MISSING}",
    "in a condition": f"try:\n    if True:\n        import tabulate\n{MISSING}",
    "with importlib": f"import importlib\ntry:\n    tabulate = importlib.import_module('tabulate')\n{MISSING}",
    "in a handler": f"try:\n    try:\n        1 / 0\n    except ArithmeticError:\n        import tabulate\n{MISSING}",
    "inside a function": (
        "def load():\n    try:\n        import tabulate\n        return tabulate\n    except ImportError:\n"
        "        return None\ntabulate = load()"
    ),
    "after an import in another cell": "try:\n    import refused_too\nexcept ImportError:\n    tabulate = None",
    "after asking": "import importlib.util\nif importlib.util.find_spec('refused_too') is None:\n    tabulate = None",
}


@KINDS
@pytest.mark.parametrize("source", OPTIONAL.values(), ids=OPTIONAL)
def test_an_import_that_may_fail_does(imported, source, kind):
    outcome, cell = imported(f"{source}\ndef f(x):\n    return tabulate is None", kind=kind)
    assert (outcome.value, cell) == (True, None)


MANDATORY = {
    "for other exceptions": "try:\n    import tabulate\nexcept ValueError:\n    pass",
    "without a handler": "try:\n    import tabulate\nfinally:\n    pass",
    "in the handler": "try:\n    1 / 0\nexcept Exception:\n    import tabulate",
    "after the try": "try:\n    pass\nexcept ImportError:\n    pass\nelse:\n    import tabulate",
    "in a function that the try defines": (
        "try:\n    def load():\n        import tabulate\nexcept ImportError:\n    pass\nload()"
    ),
}


@pytest.mark.parametrize("source", MANDATORY.values(), ids=MANDATORY)
def test_an_import_whose_failure_nothing_catches_succeeds(imported, source):
    outcome, cell = imported(f"{source}\ndef f(x):\n    return 1")
    assert (outcome.value, cell) == (1, None)


def test_an_optional_import_fails_with_the_reason(imported):
    source = "def f(x):\n    try:\n        import tabulate\n    except ImportError as error:\n        raise error"
    raised = imported(source)[0].raised
    assert (raised.type, raised.message) == ("ModuleNotFoundError", REFUSED)


SHOWN = {
    "display": "from IPython.display import HTML, Math, display\ndisplay(HTML('x'), Math(r'\\sum'))",
    "an older display": "from IPython.core.display import display, HTML\ndisplay(HTML('<style>...</style>'))",
    "a module": "import IPython\nIPython.display.display(IPython.display.Markdown('**x**'))",
    "a module by another name": "import IPython.display as ipd\nipd.Audio(np.zeros(9), rate=9)\nipd.display(3)",
    "all of it": "from IPython.display import *\nclear_output(wait=True)",
    "a handle": "handle = display('epoch 1', display_id=True)\nhandle.update('epoch 2')",
    "the shell": "get_ipython().run_line_magic('matplotlib', 'inline')\nget_ipython().system('pip list')",
    "the shell, imported": "from IPython import get_ipython\nif get_ipython():\n    get_ipython().magic('time')",
    "a setting": (
        "from IPython.core.interactiveshell import InteractiveShell\nInteractiveShell.ast_node_interactivity = 'all'"
    ),
    "a block": "from IPython.utils.capture import capture_output\nwith capture_output() as out:\n    print(1)",
    "lines of a command": "files = [name for name in get_ipython().getoutput('ls')]",
    "a class of one's own": "from IPython.display import HTML\nclass Box(HTML):\n    pass\nBox()",
    "a type": "from IPython.display import HTML\nassert not isinstance(3, HTML)",
    "a figure": (
        "import IPython\nimport matplotlib.pyplot as plt\nprint(IPython.__version__)\n"
        "plt.ion()\nplt.plot([1])\nplt.show()\nplt.ioff()\nplt.close()\ndisplay(plt.gcf())"
    ),
    "in a try": "try:\n    from IPython.display import Image\nexcept ImportError:\n    1 / 0",
}


@KINDS
@pytest.mark.parametrize("source", SHOWN.values(), ids=SHOWN)
def test_what_only_shows_something_does_nothing(imported, source, kind):
    function = "\n".join(f"    {line}" for line in source.split("\n") if "import *" not in line)
    outcome, cell = imported(f"{source}\ndef f(x):\n{function}\n    return 1", kind=kind)
    assert (outcome.value, cell) == (1, None)


def test_a_value_of_ipython_is_not_an_answer(imported):
    outcome, _ = imported("from IPython.display import HTML\ndef f(x):\n    return HTML('x')")
    assert outcome.value == values.Foreign("inside.silent_ipython._Silent")


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
