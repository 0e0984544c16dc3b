"""The search for similar code finds a copy with other names in other cells, and no pair of honest solutions."""

import copy
import inspect
import json
import re

import pytest

from autograder.authoring.exercise import exercises_of
from autograder.authoring.short_mistakes import is_short
from autograder.course.handout import load_handout
from autograder.errors import UserError
from autograder.example.standalone import standalone
from autograder.gradebook import class_run
from autograder.grading.report import Report
from autograder.pages.class_report import cohorts, pages
from autograder.pages.class_report.alike import (
    MAX_PAIRS,
    Pair,
    known_code,
    marked_cells,
    max_holders,
    similar_pairs,
    stretches,
)
from autograder.pages.class_report.entries import Class, Entry
from autograder.pages.class_report.pseudonyms import anonymous
from check.scoring import Aspect, Result
from tests.autograder.gradebook.graded_course import read_class
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading

# A solution that only ada wrote.
SOFTMAX = '''\
def softmax(scores):
    """Mine."""
    # by hand
    peak = scores.max(-1)[..., None]
    lifted = np.where(np.isfinite(peak), scores - peak, 0.0)
    powers = np.power(np.e, lifted)
    norm = powers @ np.ones((scores.shape[-1], 1), scores.dtype)
    return np.divide(powers, norm, out=np.zeros_like(powers), where=norm > 0)
'''
WEIGHTS = """\
def attention_weights(queries, keys):
    width = queries.shape[-1]
    if width - keys.shape[-1]:
        raise ValueError(f"{width} is not {keys.shape[-1]}")
    flipped = np.moveaxis(keys, -1, -2)
    quarter = width ** -0.25
    return softmax(np.matmul(quarter * queries, quarter * flipped))
"""
RENAMED = dict(scores="s", peak="top", lifted="x", powers="e", norm="total", Mine="All my own work")
RENAMED |= dict(queries="a", keys="b", width="n", flipped="bt", quarter="r", hand="myself")


def renamed(source):
    """Return the source with other names and a different comment."""
    return re.sub("|".join(rf"\b{name}\b" for name in RENAMED), lambda name: RENAMED[name[0]], source)


def entry(student, sources, own_cells=()):
    result = Result("softmax", 4.0, 4.0, (Aspect("idea", 4.0, 4.0, 1, 1),), None, "", (), "Softmax", ())
    return Entry(
        student, Report("", CHAPTER, "", (), (), (result,), 0.0, {}), 4.0, sources=sources, own_cells=own_cells
    )


def honest(number):
    """Return an entry with one of the rewrites or mistakes of each exercise, chosen by the number."""
    sources = {}
    for i, exercise in enumerate(exercises_of(CHAPTER)):
        answers = [
            *exercise.equivalents.values(),
            *(wrong for _, wrong in exercise.mistakes.values() if not is_short(wrong)),
        ]
        sources[exercise.name] = standalone(answers[(number * (i + 1)) % len(answers)], exercise.name)
    return entry(f"honest-{number}", sources)


def alike(report):
    """Return the section about similar code of an instructor's page."""
    return report.read_text().partition('id="alike"')[2].partition("</section>")[0]


@pytest.fixture(scope="module")
def known(released_course):
    return known_code(load_handout(released_course, CHAPTER))


@pytest.fixture(scope="module")
def group():
    """Return 14 honest students, ada, and bob, who has ada's code with other names, some of it in a cell of his own."""
    ada = entry("ada", {"softmax": SOFTMAX, "attention_weights": WEIGHTS})
    bob = entry("bob", {"softmax": renamed(SOFTMAX)}, (f"print('hello')\n{renamed(WEIGHTS)}",))
    return [*map(honest, range(14)), ada, bob]


def test_only_a_renamed_and_moved_copy_is_found(group, known):
    (pair,) = similar_pairs(group, known)
    assert pair.students == ("ada", "bob") and pair.share > 0.9
    assert [cell.name for cell in pair.first] == ["softmax", "attention_weights"]
    assert [cell.name for cell in pair.second] == ["softmax", "a cell of their own (1)"]
    marked = [line for cell in pair.second for line, common in cell.lines if common]
    assert "    bt = np.moveaxis(b, -1, -2)" in marked and "print('hello')" not in marked


def test_code_of_the_notebook_or_a_solution_does_not_count(group, known):
    assert similar_pairs(group, [*known, SOFTMAX, WEIGHTS]) == []
    perfect = {exercise.name: inspect.getsource(exercise.reference) for exercise in exercises_of(CHAPTER)}
    assert similar_pairs([entry(student, perfect) for student in ("ada", "bob")], known) == []


def test_code_that_many_students_have_does_not_count():
    copies = [entry(f"s{n}", {"softmax": SOFTMAX, "attention_weights": WEIGHTS}) for n in range(5)]
    assert max_holders(5) == 3 and len(similar_pairs(copies[:3], [])) == 3
    assert similar_pairs(copies[:4], []) == [] and max_holders(1000) == 10


def test_only_the_most_similar_pairs_are_listed():
    sources = [SOFTMAX.replace(".", f".a{n}.") + WEIGHTS.replace(".", f".b{n}.") for n in range(MAX_PAIRS + 5)]
    twins = [entry(f"{n}-{twin}", {"softmax": source}) for n, source in enumerate(sources) for twin in "ab"]
    assert len(similar_pairs(twins, [])) == MAX_PAIRS and len(similar_pairs(twins[:8], [])) == 4


def test_any_text_can_be_compared():
    for text in ("(" * 20_000, '"""' * 7_000, "a." * 10_000, "x = 1\n" * 3_000, "\0\ud800 £" * 5_000, "'" * 20_000):
        assert similar_pairs([entry(student, {"softmax": text}) for student in ("ada", "bob")], []) == []


def test_the_page_shows_a_pair_side_by_side_and_runs_nothing(group, known, tmp_path):
    harm = f"{SOFTMAX}\nx = '<script>window.harm=1</script><img src=x onerror=window.harm=1>'\n"
    eve = entry("eve<b>", {"softmax": harm, "attention_weights": WEIGHTS})
    members = [*group[:-1], eve]
    report = pages.write_pages(
        Class(CHAPTER, tuple(members)), "Attention", tmp_path / "report", similar_pairs(members, known)
    )
    section = alike(report)
    assert "This proves nothing" in section and '<a href="alike.html">1 pair, side by side</a></p>' in section
    assert "quarter" not in section and 'href="students/ada.html"' in section
    page = report.with_name("alike.html").read_text()
    assert page.count("<mark>    quarter = width ** -0.25</mark>") == 2
    assert (
        "&lt;script&gt;window.harm" in page and "<script" not in page and "<b>eve" not in page and "eve<b>" not in page
    )
    none = pages.write_pages(Class(CHAPTER, tuple(group[:3])), "Attention", tmp_path / "none")
    assert "<strong>None.</strong>" in alike(none)


def test_the_section_of_a_large_class_stays_short(known, tmp_path):
    members = [entry(f"s{n}", {"softmax": SOFTMAX, "attention_weights": WEIGHTS}) for n in range(300)]
    cells = marked_cells(members[0], set(stretches(SOFTMAX)))
    pairs = [Pair((f"s{n}", f"s{n + 1}"), 0.9, cells * 20, cells * 20) for n in range(MAX_PAIRS)]
    earlier = [cohorts.Earlier(member.student, "2025.json", 0.9, cells * 20) for member in members]
    report = pages.write_pages(Class(CHAPTER, tuple(members)), "Attention", tmp_path / "report", pairs, earlier)
    section = alike(report)
    assert len(section) < 5_000 and section.count("<li>") == 10 and ". The first ten:" in section
    assert '<a href="alike.html">20 pairs, side by side</a>' in section
    assert '<a href="alike.html#earlier">300 students</a>' in section
    assert report.with_name("alike.html").read_text().count("<details>") == 320


def test_pairs_under_pseudonyms_contain_no_id(group, known):
    copied = entry("bob", group[-1].sources, (f"# ada and bob\n{group[-1].own_cells[0]}",))
    hidden = anonymous(Class(CHAPTER, (*group[:-1], copied)), seed=1)
    (pair,) = similar_pairs(hidden.entries, known)
    assert not re.search(r"\b(ada|bob)\b", repr(pair))
    assert set(pair.students) <= {entry.student for entry in hidden.entries}


def test_the_cells_that_a_student_added_are_read(course, hand_in, perfect):
    notebook = copy.deepcopy(perfect)
    notebook["cells"].append({"cell_type": "code", "id": "x", "metadata": {}, "source": "mine = 1", "outputs": []})
    path = hand_in("ada", json.dumps(notebook).encode())
    class_run.grade_class(course, CHAPTER)
    (ada,) = read_class(course, {"ada": path}).entries
    assert ada.own_cells == ("mine = 1",) and "softmax" in ada.sources


# ------------------------------------------------------------------------------------------------- earlier classes


def test_a_copy_from_an_earlier_class_is_found_in_its_fingerprints(group, known, tmp_path):
    *honest_ones, ada, bob = group
    file = tmp_path / "2025.json"
    cohorts.save_cohort(file, CHAPTER, [*honest_ones[:7], ada], known)
    assert "ada" not in file.read_text() and "softmax" not in file.read_text().replace(CHAPTER, "")
    earlier = {file.name: cohorts.load_cohort(file, CHAPTER)}
    (match,) = cohorts.like_earlier([*honest_ones[7:], bob], known, earlier)
    assert (match.student, match.cohort) == ("bob", "2025.json") and match.share > 0.9
    marked = [line for cell in match.cells for line, common in cell.lines if common]
    assert "    bt = np.moveaxis(b, -1, -2)" in marked and "print('hello')" not in marked
    assert cohorts.like_earlier(honest_ones[7:], known, earlier) == []


def test_a_student_is_compared_only_with_the_closest_earlier_one(group, known, monkeypatch):
    compared = []

    class Prints(set):
        def __sub__(self, other):
            return Prints(set.__sub__(self, other))

        def __rand__(self, other):
            compared.append(self)
            return set(self).intersection(other)

    *honest_ones, ada, bob = group
    own = cohorts.own_stretches([ada, *honest_ones], known, cohorts.stable_hash)
    earlier = {"2025.json": [*([n] for n in range(200)), *map(sorted, own)]}
    monkeypatch.setattr(cohorts, "set", Prints, raising=False)
    (match,) = cohorts.like_earlier([bob], known, earlier)
    assert match.student == "bob" and len(compared) == 1


def test_fingerprints_are_the_same_in_every_process():
    assert cohorts.stable_hash(("def", 0, ":")) == 8175442598863800


@pytest.mark.parametrize(("content", "words"), [
    ('{"chapter": "02_backward", "students": []}', "has fingerprints of 02_backward, not of 01_attention"),
    ("[]", "is not a file that --save-fingerprints wrote"), (None, "No such file"),
])  # fmt: skip
def test_another_file_is_refused_with_a_reason(tmp_path, content, words):
    if content is not None:
        (tmp_path / "prints.json").write_text(content)
    with pytest.raises(UserError, match=words):
        cohorts.load_cohort(tmp_path / "prints.json", CHAPTER)
