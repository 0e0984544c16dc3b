"""Turn chapters into what students get: notebooks, bundles, and the gate that refuses leaks.

`publish.py` releases each chapter that differs from its record (`record.py`). For this, `build.py` asks `doctor.py` for
faults, makes the notebook (`notebook.py`) and the files beside it (`bundle.py`), runs nbgrader, and lets `gate.py`
search the result for leaks. `secret_bodies.py` finds the bodies of solutions in any text, and says how much of a body
is a leak. `lending.py` says which solutions the book lends, `cell_needs.py` which exercises a cell needs, and
`at_hand.py` which earlier functions an exercise calls. `tutor.md` is what a bundle asks of coding agents.
"""

from autograder.layout import do_without_address_checks

do_without_address_checks()
