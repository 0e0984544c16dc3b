"""CONTRIBUTING.md names files and folders that exist, and the links in the Markdown files on GitHub work."""

import re

import pytest

from autograder.layout import REPO

pytestmark = pytest.mark.autograder
TEXT = (REPO / "CONTRIBUTING.md").read_text(encoding="utf-8")
# In the text names are between backticks, in a diagram after a line break.
NAMED = set(re.findall(r"(?:`|<br>)([\w./]+/[\w./]*)(?:`|\")", TEXT))
# A path may start in the repository, in the grader, or in the folder of the live pages.
ROOTS = (REPO, REPO / "autograder", REPO / "book" / "live")


@pytest.mark.parametrize("name", sorted(NAMED))
def test_a_named_file_exists(name):
    if re.search(r"\bNN_|WORD|word", name):
        return
    assert any((root / f"{name}{suffix}").exists() for root in ROOTS for suffix in ("", ".py"))


def test_the_search_for_names_finds_files_and_folders():
    assert {"check/scoring", "grading/follow_through", "book/extensions/"} <= NAMED


@pytest.mark.parametrize(
    "page",
    [
        *("README.md", "CONTRIBUTING.md", "CHANGELOG.md"),
        *("benchmarks/README.md", "deploy/README.md", "deploy/OTHER_HUBS.md"),
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
