"""Configure the instructors' servers: nbgrader's assignment list, and its course list, which opens formgrader."""

c = get_config()  # noqa: F821 (traitlets defines it)

c.ServerApp.jpserver_extensions = {
    "nbgrader.server_extensions.formgrader": False,
    "nbgrader.server_extensions.validate_assignment": False,
}
