"""Grade submissions as soon as they arrive.

`watch.py` looks for new submissions in an inbox: `inboxes.py` and `exchange_inbox.py` are the two kinds. `desk.py`
handles each submission, and `attempt_log.py` counts the attempts of a student.
"""
