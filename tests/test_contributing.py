"""CONTRIBUTING.md and the docstrings of the rooms name files that exist, and the links in Markdown files work."""

import ast
import re
from itertools import product

import pytest

from autograder.layout import REPO

pytestmark = pytest.mark.autograder
TEXT = (REPO / "CONTRIBUTING.md").read_text(encoding="utf-8")
# In the text names are between backticks, in a diagram after a line break.
NAMED = set(re.findall(r"(?:`|<br>)([\w./]+/[\w./]*)(?:`|\")", TEXT))
# A path may start in the repository or in the grader; in a docstring, also in the room itself.
ROOTS = (REPO, REPO / "autograder")
MOST_BYTES = 8000
MOST_COLUMNS = 120
LARGE_ROOM = 6  # files
ROOMS = {
    file.parent: ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    for package in ("autograder", "book", "check")
    for file in (REPO / package).rglob("__init__.py")
}


@pytest.mark.parametrize("name", sorted(NAMED))
def test_a_named_file_exists(name):
    if re.search(r"\bNN_|WORD|word", name):
        return
    assert any((root / f"{name}{suffix}").exists() for root in ROOTS for suffix in ("", ".py"))


def test_the_search_for_names_finds_files_and_folders():
    assert {"scores/late.py", "autograder/errors.py", "book/extensions/"} <= NAMED


def test_the_guide_stays_short():
    """Walks through the code belong in the docstrings of the rooms."""
    assert len(TEXT.encode()) <= MOST_BYTES


@pytest.mark.parametrize("file", ["README.md", "CONTRIBUTING.md", "Makefile"])
def test_lines_fit_into_120_columns(file):
    """Ruff checks Python's files. A row of a table cannot be wrapped."""
    lines = (REPO / file).read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if len(line) > MOST_COLUMNS and not line.startswith("|")] == []


@pytest.mark.parametrize("room", sorted(ROOMS), ids=lambda room: room.relative_to(REPO).as_posix())
def test_a_file_that_a_room_names_exists(room):
    missing = [name for name in files_named(ROOMS[room]) if not any((root / name).exists() for root in (room, *ROOTS))]
    assert not missing


def test_the_docstring_of_a_large_room_leads_through_its_files():
    """The exercises need no guide, because the chapters lead through them. The book's extensions are a list."""
    without = []
    for room, docstring in ROOMS.items():
        files = {file.name for file in room.glob("*.py")} - {"__init__.py"}
        named = files & set(files_named(docstring))
        if len(files) >= LARGE_ROOM and len(named) < len(files) / 3:
            without.append(room.relative_to(REPO).as_posix())
    assert [room for room in without if not room.startswith(("autograder/exercises/", "book/extensions"))] == []


def test_the_guide_and_the_search_find_the_rooms_that_explain_themselves():
    guides = [name for name in NAMED if name.endswith("__init__.py") and len(ROOMS[(REPO / name).parent]) > 300]
    assert "autograder/grading/__init__.py" in guides and "check/__init__.py" in guides
    assert {"grade.py", "course/seed.py", "check/scoring.py"} <= set(files_named(ROOMS[REPO / "autograder/grading"]))


def test_the_picture_has_an_arrow_for_every_import():
    missing = {(room, imported) for room, imported in imports() if imported not in reachable(room, arrows())}
    assert missing == {("cli", "hub")}, "the command line adds the commands of the hub to its own"


def test_the_search_for_imports_finds_them():
    assert {("scores", "grading"), ("sandbox", "inside"), ("inside", "check")} <= imports()


def imports():
    """Return (room, the room that it imports) for each import between rooms of the grader, and of `check`."""
    pairs = set()
    for file in (REPO / "autograder").rglob("*.py"):
        if not file.is_relative_to(REPO / "autograder/hub/deploy"):  # not a package
            modules = re.findall(r"^ *from ([\w.]+) import", file.read_text(encoding="utf-8"), re.MULTILINE)
            pairs |= {(room_of(".".join(file.relative_to(REPO).parts)), room_of(module)) for module in modules}
    return {(room, imported) for room, imported in pairs if room and imported and room != imported}


def arrows():
    """Return room -> the rooms to which its arrows lead in the picture."""
    pairs = set()
    for arrow in re.findall(r"^ .+-->.+$", re.sub(r"\[\".*?\"\]", "", TEXT), re.MULTILINE):
        above, below = ([name.strip() for name in side.split("&")] for side in arrow.split("-->"))
        pairs |= set(product(above, below))
    return {room: {below for above, below in pairs if above == room} for room, _ in pairs}


def room_of(module):
    """Return the room of a module as the picture names it; "" for a file beside the rooms and for other packages."""
    names = module.split(".")
    if names[:3] == ["autograder", "sandbox", "inside"]:
        return "inside"
    room = names[1] if names[0] == "autograder" and len(names) > 1 else names[0]
    return room if room == "check" or (REPO / "autograder" / room).is_dir() else ""


def reachable(room, of):
    """Return the rooms to which a path of arrows leads. of: room -> where its arrows lead."""
    below = of.get(room, set())
    return below.union(*(reachable(other, of) for other in below))


def files_named(docstring):
    """Return the files and folders that a docstring names in backticks."""
    return re.findall(r"`([\w./]+(?:\.py|\.js|/))`", docstring)


@pytest.mark.parametrize(
    "page",
    [
        *("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"),
        *("benchmarks/README.md", "autograder/hub/deploy/README.md", "autograder/hub/deploy/OTHER_HUBS.md"),
    ],
)
def test_links_lead_to_files_and_headings(page):
    text = (REPO / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        file, _, heading = target.partition("#")
        if target.startswith("https://"):
            continue
        linked = (REPO / page).parent / file
        assert linked.exists(), target
        assert not heading or heading in slugs(linked), target


def slugs(file):
    """Return the names that GitHub gives to a Markdown file's headings."""
    titles = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
