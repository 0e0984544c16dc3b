"""Students into nbgrader's gradebook, as a platform has them."""

from collections.abc import Iterable
from pathlib import Path

from nbgrader.api import Gradebook

from autograder.course.lock import alone
from autograder.gradebook.coursedir import keep_the_rules, open_coursedir
from autograder.gradebook.engine import usable
from autograder.platforms.rosters import Enrolled


def enrol(course: Path, students: Iterable[Enrolled]) -> dict[str, list[str]]:
    """Add students, or bring their names and addresses up to date; nobody is removed, and no score is touched.

    The course folder is made if there is none.

    Returns "new", "changed" and "unchanged" -> ids. Raises Busy.
    """
    became: dict[str, list[str]] = {"new": [], "changed": [], "unchanged": []}
    course.mkdir(parents=True, exist_ok=True)
    keep_the_rules(course)
    coursedir = open_coursedir(course, "")
    with alone(course), usable(), Gradebook(coursedir.db_url, coursedir.course_id) as gradebook:
        there = {each.id: each for each in gradebook.students}
        for each in students:
            told = {"first_name": each.first_name, "last_name": each.last_name, "email": each.email}
            told = {name: value for name, value in told.items() if value}
            if each.id not in there:
                gradebook.add_student(each.id, **told)
                became["new"].append(each.id)
            elif any(getattr(there[each.id], name) != value for name, value in told.items()):
                gradebook.update_or_create_student(each.id, **told)
                became["changed"].append(each.id)
            else:
                became["unchanged"].append(each.id)
    return became
