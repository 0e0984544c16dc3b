"""Decide which ids a student can have.

An id becomes the name of a folder and part of nbgrader's glob patterns, and terminals show it.
"""

MAX_BYTES = 200  # file systems allow 255 bytes, and file names add text before and after the id
_PATTERNS = set("*?[]/\\")


def reason_to_reject_id(student: str) -> str:
    """Return why a student cannot have this id; "" if the id is fine."""
    if not student.isprintable():  # also refuses lone surrogates, which stand for bytes that are not text
        return "an id must not contain control characters or bytes that are not text"
    if len(student.encode()) > MAX_BYTES:
        return f"an id must have no more than {MAX_BYTES} bytes"
    if _PATTERNS & set(student) or student.startswith(".") or student != student.strip():
        return (
            "nbgrader cannot handle an id that contains *, ?, [, ] or a slash, begins with a dot, or begins or ends "
            "with a space"
        )
    return "" if student else "its name contains no student id"
