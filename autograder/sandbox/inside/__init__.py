"""The package that runs inside the sandbox, together with the student's code. Of our code it imports only `check`.

`forking.py` is the warm parent, which forks a process for each run, and `walls.py` isolates each fork. `confine.py`
sets the limits that a process cannot lift again. Both ask `kernel.py` for calls that the standard library lacks.

`child.py` is the process that runs a student's code. `frames.py` carries its messages, and `cells.py` runs the cells of
the notebook. `stand_ins.py` makes placeholders for functions that the grader answers, `refusing.py` for modules that
the chapter does not import, and `silent_ipython.py` for IPython. `reference.py` answers an exercise in a process of its
own. `probing.py` tries to break the promises of the sandbox.
"""
