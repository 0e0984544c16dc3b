"""Feedback pages for nbgrader's GenerateFeedback: what was right, the first thing wrong, what to read, what to do.

The template is templates/feedback/index.html.j2. A page is one file that names no other, runs no script, and is
written in a few milliseconds; it shows scores and comments as the gradebook has them.
"""

import hashlib
from pathlib import Path

from markupsafe import Markup
from nbconvert.exporters import TemplateExporter
from traitlets import Unicode

from autograder.chapter.sections import section_address
from autograder.pages.code import coloured, what_is_cut
from autograder.pages.safe_markdown import safe_markdown
from check.judge import Result
from check.render import first_fault, replacements, sentence_as_html
from check.words import listed

TEMPLATES = Path(__file__).parent / "templates"

# The next step, by the kind of the first thing wrong.
NEXT = {
    "stopped": "Restart the kernel and run all cells from the top: see where it stays, and mend that.",
    "blank": "Write it; the hints below its text are there to be opened.",
    "raised": "Go to the line that raised, and ask what it was given there.",
    "type": "Hold what it returns against “Returns” in its docstring.",
    "structure": "Hold what it returns against “Returns” in its docstring, entry by entry.",
    "shape": "Note the shape of every array in it, line by line, beside those of the docstring.",
    "dtype": "Find the first line whose result has another dtype than the inputs.",
    "nan": "Print what each line comes to on such an input, and find the first that is not finite.",
    "modified": "Let it work on copies, and leave its inputs as they came.",
    "value": "Take the smallest input you can compute by hand, and compare line by line.",
    "no error": "Read “Raises” in its docstring: test for that first.",
}


class FeedbackExporter(TemplateExporter):
    """The page of one graded notebook."""

    book = Unicode("", help="address of the built book; if set, sections to read again link there").tag(config=True)

    file_extension = Unicode(".html")
    output_mimetype = "text/html"
    template_name = Unicode("feedback").tag(config=True, affects_template=True)

    def __init__(self, **options):
        super().__init__(**{"extra_template_basedirs": [str(TEMPLATES)]} | options)
        made_by = [Path(__file__).with_name(name) for name in ("feedback.py", "safe_markdown.py", "code.py")]
        made_by += sorted((TEMPLATES / self.template_name).glob("*"))
        self.edition = hashlib.sha256(b"".join(file.read_bytes() for file in made_by) + self.book.encode()).hexdigest()

    def from_notebook_node(self, nb, resources=None, **options):
        """The page and its resources; the page tells its edition, and one of another edition is out of date."""
        return super().from_notebook_node(nb, {**(resources or {}), "edition": self.edition}, **options)

    def default_filters(self):
        """Jinja's filters for the template; each gives HTML that is safe to show, or text that gets escaped."""
        yield from super().default_filters()
        yield "markdown", lambda source: Markup(safe_markdown(source))
        yield "sentence", lambda sentence: Markup(sentence_as_html(sentence))
        yield "python", coloured
        yield "cut", what_is_cut
        yield "first_fault", first_fault
        yield "replacements", replacements
        yield "section", section
        yield "next_step", next_step
        yield "address", self._address

    def _address(self, title, chapter):
        """Where a section is, as Sphinx names it; empty if the book has no address."""
        return section_address(self.book, chapter, title) if self.book else ""


def section(result: Result) -> str:
    """Return the title of the section to read again: a known mistake's, or else the exercise's."""
    return (result.mistake and result.mistake.reread) or result.section


def next_step(result: Result) -> str:
    """What to do about an exercise that does not hold."""
    assert result.verdict
    if result.mend_first:
        used = listed(f"`{name}`" for name in result.mend_first)
        return f"It calls {used}: once that holds, run `check({result.function})` again."
    if result.answered:
        used = listed(f"`{name}`" for name in result.answered)
        return f"Mend it, and {used} too: `check({result.function})` calls yours."
    if result.mistake:
        return f"Mend it, then run `check({result.function})`."
    return f"{NEXT[result.verdict.kind]} Then run `check({result.function})`."
