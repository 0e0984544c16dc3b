"""The instructor's pages about a graded class.

`entries.py` reads the class from the course folder, and `counts.py` counts its outcomes. `alike.py` finds students with
similar code, and `cohorts.py` compares the class with earlier ones. `figures.py` draws the figures, and `pages.py`
writes the HTML. `pseudonyms.py` replaces the students' ids.
"""
