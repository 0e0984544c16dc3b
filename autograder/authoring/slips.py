"""Slips that a machine makes in a function: one place of its source changed, as a tired hand would.

An operator exchanged, a term or factor left out, a sign turned, axis -1 and -2 or 0 and 1 exchanged, another number,
a comparison turned, a transpose left out, a name taken for another that holds something of the same kind.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from check.calling import answer

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
HELD = "__held__"

Change = tuple[ast.expr, str]


@dataclass(frozen=True)
class Slip:
    """place: the line and what it was changed to, for authors. words: the kind of slip, without code of the source."""

    place: str
    words: str
    function: Callable


def slips(function: Callable, inputs: dict[str, Any]) -> Iterator[Slip]:
    """Every slip of a function, in the order of its source.

    Args:
        function: any whose source can be read. None is made in a class or in what another function makes, nor where
            it loops until something holds: a slip there may never end.
        inputs: dict of argument name -> value, to see what its names hold.
    """
    source = textwrap.dedent(inspect.getsource(function))
    tree = _parsed(source)
    definition = tree.body[0]
    if not isinstance(definition, ast.FunctionDef) or any(isinstance(node, ast.While) for node in ast.walk(tree)):
        return
    try:
        _compiled(tree, definition.name, function)
    except NameError:  # a default that only the function around it knows
        return
    held = _held(source, definition.name, function, inputs)
    parameters = set(inspect.signature(function).parameters)
    lines = source.splitlines()
    for parent, field, i, node in list(_expressions(tree)):
        for new, words in _changes(node, held, parameters):
            _put(parent, field, i, ast.fix_missing_locations(new))
            changed = _compiled(tree, definition.name, function)
            _put(parent, field, i, node)
            yield Slip(f"{lines[node.lineno - 1].strip()}  ->  {ast.unparse(new)}", words, changed)


def _changes(node: ast.expr, held: dict[str, Any], parameters: set[str]) -> Iterator[Change]:
    """Every expression that one slip makes of a node, and the words for it."""
    match node:
        case ast.BinOp(left, op, right):
            if type(op) in OPERATORS:
                sign, opposite = OPERATORS[type(op)]
                yield ast.BinOp(left, opposite(), right), f"a `{OPERATORS[opposite][0]}` where a `{sign}` belongs"
            if isinstance(op, ast.MatMult):
                yield ast.BinOp(right, op, left), "the two sides of a matrix product exchanged"
            if type(op) in LEFT_OUT:
                yield right, _left_out(LEFT_OUT[type(op)], left, parameters)
                yield left, _left_out(LEFT_OUT[type(op)], right, parameters)
            elif isinstance(op, ast.Div | ast.Pow):
                yield left, "a division left out" if isinstance(op, ast.Div) else "a power left out"
        case ast.UnaryOp(ast.USub(), ast.Constant(int(value))) if -value in AXES:
            yield ast.Constant(AXES[-value]), f"{AXES[-value]} where {-value} belongs"
        case ast.UnaryOp(ast.USub(), operand):
            yield operand, "a minus sign left out"
        case ast.Compare(left, [compared], right) if type(compared) in COMPARISONS:
            sign, turned = COMPARISONS[type(compared)]
            yield ast.Compare(left, [turned()], right), f"a `{COMPARISONS[turned][0]}` where a `{sign}` belongs"
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
        case ast.Name(name, ast.Load()) if name in held:
            for other in held:
                if other != name and _alike(held[other], held[name]):
                    yield ast.Name(other, ast.Load()), _taken_for(other, name, parameters)


def _left_out(what: str, node: ast.expr, parameters: set[str]) -> str:
    if isinstance(node, ast.Name) and node.id in parameters:
        return f"the {what} `{node.id}` left out"
    return f"a {what} left out"


def _taken_for(other: str, name: str, parameters: set[str]) -> str:
    """A function's own names are nobody's business, and mean nothing in another's."""
    here = f"`{other}`" if other in parameters else "something else"
    there = f"`{name}`" if name in parameters else "something else"
    return "one array in the place of another" if here == there else f"{here} in a place where {there} belongs"


def _alike(one: Any, other: Any) -> bool:
    """Whether one could be taken for the other without Python's noticing: arrays of as many axes, two numbers."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.ndim == other.ndim and one.dtype.kind == other.dtype.kind
    return all(isinstance(each, int | float) and not isinstance(each, bool) for each in (one, other))


def _parsed(source: str) -> ast.Module:
    """The tree of a function without what decorates it: to run that again would register it again."""
    tree = ast.parse(source)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            node.decorator_list = []
    return tree


def _held(source: str, name: str, function: Callable, inputs: dict[str, Any]) -> dict[str, Any]:
    """Name -> what it holds when the function returns."""
    held: dict[str, Any] = {}
    telling = ast.fix_missing_locations(_Telling().visit(_parsed(source)))
    answer(_compiled(telling, name, function, {HELD: held}), inputs)
    return held


class _Telling(ast.NodeTransformer):
    """Lets a function write down its names before it returns; what is defined inside it stays as it is."""

    def visit_Module(self, node: ast.Module) -> ast.AST:
        for definition in node.body:
            self.generic_visit(definition)
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        tell = ast.parse(f"{HELD}.update(locals())", mode="eval").body
        both = ast.Tuple([tell, node.value or ast.Constant(None)], ast.Load())
        return ast.Return(ast.Subscript(both, ast.Constant(1), ast.Load()))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node


def _expressions(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.expr]]:
    """(parent, field, index or None, expression) for each expression that is evaluated when the function is called."""
    for parent in ast.walk(tree):
        for field, child in ast.iter_fields(parent):
            for i, node in enumerate(child) if isinstance(child, list) else [(None, child)]:
                if isinstance(parent, ast.UnaryOp) and isinstance(node, ast.Constant):
                    continue  # -1 is one number
                if isinstance(node, ast.expr) and field not in ("annotation", "returns", "decorator_list"):
                    yield parent, field, i, node


def _put(parent: ast.AST, field: str, i: int | None, node: ast.expr) -> None:
    if i is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[i] = node


def _compiled(tree: ast.Module, name: str, function: Callable, more: dict[str, Any] | None = None) -> Callable:
    """The function that a tree defines, among the names of the original's module, and more."""
    names = getattr(function, "__globals__", {}) | (more or {})
    exec(compile(tree, "<cell slip>", "exec"), names)
    return names[name]
