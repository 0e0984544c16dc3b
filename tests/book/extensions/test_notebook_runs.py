"""Which pages the build runs, in what order, and what it does when a cell fails."""

import pytest

from tests.book.conftest import build_book, built_page, jupyter_book, page
from tests.book.live.conftest import configure

pytestmark = pytest.mark.book


def test_a_page_builds_and_is_not_executed_again(little_book):
    page(little_book, code="print('here')")
    built = jupyter_book(little_book)
    assert built.returncode == 0 and "WARNING" not in built.stderr
    again = jupyter_book(little_book)
    assert again.returncode == 0 and "0 added, 0 changed" in again.stdout


WAITS = """\
import time
from pathlib import Path

with open("runs", "a") as runs:
    print("{mine}", file=runs)
Path("{mine}").touch()
end = time.monotonic() + 60
while not Path("{other}").exists():
    assert time.monotonic() < end, "the other page does not run"
    time.sleep(0.02)
print("{mine} met {other}")
"""


def two_pages(little_book, code, other_code):
    """Write a book of two pages, each with one cell."""
    (little_book / "_toc.yml").write_text(
        "format: jb-book\nroot: chapters/01_attention\nchapters:\n- file: chapters/other\n"
    )
    page(little_book, other_code)
    (little_book / "chapters" / "01_attention.md").rename(little_book / "chapters" / "other.md")
    page(little_book, code)


def test_pages_run_in_parallel(little_book):
    two_pages(little_book, WAITS.format(mine="one", other="two"), WAITS.format(mine="two", other="one"))
    build_book(little_book)
    assert "one met two" in built_page(little_book)
    assert sorted((little_book / "chapters" / "runs").read_text().split()) == ["one", "two"]  # each page ran once


def test_a_cell_that_fails_while_another_page_runs_stops_the_build(little_book):
    two_pages(little_book, "print('all is well')", "raise RuntimeError('a cell that fails')")
    built = jupyter_book(little_book)
    assert built.returncode != 0 and "a cell that fails" in built.stderr


def test_a_page_without_code_starts_no_kernel(little_book):
    two_pages(little_book, "open('ran', 'w')", "open('ran', 'w')")
    config = little_book / "_config.yml"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace("execute_notebooks: cache", 'execute_notebooks: "off"'), encoding="utf-8")
    build_book(little_book)
    assert not list(little_book.rglob("ran"))


def test_a_kernel_has_as_long_to_start_as_a_cell_to_run(little_book):
    configure(little_book, lambda config: config["execute"].update(timeout=1))
    (little_book / "ipykernel_launcher.py").write_text("import signal\nsignal.pause()\n")  # Python finds it first
    page(little_book, code="print('never')")
    built = jupyter_book(little_book)
    assert built.returncode != 0 and "Kernel didn't respond in 1 seconds" in built.stdout + built.stderr
