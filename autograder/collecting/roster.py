"""Import the students of a learning platform into the gradebook."""

import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from autograder.course.configuration import set_up_course
from autograder.course.lock import course_lock
from autograder.course.roster_file import RosterFile, load_roster, save_roster
from autograder.gradebook.coursedir import open_coursedir
from autograder.gradebook.engine import usable_gradebook
from autograder.gradebook.enrolment import enrol
from autograder.gradebook.queries import known_students
from autograder.platforms.known_students import KnownStudent, is_participant
from autograder.platforms.roster_ids import Assigned, assign_ids, choose_id_column
from autograder.platforms.rosters import read_roster
from autograder.platforms.sheets import read_sheet


@dataclass(frozen=True)
class Imported:
    """What importing a roster did.

    description: which table was read. ids: the column whose values become ids. assigned: who is in the table.
    changes: "new", "changed" and "unchanged" -> ids. returned: students who had withdrawn and are listed again.
    """

    description: str
    ids: str
    assigned: Assigned
    changes: dict[str, list[str]]
    returned: tuple[str, ...]

    @property
    def not_listed(self) -> tuple[KnownStudent, ...]:
        """The enrolled students whom the table does not list, without Moodle's participants, whom no table lists.

        Removing participants would take the scores of a term with blind marking out of all exports.
        """
        return tuple(s for s in self.assigned.not_listed if not (s.withdrawn or is_participant(s.id)))


def import_roster(table: Path, course: Path, *, ids: str = "", remove: bool = False, dry_run: bool = False) -> Imported:
    """Enrol the students in a table that Canvas or Moodle exported; make the course folder if there is none.

    Args:
        ids: the column whose values become the ids of new students; by default that of earlier rosters.
        remove: mark students whom the table does not list as withdrawn.
        dry_run: write nothing.

    Raises UnusableTable, Busy, UserError.
    """
    roster = read_roster(read_sheet(table))
    with tempfile.TemporaryDirectory() as temporary:
        if dry_run and not (course / "nbgrader_config.py").exists():
            course = Path(temporary)  # opening a gradebook creates its file
        set_up_course(course)
        coursedir = open_coursedir(course, "")
        with course_lock(course), usable_gradebook(coursedir) as gradebook:
            earlier = load_roster(course)
            known = known_students(gradebook, earlier)
            column = choose_id_column(roster, known, earlier.ids, ids)
            assigned = assign_ids(roster, known, column)
            changes = enrol(gradebook, assigned.students, dry_run=dry_run)
            returned = tuple(student.id for student in assigned.students if student.id in earlier.withdrawn)
            imported = Imported(roster.description, column, assigned, changes, returned)
            if not dry_run:
                leaving = [student.id for student in imported.not_listed] if remove else []
                save_roster(course, _updated(earlier, imported, leaving))
    return imported


def _updated(earlier: RosterFile, imported: Imported, leaving: Collection[str]) -> RosterFile:
    identifiers = {student: dict(values) for student, values in earlier.identifiers.items()}
    for student in imported.assigned.students:
        identifiers.setdefault(student.id, {}).update(student.identifiers)
    withdrawn = earlier.withdrawn.union(leaving).difference(imported.returned)
    return RosterFile(imported.ids, identifiers, withdrawn)
