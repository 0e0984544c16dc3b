"""Server extension: formgrader in a browser tab of its own, as the instructors of a hub share it.

nbgrader's course list asks JupyterLab to show formgrader in a frame, which a JupyterHub refuses since 4.1
(nbgrader's issue 1870). In a tab of its own, the links of nbgrader 0.9 leave out where the server is (issue 1888).
"""

from pathlib import Path

from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.utils import url_path_join
from nbgrader.server_extensions.formgrader.handlers import static_path
from tornado.routing import Matcher, PathMatches, Rule
from tornado.web import RequestHandler, authenticated

SCRIPT = "js/utils.js"
LINKS = """
linkTo = (type, path) => (_, link) => {
    const place = {notebook: "notebooks", file: "edit", directory: "tree"}[type];
    return $(link).attr({href: `${base_url}/${place}/${path}`, target: "_blank"})[0];
};
"""


class FormgraderIsAskedFor(Matcher):
    """What the course list asks of JupyterLab: /lab?formgrader=true."""

    def __init__(self, lab: str):
        self._lab = lab

    def match(self, request):
        return {} if request.path == self._lab and "formgrader" in request.query_arguments else None


class Formgrader(JupyterHandler):
    @authenticated
    def get(self):
        self.redirect(url_path_join(self.base_url, "formgrader"))


class ScriptWithLinks(RequestHandler):
    """nbgrader's own script, and after it a function in place of one of its own."""

    def get(self):
        self.set_header("Content-Type", "text/javascript; charset=utf-8")
        self.finish(Path(static_path, SCRIPT).read_text(encoding="utf-8") + LINKS)


def _jupyter_server_extension_points():
    return [{"module": "autograder.gradebook.formgrader_tab"}]


def _load_jupyter_server_extension(server):
    """Extensions are loaded in the order of their names, and the first that knows an address answers: this one."""
    base = server.web_app.settings["base_url"]
    script = url_path_join(base, "formgrader/static", SCRIPT)
    rules = [
        Rule(FormgraderIsAskedFor(url_path_join(base, "lab")), Formgrader),
        Rule(PathMatches(script), ScriptWithLinks),
    ]
    server.web_app.add_handlers(".*$", rules)
