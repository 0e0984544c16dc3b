"""How many points a submission gets, and what its page says. Nothing here imports nbgrader or SQLAlchemy.

`counted.py` adds up a score, from the report, the points that instructors gave (`marks.py`), void exercises
(`voids.py`) and what late work still earns (`late.py`). `attempts.py` keeps the graded attempts, and
`which_attempt.py` reads which of them counts.
"""
