"""No upload of one student ends collecting for the others, whatever it holds and however its files are named."""

import io
import json
import shutil
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from autograder.collecting.collect import collect
from autograder.collecting.zip_or_folder import Entry, Unreadable, Unusable, open_download, unpacked
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
WORDS = (
    "..",
    ".",
    "",
    "mine.ipynb",
    "work.py",
    "deeper.zip",
    "regrade.txt",
    "timestamp.txt",
    "Ada_1_",
    "\0",
    "王" * 90,
)
names = st.lists(st.sampled_from(WORDS) | st.text(max_size=8), min_size=1, max_size=3).map("/".join)
MEMBER = "x/01_attention.ipynb"


def zip_of(files, method=zipfile.ZIP_DEFLATED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return buffer.getvalue()


def encrypted(archive):
    """Set the mark of encryption in every header of a zip file."""
    for signature, at in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        first, *others = archive.split(signature)
        at -= len(signature)
        archive = signature.join([first, *(part[:at] + bytes([part[at] | 1]) + part[at + 1 :] for part in others)])
    return archive


def overwritten(archive, at=60, by=b"?" * 20):
    return archive[:at] + by + archive[at + len(by) :]


LZMA = overwritten(zip_of({MEMBER: bytes(range(256)) * 8}, zipfile.ZIP_LZMA))
ENCRYPTED = encrypted(zip_of({MEMBER: b"{}"}))


@st.composite
def damaged(draw, whole):
    """Draw bytes in which up to three pieces are overwritten, cut out or repeated."""
    content = draw(whole)
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(content)))
        end = min(start + draw(st.integers(0, 40)), len(content))
        piece = draw(st.sampled_from([b"", content[start:end] * 2]) | st.binary(max_size=40))
        content = content[:start] + piece + content[end:]
    return content


zips = damaged(st.builds(
    zip_of, st.dictionaries(names.filter(lambda name: name.isascii() or name.isprintable()), st.binary(max_size=200),
                            min_size=1, max_size=4), st.sampled_from(METHODS),
))  # fmt: skip


@pytest.mark.filterwarnings("ignore:Duplicate name")
@example(LZMA)
@example(ENCRYPTED)
@given(zips)
@settings(max_examples=200)
def test_a_damaged_zip_file_has_readable_files_and_others_with_a_reason(content):
    for entry in unpacked(Entry("ada.zip", len(content), 0.0, "", lambda: content)):
        try:
            assert isinstance(entry.read(), bytes)
        except Unreadable as error:
            assert str(error).strip(" :") not in ("", "it cannot be unpacked")


@pytest.fixture(scope="module")
def one_course(released_course, tmp_path_factory):
    return shutil.copytree(released_course, tmp_path_factory.mktemp("uploads") / "course")


@pytest.fixture(scope="module")
def notebook(released_course):
    """Return a released notebook with an answer; its end is in reach of the damage."""
    released = json.loads((released_course / "release" / CHAPTER / f"{CHAPTER}.ipynb").read_text(encoding="utf-8"))
    cells = [cell for cell in released["cells"] if cell["metadata"].get("nbgrader", {}).get("solution")][:1]
    cells[0]["source"] = "def softmax(scores):\n    return scores\n"
    return json.dumps({**released, "cells": cells}).encode()


SCRIPT = b"# ---\n# jupyter:\n#   jupytext:\n#     a: b\n# ---\n\n# %% [markdown] a=1\n# x\n\n# %%\nx = 1\n"
uploads = st.one_of(
    st.tuples(st.just("all.zip"), zips),
    st.tuples(st.just("work.py"), damaged(st.just(SCRIPT))),
    st.tuples(st.just("mine.ipynb"), damaged(st.just(b"NOTEBOOK"))),
    st.tuples(names, st.binary(max_size=50)),
)


@pytest.mark.filterwarnings("ignore:Duplicate name")
@example(("all.zip", LZMA), "moodle")
@example(("all.zip", ENCRYPTED), "moodle")
@example(("all.zip", zip_of({"a/..": b"?"})), "moodle")
@example(("all.zip", zip_of({"": b"?"})), "moodle")
@example(("王" * 90, b"?"), "moodle")
@given(uploads, st.sampled_from(["moodle", "canvas"]))
@settings(max_examples=25, suppress_health_check=list(HealthCheck))
def test_the_other_students_are_collected(one_course, notebook, upload, platform):
    name, content = upload
    content = content.replace(b"NOTEBOOK", notebook)
    form = {"moodle": "Ada_1_assignsubmission_file/{}", "canvas": "ada_1_10_{}"}[platform]
    others = {"moodle": "Bob_2_assignsubmission_file/x.ipynb", "canvas": "bob_2_10_x.ipynb"}[platform]
    download = one_course.parent / "download.zip"
    download.write_bytes(zip_of({form.format(name): content, others: notebook, others.replace("b_2", "c_3"): notebook}))
    shutil.rmtree(one_course / "submitted", ignore_errors=True)
    collected = collect(download, one_course, CHAPTER)
    placed = {path.parent.parent.name: path.read_bytes() for path in Path(one_course).glob("submitted/*/*/*.ipynb")}
    students = ["participant-2", "participant-3"] if platform == "moodle" else ["2", "3"]
    assert [placed[student] for student in students] == [notebook] * 2
    assert all(file.startswith(form.format("")) for file, _ in collected.skipped)  # so that it names the student
    assert collected.n_files == sum(
        map(len, (collected.placed, collected.skipped, collected.superseded, collected.requests))
    )


@example(zip_of({"": b"{}"}))
@given(damaged(st.just(zip_of({"ada/x.ipynb": b"{}", "bob/é.ipynb": b"{}"}))))
@settings(max_examples=100)
def test_a_damaged_download_has_readable_files_or_is_refused(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "damaged.zip"
    path.write_bytes(content)
    try:
        with open_download(path) as entries:
            for entry in entries:
                try:
                    entry.read()
                except Unreadable as error:
                    assert "it cannot be unpacked" in str(error)
    except Unusable as error:
        assert "neither a folder nor a readable zip file" in str(error)
