"""Links with which readers and students report a problem, to the address that `_config.yml` gives.

The publisher chooses it in the entry `report_to` of Sphinx's configuration:

    report_to: ""                              the default: there is no link
    report_to: teacher@example.org             an e-mail
    report_to: https://example.org/form?q={body}   a form; {subject} and {body} become what the link knows

A link never contains a student's code. `book/live/in_page/report.js` adds it if the reader ticks a box.
"""

import re
from pathlib import Path
from urllib.parse import quote

import yaml

from autograder.errors import UserError
from autograder.layout import REPO
from autograder.version import version

E_MAIL = re.compile(r"[^@\s?&{}/]+@[\w-]+(\.[\w-]+)+")
QUESTION = "What is wrong, and what did you expect?"
FORM = re.compile(r"https?://[\w.-]+[^\s{}]*(\{(subject|body)\}[^\s{}]*)*")


def report_template(address: str) -> str:
    """Return the address of a report, with {subject} and {body} in place of its texts; "" for no address.

    Raises UserError if the address is neither an e-mail address nor that of a form.
    """
    if E_MAIL.fullmatch(address):
        return f"mailto:{address}?subject={{subject}}&body={{body}}"
    if address and not FORM.fullmatch(address):
        raise UserError(
            f"`report_to: {address}` in _config.yml: write an e-mail address, or the address of a form, https://…, "
            "which may contain {subject} and {body}; or leave it empty"
        )
    return address


def configured_address(repo: Path = REPO) -> str:
    """Return what the entry `report_to` of `_config.yml` says."""
    config = yaml.safe_load((repo / "_config.yml").read_text(encoding="utf-8"))
    return config["sphinx"]["config"].get("report_to", "")


def report_link(template: str, subject: str, about: str) -> str:
    """Return the address of a report with its texts filled in; "" for no template.

    about: lines that say what the report is about. The version of the book follows them.
    """
    texts = {"subject": f"{subject}, version {version()}", "body": f"{about}\nVersion: {version()}\n\n{QUESTION}\n"}
    for name, text in texts.items():
        template = template.replace(f"{{{name}}}", quote(text, safe=""))
    return template
