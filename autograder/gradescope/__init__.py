"""Grade on Gradescope, one chapter for each of its programming assignments. Nothing here needs a gradebook.

`package.py` builds the zip file that an instructor uploads. Gradescope unpacks it to /autograder/source and runs
`setup.sh` once. For each submission it runs `run_autograder` in a new container. That starts `run.py`, which grades
with the code of `autograder grade`. `results.py` says what Gradescope shows.

The formats of the zip file and of results.json are described at
https://gradescope-autograders.readthedocs.io/en/latest/specs/.
"""
