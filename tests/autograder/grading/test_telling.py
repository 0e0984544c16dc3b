"""Each file is asked its own cases, and what comes back of them carries nothing away."""

import copy
import json
import shutil

import pytest

from autograder.authoring import make_key
from autograder.authoring.exercise import exercises_of
from autograder.authoring.make_key import key_of, make_questions
from autograder.authoring.sketching import SketchesWhenAsked
from autograder.course.seed import case_seed
from autograder.grading.assignment import open_assignment, seeds_of
from autograder.grading.questions import exercises_by_name, judged, questions_of
from autograder.grading.submitted_file import File
from autograder.grading.telling import possible_grader_messages, redacted
from autograder.grading.worker import grade_file
from autograder.sandbox import Cell
from check import judge
from check.calling import Outcome, Raised, run
from check.values import pack
from check.words import NOBODY_THERE
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading
SEED = 2**100 + 1
SOFTMAX = exercises_by_name(CHAPTER)["softmax"]


@pytest.fixture(scope="module")
def assignment(released_course, tmp_path_factory):
    return open_assignment(shutil.copytree(released_course, tmp_path_factory.mktemp("told") / "course"), CHAPTER, SEED)


# ------------------------------------------------------------------------------------------ its own cases


def drawn(file, released, seed=SEED):
    """All that a file is asked, as bytes."""
    keys = questions_of(CHAPTER, seeds_of(file, released, seed)).values()
    return [b"".join(array.tobytes() for array in pack(case.inputs)[1]) for key in keys for case in key.cases]


def test_a_file_is_asked_the_same_again_and_no_other_is(assignment):
    file, other = File(b"one"), File(b"one ")
    assert drawn(file, assignment.released) == drawn(File(b"one"), assignment.released)
    assert drawn(file, assignment.released) != drawn(file, assignment.released, seed=SEED + 1)
    random = {asked for asked in drawn(file, assignment.released) if len(asked) > 64}  # and not an author's few numbers
    assert len(random) > 10 and not random & set(drawn(other, assignment.released))


def test_no_two_questions_share_a_seed():
    asked = [("01_a", "f", "x"), ("01_a", "g", "x"), ("02_b", "f", "x"), ("01_a", "f", "y"), ("01_", "af", "x")]
    assert len({case_seed(secret, *each) for each in asked for secret in (1, 2)}) == 10


def test_the_courses_seed_stays_at_home(assignment):
    assert str(SEED) not in repr(vars(assignment)) and SEED not in vars(assignment).values()


# ------------------------------------------------------------------------------------------------ judging


def test_mistakes_are_asked_only_where_something_is_wrong(monkeypatch):
    questions = make_questions(SOFTMAX, 3)
    right = [run(SOFTMAX.reference, case.inputs) for case in questions.cases]
    stub = [Outcome(raised=Raised("NotImplementedError", ""))] * len(questions.cases)
    hung = [Outcome(stopped="took longer than 5 seconds")] * len(questions.cases)
    monkeypatch.setattr(make_key, "with_mistakes", lambda *_: pytest.fail("asked a mistake"))
    assert judged(SOFTMAX, questions, right).passed
    assert judged(SOFTMAX, questions, stub).verdict.kind == "blank"
    assert judged(SOFTMAX, questions, hung).verdict.kind == "stopped"


@pytest.mark.parametrize("exercise", exercises_of(CHAPTER), ids=lambda each: each.name)
def test_what_is_wrong_is_explained_as_with_a_whole_key(exercise):
    whole, questions = key_of(exercise, 3), make_questions(exercise, 3)
    for _, wrong in exercise.mistakes.values():
        outcomes = [run(wrong, case.inputs) for case in questions.cases]
        assert judged(exercise, questions, outcomes) == judge.grade(whole, outcomes)


def test_a_slip_is_looked_for_when_nothing_else_explains(monkeypatch):
    questions = make_questions(SOFTMAX, 3)
    slipped = [run(lambda scores: 2 * SOFTMAX.reference(scores), case.inputs) for case in questions.cases]
    named = [run(next(iter(SOFTMAX.mistakes.values()))[1], case.inputs) for case in questions.cases]
    assert judged(SOFTMAX, questions, slipped) == judge.grade(key_of(SOFTMAX, 3), slipped)
    monkeypatch.setattr(SketchesWhenAsked, "__len__", lambda self: pytest.fail("looked for a slip"))
    assert judged(SOFTMAX, questions, named).mistake


# ------------------------------------------------------------------------------------- what exceptions say


def told(kind, message, *cells):
    raised = redacted(Outcome(raised=Raised(kind, message, "line 1: f()")), possible_grader_messages(cells)).raised
    return raised.type, raised.message if raised.quoted else ""


def test_a_type_that_a_student_named_and_a_message_are_not_told():
    assert told("ValueError", "0.25 0.5") == ("ValueError", "")
    assert told("LinAlgError", "0.25 0.5") == ("LinAlgError", "")
    assert told("Carrying_0_25", "") == ("an exception of your own", "")
    assert told("int", "") == ("an exception of your own", "")


def test_our_possible_grader_messages_are():
    wrong = Cell("softmax", "import torch\n\ndef soft_max(scores):\n    import scipy\n")
    for message in (
        "scipy is not allowed in this exercise and earns no points: write it with NumPy",
        "softmax is not defined: its cell defines soft_max and no softmax.",
        "softmax is not defined: was its cell deleted or did it fail?",
        NOBODY_THERE,
    ):
        assert told("ImportError", message, wrong) == ("ImportError", message)
    assert told("ImportError", "pandas is not allowed in this exercise and earns no points", wrong)[1] == ""
    assert told("NameError", "softmax is not defined: its cell defines bits_0110 and no softmax.", wrong)[1] == ""


CARRYING = """\
def softmax(scores):
    seen = f"SEEN_{abs(hash(scores.tobytes()))}"
    raise type(seen, (Exception,), {})(seen)

def attention_weights(queries, keys):
    raise ValueError(f"SEEN_{queries.shape}")
"""


def test_a_report_carries_no_hidden_input_away(assignment, perfect):
    notebook = copy.deepcopy(perfect)
    for cell in notebook["cells"]:
        cell["source"] = {"softmax": CARRYING, "attention_weights": ""}.get(cell["id"], cell["source"])
    file = File(json.dumps(notebook).encode())
    report = grade_file(file, seeds_of(file, assignment.released, SEED), assignment)
    said = json.dumps(report)
    assert "an exception of your own (line 3: raise type(seen, (Exception,), {})(seen))" in said
    assert 'raised ValueError (line 6: raise ValueError(f\\"SEEN_{queries.shape}\\"))' in said
    assert "SEEN_(" not in said and not any(f"SEEN_{digit}" in said for digit in range(10))
