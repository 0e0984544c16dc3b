"""Find the exercises that an exercise of a submission depends on: those that the student's code names."""

import ast
from collections.abc import Collection, Iterable, Mapping

from autograder.authoring.exercise import Exercise
from autograder.authoring.syntax_tree import parsed

Dependencies = dict[str, tuple[str, ...]]  # exercise -> earlier ones, in the notebook's order
Definitions = dict[str, list[set[str]]]  # name -> for each statement that defines it, the names that it reads


def exercises_called(exercises: Mapping[str, Exercise], sources: Iterable[str]) -> Dependencies:
    """Return exercise -> the earlier exercises that the student's code calls in it.

    Naming an exercise counts as a call, also inside another function of the student's that the exercise uses.

    exercises: name -> exercise, in the notebook's order. sources: those of the submission's cells.
    """
    definitions, names = _definitions(sources), list(exercises)
    called = {name: _named(name, definitions, names) for name in names}
    return {name: tuple(other for other in names[: names.index(name)] if other in called[name]) for name in names}


def exercises_to_answer(exercises: Mapping[str, Exercise], called: Dependencies) -> Dependencies:
    """Return exercise -> all exercises that it calls, directly or through others. If they are wrong, we answer them.

    Exercises that would solve this one are left out.
    """
    return {
        name: tuple(other for other in exercises if other in found and other not in exercises[name].solved_by)
        for name, found in ((name, _with_their_calls(name, called)) for name in exercises)
    }


def _with_their_calls(name: str, called: Dependencies) -> set[str]:
    found: set[str] = set()
    pending = [name]
    while pending:
        new = set(called[pending.pop()]) - found
        found |= new
        pending += new
    return found


def _definitions(sources: Iterable[str]) -> Definitions:
    definitions: Definitions = {}
    for source in sources:
        try:
            statements = parsed(source).body
            pairs = [_names(statement) for statement in statements]
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue  # this cell cannot run, so it defines nothing
        for defined, read in pairs:
            for name in defined:
                definitions.setdefault(name, []).append(read)
    return definitions


def _names(statement: ast.stmt) -> tuple[set[str], set[str]]:
    """Return the names that a statement defines for other cells, and those that it reads, without parameters."""
    nodes = list(ast.walk(statement))
    functions = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    read = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    read -= {node.arg for node in nodes if isinstance(node, ast.arg)}
    return {statement.name} if hasattr(statement, "name") else functions | stored, read


def _named(exercise: str, definitions: Definitions, exercises: Collection[str]) -> set[str]:
    """Return the exercises that the code of an exercise names, directly or through helper functions."""
    seen, pending = {exercise}, [exercise]
    visited: set[int] = set()  # visit each statement once, because a notebook may define a name thousands of times
    while pending:
        for read in definitions.get(pending.pop(), ()):
            if id(read) not in visited:
                visited.add(id(read))
                pending += (read - seen).difference(exercises)
                seen |= read
    return (seen & set(exercises)) - {exercise}
