"""Harm a student's own function in known ways, so that a test of it can be tried without any code of the book.

A public key names a harm, and `check` does it to the function that the student wrote. A harm changes the arguments or
the result, never the code, so it works for every right function. A few changes are harmless: the function stays right,
but returns different numbers where it promises no particular ones.

`harmed.py` applies a harm. `any_function.py` has those that work for any function, `drafts.py`, `layers.py`,
`look_ups.py` and `steps.py` those for functions with particular arguments.
"""
