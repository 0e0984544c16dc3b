"""Sphinx extension: put the files that ask coding agents to be a tutor at the book's address, as in every bundle."""

from pathlib import Path

from sphinx.application import Sphinx

from autograder.release.bundle import tutor_files, write


def write_files(app: Sphinx, exception: Exception | None) -> None:
    if exception is None and app.builder.name == "html":
        write(tutor_files(), Path(app.outdir))


def setup(app: Sphinx) -> None:
    app.connect("build-finished", write_files)
