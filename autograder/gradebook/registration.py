"""Read an assignment from the gradebook without importing nbgrader, which takes seconds."""

from pathlib import Path
from typing import NamedTuple

from sqlalchemy import create_engine, make_url, text
from sqlalchemy.exc import SQLAlchemyError

from autograder.course.configuration import nbgrader_config
from autograder.layout import REPO

_CELLS = text("""
    SELECT assignment.duedate, base_cell.name FROM assignment
    LEFT JOIN notebook ON notebook.assignment_id = assignment.id AND notebook.name = assignment.name
    LEFT JOIN base_cell ON base_cell.notebook_id = notebook.id
    WHERE assignment.name = :chapter ORDER BY base_cell.name""")


class Registration(NamedTuple):
    """An assignment in the gradebook: when it is due ("None" for never), and the names of its cells."""

    due: str
    cells: tuple[str, ...]


def registration(course: Path, chapter: str, repo: Path = REPO) -> Registration:
    """Return an assignment as the gradebook knows it; without cells if it is missing or unreadable."""
    unknown = Registration("None", ())
    url = make_url(database_url(course, repo))
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").is_file():
        return unknown  # connecting would create the file
    try:
        engine = create_engine(url)
        with engine.connect() as connection:
            rows = connection.execute(_CELLS, {"chapter": chapter}).all()
        engine.dispose()
    except SQLAlchemyError:
        return unknown
    return Registration(str(rows[0].duedate), tuple(row.name for row in rows if row.name)) if rows else unknown


def database_url(course: Path, repo: Path = REPO) -> str:
    """Return the address of the gradebook, as nbgrader's CourseDirectory does."""
    default = f"sqlite:///{course.absolute() / 'gradebook.db'}"
    return str(nbgrader_config(course, repo).CourseDirectory.get("db_url", default))
