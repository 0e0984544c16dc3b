"""Release the chapters of "The Transformer by Hand", grade what students hand in, and export their scores.

Every room may import the files of this folder. `layout.py` knows the repository's folders, `version.py` the version of
the book, and `problem_reports.py` where readers report a problem.
"""
