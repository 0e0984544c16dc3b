"""Examine a chapter as its author wrote it: find what would make its notebook, its answer keys or its grading wrong."""

import difflib
import importlib
import inspect
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from nbformat.notebooknode import NotebookNode

from autograder.authoring.exercise import Exercise
from autograder.authoring.luck import decided_by_luck
from autograder.authoring.make_key import PUBLIC_SEED, make_key, public_key
from autograder.authoring.problems import problems
from autograder.chapter import myst
from autograder.chapter.cards import cards
from autograder.chapter.chapter import Cell, Chapter, definition_in, interface, section_addresses, text_of
from autograder.chapter.targets import read_targets
from autograder.layout import REPO, exercise_names, exercises_checked_in, number_and_word
from autograder.release import bundle
from autograder.release.notebook import MAY_RAISE, source_notebook
from check.key import Key
from check.messages import without_emphasis
from check.predictions import ORDER
from check.values import pack
from check.words import count, did_you_mean

N_SEEDS = 5  # of the keys that must give the same points
MIN_REWRITES = 3
MIN_WORDS = 8  # of a mistake's message
STRAY_ASTERISK = re.compile(r"(?<!\S)\*\w|\w\*(?!\S)")
TIMEOUT = 1800  # seconds for one cell; chapter 9 trains a model


def faults(name: str, repo: Path = REPO, *, thorough: bool = True) -> Iterator[str]:
    """Yield a sentence for each fault of a chapter, without running its notebook.

    thorough: also try all known mistakes and rewrites, which takes minutes in some chapters.

    Raises UserError if there is no such chapter.
    """
    text = text_of(name, repo)
    exercises, broken = import_exercises(name, repo)
    yield from broken
    chapter = Chapter(name, text, tuple(exercises))
    yield from structure_faults(chapter)
    for exercise in exercises:
        yield from interface_faults(exercise, chapter)
        yield from section_faults(exercise, chapter)
        if thorough:
            yield from completeness_faults(exercise)
        if not broken:  # an exercise inherits the mistakes of those that it calls
            yield from key_faults(exercise, thorough=thorough)


def import_exercises(name: str, repo: Path = REPO) -> tuple[list[Exercise], list[str]]:
    """Return the exercises that a chapter checks, and a sentence for each one that cannot be imported."""
    word = number_and_word(name)[1]
    exercises, sentences = [], []
    for function in exercise_names(name, repo):
        file = f"autograder/exercises/{word}/{function}.py"
        try:
            exercises.append(getattr(importlib.import_module(f"autograder.exercises.{word}.{function}"), function))
        except ModuleNotFoundError as error:
            missing = str(error.name).startswith("autograder.exercises")
            reason = "does not exist, although the chapter checks this exercise" if missing else f"imports: {error}"
            sentences.append(f"{file} {reason}")
        except Exception as error:  # whatever the author's code raises
            sentences.append(f"{file} cannot be imported: {type(error).__name__}: {error}")
    return exercises, sentences


def run_faults(chapter: Chapter, repo: Path = REPO) -> Iterator[str]:
    """Yield a sentence for each cell that raises. A given cell may, if the chapter tags it `raises-exception`."""
    from nbclient import NotebookClient  # its import takes a long time

    notebook = source_notebook(chapter, read_targets(repo / "chapters"), section_addresses(chapter, repo))
    expected = {cell.source for cell in chapter.cells if MAY_RAISE in cell.metadata.get("tags", ())}
    with tempfile.TemporaryDirectory() as folder:
        bundle.write(bundle.files(chapter, map(public_key, chapter.exercises), repo), Path(folder))
        client = NotebookClient(
            notebook,
            timeout=TIMEOUT,
            kernel_name=notebook.metadata.kernelspec.name,
            allow_errors=True,
            resources={"metadata": {"path": folder}},
            extra_arguments=["--log-level=ERROR"],  # no warning that the kernel talks to its own machine by TCP
        )
        # PYTHONPATH could put this repository's `check` before the bundle's.
        client.execute(env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"})
    for cell in notebook.cells:
        if cell.cell_type == "code" and cell.source not in expected:
            yield from _errors(cell, chapter)


def _errors(cell: NotebookNode, chapter: Chapter) -> Iterator[str]:
    for output in cell.outputs:
        if output.output_type == "error":
            name = cell.metadata.nbgrader.grade_id
            yield f"{chapter.name}: the cell {name} raises {output.ename}: {output.evalue}\n{cell.source}"


def structure_faults(chapter: Chapter) -> Iterator[str]:
    """Yield what is wrong with the cells: one set-up cell first, and each stub followed by its reference and check."""
    code = [cell for cell in chapter.cells if cell.part != "prose"]
    parts = [cell.part for cell in code]
    if parts.count("setup") != 1 or parts[0] != "setup":
        yield (
            f"{chapter.file}: the first code cell, and no other, needs the tag `setup`: grading runs it before the "
            "student's cells"
        )
    names = exercises_checked_in(chapter.text)
    for position, cell in enumerate(code):
        if cell.part == "exercise":
            yield from _triple_faults(code[position : position + 3], chapter, names)
    for name in names:
        if name not in chapter.stubs:
            yield f"{chapter.file}: check({name}) has no stub; write one with the tag `exercise` before it"


def _triple_faults(triple: list[Cell], chapter: Chapter, names: list[str]) -> Iterator[str]:
    stub = triple[0]
    place, name = f"{chapter.file}:{stub.line}", definition_in(stub.source).name
    if name not in names:
        yield f"{place}: the stub {name} has no check({name}) in the chapter{did_you_mean(name, names)}"
    elif [cell.part for cell in triple] != ["exercise", "reference", "check"]:
        yield f"{place}: the stub {name} must be followed by a cell with the tag `reference`, and by check({name})"
    elif not triple[1].source.endswith(f" import {name}") or "remove-cell" not in triple[1].metadata["tags"]:
        yield f"{place}: the cell below the stub {name} must import {name}, with the tag `remove-cell`"
    elif triple[2].source != f"check({name})":
        yield f"{place}: the cell after the stub {name} must be check({name}) alone"


def interface_faults(exercise: Exercise, chapter: Chapter) -> Iterator[str]:
    """Yield how a stub's signature or docstring differs from its reference's, and its card's points from the cases'."""
    stub = chapter.stubs.get(exercise.name)
    if stub is None:
        return
    if difference := interface_difference(stub, inspect.getsource(exercise.reference)):
        yield f"{chapter.file}: the stub {exercise.name} has another signature or docstring:\n{difference}"
    for card in cards(chapter.text):
        if card.function == exercise.name and card.points != exercise.points:
            points = f"{card.points} points, its cases {exercise.points:g}"
            yield f"{chapter.file}: the card of {exercise.name} says {points}"


def interface_difference(stub: str, reference: str) -> str:
    """Return a unified diff of the interfaces of two sources; "" if they are equal."""
    stub_lines, reference_lines = (interface(source).split("\n") for source in (stub, reference))
    return "\n".join(difflib.unified_diff(stub_lines, reference_lines, "the stub", "the reference", lineterm=""))


def section_faults(exercise: Exercise, chapter: Chapter) -> Iterator[str]:
    """Yield the sections that students should reread but that the chapter does not have."""
    titles = myst.section_titles(chapter.text)
    named = {exercise.section, *(mistake.reread for mistake, _ in exercise.mistakes.values())}
    for section in sorted(named - set(titles)):
        yield f"{exercise.name}: {chapter.file} has no section {section!r}{did_you_mean(section, titles)}"


def completeness_faults(exercise: Exercise) -> Iterator[str]:
    """Yield what an exercise lacks: points, rewrites, mistakes, and messages that teach."""
    if not exercise.points:
        yield f"{exercise.name}: its aspects have no points"
    if len(exercise.equivalents) < MIN_REWRITES and exercise.measure != ORDER:  # a prediction can be written in one way
        yield f"{exercise.name}: it has {count(len(exercise.equivalents), 'rewrite')}; write at least {MIN_REWRITES}"
    if not exercise.mistakes:
        yield f"{exercise.name}: it knows no mistake; add one that people really make"
    for slug, (mistake, _) in exercise.mistakes.items():
        if len(mistake.message.split()) < MIN_WORDS:
            yield f"{exercise.name}: the message of the mistake {slug} is short; teach with at least {MIN_WORDS} words"
        if STRAY_ASTERISK.search(re.sub("`.*?`", "", without_emphasis(mistake.message))):
            yield f"{exercise.name}: students would see an asterisk in the message of the mistake {slug}"


def key_faults(exercise: Exercise, *, thorough: bool = True) -> Iterator[str]:
    """Yield what is wrong with an exercise's answer key. thorough: also try all known mistakes and rewrites."""
    try:
        key = make_key(exercise, PUBLIC_SEED) if thorough else public_key(exercise)
        if thorough:
            yield from problems(exercise, key)
            yield from decided_by_luck(exercise, range(N_SEEDS))
    except Exception as error:  # whatever the author's cases, mistakes and rewrites raise
        yield f"{exercise.name}: no answer key can be made: {type(error).__name__}: {error}"
        return
    yield from raising_faults(exercise, key)
    yield from promise_faults(exercise, key)


def raising_faults(exercise: Exercise, key: Key) -> Iterator[str]:
    """Yield the cases on which the reference raises what its docstring does not announce."""
    announced = exercise.reference.__doc__ or ""
    for case in key.cases:
        raised = case.expected.raised
        if raised and raised.type not in announced:
            yield (
                f"{exercise.name}: the reference raises {raised.type} on the case {case.name!r}, so every answer that "
                f"raises passes it; if raising is the right answer, announce it in the docstring"
            )


def promise_faults(exercise: Exercise, key: Key) -> Iterator[str]:
    """Yield what a key's cases ask for and the docstring does not promise."""
    asks = {
        "dtype": lambda case: any(array.dtype == np.float32 for array in pack(case.inputs)[1]),
        "zero": lambda case: re.search("(sees?|attends? to) nothing", case.name),
    }
    for word, asks_for in asks.items():
        case = next(filter(asks_for, key.cases), None)
        if case and word not in (exercise.reference.__doc__ or ""):
            yield f"{exercise.name}: the docstring lacks the word “{word}”, for which the case {case.name!r} asks"
