"""Of nbgrader, instructors' own servers have the assignment list and the course list, which leads to formgrader."""

c = get_config()  # noqa: F821 (traitlets defines it)

c.ServerApp.jpserver_extensions = {
    "nbgrader.server_extensions.formgrader": False,
    "nbgrader.server_extensions.validate_assignment": False,
}
