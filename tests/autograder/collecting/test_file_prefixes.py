"""The prefixes that a platform gives to a student's files, saved for the feedback that goes back."""

import os

import pytest

from autograder.collecting.file_prefixes import load_prefixes, save_prefixes
from autograder.course.teams import load_teams, save_teams
from autograder.errors import UserError
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading


def test_a_later_download_adds_to_the_earlier_ones(tmp_path):
    assert load_prefixes(tmp_path, CHAPTER) == {}
    save_prefixes(tmp_path, CHAPTER, "canvas", {"1": "ada_1_10", "2": "eve_2_20"})
    save_prefixes(tmp_path, CHAPTER, "moodle", {"1": "Ada_11"})
    save_prefixes(tmp_path, CHAPTER, "canvas", {"2": "eve_2_21"})
    assert load_prefixes(tmp_path, CHAPTER) == {"canvas": {"1": "ada_1_10", "2": "eve_2_21"}, "moodle": {"1": "Ada_11"}}


def test_the_prefixes_reach_the_disk_before_the_file_gets_its_name(tmp_path, monkeypatch):
    calls = []
    for name in ("fsync", "replace"):
        function = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *args, f=function, name=name: (calls.append(name), f(*args)))
    save_prefixes(tmp_path, CHAPTER, "canvas", {"1": "ada_1_10"})
    assert calls == ["fsync", "replace"]


def test_what_is_kept_of_students_is_the_owners_alone_and_a_damaged_file_is_named(tmp_path):
    save_prefixes(tmp_path, CHAPTER, "canvas", {"1": "ada_1_10"})
    save_teams(tmp_path, CHAPTER, {"A": ["ada", "eve"]})
    readers = (load_teams, load_prefixes)
    paths = sorted(path for path in tmp_path.rglob("*.json"))
    assert len(paths) == len(readers) and not any(path.stat().st_mode & 0o077 for path in paths)
    for path in paths:
        path.write_text("{", encoding="utf-8")
    for reader in readers:
        with pytest.raises(UserError, match="is damaged"):
            reader(tmp_path, CHAPTER)
