"""A submitted file is read only if it is the file that we checked, even if its owner swaps it meanwhile."""

import os
from pathlib import Path

import pytest

from autograder.grading.submitted_file import read_file

pytestmark = pytest.mark.grading
NAME = "01_attention.ipynb"


@pytest.fixture
def submitted(tmp_path):
    """Return a submission's path, and the path of a file of the same name that no student may read."""
    paths = tmp_path / "submitted/eve/01_attention" / NAME, tmp_path / "source/01_attention" / NAME
    for path, content in zip(paths, (b"hers", b"the solutions"), strict=True):
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
    return paths


@pytest.mark.parametrize("levels", [1, 2])
def test_a_folder_swapped_for_a_link_after_the_look_is_not_followed(submitted, monkeypatch, levels):
    """A student who swapped the two in a loop got the solutions graded as a submission after 43 tries."""
    path, solutions = submitted
    folder, target = path.parents[levels - 1], solutions.parents[levels - 1]
    really_open = os.open

    def swap_then_open(*arguments, **options):
        if not folder.is_symlink():
            folder.rename(folder.with_name("elsewhere"))
            folder.symlink_to(target)
        return really_open(*arguments, **options)

    monkeypatch.setattr(os, "open", swap_then_open)
    file = read_file(path)
    assert not file.raw and "could not be opened" in file.trouble


def test_a_file_may_have_to_belong_to_an_account(submitted):
    path, _ = submitted
    assert read_file(path, owner=os.getuid()).raw == b"hers"
    file = read_file(path, owner=os.getuid() + 1)
    assert (
        not file.raw and file.trouble == f"{NAME} or its folder belongs to another account: hand in a file of your own."
    )


def test_a_path_without_folders_is_read(submitted, monkeypatch):
    monkeypatch.chdir(submitted[0].parent)
    assert read_file(submitted[0].relative_to(submitted[0].parent)).raw == b"hers"


def test_a_path_in_the_root_is_read():
    assert "is not a file but a folder" in read_file(Path("/proc")).trouble
