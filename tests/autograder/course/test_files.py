"""A file is written completely or not at all."""

import errno
import os
import stat
from pathlib import Path

import pytest

from autograder.course.files import replacing, write_atomically

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
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", disk_is_full)
    with pytest.raises(OSError, match="No space left on device: .*scores.json"):
        write_atomically(path, "later")
    assert path.read_text() == "earlier" and list(tmp_path.iterdir()) == [path]


def test_the_file_of_a_killed_run_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "scores.part").write_text("half of a much longer text")
    write_atomically(tmp_path / "scores.json", "whole")
    assert (tmp_path / "scores.json").read_text() == "whole"


def test_a_mode_keeps_others_from_reading(tmp_path: Path) -> None:
    write_atomically(tmp_path / "report.json", "{}", mode=0o600)
    assert stat.S_IMODE((tmp_path / "report.json").stat().st_mode) == 0o600


def test_others_cannot_read_a_new_file(tmp_path: Path) -> None:
    with replacing(tmp_path / "grades.csv") as part:
        part.write_text("new")
    assert stat.S_IMODE((tmp_path / "grades.csv").stat().st_mode) == 0o600


def test_a_replaced_file_keeps_its_mode_and_the_link_to_it(tmp_path: Path) -> None:
    path, link = tmp_path / "grades.csv", tmp_path / "link"
    path.touch()
    path.chmod(0o640)
    link.symlink_to(path)
    with replacing(link) as part:
        part.write_text("new")
    assert link.is_symlink() and path.read_text() == "new" and stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    """`--output /dev/stdout` may be one."""
    os.mkfifo(tmp_path / "pipe")
    with replacing(tmp_path / "pipe") as part:
        assert part == tmp_path / "pipe"
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_a_failed_body_leaves_the_earlier_file_alone(tmp_path: Path) -> None:
    (tmp_path / "grades.csv").write_text("earlier")
    with pytest.raises(ValueError), replacing(tmp_path / "grades.csv") as part:
        part.write_text("half")
        raise ValueError
    assert (tmp_path / "grades.csv").read_text() == "earlier" and len([*tmp_path.iterdir()]) == 1
