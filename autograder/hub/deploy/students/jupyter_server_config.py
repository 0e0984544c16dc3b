"""Configure the students' servers: nbgrader's assignment list, and no page for instructors."""

c = get_config()  # noqa: F821 (traitlets defines it)

c.ServerApp.jpserver_extensions = {
    "nbgrader.server_extensions.course_list": False,
    "nbgrader.server_extensions.formgrader": False,
    "nbgrader.server_extensions.validate_assignment": False,
}
