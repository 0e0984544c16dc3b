"""The course's own server: formgrader in a browser tab of its own. `pytest -m hub` tests it behind a real hub."""

import json
from types import SimpleNamespace

import pytest

from autograder.gradebook.score_log import account, read_changes
from autograder.hub import formgrader_tab
from tests.autograder.gradebook.graded_course import graded, open_gradebook
from tests.autograder.hub.course_server import running
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading


@pytest.fixture
def answer(course, tmp_path):
    """Return answer(path), which returns the address and the text of a page of the course's own server."""
    with running(course, tmp_path) as server:
        yield server


def test_formgrader_is_the_first_page_and_its_links_stay_below_the_server(answer):
    address, page = answer("lab?formgrader=true")
    assert address == "formgrader/manage_assignments" and "Manage Assignments" in page
    assert answer("lab")[0] == "lab"
    assert [row["name"] for row in json.loads(answer("formgrader/api/assignments")[1])] == [CHAPTER]
    script = answer("formgrader/static/js/utils.js")[1]
    assert "var linkTo = " in script  # nbgrader's function, which ours replaces
    assert script.rstrip().endswith("};") and "`${base_url}/${place}/${path}`" in script
    assert CHAPTER in answer(f"tree/source/{CHAPTER}")[1]


@pytest.mark.thorough("test_score_log logs what another program changed")
def test_a_score_set_in_formgrader_is_logged(answer, course, hand_in, contents):
    hand_in("ada", contents["mistake-1"])
    graded(course)
    with open_gradebook(course) as gradebook:
        grade_id = gradebook.find_grade("check-softmax", CHAPTER, CHAPTER, "ada").id
    answer(f"formgrader/api/grade/{grade_id}", {"manual_score": 3, "extra_credit": None})
    change = read_changes(course)[-1]
    assert (change.student, change.before, change.after) == ("ada", 18, 21)
    assert (change.why, change.who) == ("by hand in formgrader", account())


def test_on_a_hub_the_log_names_the_person_and_not_the_account_of_the_server(monkeypatch):
    handler = SimpleNamespace(current_user=SimpleNamespace(username="ines"))
    assert formgrader_tab._who(handler) == account()
    monkeypatch.setenv("JUPYTERHUB_SERVICE_PREFIX", "/services/default_course/")
    assert formgrader_tab._who(handler) == "ines"
