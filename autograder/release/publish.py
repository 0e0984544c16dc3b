"""Release chapters into a course folder, without building unchanged chapters again."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.course.configuration import set_up_course
from autograder.course.lock import course_lock
from autograder.course.seed import secret_seed
from autograder.layout import REPO, chapter_names, known_chapter
from autograder.release import record


@dataclass(frozen=True)
class Published:
    """A published chapter. changed: whether it is new or differs from what was published before."""

    chapter: str
    zip: Path
    changed: bool


def publish(course: Path, names: Iterable[str] = (), repo: Path = REPO) -> list[Published]:
    """Publish chapters into course/release, and return what `publish_each` yields."""
    return list(publish_each(course, names, repo))


def publish_each(course: Path, names: Iterable[str] = (), repo: Path = REPO) -> Iterator[Published]:
    """Publish chapters into course/release, by default all, and yield each one as soon as it is published.

    This makes the course folder if it does not exist.

    Raises:
        UserError: there is no such chapter.
        ReleaseRefused: a chapter has faults, gives something away, a stub passes its check, or a solution fails it.
        NotGenerated: nbgrader cannot generate the assignment.
        WouldLoseScores: an exercise that has scores is missing.
        Busy: another command is running in this course, or another program has locked the gradebook.
    """
    set_up_course(course, repo)
    chosen = [known_chapter(name, repo) for name in names] or chapter_names(repo)
    with course_lock(course):
        secret_seed(course)  # makes it, if there is none
        for name in chosen:
            changed = not record.is_current(course, name, repo) and _built(course, name, repo)
            yield Published(name, course / record.published_paths(name)[-1], changed)


def _built(course: Path, name: str, repo: Path) -> bool:
    """Build a chapter, publish it if it differs, record the release, and return whether it differs."""
    inputs = record.inputs(course, name, repo)
    from autograder.release.build import build  # importing nbgrader takes seconds

    changed = build(course, name, repo)
    record.write_record(course, name, inputs, repo)
    return changed
