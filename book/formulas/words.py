"""Read a formula aloud: the words of its MathML, for a name that cannot contain MathML."""

import re
from html import escape
from xml.etree import ElementTree

NAMESPACE = "{http://www.w3.org/1998/Math/MathML}"
MATH = re.compile(r"<math\b.*?</math>", re.DOTALL)
PATTERNS = {
    "msub": "{} sub {}",
    "msup": "{} to the power {}",
    "msubsup": "{} sub {} to the power {}",
    "mfrac": "{} over {}",
    "msqrt": "the square root of {}",
}
SIGNS = {"−": "minus", "⋅": "times", "×": "times", "⊤": "transposed", "→": "to", "…": "and so on", "\u2061": ""}


def named(html: str) -> str:
    """Return the HTML of a formula whose MathML has its words as a label."""
    math = MATH.search(html)
    if not math:
        return html
    words = _words(ElementTree.fromstring(math[0]))
    return html.replace("<math", f'<math aria-label="{escape(words)}"', 1)


def _words(element: ElementTree.Element) -> str:
    parts = [words for child in element if (words := _words(child))]
    pattern = PATTERNS.get(element.tag.removeprefix(NAMESPACE))
    if pattern and pattern.count("{}") == len(parts):
        return pattern.format(*parts).replace("to the power transposed", "transposed")
    if pattern and len(parts) > 1 and pattern.count("{}") == 1:  # a root contains several parts
        return pattern.format(" ".join(parts))
    text = (element.text or "").strip()
    return " ".join(filter(None, [SIGNS.get(text, text), *parts]))
