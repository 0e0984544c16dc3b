"""What a page says, and its digest, by which `grade` knows that a page is out of date."""

from dataclasses import replace

import pytest

from autograder.cli.main import main
from autograder.course.regrade_requests import Request
from autograder.scores.notices import Notices
from autograder.scores.voids import Void, Voids
from tests.autograder.gradebook.graded_course import book, comment, formgrader_of, grade_by_hand, graded, page
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading
NOTHING = Notices((), "", Voids(), (), {}, "")


def test_everything_that_a_page_says_changes_its_digest():
    given = replace(NOTHING, given="1")
    said = [
        NOTHING,
        given,
        replace(given, reusable={"axis": "Which axis?"}),
        replace(NOTHING, due=["Due tomorrow."]),
        replace(NOTHING, about_attempts="The best attempt counts."),
        replace(NOTHING, voids=Voids({"check-softmax": Void("drop")})),
        replace(NOTHING, requests=[Request("softmax", "Why?")]),
        replace(NOTHING, requests=[Request("softmax", "Why?", "Because.")]),
    ]
    assert len({notices.digest for notices in said}) == len(said) and NOTHING.digest == ""
    assert replace(NOTHING, reusable={"axis": "Which axis?"}).digest == ""  # no comment can use this text


@pytest.mark.thorough("scores and pages of grade and of nbgrader are each tested")
def test_nbgraders_own_commands_write_the_same_scores_and_the_same_page(course, hand_in, contents):

    def command(*words):
        assert main([*words, "--course", str(course)]) == 0

    path = hand_in("ada", contents["mistake-1"])
    path.with_name("timestamp.txt").write_text("2026-02-04 12:00:00 UTC", encoding="utf-8")
    command("due", CHAPTER, "--at", "2026-02-03 12:00+00:00", "--late", "50%", "2026-02-10")
    command("grade", CHAPTER)
    command("void", "attention", "--drop")
    grade_by_hand(course, "check-softmax", manual_score=3, extra_credit=1)
    comment(course, "softmax", "Nearly.")
    graded(course, force=True)
    ours = book(course).marks, page(course)
    formgrader = formgrader_of(course)
    assert formgrader.autograde(CHAPTER, "ada")["success"]
    assert formgrader.generate_feedback(CHAPTER, "ada")["success"]
    marks, html = book(course).marks, page(course)
    assert (marks, html) == ours and marks[CHAPTER]["ada"].penalty > 0
    assert not graded(course)["ada"].written
