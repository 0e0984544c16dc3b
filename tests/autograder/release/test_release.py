"""Releases: the source notebook, the released one, the bundle and the gradebook's entry."""

import ast
import io
import json
import os
import re
import stat
import subprocess
import sys
import zipfile
from itertools import chain

import nbformat
import pytest
from nbgrader.api import Gradebook
from packaging.requirements import Requirement
from traitlets.config.loader import PyFileConfigLoader

from autograder.chapter.chapter import Chapter, read_chapter, text_of
from autograder.chapter.targets import read_targets
from autograder.course.seed import secret_seed
from autograder.errors import UserError
from autograder.gradebook.changed_cells import WouldLoseScores
from autograder.gradebook.score_log import account, read_changes
from autograder.layout import REPO, chapter_names
from autograder.release import bundle
from autograder.release.build import released_files
from autograder.release.publish import publish
from autograder.version import version
from tests.autograder.release.small_repo import CHAPTER, by_grade_id, change

CHECK = REPO / "check"

pytestmark = [pytest.mark.release, pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")]


def released_notebook(course):
    return nbformat.read(course / "release" / CHAPTER / f"{CHAPTER}.ipynb", 4)


# --------------------------------------------------------------------------------------------- the release


COURSE_FILES = {".lock", ".releases.json", "nbgrader_config.py", "source", "release", "gradebook.db", "secret_seed"}


def test_the_released_cells_are_the_chapters_stubs_byte_for_byte(built):
    repo, course = built
    cells = by_grade_id(released_notebook(course))
    for name, stub in read_chapter(CHAPTER, repo).stubs.items():
        assert cells[name].source == stub
        assert "autograder" not in cells[name].metadata


def test_a_bundle_has_exactly_the_expected_files(built):
    repo, course = built
    folder = course / "release" / CHAPTER
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*.*")}
    tutor = {"AGENTS.md", "CLAUDE.md", "GEMINI.md"}
    keys = {f"check/keys/{e.name}.npz" for e in read_chapter(CHAPTER, repo).exercises}
    code = {file.relative_to(REPO).as_posix() for file in CHECK.rglob("*.py")}
    code.add(f"check/chapters/{CHAPTER}.json")
    assert files == keys | code | tutor | {
        f"{CHAPTER}.ipynb",
        "figures.py",
        "colours.py",
        "requirements.txt",
        "README.txt",
    }
    with zipfile.ZipFile(course / "release" / f"{CHAPTER}.zip") as archive:
        assert archive.namelist() == sorted(files)
    assert "numpy==" in (folder / "requirements.txt").read_text()
    readme = (folder / "README.txt").read_text().splitlines()
    assert len(readme) == 15 and readme[0].startswith(f"The Transformer by Hand {version(repo)}: chapter 1, ")


def test_check_has_no_file_that_neither_notebooks_nor_pages_need():
    needed, waiting = set(), []
    in_a_page = [REPO / "book/live/in_page" / name for name in ("exercise_run.py", "slicing.py", "cell_run.py")]
    trees = [ast.parse(file.read_text()) for file in (CHECK / "notebook.py", *in_a_page)]
    for node in chain.from_iterable(tree.body for tree in trees):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("check"):
            waiting += [node.module.removeprefix("check."), *(alias.name for alias in node.names)]
    while waiting:
        name = waiting.pop()
        file = CHECK / f"{name.replace('.', '/')}.py"
        if file in needed or not file.exists():
            continue
        needed.add(file)
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.ImportFrom) and node.module == "check":
                waiting += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module.startswith("check."):
                waiting.append(node.module.removeprefix("check."))
    assert {CHECK / "notebook.py", *needed} == {file for file in CHECK.rglob("*.py") if not file.stem.startswith("__")}


def test_a_bundle_has_the_solutions_of_earlier_chapters(built):
    repo, _ = built
    later = Chapter("02_backward", text_of(CHAPTER, repo), ())
    assert set(bundle.modules(later, repo)) == {
        "solutions/__init__.py", "solutions/attention.py", "figures.py", "colours.py",
    }  # fmt: skip


def test_check_works_in_the_bundle_with_numpy_alone(built, tmp_path):
    with zipfile.ZipFile(built[1] / "release" / f"{CHAPTER}.zip") as archive:
        archive.extractall(tmp_path)
    code = """
import sys
from check import check
import numpy as np
assert "check/__init__" in sys.modules["check"].__file__.replace("\\\\", "/")
def softmax(scores):
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
check(softmax)
foreign = {name.partition(".")[0] for name in sys.modules} - {"check", "numpy", "__main__", "__mp_main__"}
foreign = {name for name in foreign if "site-packages" in (getattr(sys.modules[name], "__file__", "") or "")}
assert not foreign, foreign
"""
    process = subprocess.run([sys.executable, "-Sc", _NUMPY_ONLY + code], cwd=tmp_path, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    assert process.stdout.strip()


def test_an_older_python_reports_which_one_is_needed(built):
    """Both places where a Python before 3.11 can stop first: pip, and the notebook's first cell."""
    folder = built[1] / "release" / CHAPTER
    lines = (folder / "requirements.txt").read_text().splitlines()
    needed = [Requirement(line) for line in lines if not line.startswith("#")]
    assert {requirement.name for requirement in needed} == {"numpy", "matplotlib", "jupyterlab"}
    for requirement in needed:
        assert not requirement.marker.evaluate({"python_version": "3.10"})
    source = (folder / "check" / "__init__.py").read_text()
    old = f"import sys; sys.version_info = (3, 9, 18); exec({source!r})"
    process = subprocess.run([sys.executable, "-c", old], cwd=folder, capture_output=True, text=True)
    assert process.stderr.endswith("\nImportError: This course needs Python 3.11 or newer; this is 3.9.\n")
    ast.parse(source, feature_version=(3, 6))
    setups = [cell.source for name in chapter_names() for cell in read_chapter(name).cells if cell.part == "setup"]
    for setup in setups:
        imported = re.findall(r"^(?:import|from) (\w+)", setup, re.MULTILINE)
        before = set(imported[: imported.index("check")])
        assert before <= {"collections", "math", "numpy"}, "check must be the first module of ours"


@pytest.mark.parametrize(
    "epoch, date", [(None, None), ("1000000000", (2001, 9, 9, 1, 46, 40)), ("0", (1980, 1, 1, 0, 0, 0))]
)
def test_all_files_of_a_zip_have_one_reproducible_date(copy, monkeypatch, epoch, date):
    repo, _ = copy
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    if epoch:
        monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    else:
        released = re.search(r"^date-released: (\d+)-(\d+)-(\d+)$", (repo / "CITATION.cff").read_text(), re.MULTILINE)
        date = (*map(int, released.groups()), 0, 0, 0)
    files = {"b/c": b"1", "b-a": b"2"}
    first, second = bundle.zipped(files, repo), bundle.zipped(dict(reversed(files.items())), repo)
    with zipfile.ZipFile(io.BytesIO(first)) as archive:
        assert archive.namelist() == ["b/c", "b-a"]
        assert {info.date_time for info in archive.infolist()} == {date}
    assert first == second


# No site-packages except NumPy, for a student who installed nothing else.
_NUMPY_ONLY = """
import sys, importlib.util
class NumPyOnly:
    def find_spec(self, name, path=None, target=None):
        if path is None and name == "numpy":
            return importlib.util.spec_from_file_location(name, NUMPY, submodule_search_locations=[NUMPY[:-12]])
import os
NUMPY = {numpy!r}
sys.path.insert(0, os.getcwd())
sys.meta_path.append(NumPyOnly())
""".format(numpy=__import__("numpy").__file__)


def test_the_secret_seed_is_private_and_never_changes(built):
    course = built[1]
    assert stat.S_IMODE(os.stat(course / "secret_seed").st_mode) == 0o600
    assert secret_seed(course) == secret_seed(course) > 2**32


def test_a_release_adds_the_assignment_to_the_gradebook(built):
    repo, course = built
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        points = {cell.name: cell.max_score for cell in gradebook.find_notebook(CHAPTER, CHAPTER).grade_cells}
    assert points == {f"check-{e.name}": e.points for e in read_chapter(CHAPTER, repo).exercises}


def test_a_release_leaves_no_temporary_files(built):
    assert {path.name for path in built[1].iterdir()} == COURSE_FILES


def test_the_next_release_removes_what_a_killed_one_has_left(copy):
    repo, course = copy
    (course / ".release-killed" / "source").mkdir(parents=True)
    change(repo, "Keys are found", "Keys are sought")
    publish(course, [CHAPTER], repo)
    assert {path.name for path in course.iterdir()} == COURSE_FILES


def test_an_unchanged_chapter_is_not_released_again(copy):
    repo, course = copy
    path = course / "release" / CHAPTER / f"{CHAPTER}.ipynb"
    before = path.stat().st_mtime_ns
    (path.parent / "__pycache__").mkdir()
    (path.parent / "__pycache__" / "figures.pyc").write_bytes(b"")
    assert [published.changed for published in publish(course, [CHAPTER], repo)] == [False]
    assert path.stat().st_mtime_ns == before


def test_a_changed_chapter_and_a_damaged_release_are_released_again(copy):
    repo, course = copy
    change(repo, "Keys are found", "Keys are sought")
    assert [published.changed for published in publish(course, repo=repo)] == [True]
    assert "Keys are sought" in (course / "source" / CHAPTER / f"{CHAPTER}.ipynb").read_text()
    (course / "release" / CHAPTER / "README.txt").unlink()
    assert [published.changed for published in publish(course, repo=repo)] == [True]
    assert (course / "release" / CHAPTER / "README.txt").exists()


@pytest.mark.thorough("only another version of nbgrader changes its command")
def test_nbgraders_own_command_builds_the_same_bundle(copy):
    repo, course = copy
    ours = {p: p.read_bytes() for p in (course / "release" / CHAPTER).rglob("*") if p.is_file()}
    command = [sys.executable, "-m", "nbgrader", "generate_assignment", CHAPTER, "--force"]
    process = subprocess.run([*command, f"--CourseDirectory.root={course}"], cwd=repo, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    assert {p: p.read_bytes() for p in (course / "release" / CHAPTER).rglob("*") if p.is_file()} == ours


def hand_in(course):
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        gradebook.add_student("ada")
        gradebook.add_submission(CHAPTER, "ada")


def scores(course):
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        return {grade.name: grade.score for grade in gradebook.find_submission(CHAPTER, "ada").notebooks[0].grades}


def remove_exercise(repo):
    """Remove an exercise from the chapter, and return the chapter's text before."""
    text = (repo / "chapters" / f"{CHAPTER}.md").read_text()
    start = text.index(":::{exercise} Write copies_predecessor")
    change(repo, text[start : text.index(":::{exercise} Write repaired_attention")], "")
    return text


@pytest.fixture
def without_weights(copy):
    """Return a repo, and a course in which ada has points for all exercises but one, which is not released yet."""
    repo, course = copy
    text = (repo / "chapters" / f"{CHAPTER}.md").read_text()
    start, end = (
        text.index(":::{exercise} Write copies_predecessor"),
        text.index(":::{exercise} Write repaired_attention"),
    )
    change(repo, text[start:end], "")
    publish(course, repo=repo)
    hand_in(course)
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        for grade in gradebook.find_submission(CHAPTER, "ada").notebooks[0].grades:
            grade.auto_score = 1.5
        gradebook.db.commit()
    (repo / "chapters" / f"{CHAPTER}.md").write_text(text)
    return repo, course


def test_a_new_exercise_costs_no_score(without_weights):
    repo, course = without_weights
    before = scores(course)
    assert "check-copies_predecessor" not in before and set(before.values()) == {1.5}
    publish(course, repo=repo)
    assert scores(course) == before | {"check-copies_predecessor": 0}
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        assert {comment.name for comment in gradebook.find_submission(CHAPTER, "ada").notebooks[0].comments} >= {
            "softmax"
        }
        assert gradebook.find_assignment(CHAPTER).max_score == sum(e.points for e in read_chapter(CHAPTER).exercises)
    assert [published.changed for published in publish(course, repo=repo)] == [False]
    *_, change = read_changes(course)
    assert (change.who, change.why, change.parts) == (account(), "released again", {"copies_predecessor": (None, 0)})


@pytest.mark.thorough("exercises and text come and go in the same way")
def test_cells_without_scores_can_come_and_go_once_there_are_submissions(copy):
    repo, course = copy
    hand_in(course)
    for old, new in (("## Ideas", "## Ideas\n\n```{code-cell} ipython3\n1 + 1\n```\n\nMore."), ("1 + 1", "2 + 2")):
        change(repo, old, new)
        assert [published.changed for published in publish(course, repo=repo)] == [True]
    change(repo, "\n\n```{code-cell} ipython3\n2 + 2\n```\n\nMore.", "")
    assert [published.changed for published in publish(course, repo=repo)] == [True]


def test_a_release_that_would_lose_scores_is_refused(copy):
    repo, course = copy
    hand_in(course)
    before = (course / "release" / CHAPTER / f"{CHAPTER}.ipynb").read_bytes()
    text = (repo / "chapters" / f"{CHAPTER}.md").read_text()
    start, end = (
        text.index(":::{exercise} Write copies_predecessor"),
        text.index(":::{exercise} Write repaired_attention"),
    )
    change(repo, text[start:end], "")
    with pytest.raises(
        WouldLoseScores, match="1 submission would lose scores, because the new release lacks copies_predecessor"
    ):
        publish(course, repo=repo)
    assert (course / "release" / CHAPTER / f"{CHAPTER}.ipynb").read_bytes() == before
    assert {path.name for path in course.iterdir()} == COURSE_FILES


def test_text_can_change_once_there_are_submissions(copy):
    repo, course = copy
    hand_in(course)
    change(repo, "Keys are found", "Keys are sought")
    assert [published.changed for published in publish(course, repo=repo)] == [True]


def test_an_unknown_chapter_is_a_user_error(tmp_path, built):
    with pytest.raises(UserError, match="no chapter '07_cros'; there are: 01_attention"):
        publish(tmp_path / "course", ["07_cros"], built[0])


def test_a_bundle_contains_no_path_of_this_machine(built):
    for path in (built[1] / "release" / CHAPTER).rglob("*.*"):
        data = path.read_bytes()
        assert str(REPO).encode() not in data
        assert path.suffix == ".npz" or b"\r\n" not in data
        assert path.name.isascii() and not set(path.name) & set('<>:"|?*')
    assert json.loads((built[1] / "release" / CHAPTER / f"{CHAPTER}.ipynb").read_text())["metadata"] == {
        "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
        "language_info": {"file_extension": ".py", "mimetype": "text/x-python", "name": "python"},
    }


def test_nbgrader_started_in_the_course_folder_uses_our_configuration(built):
    _, course = built
    rules = PyFileConfigLoader("nbgrader_config.py", path=str(course)).load_config()
    assert rules.Autograde.exporter_class == "autograder.gradebook.plugin.SubmissionExporter"
    assert rules.CourseDirectory.root == str(course)


def test_the_released_files_can_be_built_without_a_course(released_course):
    folder = released_course / "release" / "01_attention"
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert released_files(read_chapter("01_attention"), read_targets(REPO / "chapters")) == files
