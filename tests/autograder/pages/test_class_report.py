"""The class report: its counts compared with a count by hand, its pages, and its pseudonyms."""

import json
import math
import re
import shutil
from dataclasses import replace
from itertools import pairwise

import pytest
from nbgrader.api import Gradebook

from autograder.cli.main import main
from autograder.gradebook import class_run
from autograder.gradebook.coursedir import open_coursedir
from autograder.grading.report import Report
from autograder.grading.submissions import submissions
from autograder.pages.class_report import counts, figures, pages
from autograder.pages.class_report import pseudonyms as pseudonyms_file
from autograder.pages.class_report.entries import Class, Entry
from autograder.pages.class_report.pseudonyms import anonymous, pseudonyms
from autograder.pages.instructor import templates
from autograder.scores import which_attempt
from autograder.version import version
from check.faults import Verdict
from check.key import Mistake
from check.scoring import Aspect, Result
from tests.autograder.gradebook.graded_course import read_class
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading
MISTAKE = Mistake("forgets the scale", "Divide by the root of d_key.", "The scale")
HARM = "<img src=x onerror=window.harm=1><script>window.harm=1<!--"


def result(function, idea, edge, kind="value", mistake=None, message="Wrong.", mend_first=()):
    """Return a result with two aspects of two points each. idea, edge: whether they pass."""
    aspects = tuple(
        Aspect(name, 2.0, 2.0 * passes, 3 if passes else 1, 3) for name, passes in (("idea", idea), ("edge", edge))
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
    """Return a class of five, which a test below counts by hand."""
    return [
        entry("ada", result("f", True, True), result("g", True, True), seconds=0.3),
        entry("bob", result("f", False, False, mistake=MISTAKE), result("g", True, False, mend_first=("f",))),
        entry("cyd", result("f", False, True, mistake=MISTAKE, mend_first=("e",)), result("g", False, False, "blank")),
        entry("dan", result("f", True, False), result("g", False, False, "stopped", message="`g` took too long.")),
        entry("eve", result("f", False, False, "stopped"), result("g", False, False, "stopped"), trouble="Cut off."),
    ]


def text_of_all(folder):
    """Return the names and the text of all pages in a folder."""
    return "".join(f"{path.name}\n{path.read_text()}" for path in sorted(folder.rglob("*")) if path.is_file())


def students_of(entries):
    return [entry.student for entry in entries]


def write(group, folder):
    return pages.write_pages(group, "A chapter", folder).read_text()


def test_a_class_counted_by_hand():
    f, g = counts.exercise_counts(small_class())
    assert f.outcomes | {"right": 1, "known mistake": 2, "wrong otherwise": 1, "not readable": 1} == f.outcomes
    assert sum(f.outcomes.values()) == f.students == 5 and f.pass_rate == 1 / 5
    assert f.mean_share == (4 + 0 + 2 + 2 + 0) / 4 / 5
    assert [(aspect.name, aspect.passing) for aspect in f.aspects] == [("idea", 2), ("edge", 2)]
    kinds = ("right", "follows from another", "not written", "raised or stopped", "not readable")
    assert [g.outcomes[kind] for kind in kinds] == [1, 1, 1, 1, 1]
    unexplained = [
        {fault: [entry.student for entry in group] for fault, group in exercise.unexplained.items()}
        for exercise in (f, g)
    ]
    assert unexplained == [{("value", "large"): ["dan"]}, {("stopped", "large"): ["dan"]}]


def test_misconceptions_name_their_students_and_the_most_frequent_comes_first():
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


def students_who_pass_the_idea(failing, total, mistake=None):
    """Return `total` students who pass the idea, `failing` of whom fail the edge, and two who pass nothing."""
    passing_idea = [
        entry(f"s{n}", result("f", True, n >= failing, mistake=mistake if n < failing else None)) for n in range(total)
    ]
    passing_nothing = [entry(f"t{n}", result("f", False, False)) for n in range(2)]
    return passing_idea + passing_nothing


@pytest.mark.parametrize(("failing", "total", "listed"), [(3, 6, True), (2, 6, False), (3, 5, True), (4, 4, False)])
def test_an_aspect_may_be_unfair_if_most_fail_it_who_pass_the_others(failing, total, listed):
    aspects = counts.unfair_aspects(students_who_pass_the_idea(failing, total))
    counted = [(unfair.aspect, unfair.others_pass, len(unfair.failing)) for unfair in aspects]
    assert counted == [("edge", total, failing)] * listed


def test_an_unfair_aspect_lists_the_students_with_a_known_mistake():
    (unfair,) = counts.unfair_aspects(students_who_pass_the_idea(4, 6, MISTAKE))
    assert unfair.explained == unfair.failing == ("s0", "s1", "s2", "s3") and unfair.cases == {"large": 4}


def test_submissions_worth_a_look_and_the_slowest():
    noted = entry("noted", result("f", True, True), notes=("A note.",))
    assert students_of(counts.worth_a_look([noted, *small_class()])) == ["eve", "noted", "dan"]
    assert students_of(counts.slowest(small_class(), 1)) == ["ada"]


@pytest.fixture(scope="module")
def graded(graded_class):
    examples, _, course = graded_class
    return examples, read_class(course, submissions(course, CHAPTER))


def test_the_example_class(graded, tmp_path):
    examples, group = graded
    scores = {entry.student: entry.score for entry in group.entries}
    assert scores == {student: example.score for student, example in examples.items()}
    assert not (group.ungraded or group.resubmitted or group.absent)
    assert not any(entry.differences for entry in group.entries)
    unreadable = [entry.student for entry in group.entries if entry.report.trouble]
    assert unreadable == ["no-notebook", "truncated"]
    page = write(group, tmp_path)
    assert "normalises over the rows&#39; axis" in page and "of processor time" in page
    assert sorted(path.stem for path in (tmp_path / "students").iterdir()) == sorted(examples)
    _, _, unexplained = page.partition("no known mistake says why")
    (entry,) = re.findall(r'<a href="students/unknown-mistake.html">.*?</pre>', unexplained, re.DOTALL)
    assert "return value * np.asarray(1.01, getattr(value, &#34;dtype&#34;, None))" in entry


def test_the_configuration_of_attempts_is_read_once_for_a_class(graded_class, monkeypatch):
    read = []

    class Counted(which_attempt.Attempts):
        def __init__(self, **options):
            read.append(options)
            super().__init__(**options)

    monkeypatch.setattr(which_attempt, "Attempts", Counted)
    course = graded_class[2]
    read_class(course, submissions(course, CHAPTER))
    assert len(read) == 1


def test_the_score_in_the_gradebook_counts(graded_class, tmp_path):
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
    group = read_class(course, submissions(course, CHAPTER))
    assert (group.ungraded, group.resubmitted, group.absent) == (("late",), ("perfect",), ("mallory",))
    differences = {entry.student: (entry.score, *entry.differences) for entry in group.entries if entry.differences}
    assert differences == {
        "perfect": (19.5, "`softmax` set by hand: 1.5, where grading computed 4"),
        "noisy": (22.5, "`softmax`: +0.5 added by hand"),
        "doubled": (21.0, "the gradebook has 3 for `softmax`, the report 4: grade again"),
        "raises": (16.0, "2 taken off for being late"),
        "blank": (0.0, "2 taken off for being late"),
    }
    page = write(group, tmp_path / "pages")
    assert "set by hand: 1.5" in page and "mallory" in page and "Handed in again since" in page


def test_a_file_that_was_graded_twice_has_a_history(course, hand_in, contents):
    hand_in("ada", contents["perfect"])
    for force in (False, True):
        class_run.grade_class(course, CHAPTER, jobs=1, force=force)
    (ada,) = read_class(course, submissions(course, CHAPTER)).entries
    assert [grading.why for grading in ada.history] == ["graded for the first time", "graded again"]
    assert [grading.earned for grading in ada.history] == [22.0, 22.0] and ada.chapters == {CHAPTER: (22.0, 22.0)}


def test_another_class_gets_another_page(tmp_path):
    group = tuple(small_class())
    assert write(Class(CHAPTER, group), tmp_path) != write(Class(CHAPTER, group[:-1]), tmp_path)
    assert not (tmp_path / "students" / "eve.html").exists()  # the page of a student who left is deleted


def test_results_of_another_release_stay_in_their_columns(tmp_path):
    mixed = (entry("old", result("g", True, True)), entry("new", result("f", True, True), result("g", True, False)))
    cells = re.findall(r'<td class="cell [^"]*" title="([^"]*)">', write(Class(CHAPTER, mixed), tmp_path))
    assert cells == ["g: right", "f: not in the report", "g: wrong otherwise", "f: right"]


def test_a_misconception_has_the_message_that_its_students_read(tmp_path):
    page = write(Class(CHAPTER, tuple(small_class())), tmp_path)
    assert "<p>Divide by the root of d_key. Reread “The scale”.</p>" in page


def test_lists_are_folded_in_a_large_class(tmp_path):
    many = [entry(f"s{n}", result("f", False, False, mistake=MISTAKE)) for n in range(1000)]
    assert "<details><summary>1000 students" in write(Class(CHAPTER, tuple(many)), tmp_path)
    assert "<details open><summary>5 students" in write(Class(CHAPTER, tuple(small_class())), tmp_path)


def test_a_long_cell_is_on_the_students_page_and_linked(tmp_path):
    """One exercise of chapter 8 has cells of 400 lines."""
    wrong = result("f", False, False)
    long = replace(entry("ada", wrong), sources={"f": "long = 1\n" * pages.SHOWN_LINES})
    short = replace(entry("bob", wrong), sources={"f": "short = 1"})
    page = write(Class(CHAPTER, (long, short)), tmp_path)
    assert "<pre><code>short = 1" in page and "long = 1" not in page
    assert f'<a href="students/ada.html#cell-of-f">the cell</a> ({pages.SHOWN_LINES + 1} lines)' in page
    of_ada = (tmp_path / "students" / "ada.html").read_text()
    assert '<details id="cell-of-f"><summary>the cell</summary><pre><code>long = 1\nlong = 1' in of_ada


def test_the_names_above_the_map_do_not_overlap():
    """Chapter 8 has 34 aspects, and exercises with only two."""
    results = [result(f"exercise_{n}", True, True) for n in range(17)]
    drawing = figures.class_map([entry("ada", *results)], counts.exercise_counts([entry("ada", *results)]))
    starts = re.findall(r"font-size: (\d+)px[^>]*rotate\((-\d+) ([\d.]+) [^>]*>exercise_", drawing)
    size, angle, places = int(starts[0][0]), -int(starts[0][1]), [float(x) for _, _, x in starts]
    assert len(places) == len(results)
    assert min(b - a for a, b in pairwise(places)) * math.sin(math.radians(angle)) > 1.4 * size


def hostile_class():
    """Return a class with a script in every place where a student can write."""
    wrong = result("f", True, False, "raised", message=f"`f` raised ValueError: {HARM}")
    return Class(
        CHAPTER,
        (entry(HARM, wrong, notes=(HARM,), log=(HARM,)), entry("$x_", wrong), entry("../up", wrong, trouble=HARM)),
        ungraded=(HARM,),
        absent=(HARM,),
    )


def test_text_of_students_is_shown_and_not_run(tmp_path, browser):
    index = pages.write_pages(hostile_class(), "A chapter", tmp_path)
    all_pages = [index, *(tmp_path / "students").iterdir()]
    assert len(all_pages) == 4
    for page in all_pages:
        text = page.read_text()
        assert "<img" not in text and "<script" not in text
        requests = browser.open(page.as_uri())
        assert {address for address in requests if not address.startswith("data:")} == {page.as_uri()}
        assert browser.evaluate("window.harm === undefined") and browser.complaints() == []
    assert "&lt;img src=x" in index.read_text()


def test_every_instructors_page_names_the_version():
    page = templates().from_string("{% extends 'base.html.j2' %}").render()
    assert f"Made with version {version()} of the autograder." in page


def test_no_page_loads_anything(graded, tmp_path):
    write(graded[1], tmp_path)
    for page in tmp_path.rglob("*.html"):
        addresses = re.findall(r"""(?:src|href|url)\s*[=(]\s*["']?([^"')\s>]+)""", page.read_text())
        assert all(
            re.match(r"#|data:image/png|students/[\w.-]+\.html|alike\.html|(\.\./)?index\.html", address)
            for address in addresses
        )


def named_class():
    """Return ids, and a class with them in every possible place. No id is a word that the page has anyway."""
    wrong = result("f", True, False, "raised", message="`f` raised OSError: /home/Lovelace.17/x, not qq-hopper.")
    ids = ("lovelace.17", "qq-hopper", "zz9turing", "knuth_3")
    graded = tuple(entry(s, wrong, notes=(f"{s} wrote this.",), log=(s,), trouble=s * (s == "knuth_3")) for s in ids)
    return ids, Class(CHAPTER, graded, ungraded=("aa-late",), resubmitted=ids[:1], absent=("bb-gone",))


def test_an_anonymous_report_contains_no_id(tmp_path):
    ids, group = named_class()
    write(group, tmp_path / "named")
    write(anonymous(group, seed=7), tmp_path / "anonymous")
    named, hidden = text_of_all(tmp_path / "named").lower(), text_of_all(tmp_path / "anonymous").lower()
    for student in (*ids, "aa-late", "bb-gone"):
        assert student in named and student not in hidden
    assert pseudonyms(ids, 7)["knuth_3"] in hidden


def test_pseudonyms_are_stable_and_hide_the_order():
    ids = [f"s{n:03d}" for n in range(200)]
    names = pseudonyms(ids, 7)
    assert len(set(names.values())) == 200 and names == pseudonyms(reversed(ids), 7)
    assert names["s017"] == pseudonyms(["s017"], 7)["s017"] != pseudonyms(["s017"], 8)["s017"]
    assert all(re.fullmatch("[a-z]{5}-[a-z]{5}", name) for name in names.values())
    group = anonymous(Class(CHAPTER, tuple(entry(s, result("f", True, True)) for s in ids), tuple(ids)), 7)
    shown = students_of(group.entries)
    assert shown == sorted(names.values()) == list(group.ungraded)
    assert shown != [names[student] for student in ids]


def test_ids_within_longer_words_stay_and_overlapping_ids_are_hidden():
    ids = ["ann", "ann_b", "ANN.b", "c-3", "--", "Öre"]
    names = pseudonyms(ids, 7)
    graded = (entry("ann", notes=("Ann, joann, annb; (c-3) c-33 öre --",)),)
    (shown,) = anonymous(Class(CHAPTER, graded, tuple(ids)), 7).entries
    ann, c3, dashes, ore = (names[student] for student in ("ann", "c-3", "--", "Öre"))
    assert shown.report.notes == (f"{ann}, joann, annb; ({c3}) c-33 {ore} {dashes}",)


def test_an_id_with_a_final_sigma_is_hidden_in_capitals():
    (shown,) = anonymous(Class(CHAPTER, (entry("κ-ς", notes=("Κ-Σ-",)),)), 7).entries
    assert shown.report.notes == (f"{shown.student}-",)


@pytest.mark.parametrize("id_of", ["student-{:03d}", "{:03d}", "s{:03d}@example.org"])
def test_a_text_is_searched_only_for_ids_whose_words_it_has(monkeypatch, id_of):
    searched = []
    replaced = pseudonyms_file._replaced
    monkeypatch.setattr(pseudonyms_file, "_replaced", lambda *arguments: searched.append(1) or replaced(*arguments))
    students = [id_of.format(n) for n in range(200)]
    group = Class(CHAPTER, tuple(entry(s, notes=(f"{s} is a student at example.org.",)) for s in students))
    names = pseudonyms(students, 7)
    notes = [shown.report.notes for shown in anonymous(group, 7).entries]
    assert sorted(notes) == sorted((f"{name} is a student at example.org.",) for name in names.values())
    assert len(searched) == 200


def test_a_pseudonym_is_compared_with_few_others(monkeypatch):
    compared = []

    class Word(str):
        __hash__ = str.__hash__

        def __eq__(self, other):
            compared.append(other)
            return str.__eq__(self, other)

    pronounceable = pseudonyms_file._pronounceable
    monkeypatch.setattr(pseudonyms_file, "_pronounceable", lambda bits: Word(pronounceable(bits)))
    assert len(pseudonyms(map(str, range(200)), 7)) == 200
    assert len(compared) < 200


def test_the_command_writes_the_pages(graded_class, tmp_path, capsys):
    course = shutil.copytree(graded_class[2], tmp_path / "course")
    for options, folder in (([], CHAPTER), (["--anonymous"], f"{CHAPTER}-anonymous")):
        assert main(["report", CHAPTER, "--course", str(course), *options]) == 0
        index = course / "report" / folder / "index.html"
        assert capsys.readouterr().out == f"{index}\n"
        assert "<h1>Attention</h1>" in index.read_text() and len(list(index.parent.glob("students/*"))) == 16
        assert index.parent.stat().st_mode & 0o077 == 0
        assert ("by-loops" in index.read_text()) is not bool(options)


def test_without_a_graded_submission_the_command_prints_one_line_and_returns_2(course, hand_in, capsys):
    assert main(["report", CHAPTER, "--course", str(course)]) == 2
    assert "no submissions of 01_attention" in capsys.readouterr().err
    hand_in("ada", json.dumps({}).encode())
    assert main(["report", CHAPTER, "--course", str(course)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "run `autograder grade 01_attention` first" in error
