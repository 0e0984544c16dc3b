"""The command line: its options, messages and exit codes."""

import errno
import os
import random
import re
import resource
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.authoring import kill_table
from autograder.authoring.exercise import find_exercise
from autograder.cli import mistakes
from autograder.cli.main import COMMANDS, main
from autograder.collecting.file_prefixes import save_prefixes
from autograder.course.handout import NotReleased
from autograder.gradebook import class_run
from autograder.layout import REPO
from autograder.progress_bar import with_progress
from autograder.release.publish import Published
from tests.autograder.gradebook.graded_course import grade_by_hand
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading


def test_grade_prints_a_table_and_lists_odd_submissions(course, hand_in, contents, capsys):
    hand_in("ada", contents["perfect"])
    hand_in("bob", contents["truncated"])
    assert main(["grade", CHAPTER, "--course", str(course), "--jobs", "1"]) == 0
    out = capsys.readouterr().out
    assert [line.split()[-1] for line in out.splitlines() if line.startswith(("ada", "bob"))] == ["22", "0"]
    assert "bob: The file ends in the middle" in out
    assert "2 graded, 0 reports reused, 2 written to the gradebook.\n  2 written: new" in out


def test_mistakes_prints_the_kill_tables(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(kill_table, "both_named", lambda *pair: True)  # this function takes most of the time
    assert main(["mistakes", "06_position", "--course", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "swaps sine and cosine" in out and "right rewrites: " in out


@pytest.mark.thorough("test_mistakes_page shows problems")
def test_mistakes_fails_if_a_key_has_a_problem(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(kill_table, "both_named", lambda *pair: True)
    monkeypatch.setattr(kill_table, "problems", lambda exercise, key: [f"{exercise.name}: something is wrong"])
    for more in ([], ["--page", str(tmp_path / "page.html")]):
        assert main(["mistakes", "06_position", "--course", str(tmp_path), *more]) == 1
    assert "PROBLEM" in capsys.readouterr().out


def test_exercise_shows_which_case_catches_which_and_what_a_student_reads(capsys):
    assert main(["exercise", "shift_matrix"]) == 0
    table, *messages = capsys.readouterr().out.split("--- What a student reads who makes the mistake ")
    mistakes = find_exercise("shift_matrix").mistakes
    assert "right rewrites: " in table and "distinguished: " in table
    assert "both reported" not in table, "`autograder mistakes` tries all pairs, which takes longer"
    assert [message.partition(":")[0] for message in messages] == list(mistakes)
    for message, (mistake, _) in zip(messages, mistakes.values(), strict=True):
        assert "✗ shift_matrix: " in message and f"Known mistake: {mistake.name}. " in message


@pytest.mark.parametrize(("arguments", "words"), [
    (["exercise", "nothing"], "there is no exercise called 'nothing'; there are: softmax, attention_weights"),
    (["grade", "10_nothing"], "there is no chapter '10_nothing'; there are: 01_attention"),
    (["mistakes", "10_nothing"], "there are: 01_attention"),
    (["release", "10_nothing"], "there are: 01_attention"),
    (["grade", CHAPTER], "run `autograder release 01_attention` first"),
])  # fmt: skip
def test_a_user_error_is_one_line_and_exit_code_2(arguments, words, tmp_path, capsys):
    assert main([*arguments, "--course", str(tmp_path)]) == 2
    message = capsys.readouterr().err
    assert words in message and message.count("\n") == 1


@pytest.mark.parametrize(("error", "words"), [
    (PermissionError(errno.EACCES, "Permission denied", "/course/.lock"), "/course/.lock: Permission denied: "),
    (OSError(errno.ENOSPC, "No space left on device"), "No space left on device: "),
    (OSError(errno.ENOSPC, "No space left on device", "/tmp/a", None, "/course/b"), "/course/b: No space left on "),
], ids=["permission", "full", "copying"])  # fmt: skip
def test_what_the_system_refuses_is_one_line(error, words, tmp_path, monkeypatch, capsys):
    """Examples are a course folder of another account and a full disk."""

    def refused(options):
        raise error

    monkeypatch.setattr(mistakes, "run", refused)
    assert main(["mistakes", "--course", str(tmp_path)]) == 2
    message = capsys.readouterr().err
    assert message.startswith(f"autograder: {words}") and message.count("\n") == 1


@pytest.mark.parametrize("bug", [KeyError("softmax"), FileNotFoundError("no such file of ours")], ids=repr)
def test_a_bug_is_not_reported_as_the_users_error(bug, tmp_path, monkeypatch):
    def broken(options):
        raise bug

    monkeypatch.setattr(mistakes, "run", broken)
    with pytest.raises(type(bug)):
        main(["mistakes", "--course", str(tmp_path)])


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_who_leaves_early_ends_a_command_without_a_traceback(course, unbuffered):
    """`autograder due 01_attention | head -1` may do so."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "autograder", "due", CHAPTER, "--course", str(course)]
    env = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, cwd=REPO, env=env, text=True)
    os.close(writer)
    assert (done.stderr, done.returncode) == ("", 128 + signal.SIGPIPE)


def test_a_broken_pipe_of_our_own_is_a_bug(tmp_path, monkeypatch):
    def broken(options):
        raise BrokenPipeError

    monkeypatch.setattr(mistakes, "run", broken)
    with pytest.raises(BrokenPipeError):
        main(["mistakes", "--course", str(tmp_path)])


@pytest.fixture
def with_feedback(course):
    """Return a course with a feedback page of 100 kB for ada, who came from Canvas."""
    page = course / "feedback" / "ada" / CHAPTER / f"{CHAPTER}.html"
    page.parent.mkdir(parents=True)
    page.write_bytes(random.Random(1).randbytes(100_000))
    save_prefixes(course, CHAPTER, "canvas", {"ada": "ada_1_2_"})
    return course


writes_a_file = pytest.mark.parametrize(
    "command", [["export"], ["feedback", CHAPTER, "--to", "canvas"]], ids=lambda words: words[0]
)


@writes_a_file
def test_an_output_file_that_cannot_be_written_is_one_line(command, with_feedback, tmp_path, capsys):
    output = tmp_path / "nowhere" / "output"
    assert main([*command, "--course", str(with_feedback), "--output", str(output)]) == 2
    assert capsys.readouterr().err == f"autograder: {output}: No such file or directory\n"


@writes_a_file
def test_a_full_disk_keeps_the_earlier_output_file(command, with_feedback, tmp_path, capsys):
    output = tmp_path / "out" / "grades.csv"
    output.parent.mkdir()
    output.write_text("earlier", encoding="utf-8")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, limits[1]))
    try:
        code = main([*command, "--course", str(with_feedback), "--output", str(output)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (code, capsys.readouterr().err) == (2, f"autograder: {output}: File too large\n")
    assert output.read_text(encoding="utf-8") == "earlier" and [*output.parent.iterdir()] == [output]


@pytest.mark.parametrize("lost", [f"{CHAPTER}.zip", f"{CHAPTER}/{CHAPTER}.ipynb"])
def test_a_release_with_a_lost_file_is_one_line(lost, course, hand_in, capsys):
    hand_in("ada", b"")
    (course / "release" / lost).unlink()
    assert main(["grade", CHAPTER, "--course", str(course)]) == 2
    message = capsys.readouterr().err
    assert message == f"autograder: {CHAPTER} is not released in {course}: run `autograder release {CHAPTER}` first\n"


def test_a_release_without_its_gradebook_is_noticed_before_anything_is_written(course, hand_in, contents, capsys):
    hand_in("ada", contents["perfect"])
    (course / "gradebook.db").unlink()
    assert main(["grade", CHAPTER, "--course", str(course)]) == 2
    message = capsys.readouterr().err
    assert "run `autograder release 01_attention`" in message and message.count("\n") == 1
    assert not (course / "autograded").exists()
    assert main(["release", CHAPTER, "--course", str(course)]) == 0
    assert main(["grade", CHAPTER, "--course", str(course)]) == 0


def test_grade_without_submissions_says_where_they_belong(course, capsys):
    assert main(["grade", CHAPTER, "--course", str(course)]) == 2
    assert "submitted/STUDENT/01_attention/01_attention.ipynb" in capsys.readouterr().err


@pytest.fixture
def several(tmp_path, monkeypatch):
    """several(handed_in, rows) -> a course in which chapters are handed in by students, and grading returns these rows.

    The second value is what was graded: (chapter, students).
    """

    def several(handed_in, rows):
        graded = []

        def grade_class(course, chapter, *, students, **options):
            graded.append((chapter, [*students]))
            if isinstance(rows[chapter], Exception):
                raise rows[chapter]
            return rows[chapter]

        monkeypatch.setattr(class_run, "grade_class", grade_class)
        for chapter, students in handed_in.items():
            for student in students:
                (tmp_path / "submitted" / student / chapter).mkdir(parents=True)
        return tmp_path, graded

    return several


def test_without_a_chapter_all_that_is_new_is_graded(several, graded_class, capsys):
    """Otherwise you would need nine commands, each of which imports everything and tries the sandbox anew."""
    row = graded_class[1]["mistake-1"]
    old = replace(row, why="", written=False, reused=True)
    course, graded = several(
        {"01_attention": ["ada", "bob"], "02_backward": ["ada"], "03_masking": ["bob"], "notes": ["ada"]},
        {"01_attention": [row], "02_backward": [old], "03_masking": NotReleased(Path("course"), "03_masking")},
    )
    assert main(["grade", "--course", str(course)]) == 2
    out, err = capsys.readouterr()
    assert graded == [("01_attention", []), ("02_backward", []), ("03_masking", [])]
    assert "1 written: new" in out and "02_backward: nothing new" in out
    assert re.search(r"^01_attention +1 ", out, re.M) and re.search(r"^02_backward +1 ", out, re.M)
    assert "run `autograder release 03_masking` first" in err


def test_without_a_chapter_each_student_is_graded_in_their_own_chapters(several, graded_class):
    rows = [*graded_class[1].values()]
    handed_in = {"01_attention": ["ada"], "02_backward": ["bob", "cleo"], "04_multihead": ["dan"]}
    course, graded = several(handed_in, dict.fromkeys(handed_in, rows))
    assert main(["grade", "--course", str(course), "--student", "ada", "--student", "bob"]) == 0
    assert graded == [("01_attention", ["ada"]), ("02_backward", ["bob"])]


@pytest.mark.parametrize(
    ("options", "words"), [([], "expected as"), (["--student", "zoe"], "no submission by zoe in")], ids=["none", "zoe"]
)
def test_without_a_chapter_and_submissions_grade_says_so(several, options, words, capsys):
    course, graded = several({} if not options else {"01_attention": ["ada"]}, {})
    assert main(["grade", "--course", str(course), *options]) == 2
    assert words in capsys.readouterr().err and graded == []


@pytest.mark.parametrize(("student", "advice"), [("a[b]", "rename a[b]"), ("new\nada: 25", r"rename new\nada: 25")])
def test_an_unusable_id_does_not_affect_other_students(course, hand_in, contents, student, advice, capsys):
    hand_in(student, contents["perfect"])
    assert main(["grade", CHAPTER, "--course", str(course)]) == 2
    assert advice in capsys.readouterr().err
    hand_in("bob", contents["perfect"])
    assert main(["grade", CHAPTER, "--course", str(course)]) == 2
    out, err = capsys.readouterr()
    assert advice in err and re.search("^bob .* 22$", out, re.M)
    assert not [line for line in err.splitlines() if line.startswith("ada")]


def test_the_table_shows_the_gradebooks_scores_and_explains_differences(course, hand_in, contents, capsys):
    path = hand_in("ada", contents["perfect"])
    (path.parent / "timestamp.txt").write_text("2026-02-04 12:00:00 UTC", encoding="utf-8")
    main(["due", CHAPTER, "--at", "2026-02-03", "--late", "50%", "2026-02-05", "--course", str(course)])
    main(["grade", CHAPTER, "--course", str(course)])
    grade_by_hand(course, "check-softmax", manual_score=1)
    capsys.readouterr()
    assert main(["grade", CHAPTER, "--course", str(course)]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^ada +1 .* 9.5$", out, re.M)
    assert "ada: `softmax` set by hand: 1, where grading computed 4\n" in out
    assert "Points taken off for late work:\n  50% from 1 student: ada\n" in out


def test_progress_is_printed_line_by_line_without_a_terminal(course, hand_in, contents, capsys, monkeypatch):
    monkeypatch.setattr("autograder.gradebook.write.TOGETHER", 1)
    for student in ("ada", "bob", "cleo"):
        hand_in(student, contents["truncated"])
    assert main(["grade", CHAPTER, "--course", str(course)]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("grading: ")]
    assert lines == [f"grading: {done} of 3 submissions" for done in (1, 2, 3)]
    assert len([*with_progress(range(1000), "counting", "numbers")]) == 1000
    assert capsys.readouterr().err.count("counting: ") == 10


def test_release_prints_each_chapter_as_soon_as_it_is_published(tmp_path, monkeypatch, capsys):
    def publish_each(course, names):
        yield Published("01_one", tmp_path / "01_one.zip", True)
        assert "01_one: released" in capsys.readouterr().out

    monkeypatch.setattr("autograder.release.publish.publish_each", publish_each)
    assert main(["release", "--course", str(tmp_path)]) == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit) as exit:
        main([command, "--help"])
    assert exit.value.code == 0
    assert "--course DIR" in capsys.readouterr().out


def loaded(code: str) -> set[str]:
    """Return the modules that a new process has loaded after some code."""
    code += "\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", f"import sys\n{code}"], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_help_loads_nothing_slow():
    modules = loaded("from autograder.cli.main import main\ntry: main(['--help'])\nexcept SystemExit: pass")
    assert "autograder.hub.cli.watch" in modules
    assert not modules & {"numpy", "nbformat", "nbgrader", "sqlalchemy", "distributed", "msgspec", "yaml"}


def test_a_command_multiplies_matrices_in_one_thread():
    code = """import os
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"): os.environ.pop(name, None)
from autograder.cli.main import main
try: main(["--help"])
except SystemExit: pass
import numpy
print(len(os.listdir("/proc/self/task")))"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "1"


def test_grading_begins_before_nbgrader_or_dask_is_loaded(tmp_path):
    (tmp_path / "release" / CHAPTER).mkdir(parents=True)
    modules = loaded(f"""
from autograder.cli.main import main
from autograder.gradebook import class_run
class_run.grade_class = lambda *arguments, **options: print(*sys.modules) or sys.exit()
main(["grade", {CHAPTER!r}, "--course", {str(tmp_path)!r}])""")
    assert "autograder.grading.queue" in modules
    assert not modules & {"nbgrader", "dask", "distributed"}
