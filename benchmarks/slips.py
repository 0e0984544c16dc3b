"""What the judge says of small slips that nobody has written down: each reference, changed in one place by a machine.

    python benchmarks/slips.py [--chapter 01_attention] [--unexplained]

The slips: an operator exchanged (+ and -, * and /, the sides of @); a term or factor left out; a sign turned; axis -1
and -2, or 0 and 1, exchanged; a number doubled, or another index; a comparison turned; a transpose left out; a name
replaced by another parameter or variable of the function. Each is graded with the public key. Nothing is asserted.
"""

import argparse
import ast
import copy
import inspect
import signal
import textwrap
from collections import Counter

from tabulate import tabulate

from autograder.authoring.exercise import exercises_of
from autograder.authoring.make_key import PUBLIC_SEED, make_key
from autograder.check.calling import run
from autograder.check.judge import grade
from autograder.house import chapter_names

OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
COMPARISONS = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
AXES = {-1: -2, -2: -1, 0: 1, 1: 0}
TRANSPOSES = ("swapaxes", "transpose")
KINDS = ("named", "related", "told by its kind", "wrong values", "accepted")


def changes(node, names):
    """Every expression that one slip makes of a node."""
    match node:
        case ast.BinOp(left, op, right):
            if type(op) in OPERATORS:
                yield ast.BinOp(left, OPERATORS[type(op)](), right)
                yield left
                yield right
            if isinstance(op, ast.MatMult):
                yield ast.BinOp(right, op, left)
        case ast.UnaryOp(ast.USub(), ast.Constant(int(value))) if -value in AXES:
            yield ast.Constant(AXES[-value])
        case ast.UnaryOp(ast.USub(), operand):
            yield operand
        case ast.Compare(left, [op], right) if type(op) in COMPARISONS:
            yield ast.Compare(left, [COMPARISONS[type(op)]()], right)
        case ast.Constant(value) if type(value) is int:
            yield ast.Constant(AXES.get(value, value + 1))
        case ast.Constant(value) if type(value) is float:
            yield ast.Constant(2 * value)
        case ast.Attribute(value, "T" | "mT"):
            yield value
        case ast.Call(ast.Attribute(value, name), arguments) if name in TRANSPOSES:
            yield arguments[0] if isinstance(value, ast.Name) and value.id == "np" else value
        case ast.Name(name, ast.Load()) if name in names:
            yield from (ast.Name(other, ast.Load()) for other in names if other != name)


def slips(function):
    """(the line and what it was changed to, the changed function), one for each place and slip."""
    source = textwrap.dedent(inspect.getsource(function))
    tree = ast.parse(source)
    stored = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    names = list(dict.fromkeys([*inspect.signature(function).parameters, *stored]))
    lines = source.splitlines()
    for parent, field, i, node in list(expressions(tree)):
        for new in changes(node, names):
            put(parent, field, i, new)
            changed = ast.fix_missing_locations(copy.deepcopy(tree))
            put(parent, field, i, node)
            yield f"{lines[node.lineno - 1].strip()}  ->  {ast.unparse(new)}", compiled(changed, function)


def expressions(tree):
    """(parent, field, index or None, expression) for each expression that is evaluated when the function is called."""
    for parent in ast.walk(tree):
        for field, child in ast.iter_fields(parent):
            for i, node in enumerate(child) if isinstance(child, list) else [(None, child)]:
                if isinstance(node, ast.expr) and field not in ("annotation", "returns", "decorator_list"):
                    yield parent, field, i, node


def put(parent, field, i, node):
    """Set one child of a node of the tree."""
    if i is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[i] = node


def compiled(tree, function):
    """The function that a tree defines, among the names of the original's module."""
    names = dict(function.__globals__)
    exec(compile(tree, "<cell slip>", "exec"), names)
    return names[function.__name__]


def came_to(key, function):
    """Which of KINDS a changed function comes to; in grading one that does not end is stopped, and told so."""

    def too_long(*_):
        raise TimeoutError

    signal.signal(signal.SIGALRM, too_long)
    signal.setitimer(signal.ITIMER_REAL, 20)
    try:
        result = grade(key, [run(function, case.inputs) for case in key.cases])
    except TimeoutError:
        return "told by its kind"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    if result.passed:
        return "accepted"
    if result.mistakes:
        return "named"
    if result.verdict.kind not in ("value", "nan"):
        return "told by its kind"
    unrelated = result.verdict.message.endswith(("entry).", "should be.", "]."))
    return "wrong values" if unrelated else "related"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chapter", choices=chapter_names(), help="one chapter only")
    parser.add_argument("--unexplained", action="store_true", help="list what is accepted, or wrong without a reason")
    options = parser.parse_args()
    rows = []
    for chapter in [options.chapter] if options.chapter else chapter_names():
        counted = Counter()
        for exercise in exercises_of(chapter):
            if isinstance(exercise.reference, type):
                continue  # a PyTorch module
            key = make_key(exercise, PUBLIC_SEED)
            for where, function in slips(exercise.reference):
                counted[kind := came_to(key, function)] += 1
                if options.unexplained and kind in ("wrong values", "accepted"):
                    print(f"{exercise.name}: {kind}: {where}")
        rows.append([chapter, counted.total(), *(counted[kind] for kind in KINDS)])
    rows.append(["all", *(sum(column) for column in list(zip(*rows, strict=True))[1:])])
    print(tabulate(rows, headers=["chapter", "slips", *KINDS]))


if __name__ == "__main__":
    main()
