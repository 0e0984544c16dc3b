"""An unchanged chapter is not built again, and every change is noticed."""

import importlib
import json
import shutil
import subprocess
import sys
import sysconfig
from datetime import datetime

import pytest
from nbgrader.api import Gradebook

from autograder.gradebook.coursedir import open_coursedir
from autograder.gradebook.registration import database_url
from autograder.release import build, record
from autograder.release.publish import publish
from tests.autograder.release import small_repo
from tests.autograder.release.small_repo import CHAPTER

pytestmark = [pytest.mark.release, pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")]


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """Yield a folder with a repo, a course with its chapter released, code of a grader, packages, and own modules."""
    folder = tmp_path_factory.mktemp("released")
    small_repo.build(folder / "repo")
    for file in ("autograder/release/gate.py", "autograder/exercises/attention/softmax.py", "check/scoring.py"):
        (folder / "grader" / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / "grader" / file).write_text("# code")
    (folder / "packages" / "numpy-1.0.dist-info").mkdir(parents=True)
    (folder / "modules").mkdir()
    (folder / "modules" / "preprocessor_of_a_course.py").write_text("# code")
    paths = sysconfig.get_path
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record, "REPO", folder / "grader")
        patch.setattr(
            sysconfig, "get_path", lambda name: str(folder / "packages") if name == "purelib" else paths(name)
        )
        patch.syspath_prepend(folder / "modules")
        importlib.import_module("preprocessor_of_a_course")
        publish(folder / "course", repo=folder / "repo")
        yield folder


def is_current(folder):
    return record.is_current(folder / "course", CHAPTER, folder / "repo")


def test_an_unchanged_chapter_is_not_built_again(released, monkeypatch):
    monkeypatch.delattr(build, "build")
    [published] = publish(released / "course", repo=released / "repo")
    assert (published.chapter, published.changed) == (CHAPTER, False)
    assert published.zip == released / "course" / "release" / f"{CHAPTER}.zip"


def test_what_only_a_hub_needs_does_not_count(released):
    path = released / "grader" / "autograder" / "hub" / "deploy" / "hub.toml"
    path.parent.mkdir(parents=True)
    path.write_text("# a hub")
    assert is_current(released)


@pytest.mark.parametrize("file", [
    *(f"repo/chapters/{name}" for name in (f"{CHAPTER}.md", "figures.py", "references.bib", "02_new.md", "new.png")),
    *("repo/solutions/attention.py", "repo/solutions/new.py"),
    *(f"repo/{name}" for name in ("requirements.txt", "_config.yml", "CITATION.cff", "nbgrader_config.py")),
    *("grader/autograder/release/gate.py", "grader/autograder/exercises/attention/softmax.py"),
    *("grader/check/scoring.py", "grader/autograder/exercises/attention/new.npz", "grader/pyproject.toml"),
    "modules/preprocessor_of_a_course.py",
    *("course/nbgrader_config.py", "course/deadlines.json", "course/secret_seed"),
    *(f"course/source/{CHAPTER}/{name}" for name in (f"{CHAPTER}.ipynb", "check/scoring.py", "new.py")),
    *(f"course/release/{CHAPTER}/{name}" for name in (f"{CHAPTER}.ipynb", "check/keys/softmax.npz", "new.py")),
    f"course/release/{CHAPTER}.zip",
])  # fmt: skip
def test_every_file_counts(released, file):
    path = released / file
    before = path.read_bytes() if path.exists() else None
    path.write_bytes((before or b"") + b"\n")
    assert not is_current(released)
    path.unlink()
    assert is_current(released) == (before is None)
    if before is not None:
        path.write_bytes(before)
        assert is_current(released)


@pytest.mark.parametrize("name", record.ENVIRONMENT)
def test_the_environment_counts(released, monkeypatch, name):
    monkeypatch.setenv(name, "3")
    assert not is_current(released)


def test_the_settings_that_a_configuration_computes_count(released, monkeypatch):
    config = (released / "course" / "nbgrader_config.py").read_text()
    (released / "course" / "nbgrader_config.py").write_text(
        f"{config}\nimport os\nc.Author.name = os.environ['AUTHOR']"
    )
    try:
        monkeypatch.setenv("AUTHOR", "Ada")
        publish(released / "course", repo=released / "repo")
        assert is_current(released)
        monkeypatch.setenv("AUTHOR", "Bob")
        assert not is_current(released)
    finally:
        (released / "course" / "nbgrader_config.py").write_text(config)
    publish(released / "course", repo=released / "repo")


def test_the_installed_packages_count(released):
    package = released / "packages" / "numpy-1.0.dist-info"
    package.rename(package.with_name("numpy-2.0.dist-info"))
    assert not is_current(released)
    package.with_name("numpy-2.0.dist-info").rename(package)
    assert is_current(released)


def test_the_gradebook_counts(released):
    coursedir = open_coursedir(released / "course", CHAPTER, released / "repo")
    assert coursedir.db_url == database_url(released / "course", released / "repo")
    with Gradebook(coursedir.db_url) as gradebook:
        gradebook.update_or_create_assignment(CHAPTER, duedate=datetime(2026, 12, 4))
        assert not is_current(released)
        gradebook.update_or_create_assignment(CHAPTER, duedate=None)
        assert is_current(released)
        gradebook.add_student("ada")
        gradebook.add_submission(CHAPTER, "ada")
        assert is_current(released)
        gradebook.remove_submission(CHAPTER, "ada")
    database = released / "course" / "gradebook.db"
    database.rename(database.with_suffix(".away"))
    assert not is_current(released)
    assert not database.exists()
    for other in (b"", b"no database"):
        database.write_bytes(other)
        assert not is_current(released)
    database.with_suffix(".away").rename(database)
    assert is_current(released)


def test_what_python_and_jupyter_leave_behind_does_not_count(released):
    for place in ("repo/chapters", "grader/check", f"course/release/{CHAPTER}", f"course/source/{CHAPTER}"):
        for name in ("__pycache__", ".ipynb_checkpoints"):
            (released / place / name).mkdir()
            (released / place / name / "left").write_text("")
            assert is_current(released)
            shutil.rmtree(released / place / name)


@pytest.mark.parametrize("damage", ["{", "[]", '{"01_attention": {}}'])
def test_a_damaged_record_counts_as_none(released, damage):
    path = released / "course" / ".releases.json"
    before = path.read_bytes()
    path.write_text(damage)
    assert not is_current(released)
    path.write_bytes(before)


def test_a_source_that_changes_during_a_build_is_not_recorded(released, monkeypatch):
    chapter = released / "repo" / "chapters" / f"{CHAPTER}.md"
    path = released / "course" / ".releases.json"
    before, records = chapter.read_text(), path.read_bytes()
    assert CHAPTER in json.loads(records)
    path.unlink()
    monkeypatch.setattr(build, "build", lambda *arguments: bool(chapter.write_text(f"{before}\nMore.\n")))
    publish(released / "course", repo=released / "repo")
    assert json.loads(path.read_bytes()) == {}
    chapter.write_text(before)
    path.write_bytes(records)
    assert is_current(released)


def test_a_copy_of_a_course_is_another_course(released, tmp_path):
    shutil.copytree(released / "course", tmp_path / "course")
    assert not record.is_current(tmp_path / "course", CHAPTER, released / "repo")


def test_nothing_slow_is_loaded_for_an_unchanged_chapter(released):
    code = """
import sys
from pathlib import Path
from autograder.release import publish, record
record.is_current(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
print(*sys.modules)"""
    command = [sys.executable, "-c", code, str(released / "course"), CHAPTER, str(released / "repo")]
    modules = set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    assert "sqlalchemy" in modules
    assert not {"nbgrader", "nbformat", "numpy"} & modules
