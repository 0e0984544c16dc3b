"""Configure the course's own server: formgrader, in a browser tab of its own, and no other page of nbgrader."""

c = get_config()  # noqa: F821 (traitlets defines it)

c.ServerApp.default_url = "/formgrader"
c.ServerApp.jpserver_extensions = {
    "autograder.hub.formgrader_tab": True,
    "nbgrader.server_extensions.assignment_list": False,
    "nbgrader.server_extensions.course_list": False,
    "nbgrader.server_extensions.validate_assignment": False,
}
