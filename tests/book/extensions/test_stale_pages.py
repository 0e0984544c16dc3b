"""Which pages a build makes again after a change."""

import re

import pytest

from book.extensions import stale_pages
from tests.book.conftest import ROOT, build_book, built_page, page
from tests.choosing import thinned

pytestmark = pytest.mark.book


@pytest.mark.parametrize("moved", thinned([False, True], [True], "the same in a folder that stays"))
def test_a_changed_solution_is_executed_again_also_in_a_folder_that_was_moved(little_book, moved):
    folder = little_book
    (folder / "solutions" / "__init__.py").touch()
    attention = (ROOT / "solutions" / "attention.py").read_text(encoding="utf-8")
    page(folder, code="from solutions.attention import answer\nprint(answer())")
    for value in ("first", "second"):
        solution = f"{attention}\n\ndef answer():\n    return 'the {value} answer'\n"
        (folder / "solutions" / "attention.py").write_text(solution, encoding="utf-8")
        build_book(folder)
        assert f"the {value} answer" in built_page(folder)
        folder = folder.rename(folder.with_name("moved")) if moved else folder


def test_a_changed_style_is_in_the_book_without_running_cells_again(little_book):
    page(little_book, code="import random\nprint(random.random())")
    build_book(little_book)
    before = built_page(little_book)
    with (little_book / "book" / "static" / "house.css").open("a") as css:
        css.write("/* another style */")
    build_book(little_book)
    built_css = little_book / "_build" / "html" / "_static" / "house.css"
    assert "/* another style */" in built_css.read_text(encoding="utf-8")
    shown = re.search(r"0\.\d{6,}", before)[0]
    assert shown in built_page(little_book)


def test_a_chapter_depends_on_the_solutions_up_to_its_own(tmp_path):
    exercise = "autograder/exercises/backward/softmax_backward.py"
    for name in (
        "solutions/attention.py",
        "solutions/backward.py",
        "autograder/exercises/__init__.py",
        exercise,
        "check/scoring.py",
        "autograder/chapter/cards.py",
        "autograder/release/build.py",
        "chapters/figures.py",
        "chapters/01_attention.md",
        "chapters/02_backward.md",
        "chapters/notation.md",
        "chapters/mistakes.md",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("import indexes" if name == "chapters/mistakes.md" else name)

    def names(docname):
        paths = stale_pages.sources(tmp_path, docname, ["attention", "backward"])
        return {path.relative_to(tmp_path).as_posix() for path in paths}

    judged = {"solutions/attention.py", "check/scoring.py", "chapters/figures.py"}
    assert names("chapters/01_attention") == judged
    assert exercise in names("chapters/02_backward")
    assert {"solutions/attention.py", "solutions/backward.py"} <= names("chapters/notation")
    assert not {"chapters/01_attention.md", "autograder/exercises/__init__.py"} & names("chapters/notation")
    assert {exercise, "autograder/chapter/cards.py", "chapters/01_attention.md"} <= names("chapters/mistakes")
