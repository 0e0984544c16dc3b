"""Where students and the instructor exchange notebooks; the instructor's course folder reads this file too."""

from pathlib import Path

c = get_config()  # noqa: F821 (traitlets defines it)

c.Exchange.root = str(Path(__file__).resolve().parent / "exchange")
# The course's name in the exchange: the one that the repository's own nbgrader_config.py has.
c.CourseDirectory.course_id = "default_course"
