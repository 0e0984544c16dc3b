"""A small built book, from which the tests make a PDF and an EPUB."""

import pytest

from tests.book.conftest import build_book, make_little_book, page

TOC = """format: jb-book
root: chapters/01_attention
parts:
  - caption: More
    numbered: true
    chapters:
      - file: chapters/02_more
"""
WIDE = f"wide = '{' '.join(['word'] * 60)} the_end_of_a_wide_line'"
FIRST = """
A formula, $a_j = \\frac{e^{s_j}}{\\sum_m e^{s_m}}$, and a numbered one:

$$
\\begin{aligned}
a &= \\mathrm{softmax}(b) \\\\
  &< \\log c .
\\end{aligned}
$$ (the-formula)

:::{dropdown} A hint
What the dropdown hides.
:::

:::{derivation} an_exercise
What the derivation shows.
:::

```python
check(an_exercise)
```

::::{question} Which of the two?
:kind: prediction

- [x] this

  It is the right answer's reason.
- [ ] that

  No, see {eq}`the-formula`.
::::

::::{question} In words?
:kind: words

:::{answer}
What the model answer says.
:::
::::

:::::{tab-set}
::::{tab-item} One
The first tab.
::::
::::{tab-item} Two
The second tab.
::::
:::::

<details open class="mistakes"><summary>Raw</summary>What a cell's own HTML folds.<br></details>

Read on in {doc}`the other page <02_more>`, or [elsewhere](https://example.org/elsewhere).
"""
# A cell and a picture that fit a page together, and a caption that does not fit it as well.
PICTURE = """
```{code-cell} python
---
tags: [hide-input]
mystnb:
  figure:
    caption: What the picture shows.{{MORE}}
---
class Picture:
    def _repr_html_(self):
        drawing = '<text x="9" y="99">The picture itself.</text><path d="M 0 0 H 400 V 200 H 0 Z" fill="none" />'
        svg = 'xmlns="http://www.w3.org/2000/svg" class="figure-drawing" viewBox="0 0 400 200"'
        return f'<svg {svg} style="width: 537px; max-width: 100%">{drawing}</svg>'


{{LINES}}
Picture()
```
"""
SECOND = """# Another page

## A section of it

Back to {eq}`the-formula`.
An address that is long: [https://example.org/{{ADDRESS}}](https://example.org/elsewhere).

## A table

{{ROWS}}
"""
HIDDEN = [
    "What the dropdown hides",
    "What the derivation shows",
    "the right answer’s reason",
    "What the model answer says",
    "The second tab",
    "own HTML folds",
]


@pytest.fixture(scope="session")
def small_book(tmp_path_factory):
    """A built book of two pages."""
    folder = make_little_book(tmp_path_factory.mktemp("forms"))
    (folder / "_toc.yml").write_text(TOC)
    rows = "\n".join(f"| row {row} | {'a word ' * 200} its end {row} |" for row in range(9))
    second = SECOND.replace("{{ROWS}}", f"| a | b |\n| --- | --- |\n{rows}").replace("{{ADDRESS}}", "long" * 40)
    (folder / "chapters" / "02_more.md").write_text(second)
    picture = PICTURE.replace("{{LINES}}", "# a line of code\n" * 28).replace("{{MORE}}", " A word." * 200)
    page(folder, f"{WIDE}\nprint(wide)", FIRST + picture)
    build_book(folder)
    return folder


def words(text):
    return " ".join(text.split())
