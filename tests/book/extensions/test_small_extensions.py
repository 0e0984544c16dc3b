"""The small Sphinx extensions: nothing from elsewhere, warnings are errors, no stale output, no lost comma."""

import re

import pytest

from book.extensions import external_assets, stale_pages
from tests.book.conftest import built_page, jupyter_book, jupyter_book_command, page

pytestmark = pytest.mark.book


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('<script src="https://cdn.example/x.js"></script>', ["https://cdn.example/x.js"]),
        ("<script async src=//cdn.example/x.js>", ["//cdn.example/x.js"]),
        ('<link href="http://a.example/s.css" rel="stylesheet">', ["http://a.example/s.css"]),
        ("@import 'https://fonts.example/f';", ["https://fonts.example/f"]),
        ("src: url(https://fonts.example/f.woff)", ["https://fonts.example/f.woff"]),
        ('<img alt="" src="https://a.example/i.png">', ["https://a.example/i.png"]),
        ('<a href="https://arxiv.org/abs/1706.03762">the paper</a>', []),
        ('<link rel="next" href="guide.html"><img src="data:image/png;base64,AA==">', []),
    ],
)
def test_what_a_browser_would_fetch_is_found(text, found):
    assert external_assets.external_assets(text) == found


def test_a_good_page_builds_and_is_not_executed_again(little_book):
    page(little_book)
    built = jupyter_book_command(little_book)
    assert built.returncode == 0 and "WARNING" not in built.stderr
    again = jupyter_book(little_book)
    assert again.returncode == 0 and "0 added, 0 changed" in again.stdout


def test_a_formula_keeps_the_punctuation_that_touches_it(little_book):
    page(little_book, text="A formula ($x$), and $y$ without.")
    assert jupyter_book(little_book).returncode == 0
    x, y = (rf'<span class="math notranslate nohighlight">\({name}\)</span>' for name in "xy")
    assert f'A formula <span class="unbroken">({x}),</span> and {y} without.' in built_page(little_book)


def test_equal_texts_keep_a_full_stop_each(little_book):
    page(little_book, text="First $x$, then *one*, then $y$, then *two*. So $z$. Or $z$.")
    assert jupyter_book(little_book).returncode == 0
    (paragraph,) = re.findall(r"<p>First.*?</p>", built_page(little_book))
    assert re.sub(r"<.*?>", "", paragraph) == r"First \(x\), then one, then \(y\), then two. So \(z\). Or \(z\)."


def test_a_warning_fails_the_build_and_the_next_one_too(little_book):
    page(little_book, text="See {ref}`nowhere <there-is-no-such-place>`.")
    for _ in range(2):
        built = jupyter_book(little_book)
        assert built.returncode != 0 and "there-is-no-such-place" in built.stderr


def test_a_cell_that_fails_stops_the_build(little_book):
    page(little_book, code="raise RuntimeError('a cell that fails')")
    built = jupyter_book(little_book)
    assert built.returncode != 0 and "a cell that fails" in built.stderr


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
    """A book of two pages, each with one cell."""
    (little_book / "_toc.yml").write_text(
        "format: jb-book\nroot: chapters/01_attention\nchapters:\n- file: chapters/other\n"
    )
    page(little_book, other_code)
    (little_book / "chapters" / "01_attention.md").rename(little_book / "chapters" / "other.md")
    page(little_book, code)


def test_pages_run_side_by_side(little_book):
    two_pages(little_book, WAITS.format(mine="one", other="two"), WAITS.format(mine="two", other="one"))
    built = jupyter_book(little_book)
    assert built.returncode == 0, built.stderr
    assert "one met two" in built_page(little_book)
    assert sorted((little_book / "chapters" / "runs").read_text().split()) == ["one", "two"]  # none was run again


def test_a_cell_that_fails_beside_another_page_stops_the_build(little_book):
    two_pages(little_book, "print('all is well')", "raise RuntimeError('a cell that fails')")
    built = jupyter_book(little_book)
    assert built.returncode != 0 and "a cell that fails" in built.stderr


def test_nothing_runs_where_nothing_is_to_run(little_book):
    two_pages(little_book, "open('ran', 'w')", "open('ran', 'w')")
    config = little_book / "_config.yml"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace("execute_notebooks: cache", 'execute_notebooks: "off"'), encoding="utf-8")
    built = jupyter_book(little_book)
    assert built.returncode == 0, built.stderr
    assert not list(little_book.rglob("ran"))


def test_an_external_picture_fails_the_build(little_book):
    page(little_book, text='<img alt="a" src="https://a.example/i.png">')
    built = jupyter_book(little_book)
    assert built.returncode != 0 and "https://a.example/i.png from another machine" in built.stderr


@pytest.mark.parametrize("moved", [False, True])
def test_a_changed_solution_is_executed_again_also_in_a_folder_that_was_moved(little_book, moved):
    folder = little_book
    (folder / "solutions" / "__init__.py").touch()
    page(folder, code="from solutions.attention import answer\nprint(answer())")
    for value in ("first", "second"):
        solution = f"def answer():\n    return 'the {value} answer'\n"
        (folder / "solutions" / "attention.py").write_text(solution, encoding="utf-8")
        built = jupyter_book(folder)
        assert built.returncode == 0, built.stderr
        assert f"the {value} answer" in built_page(folder)
        folder = folder.rename(folder.with_name("moved")) if moved else folder


def test_a_changed_style_is_in_the_book_without_another_run(little_book):
    page(little_book, code="import random\nprint(random.random())")
    assert jupyter_book(little_book).returncode == 0
    before = built_page(little_book)
    with (little_book / "book" / "static" / "house.css").open("a") as css:
        css.write("/* another style */")
    assert jupyter_book(little_book).returncode == 0
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
        "check/judge.py",
        "autograder/chapter/cards.py",
        "autograder/release/publish.py",
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

    judged = {"solutions/attention.py", "check/judge.py", "chapters/figures.py"}
    assert names("chapters/01_attention") == judged
    assert exercise in names("chapters/02_backward")
    assert {"solutions/attention.py", "solutions/backward.py"} <= names("chapters/notation")
    assert not {"chapters/01_attention.md", "autograder/exercises/__init__.py"} & names("chapters/notation")
    assert {exercise, "autograder/chapter/cards.py", "chapters/01_attention.md"} <= names("chapters/mistakes")
