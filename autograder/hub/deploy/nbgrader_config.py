"""Set the exchange, for students and for the commands in the instructors' course folders."""

import os
from pathlib import Path

c = get_config()  # noqa: F821 (traitlets defines it)

c.Exchange.root = str(Path(__file__).resolve().parent / "exchange")
# The hub sets HUB_COURSES only in the servers of people. A course folder has its own configuration.
courses = os.environ.get("HUB_COURSES", "").split()
if len(courses) == 1:
    c.CourseDirectory.course_id = courses[0]
elif courses:  # people see the courses whose groups they are in, and fetch into a folder for each course
    c.Authenticator.plugin_class = "nbgrader.auth.JupyterHubAuthPlugin"
    c.Exchange.path_includes_course = True
