"""A file is written completely or not at all."""

import os
import stat
from pathlib import Path

import pytest

from autograder.course.atomic_write import write_atomically

pytestmark = pytest.mark.grading


def test_the_text_replaces_the_earlier_one(tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    path.write_text("a longer text that was there before")
    write_atomically(path, "“new”\n")
    assert path.read_text(encoding="utf-8") == "“new”\n" and list(tmp_path.iterdir()) == [path]


def test_a_failed_write_leaves_the_earlier_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "scores.json"
    path.write_text("earlier")

    def disk_is_full(descriptor: int) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "fsync", disk_is_full)
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, "later")
    assert path.read_text() == "earlier"


def test_the_file_of_a_killed_run_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "scores.part").write_text("half of a much longer text")
    write_atomically(tmp_path / "scores.json", "whole")
    assert (tmp_path / "scores.json").read_text() == "whole"


def test_a_mode_keeps_others_from_reading(tmp_path: Path) -> None:
    write_atomically(tmp_path / "report.json", "{}", mode=0o600)
    assert stat.S_IMODE((tmp_path / "report.json").stat().st_mode) == 0o600
