"""A warning fails the build and the next build."""

import pytest

from tests.book.conftest import jupyter_book, page

pytestmark = pytest.mark.book


def test_a_warning_fails_the_build_and_the_next_build(little_book):
    page(little_book, text="See {ref}`nowhere <there-is-no-such-place>`.")
    for _ in range(2):
        built = jupyter_book(little_book)
        assert built.returncode != 0 and "there-is-no-such-place" in built.stderr
