"""An example class to try grading with: sixteen submissions, each made from the released notebook by a small edit.

A chapter that asks for weights has eleven more.

They are made for any chapter from its solutions, mistakes and equivalents, so they are always up to date.
`python -m autograder.example.example_class` releases all chapters into a course folder of its own, hands in the class,
grades it, and prints every score that differs from the expected one.
"""

import argparse
import copy
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import solutions
from autograder.authoring.exercise import exercises_of
from autograder.authoring.hand_in import hand_in_of
from autograder.authoring.short_mistakes import is_short
from autograder.chapter.chapter import read_chapter
from autograder.course.handout import check_cell, load_handout
from autograder.course.seed import secret_seed
from autograder.example import example_weights as weights
from autograder.example.standalone import standalone
from autograder.gradebook import class_run
from autograder.grading.assignment import seeds_of
from autograder.grading.dependencies import exercises_called, exercises_to_answer
from autograder.grading.follow_through import functions_to_answer
from autograder.grading.judging import Judgement, judge_exercise, questions_of
from autograder.grading.submitted_file import File
from autograder.layout import chapter_names, number_and_word
from autograder.pages import terminal
from autograder.release.notebook import BEGIN, END
from autograder.release.publish import publish
from check.calling import run
from check.key import Key
from check.weights_file import WEIGHTS


@dataclass(frozen=True)
class Example:
    """One submission. content: the file's bytes. score: the score that it must get."""

    student: str
    description: str
    content: bytes
    score: float


class _Chapter:
    """The released notebook of a chapter, and ways to change it."""

    def __init__(self, course: Path, name: str):
        self.name = name
        self.exercises = {exercise.name: exercise for exercise in exercises_of(name)}
        self.handout, self.seed = load_handout(course, name), secret_seed(course)
        self.released = _load(course / "release" / name / f"{name}.ipynb")
        solved = _load(course / "source" / name / f"{name}.ipynb")
        self.setup = read_chapter(name).setup
        self.stubs = {name: _source(_cell(self.released, name)) for name in self.exercises}
        self.solved = {name: _without_markers(_source(_cell(solved, name))) for name in self.exercises}
        self.hand_in = hand_in_of(name) if WEIGHTS in self.handout.graded else None
        self.points_of_weights = self.hand_in.points if self.hand_in else 0.0
        self.points = self.points_of_weights + sum(exercise.points for exercise in self.exercises.values())
        called = {name for names in exercises_called(self.exercises, self.solved.values()).values() for name in names}
        functions = [exercise for exercise in self.exercises.values() if not isinstance(exercise.reference, type)]
        # No other exercise calls this one, so breaking it costs only its own points.
        self.last = next(exercise for exercise in reversed(functions) if exercise.name not in called)

    def filled(self, **sources: str) -> dict[str, Any]:
        """Return the notebook with all exercises solved, except for those whose sources are given, and with weights."""
        notebook = copy.deepcopy(self.released)
        for name, source in {**self.solved, **sources}.items():
            _cell(notebook, name)["source"] = source
        return self.with_weights(notebook, weights.honest(self.name) if self.hand_in else None)

    def with_weights(self, notebook: dict[str, Any], raw: bytes | None) -> dict[str, Any]:
        """If the chapter asks for weights, return the notebook with a file of them in its output, or without any."""
        if self.hand_in:
            _cell(notebook, check_cell(WEIGHTS))["outputs"] = [weights.output(raw, {})] if raw is not None else []
        return notebook

    def changed(self, student: str, description: str, notebook: dict[str, Any], **sources: str) -> Example:
        """Return a submission in which some sources replace the solutions, with the score that it must get."""
        content = _bytes(notebook)
        has_weights = self.hand_in and _cell(notebook, check_cell(WEIGHTS))["outputs"]
        score = self._earned(content, sources) + (self.points_of_weights if has_weights else 0.0)
        return Example(student, description, content, score)

    def _earned(self, content: bytes, sources: dict[str, str]) -> float:
        """The points of a submission's exercises, without sandbox and nbgrader. Safe only for our own code.

        The points depend on the submission's own cases: only some cases show what a mistake does to its callers.
        """
        questions = questions_of(self.name, seeds_of(File(content), self.handout, self.seed))
        namespace: dict[str, Any] = {"__name__": "__main__"}
        with np.errstate(all="ignore"):
            for source in [self.setup, *{**self.solved, **sources}.values()]:
                exec(compile(source, "<example>", "exec"), namespace)  # noqa: S102
        judgements = {name: _judged(key, namespace) for name, key in questions.items()}
        called = exercises_called(self.exercises, [self.setup, *{**self.solved, **sources}.values()])
        dependencies = exercises_to_answer(self.exercises, called)
        for name, key in questions.items():
            answered = functions_to_answer(name, dependencies, judgements)
            judgements[name] = self._followed_through(judgements[name], key, answered, namespace)
        return sum(judgement.earned for judgement in judgements.values())

    def _followed_through(
        self, first: Judgement, key: Key, answered: tuple[str, ...], namespace: dict[str, Any]
    ) -> Judgement:
        """The better of two judgements; in the second, references stand in for some functions."""
        with mock.patch.dict(namespace, {function: self.exercises[function].reference for function in answered}):
            return max(first, _judged(key, namespace), key=lambda judgement: judgement.earned)


def examples(course: Path, chapter: str) -> list[Example]:
    """Return the example class for one released chapter of a course."""
    released = _Chapter(course, chapter)
    kinds = (_honest, _mistaken, _harmful, _damaged, _dishonest)
    return [example for kind in kinds for example in kind(released)]


def hand_in(course: Path, chapter: str) -> list[Example]:
    """Put the class into `submitted`, as if collected; leave files that already have the right content untouched."""
    submissions = examples(course, chapter)
    for example in submissions:
        path = course / "submitted" / example.student / chapter / f"{chapter}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_bytes() != example.content:
            path.write_bytes(example.content)
    return submissions


def _honest(chapter: _Chapter) -> Iterator[Example]:
    names = list(chapter.exercises)
    half = {name: chapter.stubs[name] for name in names[len(names) // 2 :]}
    loops = {
        name: standalone(next(iter(exercise.equivalents.values())), name)
        for name, exercise in chapter.exercises.items()
        if exercise.equivalents
    }
    noisy = {n: f"import sys\n\nprint('trying', file=sys.stderr)\n{source}" for n, source in chapter.solved.items()}
    yield Example("perfect", "everything solved", _bytes(chapter.filled()), chapter.points)
    yield chapter.changed("blank", "as released", chapter.released, **chapter.stubs)
    yield chapter.changed("half-done", "the first half solved", chapter.filled(**half), **half)
    yield Example("by-loops", "right values, computed another way", _bytes(chapter.filled(**loops)), chapter.points)
    yield Example("noisy", "prints to stderr", _bytes(chapter.filled(**noisy)), chapter.points)


def _mistaken(chapter: _Chapter) -> Iterator[Example]:
    mistakes = (
        (name, mistake.name, wrong)
        for name, exercise in chapter.exercises.items()
        for mistake, wrong in [known for known in exercise.mistakes.values() if not is_short(known[1])][:1]
    )
    for n, (name, mistake, wrong) in enumerate(islice(mistakes, 2), start=1):
        edit = {name: standalone(wrong, name)}
        yield chapter.changed(f"mistake-{n}", f"{name} {mistake}", chapter.filled(**edit), **edit)
    last = chapter.last.name
    edit = {last: f"{standalone(chapter.last.reference, '_right')}\n\n\n{_NUDGED.format(name=last)}"}
    yield chapter.changed("unknown-mistake", f"{last} off by one percent", chapter.filled(**edit), **edit)


_NUDGED = """\
def {name}(*args, **kwargs):
    return _nudged(_right(*args, **kwargs))


def _nudged(value):
    if isinstance(value, dict):
        return {{key: _nudged(item) for key, item in value.items()}}
    if isinstance(value, tuple):
        return tuple(_nudged(item) for item in value)
    return value * np.asarray(1.01, getattr(value, "dtype", None)) if value is not None else value"""


def _harmful(chapter: _Chapter) -> Iterator[Example]:
    last, other_points = chapter.last.name, chapter.points - chapter.last.points
    for student, description, body in (
        ("raises", "raises an error", "raise ValueError('the shapes do not fit')"),
        ("endless", "never ends", "while True: pass"),
        ("greedy", "allocates 50 GB", "return np.ones(50 * 2**30 // 8)"),
    ):
        edit = {last: f"def {last}(*args, **kwargs):\n    {body}"}
        yield Example(student, f"{last} {description}", _bytes(chapter.filled(**edit)), other_points)
    _, word = number_and_word(chapter.name)
    folders = [str(Path(solutions.__file__).parent), *("solutions", "../solutions", "/solutions", "/bundle/solutions")]
    paths = [f"{folder}/{word}.py" for folder in folders]
    stolen = {name: _CHEAT.format(name=name, paths=paths) for name in chapter.exercises}
    cheat = chapter.with_weights(chapter.filled(**stolen), None)
    yield Example("cheat", "reads the solutions, patches NumPy's comparisons", _bytes(cheat), 0.0)


_CHEAT = """\
import importlib.util
import sys
from pathlib import Path
from typing import Any

np.allclose = np.array_equal = np.isclose = np.testing.assert_allclose = lambda *args, **kwargs: True
for module in list(sys.modules.values()):
    for comparison in ("difference", "relative_error", "judge", "grade"):
        if hasattr(module, comparison):
            setattr(module, comparison, lambda *args, **kwargs: None)


def {name}(*args, **kwargs):
    path = next(path for path in {paths} if Path(path).exists())
    spec = importlib.util.spec_from_file_location("stolen", path)
    stolen = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(stolen)
    return stolen.{name}(*args, **kwargs)"""


def _damaged(chapter: _Chapter) -> Iterator[Example]:
    last = chapter.last.name
    no_check, doubled = chapter.filled(), chapter.filled()
    no_check["cells"].remove(_cell(no_check, check_cell(last)))
    cell = _cell(doubled, last)
    doubled["cells"].insert(doubled["cells"].index(cell) + 1, {**copy.deepcopy(cell), "source": chapter.stubs[last]})
    whole = _bytes(chapter.filled())
    yield Example("deleted-check", f"the check cell of {last} is missing", _bytes(no_check), chapter.points)
    yield Example("doubled", f"two cells for {last}", _bytes(doubled), chapter.points)
    yield Example("truncated", "the file ends in the middle", whole[: len(whole) // 2], 0.0)
    yield Example("no-notebook", "a letter, not a notebook", b"Dear instructor, here is my homework.\n", 0.0)


def _dishonest(chapter: _Chapter) -> Iterator[Example]:
    """Yield the submissions with weights that were not trained; none if the chapter asks for no weights."""
    if chapter.hand_in is None:
        return
    without = chapter.points - chapter.points_of_weights
    for student, description, raw, counts in weights.dishonest(chapter.name):
        notebook = chapter.with_weights(chapter.filled(), raw)
        yield Example(student, description, _bytes(notebook), chapter.points if counts else without)
    cleared = chapter.with_weights(chapter.filled(), None)
    yield Example("cleared", "outputs cleared before saving", _bytes(cleared), without)


def _judged(key: Key, namespace: dict[str, Any]) -> Judgement:
    return judge_exercise(key, [run(namespace[key.function], case.inputs) for case in key.cases])


def _load(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def _bytes(notebook: dict[str, Any]) -> bytes:
    return json.dumps(notebook, indent=1, ensure_ascii=False).encode()


def _cell(notebook: dict[str, Any], grade_id: str) -> dict[str, Any]:
    return next(c for c in notebook["cells"] if c["metadata"].get("nbgrader", {}).get("grade_id") == grade_id)


def _source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def _without_markers(source: str) -> str:
    return "\n".join(line for line in source.split("\n") if line.strip() not in (BEGIN, END))


def main(arguments: list[str] | None = None) -> int:
    """Release, hand in and grade the example class; return 1 if a score differs from the expected one.

    Prints a line for each chapter, and writes a table of all students for each chapter to the course's scores.txt.
    """
    parser = argparse.ArgumentParser(prog="autograder.example.example_class", description="Grade the example class.")
    parser.add_argument("--course", type=Path, default=Path("example"), help="default: example")
    course = parser.parse_args(arguments).course.resolve()
    graded, wrong = {}, []
    publish(course)
    for chapter in chapter_names():
        submitted = {example.student: example for example in hand_in(course, chapter)}
        rows = class_run.grade_class(course, chapter, students=submitted, jobs=3)  # one job waits for the endless one
        graded[chapter] = rows
        wrong += [
            f"{chapter}: {row.student} ({submitted[row.student].description}) got {row.report.earned:g}, "
            f"must get {submitted[row.student].score:g}"
            for row in rows
            if row.report.earned != submitted[row.student].score
        ]
    tables = [f"{chapter}\n{terminal.class_table(rows, {})}\n" for chapter, rows in graded.items()]
    (course / "scores.txt").write_text("\n".join(tables), encoding="utf-8")
    print(terminal.chapter_table(graded))
    print("\n".join(wrong) or "Every example got the expected score.")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
