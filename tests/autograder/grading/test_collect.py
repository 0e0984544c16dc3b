"""Downloads of Moodle and Canvas become submissions; what has no place is named, and nothing is lost."""

import os
import zipfile

import pytest
from nbgrader.api import Gradebook

from autograder.cli.main import main
from autograder.gradebook.coursedir import open_coursedir
from autograder.platforms.names import Named, named
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading
MOODLE = "{}_{}_assignsubmission_file_01_attention.ipynb"


def collect(course, download, capsys):
    code = main(["collect", CHAPTER, str(download), "--course", str(course)])
    return code, capsys.readouterr()


def submitted(course):
    return {path.parent.parent.name: path.read_bytes() for path in (course / "submitted").glob("*/*/*")}


@pytest.fixture
def zipped(tmp_path):
    """zipped({name: bytes}, year) -> a zip file, its entries written in that year."""

    def make(files, year=2026, name="download.zip"):
        with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as archive:
            for entry, content in files.items():
                archive.writestr(zipfile.ZipInfo(entry, (year, 2, 3, 10, 0, 0)), content)
        return tmp_path / name

    return make


@pytest.mark.parametrize(("path", "whose"), [
    ("Ada Lovelace_4711_assignsubmission_file_01_attention.ipynb", Named("Ada Lovelace", (4711,))),
    ("Ada Lovelace_4711_assignsubmission_file_/01_attention.ipynb", Named("Ada Lovelace", (4711,))),
    ("Ada Lovelace_4711_assignsubmission_file/01_attention.ipynb", Named("Ada Lovelace", (4711,))),
    ("Group A/Zoë O'Hara-王_12_assignsubmission_file_x_y.ipynb", Named("Zoë O'Hara-王", (12,))),
    ("lovelaceada_123_4567_01_attention.ipynb", Named("123", (0, 4567))),
    ("lovelaceada_LATE_123_4567_01_attention-2.ipynb", Named("123", (2, 4567), late=True)),
    ("ada/01_attention.ipynb", Named("ada")),
    ("ada/01_attention/01_attention.ipynb", Named("ada")),
    ("01_attention.ipynb", Named("")),
])  # fmt: skip
def test_names_say_whose_a_file_is(path, whose):
    assert named(path, lambda name: name) == whose


def test_a_download_of_moodle(course, zipped, capsys):
    with Gradebook(open_coursedir(course, CHAPTER).db_url) as gradebook:
        gradebook.add_student("al1815", first_name="Ada", last_name="Lovelace")
    files = {
        MOODLE.format("Ada Lovelace", 1): b"a", MOODLE.format("Emmy Noether", 2): b"e",
        "Emmy Noether_2_assignsubmission_onlinetext_onlinetext.html": b"<p>hello</p>", "notes.ipynb": b"?",
    }  # fmt: skip
    code, said = collect(course, zipped(files), capsys)
    assert submitted(course) == {"al1815": b"a", "Emmy Noether": b"e"}
    assert "new: 2 (al1815, Emmy Noether)" in said.out
    assert "onlinetext.html: no notebook" in said.out
    assert code == 1 and "notes.ipynb: its name does not say whose it is" in said.out


def test_two_of_one_name_are_not_confused(course, zipped, capsys):
    with Gradebook(open_coursedir(course, CHAPTER).db_url) as gradebook:
        for student in ("one", "two"):
            gradebook.add_student(student, first_name="Ada", last_name="Lovelace")
    code, _ = collect(course, zipped({MOODLE.format("Ada Lovelace", 1): b"a"}), capsys)
    assert code == 1 and submitted(course) == {}


def test_a_download_of_canvas_the_last_attempt_counts(course, zipped, capsys):
    files = {
        "lovelaceada_123_20_01_attention-1.ipynb": b"second", "lovelaceada_123_10_01_attention.ipynb": b"first",
        "noetheremmy_LATE_124_30_01_attention.ipynb": b"e",
    }  # fmt: skip
    code, said = collect(course, zipped(files), capsys)
    assert submitted(course) == {"123": b"second", "124": b"e"}
    assert "late, says the platform: 124" in said.out
    assert "01_attention.ipynb: 123 handed in again later" in said.out and code == 1


def test_a_later_download_replaces_and_keeps_and_an_older_one_does_not(course, zipped, capsys):
    path = "ada/01_attention.ipynb"
    collect(course, zipped({path: b"first", "bob/01_attention.ipynb": b"b"}, 2025), capsys)
    _, said = collect(course, zipped({path: b"second", "bob/01_attention.ipynb": b"b"}, 2026), capsys)
    assert "replaced: 1 (ada)" in said.out and "unchanged: 1 (bob)" in said.out
    assert submitted(course) == {"ada": b"second", "bob": b"b"}
    assert [kept.read_bytes() for kept in (course / "replaced/ada" / CHAPTER).iterdir()] == [b"first"]
    code, said = collect(course, zipped({path: b"first"}, 2025), capsys)
    assert code == 1 and "the notebook of ada: older than the one that is there" in said.out
    assert submitted(course)["ada"] == b"second"


def test_a_folder(course, tmp_path, capsys):
    folder = tmp_path / "download" / "ada"
    folder.mkdir(parents=True)
    (folder / "01_attention (1).ipynb").write_bytes(b"a")
    (folder / "link.ipynb").symlink_to("/etc/passwd")
    (folder / "01_attention (1).ipynb").touch()
    _, said = collect(course, tmp_path / "download", capsys)
    assert submitted(course) == {"ada": b"a"}
    assert "link.ipynb: a symbolic link" in said.out


@pytest.mark.parametrize("entry", [
    "../../ada/01_attention.ipynb", "/etc/ada/01_attention.ipynb", "..\\..\\ada\\01_attention.ipynb",
    "../01_attention.ipynb", "a*b/01_attention.ipynb", "..hidden/01_attention.ipynb",
])  # fmt: skip
def test_no_path_of_an_archive_is_used_for_writing(course, zipped, tmp_path, entry, capsys):
    before = sorted(path for path in tmp_path.rglob("*") if "submitted" not in path.parts)
    archive = zipped({entry: b"x"})
    collect(course, archive, capsys)
    after = sorted(path for path in tmp_path.rglob("*") if "submitted" not in path.parts)
    assert set(after) - set(before) <= {archive, course / ".lock"}
    assert set(submitted(course)) <= {"ada"}


def test_bombs_and_broken_archives_are_refused_in_words(course, tmp_path, zipped, monkeypatch, capsys):
    monkeypatch.setattr("autograder.platforms.download.MAX_BYTES", 10_000)
    bomb = zipped({"ada/01_attention.ipynb": bytes(100_000_000), "bob/01_attention.ipynb": b"b"})
    _, said = collect(course, bomb, capsys)
    assert "ada/01_attention.ipynb: 100 MB large" in said.out and submitted(course) == {"bob": b"b"}
    monkeypatch.setattr("autograder.platforms.download.MAX_TOTAL", 10_000)
    assert "would unpack to 100 MB" in collect(course, bomb, capsys)[1].err
    broken = tmp_path / "broken.zip"
    broken.write_bytes(bomb.read_bytes()[:-30])
    assert "no zip file that can be read" in collect(course, broken, capsys)[1].err
    assert "there is no file or folder" in collect(course, tmp_path / "nowhere", capsys)[1].err


def test_a_lying_size_is_no_way_round_the_limit(course, tmp_path, zipped, capsys):
    honest = zipped({"ada/01_attention.ipynb": bytes(1_000_000)}).read_bytes()
    lying = tmp_path / "lying.zip"
    lying.write_bytes(honest.replace((1_000_000).to_bytes(4, "little"), (10).to_bytes(4, "little")))
    code, said = collect(course, lying, capsys)
    assert code == 2 and "no zip file that can be read" in said.err and submitted(course) == {}


def test_what_was_collected_is_graded(course, zipped, contents, capsys):
    collect(course, zipped({MOODLE.format("Ada Lovelace", 1): contents["mistake-1"]}), capsys)
    assert main(["grade", CHAPTER, "--course", str(course)]) == 0
    assert "Ada Lovelace" in capsys.readouterr().out
    assert os.listdir(course / "feedback") == ["Ada Lovelace"]
