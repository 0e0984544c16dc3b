"""The book has the files for coding agents at its address."""

from types import SimpleNamespace

import pytest

from autograder.release.bundle import tutor_files
from book.extensions.tutor_files import write_files

pytestmark = pytest.mark.book


@pytest.mark.parametrize(("builder", "exception"), [("html", None), ("epub", None), ("html", ValueError())])
def test_a_book_of_pages_that_is_complete_has_the_files(tmp_path, builder, exception):
    write_files(SimpleNamespace(outdir=tmp_path, builder=SimpleNamespace(name=builder)), exception)
    written = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert written == (tutor_files() if (builder, exception) == ("html", None) else {})
