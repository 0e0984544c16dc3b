"""Write exercises, make answer keys from them, and check with kill tables that the keys catch every mistake.

`exercise.py` describes an exercise, and `autograder/exercises/` holds one file for each. `make_key.py` draws the
cases of a key from a seed. `answer_key_cache.py` caches the public keys under a digest of everything that decides
them.

`short_mistakes.py` is a short form for wrong functions. `known_mistakes.py` runs the wrong functions that an author
wrote, and `inherited.py` those of the exercises that a reference calls. `slips.py` makes small changes in a right
function. Public keys hold the results of both as short numbers (`fingerprinting.py`, `sketching.py`).
`problems.py` says which mistakes a key confuses or misses, and `kill_table.py` shows which case catches each.

An exercise may ask for a test (`functions_to_test.py`, `blind_tests.py`), for the order of some training runs
(`runs_to_order.py`), or for trained weights (`hand_in.py`).
"""
