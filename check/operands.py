"""Find the values in the expression that raised an exception, named as its author wrote them."""

import ast
import inspect
import linecache
import sys
from collections.abc import Callable, Iterator
from inspect import Parameter
from itertools import islice, takewhile
from types import FrameType, FunctionType, MethodType, TracebackType
from typing import Any, NamedTuple

import numpy as np

from check.words import count

# Evaluating these again has no effect; anything else, such as a call, is left alone.
_HARMLESS = (ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.Slice, ast.UnaryOp, ast.USub, ast.Load)
NUMBER = "is a single number"
TAKES = "takes `"  # followed by the parameters of a function
DEFINITION = "def"
NEEDED = "is needed"
ANY = "takes any name"


class Operand(NamedTuple):
    """A value of an expression. shape: None unless it is an array. words: what it is, for a sentence."""

    source: str
    shape: tuple[int, ...] | None
    words: str


class Place(NamedTuple):
    """An expression that was being evaluated when an exception was raised.

    function: the name of the given function in which it stands; "" in a cell. operation: "@", or what it calls. If
    `check` could not call the answer, it is DEFINITION, and the operands are the answer's parameters.
    """

    function: str
    operation: str
    operands: tuple[Operand, ...]


Places = tuple[Place, ...]


def places_of(in_cell: TracebackType) -> Places:
    """Return the expression in a cell's line, and the one in the innermost given function that it was calling.

    If several given functions were running, the parameters of the outermost replace the cell's expression. We leave out
    the results of calls and operations, because we would have to evaluate them again.
    """
    try:
        given = list(takewhile(_is_given, _steps(in_cell.tb_next)))
        places = [_place(in_cell, only_arrays=bool(given)), *(_place(step) for step in given[-1:])]
        if len(given) > 1:
            places[0] = _called(given[0].tb_frame)
    except Exception:  # the student's code decides what a name is and what its attributes do
        return ()
    return tuple(place for place in places if place.operands)


def _steps(step: TracebackType | None) -> Iterator[TracebackType]:
    while step:
        yield step
        step = step.tb_next


def _is_given(step: TracebackType) -> bool:
    return str(step.tb_frame.f_globals.get("__name__")).startswith("solutions.")


def _called(frame: FrameType) -> Place:
    """The arrays and tuples among the parameters of a running function."""
    names = frame.f_code.co_varnames[: frame.f_code.co_argcount]
    operands = (Operand(name, *_shape_and_words(frame.f_locals.get(name))) for name in names)
    return Place(_name(frame), "", tuple(filter(_may_be_meant, operands)))


def _place(step: TracebackType, only_arrays: bool = False) -> Place:
    """The expression that was evaluated there. only_arrays: leave out all but arrays and tuples."""
    frame = step.tb_frame
    expression = _expression(step)
    values = {ast.unparse(part): _value(part, frame) for part in _parts(expression, frame, step.tb_lineno)}
    operands = (Operand(source, *_shape_and_words(value)) for source, value in values.items())
    function = _name(frame) if _is_given(step) else ""
    return Place(function, _operation(expression), tuple(filter(_may_be_meant if only_arrays else _is_known, operands)))


def _name(frame: FrameType) -> str:
    return frame.f_code.co_qualname.split(".")[0]


def _may_be_meant(operand: Operand) -> bool:
    return operand.shape is not None or operand.words.startswith("is a tuple")


def _is_known(operand: Operand) -> bool:
    return bool(operand.words)


def _expression(step: TracebackType) -> ast.expr:
    """The expression that was evaluated there. Raises SyntaxError if Python does not say where in the source it is."""
    code = step.tb_frame.f_code
    first, last, start, end = next(islice(code.co_positions(), step.tb_lasti // 2, None))
    lines = [linecache.getline(code.co_filename, number).encode() for number in range(first or 1, (last or 0) + 1)]
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][start:]
    return ast.parse(f"({b''.join(lines).decode()})", mode="eval").body


def _operation(expression: ast.expr) -> str:
    if isinstance(expression, ast.BinOp):
        return "@" * isinstance(expression.op, ast.MatMult)
    return ast.unparse(expression.func) if isinstance(expression, ast.Call) else ""


def _parts(expression: ast.expr, frame: FrameType, line: int) -> list[ast.expr]:
    """The operands of an operation, or the arguments of a call, also those in a list."""
    if isinstance(expression, ast.BinOp | ast.Compare):
        return [
            expression.left,
            *(expression.comparators if isinstance(expression, ast.Compare) else [expression.right]),
        ]
    if isinstance(expression, ast.Subscript):
        return [expression.value, expression.slice]
    if isinstance(expression, ast.Attribute):
        return [expression.value]
    if isinstance(expression, ast.Tuple):  # the names on the left of an assignment
        (statement,) = ast.parse(linecache.getline(frame.f_code.co_filename, line).strip()).body
        return [_without_shape(statement.value)] if isinstance(statement, ast.Assign) else []
    if not isinstance(expression, ast.Call):
        return []
    method = [expression.func, *([expression.func.value] if isinstance(expression.func, ast.Attribute) else [])]
    arguments = [*expression.args, *(keyword.value for keyword in expression.keywords)]
    parts = [part.elts if isinstance(part, ast.Tuple | ast.List) else [part] for part in arguments]
    return [*method, *(item for items in parts for item in items)]


def _without_shape(expression: ast.expr) -> ast.expr:
    """`x` for `x.shape`."""
    if isinstance(expression, ast.Attribute) and expression.attr == "shape":
        return expression.value
    return expression


def _value(part: ast.expr, frame: FrameType) -> Any:
    """The value of a harmless expression in a frame; "" for any other expression."""
    nodes = list(ast.walk(part))
    if not all(isinstance(node, _HARMLESS) for node in nodes) or not any(isinstance(node, ast.Name) for node in nodes):
        return ""
    return eval(compile(ast.Expression(part), "<operand>", "eval"), frame.f_globals, frame.f_locals)  # noqa: S307


def _shape_and_words(value: Any) -> tuple[tuple[int, ...] | None, str]:
    """The shape of an array, and what a value is; the words are empty if it is of no interest."""
    if type(value) is np.ndarray:
        return value.shape, f"has shape {value.shape}"
    if value is None:
        return None, "is None"
    if type(value) is dict:
        names = [f"`{name}`" for name in value if type(name) is str]
        return (
            None,
            f"is a dict with {', '.join(names[:8])}{', ...' if len(names) > 8 else ''}" if names else "is a dict",
        )
    if isinstance(value, FunctionType | MethodType | type):
        parameters = _definition(value)
        return None, f"{TAKES}{parameters}`" if parameters else ""
    if isinstance(value, tuple | list):
        return None, f"is a {'tuple' if isinstance(value, tuple) else 'list'} with {count(len(value), 'item')}"
    return None, NUMBER if isinstance(value, int | float | np.number) and type(value) is not bool else ""


def definition_of(answer: Callable | None) -> Places:
    """The parameters of an answer that could not be called; none unless it has a `def` line or is a lambda."""
    if not isinstance(answer, FunctionType):
        return ()
    try:
        parameters = inspect.signature(answer, follow_wrapped=False).parameters.values()
    except Exception:  # the student's code decides what its `__signature__` is
        return ()
    return (Place("", DEFINITION, tuple(Operand(p.name, None, _need(p)) for p in parameters)),)


def _need(parameter: Parameter) -> str:
    if _takes_several(parameter):
        return ANY if parameter.kind == Parameter.VAR_KEYWORD else ""
    return NEEDED if parameter.default is Parameter.empty else ""


def _definition(function: Callable) -> str:
    """Return the parameters of a function as its `def` line has them; "" for a function of NumPy or of Python."""
    if str(function.__module__).partition(".")[0] in ("numpy", *sys.stdlib_module_names):
        return ""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # Python does not know them
        return ""
    if all(map(_takes_several, parameters)):  # this function may only pass its arguments on
        return ""
    plain = [p.replace(annotation=Parameter.empty, default=_short(p.default)) for p in parameters]
    return str(inspect.Signature(plain))


def _takes_several(parameter: Parameter) -> bool:
    return parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


class _Left:
    """A default that a sentence leaves out."""

    def __repr__(self) -> str:
        return "..."


def _short(default: Any) -> Any:
    return default if default is Parameter.empty or type(default) in (int, float, bool, type(None)) else _Left()
