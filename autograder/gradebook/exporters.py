"""Export grades to learning platforms, through nbgrader's exporter interface.

nbgrader export --exporter=autograder.gradebook.exporters.CanvasExporter --to=grades.csv
"""

from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from nbgrader.api import Gradebook
from nbgrader.coursedir import CourseDirectory
from nbgrader.plugins import ExportPlugin

from autograder.course.handout import exercise_of, load_handout
from autograder.course.lock import require_course
from autograder.course.roster_file import RosterFile, load_roster
from autograder.gradebook.assigning import refuse_outdated
from autograder.gradebook.coursedir import open_coursedir
from autograder.gradebook.engine import usable_gradebook
from autograder.gradebook.queries import known_students, read_grades
from autograder.gradebook.voiding import points_of_cells
from autograder.platforms.filled_tables import Filled, fill_canvas, fill_moodle
from autograder.platforms.grade_tables import Grades, Row, canvas_table, csv_table, moodle_table, write_table
from autograder.platforms.sheets import Sheet


class CsvExporter(ExportPlugin):
    """A row for each student and chapter."""

    table: Callable[[Grades], Iterator[Row]] = staticmethod(csv_table)

    def export(self, gradebook: Gradebook) -> None:
        """Write the table to `to`, or to grades.csv."""
        grades = read_grades(gradebook, self.assignment, [str(student) for student in self.student], self._roster())
        write_table(self.table(grades), Path(self.to or "grades.csv"))

    def _roster(self) -> RosterFile:
        """Return what is stored about earlier rosters; nothing without a parent.

        The parent is the course, or nbgrader's own export command, which has the course.
        """
        coursedir: CourseDirectory | None = getattr(self.parent, "coursedir", self.parent)
        return load_roster(Path(coursedir.root)) if coursedir else RosterFile()


class CanvasExporter(CsvExporter):
    """The table that Canvas imports."""

    table = staticmethod(canvas_table)


class MoodleExporter(CsvExporter):
    """The table that Moodle imports."""

    table = staticmethod(moodle_table)


EXPORTERS = {"csv": CsvExporter, "canvas": CanvasExporter, "moodle": MoodleExporter}


def export_grades(course: Path, to: str, chapters: Collection[str], output: Path) -> None:
    """Write the grades of some chapters, or of all if none is named.

    to: a name in EXPORTERS. Raises UserError, Busy.
    """
    require_course(course)
    coursedir = open_coursedir(course, "")
    with usable_gradebook(coursedir) as gradebook:
        _refuse_outdated(gradebook, course, chapters)
        EXPORTERS[to](parent=coursedir, to=str(output), assignment=list(chapters)).export(gradebook)


def export_exercises(course: Path, chapters: Collection[str], output: Path) -> None:
    """Write the grades of some released chapters as CSV, with a column for each exercise. Raises UserError, Busy."""
    grades = final_grades(course, chapters)
    cells = [cell for chapter in chapters for cell in points_of_cells(load_handout(course, chapter))]
    write_table(csv_table(grades, [*dict.fromkeys(map(exercise_of, cells))]), output)


def fill_in(
    course: Path, to: str, chapters: Collection[str], sheet: Sheet, title: str, output: Path, *, scale: bool = False
) -> Filled:
    """Fill the grades of some chapters into a platform's own table, write it, and return it.

    Args:
        to: "canvas", or "moodle" for one chapter.
        title: of the assignment on Canvas, if there is one chapter.
        scale: bring scores to the platform's maximum.

    Raises UserError, Busy, UnusableTable.
    """
    require_course(course)
    roster = load_roster(course)
    with usable_gradebook(open_coursedir(course, "")) as gradebook:
        _refuse_outdated(gradebook, course, chapters)
        grades = read_grades(gradebook, chapters, roster=roster)
        known = known_students(gradebook, roster)
    if to == "canvas":
        filled = fill_canvas(sheet, grades, known, title, scale=scale)
    else:
        filled = fill_moodle(sheet, grades, known, scale=scale)
    write_table(filled.rows, output)
    return filled


def final_grades(course: Path, chapters: Collection[str]) -> Grades:
    """Return the grades of these chapters, or of all if none is named, without withdrawn students.

    Raises UserError, Busy.
    """
    require_course(course)
    with usable_gradebook(open_coursedir(course, "")) as gradebook:
        _refuse_outdated(gradebook, course, chapters)
        return read_grades(gradebook, chapters, roster=load_roster(course))


def _refuse_outdated(gradebook: Gradebook, course: Path, chapters: Collection[str]) -> None:
    for chapter in chapters or [assignment.name for assignment in gradebook.assignments]:
        refuse_outdated(gradebook, open_coursedir(course, chapter))
