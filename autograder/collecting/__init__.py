"""Bring submissions and rosters from a learning platform into a course folder, and take feedback back.

`collect.py` turns a download into submissions. It takes these steps:

1. `zip_or_folder.py` lists the files of the download. `zip_entry_names.py` decodes the names in a zip file.
2. `find_students.py` finds the student who handed in each file, with `platforms/student_finder.py`. A file that could
   be the student's submission becomes a candidate (`candidates.py`).
3. `latest_notebooks.py` chooses the notebook of each student that counts. `scripts.py` reads candidates that are Python
   files, and `choosing.py` compares the candidates.
4. `scores/hand_in_times.py` decides when the student handed the notebook in. `late_labels.py` records the times that
   only Canvas's label LATE decided.
5. `gradebook/submitted_folder.py` places the notebooks in `course/submitted`.
6. `file_prefixes.py` stores what the platform calls the students in the names of their files. `feedback_zip.py` uses
   these names when it packs the feedback for the platform.

`roster.py` imports the students of a platform's table, which `platforms/rosters.py` reads.
"""
