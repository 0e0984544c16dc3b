"""When the tests use the book that `make` has built, instead of building it again."""

from types import SimpleNamespace

import pytest

from book.extensions.build_record import BuildRecord, is_current, sources_digest
from tests.book.conftest import build_book, build_unless_current, jupyter_book, page

pytestmark = pytest.mark.book


def write(file, text):
    """Write text into a file, and return the file."""
    file.write_text(text, encoding="utf-8")
    return file


def test_a_built_book_is_used_only_if_its_sources_are_those_that_it_was_built_from(little_book):
    page(little_book)
    config = little_book / "_config.yml"
    lends = config.read_text(encoding="utf-8").replace("lend: nothing", "lend: all")
    other = write(little_book / "other.yml", lends)
    build_book(little_book, "--config", "other.yml")
    assert not is_current(little_book), "it was built with another configuration"
    other.unlink()
    output = build_unless_current(little_book, jupyter_book)
    assert output.startswith("0\n") and is_current(little_book)
    assert build_unless_current(little_book, build=None) == "0\n"

    changes = {
        little_book / "chapters" / "01_attention.md": "# Another page",
        little_book / "book" / "static" / "house.css": "/* another style */",
        little_book / "solutions" / "new.py": "",
        config: lends,
    }
    for file, changed in changes.items():
        before = file.read_bytes() if file.exists() else None
        write(file, changed)
        assert not is_current(little_book), file.name
        file.write_bytes(before) if before is not None else file.unlink()
        assert is_current(little_book)
    (little_book / "_build" / "html" / "index.html").unlink()
    assert not is_current(little_book), "its pages are gone"


def test_a_change_of_what_only_a_hub_needs_leaves_the_book_current(tmp_path):
    hub = tmp_path / "autograder" / "hub"
    hub.mkdir(parents=True)
    before = sources_digest(tmp_path)
    write(hub / "README.md", "# Another page")
    assert sources_digest(tmp_path) == before
    write(hub.parent / "layout.py", "")
    assert sources_digest(tmp_path) != before


def test_a_build_that_fails_or_has_not_ended_leaves_no_record(tmp_path):
    pages = tmp_path / "_build" / "html"
    pages.mkdir(parents=True)
    app = SimpleNamespace(outdir=pages, builder=SimpleNamespace(name="html"))
    record = BuildRecord()
    record.sources = "a digest"
    record.save(app, None)
    assert pages.with_name("html.sources").exists()
    record.delete(app)
    record.save(app, RuntimeError())
    assert not pages.with_name("html.sources").exists()
