"""Each function on its own: an exercise that calls a wrong one is graded once more, with that one answered for.

The second time is a run of its own, of this exercise alone: in the first one nothing is answered, and what is answered
serves no other exercise. Only an earlier exercise is ever answered for, only one that fails, and only to an exercise
whose reference calls it. The better of the two counts, and its result names what was answered.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from autograder.grading.assignment import Assignment
from autograder.grading.questions import exercises_by_name, judged
from autograder.sandbox import AnsweredFunctions, Call, Cell, Run
from check.judge import Result
from check.key import Key
from check.words import listed

# A submission can reach what is answered in the second run, and must not tell it to whoever reads its report.
_UNQUOTED = {
    "raised": "still raises an exception",
    "type": "still returns something else than its docstring says",
    "structure": "still returns something else than its docstring says",
    "shape": "still returns another shape than its docstring says",
}


def leans_on(name: str, keys: Mapping[str, Key]) -> tuple[str, ...]:
    """The earlier exercises that an exercise calls, itself or through others, in the notebook's order."""
    names = list(keys)
    earlier, waiting = names[: names.index(name)], [name]
    found: set[str] = set()
    while waiting:
        calls = set(keys[waiting.pop()].uses) & set(earlier) - found
        found |= calls
        waiting += calls
    return tuple(each for each in earlier if each in found)


def answered_for(name: str, keys: Mapping[str, Key], results: Mapping[str, Result]) -> tuple[str, ...]:
    """What is to be answered for an exercise, as it came out, and as those before it came out in the end.

    Of what it leans on, what is wrong even when all before that is right; () if the exercise itself is right.
    """
    return () if results[name].passed else tuple(each for each in leans_on(name, keys) if not results[each].passed)


def better(first: Result, again: Result, answered: tuple[str, ...]) -> Result:
    """The better of two results: more points, or as many and a known mistake where there was none.

    again: with those functions answered; it quotes nothing that the submission itself has said.
    """
    if (again.earned, bool(again.mistakes)) <= (first.earned, bool(first.mistakes)):
        return first
    verdict = again.verdict
    if verdict and verdict.kind in _UNQUOTED:
        verdict = replace(verdict, message=f"`{again.function}` {_UNQUOTED[verdict.kind]}.")
    return replace(again, verdict=verdict, remarks=(), answered=answered)


def follow_through(
    first: Mapping[str, Result],
    cells: Sequence[Cell],
    written: Sequence[str],
    questions: Mapping[str, Key],
    assignment: Assignment,
    solutions: Path,
    sandboxed: Callable[..., Run],
    patience: float,
) -> tuple[dict[str, Result], list[str]]:
    """Grade once more what calls a wrong function, and keep the better.

    Args:
        first: exercise -> result, as it came out with the student's own functions.
        cells: those that came to an end in the first run.
        written: the exercises whose cells are not as released. questions: exercise -> what it is asked.
        solutions: folder in which the assignment's are unpacked.
        sandboxed: runs cells and calls, `sandboxed(cells, calls, answered=..., distributions=...)`.
        patience: seconds after which no further exercise is tried.

    Returns:
        The results, and what the sandbox noted.
    """
    results, notes, until = dict(first), [], time.monotonic() + patience
    exercises = exercises_by_name(assignment.released.chapter)
    for name, key in questions.items():
        answered = answered_for(name, questions, results)
        if not answered or name not in written:
            continue
        if time.monotonic() > until:
            notes.append(f"{name} and what follows was not tried with a right function in a wrong one's place")
            break
        modules = {each: assignment.modules[each] for each in answered}
        answers = AnsweredFunctions(modules, solutions, assignment.in_pytorch & modules.keys())
        calls = [Call(name, case.inputs) for case in key.cases]
        ran = sandboxed(cells, calls, answered=answers, distributions=assignment.distributions(name))
        notes += [f"with {listed(answered)} answered: {note}" for note in ran.notes]
        if ran.questions:
            results[name] = better(first[name], judged(exercises[name], key, ran.outcomes), answered)
    return results, notes
