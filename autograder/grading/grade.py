"""Grade a submitted file: read it, run it in the sandbox, judge it. This needs neither nbgrader nor a course folder."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from autograder.authoring.hand_in import hand_in_of
from autograder.grading import reading
from autograder.grading.assignment import Assignment, digest
from autograder.grading.cell_notes import Troubles, cell_notes, import_note, shortened
from autograder.grading.cells_to_run import cells_to_run, written_exercises
from autograder.grading.dependencies import Dependencies, exercises_called, exercises_to_answer
from autograder.grading.follow_through import follow_through
from autograder.grading.grade_weights import grade_weights
from autograder.grading.judging import Judgement, calls_of, exercises_by_name, judge_exercise, questions_of
from autograder.grading.misspelled import defined_names
from autograder.grading.redaction import possible_grader_messages, redacted
from autograder.grading.report import Report
from autograder.grading.submitted_file import File
from autograder.sandbox import Budget, Call, Cell, Limits, MachineTooBusy, References, RunResult, run
from check.calling import Outcome
from check.key import Key
from check.scoring import Result
from check.weights_file import WEIGHTS


def grade_submission(
    file: File,
    seeds: dict[str, int],
    assignment: Assignment,
    bundle: Path,
    solutions: Path,
    limits: Limits | None = None,
    *,
    alone: bool = True,
) -> Report:
    """Grade one submitted file.

    Args:
        file: the submitted file.
        seeds: exercise -> the seed of its cases.
        assignment: what all submissions share.
        bundle, solutions: folders with the unpacked bundle and the unpacked solutions.
        limits: Limits() by default. All runs of the submission share the time.
        alone: whether this machine grades nothing else. Otherwise a result that the wall clock stopped does not count.

    Raises:
        SandboxUnavailable: there is no sandbox, or it cannot start.
        MachineTooBusy: a sandbox did not start in time, or the wall clock stopped a submission that was not alone.
    """
    started = time.perf_counter()
    submission = reading.read_submission(file, assignment.released)
    cells, notes = cells_to_run(submission, assignment.released)
    limits = limits or Limits()
    released, hand_in = assignment.released, hand_in_of(assignment.released.chapter)
    questions, exercises = questions_of(released.chapter, seeds), exercises_by_name(released.chapter)
    called = exercises_called(exercises, [cell.source for cell in cells])
    budget, weights_budget = Budget(limits), Budget(limits)
    sandboxed = partial(_sandboxed, assignment, bundle, limits, budget)
    if submission.trouble:
        results, troubles, log = _unread_results(questions)
    else:
        judgements, troubles, log, remaining = _first_run(cells, questions, assignment, sandboxed)
        written = written_exercises(submission, assignment.released)
        with References(limits, assignment.environment["sandbox"]) as references:
            answering = partial(sandboxed, references=references)
            results, second_log = follow_through(
                judgements,
                remaining,
                written,
                questions,
                exercises_to_answer(exercises, called),
                assignment,
                solutions,
                answering,
                budget,
            )
        log += second_log
    if hand_in and WEIGHTS in released.graded:
        kind = assignment.environment["sandbox"]
        measuring = partial(run, bundle=solutions, limits=limits, budget=weights_budget, kind=kind)
        results[WEIGHTS], notes_on_weights = grade_weights(submission, seeds[WEIGHTS], hand_in, measuring)
        log += notes_on_weights
    if (budget.stopped_by_clock or weights_budget.stopped_by_clock) and not alone:
        raise MachineTooBusy("The wall clock stopped code that had not used up its processor time.")
    parts = assignment.report_parts(file)
    return Report(
        digest=digest(parts),
        chapter=assignment.released.chapter,
        trouble=submission.trouble,
        notes=(
            *submission.notes,
            *notes,
            *import_note(cells, assignment),
            *cell_notes(cells, troubles, assignment.modules),
        ),
        log=shortened(log, "were noted"),
        results=_with_dependencies_to_fix(called, {name: results[name] for name in released.graded}),
        seconds=round(time.perf_counter() - started, 3),
        made_from=parts,
    )


# ------------------------------------------------------------------------------------------------


def _sandboxed(
    assignment: Assignment,
    bundle: Path,
    limits: Limits,
    budget: Budget,
    cells: Sequence[Cell],
    calls: Sequence[Call],
    **options: Any,
) -> RunResult:
    """Run a submission. If its cases are hidden, remove from the outcomes everything that could reveal them."""
    kind = assignment.environment["sandbox"]
    result = run(cells, calls, bundle=bundle, limits=limits, budget=budget, kind=kind, **options)
    if not assignment.hidden:
        return result
    messages, names = possible_grader_messages(cells), defined_names(cells)
    return replace(result, outcomes=[redacted(outcome, messages, names) for outcome in result.outcomes])


def _unread_results(questions: Mapping[str, Key]) -> tuple[dict[str, Result], Troubles, list[str]]:
    """Return results, troubles and notes for an unreadable submission."""
    unread = Outcome(stopped="could not be run, because the submission could not be read")
    return {name: judge_exercise(key, [unread] * len(key.cases)).result for name, key in questions.items()}, {}, []


def _first_run(
    cells: Sequence[Cell], questions: Mapping[str, Key], assignment: Assignment, sandboxed: Callable[..., RunResult]
) -> tuple[dict[str, Judgement], Troubles, list[str], list[Cell]]:
    """Judge each exercise with the student's own functions.

    Return the judgements by name, the troubles of cells, notes, and the cells that another run has to execute.

    Exercises in PyTorch have a run of their own, because other exercises must not be able to import PyTorch.
    """
    judgements: dict[str, Judgement] = {}
    troubles: Troubles = {}
    notes: list[str] = []
    remaining = list(cells)
    for distributions, keys in _by_distributions(questions, assignment).items():
        calls = calls_of(assignment.released.chapter, keys)
        group = sandboxed(remaining, calls, distributions=distributions)
        outcomes = iter(group.outcomes)
        for name, key in keys.items():
            judgements[name] = judge_exercise(key, [next(outcomes) for _ in key.cases])
        # For an exercise's own cell, keep the status from the run that called it.
        others = questions.keys() - keys.keys() if troubles else ()
        troubles |= {cell: trouble for cell, trouble in group.cells.items() if cell not in others}
        notes += [note for note in group.notes if note not in notes]
        # The other cells would be stopped again, or would take just as long without any use.
        remaining = [
            cell
            for cell in remaining
            if not isinstance(troubles.get(cell.id), str) and cell.id not in group.long_experiments
        ]
    return {name: judgements[name] for name in questions}, troubles, notes, remaining


def _by_distributions(questions: Mapping[str, Key], assignment: Assignment) -> dict[tuple[str, ...], dict[str, Key]]:
    """Return distributions -> the keys of the exercises that may import them, by name."""
    groups: dict[tuple[str, ...], dict[str, Key]] = {}
    for name, key in questions.items():
        groups.setdefault(assignment.distributions(name), {})[name] = key
    return groups


def _with_dependencies_to_fix(called: Dependencies, results: Mapping[str, Result]) -> tuple[Result, ...]:
    """Return the results. A failing result names the wrong exercises that it calls, unless they were answered."""
    failing = {name for name, result in results.items() if not result.passed}
    return tuple(
        replace(result, mend_first=tuple(other for other in called[name] if other in failing))
        if name in called and name in failing and not result.answered
        else result
        for name, result in results.items()
    )
