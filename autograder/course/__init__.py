"""Read and write the parts of a course folder that do not need nbgrader.

`handout.py` reads the released notebook, and `seed.py` the seed that decides every student's cases. `student_ids.py`
says which ids a student can have, `roster_file.py` stores what else a roster says about them, and `teams.py` who handed
in together. `regrade_requests.py` keeps what students ask after grading. `comments.py` reads the comments that
instructors use more than once.

`configuration.py` sets up a course folder and reads its nbgrader_config.py, without nbgrader itself. `lock.py` lets one
command at a time write to the course. `files.py` writes a file completely or not at all, and reads JSON files.
"""
