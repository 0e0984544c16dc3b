"""The `autograder` command, with a file for each subcommand.

`main.py` reads the command line, runs a subcommand and turns errors into messages. `common.py` says what the file of a
subcommand contains. A course uses the subcommands in this order:

1. Before the chapter: `release.py`, `roster.py`, `assign.py`, `due.py`, `extend.py`.
2. After the due date: `collect.py`, `submit_check.py`, `grade.py`, `audit.py`, `void.py`.
3. Before the feedback: `comments.py`, `report.py`, `export.py`, `feedback.py`.
4. After the feedback: `requests.py`, `answer.py`, `history.py`.

Authors use `doctor.py`, `exercise.py` and `mistakes.py`. Administrators use `certificates.py`. The subcommands that
only some courses need are in `hub/cli/`.
"""
