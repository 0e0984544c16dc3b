"""The files and tables of Canvas and Moodle: which student they belong to, and how to write them.

For a download of submissions, `file_names.py` reads what the platform wrote into the names of the files, and
`student_finder.py` finds the student with that and with the roster (`known_students.py`).

For a roster, `sheets.py` reads the table, `rosters.py` finds the people in it, and `roster_ids.py` gives each an id.

For what goes back, `grade_tables.py` writes new tables of grades, `filled_tables.py` fills scores into a platform's own
table, and `feedback_names.py` names the files of feedback.
"""
