"""Markdown to HTML that runs nothing and asks for nothing, whoever wrote it; formulas become MathML."""

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
# The colours of code; in a class of the page's own, a text could dress as a verdict.
CLASSES = {"div": {"highlight"}, "span": set(STANDARD_TYPES.values()) - {""}}
# nh3 takes what is not allowed out, often with all that follows; as text, `i<j and j>k` is read as it was written.
NOT_ALLOWED = re.compile(rf"<(?!/?(?:{'|'.join(sorted(TAGS))})[\s/>]|!--)", re.IGNORECASE)
MATHML_ATTRIBUTES = {
    "accent", "columnalign", "display", "fence", "form", "linethickness", "lspace", "mathvariant", "maxsize",
    "minsize", "movablelimits", "rowspacing", "rspace", "separator", "stretchy", "width",
}  # fmt: skip
PYTHON = (["python"], ["python3"], ["py"], ["ipython3"])
MAX_SOURCE = 10_000  # characters; beyond, some Markdown takes time that grows with their square
MAX_FORMULA = 1_000
MACROS = re.compile(r"\\(re|provide)?(new)?(command|environment)|\\[egx]?def|\\let|\\DeclareMathOperator")


@lru_cache(maxsize=512)
def safe_markdown(source: str) -> str:
    """The HTML of some Markdown; as plain text where it is very long or cannot be rendered."""
    plain = f"<pre>{html.escape(source)}</pre>"
    if len(source) > MAX_SOURCE:
        return plain
    renderer = _Renderer(source)
    try:
        page = MarkdownWithMath(renderer=renderer).render(source)
    except Exception:  # a picture that is not there, nesting without end: a page of feedback survives it
        return plain
    return renderer.with_formulas(_CLEANER.clean(NOT_ALLOWED.sub("&lt;", page)))


# A relative link would lead from wherever the page lies to a file that only its reader has.
_CLEANER = nh3.Cleaner(
    tags=TAGS, attributes=ATTRIBUTES, allowed_classes=CLASSES, url_schemes={"http", "https", "mailto"},
    url_relative="deny",
)  # fmt: skip


class _Renderer(IPythonRenderer):
    """Keeps each formula's MathML for later, and a holder in its place: MathML never goes through the sanitiser.

    A holder is an element, with quotes: what the sanitiser writes has none of them within an attribute, and no `<` that
    opens nothing. And its title is a digest of the very source that would have to name it.
    """

    def __init__(self, source):
        super().__init__(escape=False, exclude_anchor_links=True)
        self.formulas: list[str] = []
        self.mark = hashlib.sha256(source.encode("utf-8", "replace")).hexdigest()

    def with_formulas(self, page):
        """The page, clean, with each formula where its holder stands."""
        holder = re.compile(f'<abbr title="{self.mark}-(\\d+)"></abbr>')
        return holder.sub(lambda found: self.formulas[int(found[1])], page)

    def block_code(self, source, info=None):
        """Python alone is coloured: for some languages Pygments needs minutes."""
        if (info or "").split()[:1] in PYTHON:
            return code.block(source)
        return f"<pre><code>{html.escape(source)}</code></pre>\n"

    def inline_math(self, body):
        return self._keep(body, "inline", f"${body}$")

    def block_math(self, body):
        return self._keep(body, "block", f"$${body}$$")

    def latex_environment(self, name, body):
        whole = f"\\begin{{{name}}}{body}\\end{{{name}}}"
        return self._keep(whole, "block", whole)

    def _keep(self, tex, display, source):
        self.formulas.append(_mathml(tex, display) or f"<code>{html.escape(source)}</code>")
        return f'<abbr title="{self.mark}-{len(self.formulas) - 1}"></abbr>'


def _mathml(tex, display):
    """MathML of a formula; empty where it has none, or would take long: macros can grow without bound."""
    if len(tex) > MAX_FORMULA or MACROS.search(tex):
        return ""
    try:
        formula = Converter(display=display).convert_to_element(tex)
    except Exception:  # it is a student's TeX
        return ""
    for element in formula.iter():
        element.attrib = {name: value for name, value in element.attrib.items() if name in MATHML_ATTRIBUTES}
        # The library writes symbols as character references into its text.
        element.text = html.unescape(element.text or "")
    return tostring(formula, encoding="unicode")
