"""The time of handing in (timestamp.txt): from a table, from Canvas's LATE labels, or from a file itself."""

import errno
import os
from pathlib import Path

import pytest

from autograder.cli.main import main
from autograder.collecting.file_prefixes import load_prefixes
from tests.autograder.collecting.downloads import MOODLE, WORKSHEET, collect, stamps, submitted
from tests.autograder.gradebook.graded_course import open_gradebook
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading


def test_moodles_worksheet_has_the_times(course, zipped, worksheet, due, capsys):
    files = {MOODLE.format("Ada Lovelace", 11): b"a", MOODLE.format("Ada Lovelace", 12): b"b"}
    _, printed = collect(course, zipped(files), capsys, "--table", worksheet)
    assert stamps(course) == {
        "ada@example.org": "2026-02-03 10:00:00 UTC\n", "other@example.org": "2026-02-03 14:30:00 UTC\n",
    }  # fmt: skip
    assert "time of handing in: the platform's table: 2 submissions" in printed.out


def test_students_without_a_time_in_the_table_are_named(course, zipped, worksheet, capsys):
    """Moodle writes a dash, for example for a draft. Work without a time is never late."""
    files = {MOODLE.format("Ada Lovelace", 11): b"a", MOODLE.format("Emmy Noether", 13): b"b"}
    _, printed = collect(course, zipped(files), capsys, "--table", worksheet)
    assert "unknown (give the times with --table FILE): 1 submission (emmy@example.org)\n" in printed.out


def test_canvas_marks_late_files_or_its_table_has_the_times(course, zipped, due, tmp_path, capsys):
    files = {"ada_1_10_x.ipynb": b"a", "bob_LATE_2_11_x.ipynb": b"b", "cleo_LATE_3_12_x.ipynb": b"c"}
    collect(course, zipped(files), capsys)
    late = "2026-02-03 12:00:01 UTC\n"
    assert stamps(course) == {"1": "2026-02-03 12:00:00 UTC\n", "2": late, "3": late}
    # The fields of a submission in Canvas's API: instructure/canvas-lms, lib/api/v1/submission.rb.
    rows = ["user_id,submitted_at", "1,2026-02-01T08:00:00Z", "2,2026-02-04T01:00:00+01:00", "3,"]
    (tmp_path / "times.csv").write_text("\n".join(rows))
    _, printed = collect(course, zipped(files), capsys, "--table", tmp_path / "times.csv")
    assert stamps(course) == {"1": "2026-02-01 08:00:00 UTC\n", "2": "2026-02-04 00:00:00 UTC\n", "3": late}
    assert "the platform's table: 2 submissions" in printed.out and "Canvas's LATE" in printed.out


def test_a_new_file_without_a_time_names_the_student_whose_earlier_time_counts(
    course, zipped, worksheet, contents, capsys
):
    ada, other = MOODLE.format("Ada Lovelace", 11), MOODLE.format("Ada Lovelace", 12)
    files = {ada: contents["perfect"], other: contents["perfect"]}
    _, printed = collect(course, zipped(files), capsys, "--table", worksheet)
    assert main(["grade", CHAPTER, "--course", str(course)]) == 0
    worksheet.write_text(WORKSHEET.replace("10:00 AM", "-").replace('"Tuesday, 3 February 2026, -"', "-"))
    _, printed = collect(course, zipped(files | {ada: contents["mistake-1"]}), capsys, "--table", worksheet)
    assert "without a time, so the time of the replaced file counts: ada@example.org: give" in printed.out
    _, printed = collect(course, zipped(files | {ada: contents["mistake-1"]}), capsys, "--table", worksheet)
    assert "the replaced file counts" not in printed.out


def test_a_file_that_is_no_notebook_has_a_time_too(course, zipped, due, capsys):
    """Its student may get points by hand, or for a void exercise, and these may be late."""
    files = {"ada_LATE_1_10_essay.pdf": b"a", "bob_2_11_essay.pdf": b"b", "eve_3_12_x.ipynb": b"e"}
    collect(course, zipped(files), capsys)
    times = {"1": "2026-02-03 12:00:01 UTC\n", "2": "2026-02-03 12:00:00 UTC\n", "3": "2026-02-03 12:00:00 UTC\n"}
    assert stamps(course) == times
    collect(course, zipped({"eve_LATE_3_13_essay.pdf": b"later, and no notebook"}), capsys)
    assert stamps(course) == times
    assert main(["due", CHAPTER, "--at", "2026-02-05", "--course", str(course)]) == 0
    assert "collect Canvas's download again: 1, 2 and 3\n" in capsys.readouterr().out


def test_a_due_date_may_be_set_after_collecting(course, zipped, capsys):
    download = zipped({"ada_1_10_x.ipynb": b"a", "bob_LATE_2_11_x.ipynb": b"b"})
    _, printed = collect(course, download, capsys)
    assert stamps(course) == {} and "set the due date, and collect again" in printed.out
    with open_gradebook(course) as gradebook:
        gradebook.update_or_create_assignment(CHAPTER, duedate="2026-02-03 12:00:00 UTC")
    _, printed = collect(course, download, capsys)
    assert "unchanged: 2 (1, 2)" in printed.out and stamps(course)["2"] == "2026-02-03 12:00:01 UTC\n"


def test_another_due_date_names_the_times_that_late_labels_gave(course, zipped, contents, capsys):
    """Collecting again moves the times to the new date. A label may be about the request that came with a notebook."""

    def due(day):
        assert main(["due", CHAPTER, "--at", f"{day} 12:00+00:00", "--course", str(course)]) == 0
        return capsys.readouterr().out

    files = {f"{name}_x.ipynb": contents["perfect"] for name in ("ada_1_10", "bob_LATE_2_11", "eve_LATE_3_12")}
    assert "LATE" not in due("2026-02-03")
    collect(course, zipped(files), capsys)
    assert "LATE" in due("2026-01-19")
    assert "earlier due date, so collect Canvas's download again: 1, 2 and 3\n" in due("2026-01-20")
    files |= {"ada_1_13_regrade.txt": b"softmax: why", "eve_LATE_3_14_regrade.txt": b"softmax: why"}
    collect(course, zipped(files), capsys)
    expected = {"1": "2026-01-20 12:00:59", "2": "2026-01-20 12:01:00", "3": "2026-02-03 12:01:00"}
    assert stamps(course) == {student: f"{when} UTC\n" for student, when in expected.items()}
    assert "LATE" not in due("2026-01-20")


def test_a_command_that_ends_before_the_times_loses_none(course, zipped, worksheet, contents, monkeypatch, capsys):
    """In the next run the notebook is unchanged and came with a request, which alone must not make it late."""
    ada = "Ada Lovelace_11_assignsubmission_file"
    download = zipped({f"{ada}/x.ipynb": contents["perfect"], f"{ada}/regrade.txt": b"softmax: why?"})
    arguments = ["collect", CHAPTER, str(download), "--table", str(worksheet), "--course", str(course)]

    def killed(handed_in):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("autograder.gradebook.submitted_folder.timestamp_text", killed)
        assert main(arguments) == 2
    assert main(arguments) == 0
    assert stamps(course) == {"ada@example.org": "2026-02-03 10:00:00 UTC\n"}


def test_a_time_that_cannot_be_written_leaves_the_earlier_one(course, zipped, worksheet, contents, monkeypatch, capsys):
    download = zipped({MOODLE.format("Ada Lovelace", 11): contents["perfect"]})
    collect(course, download, capsys, "--table", worksheet)
    before = stamps(course)
    worksheet.write_text(WORKSHEET.replace("10:00 AM", "11:00 AM"))
    write_text = Path.write_text

    def full(path, text, **options):
        if "timestamp" in path.name:
            write_text(path, "")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return write_text(path, text, **options)

    monkeypatch.setattr(Path, "write_text", full)
    assert collect(course, download, capsys, "--table", worksheet)[0] == 2
    assert stamps(course) == before != {}


def test_a_late_mark_does_not_replace_an_exact_time(course, zipped, due, contents, tmp_path, capsys):
    """An instructor may forget the table, and the command itself says to write exact times into the file."""
    files = {"ada_LATE_1_10_x.ipynb": contents["perfect"], "bob_LATE_2_11_x.ipynb": contents["perfect"]}
    collect(course, zipped(files), capsys)
    (tmp_path / "times.csv").write_text("user_id,submitted_at\n1,2026-02-06T08:00:00Z")
    collect(course, zipped(files), capsys, "--table", tmp_path / "times.csv")
    (course / "submitted" / "2" / CHAPTER / "timestamp.txt").write_text("2026-02-07 08:00:00 UTC\n")
    before = stamps(course)
    _, printed = collect(course, zipped(files), capsys)
    assert stamps(course) == before and before["1"] == "2026-02-06 08:00:00 UTC\n"
    assert "time of handing in: as before (exact times, which Canvas's LATE does not replace): 2" in printed.out
    collect(course, zipped(files | {"bob_LATE_2_12_x.ipynb": contents["mistake-1"]}), capsys)
    assert stamps(course) == before | {"2": "2026-02-03 12:00:01 UTC\n"}


def test_a_notebook_placed_by_hand_is_found_in_the_download(course, zipped, due, hand_in, contents, capsys):
    """We need the notebook's time of handing in, and its feedback must go back to the platform."""
    inner = zipped({"a.ipynb": contents["perfect"], "b.ipynb": contents["mistake-1"], "0.ipynb": b""}).read_bytes()
    download = zipped({"ada_LATE_1_10_both.zip": inner})
    _, printed = collect(course, download, capsys)
    assert "copy the right one to" in printed.out and "collect again, for its time" in printed.out
    hand_in("1", contents["mistake-1"])
    for _ in range(2):
        code, printed = collect(course, download, capsys)
        assert code == 1 and "unchanged: 1 (1)" in printed.out and "none was taken" not in printed.out
        assert "both.zip/a.ipynb: ada_LATE_1_10_both.zip/a.ipynb and" in printed.out
        assert submitted(course) == {"1": contents["mistake-1"]} and stamps(course) == {
            "1": "2026-02-03 12:00:01 UTC\n"
        }
    assert load_prefixes(course, CHAPTER)["canvas"].keys() == {"1"}


def extended(course, student, capsys):
    assert main(["extend", student, CHAPTER, "--until", "2026-02-05", "--course", str(course)]) == 0
    return capsys.readouterr().out


def test_a_late_mark_does_not_say_when_an_extension_ended(course, zipped, due, roster, capsys):
    """LATE may count from Canvas's own date for the student, and the class's due date is before the extension."""
    roster(*((number, "", "", "") for number in "123"))
    for student in "12":
        assert "LATE" not in extended(course, student, capsys)
    files = {"ada_1_10_x.ipynb": b"a", "bob_LATE_2_11_x.ipynb": b"b", "cleo_LATE_3_12_x.ipynb": b"c"}
    _, printed = collect(course, zipped(files), capsys)
    assert "and an extension: 2: their time is a second after the class's due date" in printed.out
    rows = ["user_id,submitted_at", "2,2026-02-07T08:00:00Z"]
    (course / "times.csv").write_text("\n".join(rows))
    _, printed = collect(course, zipped(files), capsys, "--table", course / "times.csv")
    assert "and an extension" not in printed.out and stamps(course)["2"] == "2026-02-07 08:00:00 UTC\n"
    assert "LATE" not in extended(course, "1", capsys) and "LATE" in extended(course, "3", capsys)


def test_the_time_of_a_download_is_not_the_time_of_handing_in(course, zipped, due, capsys):
    """Canvas and Moodle write entries with the time of the download."""
    _, printed = collect(course, zipped({MOODLE.format("A", 1): b"a"}), capsys)
    assert stamps(course) == {} and "unknown (give the times with --table FILE): 1 submission" in printed.out


def test_files_in_a_folder_have_their_own_times(course, tmp_path, capsys):
    path = tmp_path / "download/ada/01_attention.ipynb"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"a")
    os.utime(path, (1_770_112_800, 1_770_112_800))
    _, printed = collect(course, tmp_path / "download", capsys)
    assert stamps(course) == {"ada": "2026-02-03 10:00:00 UTC\n"} and "the file's own time: 1" in printed.out
    os.utime(path, (1_770_120_000, 1_770_120_000))  # as in a copy of the folder, or in another clone of a repository
    collect(course, tmp_path / "download", capsys)
    assert stamps(course) == {"ada": "2026-02-03 10:00:00 UTC\n"}
    os.utime(path, (1_770_109_200, 1_770_109_200))
    collect(course, tmp_path / "download", capsys)
    assert stamps(course) == {"ada": "2026-02-03 09:00:00 UTC\n"}


def test_a_late_submission_is_graded_as_late(course, zipped, due, contents, capsys):
    (course / "nbgrader_config.py").write_text(
        (course / "nbgrader_config.py").read_text() + 'c.LateSubmissionPlugin.penalty_method = "zero"\n'
    )
    files = {"ada_1_10_x.ipynb": contents["perfect"], "bob_LATE_2_11_x.ipynb": contents["perfect"]}
    collect(course, zipped(files), capsys)
    assert main(["grade", CHAPTER, "--course", str(course)]) == 0
    with open_gradebook(course) as gradebook:
        penalties = [gradebook.find_submission(CHAPTER, s).late_submission_penalty for s in ("1", "2")]
    assert penalties == [None, 22] or penalties == [0, 22]
