"""Convert untrusted Markdown to HTML that runs no script and loads nothing; formulas become MathML."""

import hashlib
import html
import re
from functools import lru_cache
from xml.etree.ElementTree import tostring

import nh3
from latex2mathml.converter import Converter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from pygments.token import STANDARD_TYPES

from autograder.pages import code

# fmt: off
TAGS = {
    "a", "abbr", "acronym", "b", "blockquote", "br", "caption", "code", "dd", "del", "details", "div", "dl", "dt", "em",
    "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "li", "ol", "p", "pre", "s", "span", "strong", "sub", "summary",
    "sup", "table", "tbody", "td", "th", "thead", "tr", "ul",
}
# fmt: on
ATTRIBUTES = {"a": {"href", "title"}, "abbr": {"title"}, "acronym": {"title"}}
# Only the classes of highlighted code. With the page's own classes, a text could look like a verdict.
CLASSES = {"div": {"highlight"}, "span": set(STANDARD_TYPES.values()) - {""}}
# nh3 removes a tag that is not allowed, often with everything after it. As text, `i<j and j>k` stays readable.
NOT_ALLOWED = re.compile(rf"<(?!/?(?:{'|'.join(sorted(TAGS))})[\s/>]|!--)", re.IGNORECASE)
MATHML_ATTRIBUTES = {
    "accent", "columnalign", "display", "fence", "form", "linethickness", "lspace", "mathvariant", "maxsize",
    "minsize", "movablelimits", "rowspacing", "rspace", "separator", "stretchy", "width",
}  # fmt: skip
PYTHON = (["python"], ["python3"], ["py"], ["ipython3"])
MAX_SOURCE = 10_000  # characters; some Markdown takes time quadratic in its length
MAX_FORMULA = 1_000
MACROS = re.compile(r"\\(re|provide)?(new)?(command|environment)|\\[egx]?def|\\let|\\DeclareMathOperator")


@lru_cache(maxsize=512)
def safe_markdown(source: str) -> str:
    """Return a Markdown source as HTML, or as plain text if it is very long or cannot be rendered."""
    plain = f"<pre>{html.escape(source)}</pre>"
    if len(source) > MAX_SOURCE:
        return plain
    renderer = _Renderer(source)
    try:
        page = MarkdownWithMath(renderer=renderer).render(source)
    except Exception:  # such as a missing picture or very deep nesting; the feedback page needs some text in any case
        return plain
    return renderer.with_formulas(_CLEANER.clean(NOT_ALLOWED.sub("&lt;", page)))


# No relative links: they would open files beside the page on the reader's machine.
_CLEANER = nh3.Cleaner(
    tags=TAGS, attributes=ATTRIBUTES, allowed_classes=CLASSES, url_schemes={"http", "https", "mailto"},
    url_relative="deny",
)  # fmt: skip


class _Renderer(IPythonRenderer):
    """Renders formulas as placeholders and keeps their MathML, which the sanitiser would not let through.

    A student cannot forge a placeholder. It is an element with quotes in it; the sanitiser's output has no unescaped
    quotes inside an attribute, and no `<` except at the start of a tag. And its title has a digest of the Markdown
    source, which would have to contain its own digest.
    """

    def __init__(self, source: str):
        super().__init__(escape=False, exclude_anchor_links=True)
        self.formulas: list[str] = []
        self.digest = hashlib.sha256(source.encode("utf-8", "replace")).hexdigest()

    def with_formulas(self, page: str) -> str:
        """Return a sanitised page with the formulas in place of their placeholders."""
        placeholder = re.compile(f'<abbr title="{self.digest}-(\\d+)"></abbr>')
        return placeholder.sub(lambda match: self.formulas[int(match[1])], page)

    def block_code(self, source: str, info: str | None = None) -> str:
        """Return a block of code, highlighted only if it is Python: for some languages Pygments needs minutes."""
        if (info or "").split()[:1] in PYTHON:
            return code.block(source)
        return f"<pre><code>{html.escape(source)}</code></pre>\n"

    def inline_math(self, body: str) -> str:
        return self._placeholder(body, "inline", f"${body}$")

    def block_math(self, body: str) -> str:
        return self._placeholder(body, "block", f"$${body}$$")

    def latex_environment(self, name: str, body: str) -> str:
        environment = f"\\begin{{{name}}}{body}\\end{{{name}}}"
        return self._placeholder(environment, "block", environment)

    def _placeholder(self, tex: str, display: str, source: str) -> str:
        """Keep a formula, and return its placeholder. source: the text to show if the formula has no MathML."""
        self.formulas.append(_mathml(tex, display) or f"<code>{html.escape(source)}</code>")
        return f'<abbr title="{self.digest}-{len(self.formulas) - 1}"></abbr>'


def _mathml(tex: str, display: str) -> str:
    """Return the MathML of a formula, or "" if it has none or may take too long, as macros that grow without bound do.

    display: "inline" or "block".
    """
    if len(tex) > MAX_FORMULA or MACROS.search(tex):
        return ""
    try:
        formula = Converter(display=display).convert_to_element(tex)
    except Exception:  # students' TeX can make the converter raise anything
        return ""
    for element in formula.iter():
        element.attrib = {name: value for name, value in element.attrib.items() if name in MATHML_ATTRIBUTES}
        # The converter writes symbols as character references into the text.
        element.text = html.unescape(element.text or "")
    return tostring(formula, encoding="unicode")
