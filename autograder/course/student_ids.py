"""Which ids a student can have: each names a folder, is part of nbgrader's patterns, and is shown on a terminal."""

MAX_BYTES = 200  # a file system takes 255, and something is put before and after
_PATTERNS = set("*?[]/\\")


def why_not_an_id(student: str) -> str:
    """Why nobody can be called so, in plain words; empty if somebody can."""
    if not student.isprintable():  # lone surrogates, which stand for bytes that are no text, are not printable either
        return "an id with control characters, or with bytes that are no text, cannot be handled"
    if len(student.encode()) > MAX_BYTES:
        return f"an id of more than {MAX_BYTES} bytes cannot be handled"
    if _PATTERNS & set(student) or student.startswith(".") or student != student.strip():
        return "nbgrader cannot handle an id with *, ?, [, ] or a slash in it, or with a dot or a space at its end"
    return "" if student else "its name does not say whose it is"
