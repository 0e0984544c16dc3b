"""Make slips in a function: copies of it with one small change, such as people make by accident.

A slip exchanges an operator or a comparison, leaves out a term, a factor, a sign or a transpose, exchanges the axes -1
and -2 or 0 and 1, changes a number, or uses another variable that has a value of the same kind.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any

import numpy as np

from autograder.authoring.syntax_tree import parsed
from check.calling import value_of

# Node of a syntax tree -> its sign, and the node that a slip puts in its place.
OPERATORS: dict[type, tuple[str, type]] = {
    ast.Add: ("+", ast.Sub),
    ast.Sub: ("-", ast.Add),
    ast.Mult: ("*", ast.Div),
    ast.Div: ("/", ast.Mult),
}
LEFT_OUT: dict[type, str] = {ast.Add: "term", ast.Sub: "term", ast.Mult: "factor", ast.MatMult: "factor"}
COMPARISONS: dict[type, tuple[str, type]] = {
    ast.Lt: ("<", ast.LtE),
    ast.LtE: ("<=", ast.Lt),
    ast.Gt: (">", ast.GtE),
    ast.GtE: (">=", ast.Gt),
    ast.Eq: ("==", ast.NotEq),
    ast.NotEq: ("!=", ast.Eq),
}
AXES = {-1: -2, -2: -1, 0: 1, 1: 0}
TRANSPOSES = ("swapaxes", "transpose")
MODULES = {"np", "math"}
LONGEST = 40  # characters of an expression that a slip may quote
DIVISION, POWER = "a division left out", "a power left out"
VALUES = "__values__"  # name of the dict in which an instrumented function stores its variables

Replacement = tuple[ast.expr, str]  # (new expression, the slip in words)
Kind = str | None  # the kind of a variable's value: slips exchange variables of one kind


@dataclass(frozen=True)
class Slip:
    """A function with one slip.

    change: the line and the new expression, for authors. words: the slip in words for students, who know the names of
        the function's parameters, but not those of its other variables.
    """

    change: str
    words: str
    function: Callable


def slips(function: Callable, inputs: dict[str, Any]) -> Iterator[Slip]:
    """Yield a function with each possible slip, in the order of the source.

    Args:
        function: a function whose source is available. The result is empty for a class, a lambda, a function whose
            default values come from an enclosing function, and one with a while loop, which a slip could make endless.
        inputs: dict of argument name -> value, for a call that shows the values of the function's variables.
    """
    instrumented = _instrumented(function)
    if instrumented is None:
        return
    values: dict[str, Any] = {}
    value_of(_defined(instrumented, function, {VALUES: values}), inputs)
    for change, words, code in _changed_codes(function, tuple((name, _kind(value)) for name, value in values.items())):
        yield Slip(change, words, _defined(code, function))


@lru_cache(maxsize=64)
def _instrumented(function: Callable) -> CodeType | None:
    """The compiled definition of a function that stores its variables; None if it can have no slips."""
    tree = _without_decorators(textwrap.dedent(inspect.getsource(function)))
    definition = tree.body[0]
    if not isinstance(definition, ast.FunctionDef) or any(isinstance(node, ast.While) for node in ast.walk(tree)):
        return None
    code = _compiled(ast.fix_missing_locations(_StoreVariables().visit(tree)))
    try:
        _defined(code, function)
    except NameError:  # a default value that only the enclosing function knows
        return None
    return code


@lru_cache(maxsize=64)  # grading needs the slips of a function again for other cases
def _changed_codes(function: Callable, kinds: tuple[tuple[str, Kind], ...]) -> list[tuple[str, str, CodeType]]:
    """The change, the words and the compiled definition of each slip. kinds: of the function's variables."""
    source = textwrap.dedent(inspect.getsource(function))
    tree = _without_decorators(source)
    parameters = set(inspect.signature(function).parameters)
    lines = source.splitlines()
    codes = []
    for parent, field, i, node in list(_expressions(tree)):
        for new, words in _replacements(node, dict(kinds), parameters):
            _put(parent, field, i, ast.fix_missing_locations(new))
            codes.append((f"{lines[node.lineno - 1].strip()}  ->  {ast.unparse(new)}", words, _compiled(tree)))
            _put(parent, field, i, node)
    return codes


def _replacements(node: ast.expr, kinds: dict[str, Kind], parameters: set[str]) -> Iterator[Replacement]:
    """Yield each expression with which a slip could replace a node, and the slip in words.

    kinds: those of the function's variables. parameters: names of its parameters.
    """
    match node:
        case ast.BinOp(left, op, right):
            if type(op) in OPERATORS:
                sign, opposite = OPERATORS[type(op)]
                yield ast.BinOp(left, opposite(), right), _exchanged(sign, OPERATORS[opposite][0])
            if isinstance(op, ast.MatMult):
                yield ast.BinOp(right, op, left), "the two sides of a matrix product exchanged"
            if type(op) in LEFT_OUT:
                yield right, _left_out(LEFT_OUT[type(op)], left, parameters)
                yield left, _left_out(LEFT_OUT[type(op)], right, parameters)
            elif isinstance(op, ast.Div):
                yield left, f"the division by `{known}` left out" if (known := _known(right, parameters)) else DIVISION
            elif isinstance(op, ast.Pow):
                yield left, f"a power of `{known}` left out" if (known := _known(left, parameters)) else POWER
        case ast.UnaryOp(ast.USub(), ast.Constant(int(value))) if -value in AXES:
            yield ast.Constant(AXES[-value]), f"{AXES[-value]} where {-value} belongs"
        case ast.UnaryOp(ast.USub(), operand):
            yield operand, "a minus sign left out"
        case ast.Compare(left, [compared], right) if type(compared) in COMPARISONS:
            sign, opposite = COMPARISONS[type(compared)]
            yield ast.Compare(left, [opposite()], right), _exchanged(sign, COMPARISONS[opposite][0])
        case ast.Constant(value) if type(value) is int and value in AXES:
            yield ast.Constant(AXES[value]), f"{AXES[value]} where {value} belongs"
        case ast.Constant(value) if type(value) is int:
            yield ast.Constant(value + 1), "a number that is one too large"
        case ast.Constant(value) if type(value) is float:
            yield ast.Constant(2 * value), "a number that is twice what it should be"
        case ast.Attribute(value, "T" | "mT"):
            yield value, "a transpose left out"
        case ast.Call(ast.Attribute(value, name), arguments) if name in TRANSPOSES:
            yield arguments[0] if isinstance(value, ast.Name) and value.id == "np" else value, "a transpose left out"
        case ast.Name(name, ast.Load()) if kinds.get(name):
            for other in kinds:
                if other != name and kinds[other] == kinds[name]:
                    yield ast.Name(other, ast.Load()), _used_instead(other, name, parameters)


def _exchanged(sign: str, other: str) -> str:
    """Describe exchanged signs, without saying which one is right, because right functions need different ones."""
    first, second = sorted([sign, other])
    return f"`{first}` and `{second}` exchanged"


def _left_out(what: str, node: ast.expr, parameters: set[str]) -> str:
    """Describe a missing term or factor. what: "term" or "factor"."""
    known = _known(node, parameters)
    return f"the {what} `{known}` left out" if known else f"a {what} left out"


def _known(node: ast.expr, parameters: set[str]) -> str:
    """The source of a short expression that has no names but the function's parameters; otherwise ""."""
    names = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
    source = ast.unparse(node)
    return source if names & parameters and names <= parameters | MODULES and len(source) <= LONGEST else ""


def _used_instead(other: str, name: str, parameters: set[str]) -> str:
    """Describe one variable used instead of another, without the names of local variables."""
    wrong = f"`{other}`" if other in parameters else "something else"
    right = f"`{name}`" if name in parameters else "something else"
    return "one array in the place of another" if wrong == right else f"{wrong} in a place where {right} belongs"


def _kind(value: Any) -> Kind:
    """What two values must have in common to be interchangeable; None if a value is like no other.

    Two numbers are interchangeable, and so are two arrays with the same number of axes and the same kind of dtype.
    """
    if isinstance(value, np.ndarray):
        return f"{value.ndim} axes of {value.dtype.kind}"
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else None


def _without_decorators(source: str) -> ast.Module:
    """The tree of a function without its decorators, which could register the copy as another mistake."""
    tree = parsed(source)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            node.decorator_list = []
    return tree


class _StoreVariables(ast.NodeTransformer):
    """Make a function store its variables before it returns. Functions inside it do not change."""

    def visit_Module(self, node: ast.Module) -> ast.AST:
        for definition in node.body:
            self.generic_visit(definition)
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        update = ast.Attribute(ast.Name(VALUES, ast.Load()), "update", ast.Load())
        store = ast.Call(update, [ast.Call(ast.Name("locals", ast.Load()), [], [])], [])
        both = ast.Tuple([store, node.value or ast.Constant(None)], ast.Load())
        return ast.Return(ast.Subscript(both, ast.Constant(1), ast.Load()))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node


def _expressions(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.expr]]:
    """Yield (parent, field, index or None, expression) for each expression that a call of the function evaluates."""
    for parent in ast.walk(tree):
        for field, child in ast.iter_fields(parent):
            for i, node in enumerate(child) if isinstance(child, list) else [(None, child)]:
                if isinstance(parent, ast.UnaryOp) and isinstance(node, ast.Constant):
                    continue  # -1 is a single number
                if isinstance(node, ast.expr) and field not in ("annotation", "returns", "decorator_list"):
                    yield parent, field, i, node


def _put(parent: ast.AST, field: str, i: int | None, node: ast.expr) -> None:
    """Put an expression into a field of its parent, or into the field's list at index i."""
    if i is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[i] = node


def _compiled(tree: ast.Module) -> CodeType:
    return compile(tree, "<cell slip>", "exec")


def _defined(code: CodeType, function: Callable, variables: dict[str, Any] | None = None) -> Callable:
    """The function that some code defines. It sees the variables of the original's module, and `variables`."""
    names = getattr(function, "__globals__", {}) | (variables or {})
    exec(code, names)
    changed = names[function.__code__.co_name]
    # The source lacks the values of a family's parameters.
    defaults = getattr(function, "__kwdefaults__", None) or {}
    changed.__kwdefaults__ = defaults | (changed.__kwdefaults__ or {})
    return changed
