"""nbgrader's source notebook of a chapter."""

import importlib
import math
import re
import shutil
import zipfile

import nbformat
import pytest
from nbgrader.nbgraderformat import reads

from autograder.chapter.chapter import read_chapter, section_addresses
from autograder.chapter.myst import section_titles
from autograder.chapter.targets import read_targets
from autograder.layout import REPO
from autograder.release.notebook import BEGIN, END, solved, source_notebook, to_bytes
from tests.autograder.release.small_repo import CHAPTER, by_grade_id, configure

pytestmark = pytest.mark.release


def chapter_and_notebook(repo):
    chapter = read_chapter(CHAPTER, repo)
    return chapter, source_notebook(chapter, read_targets(repo / "chapters"), section_addresses(chapter, repo))


def test_every_cell_has_nbgraders_metadata(built):
    chapter, notebook = chapter_and_notebook(built[0])
    reads(nbformat.writes(notebook), as_version=4)
    cells = by_grade_id(notebook)
    assert len(cells) == len(notebook.cells) == len({cell.id for cell in notebook.cells})
    assert list(cells)[:5] == ["prose-001", "folder", "setup", "prose-002", "demo-001"]
    for exercise in chapter.exercises:
        about = cells[exercise.name].metadata.nbgrader
        assert (about.solution, about.grade, about.locked) == (True, False, False)
        about = cells[f"check-{exercise.name}"].metadata.nbgrader
        assert (about.solution, about.grade, about.locked, about.points) == (False, True, True, exercise.points)
    for name, cell in cells.items():
        about = cell.metadata.nbgrader
        assert about.locked != about.solution
        assert cell.metadata.deletable is False
        assert cell.metadata.get("editable", True) is about.solution
        assert "mystnb" not in cell.metadata, name
        given = cell.cell_type == "code" and about.locked and name not in ("folder", "setup", "what-is-left")
        assert cell.metadata.get("tags") == (["raises-exception"] if given else None), name
    assert list(cells)[-1] == "what-is-left"
    assert cells["what-is-left"].source.endswith(f'what_is_left("{CHAPTER}", globals())')


def test_prose_becomes_plain_markdown_and_a_caption_follows_its_figure(built):
    cells = by_grade_id(chapter_and_notebook(built[0])[1])
    assert cells["prose-001"].source == "# Attention\n\nAs (Vaswani et al. 2017) say, see Attention."
    assert cells["prose-002"].source.endswith("> **Note**\n>\n> Keys are found, values are handed over.")
    assert cells["demo-001"].metadata.jupyter.source_hidden is True
    assert cells["prose-003"].source == "**Fig. 1.1** One row, with *emphasis*."


def test_sections_link_to_the_book_if_it_has_an_address(copy):
    assert "This section in the book" not in nbformat.writes(chapter_and_notebook(copy[0])[1])
    configure(copy[0])
    prose = by_grade_id(chapter_and_notebook(copy[0])[1])["prose-002"].source
    address = f"https://book.example/html/chapters/{CHAPTER}.html#ideas"
    assert prose.startswith(f"## Ideas\n\n[This section in the book]({address})\n\n> **Note**")


def test_every_section_of_the_book_is_linked_once():
    chapter = read_chapter(CHAPTER)
    sections = {title: f"<{title}>" for title in section_titles(chapter.text)}
    notebook = source_notebook(chapter, read_targets(REPO / "chapters"), sections)
    linked = [
        re.findall(r"\[This section in the book\]\(<(.*)>\)$", cell.source, re.MULTILINE) for cell in notebook.cells
    ]
    assert sum(linked, []) == section_titles(chapter.text)


def test_the_reference_cells_are_left_out(built):
    assert "from solutions.attention" not in nbformat.writes(chapter_and_notebook(built[0])[1])


def test_a_solution_keeps_the_stubs_head_and_runs(built):
    chapter, notebook = chapter_and_notebook(built[0])
    cell = by_grade_id(notebook)["attention"].source
    stub = chapter.stubs["attention"]
    head = stub.removesuffix("    raise NotImplementedError")
    assert cell.startswith(f"{head}    {BEGIN}\n    weights = attention_weights(queries, keys)\n")
    assert cell.endswith(f"\n    {END}")


def test_a_bug_hunts_solution_is_the_whole_function(built):
    cell = by_grade_id(chapter_and_notebook(built[0])[1])["repaired_attention"].source
    assert cell.startswith(f"{BEGIN}\ndef repaired_attention(")
    assert cell.endswith(f"\n{END}")


def test_a_solution_includes_what_it_uses(tmp_path, monkeypatch):
    (tmp_path / "with_helpers.py").write_text(
        "import math\nimport cmath\nfrom operator import add, mul\n\nBASE = 2\nTOP = BASE + 1\nUNUSED = 3\n\n\n"
        "def _help(x):\n    return add(TOP, math.floor(x))\n\n\n"
        "def given(x):\n    return mul(x, x)\n\n\n"
        'def f(x):\n    """F."""\n    return _help(given(x)) if x else f(1)\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    stub = 'def f(x):\n    """F."""\n    raise NotImplementedError'
    solution = solved(stub, importlib.import_module("with_helpers").f, {"given", "math"})
    for absent in ("import math", "cmath", "UNUSED", "def given"):
        assert absent not in solution
    assert solution.count("def f(") == 1
    namespace = {"math": math, "given": lambda x: x}
    exec(solution, namespace)
    assert namespace["f"](1.5) == 4


def test_building_twice_gives_the_same_bytes(built):
    first, second = (to_bytes(chapter_and_notebook(built[0])[1]) for _ in range(2))
    assert first == second


def test_a_notebook_without_its_folder_says_what_to_do_or_unpacks_it(built, tmp_path, monkeypatch):
    cell = by_grade_id(chapter_and_notebook(built[0])[1])["folder"]
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match="Unzip the zip file that it came in, and open the notebook in that"):
        exec(cell.source, {})
    shutil.copy(built[1] / "release" / f"{CHAPTER}.zip", tmp_path / "as downloaded (1).zip")
    (tmp_path / f"{CHAPTER}.ipynb").write_text("mine")
    with zipfile.ZipFile(tmp_path / "another.zip", "w") as archive:
        archive.writestr("notes.txt", "hello")
    exec(cell.source, {})
    assert (tmp_path / "check" / "__init__.py").exists() and not (tmp_path / "notes.txt").exists()
    assert (tmp_path / f"{CHAPTER}.ipynb").read_text() == "mine"
    exec(cell.source, {})
