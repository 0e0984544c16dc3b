"""A class to try grading with: a dozen and a few submissions, each made from the released notebook by a small edit.

They are made for any chapter, from its solutions, mistakes and equivalents, so they cannot drift from it.
Run as `python -m autograder.example.example_class`, this releases all chapters into a course folder of its own, hands
in the class, grades it, and says where a score is not the one it must be.
"""

import argparse
import copy
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import solutions
from autograder.authoring.exercise import Exercise, exercises_of
from autograder.course.handout import load_handout
from autograder.course.seed import secret_seed
from autograder.example.standalone import standalone
from autograder.gradebook import class_run
from autograder.grading.assignment import seeds_of
from autograder.grading.follow_through import better_result, functions_to_answer
from autograder.grading.questions import questions_of
from autograder.grading.submitted_file import File
from autograder.house import chapter_names, number_and_word
from autograder.pages import terminal
from autograder.release.notebook import BEGIN, END
from autograder.release.publish import publish
from check import judge
from check.calling import run


@dataclass(frozen=True)
class Example:
    """One submission. what: in a few words. content: the file's bytes. score: what it must get."""

    student: str
    what: str
    content: bytes
    score: float


class _Chapter:
    """The released notebook of a chapter, and ways to change it."""

    def __init__(self, course, name):
        self.name = name
        self.exercises = {each.name: each for each in exercises_of(name)}
        self.handout, self.seed = load_handout(course, name), secret_seed(course)
        self.released = _load(course / "release" / name / f"{name}.ipynb")
        solved = _load(course / "source" / name / f"{name}.ipynb")
        self.stubs = {name: _source(_cell(self.released, name)) for name in self.exercises}
        self.solved = {name: _without_markers(_source(_cell(solved, name))) for name in self.exercises}
        self.points = sum(each.points for each in self.exercises.values())
        used = {name for each in self.exercises.values() for name in each.uses}
        # Breaking this one costs its own points and no others.
        functions = {n: each for n, each in self.exercises.items() if not isinstance(each.reference, type)}
        self.last = next(each for name, each in reversed(functions.items()) if name not in used)

    def filled(self, **sources):
        """The notebook with all exercises solved, except for those whose sources are given."""
        notebook = copy.deepcopy(self.released)
        for name, source in {**self.solved, **sources}.items():
            _cell(notebook, name)["source"] = source
        return notebook

    def changed(self, student, what, notebook, **sources):
        """A submission with other sources than the solutions', and what it must get."""
        content = _bytes(notebook)
        return Example(student, what, content, self._earned(content, sources))

    def _earned(self, content, sources):
        """What a submission earns, found without sandbox or nbgrader. Only for code of our own.

        With its own cases: some tell what a mistake does to a function that calls it, and some do not.
        """
        questions = questions_of(self.name, seeds_of(File(content), self.handout, self.seed))
        namespace: dict[str, Any] = {"__name__": "__main__"}
        with np.errstate(all="ignore"):
            for source in [_source(_cell(self.released, "setup")), *{**self.solved, **sources}.values()]:
                exec(compile(source, "<example>", "exec"), namespace)  # noqa: S102
        results = {name: _graded(key, namespace) for name, key in questions.items()}
        for name in questions:
            results[name] = self._followed_through(name, questions, results, namespace)
        return sum(result.earned for result in results.values())

    def _followed_through(self, name, questions, results, namespace):
        """The better of two results: the second has the references in the place of wrong functions that it calls."""
        answered = functions_to_answer(name, questions, results)
        with mock.patch.dict(namespace, {each: self.exercises[each].reference for each in answered}):
            return better_result(results[name], _graded(questions[name], namespace), answered)

    def replaced(self, each: Exercise, source):
        """The source of a cell whose function does something else."""
        return f"def {each.name}(*args, **kwargs):\n    {source}"


def examples(course: Path, chapter: str) -> list[Example]:
    """The class for one released chapter of a course."""
    of = _Chapter(course, chapter)
    return [*_honest(of), *_mistaken(of), *_harmful(of), *_damaged(of)]


def hand_in(course: Path, chapter: str) -> list[Example]:
    """Put the class into `submitted`, as collected; files that are there already and equal stay as they are."""
    made = examples(course, chapter)
    for example in made:
        path = course / "submitted" / example.student / chapter / f"{chapter}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_bytes() != example.content:
            path.write_bytes(example.content)
    return made


def _honest(of):
    half = {name: of.stubs[name] for name in list(of.exercises)[len(of.exercises) // 2 :]}
    loops = {n: standalone(next(iter(e.equivalents.values())), n) for n, e in of.exercises.items() if e.equivalents}
    noisy = {name: f"import sys\n\nprint('trying', file=sys.stderr)\n{source}" for name, source in of.solved.items()}
    yield Example("perfect", "everything solved", _bytes(of.filled()), of.points)
    yield of.changed("blank", "as released", of.released, **of.stubs)
    yield of.changed("half-done", "the first half solved", of.filled(**half), **half)
    yield Example("by-loops", "right values, another way", _bytes(of.filled(**loops)), of.points)
    yield Example("noisy", "prints to stderr", _bytes(of.filled(**noisy)), of.points)


def _mistaken(of):
    for n, each in enumerate(list(of.exercises.values())[:2], start=1):
        mistake, wrong = next(iter(each.mistakes.values()))
        edit = {each.name: standalone(wrong, each.name)}
        yield of.changed(f"mistake-{n}", f"{each.name} {mistake.name}", of.filled(**edit), **edit)
    edit = {of.last.name: f"{standalone(of.last.reference, '_right')}\n\n\n{_NUDGED.format(name=of.last.name)}"}
    yield of.changed("unknown-mistake", f"{of.last.name} off by a percent", of.filled(**edit), **edit)


_NUDGED = """\
def {name}(*args, **kwargs):
    return _nudged(_right(*args, **kwargs))


def _nudged(value):
    if isinstance(value, dict):
        return {{key: _nudged(item) for key, item in value.items()}}
    if isinstance(value, tuple):
        return tuple(_nudged(item) for item in value)
    return value * np.asarray(1.01, getattr(value, "dtype", None)) if value is not None else value"""


def _harmful(of):
    rest = of.points - of.last.points
    for student, what, body in (
        ("raises", "raises an error", "raise ValueError('the shapes do not fit')"),
        ("endless", "never ends", "while True: pass"),
        ("greedy", "asks for 50 GB", "return np.ones(50 * 2**30 // 8)"),
    ):
        edit = {of.last.name: of.replaced(of.last, body)}
        yield Example(student, f"{of.last.name} {what}", _bytes(of.filled(**edit)), rest)
    _, word = number_and_word(of.name)
    folders = [str(Path(solutions.__file__).parent), *("solutions", "../solutions", "/solutions", "/bundle/solutions")]
    stolen = {n: _CHEAT.format(name=n, paths=[f"{folder}/{word}.py" for folder in folders]) for n in of.exercises}
    yield Example("cheat", "reads the solutions, patches NumPy's comparisons", _bytes(of.filled(**stolen)), 0.0)


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
    found = importlib.util.spec_from_file_location("stolen", path)
    stolen = importlib.util.module_from_spec(found)
    found.loader.exec_module(stolen)
    return stolen.{name}(*args, **kwargs)"""


def _damaged(of):
    no_check, doubled = of.filled(), of.filled()
    no_check["cells"].remove(_cell(no_check, f"check-{of.last.name}"))
    cell = _cell(doubled, of.last.name)
    doubled["cells"].insert(doubled["cells"].index(cell) + 1, {**copy.deepcopy(cell), "source": of.stubs[of.last.name]})
    whole = _bytes(of.filled())
    yield Example("deleted-check", f"the check of {of.last.name} is gone", _bytes(no_check), of.points)
    yield Example("doubled", f"two cells for {of.last.name}", _bytes(doubled), of.points)
    yield Example("truncated", "the file ends in the middle", whole[: len(whole) // 2], 0.0)
    yield Example("no-notebook", "a letter, not a notebook", b"Dear instructor, here is my homework.\n", 0.0)


def _graded(questions, namespace):
    return judge.grade(questions, [run(namespace[questions.function], case.inputs) for case in questions.cases])


def _wrong(chapter, example, earned):
    return f"{chapter}: {example.student} ({example.what}) got {earned:g}, must get {example.score:g}"


def _load(path):
    return json.loads(path.read_text(encoding="utf-8"))


def _bytes(notebook):
    return json.dumps(notebook, indent=1, ensure_ascii=False).encode()


def _cell(notebook, grade_id):
    return next(c for c in notebook["cells"] if c["metadata"].get("nbgrader", {}).get("grade_id") == grade_id)


def _source(cell):
    return "".join(cell["source"])


def _without_markers(source):
    return "\n".join(line for line in source.split("\n") if line.strip() not in (BEGIN, END))


def main(arguments: list[str] | None = None) -> int:
    """Release, hand in, grade, compare; 1 if a score is not the one it must be."""
    parser = argparse.ArgumentParser(prog="autograder.example.example_class", description="Grade the example class.")
    parser.add_argument("--course", type=Path, default=Path("example"), help="default: example")
    course = parser.parse_args(arguments).course.resolve()
    wrong = []
    publish(course)
    for chapter in chapter_names():
        made = {example.student: example for example in hand_in(course, chapter)}
        rows = class_run.grade_class(course, chapter, students=made, jobs=3)  # one of them waits: it never ends
        print(f"\n{chapter}\n{terminal.of_class(rows, {})}\n")
        wrong += [
            _wrong(chapter, made[row.student], row.report.earned)
            for row in rows
            if row.report.earned != made[row.student].score
        ]
    print("\n".join(wrong) or "Every example got the score it must get.")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
