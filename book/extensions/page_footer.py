"""Sphinx extension: end each page with the book's version, and with a link to report a problem if there is an address.

`autograder/problem_reports.py` says which addresses the entry `report_to` of `_config.yml` may have.
"""

from html import escape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ConfigError

from autograder.errors import UserError
from autograder.problem_reports import report_link, report_template
from autograder.version import version


def read_settings(app: Sphinx, config: Config) -> None:
    """Give Sphinx the book's version, and refuse a wrong address at the beginning of the build."""
    config.version = version()
    try:
        config.report_to = report_template(config.report_to)
    except UserError as error:
        raise ConfigError(str(error)) from None


def footer(page: str, template: str) -> str:
    """Return the end of a page in HTML. template: the address of a report, from `report_template`, or ""."""
    line = f"Version {escape(version())}"
    if template:
        link = report_link(template, page, f"Page: {page}")
        line += f'. <a class="report-problem" href="{escape(link)}">Report a problem on this page</a>'
    return f"<p>{line}</p>"


def add_footer(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    context["theme_extra_footer"] = footer(page, app.config.report_to)


def setup(app: Sphinx) -> None:
    app.add_config_value("report_to", "", "html", [str])
    app.connect("config-inited", read_settings)
    app.connect("html-page-context", add_footer)
