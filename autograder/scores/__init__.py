"""How many points a submission gets, and what its page says. Nothing here imports nbgrader or SQLAlchemy.

`counted.py` adds up a score, from the report, the points that instructors gave (`marks.py`), void exercises
(`voids.py`) and what late work still earns (`late.py`). `hand_in_times.py` says when a submission was handed in.
`attempts.py` keeps the graded attempts, and `which_attempt.py` reads which of them counts. `marks.py` also rounds
scores.

`notices.py` gathers what a page says besides the scores. The sentences about due dates are in `late.py`, those about
void exercises in `voids.py` and those about attempts in `gradebook/best_attempt.py`. `rows.py` has the result of
grading a class.
"""
