"""Sphinx extension: a build with a warning is a failed build, without anyone having to remember `-W`.

It fails at the end and not at the first one, so that an author sees every warning in one go.
"""

from sphinx.errors import SphinxError


def refuse_warnings(app, exception):
    """Raising here also makes Sphinx forget what it read, so that the next build cannot skip the faulty page."""
    if exception is None and app._warncount:
        raise SphinxError(f"{app._warncount} warning(s), printed above; in this book each one is an error")


def setup(app):
    app.connect("build-finished", refuse_warnings, priority=1000)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
