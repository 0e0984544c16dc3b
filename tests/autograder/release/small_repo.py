"""A repo of one short chapter, for tests that build, break and release chapters."""

import inspect
import shutil

from autograder.authoring.exercise import exercises_of
from autograder.chapter.chapter import definition_in, docstring_statements
from autograder.layout import REPO
from autograder.release import bundle
from tests.notebook_page import FRONT_MATTER

CHAPTER = "01_attention"

HEAD = """
(top)=
# Attention

As {cite}`vaswani2017` say, see {ref}`top`.

```{code-cell} ipython3
:tags: [setup]

import math

import numpy as np

from check import check
```

## Ideas

:::{note}
Keys are found, values are handed over.
:::

```{code-cell} ipython3
---
tags: [hide-input]
mystnb:
  figure:
    name: fig-row
    caption: |
      One row, with *emphasis*.
---
import figures

figures.show(np.exp(np.array([1.0, 2.0])))
```
"""

TRIPLE = """
:::{{exercise}} Write {name}
**4 points**
:::

```{{code-cell}} ipython3
:tags: [exercise]

{stub}
```

```{{code-cell}} ipython3
:tags: [remove-cell, reference]

from solutions.attention import {name}
```

```{{code-cell}} ipython3
:tags: [check]

check({name})
```
"""

BUG_HUNT = '''def {name}(queries, keys, values):
    """{doc}"""
    scores = np.einsum("...qd,...kd->...qk", queries, keys)
    output = scores.sum(-1, keepdims=True) * values.mean()
    return output / np.sqrt(queries.shape[-1])'''

TAIL = """
```{code-cell} ipython3
print(softmax(np.array([1.0, 2.0])))
```
"""

BIBLIOGRAPHY = """
@article{vaswani2017, author = {Vaswani, Ashish and Shazeer, Noam and Parmar, Niki}, title = {Attention},
  journal = {arXiv}, year = {2017}}
"""


def build(folder):
    """Write the repo into a folder, with a chapter 1 that has every exercise of the real one; return the folder."""
    for room in ("chapters", "solutions"):
        (folder / room).mkdir(parents=True)
    for name in ("attention.py", "__init__.py"):
        shutil.copy(REPO / "solutions" / name, folder / "solutions" / name)
    for name in ("nbgrader_config.py", *bundle.PINS, "CITATION.cff", "_config.yml"):
        shutil.copy(REPO / name, folder / name)
    (folder / "chapters" / "references.bib").write_text(BIBLIOGRAPHY)
    (folder / "chapters" / "figures.py").write_text("import colours\n\n\ndef show(x):\n    return colours.INK, x\n")
    (folder / "chapters" / "colours.py").write_text('INK = "currentColor"\n')
    (folder / "chapters" / "unused.py").write_text("")
    (folder / "chapters" / "01_attention.md").write_text(chapter_text(), encoding="utf-8")
    return folder


def chapter_text():
    exercises = exercises_of(CHAPTER)
    sections = {exercise.section for exercise in exercises}
    sections |= {mistake.reread for exercise in exercises for mistake, _ in exercise.mistakes.values()}
    headings = "".join(f"\n## {section}\n" for section in sorted(sections))
    triples = [TRIPLE.format(name=exercise.name, stub=stub(exercise.reference)) for exercise in exercises]
    return "".join([FRONT_MATTER, HEAD, headings, *triples, TAIL])


def stub(reference):
    """Return the stub of a reference: its signature and docstring, or for the bug hunt a wrong function."""
    source = inspect.getsource(reference)
    if reference.__name__ == "repaired_attention":
        return BUG_HUNT.format(name=reference.__name__, doc=reference.__doc__)
    end = docstring_statements(definition_in(source))[0].end_lineno
    return "\n".join([*source.split("\n")[:end], "    raise NotImplementedError"])


def change(repo, old, new):
    """Replace a text in the chapter."""
    file = repo / "chapters" / f"{CHAPTER}.md"
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def configure(repo):
    """Set the book's address in its configuration."""
    file = repo / "_config.yml"
    text = file.read_text(encoding="utf-8")
    assert 'baseurl: ""' in text
    file.write_text(text.replace('baseurl: ""', "baseurl: https://book.example/html/"), encoding="utf-8")


def by_grade_id(notebook):
    return {cell.metadata.nbgrader.grade_id: cell for cell in notebook.cells}
