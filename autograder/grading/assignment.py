"""What grading a chapter's submissions has in common, and all that a report is made from."""

import hashlib
import io
import platform
import zipfile
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from autograder.course.handout import Handout, NotReleased, load_handout
from autograder.course.seed import case_seed
from autograder.errors import UserError
from autograder.grading.questions import exercises_by_name
from autograder.grading.submitted_file import File
from autograder.house import HOUSE
from autograder.sandbox import CHAPTER_DISTRIBUTIONS
from check.words import listed

# The folders that decide what a submission earns; a change in one of them asks for new reports.
DECIDING = ("autograder/authoring", "autograder/course", "autograder/grading", "autograder/sandbox", "check")


@dataclass(frozen=True)
class Assignment:
    """Everything that grading a chapter's submissions has in common; it can be sent to another machine.

    released: the released notebook. bundle: the zip that students got. solutions: a zip of the modules that answer for
    exercises. environment: what else decides a score, by name. seed: a fingerprint of the seed that cases are drawn
    from; the seed itself stays at home. hidden: whether those cases are nobody's business.
    modules: exercise name -> the module with its reference. in_pytorch: the exercises that ask for a PyTorch module.
    """

    released: Handout
    bundle: bytes
    solutions: bytes
    environment: dict[str, str]
    seed: str
    hidden: bool
    modules: dict[str, str]
    in_pytorch: frozenset[str]

    @cached_property
    def made_from(self) -> dict[str, str]:
        """What reports are made from besides the submission: the part's name -> its version or fingerprint."""
        notebook = repr((self.released.chapter, self.released.notebook)).encode()
        return {"release": _sha256([notebook, self.bundle])[:16], "seed": self.seed, **self.environment}

    def distributions(self, exercise: str) -> tuple[str, ...]:
        """What an exercise may be written with, besides Python's own library."""
        return (*CHAPTER_DISTRIBUTIONS, "torch") if exercise in self.in_pytorch else CHAPTER_DISTRIBUTIONS

    def report_parts(self, file: File) -> dict[str, str]:
        """All that the report of a submitted file is made from."""
        return {"submission": fingerprint(file), **self.made_from}


def fingerprint(file: File) -> str:
    """SHA-256 of a submitted file, or of why there is none, in hex."""
    return _sha256([file.trouble.encode("utf-8", "replace"), file.raw])


def digest(parts: dict[str, str]) -> str:
    """The name of the report that is made from these parts."""
    return _sha256(text.encode() for part in parts.items() for text in part)


def environment(sandbox: str) -> dict[str, str]:
    """What decides a score on this machine, besides seed and release; sandbox: "bwrap" or "none"."""
    return {
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "PyTorch": _version("torch"),
        "grader": _of_folders(DECIDING),
        "exercises": _of_folders(["autograder/exercises"]),
        "solutions": _sha256([zipped_solutions()])[:16],
        "sandbox": sandbox,
    }


def _of_folders(folders):
    """Return a fingerprint of all modules in some folders of the repository."""
    files = sorted(file for folder in folders for file in (HOUSE / folder).rglob("*.py"))
    named = (part for file in files for part in (file.relative_to(HOUSE).as_posix().encode(), file.read_bytes()))
    return _sha256(named)[:16]


def _version(package):
    """A version without the import, which takes PyTorch a second."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def seeds_of(file: File, released: Handout, secret: int) -> dict[str, int]:
    """Exercise -> the seed of the cases that this file is asked, in the notebook's order."""
    submission = fingerprint(file)
    return {name: case_seed(secret, released.chapter, name, submission) for name in released.functions}


def open_assignment(course: Path, chapter: str, seed: int, sandbox: str = "bwrap", hidden: bool = True) -> Assignment:
    """Load a released chapter; seed: what its cases are drawn from.

    Raises NotReleased, and UserError if its release is of another version of the course.
    """
    notebook = load_handout(course, chapter)
    exercises = exercises_by_name(chapter)
    if gone := [name for name in notebook.functions if name not in exercises]:
        raise UserError(
            f"{chapter} as it is released asks for {listed(gone)}, and this version of the course does not: grade it "
            f"with the version it was released with, or release it again"
        )
    bundle = course / "release" / f"{chapter}.zip"
    if not bundle.exists():
        raise NotReleased(course, chapter)
    return Assignment(
        released=notebook,
        bundle=bundle.read_bytes(),
        solutions=zipped_solutions(),
        environment=environment(sandbox),
        seed=_sha256([str(seed).encode()])[:16],
        hidden=hidden,
        modules={name: exercises[name].reference.__module__ for name in notebook.functions},
        in_pytorch=frozenset(name for name in notebook.functions if isinstance(exercises[name].reference, type)),
    )


def zipped_solutions() -> bytes:
    """The modules of `solutions/` as a zip; the same modules give the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for file in sorted((HOUSE / "solutions").glob("*.py")):
            archive.writestr(zipfile.ZipInfo(f"solutions/{file.name}"), file.read_bytes())
    return buffer.getvalue()


def _sha256(parts):
    digest = hashlib.sha256()
    for part in parts:
        # Each part's length comes first: "ab", "c" and "a", "bc" are told apart.
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()
