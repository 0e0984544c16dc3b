"""Make blind tests from the reference of an exercise that asks for a test. None of them may pass.

Each blind test is the reference with one change that makes it see less: it draws ones, tries one of its shapes or
situations, compares in float64 only, accepts any exception, or leaves out a comparison.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from copy import deepcopy

from autograder.authoring.exercise import Exercise

Change = Callable[[ast.AST], None]

# Exercise -> parts of variants that are not blind: moments and directions need not be random, and a function that
# writes into the arguments also changes the values with which the rest of the test compares.
SIGHTED = {"tests_train_step": ("`rng.normal", "flatten(copies)")}


def blind_tests(exercise: Exercise) -> Iterator[tuple[str, Callable]]:
    """Yield (what it does, test) for each blind variant of the reference of an exercise that asks for a test."""
    source = textwrap.dedent(inspect.getsource(exercise.reference))
    tree = ast.parse(source)
    places = list(ast.walk(tree))
    for i, node in enumerate(places):
        for words, change in _changes(node):
            if any(part in words for part in SIGHTED.get(exercise.name, ())):
                continue
            blind = deepcopy(tree)
            change(list(ast.walk(blind))[i])
            yield words, _function(blind, exercise.reference)
    if "np.float32" in source:
        yield (
            "that tries float64 only",
            _function(ast.parse(source.replace("np.float32", "np.float64")), exercise.reference),
        )


def _function(tree: ast.Module, reference: Callable) -> Callable:
    names = dict(reference.__globals__)  # type: ignore[attr-defined]
    exec(compile(ast.fix_missing_locations(tree), "<blind test>", "exec"), names)
    return names[reference.__name__]


def _changes(node: ast.AST) -> Iterator[tuple[str, Change]]:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="rng"), attr="normal")):
            yield f"that has ones instead of `{ast.unparse(node)}`", _draw_ones
        case ast.For(iter=ast.Tuple(elts=[_, _, *_] as items)):
            for i, item in enumerate(items):
                yield f"that tries {ast.unparse(item)} only", _keep_one(i)
        case ast.ExceptHandler(type=ast.Name()):
            yield "that accepts any exception", _catch_all
        case ast.If(test=test, body=[ast.Return(value=ast.Constant(value=False))], orelse=[]):
            yield f"without `{ast.unparse(test)}`", _never
        case ast.BoolOp(values=parts):
            for i, part in enumerate(parts):
                if ".shape" not in ast.unparse(part):  # a wrong shape also fails a comparison of values
                    yield f"without `{ast.unparse(part)}`", _leave_out(i)
        case ast.Assert(test=test):
            yield f"without `{ast.unparse(test)}`", _always


def _draw_ones(node: ast.AST) -> None:
    assert isinstance(node, ast.Call)
    (size,) = node.keywords
    node.func, node.args, node.keywords = ast.parse("np.ones", mode="eval").body, [size.value], []


def _keep_one(i: int) -> Change:
    def keep(node: ast.AST) -> None:
        assert isinstance(node, ast.For) and isinstance(node.iter, ast.Tuple)
        node.iter.elts = [node.iter.elts[i]]

    return keep


def _leave_out(i: int) -> Change:
    def leave_out(node: ast.AST) -> None:
        assert isinstance(node, ast.BoolOp)
        del node.values[i]
        node.values *= 2 if len(node.values) == 1 else 1  # `and` needs two

    return leave_out


def _catch_all(node: ast.AST) -> None:
    assert isinstance(node, ast.ExceptHandler)
    node.type = ast.Name("Exception", ast.Load())


def _never(node: ast.AST) -> None:
    assert isinstance(node, ast.If)
    node.test = ast.Constant(False)


def _always(node: ast.AST) -> None:
    assert isinstance(node, ast.Assert)
    node.test = ast.Constant(True)
