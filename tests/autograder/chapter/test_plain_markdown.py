"""Convert chapters to plain Markdown."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from pybtex.database import parse_string

from autograder.chapter.chapter import cells, text_of
from autograder.chapter.myst import MystError
from autograder.chapter.plain_markdown import convert
from autograder.chapter.targets import read_targets
from autograder.layout import REPO, chapter_names
from tests.choosing import thinned

pytestmark = pytest.mark.autograder

BIBLIOGRAPHY = """
@inproceedings{vaswani2017, author = {Vaswani, Ashish and Shazeer, Noam and Parmar, Niki}, title = {Attention},
  booktitle = {NIPS}, year = {2017}}
@article{ba2016, author = {Ba, Jimmy and Kiros, Jamie}, title = {Layers}, journal = {arXiv}, year = {2016}}
"""


Convert = Callable[[str], str]


@pytest.fixture
def plain(tmp_path: Path) -> Convert:
    """plain(text) -> the text of chapter 1 in plain Markdown, beside a small bibliography and a second chapter."""
    folder = tmp_path / "chapters"
    folder.mkdir()

    def plain(text: str) -> str:
        (folder / "01_attention.md").write_text(text, encoding="utf-8")
        targets = read_targets(folder)
        targets.works = parse_string(BIBLIOGRAPHY, "bibtex")
        targets.documents["02_backward"] = "Deriving the backward pass"
        return convert(text, targets, "chapters/01_attention.md")

    return plain


def test_plain_text_and_code_do_not_change(plain: Convert) -> None:
    text = "# Title\n\nA `code`, $x$ and\n\n```python\n:::{not} {role}`x`\n```\n\n| a | b |\n| - | - |\n| 1 | 2 |\n"
    assert plain(text) == text


def test_code_cells_do_not_change(plain: Convert) -> None:
    text = '```{code-cell}\n:tags: [check]\n\n# {cite}`nobody`\n\n\n\nprint("(x)=")\n```\n'
    assert plain(text) == text


@pytest.mark.parametrize(
    "text, expected",
    [
        (":::{note}\nA *b*.\n\nC.\n:::", "> **Note**\n>\n> A *b*.\n>\n> C."),
        (":::{seealso}\nA.\n:::", "> **See also**\n>\n> A."),
        (":::{admonition} Why?\nA.\n:::", "> **Why?**\n>\n> A."),
        (":::{admonition} Why?\n:class: tip\n\n\nA.\n:::", "> **Why?**\n>\n> A."),
        ("(a)=\n:::{exercise} E\n:label: b\nA.\n:::\n{ref}`a` {ref}`b`", "\n### Exercise: E\n\nA.\nE E"),
        (
            ":::{admonition} Why?\n:class: dropdown\nA.\n:::",
            "<details>\n<summary>Why?</summary>\n\nA.\n\n</details>",
        ),
        (
            ":::{dropdown} Hint 1: `a < b`\nA.\n:::",
            "<details>\n<summary>Hint 1: <code>a &lt; b</code></summary>\n\nA.\n\n</details>",
        ),
        (
            ":::{derivation} softmax\n$$\nx\n$$\n:::",
            "<details>\n<summary>The derivation. First solve <code>softmax</code>, then open it.</summary>\n\n"
            "$$\nx\n$$\n\n</details>",
        ),
        (":::{exercise} Softmax\n:label: card\n**4 points**\n:::", "### Exercise: Softmax\n\n**4 points**"),
        (":::{prf:theorem} Shift\nA.\n:::", "> **Theorem (Shift).**\n>\n> A."),
        (":::{prf:proof}\nA.\n:::", "**Proof.** A. ∎"),
        ("```{math}\nx = 1\n```", "$$\nx = 1\n$$"),
        ("```{math}\n:label: one\nx = 1\n```\n\n{eq}`one`", "$$\nx = 1 \\tag{1.1}\n$$\n\n(1.1)"),
        ("$$\nx \\allowbreak + y\n$$", "$$\nx \\hspace{0pt} + y\n$$"),
        ("$$\nx\n$$ (a)\n\n$$y$$ (b)\n\n{eq}`b`", "$$\nx \\tag{1.1}\n$$\n\n$$\ny \\tag{1.2}\n$$\n\n(1.2)"),
        ("$$\nx\n$$", "$$\nx\n$$"),
        (
            ":::{list-table} Costs\n:header-rows: 1\n\n* - a\n  - b\n* - `x`\n  - one | two\n    three\n:::",
            "*Costs*\n\n| a | b |\n| --- | --- |\n| `x` | one \\| two three |",
        ),
        (
            ":::{figure} images/a.png\n:name: fig-a\n:alt: An arrow\nA caption.\n:::\n\n{numref}`fig-a`",
            "![An arrow](images/a.png)\n\n**Fig. 1.1** A caption.\n\nFig. 1.1",
        ),
        (
            ":::{figure} images/a.png\n---\nname: f\nalt: |-\n  Up:\n  ↑\n---\n\nA caption.\n:::\n\n{numref}`f`",
            "![Up:\n↑](images/a.png)\n\n**Fig. 1.1** A caption.\n\nFig. 1.1",
        ),
        ("```{math}\n---\nlabel: one\n---\nx = 1\n```\n\n{eq}`one`", "$$\nx = 1 \\tag{1.1}\n$$\n\n(1.1)"),
        (":::{exercise} E\n---\nlabel: b\n---\nA.\n:::\n{ref}`b`", "### Exercise: E\n\nA.\nE"),
        (
            ":::{admonition} Why?\n---\nclass: 'tip'\n---\nA.\n\n---\n\nB.\n:::",
            "> **Why?**\n>\n> A.\n>\n> ---\n>\n> B.",
        ),
        (
            ":::{list-table}\n---\nheader-rows: 1\n---\n* - a\n  - b\n* - c\n  - d\n:::",
            "| a | b |\n| --- | --- |\n| c | d |",
        ),
        (":::{note} A *b*.\nC.\n:::", "> **Note**\n>\n> A *b*.\n> C."),
        ("{cite}`vaswani2017`", "(Vaswani et al. 2017)"),
        ("{cite:p}`vaswani2017, ba2016`", "(Vaswani et al. 2017; Ba and Kiros 2016)"),
        ("As {cite:t}`ba2016`\nsay", "As Ba and Kiros (2016)\nsay"),
        ("(here)=\n## Softmax\n\n{ref}`here`, {ref}`see\nthere <here>`", "\n## Softmax\n\nSoftmax, see\nthere"),
        ("{doc}`02_backward`, {doc}`next <02_backward>`", "Deriving the backward pass, next"),
        ("{term}`key`", "key"),
        ("``{cite}`nobody` `` and `{ref}`", "``{cite}`nobody` `` and `{ref}`"),
        ("% a comment\n\nA", "\n\nA"),
        ("- a\n\n  :::{note}\n  B\n  :::\n- c", "- a\n\n  > **Note**\n  >\n  > B\n- c"),
        ("(a)=\n{.off-core-path}\n## B\n\n{ref}`a`", "\n\n## B *(off the core path)*\n\nB"),
        (":::{reading-time}\n:::\n\n" + "word " * 1750, "**Time:** about 10 minutes to read.\n\n" + "word " * 1750),
        ("**{term}`keys <key>`**", "**keys**"),
        (
            "::::{question} Why, {term}`x`?\n:kind: words\n\nSay.\n\n:::{answer}\n{ref}`So <a>`.\n:::\n::::\n(a)=\n# A",
            "**Why, x?**\n\nSay.\n\n<details>\n<summary>An answer</summary>\n\nSo.\n\n</details>\n\n# A",
        ),
        ("| a | b |\n| - | - |\n| {term}`x` | {term}`y` |", "| a | b |\n| - | - |\n| x | y |"),
    ],
)
def test_directives_and_roles(plain: Convert, text: str, expected: str) -> None:
    assert plain(text) == expected


QUESTION = """(rows)=
## Rows

:::{question} Which of
:kind: prediction

- one
- two

```
1 2
```

- [ ] the
  columns, $x$

  Not so.

  $$
  x
  $$ (sum)

  See {ref}`rows`.
- [x] the rows

  Yes, {eq}`sum`.
:::"""
PLAIN_QUESTION = """
## Rows

**Which of**

- one
- two

```
1 2
```

1. the columns, $x$
2. the rows

<details>
<summary>The answers</summary>

1. **No.** Not so.

   $$
   x \\tag{1.1}
   $$

   See Rows.
2. **Yes.** Yes, (1.1).

</details>"""


def test_a_question_becomes_a_list_and_its_answers_are_folded(plain: Convert) -> None:
    assert re.sub(r" +$", "", plain(QUESTION), flags=re.MULTILINE) == PLAIN_QUESTION


def test_links_within_the_book_become_text(plain: Convert) -> None:
    text = "[next](02_backward.md), [](02_backward.md#x), [there](#here), [web](https://a.org/x.md)"
    assert plain(text) == "next, Deriving the backward pass, there, [web](https://a.org/x.md)"


def test_nested_blocks(plain: Convert) -> None:
    text = ":::::{note}\n::::{dropdown} A\n$$x$$ (q)\n::::\n:::::\n\n{eq}`q`"
    details = "> <details>\n> <summary>A</summary>\n>\n> $$\n> x \\tag{1.1}\n> $$\n>\n> </details>"
    assert plain(text) == f"> **Note**\n>\n{details}\n\n(1.1)"


def test_the_bibliography_lists_what_the_page_cites(plain: Convert) -> None:
    text = plain("{cite}`ba2016`\n\n```{bibliography}\n:filter: docname in docnames\n```")
    assert "Jimmy Ba and Jamie Kiros" in text
    assert "Vaswani" not in text


@pytest.mark.parametrize(
    "text, line, words",
    [
        ("A\n\n:::{tab-set}\nx\n:::", 3, "tab-set"),
        ("A\n\nB\n{sub}`x`", 4, "sub"),
        ("A\n\n:::{note}\n:class: x\n\nB {abbr}`x`\n:::", 6, "abbr"),
        ("A\n\n:::{note}\n---\nclass: x\n---\n\nB {abbr}`x`\n:::", 8, "abbr"),
        ("A\n\n::::{note}\nB\n\n:::{tip} C {abbr}`x`\n:::\n::::", 6, "abbr"),
        ("A\n\n::::{note}\nB\n\n:::{tip}\n---\nclass x\n---\n:::\n::::", 6, "options"),
        ("A {ref}`nowhere`", 1, "nowhere"),
        ("A\nB {cite}`nobody2020`", 2, "nobody2020"),
        (":::\nA\n:::", 1, "directive"),
        (":::{note}\n```{code-cell}\n1\n```\n:::", 2, "code cell"),
        (":::{list-table}\n:header-rows: 1\n\n* - a\n  - b\n* - c\n:::", 1, "lengths"),
        (":::{question} A\n:kind: mistake\n\n- [ ] a\n\n  B\n\n  {sub}`x`\n:::", 8, "sub"),
        (":::{question} A\n:kind: mistake\n\n- [ ] {sub}`x`\n\n  B\n:::", 4, "sub"),
        (":::{question} A\n:kind: mistake\n\n- [ ] a\n\n  B\n\nC\n:::", 8, "end with its choices"),
        ("A\n\n{.off-the-path}\n## B", 3, "off-core-path"),
    ],
)
def test_an_error_gives_file_and_line(plain: Convert, text: str, line: int, words: str) -> None:
    with pytest.raises(MystError, match=rf"chapters/01_attention.md, line {line}: .*{words}"):
        plain(text)


@pytest.mark.parametrize("chapter", thinned(chapter_names(), ["05_residual"], "the same for every chapter"))
def test_every_chapter_has_a_plain_form(chapter: str) -> None:
    text = convert(text_of(chapter), read_targets(REPO / "chapters"), chapter)
    for cell in cells(text):
        if cell.part == "prose":
            assert ":::" not in cell.source and "{ref}" not in cell.source and "{cite" not in cell.source
