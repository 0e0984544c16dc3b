"""A file that is written whole or not at all."""

import os
import stat

import pytest

from autograder.course.atomic_write import write_atomically

pytestmark = pytest.mark.grading


def test_the_text_replaces_the_earlier_one(tmp_path):
    path = tmp_path / "scores.json"
    path.write_text("a longer text that was there before")
    write_atomically(path, "“new”\n")
    assert path.read_text(encoding="utf-8") == "“new”\n" and list(tmp_path.iterdir()) == [path]


def test_a_failed_write_leaves_the_earlier_text(tmp_path, monkeypatch):
    path = tmp_path / "scores.json"
    path.write_text("earlier")

    def disk_is_full(descriptor):
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "fsync", disk_is_full)
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, "later")
    assert path.read_text() == "earlier"


def test_what_a_killed_run_left_does_not_get_in(tmp_path):
    (tmp_path / "scores.part").write_text("half of a much longer text")
    write_atomically(tmp_path / "scores.json", "whole")
    assert (tmp_path / "scores.json").read_text() == "whole"


def test_a_mode_keeps_others_from_reading(tmp_path):
    write_atomically(tmp_path / "report.json", "{}", mode=0o600)
    assert stat.S_IMODE((tmp_path / "report.json").stat().st_mode) == 0o600
