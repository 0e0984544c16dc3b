"""Turn the bytes of a submitted file into a report, without nbgrader. `grade.py` takes these steps:

1. `submitted_file.py` reads the file, `notebook_file.py` parses it, and `reading.py` finds the answers among its
   cells. None of them runs anything.
2. `cells_to_run.py` chooses the cells to run, and `check/magics.py` comments out the notebook commands in them.
3. `course/seed.py` derives the seeds of this file's cases from the course's seed and the file's bytes, and
   `authoring/make_key.py` makes the cases.
4. `sandbox/submission.py` runs the cells and calls the functions. `redaction.py` removes from the outcomes what
   students must not see.
5. `judging.py` judges the outcomes with `check/scoring.py`. It runs the known mistakes only where an answer is
   wrong.
6. `follow_through.py` grades an exercise that calls a wrong exercise once more, with right functions in its place.
   `dependencies.py` finds these calls. The better result counts.
7. `report.py` stores the results. A report's name is a digest of everything that decides it, which `assignment.py`
   lists: the submission, the release, the seed, our code and the versions of its packages. After a change of any of
   them, the next `grade` makes the report again.

`submissions.py` lists the submitted files, and `queue.py` keeps several workers busy, by default as many as `jobs.py`
says. `worker.py` grades one file: in a thread of the command (`client.py`), in a process of that thread's own
(`own_process.py`), or on another machine (`cluster.py`). Another machine is not trusted, so `replies.py` compares its
replies with the request, and `unpickling.py` refuses pickles that name code.

A chapter may also ask for trained weights. `handed_in_weights.py` finds them in a submission, `grade_weights.py`
decodes withheld words with them in a sandbox, and `audit.py` compares the weights of a class.
"""
