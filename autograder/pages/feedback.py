"""Render feedback pages for nbgrader's GenerateFeedback: what passes, the first fault, what to reread and do next.

The template is templates/feedback/index.html.j2. A page is one file that loads no other and runs no script. Making it
takes a few milliseconds. It shows the scores and comments of the gradebook.
"""

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from markupsafe import Markup
from nbconvert.exporters import TemplateExporter
from nbformat.notebooknode import NotebookNode
from traitlets import Unicode, default

from autograder.chapter.chapter import section_address
from autograder.pages.code import highlighted, omission
from autograder.pages.remarks import code_with_remarks, separate
from autograder.pages.safe_markdown import safe_markdown
from autograder.problem_reports import configured_address, report_link, report_template
from autograder.version import version
from check.messages import first_fault, for_report, replacements, sentence_as_html
from check.scoring import Result
from check.weights_file import WEIGHTS
from check.words import listed

TEMPLATES = Path(__file__).parent / "templates"

# The next step, by the kind of the first fault.
NEXT_STEPS = {
    "stopped": "Restart the kernel and run all cells from the top. Find the line that needs this much or never ends.",
    "blank": "Write it. If you need help, open the hints below its text.",
    "raised": "Go to the line that raised the exception, and find out what its inputs were.",
    "type": "Compare what it returns with “Returns” in its docstring.",
    "structure": "Compare what it returns with “Returns” in its docstring, entry by entry.",
    "shape": "Write down the shape of every array, line by line, and compare the shapes with those in the docstring.",
    "dtype": "Find the first line whose result has a different dtype from the inputs.",
    "nan": "Print the result of each line for such an input, and find the first that is not finite.",
    "modified": "Work on copies, so that the inputs do not change.",
    "value": "Take the smallest input for which you can compute the result by hand, and compare line by line.",
    "no error": "Read “Raises” in its docstring, and test for that first.",
    "unusable": "Train a model of your own, run `hand_in(params, recipe)`, save the notebook, and hand it in again.",
    "error rate": "Train longer or change the recipe, run `hand_in(params, recipe)`, and hand in the notebook again.",
}


class FeedbackExporter(TemplateExporter):
    """Renders the feedback page of a graded notebook."""

    book = Unicode("", help="address of the built book; if set, sections to reread are links to it").tag(config=True)

    report_to = Unicode(help="where students report a problem; by default as `_config.yml` says").tag(config=True)

    file_extension = Unicode(".html")
    output_mimetype = "text/html"
    template_name = Unicode("feedback").tag(config=True, affects_template=True)

    def __init__(self, **options: Any):
        super().__init__(**{"extra_template_basedirs": [str(TEMPLATES)]} | options)
        names = ("feedback.py", "safe_markdown.py", "code.py", "remarks.py")
        sources = [Path(__file__).with_name(name) for name in names]
        sources += sorted((TEMPLATES / self.template_name).glob("*"))
        settings = "\n".join([self.book, report_template(self.report_to), version()])
        self.edition = hashlib.sha256(b"".join(file.read_bytes() for file in sources) + settings.encode()).hexdigest()

    @default("report_to")
    def _configured_address(self) -> str:
        return configured_address()

    def from_notebook_node(  # type: ignore[override]  # TemplateExporter returns text, Exporter a notebook
        self, nb: NotebookNode, resources: dict[str, Any] | None = None, **options: Any
    ) -> tuple[str, dict[str, Any]]:
        """Return the page and its resources. The page contains its edition; a page of another edition is out of date.

        The edition is a digest of the code and the templates that make the page, of the addresses of the book and of
        reports, and of the version.
        """
        resources = self._init_resources({**(resources or {}), "edition": self.edition, "version": version()})
        for preprocessor in self._preprocessors:
            nb, resources = preprocessor(nb, resources)
        return self.template.render(nb=nb, resources=resources).lstrip("\n"), resources

    def default_filters(self) -> Iterator[tuple[str, Callable]]:
        """Yield the filters of the template. Each returns safe HTML, or text that Jinja escapes."""
        yield from super().default_filters()
        yield "markdown", lambda source: Markup(safe_markdown(source))
        yield "sentence", lambda sentence: Markup(sentence_as_html(sentence))
        yield "highlighted", highlighted
        yield "separate", separate
        yield "with_remarks", code_with_remarks
        yield "omission", omission
        yield "first_fault", first_fault
        yield "for_report", for_report
        yield "replacements", replacements
        yield "section", section
        yield "next_step", next_step
        yield "address", self._address
        yield "report", self._report
        yield "waits", lambda grade: grade.auto_score is None and grade.manual_score is None

    def _address(self, title: str, chapter: str) -> str:
        """Return the address of a section, as Sphinx names it, or "" if the book has no address."""
        return section_address(self.book, chapter, title) if self.book else ""

    def _report(self, subject: str, about: str) -> str:
        """Return a link for a report about the page or an exercise of it, or "" if there is no address."""
        return report_link(report_template(self.report_to), subject, about)


def section(result: Result) -> str:
    """Return the title of the section to reread: the one that the known mistake names, or else the exercise's."""
    return (result.mistake and result.mistake.reread) or result.section


def next_step(result: Result) -> str:
    """Return what to do next about an exercise that fails."""
    assert result.verdict
    if result.mend_first:
        helpers = listed(f"`{name}`" for name in result.mend_first)
        return f"First fix {helpers}, which it calls. Then run `check({result.function})` again."
    if result.answered:
        helpers = listed(f"`{name}`" for name in result.answered)
        return f"Fix it, and {helpers} too, because `check({result.function})` calls your own functions."
    if result.mistake:
        return f"Fix it, then run `check({result.function})`."
    if result.function == WEIGHTS:
        return NEXT_STEPS[result.verdict.kind]
    return f"{NEXT_STEPS[result.verdict.kind]} Then run `check({result.function})`."
