"""Read the pictures, section titles and exercise cards of a chapter."""

import re

import pytest

from autograder.chapter import myst
from autograder.chapter.cards import Card, cards
from autograder.chapter.chapter import Chapter, cells, text_of

pytestmark = pytest.mark.autograder

TEXT = """
# The page

(exercise-first-one)=
:::{exercise} First
**4 points · difficulty ●○○ · 10 minutes** — With *stress*.
:::

::::{dropdown} Hint
:::{figure} images/hint.png
:alt: a hint
:::
::::

```{code-cell} python
:tags: [exercise]

## no title
def first_one(x):
    raise NotImplementedError
```

```{code-cell} python
:tags: [check]

check(first_one)
```

````{code-block} markdown
## No title
:::{figure} images/shown-only.png
:::
````

- :::{figure} images/last.png
  :alt: a last one
  :::

## A title of `code`

(elsewhere)=
### A title below it

:::{exercise} Second
**1 point · difficulty ●●● · 5 minutes**
:::

:::{exercise} Without a card
:::
"""


def test_pictures_are_found_everywhere_except_in_code() -> None:
    assert Chapter("01_attention", TEXT, ()).pictures == ["images/hint.png", "images/last.png"]


def test_section_titles_leave_out_headings_in_code() -> None:
    assert myst.section_titles(TEXT) == ["A title of `code`", "A title below it"]


def test_a_card_has_its_label_and_the_function_of_its_stub() -> None:
    first, second = cards(TEXT)
    assert first == Card(4, "●○○", 10, label="exercise-first-one", function="first_one")
    assert second == Card(1, "●●●", 5)


@pytest.mark.parametrize("chapter", ["10_project", "12_dictionary"])
def test_the_rows_of_a_rubric_add_up_to_the_points_of_its_text(chapter) -> None:
    text = text_of(chapter)
    (report,) = (cell for cell in cells(text) if cell.part == "by-hand")
    *_, rubric = text.partition("+++ {")[0].strip().split("\n\n")
    heads, _, *rows = rubric.split("\n")
    assert heads == "| | 3 points | 2 points | 1 point | 0 points |"  # formgrader's rubric.js reads these heads
    assert report.metadata["points"] == 3 * len(rows)
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 6 for row in rows)
