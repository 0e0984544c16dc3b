"""Grade submissions as soon as they arrive.

`watch.py` waits for changes in an inbox: `inboxes.py` and `exchange_inbox.py` are the two kinds. `desk.py` decides how
often to look at the inbox and when a file is complete, and handles each submission. `attempt_log.py` counts the
attempts of a student.
"""
