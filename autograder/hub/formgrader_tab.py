"""A server extension that opens formgrader in its own browser tab, for instructors who share it on a hub.

nbgrader's course list asks JupyterLab to show formgrader in a frame, which JupyterHub refuses since 4.1 (nbgrader's
issue 1870). In its own tab, formgrader's links in nbgrader 0.9 lack the base URL of the server (issue 1888).

It also logs who sets a score.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.serverapp import ServerApp
from jupyter_server.utils import url_path_join
from nbgrader.server_extensions.formgrader.apihandlers import AutogradeHandler, GradeHandler
from nbgrader.server_extensions.formgrader.base import BaseApiHandler
from nbgrader.server_extensions.formgrader.handlers import static_path
from tornado.httputil import HTTPServerRequest
from tornado.routing import Matcher, PathMatches, Rule
from tornado.web import RequestHandler, authenticated

from autograder.gradebook.coursedir import open_coursedir
from autograder.gradebook.engine import open_gradebook
from autograder.gradebook.score_log import account, logged_changes

SCRIPT = "js/utils.js"
LINKS = """
linkTo = (type, path) => (_, link) => {
    const place = {notebook: "notebooks", file: "edit", directory: "tree"}[type];
    return $(link).attr({href: `${base_url}/${place}/${path}`, target: "_blank"})[0];
};
"""


class FormgraderInLab(Matcher):
    """Match the request that the course list sends to JupyterLab: /lab?formgrader=true."""

    def __init__(self, lab: str) -> None:
        self._lab = lab

    def match(self, request: HTTPServerRequest) -> dict[str, Any] | None:
        return {} if request.path == self._lab and "formgrader" in request.query_arguments else None


class Formgrader(JupyterHandler):
    """Redirect to formgrader."""

    @authenticated
    def get(self) -> None:
        self.redirect(url_path_join(self.base_url, "formgrader"))


class ScriptWithLinks(RequestHandler):
    """Serve nbgrader's own script, followed by a function that replaces one of the script's."""

    def get(self) -> None:
        self.set_header("Content-Type", "text/javascript; charset=utf-8")
        self.finish(Path(static_path, SCRIPT).read_text(encoding="utf-8") + LINKS)


class LoggedGrade(GradeHandler):
    """Set a score by hand as nbgrader does, and log who did it."""

    def put(self, grade_id: str) -> None:
        with _logged(self, "by hand in formgrader"):
            super().put(grade_id)


class LoggedAutograde(AutogradeHandler):
    """Grade one submission as nbgrader does, and log who did it."""

    def post(self, assignment_id: str, student_id: str) -> None:
        with _logged(self, "Autograde in formgrader"):
            super().post(assignment_id, student_id)


@contextmanager
def _logged(handler: BaseApiHandler, why: str) -> Iterator[None]:
    """Log the changes that a request makes."""
    coursedir = open_coursedir(Path(handler.coursedir.root), "")
    with open_gradebook(coursedir) as gradebook, logged_changes(gradebook, coursedir, why, _who(handler)):
        yield


def _who(handler: JupyterHandler) -> str:
    """The person who sent a request: on a hub the hub's user, elsewhere the account of the server."""
    return handler.current_user.username if "JUPYTERHUB_SERVICE_PREFIX" in os.environ else account()


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "autograder.hub.formgrader_tab"}]


def _load_jupyter_server_extension(server: ServerApp) -> None:
    """Add our handlers.

    The server loads extensions in the order of their names, and takes the first handler that matches.
    """
    base = server.web_app.settings["base_url"]
    script = url_path_join(base, "formgrader/static", SCRIPT)
    rules = [
        Rule(FormgraderInLab(url_path_join(base, "lab")), Formgrader),
        Rule(PathMatches(script), ScriptWithLinks),
        Rule(PathMatches(url_path_join(base, "formgrader/api/grade/([^/]+)")), LoggedGrade),
        Rule(PathMatches(url_path_join(base, "formgrader/api/submission/([^/]+)/([^/]+)/autograde")), LoggedAutograde),
    ]
    server.web_app.add_handlers(".*$", rules)
