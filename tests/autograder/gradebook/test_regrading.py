"""Regrade requests: what students write, what instructors read and answer, and what the feedback page shows."""

import shutil

import pytest

from autograder.cli.main import main
from autograder.course.regrade_requests import FILE, MAX_BYTES, Request, is_request_file, load_requests, parse, with_new
from autograder.course.roster_file import RosterFile, save_roster
from autograder.errors import UserError
from autograder.gradebook.regrading import answered
from tests.autograder.gradebook.graded_course import exported, graded, open_gradebook, page
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading
NAMES = ("softmax", "attention", "attention_weights", "report")
REQUEST = "softmax: Rows of <b>one</b> entry\n  pass at home.\n\nAttention: the scale is right\n"


# ------------------------------------------------------------------------------------------------------- the file


@pytest.mark.parametrize(("raw", "requests"), [
    (REQUEST.encode(), [("softmax", "Rows of <b>one</b> entry\npass at home."), ("attention", "the scale is right")]),
    (b"\xef\xbb\xbf- **softmax:** bold\r\nand more: of it\r\n", [("softmax", "bold\nand more: of it")]),
    ("Exercise `softmax` : für Übung".encode("utf-16"), [("softmax", "für Übung")]),
    (b"softmax: one\nattention: two\nsoftmax: three", [("softmax", "one\nthree"), ("attention", "two")]),
    (b"My score is wrong.\nsoftmax: see above", [("", "My score is wrong."), ("softmax", "see above")]),
    (b"softmax: one\nsotfmax: two\nmore", [("", "sotfmax: two\nmore"), ("softmax", "one")]),
    (b"softmax:", [("softmax", "")]),
    (b" \n\n", []),
    (b"", []),
    (b"report: \xff\x00\x1b[2J", [("report", "\ufffd\ufffd\ufffd[2J")]),
    ("report: \N{RIGHT-TO-LEFT OVERRIDE}x".encode(), [("report", "\ufffdx")]),
])  # fmt: skip
def test_requests_are_read_from_what_students_write(raw, requests):
    assert [(request.exercise, request.text) for request in parse(raw, NAMES)] == requests


def test_a_file_that_is_too_long_is_cut_and_says_so():
    (request,) = parse(b"softmax: " + b"x" * 3 * MAX_BYTES, NAMES)
    assert request.text.endswith("x\n(This file has more than 10,000 bytes. The rest was not read.)")
    assert len(request.text) < MAX_BYTES + 100


@pytest.mark.parametrize("name", ["regrade.txt", "Regrade.TXT", "regrade-1.txt", "regrade (2).txt", "regrade.txt.txt"])
def test_names_of_the_file_that_platforms_and_systems_make(name):
    assert is_request_file(name) and not is_request_file(f"my {name}") and not is_request_file(f"{name}.ipynb")


def test_the_same_file_twice_asks_once():
    first = parse(REQUEST.encode(), NAMES)
    old = [Request("softmax", first[0].text, "Yes."), first[1]]
    assert with_new(old, first) == old
    assert with_new(old, parse(b"softmax: again", NAMES)) == [*old, Request("softmax", "again")]


def test_which_request_an_answer_answers():
    about, other, unnamed = Request("softmax", "a"), Request("attention", "b"), Request("", "c")
    assert answered([about, other, unnamed], "softmax", "!") == [Request("softmax", "a", "!"), other, unnamed]
    assert answered([other, unnamed], "softmax", "!") == [other, Request("", "c", "!")]
    assert answered([Request("softmax", "a", "?"), other], "softmax", "!")[0].answer == "!"
    with pytest.raises(
        UserError, match="no open request about softmax; the student asked about no exercise in particular"
    ):
        answered([Request("", "c", "!")], "softmax", "?")
    with pytest.raises(UserError, match="no open request about softmax; the student asked about attention"):
        answered([other], "softmax", "!")


# ------------------------------------------------------------------------------------------ from collecting to page


@pytest.fixture
def download(course, tmp_path, contents, capsys):
    """download({file: bytes}) -> exit code and output of `autograder collect` on ada's folder."""

    def collect(files):
        folder = tmp_path / "download" / "Ada_1_assignsubmission_file"
        shutil.rmtree(folder.parent, ignore_errors=True)
        folder.mkdir(parents=True)
        for name, content in files.items():
            (folder / name).write_bytes(content)
        code = main(["collect", CHAPTER, str(folder.parent), "--course", str(course)])
        return code, capsys.readouterr().out

    return collect


ADA = "participant-1"


def test_a_request_is_kept_listed_answered_and_shown(course, download, run, contents, tmp_path):
    download({f"{CHAPTER}.ipynb": contents["mistake-1"]})
    graded(course)
    timestamp = course / "submitted" / ADA / CHAPTER / "timestamp.txt"
    timestamp.write_text("2026-02-01 10:00:00 UTC\n")
    code, out = download({f"{CHAPTER}.ipynb": contents["mistake-1"], FILE: REQUEST.encode()})
    assert code == 0 and f"regrade requests: {ADA}" in out
    assert "2 files = 1 placed + 0 skipped + 0 superseded + 1 with regrade requests" in out
    assert timestamp.read_text() == "2026-02-01 10:00:00 UTC\n"

    code, out = run("requests", CHAPTER)
    assert code == 0 and f"{CHAPTER}, {ADA}: `softmax`, 0 points\n  Rows of <b>one</b> entry\n  pass at home.\n" in out
    assert "2 open requests in 01_attention." in out
    assert graded(course)[ADA].reused
    html = page(course, ADA)
    assert "Rows of &lt;b&gt;one&lt;/b&gt; entry\npass at home." in html
    assert html.count("Your instructor has not answered yet.") == 2

    assert run("answer", ADA, CHAPTER, "softmax", "Right, *thank you*.", "--points", "3")[0] == 0
    assert "1 open request in" in run("requests", CHAPTER)[1]
    assert "Answer: Right, *thank you*." in run("requests", CHAPTER, "--all")[1]
    graded(course, force=True)
    html = page(course, ADA)
    assert "Right, <em>thank you</em>." in html and html.count("has not answered yet") == 1
    assert "3 of 4 points <span" in html and "set by your instructor" in html
    assert float(exported(course, tmp_path)[ADA]["score"]) == 18 + 3
    with open_gradebook(course) as gradebook:
        grade = gradebook.find_grade("check-softmax", CHAPTER, CHAPTER, ADA)
        assert grade.manual_score == 3


def test_without_a_chapter_the_requests_of_all_released_chapters_are_listed(course, download, run, contents):
    assert run("requests") == (0, f"0 open requests in {course}.\n")
    download({f"{CHAPTER}.ipynb": contents["mistake-1"], FILE: b"softmax: why"})
    second = course / "release" / "02_other" / "02_other.ipynb"
    second.parent.mkdir()
    text = (course / "release" / CHAPTER / f"{CHAPTER}.ipynb").read_text()
    second.write_text(text.replace("softmax", "softmin"))
    folder = course / "submitted" / "bob" / "02_other"
    folder.mkdir(parents=True)
    (folder / FILE).write_text("softmin: and this")
    code, out = run("requests")
    assert code == 0 and f"{CHAPTER}, {ADA}: `softmax`\n  why\n" in out and "02_other, bob: `softmin`\n" in out
    assert "1 open request in 01_attention." in out and "1 open request in 02_other." in out
    assert "02_other" not in run("requests", CHAPTER)[1]


def test_bad_answers_change_nothing(course, download, run, contents):
    download({f"{CHAPTER}.ipynb": contents["mistake-1"], FILE: b"softmax: why"})
    cases = {
        ("bob", "softmax", "x"): "'bob' has no request in 01_attention",
        (ADA, "sotfmax", "x"): "01_attention has no exercise 'sotfmax'; did you mean `softmax`?",
        (ADA, "attention", "x"): "no open request about attention; the student asked about softmax",
        (ADA, "softmax", " "): "the answer is empty",
        (ADA, "softmax", "x", "--points", "3"): f"{ADA} has no score in 01_attention yet",
    }
    for (student, *rest), words in cases.items():
        code, out = run("answer", student, CHAPTER, *rest)
        assert code == 2 and words in out, out
    graded(course)
    for points in ("5", "-1", "nan"):
        code, out = run("answer", ADA, CHAPTER, "softmax", "x", "--points", points)
        assert code == 2 and "softmax has 4 points, so its score cannot be" in out
    run("void", "softmax", "--drop")
    code, out = run("answer", ADA, CHAPTER, "softmax", "x", "--points", "2")
    assert code == 2 and "softmax counts in no score, because it is optional or void" in out
    assert load_requests(course, CHAPTER) == {ADA: [Request("softmax", "why")]}


def test_an_answer_to_a_name_gets_the_id_and_one_to_an_id_does_not(course, download, run, contents):
    save_roster(course, RosterFile(identifiers={"4711": {"ID number": "4711"}}))
    with open_gradebook(course) as gradebook:
        gradebook.add_student("4711", first_name="Anna", last_name="Müller")
    download({f"{CHAPTER}.ipynb": contents["mistake-1"], FILE: b"softmax: why"})
    for name, hint in (("Anna Müller", "; the id of Anna Müller is 4711"), ("4711", "")):
        code, out = run("answer", name, CHAPTER, "softmax", "x")
        assert code == 2 and out.endswith(f"{name!r} has no request in {CHAPTER}{hint}\n")


def test_a_request_alone_keeps_the_notebook_and_a_later_one_loses_nothing(course, download, run, contents):
    download({f"{CHAPTER}.ipynb": contents["mistake-1"]})
    code, out = download({FILE: b"softmax: one"})
    assert code == 0 and "no notebook" not in out
    download({FILE: b"attention: two", "regrade-1.txt": b"attention: three"})
    assert "2 open requests" in run("requests", CHAPTER)[1]
    download({f"{CHAPTER}.ipynb": contents["perfect"]})
    assert "softmax" in run("requests", CHAPTER)[1]
    assert (course / "submitted" / ADA / CHAPTER / f"{CHAPTER}.ipynb").read_bytes() == contents["perfect"]


def test_a_request_that_is_a_link_is_not_followed(course, hand_in, contents, run, tmp_path):
    folder = hand_in("ada", contents["perfect"]).parent
    (tmp_path / "secret").write_text("softmax: secret")
    (folder / FILE).symlink_to(tmp_path / "secret")
    assert run("requests", CHAPTER)[1] == "0 open requests in 01_attention.\n"


def test_no_text_of_a_student_can_imitate_our_output_or_run_on_the_page(course, hand_in, contents, run):
    folder = hand_in("ada", contents["perfect"]).parent
    (folder / FILE).write_bytes(b"softmax: </p><script>window.harm = 1</script>\x1b[2J **no markup**\n0 open requests")
    out = run("requests", CHAPTER)[1]
    assert "\x1b" not in out and "\n  0 open requests\n" in out
    graded(course)
    assert "<script" not in page(course) and "**no markup**" in page(course)


def test_a_damaged_file_is_named_and_kept(course, run):
    path = course / "requests" / f"{CHAPTER}.json"
    path.parent.mkdir()
    path.write_text("{")
    code, out = run("requests", CHAPTER)
    assert code == 2 and "is damaged" in out and path.read_text() == "{"
