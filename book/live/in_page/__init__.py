"""Scripts and Python that run in the reader's browser. A page gets this whole folder, except for this file.

In the worker, `exercise_run.py` checks an exercise, `cell_run.py` runs a cell of the chapter, and `rest.py` imports the
modules of Python that the page has not loaded.
"""
