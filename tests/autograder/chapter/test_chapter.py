"""What a chapter tells of itself: its pictures, its titles, the cards of its exercises."""

import pytest

from autograder.chapter import myst
from autograder.chapter.cards import Card, cards
from autograder.chapter.chapter import Chapter

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


def test_a_picture_counts_wherever_it_stands_but_in_code():
    assert Chapter("01_attention", TEXT, ()).pictures == ["images/hint.png", "images/last.png"]


def test_titles_are_those_of_sections_and_not_of_code():
    assert myst.titles(TEXT) == ["A title of `code`", "A title below it"]


def test_a_card_has_its_label_and_the_function_of_its_stub():
    first, second = cards(TEXT)
    assert first == Card(4, "●○○", 10, label="exercise-first-one", function="first_one")
    assert second == Card(1, "●●●", 5)
