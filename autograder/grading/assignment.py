"""Collect what grading all submissions of a chapter needs, and what a report depends on."""

import hashlib
import io
import platform
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from autograder.authoring.answer_key_cache import installed_version
from autograder.course.handout import Handout, NotReleased, load_handout
from autograder.course.seed import case_seed
from autograder.errors import UserError
from autograder.grading.judging import exercises_by_name
from autograder.grading.submitted_file import File
from autograder.layout import REPO
from autograder.sandbox import CHAPTER_DISTRIBUTIONS
from check.weights_file import WEIGHTS
from check.words import listed

# The folders whose code decides what a submission earns. After a change in one of them, the next run makes new reports.
DECIDING = ("autograder/authoring", "autograder/course", "autograder/grading", "autograder/sandbox", "check")


@dataclass(frozen=True)
class Assignment:
    """What grading the submissions of a chapter needs. The command may send it to another machine.

    released: the released notebook.
    bundle: the zip that students got.
    solutions: a zip of the modules with the references.
    environment: name -> version or digest, of everything else that decides a score.
    seed: a digest of the course's seed. The seed itself is never sent to another machine.
    hidden: whether reports must not reveal the cases.
    modules: exercise name -> the module with its reference.
    in_pytorch: names of the exercises that ask for a PyTorch module.
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
        """Name -> version or digest, of everything besides the submission that a report depends on."""
        notebook = repr((self.released.chapter, self.released.notebook)).encode()
        return {"release": _sha256([notebook, self.bundle])[:16], "seed": self.seed, **self.environment}

    def distributions(self, exercise: str) -> tuple[str, ...]:
        """Return the distributions that an exercise may import besides the standard library."""
        return (*CHAPTER_DISTRIBUTIONS, "torch") if exercise in self.in_pytorch else CHAPTER_DISTRIBUTIONS

    def report_parts(self, file: File) -> dict[str, str]:
        """Return name -> version or digest, of everything that the report on a submitted file depends on."""
        return {"submission": file_digest(file), **self.made_from}


def file_digest(file: File) -> str:
    """Return the SHA-256 of a submitted file, or of the reason why we could not read it, in hex."""
    return _sha256([file.trouble.encode("utf-8", "replace"), file.raw])


def digest(parts: dict[str, str]) -> str:
    """Return the name of the report that depends on these parts, a SHA-256 in hex."""
    return _sha256(text.encode() for part in parts.items() for text in part)


def environment(sandbox: str) -> dict[str, str]:
    """Return what else decides a score on this machine, besides seed and release. sandbox: its kind, as for `run`."""
    return {
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "PyTorch": installed_version("torch"),
        "grader": _folders_digest(DECIDING),
        "exercises": _folders_digest(["autograder/exercises"]),
        "solutions": _sha256([zipped_solutions()])[:16],
        "sandbox": sandbox,
    }


def _folders_digest(folders: Iterable[str]) -> str:
    """Return a digest of all modules and data files in some folders of the repository."""
    files = sorted(file for folder in folders for file in (REPO / folder).rglob("*") if file.suffix in (".py", ".npz"))
    parts = (part for file in files for part in (file.relative_to(REPO).as_posix().encode(), file.read_bytes()))
    return _sha256(parts)[:16]


def seeds_of(file: File, released: Handout, secret: int) -> dict[str, int]:
    """Return exercise -> the seed of this file's cases, in the notebook's order.

    The seed of the withheld words does not depend on the file, so that the error rates of a class can be compared.
    """
    submission = file_digest(file)
    return {
        name: case_seed(secret, released.chapter, name, "" if name == WEIGHTS else submission)
        for name in released.graded
    }


def open_assignment(course: Path, chapter: str, seed: int, sandbox: str = "bwrap", hidden: bool = True) -> Assignment:
    """Load a released chapter. seed: the course's seed, which decides the cases of each file.

    Raises NotReleased, and UserError if another version of the course released the chapter.
    """
    notebook = load_handout(course, chapter)
    exercises = exercises_by_name(chapter)
    if unknown := [name for name in notebook.functions if name not in exercises]:
        raise UserError(
            f"the released {chapter} asks for {listed(unknown)}, which this version of the course does not have: grade "
            f"it with the version that released it, or release it again"
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
    """Return the modules of `solutions/` as a zip file. The same modules give the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for file in sorted((REPO / "solutions").glob("*.py")):
            archive.writestr(zipfile.ZipInfo(f"solutions/{file.name}"), file.read_bytes())
    return buffer.getvalue()


def _sha256(parts: Iterable[bytes]) -> str:
    sha = hashlib.sha256()
    for part in parts:
        # The length of each part comes first, so that "ab", "c" and "a", "bc" give different digests.
        sha.update(len(part).to_bytes(8, "big") + part)
    return sha.hexdigest()
