"""The class report: its counts held against a class counted by hand, and pages that give nobody away."""

import json
import re
import shutil

import pytest
from nbgrader.api import Gradebook

from autograder.cli.main import main
from autograder.gradebook import class_run
from autograder.gradebook.coursedir import open_coursedir
from autograder.grading.queue import submissions
from autograder.grading.report import Report
from autograder.pages.class_report import counts, entries, pages
from autograder.pages.class_report.entries import Class, Entry
from autograder.pages.class_report.pseudonyms import anonymous, pseudonyms
from check.faults import Verdict
from check.judge import Aspect, Result
from check.key import Mistake
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading
MISTAKE = Mistake("forgets the scale", "Divide by the root of d_key.", "The scale")
HARM = "<img src=x onerror=window.harm=1><script>window.harm=1<!--"


def result(function, idea, edge, kind="value", mistake=None, message="Wrong.", mend_first=()):
    """A result with two aspects of two points each; idea and edge: whether they hold."""
    aspects = tuple(
        Aspect(name, 2.0, 2.0 * holds, 3 if holds else 1, 3) for name, holds in (("idea", idea), ("edge", edge))
    )
    verdict = None if idea and edge else Verdict(False, kind, message)
    earned = sum(aspect.earned for aspect in aspects)
    return Result(
        function,
        earned,
        4.0,
        aspects,
        verdict,
        "large" if verdict else "",
        (mistake,) if mistake else (),
        "Scale",
        mend_first,
    )


def entry(student, *results, trouble="", notes=(), log=(), seconds=0.1):
    report = Report("0" * 64, CHAPTER, trouble, notes, log, results, seconds, {"submission": student})
    return Entry(student, report, report.earned)


def small_class():
    """Counted by hand below."""
    return [
        entry("ada", result("f", True, True), result("g", True, True), seconds=0.3),
        entry("bob", result("f", False, False, mistake=MISTAKE), result("g", True, False, mend_first=("f",))),
        entry("cyd", result("f", False, True, mistake=MISTAKE, mend_first=("e",)), result("g", False, False, "blank")),
        entry("dan", result("f", True, False), result("g", False, False, "stopped", message="`g` took too long.")),
        entry("eve", result("f", False, False, "stopped"), result("g", False, False, "stopped"), trouble="Cut off."),
    ]


def written(folder):
    """Everything in a folder of pages, names and bytes."""
    return "".join(f"{path.name}\n{path.read_text()}" for path in sorted(folder.rglob("*")) if path.is_file())


def write(group, folder):
    return pages.write(group, "A chapter", folder).read_text()


def test_a_class_counted_by_hand():
    f, g = counts.exercises(small_class())
    assert f.outcomes | {"right": 1, "known mistake": 2, "wrong otherwise": 1, "not readable": 1} == f.outcomes
    assert sum(f.outcomes.values()) == f.students == 5 and f.right == 1 / 5
    assert f.earned == (4 + 0 + 2 + 2 + 0) / 4 / 5
    assert [(aspect.name, aspect.holds) for aspect in f.aspects] == [("idea", 2), ("edge", 2)]
    named = ("right", "follows from another", "not written", "raised or stopped", "not readable")
    assert [g.outcomes[kind] for kind in named] == [1, 1, 1, 1, 1]
    unexplained = [{what: [each.student for each in whose] for what, whose in e.unexplained.items()} for e in (f, g)]
    assert unexplained == [{("value", "large"): ["dan"]}, {("stopped", "large"): ["dan"]}]


def test_misconceptions_name_their_students_the_most_frequent_first():
    rare = Mistake("a rare one", "Rare.")
    group = [entry("zoe", result("a", False, False, mistake=rare)), *small_class()]
    first, second = counts.misconceptions(group)
    assert (first.function, first.mistake, first.students, first.consequence) == (
        "f",
        MISTAKE,
        ("bob", "cyd"),
        ("cyd",),
    )
    assert (second.function, second.students) == ("a", ("zoe",))


def near(fails, of, mistake=None):
    """Students who hold the idea, some of whom fail the edge; and two who hold nothing."""
    rights = [entry(f"s{n}", result("f", True, n >= fails, mistake=mistake if n < fails else None)) for n in range(of)]
    blanks = [entry(f"t{n}", result("f", False, False)) for n in range(2)]
    return rights + blanks


@pytest.mark.parametrize(("fails", "of", "listed"), [(3, 6, True), (2, 6, False), (3, 5, True), (4, 4, False)])
def test_an_aspect_that_most_fail_who_hold_the_others_may_be_unfair(fails, of, listed):
    found = counts.unfair(near(fails, of))
    assert [(each.aspect, each.others_hold, len(each.failing)) for each in found] == [("edge", of, fails)] * listed


def test_unfair_counts_apart_whom_a_known_mistake_explains():
    (found,) = counts.unfair(near(4, 6, MISTAKE))
    assert found.explained == found.failing == ("s0", "s1", "s2", "s3") and found.cases == {"large": 4}


def test_whom_to_look_at_and_who_took_longest():
    odd = entry("noted", result("f", True, True), notes=("A note.",))
    assert [each.student for each in counts.to_look_at([odd, *small_class()])] == ["eve", "noted", "dan"]
    assert [each.student for each in counts.slowest(small_class(), 1)] == ["ada"]


@pytest.fixture(scope="module")
def graded(graded_class):
    made, _, course = graded_class
    return made, entries.read_class(open_coursedir(course, CHAPTER), submissions(course, CHAPTER))


def test_the_example_class(graded, tmp_path):
    made, group = graded
    assert {each.student: each.score for each in group.entries} == {s: example.score for s, example in made.items()}
    assert not (group.ungraded or group.again or group.absent) and not any(each.differs for each in group.entries)
    broken = [each.student for each in group.entries if each.report.trouble]
    assert broken == ["no-notebook", "truncated"]
    page = write(group, tmp_path)
    assert "normalises over the rows&#39; axis" in page and "took longer than" in page
    assert sorted(path.stem for path in (tmp_path / "students").iterdir()) == sorted(made)
    _, _, unnamed = page.partition("no known mistake says why")
    (of_one,) = re.findall(r'<a href="students/unknown-mistake.html">.*?</pre>', unnamed, re.DOTALL)
    assert "return value * np.asarray(1.01, getattr(value, &#34;dtype&#34;, None))" in of_one


def test_the_gradebook_has_the_last_word(graded_class, tmp_path):
    course = shutil.copytree(graded_class[2], tmp_path / "course")
    coursedir = open_coursedir(course, CHAPTER)
    with Gradebook(coursedir.db_url) as gradebook:

        def softmax(student):
            return gradebook.find_grade("check-softmax", CHAPTER, CHAPTER, student)

        softmax("perfect").manual_score = 1.5
        softmax("noisy").extra_credit = 0.5
        softmax("doubled").auto_score = 3.0
        gradebook.find_submission_notebook(CHAPTER, CHAPTER, "raises").late_submission_penalty = 2.0
        gradebook.find_submission_notebook(CHAPTER, CHAPTER, "blank").late_submission_penalty = 2.0
        gradebook.update_or_create_student("mallory")
        gradebook.db.commit()
    (course / "submitted" / "perfect" / CHAPTER / f"{CHAPTER}.ipynb").write_text("another")
    (course / "submitted" / "late" / CHAPTER).mkdir(parents=True)
    group = entries.read_class(coursedir, submissions(course, CHAPTER))
    assert (group.ungraded, group.again, group.absent) == (("late",), ("perfect",), ("mallory",))
    said = {each.student: (each.score, *each.differs) for each in group.entries if each.differs}
    assert said == {
        "perfect": (22.5, "`softmax` set by hand: 1.5, where grading computed 4"),
        "noisy": (25.5, "`softmax`: +0.5 added by hand"),
        "doubled": (24.0, "the gradebook has 3 for `softmax`, the report 4: grade again"),
        "raises": (19.0, "2 taken off for being late"),
        "blank": (0.0, "2 taken off for being late"),
    }
    page = write(group, tmp_path / "pages")
    assert "set by hand: 1.5" in page and "mallory" in page and "Handed in again since" in page


def test_a_file_that_was_graded_twice_has_a_history(course, hand_in, contents):
    hand_in("ada", contents["perfect"])
    for force in (False, True):
        class_run.grade_class(course, CHAPTER, jobs=1, force=force)
    (ada,) = entries.read_class(open_coursedir(course, CHAPTER), submissions(course, CHAPTER)).entries
    assert [grading.why for grading in ada.history] == ["graded for the first time", "graded again"]
    assert [grading.earned for grading in ada.history] == [25.0, 25.0] and ada.chapters == {CHAPTER: (25.0, 25.0)}


def test_another_class_makes_another_page(tmp_path):
    one, other = small_class(), small_class()[:-1]
    assert write(Class(CHAPTER, tuple(one)), tmp_path) != write(Class(CHAPTER, tuple(other)), tmp_path)
    assert not (tmp_path / "students" / "eve.html").exists()  # nothing stays of who is gone


def test_reports_of_another_release_keep_to_their_columns(tmp_path):
    mixed = (entry("old", result("g", True, True)), entry("new", result("f", True, True), result("g", True, False)))
    cells = re.findall(r'<td class="cell [^"]*" title="([^"]*)">', write(Class(CHAPTER, mixed), tmp_path))
    assert cells == ["g: right", "f: not there", "g: wrong otherwise", "f: right"]


def test_a_misconception_is_told_as_its_students_read_it(tmp_path):
    page = write(Class(CHAPTER, tuple(small_class())), tmp_path)
    assert "<p>Divide by the root of d_key. Reread “The scale”.</p>" in page


def test_lists_are_folded_in_a_large_class(tmp_path):
    many = [entry(f"s{n}", result("f", False, False, mistake=MISTAKE)) for n in range(1000)]
    assert "<details><summary>1000 students" in write(Class(CHAPTER, tuple(many)), tmp_path)
    assert "<details open><summary>5 students" in write(Class(CHAPTER, tuple(small_class())), tmp_path)


def hostile_class():
    """Script wherever a student can write."""
    wrong = result("f", True, False, "raised", message=f"`f` raised ValueError: {HARM}")
    return Class(
        CHAPTER,
        (entry(HARM, wrong, notes=(HARM,), log=(HARM,)), entry("$x_", wrong), entry("../up", wrong, trouble=HARM)),
        ungraded=(HARM,),
        absent=(HARM,),
    )


def test_what_a_student_wrote_is_shown_and_not_run(tmp_path, browser):
    index = pages.write(hostile_class(), "A chapter", tmp_path)
    found = [index, *(tmp_path / "students").iterdir()]
    assert len(found) == 4
    for page in found:
        text = page.read_text()
        assert "<img" not in text and "<script" not in text
        asked = browser.open(page.as_uri())
        assert {address for address in asked if not address.startswith("data:")} == {page.as_uri()}
        assert browser.evaluate("window.harm === undefined") and browser.complaints() == []
    assert "&lt;img src=x" in index.read_text()


def test_no_page_asks_for_anything(graded, tmp_path):
    write(graded[1], tmp_path)
    for page in tmp_path.rglob("*.html"):
        asked = re.findall(r"""(?:src|href|url)\s*[=(]\s*["']?([^"')\s>]+)""", page.read_text())
        assert all(re.match(r"#|data:image/png|students/[\w.-]+\.html|\.\./index\.html", there) for there in asked)


def named_class():
    """Ids in every place that they can get to, none of which is a word of the page."""
    wrong = result("f", True, False, "raised", message="`f` raised OSError: /home/Lovelace.17/x, not qq-hopper.")
    ids = ("lovelace.17", "qq-hopper", "zz9turing", "knuth_3")
    own = tuple(entry(s, wrong, notes=(f"{s} wrote this.",), log=(s,), trouble=s * (s == "knuth_3")) for s in ids)
    return ids, Class(CHAPTER, own, ungraded=("aa-late",), again=ids[:1], absent=("bb-gone",))


def test_an_anonymous_report_has_no_id_in_it(tmp_path):
    ids, group = named_class()
    write(group, tmp_path / "named")
    write(anonymous(group, seed=7), tmp_path / "anonymous")
    named, hidden = written(tmp_path / "named").lower(), written(tmp_path / "anonymous").lower()
    for student in (*ids, "aa-late", "bb-gone"):
        assert student in named and student not in hidden
    assert pseudonyms(ids, 7)["knuth_3"] in hidden


def test_pseudonyms_are_stable_and_do_not_tell_the_order():
    ids = [f"s{n:03d}" for n in range(200)]
    names = pseudonyms(ids, 7)
    assert len(set(names.values())) == 200 and names == pseudonyms(reversed(ids), 7)
    assert names["s017"] == pseudonyms(["s017"], 7)["s017"] != pseudonyms(["s017"], 8)["s017"]
    assert all(re.fullmatch("[a-z]{5}-[a-z]{5}", name) for name in names.values())
    group = anonymous(Class(CHAPTER, tuple(entry(s, result("f", True, True)) for s in ids), tuple(ids)), 7)
    shown = [each.student for each in group.entries]
    assert shown == sorted(names.values()) == list(group.ungraded)
    assert shown != [names[student] for student in ids]


def test_the_command(graded_class, tmp_path, capsys):
    course = shutil.copytree(graded_class[2], tmp_path / "course")
    for options, folder in (([], CHAPTER), (["--anonymous"], f"{CHAPTER}-anonymous")):
        assert main(["report", CHAPTER, "--course", str(course), *options]) == 0
        index = course / "report" / folder / "index.html"
        assert capsys.readouterr().out == f"{index}\n"
        assert "<h1>Attention</h1>" in index.read_text() and len(list(index.parent.glob("students/*"))) == 16
        assert index.parent.stat().st_mode & 0o077 == 0
        assert ("by-loops" in index.read_text()) is not bool(options)


def test_nothing_to_report_on_is_one_line_and_exit_code_2(course, hand_in, capsys):
    assert main(["report", CHAPTER, "--course", str(course)]) == 2
    assert "no submissions of 01_attention" in capsys.readouterr().err
    hand_in("ada", json.dumps({}).encode())
    assert main(["report", CHAPTER, "--course", str(course)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "run `autograder grade 01_attention` first" in said
