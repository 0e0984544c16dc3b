"""Grade one submission in Gradescope's container. `run_autograder` starts this in the folder of the zip file."""

import sys
from pathlib import Path
from typing import Any

from autograder.course.files import write_json
from autograder.course.handout import released_notebooks
from autograder.course.seed import secret_seed
from autograder.errors import UserError
from autograder.gradescope.results import results
from autograder.grading import worker
from autograder.grading.assignment import open_assignment, seeds_of
from autograder.grading.report import Report
from autograder.grading.submitted_file import read_file
from autograder.sandbox import SandboxUnavailable
from autograder.scores.voids import load_voids

# The result if the grader is killed or fails. The reason is in the autograder output, which only instructors see.
NOT_GRADED = {
    "score": 0,
    "output": "This submission could not be graded, so it has no score yet. Please tell your instructor.",
    "output_format": "text",
    "stdout_visibility": "hidden",
}


def main() -> None:
    """Grade the submission beside this folder, and write results.json in any case."""
    source, place = Path.cwd(), Path.cwd().parent / "results"
    for folder in (source, place):  # student code that runs as another user must not open them
        folder.chmod(0o700)
    write_json(place / "results.json", NOT_GRADED)
    try:
        write_json(place / "results.json", graded(source / "course", source.parent / "submission"))
    except UserError as error:
        sys.exit(str(error))


def graded(course: Path, submission: Path) -> dict[str, Any]:
    """Return what results.json says about a submission.

    Student code runs in bubblewrap or, if the container allows no namespaces, as another user, never with our rights.

    Raises SandboxUnavailable, MachineTooBusy.
    """
    chapter, seed = released_notebooks(course)[0].stem, secret_seed(course)
    file = read_file(notebook_in(submission, chapter))
    refusals = []
    for kind in ("bwrap", "user"):
        assignment = open_assignment(course, chapter, seed, kind)
        seeds = seeds_of(file, assignment.released, seed)
        try:
            report = Report.from_json(worker.grade_file(file, seeds, assignment, alone=True))
        except SandboxUnavailable as error:
            refusals.append(f"The sandbox {kind!r} cannot be used. {error}")
            continue
        print(*refusals, f"Graded in the sandbox {kind!r}.", *report.log, sep="\n")
        return results(report, assignment.released, load_voids(course, chapter))
    raise SandboxUnavailable("\n".join(refusals))


def notebook_in(submission: Path, chapter: str) -> Path:
    """Return the path of the only notebook, or else of the one with the chapter's name."""
    named, notebooks = submission / f"{chapter}.ipynb", list(submission.rglob("*.ipynb"))
    return notebooks[0] if len(notebooks) == 1 else named


if __name__ == "__main__":
    main()
