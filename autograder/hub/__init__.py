"""What only some courses need: a JupyterHub, its exchange, grading on arrival, and scores sent over LTI.

Nothing else imports this room, except that `cli/main` adds the commands of `cli/` to its own: `autograder watch` and
`autograder passback`.

- `watching/` grades submissions as they arrive, in nbgrader's exchange or in `course/submitted`.
- `passback/` sends scores to the learning platform from which students open the hub.
- `exchange.py` is for an exchange on a machine where students have accounts. `nbgrader_config.py` names it.
- `formgrader_tab.py` is a server extension with which instructors share formgrader.
- `deploy/` has the configuration of the hub, its demonstration and its README. It is not a package: you copy its files.

The packages that this room needs are the extra `hub` of `pyproject.toml`. `make` installs only those that nbgrader and
JupyterLab need too; `make formgrader` and `make test` install all. `.venv/bin/pytest tests/autograder/hub` runs the
tests of the room. Tests whose packages are missing are skipped, and so are those of a running hub without root or
without `make hub formgrader`.
"""
