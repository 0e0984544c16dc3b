"""Set the exchange, for students and for the commands in the instructor's course folder."""

from pathlib import Path

c = get_config()  # noqa: F821 (traitlets defines it)

c.Exchange.root = str(Path(__file__).resolve().parent / "exchange")
# The course's name in the exchange, the same as in the repository's own nbgrader_config.py.
c.CourseDirectory.course_id = "default_course"
