"""Write the students of a roster into nbgrader's gradebook."""

from collections.abc import Iterable

from nbgrader.api import Gradebook

from autograder.platforms.known_students import EMAIL
from autograder.platforms.roster_ids import Enrolled


def enrol(gradebook: Gradebook, students: Iterable[Enrolled], *, dry_run: bool = False) -> dict[str, list[str]]:
    """Add students, and update the names and addresses of known ones; remove no student, change no score.

    If the roster has no name or address for a student, the gradebook keeps its own.

    dry_run: write nothing.

    Returns "new", "changed" and "unchanged" -> ids.
    """
    changes: dict[str, list[str]] = {"new": [], "changed": [], "unchanged": []}
    recorded = {student.id: student for student in gradebook.students}
    for student in students:
        email = student.identifiers.get(EMAIL, "")
        fields = {"first_name": student.first_name, "last_name": student.last_name, "email": email}
        given = {name: value for name, value in fields.items() if value}
        if student.id not in recorded:
            effect = "new"
        elif any(getattr(recorded[student.id], name) != value for name, value in given.items()):
            effect = "changed"
        else:
            effect = "unchanged"
        if effect != "unchanged" and not dry_run:
            gradebook.update_or_create_student(student.id, **given)
        changes[effect].append(student.id)
    return changes
