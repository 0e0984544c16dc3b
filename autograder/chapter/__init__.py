"""Read a chapter: its cells, its MyST Markdown, its exercises' cards, and the targets of its links.

`myst.py` parses MyST. `chapter.py` gives each cell its part in the notebook, `cards.py` reads the points and minutes of
the exercises, and `targets.py` collects the targets of links on all pages. From these, `plain_markdown.py` makes the
text of a notebook, and `reading_time.py` estimates how long a chapter takes.
"""
