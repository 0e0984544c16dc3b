"""Find the earlier functions that an exercise calls. Its page and its notebook show their signatures above its stub."""

import ast
import inspect
from collections.abc import Callable, Collection, Iterator
from types import CodeType, FunctionType

from autograder.authoring.exercise import Exercise
from autograder.authoring.inherited import called_exercises
from autograder.chapter.chapter import Chapter, definition_in
from autograder.layout import solution_modules
from autograder.release.cell_needs import imports
from check.words import listed

NO_CHAPTER = 0  # stands for the chapter of code that no exercise asks for


def line(exercise: Exercise, chapter: Chapter) -> str:
    """Return the signatures of the earlier functions that an exercise calls, as Markdown; "" if it calls none."""
    functions = at_hand(exercise, chapter)
    if not functions:
        return ""
    places = {number: f"chapter {number}" for number in functions.values()} | {
        NO_CHAPTER: "given",
        chapter.number: "above",
    }
    signatures = [f"`{_signature(function)}` ({places[number]})" for function, number in functions.items()]
    return f"You can call {listed(signatures, limit=len(signatures))}."


def at_hand(exercise: Exercise, chapter: Chapter) -> dict[FunctionType, int]:
    """Return function -> chapter, for the earlier or given functions that an exercise calls."""
    names = [other.name for other in chapter.exercises]
    return functions_called(exercise, chapter, [*names[: names.index(exercise.name)], *chapter.given_functions])


def functions_called(exercise: Exercise, chapter: Chapter, given: Collection[str]) -> dict[FunctionType, int]:
    """Return function -> chapter, in the order of their chapters, for the functions that an exercise calls.

    These are the functions that its reference calls, directly or through functions of its chapter that are not `given`,
    and those that its stub names, as a stub with a bug does. A function of an earlier chapter that the chapter does not
    import is the reference's own choice. A class calls none.
    """
    reference = exercise.reference
    if not isinstance(reference, FunctionType):
        return {}
    stub = compile(chapter.stubs[exercise.name], "stub", "exec")
    waiting = [reference, *(reference.__globals__.get(name) for name in _names(stub))]
    imported = imported_names(chapter)
    called: dict[FunctionType, int] = {}
    seen = set()
    while waiting:
        function = waiting.pop()
        if not isinstance(function, FunctionType) or function in seen:
            continue
        seen.add(function)
        number = _chapter_of(function)
        if number == chapter.number and function.__name__ not in given:
            waiting += [function.__globals__.get(name) for name in _names(function.__code__)]
        elif number is not None and (number == chapter.number or function.__name__ in imported):
            called[function] = number
    return dict(sorted(called.items(), key=lambda item: (item[1], item[0].__name__)))


def all_needed(exercise: Exercise) -> list[str]:
    """Return the names of all other exercises that an exercise's reference calls, also through others."""
    needed: dict[str, Exercise] = {}
    waiting = [exercise]
    while waiting:
        new = {called.name: called for called in called_exercises(waiting.pop().reference) if called.name not in needed}
        needed |= new
        waiting += new.values()
    return sorted(needed)


def imported_names(chapter: Chapter) -> set[str]:
    """Return the names that a chapter's setup imports from `solutions`."""
    setups = (ast.parse(cell.source) for cell in chapter.cells if cell.part == "setup")
    origins = (origin for setup in setups for _, origin in imports(setup))
    return {name for module, name in origins if name and module.startswith("solutions.")}


def _signature(function: Callable) -> str:
    definition = definition_in(inspect.getsource(function))
    assert isinstance(definition, ast.FunctionDef)
    return f"{definition.name}({ast.unparse(definition.args)})"


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _chapter_of(function: FunctionType) -> int | None:
    """Return the chapter that a function of the book belongs to, perhaps NO_CHAPTER; None for another function."""
    package, _, module = function.__module__.partition(".")
    return solution_modules().get(module) or NO_CHAPTER if package == "solutions" else None
