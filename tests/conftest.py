"""One browser for all tests that look at pages."""

import shutil

import pytest


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium that reaches no other machine; skipped, loudly, where there is none."""
    from tests.book.devtools import Browser

    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None:
        pytest.skip("NO CHROMIUM: pages were not tried in a browser. Install one, `apt-get install chromium`, say.")
    with Browser(program) as started:
        yield started
