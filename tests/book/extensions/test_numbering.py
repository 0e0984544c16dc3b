"""Equations, figures and tables have the same numbers in the book and in the released notebooks."""

import base64
import re

import pytest
from bs4 import BeautifulSoup
from docutils.nodes import make_id

from autograder.chapter.targets import read_targets
from tests.book.conftest import ROOT, build_book, parsed
from tests.notebook_page import FRONT_MATTER

pytestmark = pytest.mark.book

NUMBER = re.compile(r"\d+(?:\.\d+)*")
GIVEN = re.compile(r"id\d+|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")  # a label that Sphinx made
DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABc3UBGAAAAABJRU5ErkJggg=="  # one pixel


def numbers_in(folder):
    """Return label -> number of the equations, figures and tables of a built book, and caption -> number of all."""
    labels, captions = {}, {}
    for path in sorted((folder / "_build" / "html" / "chapters").glob("*.html")):
        page = parsed(path.resolve())
        for number in page.select("div.math > .eqno"):
            labels[number.parent["id"].removeprefix("equation-")] = NUMBER.search(number.get_text())[0]
        for number in page.select("figure .caption-number, table .caption-number"):
            value = NUMBER.search(number.get_text())[0]
            whole = number.find_parent(["figure", "table"])
            labels |= {element["id"]: value for element in (whole, *whole.select(":scope > span[id]"))}
            caption = number.find_next(class_="caption-text")
            for formula in caption.select("[data-tex]"):
                formula.replace_with(formula["data-tex"])
            captions[letters(caption.get_text())] = value
    return {label: number for label, number in labels.items() if not GIVEN.fullmatch(label)}, captions


def letters(caption):
    return re.sub(r"(?<=\])\([^)]*\)|[\W_]", "", caption)  # without the target of a Markdown link


@pytest.mark.thorough("the little book has every kind of element")
def test_the_book_and_the_notebooks_have_the_same_numbers(html):
    labels, captions = numbers_in(ROOT)
    known = read_targets(ROOT / "chapters")
    assert labels and labels == {make_id(label): number for label, number in known.numbers.items()}
    assert known.captions
    assert {caption: captions.get(letters(caption)) for caption in known.captions} == known.captions


TOC = """format: jb-book
root: chapters/index
parts:
  - chapters:
      - file: chapters/zebra
  - numbered: true
    chapters:
      - file: chapters/01_attention
      - file: chapters/02_backward
  - chapters:
      - file: chapters/ant
"""
PAGE = """
# {name}

:::{{figure}} dot.png
:name: fig-{name}
:alt: A dot
The figure of this page.
:::

$$a$$ (eq-{name})

See {{numref}}`fig-{name}` and {{eq}}`eq-{name}`.
"""
EVERYTHING = r"""
$$no label$$

$$a$$ (eq-dollars)

\begin{align}
a &= b
\end{align}

\begin{align*}
a &= b
\end{align*}

```{math}
---
label: eq_yaml
---
a
```

```{math}
no label
```

::::{admonition} Why?
:class: dropdown

:::{note}
$$a$$ (eq-deep)
:::
::::

:::{figure} dot.png
:alt: A dot, its caption without a label
One.
:::

:::{figure} dot.png
---
alt: A dot with a label, and no caption
name: fig-silent
---
:::

(fig-target)=
:::{figure} dot.png
:alt: A dot with a label above it
Two.
:::

:::{figure} dot.png
---
name: fig-yaml
alt: A dot
---
Three.
:::

```{code-cell} python
---
mystnb:
  figure:
    name: fig-cell
    caption: Drawn by *a* cell.
---
from IPython.display import HTML

HTML("<b>a picture</b>")
```

:::{list-table}
:header-rows: 1

* - no caption
* - b
:::

:::{list-table} Costs
:header-rows: 1
:name: table-costs

* - a
* - b
:::

`````{code-block} markdown
$$a$$ (eq-shown-only)
`````
"""


def test_every_numbered_element_gets_sphinx_s_number(little_book):
    (little_book / "_toc.yml").write_text(TOC)
    (little_book / "chapters" / "dot.png").write_bytes(base64.b64decode(DOT))
    for name in ("index", "ant", "zebra", "01_attention", "02_backward"):
        page = PAGE.format(name=name)
        text = FRONT_MATTER + page + EVERYTHING if name == "01_attention" else page
        (little_book / "chapters" / f"{name}.md").write_text(text, encoding="utf-8")
    build_book(little_book)
    labels, captions = numbers_in(little_book)
    known = read_targets(little_book / "chapters")
    assert {make_id(label): number for label, number in known.numbers.items()} == labels
    assert labels["table-costs"] == "1.1" and len(labels) == 17
    # A page that is not a chapter counts from one, also in its text.
    assert labels["fig-zebra"] == labels["eq-ant"] == labels["fig-ant"] == "1"
    ant = (little_book / "_build" / "html" / "chapters" / "ant.html").read_text(encoding="utf-8")
    assert "See Fig. 1 and (1)." in BeautifulSoup(ant, "lxml").article.get_text()
    assert known.captions == {"Drawn by *a* cell.": captions["Drawnbyacell"]}
