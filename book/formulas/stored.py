"""The stored formulas: TeX -> HTML, for formulas in the text and for displayed ones."""

import gzip
import hashlib
import json
import re
from collections.abc import Mapping
from html import escape, unescape
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent
FILE = FOLDER / "stored.json.gz"
# The files that decide how MathJax sets a formula, besides its TeX and the settings.
RENDERER = (FOLDER / "package-lock.json", FOLDER / "render.mjs")
# What Sphinx writes for MathJax.
TEX = re.compile(r"\\\((.*?)\\\)|\\\[(.*)\\\]", re.DOTALL)


class Formula(NamedTuple):
    """The TeX of a formula, and whether it has a line of its own."""

    tex: str
    display: bool


Formulas = dict[Formula, str]


def settings(mathjax3_config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of MathJax's settings that decides how a formula looks."""
    return {part: mathjax3_config.get(part, {}) for part in ("tex", "chtml")}


def recipe(mathjax3_config: Mapping[str, Any]) -> str:
    """Return a digest of everything, other than its TeX, that decides how a formula looks."""
    digest = hashlib.sha256(json.dumps(settings(mathjax3_config), sort_keys=True).encode())
    for path in RENDERER:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def load(recipe: str, file: Path = FILE) -> Formulas:
    """Return the stored formulas, or none if another recipe made them."""
    content = json.loads(gzip.decompress(file.read_bytes()))
    if content["recipe"] != recipe:
        return {}
    return {
        Formula(tex, kind == "display"): html for kind in ("inline", "display") for tex, html in content[kind].items()
    }


def save(recipe: str, formulas: Formulas, file: Path = FILE) -> None:
    """Write the formulas, sorted and without a date, so that the same formulas give the same file."""
    content: dict[str, Any] = {"recipe": recipe, "inline": {}, "display": {}}
    for formula, html in sorted(formulas.items()):
        content["display" if formula.display else "inline"][formula.tex] = html
    text = json.dumps(content, indent=0, ensure_ascii=False)
    file.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))


def formula_in(html: str) -> Formula | None:
    """Return the formula in what Sphinx writes for MathJax, or None if there is no TeX between delimiters."""
    match = TEX.search(html)
    return match and Formula(unescape(match[1] or match[2]).strip(), match[2] is not None)


def typeset(html: str, stored: str, tex: str) -> str:
    """Replace the delimited TeX in Sphinx's HTML of a formula by the stored HTML, which also has the TeX."""
    with_tex = stored.replace("<mjx-container", f'<mjx-container data-tex="{escape(tex)}"', 1)
    return TEX.sub(lambda match: with_tex, html, count=1)
