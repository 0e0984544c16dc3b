"""Follow-through: if an exercise calls a wrong exercise, grade it once more with a right function in that one's place.

The grader answers only earlier exercises that fail, and only for exercises that depend on them. In the first run it
answers nothing. Each second run is for exercises that need the same functions answered. The better of the two results
counts, and names the answered functions.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from autograder.authoring.exercise import Exercise
from autograder.grading.assignment import Assignment
from autograder.grading.dependencies import Dependencies
from autograder.grading.judging import Judgement, calls_of, exercises_by_name, judge_exercise
from autograder.sandbox import AnsweredFunctions, Budget, Cell, RunResult
from check.caches import is_another_cache, place_of_cache
from check.calling import Outcome
from check.key import Key
from check.scoring import Result
from check.words import listed

# In the second run a submission can read the answers, so its report must not quote anything that the submission says.
_UNQUOTED = {
    "raised": "still raises an exception",
    "type": "still does not return what its docstring says",
    "structure": "still does not return what its docstring says",
    "shape": "still does not return the shape that its docstring says",
}


def functions_to_answer(name: str, dependencies: Dependencies, wrong: Collection[str]) -> tuple[str, ...]:
    """Return the functions to answer in an exercise's second run: the wrong functions that it depends on.

    wrong: the exercises that fail. For the exercises before this one, their final results decide.

    Returns () if the exercise itself is right.
    """
    return tuple(other for other in dependencies[name] if other in wrong) if name in wrong else ()


def runs_together(
    name: str,
    answered: tuple[str, ...],
    dependencies: Dependencies,
    wrong: Collection[str],
    written: Collection[str],
    distributions: Callable[[str], tuple[str, ...]],
) -> list[str]:
    """Return an exercise and the later exercises that probably need the same functions answered, for one common run.

    We assume that each of them is right in its second run. If one is wrong again, the exercises after it run once more.

    Args:
        name: exercise.
        answered: the functions that its second run needs answered.
        dependencies: exercise -> the functions to answer where they are wrong.
        wrong: as for `functions_to_answer`.
        written: the exercises that are run again.
        distributions: exercise -> the distributions that it may import.
    """
    still_wrong, together = set(wrong), []
    names = list(dependencies)
    for other in names[names.index(name) :]:
        functions = functions_to_answer(other, dependencies, still_wrong)
        if functions and other in written:
            still_wrong.remove(other)
            if functions == answered and distributions(other) == distributions(name):
                together.append(other)
    return together


def is_better(second: Judgement, first: Judgement) -> bool:
    """Return whether the second judgement has more points, or equal points and, unlike the first, a known mistake."""
    if second.earned != first.earned:
        return second.earned > first.earned
    return bool(second.mistakes) and not first.mistakes


def with_answers(second: Result, answered: tuple[str, ...], with_caches: Collection[str] = ()) -> Result:
    """Return the result of a run with answered functions, without any quotation from the submission.

    with_caches: the functions that pass but return a different cache.
    """
    verdict = second.verdict
    if verdict and verdict.kind in _UNQUOTED:
        verdict = replace(verdict, message=f"`{second.function}` {_UNQUOTED[verdict.kind]}.")
    caches = tuple(name for name in answered if name in with_caches)
    return replace(
        second,
        verdict=verdict,
        remarks=(),
        answered=tuple(name for name in answered if name not in caches),
        found=(sentence_about_caches(caches),) if caches else second.found,
    )


def follow_through(
    first: Mapping[str, Judgement],
    cells: Sequence[Cell],
    written: Sequence[str],
    questions: Mapping[str, Key],
    dependencies: Dependencies,
    assignment: Assignment,
    solutions: Path,
    sandboxed: Callable[..., RunResult],
    budget: Budget,
) -> tuple[dict[str, Result], list[str]]:
    """Grade exercises that call a wrong function once more, and keep the better results.

    Args:
        first: exercise -> its judgement with the student's own functions.
        cells: the cells that were not stopped in the first run.
        written: the exercises whose cells differ from the released ones.
        questions: exercise -> its key.
        dependencies: exercise -> the functions to answer where they are wrong.
        assignment: what all submissions share.
        solutions: folder that holds the assignment's solutions, unpacked.
        sandboxed: runs cells and calls: sandboxed(cells, calls, answered=..., distributions=...) -> RunResult.
        budget: the time that the first run has left.

    Returns:
        exercise -> result, and the sandbox's notes.
    """
    judgements, notes = dict(first), []
    answered_in: dict[str, tuple[str, ...]] = {}
    second: dict[tuple[str, tuple[str, ...]], Sequence[Outcome]] = {}  # (exercise, answered functions) -> outcomes
    exercises = exercises_by_name(assignment.released.chapter)
    another_cache = cache(lambda other: returns_another_cache(exercises[other], first[other]))
    for name, key in questions.items():
        wrong = {other for other, judgement in judgements.items() if not judgement.passed}
        if name in wrong:
            wrong |= {other for other in dependencies[name] if another_cache(other)}
        answered = functions_to_answer(name, dependencies, wrong)
        if not answered or name not in written:
            continue
        is_new = (name, answered) not in second
        if is_new and not budget.allows_another_run():
            notes.append(
                f"no time was left to run {name} and later exercises again with right functions instead of wrong ones"
            )
            break
        if is_new:
            together = runs_together(name, answered, dependencies, wrong, written, assignment.distributions)
            keys = {other: questions[other] for other in together}
            modules = {other: assignment.modules[other] for other in answered}
            functions = AnsweredFunctions(modules, solutions, assignment.in_pytorch & modules.keys())
            calls = calls_of(assignment.released.chapter, keys)
            ran = sandboxed(cells, calls, answered=functions, distributions=assignment.distributions(name))
            notes += [f"{listed(together)} with a right {listed(answered)}: {note}" for note in ran.notes]
            second |= {(other, answered): outcomes for other, outcomes in _outcomes_of(keys, ran).items()}
        if outcomes := second[name, answered]:
            again = judge_exercise(key, outcomes)
            if is_better(again, first[name]):
                judgements[name], answered_in[name] = again, answered
    results = {name: judgement.result for name, judgement in judgements.items()}
    passing = {name for name, judgement in first.items() if judgement.passed}
    answers = {name: with_answers(results[name], answered, passing) for name, answered in answered_in.items()}
    return results | answers, notes


def _outcomes_of(keys: Mapping[str, Key], ran: RunResult) -> dict[str, Sequence[Outcome]]:
    """Return exercise -> its outcomes, or no outcomes if it called no answered function."""
    outcomes = iter(ran.outcomes)
    each = {name: [next(outcomes) for _ in key.cases] for name, key in keys.items()}
    return {name: found if ran.answered_calls.get(name) else () for name, found in each.items()}


def returns_another_cache(exercise: Exercise, judgement: Judgement) -> bool:
    """Return whether a passing exercise returns a cache that differs from the reference's, on its smallest case."""
    key, place = judgement.key, place_of_cache(judgement.key)
    if place is None or not judgement.passed:
        return False
    expected = exercise.outcome(exercise.reference, key.cases[place].inputs).value
    return is_another_cache(key, key.cases[place], expected, judgement.outcomes[place].value)


def sentence_about_caches(names: Sequence[str]) -> str:
    """Return why grading used correct versions of functions that pass."""
    functions = listed(f"`{name}`" for name in names)
    yours, versions = ("yours returns", "a correct") if len(names) == 1 else ("yours return", "correct versions of")
    return f"Grading used {versions} {functions}, because {yours} a cache that the docstring does not describe."
