"""Store the formulas of a built book: `python -m book.formulas.make _build/html`, or `make formulas`.

It finds the formulas in the built pages, lets MathJax set them in Node, and writes `stored.json.gz` and the style sheet
`book/static/formulas.css`.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from lxml import html

from book.formulas import stored
from book.formulas.stored import Formula

ROOT = Path(__file__).resolve().parents[2]
STYLE = ROOT / "book" / "static" / "formulas.css"
HEADER = "/* Made by book/formulas/make.py: the style sheet of MathJax 3.2.2, Apache License 2.0. */\n"
MATH = "//*[contains(concat(' ', @class, ' '), ' math ')]"
NO_NODE = "MathJax sets the formulas in Node. Install Node 20 or newer and npm: `apt-get install nodejs npm` on Debian."


def formulas_in(page: Path) -> Iterator[Formula]:
    """Yield the formulas of a built page, whether they are stored or still TeX."""
    for element in html.parse(page, html.HTMLParser(encoding="utf-8")).xpath(MATH):
        if containers := element.xpath("mjx-container"):
            (container,) = containers
            yield Formula(container.get("data-tex"), container.get("display") == "true")
        elif formula := stored.formula_in("".join(element.xpath("text()"))):
            yield formula


def formulas_of_book(folder: Path) -> set[Formula]:
    """Return the formulas of a built book."""
    return {formula for page in folder.rglob("*.html") for formula in formulas_in(page)}


def mathjax_config() -> dict[str, Any]:
    """Return MathJax's settings in `_config.yml`."""
    config: dict[str, Any] = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    settings: dict[str, Any] = config["sphinx"]["config"]["mathjax3_config"]
    return settings


def render(formulas: Iterable[Formula], mathjax3_config: Mapping[str, Any]) -> tuple[str, stored.Formulas]:
    """Return the style sheet and the HTML of formulas.

    Raises SystemExit if Node or npm is missing, or MathJax cannot set a formula, which the message names.
    """
    if not (shutil.which("node") and shutil.which("npm")):
        sys.exit(NO_NODE)
    ordered = sorted(formulas)
    request = stored.settings(mathjax3_config) | {"formulas": [formula._asdict() for formula in ordered]}
    with tempfile.TemporaryDirectory() as work:
        for name in ("package.json", "package-lock.json", "render.mjs"):
            shutil.copy(stored.FOLDER / name, work)
        subprocess.run(["npm", "ci", "--silent"], cwd=work, check=True)
        command = ["node", "render.mjs"]
        done = subprocess.run(command, cwd=work, input=json.dumps(request), stdout=subprocess.PIPE, encoding="utf-8")
    if done.returncode:
        sys.exit(done.returncode)
    answer = json.loads(done.stdout)
    return answer["css"], dict(zip(ordered, answer["html"], strict=True))


def main() -> None:
    config = mathjax_config()
    css, formulas = render(formulas_of_book(Path(sys.argv[1])), config)
    STYLE.write_text(HEADER + css.strip() + "\n", encoding="utf-8")
    stored.save(stored.recipe(config), formulas)
    print(f"{len(formulas)} formulas are stored. `make` puts them into the pages.")


if __name__ == "__main__":
    main()
