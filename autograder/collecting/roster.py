"""Import the students of a learning platform into the gradebook."""

from pathlib import Path

from autograder.course.lock import course_lock
from autograder.gradebook.coursedir import open_coursedir, write_course_config
from autograder.gradebook.enrolment import enrol
from autograder.platforms.rosters import Roster, read_roster
from autograder.platforms.sheets import read_sheet


def import_roster(table: Path, course: Path) -> tuple[Roster, dict[str, list[str]]]:
    """Enrol the students in a table that Canvas or Moodle exported; make the course folder if there is none.

    Returns:
        The table as it was read; and "new", "changed" and "unchanged" -> ids of students.

    Raises UnusableTable, Busy.
    """
    roster = read_roster(read_sheet(table))
    course.mkdir(parents=True, exist_ok=True)
    write_course_config(course)
    with course_lock(course):
        return roster, enrol(open_coursedir(course, ""), roster.students)
