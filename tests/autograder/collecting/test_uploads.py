"""What students upload besides one notebook: two notebooks, zip files, scripts, and files that are not notebooks."""

import copy
import io
import json
import os
import re
import zipfile
from types import SimpleNamespace

import jupytext
import nbformat
import pytest
from nbconvert import PythonExporter

from autograder.cli.main import main
from autograder.collecting.latest_notebooks import MAX_NOTEBOOKS
from autograder.collecting.scripts import ScriptTooLarge, notebook_of
from autograder.grading.submitted_file import read_file
from tests.autograder.collecting.test_damaged_uploads import ENCRYPTED, LZMA
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading
ADA = "Ada_1_assignsubmission_file"
STAMPS = {"a": "2026-02-01T10:00:00+00:00", "b": "2026-02-03T10:00:00.123Z"}


@pytest.fixture
def collect(course, tmp_path, capsys):
    """collect({name: bytes}, option) -> exit code and output of `autograder collect` on a zip file."""

    def command(files, *options):
        with zipfile.ZipFile(tmp_path / "download.zip", "w") as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        code = main(["collect", CHAPTER, str(tmp_path / "download.zip"), "--course", str(course), *options])
        out = capsys.readouterr().out
        n_files, *parts = map(int, re.search(r"^(\d+) files? = (\d+) \D+ (\d+) \D+ (\d+) ", out, re.M).groups())
        assert n_files == sum(parts)
        return code, out

    return command


def submitted(course, student="participant-1"):
    path = course / "submitted" / student / CHAPTER / f"{CHAPTER}.ipynb"
    return path.read_bytes() if path.exists() else None


def zipped(files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.fixture
def blank(course):
    return (course / "release" / CHAPTER / f"{CHAPTER}.ipynb").read_bytes()


@pytest.fixture
def ran(perfect, contents):
    """ran(content, when, colab) -> the notebook with the time at which its first cell ran."""

    def stamped(content, when, colab=False):
        notebook = json.loads(content)
        if colab:
            notebook["cells"][0]["metadata"]["executionInfo"] = {"timestamp": when}
        else:
            notebook["cells"][0]["metadata"]["execution"] = {"iopub.status.idle": when}
        return json.dumps(notebook).encode()

    return stamped


# ---------------------------------------------------------------------------------------------------- two notebooks


@pytest.mark.parametrize(
    "names", [("01_attention.ipynb", "zz_original.ipynb"), ("zz_mine.ipynb", "01_attention.ipynb")]
)
def test_the_notebook_with_answers_counts_whatever_its_name(course, collect, contents, blank, names):
    mine, original = names
    code, out = collect({f"{ADA}/{mine}": contents["perfect"], f"{ADA}/{original}": blank})
    assert code == 0 and submitted(course) == contents["perfect"]
    assert f"superseded: {ADA}/{original}: it holds no answer, but {ADA}/{mine} does" in out and "later" not in out


@pytest.mark.parametrize("later", "ab")
def test_of_two_notebooks_with_answers_the_one_that_ran_later_counts(course, collect, contents, ran, later):
    stamps = STAMPS if later == "b" else {"a": STAMPS["b"], "b": STAMPS["a"]}
    files = {"a": ran(contents["perfect"], stamps["a"]), "b": ran(contents["mistake-1"], stamps["b"])}
    code, out = collect({f"{ADA}/{name}.ipynb": content for name, content in files.items()})
    assert code == 0 and submitted(course) == files[later]
    assert f"its cells ran before those of {ADA}/{later}.ipynb" in out


def test_colabs_times_count_too(course, collect, contents, ran):
    files = {
        "a": ran(contents["perfect"], 1_770_000_000_000, True),
        "b": ran(contents["mistake-1"], 1_760_000_000_000, True),
    }
    assert collect({f"{ADA}/{name}.ipynb": content for name, content in files.items()})[0] == 0
    assert submitted(course) == files["a"]


def test_if_nothing_says_which_counts_none_is_taken(course, collect, contents):
    code, out = collect({f"{ADA}/a.ipynb": contents["perfect"], f"{ADA}/b.ipynb": contents["mistake-1"]})
    assert code == 1 and submitted(course) is None and "later" not in out
    assert out.count(f"{ADA}/a.ipynb and {ADA}/b.ipynb were handed in together with other answers") == 1
    assert "place it by hand" in out and "no notebook:" not in out
    path = course / "submitted" / "STUDENT" / CHAPTER / f"{CHAPTER}.ipynb"
    assert f"several notebooks, and none was taken: participant-1: copy the right one to {path}," in out


def test_a_copy_with_the_same_answers_is_not_a_question(course, collect, contents, perfect):
    other = copy.deepcopy(perfect)
    other["cells"][0]["metadata"]["note"] = 1
    code, out = collect({f"{ADA}/a.ipynb": contents["perfect"], f"{ADA}/b.ipynb": json.dumps(other)})
    assert code == 0 and submitted(course) == contents["perfect"] and "has the same answers as" in out


def test_a_later_upload_of_canvas_counts_unless_it_is_blank(course, collect, contents, blank):
    collect({"ada_7_10_x.ipynb": contents["mistake-1"], "ada_7_11_y.ipynb": contents["perfect"]})
    assert submitted(course, "7") == contents["perfect"]
    collect({"bob_8_10_x.ipynb": contents["perfect"], "bob_8_11_y.ipynb": blank})
    assert submitted(course, "8") == contents["perfect"]


# ------------------------------------------------------------------------------------------------ zip files, scripts


def test_a_notebook_in_a_zip_file_is_found(course, collect, contents):
    inner = {"work/01_attention.ipynb": contents["perfect"], "work/.DS_Store": b"?", "work/deeper.zip": zipped({})}
    code, out = collect({f"{ADA}/everything.zip": zipped(inner), f"{ADA}/notes.txt": b"hello"})
    assert code == 0 and submitted(course) == contents["perfect"]
    assert "4 files = 1 placed + 3 skipped" in out
    collect({"bob_8_10_all.zip": zipped(inner)})
    assert submitted(course, "8") == contents["perfect"]


def test_the_other_files_of_a_zipped_chapter_take_one_line(course, collect, contents):
    others = {f"01_attention/check/module{number}.py": b"x = 1" for number in range(30)}
    inner = others | {"01_attention/01_attention.ipynb": contents["perfect"], "01_attention/broken.zip": b"?"}
    code, out = collect({f"{ADA}/all.zip": zipped(inner), f"{ADA}/notes.txt": b"hello"})
    assert code == 0 and out.count("skipped: ") == 1
    assert f"skipped: 32 files: {ADA}/all.zip and {ADA}: not a notebook\n" in out
    assert "33 files = 1 placed + 32 skipped" in out


@pytest.mark.parametrize("root", ["", "unzipped/"])
def test_the_other_files_of_a_folder_take_one_line(course, collect, contents, root):
    files = {f"{root}{ADA}/check/keys/{number}.npz": b"?" for number in range(30)}
    files |= {f"{root}Bob_2_assignsubmission_file/{name}": b"?" for name in ("a.txt", "b.txt")}
    files |= {f"{root}{name}/x.ipynb": contents["perfect"] for name in (ADA, "Bob_2_assignsubmission_file")}
    code, out = collect(files)
    assert code == 0 and out.count("skipped: ") == 1
    assert f"skipped: 32 files: {root}{ADA} and {root}Bob_2_assignsubmission_file: not a notebook\n" in out
    assert collect(files, "--all")[1].count("skipped: ") == 32


def test_a_large_class_does_not_fill_a_line(course, collect):
    files = {f"Ada_{number}_assignsubmission_file/x.ipynb": b"?" for number in range(10, 40)}
    files |= {f"Bob_{number}_assignsubmission_file/x.txt": b"?" for number in range(50, 350)}
    _, out = collect(files)
    assert "new: 30 (participant-10, participant-11, " in out and " and 20 more; --all names them)\n" in out
    assert "no notebook: participant-100, " in out and " and 290 more; --all names them: `autograder grade`" in out
    assert "skipped: 300 files: Bob_50_assignsubmission_file, " in out
    assert "file and 290 more; --all names them: not a notebook\n" in out and max(map(len, out.splitlines())) < 400
    assert "participant-98, participant-99: `autograder grade`" in collect(files, "--all")[1]


def graded(course, capsys):
    assert main(["grade", CHAPTER, "--course", str(course)]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("participant")]
    return {words[0]: words[-1] for words in rows if not words[0].endswith(":")}


def test_scripts_of_jupyter_and_jupytext_are_graded_like_their_notebook(course, collect, contents, capsys):
    notebook = nbformat.reads(contents["perfect"].decode(), 4)
    exported, _ = PythonExporter().from_notebook_node(notebook)
    assert "# In[" in exported
    files = {"exported": exported, **{form: jupytext.writes(notebook, f"py:{form}") for form in ("percent", "light")}}
    names = {f"P_{number}_assignsubmission_file/work.py": text for number, text in enumerate(files.values(), start=1)}
    code, out = collect(names)
    assert code == 0, out
    assert graded(course, capsys) == dict.fromkeys(("participant-1", "participant-2", "participant-3"), "22")


def test_a_script_that_is_collected_again_is_the_same_submission(course, collect, contents):
    """Otherwise it would be graded on different cases each time, and a request for a regrade could make it late."""
    exported, _ = PythonExporter().from_notebook_node(nbformat.reads(contents["perfect"].decode(), 4))
    collect({f"{ADA}/work.py": exported})
    first = submitted(course, "participant-1")
    collect({f"{ADA}/work.py": exported})
    assert submitted(course, "participant-1") == first


@pytest.mark.parametrize(
    "script", ["def softmax(x):\n    return x\n", "# ---\n# jupyter:\n# %% [\n---: {", "\0# %%\n("]
)
def test_another_script_is_not_a_notebook_and_stops_nothing(course, collect, contents, script):
    code, out = collect({f"{ADA}/work.py": script, "Bob_2_assignsubmission_file/x.ipynb": contents["perfect"]})
    assert submitted(course, "participant-2") == contents["perfect"]


def test_the_modules_of_a_whole_folder_leave_room_for_its_notebook(course, tmp_path, contents, capsys):
    """In a copied folder the modules may be the newer files. There are more of them than the limit of files."""
    folder = tmp_path / "download" / "ada"
    (folder / "check").mkdir(parents=True)
    (folder / f"{CHAPTER}.ipynb").write_bytes(contents["perfect"])
    os.utime(folder / f"{CHAPTER}.ipynb", (1, 1))
    for number in range(MAX_NOTEBOOKS + 5):
        (folder / "check" / f"module{number}.py").write_text("x = 1\n", encoding="utf-8")
    assert main(["collect", CHAPTER, str(folder.parent), "--course", str(course)]) == 0
    assert submitted(course, "ada") == contents["perfect"]
    assert "limit" not in capsys.readouterr().out


# ------------------------------------------------------------------------------------------------- nothing usable


def test_students_without_a_notebook_get_a_page_that_says_what_to_hand_in(course, collect, contents, capsys, tmp_path):
    code, out = collect({
        f"{ADA}/essay.pdf": b"%PDF", "Bob_2_assignsubmission_file/broken.zip": b"PK?",
        "Cleo_3_assignsubmission_file/code.py": b"print(1)",
        "Dan_4_assignsubmission_onlinetext/onlinetext.html": b"<p>",
        "Eve_5_assignsubmission_file/.hidden.ipynb": b"?", "Finn_6_assignsubmission_file/x.ipynb": contents["perfect"],
    })  # fmt: skip
    assert code == 1 and "no notebook: participant-1, participant-2, participant-3, participant-4" in out
    scores = graded(course, capsys)
    assert scores == {f"participant-{n}": "22" if n == 6 else "0" for n in (1, 2, 3, 4, 6)}
    page = (course / "feedback/participant-1" / CHAPTER / f"{CHAPTER}.html").read_text()
    assert "Hand in 01_attention.ipynb, the notebook that you worked in" in page and "essay.pdf" in page
    main(["feedback", CHAPTER, "--to", "moodle", "--course", str(course), "--output", str(tmp_path / "back.zip")])
    with zipfile.ZipFile(tmp_path / "back.zip") as archive:
        assert len(archive.namelist()) == 5


def test_a_file_that_is_not_a_notebook_replaces_nothing(course, collect, contents, capsys):
    collect({f"{ADA}/x.ipynb": contents["perfect"]})
    code, _ = collect({f"{ADA}/essay.pdf": b"%PDF"})
    assert code == 0 and submitted(course) == contents["perfect"]
    assert sorted(path.name for path in (course / "submitted/participant-1" / CHAPTER).iterdir()) == [
        f"{CHAPTER}.ipynb"
    ]


def test_feedback_names_enrolled_students_without_a_submission(course, collect, contents, capsys, tmp_path):
    others = "".join(f"Other {number},{number},o{number},\n" for number in range(10, 22))
    (tmp_path / "roster.csv").write_text(f"Student,ID,SIS Login ID,Section\nLovelace Ada,1,a,\n{others}")
    main(["roster", str(tmp_path / "roster.csv"), "--course", str(course)])
    collect({"ada_1_10_x.ipynb": contents["perfect"]})
    graded(course, capsys)
    output = str(tmp_path / "back.zip")
    assert main(["feedback", CHAPTER, "--to", "canvas", "--course", str(course), "--output", output]) == 0
    names = ", ".join(str(number) for number in range(10, 20))
    assert f"no page, because the course has no submission by them: {names} and 2 more\n" in capsys.readouterr().out


# -------------------------------------------------------------------------------------------------------- too large


@pytest.fixture
def too_large(course, tmp_path, contents, capsys):
    """Collect a folder in which a notebook has 250 MB, which take no room on the disk; return exit code and output."""
    folders = [tmp_path / "download" / f"{name}_assignsubmission_file" for name in ("Ada_1", "Bob_2", "Cleo_3")]
    for folder in folders:
        folder.mkdir(parents=True)
    (folders[0] / "big.ipynb").touch()
    os.truncate(folders[0] / "big.ipynb", 250_000_000)
    (folders[1] / "x.ipynb").write_bytes(contents["perfect"])
    (folders[2] / "all.zip").write_bytes(zipped({"film.mp4": b"?", "notes.txt": b"?"}))
    os.truncate(folders[2] / "all.zip", 300_000_000)
    return main(["collect", CHAPTER, str(folders[0].parent), "--course", str(course)]), capsys.readouterr().out


def feedback_page(course, student):
    return (course / "feedback" / student / CHAPTER / f"{CHAPTER}.html").read_text(encoding="utf-8")


def test_an_upload_that_was_too_large_gets_a_page_with_its_size_the_limit_and_what_to_do(
    course, too_large, capsys, tmp_path
):
    code, out = too_large
    assert code == 1 and "no notebook: participant-1, participant-3" in out
    assert "big.ipynb: it has 250 MB, more than the limit of 200 MB" in out
    assert graded(course, capsys) == {"participant-1": "0", "participant-2": "22", "participant-3": "0"}
    for student, words in (("1", "big.ipynb is 250 MB"), ("3", "all.zip is 300 MB")):
        page = feedback_page(course, f"participant-{student}")
        assert f"{words}; files of more than 200 MB are not read. Clear the outputs of all cells" in page
        assert "(not usable)" not in page
    arguments = ["feedback", CHAPTER, "--to", "moodle", "--output", str(tmp_path / "back.zip")]
    assert main([*arguments, "--course", str(course)]) == 0
    assert sum(path.stat().st_blocks for path in (course / "submitted").rglob("*")) < 10_000


def test_a_file_that_is_too_large_inside_a_zip_file_gets_the_same_page(course, collect, monkeypatch, capsys):
    monkeypatch.setattr("autograder.collecting.zip_or_folder.MAX_BYTES", 2_000_000)
    collect({f"{ADA}/all.zip": zipped({"mine.ipynb": bytes(3_000_000)})})
    graded(course, capsys)
    assert "mine.ipynb is 3 MB; files of more than 200 MB" in feedback_page(course, "participant-1")


@pytest.mark.thorough("the feedback on too large uploads is tested")
def test_a_later_upload_replaces_one_that_was_too_large(course, too_large, collect, contents, capsys):
    collect({f"{ADA}/essay.pdf": b"%PDF"})
    graded(course, capsys)
    page = feedback_page(course, "participant-1")
    assert "essay.pdf" in page and "250 MB" not in page
    collect({f"{ADA}/x.ipynb": contents["perfect"]})
    assert graded(course, capsys)["participant-1"] == "22"
    assert [path.name for path in (course / "submitted/participant-1" / CHAPTER).iterdir()] == [f"{CHAPTER}.ipynb"]


@pytest.mark.parametrize(("content", "words"), [
    (ENCRYPTED, "“01_attention.ipynb in all.zip” could not be used: it is encrypted. Hand in"),
    (LZMA, "“01_attention.ipynb in all.zip” could not be used: it cannot be unpacked: "),
    (b"Rar!", "“all.zip” could not be used: it cannot be unpacked: File is not a zip file. Hand in"),
    (zipped({"b.ipynb": '{"cells": [{"metadata": {"nbgrader": {"grade_id": "masked_softmax"}}}]}'}),
     "“b.ipynb in all.zip” could not be used: it is the notebook of 03_masking, not of 01_attention. Hand in"),
], ids=["encrypted", "damaged", "no zip file", "another chapter"])  # fmt: skip
@pytest.mark.parametrize("upload", [f"{ADA}/all.zip", "ada_1_10_all.zip"], ids=["moodle", "canvas"])
def test_an_upload_that_could_not_be_used_gets_a_page_with_its_name_and_the_reason(
    course, collect, upload, content, words
):
    collect({upload: content})
    (folder,) = course.glob(f"submitted/*/{CHAPTER}")
    assert words in read_file(folder / f"{CHAPTER}.ipynb").trouble


@pytest.mark.parametrize("name", ["too_large.json", "timestamp.txt"])
def test_no_upload_can_pretend_to_have_been_too_large(course, collect, capsys, name):
    collect({f"{ADA}/{name}": b'{"name": "x", "n_bytes": 999000000}'})
    graded(course, capsys)
    page = feedback_page(course, "participant-1")
    assert "999 MB" not in page and f"{name} (not usable)" in page


LARGE = {"light": "x\n\n" * 2_100, "percent": "# %%\nx\n" * 2_100, "long": "x = 1\n" * 40_000}


def test_a_script_that_is_too_large_is_named_with_the_limit(course, collect):
    """A large Python file that was not made from a notebook is just another file."""
    code, out = collect({f"{ADA}/work.py": LARGE["percent"], "Bob_2_assignsubmission_file/x.py": LARGE["long"]})
    assert code == 1 and "no notebook: participant-1, participant-2" in out
    assert f"skipped: {ADA}/work.py: a script of more than 200 kB or 2,000 cells, which is not read\n" in out
    assert "x.py: not a notebook" in out


@pytest.mark.parametrize("cells", LARGE.values(), ids=LARGE)
def test_a_script_that_would_take_long_to_read_is_not_read(cells):
    script = f"# ---\n# jupyter:\n#   jupytext:\n#     text_representation: {{}}\n# ---\n\n{cells}"
    kernel = {"name": "python3", "display_name": "Python 3"}
    released = SimpleNamespace(notebook={"metadata": {"kernelspec": kernel}}, editable=(), nbgrader_cells=())
    with pytest.raises(ScriptTooLarge):
        notebook_of(script.encode(), released)
    assert notebook_of(script[:3_000].encode(), released)
