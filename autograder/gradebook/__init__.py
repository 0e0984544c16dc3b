"""Read and write nbgrader's gradebook. Only this room writes scores.

`class_run.py` grades a class. `write.py` asks `state.py` what is recorded already, and lets `batch_writer.py` write the
scores (`counting.py`), the notebooks (`rebuilding.py`) and the pages. `plugin.py` does the same for nbgrader's own
commands. `engine.py` opens the gradebook, `queries.py` reads it, and `score_log.py` logs every change of a score.
`assignments.py` makes releases; `deadlines.py`, `voiding.py` and `regrading.py` change what a graded class gets.
"""

from autograder.layout import do_without_address_checks

do_without_address_checks()
