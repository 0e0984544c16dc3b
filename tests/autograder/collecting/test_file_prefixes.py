"""The prefixes that a platform gives to a student's files, saved for the feedback that goes back."""

import os

import pytest

from autograder.collecting.file_prefixes import load_prefixes, save_prefixes
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
