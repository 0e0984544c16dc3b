"""Attacks on the comparison: they change the comparing code, or return a value that is equal to everything."""

from tests.attacks.attack import Attack

ZEROS = "def attempt(*args, **kwargs):\n    return np.zeros(3)\n"

FORGING = (
    Attack(
        "patches NumPy's comparisons",
        "np.allclose = np.array_equal = np.isclose = np.equal = lambda *args, **kwargs: True\n"
        "np.testing.assert_allclose = np.testing.assert_array_equal = lambda *args, **kwargs: None\n" + ZEROS,
        stock=True,
    ),
    Attack(
        "patches `check`, the judge and the comparing code where it runs",
        """
import sys
import check as package
from check import calling, checking, comparing, faults, scoring

package.check = checking.check = check = lambda function: None
comparing.difference = faults.difference = lambda *args, **kwargs: None
faults.faults = scoring.faults = lambda *args, **kwargs: iter(())
scoring.judge = lambda *args, **kwargs: scoring.Verdict(True)
calling.run = lambda function, inputs: calling.Outcome(value=inputs)
for module in list(sys.modules.values()):
    for name in ("judge", "grade", "difference", "determine_grade", "run"):
        if hasattr(module, name) and not name.startswith("__"):
            setattr(module, name, lambda *args, **kwargs: None)
"""
        + ZEROS,
    ),
    Attack(
        "returns an object that is equal to everything",
        """
class Yes:
    shape, dtype, ndim, size = (), np.dtype(float), 0, 1
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __contains__ = lambda self, *other: True
    __float__ = __len__ = __abs__ = lambda self: 1
    __sub__ = __rsub__ = __add__ = __mul__ = __getitem__ = __getattr__ = lambda self, other: self
    __hash__ = None
    all = any = item = lambda self, *args: True


def attempt(*args, **kwargs):
    return Yes()
""",
        "Yes where",
    ),
    Attack(
        "returns an array that overrides NumPy's functions",
        """
class Yes(np.ndarray):
    __eq__ = lambda self, other: np.True_
    __array_ufunc__ = lambda self, ufunc, method, *inputs, **options: np.True_
    __array_function__ = lambda self, function, types, args, kwargs: True
    __array_priority__ = 1e9


def attempt(*args, **kwargs):
    return np.zeros(3).view(Yes)
""",
        "Yes where",
        stock=True,
    ),
    Attack(
        "returns objects that turn into another array each time",
        """
class Lazy:
    def __array__(self, dtype=None, copy=None):
        return np.random.default_rng().normal(size=(2, 3))
    __array_interface__ = property(lambda self: {"shape": (3,), "typestr": "<f8", "version": 3, "data": (8, True)})
    __len__ = lambda self: 10**9
    __getitem__ = lambda self, index: 0.5


def attempt(*args, **kwargs):
    return Lazy()
""",
        "Lazy where",
    ),
    Attack(
        "returns its own subclasses of lists, dicts and numbers",
        """
class Items(list):
    def __iter__(self):
        while True:
            yield 1.0
    __len__ = lambda self: 2
    __eq__ = lambda self, other: True

class Map(dict):
    __iter__ = keys = lambda self: iter(["queries", "keys"])
    __getitem__ = get = lambda self, *key: Yes(1)
    __eq__ = lambda self, other: True

class Yes(float):
    __eq__ = lambda self, other: True
    __hash__ = float.__hash__

class Number(np.float64):
    __eq__ = lambda self, other: True
    __hash__ = float.__hash__

kinds = iter([Items([1.0]), (Yes(1),), Number(1), {Yes(1): 1}, [Yes(1), Map()]] * 100)


def attempt(*args, **kwargs):
    return Map() if "n_words" in kwargs else next(kinds)
""",
    ),
    Attack(
        "returns values that never end",
        """
import itertools
endless = []
endless.append(endless)
kinds = itertools.cycle([itertools.count(), iter(int, 1), map(str, itertools.repeat(1)), range(2**62), endless])


def attempt(*args, **kwargs):
    return next(kinds)
""",
    ),
    Attack(
        "returns NaN, infinity, huge integers and numbers of odd kinds",
        """
import decimal, fractions, itertools
odd = [np.nan, float("nan"), np.inf, -0.0, 10**4000, 2**63, -(2**63) - 1, True, 1j, np.complex128(1), "1.0", b"1.0",
       np.float16(1), np.longdouble(1), decimal.Decimal("NaN"), fractions.Fraction(1, 3), np.datetime64("NaT"), None,
       np.array(np.nan), np.full((2, 3), np.nan), np.array([None]), np.array(["nan"]), np.ma.masked, ...]
odd = itertools.cycle(odd)


def attempt(*args, **kwargs):
    value = next(odd)
    return (value, value, value) if "n_words" in kwargs else value
""",
    ),
    Attack(
        "returns NaN in the right shape",
        """
def attempt(queries=None, keys=None, values=None, x=None, w_value=None, **others):
    if x is not None:
        return np.full((*x.shape[:-1], w_value.shape[-1]), np.nan, x.dtype), None
    if values is None:
        return np.full((*queries.shape[:-1], keys.shape[-2]), np.nan, queries.dtype)
    return np.full((*queries.shape[:-1], values.shape[-1]), np.nan, queries.dtype), None
""",
        "NaN",
    ),
    Attack(
        "removes the test from the tree that IPython compiles",
        """
import ast

class NoTests(ast.NodeTransformer):
    visit_Assert = lambda self, node: ast.Pass()

"""
        + ZEROS
        + "get_ipython().ast_transformers.append(NoTests())\n",
        stock=True,
    ),
    Attack(
        "rewrites every cell's text before it runs",
        ZEROS + "get_ipython().input_transformers_post.append("
        "lambda lines: [line for line in lines if 'assert' not in line])\n",
        stock=True,
    ),
    Attack(
        "replaces `run_cell` and hides every traceback",
        ZEROS
        + """
import functools

shell = get_ipython()
run = shell.run_cell_async

@functools.wraps(run)
async def nothing(source, *args, **kwargs):
    return await run("pass", *args, **kwargs | {"transformed_cell": "pass"})

shell.run_cell_async = nothing
shell.showtraceback = shell._showtraceback = lambda *args, **kwargs: None
""",
        stock=True,
    ),
    Attack(
        "hooks imports, exceptions, exits, audits and the collector",
        """
import atexit, builtins, gc, importlib.abc, sys, threading, warnings, weakref

class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if "scoring" in name or "comparing" in name:
            raise ImportError(name)

sys.meta_path.insert(0, Finder())
sys.excepthook = sys.unraisablehook = threading.excepthook = sys.displayhook = lambda *args: None
sys.addaudithook(lambda event, args: None)
gc.callbacks.append(lambda phase, info: None)
warnings.showwarning = lambda *args, **kwargs: None
atexit.register(lambda: print("22.0"))
weakref.finalize(sys.modules["__main__"], print, "22.0")
builtins.AssertionError = type("AssertionError", (BaseException,), {})
real = builtins.__import__, builtins.compile
builtins.__import__ = lambda name, *args: sys.modules["math"] if "scoring" in name else real[0](name, *args)
builtins.compile = lambda source, *args, **kwargs: real[1]("0" if "check" in str(source) else source, *args, **kwargs)
"""
        + ZEROS,
    ),
    Attack(
        "traces the code that calls it, and changes its local values",
        """
import ctypes, sys, threading

def look(frame, event, argument):
    for name in ("outcome", "verdict", "value", "tree", "passed", "earned"):
        if name in frame.f_locals and frame.f_code.co_name != "attempt":
            frame.f_locals[name] = True
            ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))
    return look

def attempt(*args, **kwargs):
    sys.settrace(look)
    threading.settrace(look)
    frame = sys._getframe()
    while frame:
        frame.f_trace, frame = look, frame.f_back
    return np.zeros(3)
""",
    ),
    Attack(
        "walks the frames and the collector's objects to the expected values",
        """
import gc, sys

def attempt(*args, **kwargs):
    values = []
    frame = sys._getframe()
    while frame:
        for names in (frame.f_locals, frame.f_globals):
            values += [names[name] for name in ("expected", "solution", "reference", "key") if name in names]
        frame = frame.f_back
    for thing in gc.get_objects():
        if type(thing).__name__ in ("Key", "Case", "Verdict", "Result", "Exercise", "Report", "Assignment"):
            values.append(thing)
    if not values:
        raise RuntimeError("found 0 expected values")
    return values[0]
""",
        "found 0 expected values",
        stock=True,
    ),
    Attack(
        "answers with what the public key expects of inputs of that shape",
        """
from pathlib import Path
from check.key import load

keys = {path.stem: load(path) for path in Path(check.__code__.co_filename).with_name("keys").glob("*.npz")}
keys_by_inputs = {frozenset(key.cases[0].inputs): key for key in keys.values()}

def attempt(**inputs):
    shapes = {name: np.shape(value) for name, value in inputs.items()}
    for case in keys_by_inputs[frozenset(inputs)].cases:
        if {name: np.shape(value) for name, value in case.inputs.items()} == shapes:
            return case.expected.value
    return keys_by_inputs[frozenset(inputs)].cases[0].expected.value
""",
    ),
    Attack(
        "is right when `check` or a notebook calls it, and wrong elsewhere",
        """
import os, sys

def watched():
    frame, names = sys._getframe(), set()
    while frame:
        names.add(frame.f_code.co_name)
        frame = frame.f_back
    return "check" in names or "IPython" in sys.modules or "JPY_PARENT_PID" in os.environ

def attempt(queries=None, keys=None, values=None, **others):
    if not watched():
        return np.zeros(3)
    weights = softmax(queries @ np.swapaxes(keys, -1, -2) / np.sqrt(queries.shape[-1]))
    return weights if values is None else (weights @ values, None)
""",
    ),
    Attack(
        "is right the first time, and wrong afterwards",
        """
calls = [0]

def attempt(queries=None, keys=None, values=None, **others):
    calls[0] += 1
    if calls[0] > 1:
        return np.zeros(3)
    return softmax(queries @ np.swapaxes(keys, -1, -2) / np.sqrt(queries.shape[-1]))
""",
    ),
)
