"""Each file gets its own cases, and its report reveals nothing about them."""

import copy
import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from autograder.authoring import known_mistakes
from autograder.authoring.exercise import exercises_of
from autograder.authoring.make_key import full_key, make_lazy_key
from autograder.authoring.sketching import Lazy
from autograder.course.seed import case_seed
from autograder.grading import misspelled
from autograder.grading.assignment import open_assignment, seeds_of
from autograder.grading.judging import exercises_by_name, judge_exercise, questions_of
from autograder.grading.misspelled import defined_names, suggestion
from autograder.grading.redaction import possible_grader_messages, redacted
from autograder.grading.submitted_file import File
from autograder.grading.worker import grade_file
from autograder.sandbox import Cell
from check import scoring
from check.calling import Outcome, Raised, run
from check.measuring import measured_outcomes
from check.values import pack
from check.words import NO_INPUT
from tests.choosing import thinned
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading
SEED = 2**100 + 1
SOFTMAX = exercises_by_name(CHAPTER)["softmax"]


@pytest.fixture(scope="module")
def assignment(released_course, tmp_path_factory):
    return open_assignment(
        shutil.copytree(released_course, tmp_path_factory.mktemp("hidden") / "course"), CHAPTER, SEED
    )


# ------------------------------------------------------------------------------------------ its own cases


def drawn(file, released, seed=SEED):
    """Return the inputs of a file's cases, as bytes."""
    keys = questions_of(CHAPTER, seeds_of(file, released, seed)).values()
    return [b"".join(array.tobytes() for array in pack(case.inputs)[1]) for key in keys for case in key.cases]


def test_the_same_file_gets_the_same_cases_and_another_file_gets_others(assignment):
    file, other = File(b"one"), File(b"one ")
    assert drawn(file, assignment.released) == drawn(File(b"one"), assignment.released)
    assert drawn(file, assignment.released) != drawn(file, assignment.released, seed=SEED + 1)
    # Short inputs may be numbers that an author chose.
    random = {inputs for inputs in drawn(file, assignment.released) if len(inputs) > 64}
    assert len(random) > 10 and not random & set(drawn(other, assignment.released))


def test_no_two_exercises_share_a_seed():
    names = [("01_a", "f", "x"), ("01_a", "g", "x"), ("02_b", "f", "x"), ("01_a", "f", "y"), ("01_", "af", "x")]
    assert len({case_seed(secret, *name) for name in names for secret in (1, 2)}) == 10


def test_an_assignment_does_not_hold_the_seed_of_the_course(assignment):
    assert str(SEED) not in repr(vars(assignment)) and SEED not in vars(assignment).values()


# ------------------------------------------------------------------------------------------------ judging


def test_known_mistakes_are_run_only_for_wrong_exercises(monkeypatch):
    questions = make_lazy_key(SOFTMAX, 3)
    right = [run(SOFTMAX.reference, case.inputs) for case in questions.cases]
    stub = [Outcome(raised=Raised("NotImplementedError", ""))] * len(questions.cases)
    hung = [Outcome(stopped="used more than 5 seconds of processor time")] * len(questions.cases)
    monkeypatch.setattr(known_mistakes, "stored_outcome", lambda *_: pytest.fail("ran a mistake"))
    assert judge_exercise(questions, right).result.passed
    assert judge_exercise(questions, stub).result.verdict.kind == "blank"
    assert judge_exercise(questions, hung).result.verdict.kind == "stopped"


def test_a_judgement_says_what_is_earned_without_running_mistakes(monkeypatch):
    questions = make_lazy_key(SOFTMAX, 3)
    for outcomes in outcomes_of_mistakes(SOFTMAX, questions):
        judgement = judge_exercise(questions, outcomes)
        with monkeypatch.context() as patch:
            patch.setattr(known_mistakes, "stored_outcome", lambda *_: pytest.fail("ran a mistake"))
            earned, passed = judgement.earned, judgement.passed
        assert (earned, passed) == (judgement.result.earned, judgement.result.passed)


def test_a_known_mistake_is_named_before_later_ones_are_run(monkeypatch):
    first, *_, last = SOFTMAX.mistakes
    questions = make_lazy_key(SOFTMAX, 3)
    outcomes = [run(SOFTMAX.mistakes[first][1], case.inputs) for case in questions.cases]
    ran = []
    monkeypatch.setattr(known_mistakes, "stored_outcome", spied(known_mistakes.stored_outcome, ran))
    assert judge_exercise(questions, outcomes).mistakes == (SOFTMAX.mistakes[first][0],)
    assert ran == [first] * len(questions.cases)
    assert list(questions.cases[0].mistakes) == list(SOFTMAX.mistakes) and last in questions.cases[0].mistakes


def test_code_that_always_raises_is_compared_with_mistakes_on_the_smallest_case_alone(monkeypatch):
    questions = make_lazy_key(SOFTMAX, 3)
    outcomes = [Outcome(raised=Raised("NameError", "name 'np' is not defined"))] * len(questions.cases)
    ran = []
    monkeypatch.setattr(known_mistakes, "stored_outcome", spied(known_mistakes.stored_outcome, ran))
    assert judge_exercise(questions, outcomes).mistakes == ()
    assert len(ran) == len(SOFTMAX.mistakes)


def spied(function, names):
    """Return the function, changed so that it stores the name of the function that it runs."""

    def spy(exercise, wrong, case):
        names.append(wrong.__name__)
        return function(exercise, wrong, case)

    return spy


def outcomes_of_mistakes(exercise, key):
    return [[run(wrong, case.inputs) for case in key.cases] for _, wrong in exercise.mistakes.values()]


@pytest.mark.parametrize(
    "exercise", thinned(exercises_of(CHAPTER), [SOFTMAX], "other exercises"), ids=lambda it: it.name
)
def test_explanations_equal_those_of_a_complete_key(exercise):
    whole, questions = full_key(exercise, 3), make_lazy_key(exercise, 3)
    for outcomes in outcomes_of_mistakes(exercise, questions):
        assert judge_exercise(questions, outcomes).result == scoring.grade(whole, measured_outcomes(whole, outcomes))


def test_slips_are_searched_only_if_nothing_else_explains_the_outcomes(monkeypatch):
    questions = make_lazy_key(SOFTMAX, 3)
    slipped = [run(lambda scores: 2 * SOFTMAX.reference(scores), case.inputs) for case in questions.cases]
    named = [run(next(iter(SOFTMAX.mistakes.values()))[1], case.inputs) for case in questions.cases]
    assert judge_exercise(questions, slipped).result == scoring.grade(full_key(SOFTMAX, 3), slipped)
    monkeypatch.setattr(Lazy, "__len__", lambda self: pytest.fail("searched for a slip"))
    assert judge_exercise(questions, named).mistakes


# ------------------------------------------------------------------------------------- what exceptions say


def shown(kind, message, *cells):
    """Return the type and the message that a report shows for an exception in these cells."""
    outcome = Outcome(raised=Raised(kind, message, "line 1: f()"))
    raised = redacted(outcome, possible_grader_messages(cells), defined_names(cells)).raised
    return raised.type, raised.message if raised.quoted else ""


def test_messages_and_exception_types_of_students_are_removed():
    assert shown("ValueError", "0.25 0.5") == ("ValueError", "")
    assert shown("LinAlgError", "0.25 0.5") == ("LinAlgError", "")
    assert shown("Carrying_0_25", "") == ("an exception of your own", "")
    assert shown("int", "") == ("an exception of your own", "")


CELLS = (
    Cell("setup", "import math\n\nimport numpy as np\n"),
    Cell("softmax", "def softmax(scores):\n    strengths = np.exp(scores)\n    return strengths / strengths.sum()\n"),
    Cell("broken", "def ("),
)


@pytest.mark.parametrize(
    ("kind", "line", "words"),
    [
        ("NameError", "weights = softmx(scores)", "; did you mean `softmax`?"),
        ("NameError", "for i in rang(len(scores)):", "; did you mean `range`?"),
        ("NameError", "return strenghts @ score", ""),  # two misspelled names
        ("NameError", "return softmax(scores)", ""),
        ("AttributeError", "return np.swapaxis(scores, -1, -2)", "; did you mean `swapaxes`?"),
        ("AttributeError", "return scores.swapaxis(-1, -2) @ np.eye(3)", "; did you mean `swapaxes`?"),
        ("AttributeError", "return keys.zzz / math.sqrt(3)", ""),
        ("AttributeError", "return keys.swapaxis(0, 1) / math.sqrt(3)", "; did you mean `swapaxes`?"),
        ("AttributeError", "return scores / math.sqtr(3)", "; did you mean `sqrt`?"),
        ("AttributeError", "return np.exp(scores)", ""),
        ("ValueError", "return softmx(scores)", ""),
    ],
)
def test_a_misspelled_name_gets_a_suggestion(kind, line, words):
    raised = Raised(kind, "0.25", f"line 3: {line}")
    assert suggestion(raised, defined_names(CELLS)) == words
    seen = redacted(Outcome(raised=raised), frozenset(), defined_names(CELLS)).raised
    assert seen.line == f"line 3: {line}{words}" and not seen.quoted


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("return softmx, " + ", ".join(f"qq{n}" for n in range(60)), {"softmax"}),
        ("return softmx", {"softmax", *map("x{}".format, range(misspelled.MAX_KNOWN))}),
        ("return softmx_abcdefghijklmnopqrstuvwxyz_0123456789", {"softmax_abcdefghijklmnopqrstuvwxyz_0123456789"}),
    ],
    ids=["a line of many names", "a submission of many names", "long names"],
)
def test_so_many_names_that_comparing_them_takes_long_get_no_suggestion(line, names):
    assert suggestion(Raised("NameError", "", f"line 3: {line}"), frozenset(names)) == ""


NAMES_FROM_INPUTS = """
def softmax(scores):
    value = f"swapaxes_{scores.flat[0]:.3f}".replace(".", "_").replace("-", "m")
    {do}
"""


@pytest.mark.parametrize(
    "do",
    [
        "getattr(np, value)",
        "raise AttributeError(value, name=value, obj=np)",
        "raise AttributeError(name='swapaxis', obj=type('T', (), {value: 1})())",
        "raise NameError(f'name {value!r} is not defined; did you mean `{value}`?', name=value)",
        "exec(value)",
        "globals()[value] = 1; eval(value[:-1])",
    ],
)
def test_names_that_code_makes_from_its_inputs_suggest_nothing_about_them(do):
    """The code hides a value in the name of an attribute, or in a known name that a suggestion would quote."""
    cells = (CELLS[0], Cell("softmax", NAMES_FROM_INPUTS.replace("{do}", do)))
    names = {"np": np}
    exec(compile(cells[1].source, "<cell softmax>", "exec"), names)
    seen = set()
    for value in (0.25, -7.0, 1234.5):
        outcome = run(names["softmax"], {"scores": np.array([value])})
        place = cells[1].source.splitlines()[outcome.raised.place[1] - 1].strip()
        raised = replace(outcome.raised, line=f"line 4: {place}")
        shown_raised = redacted(Outcome(raised=raised), possible_grader_messages(cells), defined_names(cells)).raised
        assert not shown_raised.quoted
        seen.add((shown_raised.type, shown_raised.line))
    assert len(seen) == 1, "what is shown depends on the input"


def test_messages_of_the_grader_stay():
    wrong = Cell("softmax", "import torch\n\ndef soft_max(scores):\n    import scipy\n")
    for message in (
        "scipy is not allowed in this exercise and earns no points: write it with NumPy",
        "softmax is not defined: its cell defines soft_max and no softmax.",
        "softmax is not defined: was its cell deleted or did it fail?",
        NO_INPUT,
    ):
        assert shown("ImportError", message, wrong) == ("ImportError", message)
    assert shown("ImportError", "pandas is not allowed in this exercise and earns no points", wrong)[1] == ""
    assert shown("NameError", "softmax is not defined: its cell defines bits_0110 and no softmax.", wrong)[1] == ""


CARRYING = """\
def softmax(scores):
    text = f"SEEN_{abs(hash(scores.tobytes()))}"
    raise type(text, (Exception,), {})(text)

def attention_weights(queries, keys):
    raise ValueError(f"SEEN_{queries.shape}")
"""


def test_a_report_reveals_no_hidden_input(assignment, perfect):
    notebook = copy.deepcopy(perfect)
    for cell in notebook["cells"]:
        cell["source"] = {"softmax": CARRYING, "attention_weights": ""}.get(cell["id"], cell["source"])
    file = File(json.dumps(notebook).encode())
    report = grade_file(file, seeds_of(file, assignment.released, SEED), assignment, alone=True)
    text = json.dumps(report)
    assert "an exception of your own (line 3: raise type(text, (Exception,), {})(text))" in text
    assert 'raised ValueError (line 6: raise ValueError(f\\"SEEN_{queries.shape}\\"))' in text
    assert "SEEN_(" not in text and not any(f"SEEN_{digit}" in text for digit in range(10))


# ------------------------------------------------------------------------------------- what wrong values say


def named(secret):
    """A value whose type has this name."""
    return type(f"SEEN_{secret}", (), {})()


EXPECTED = {"w": np.ones((5, 7)), "b": np.ones(7)}
# How a function could write a number from 0 to 34 into a wrong value. Each must get the same sentence for every number.
CARRIERS = {
    "the name of a type": lambda secret: named(secret),
    "the name of a type in a dict": lambda secret: EXPECTED | {"b": named(secret)},
    "the width of strings": lambda secret: np.zeros(3, f"<U{secret + 1}"),
    "the fields of a dtype": lambda secret: np.zeros(3, [(f"SEEN_{secret}", "f8")]),
    "the length of a very long list": lambda secret: [0] * (200_001 + secret),
    "keys of a dict": lambda secret: {f"SEEN_{secret}": EXPECTED["w"]},
    "a key beside the right ones": lambda secret: EXPECTED | {f"SEEN_{secret}": 0},
    "what stands before every key": lambda secret: {f"SEEN_{secret}{name}": array for name, array in EXPECTED.items()},
    "the position of a NaN": lambda secret: EXPECTED | {"w": with_one(np.nan, secret)},
    "the position of an infinite entry": lambda secret: EXPECTED | {"w": with_one(np.inf, secret)},
    "the position of the largest error": lambda secret: EXPECTED | {"w": with_one(1.5, secret)},
    "the shape of an empty array": lambda secret: EXPECTED | {"w": np.zeros((0, 10**6 + secret))},
    "the number of axes": lambda secret: EXPECTED | {"w": np.zeros((1,) * (5 + secret // 2) + (2,))},
}


def with_one(value, place):
    """The expected `w` with one entry replaced."""
    array = EXPECTED["w"].copy()
    array.flat[place] = value
    return array


def sentences(value):
    """What a report says about a value where `EXPECTED` should be."""
    questions = replace(make_lazy_key(SOFTMAX, 3), outputs={"params": ""}, order=("params",))
    case = replace(questions.cases[0], expected=Outcome(value=EXPECTED))
    outcome = redacted(run(lambda: value, {}), frozenset(), frozenset())
    return scoring.judge(questions, case, outcome).message


@pytest.mark.parametrize("carrier", CARRIERS.values(), ids=CARRIERS)
def test_a_wrong_value_carries_no_hidden_input_into_the_report(carrier):
    assert len({sentences(carrier(secret)) for secret in range(35)}) == 1


def test_a_report_names_the_types_that_everybody_knows():
    assert sentences({1, 2}) == "`params` is a set where a dict is expected."
    assert sentences(np.zeros(2, complex)) == "`params` is a NumPy array of complex128 where a dict is expected."
    assert sentences(named(1)) == "`params` is a value of another type where a dict is expected."


def test_a_report_names_the_keys_that_are_missing_and_counts_the_others():
    assert sentences({"w": 1, "v": 2}) == "`params` lacks 'b' and has 1 unexpected key."
    assert sentences({"grad_w": 1, "grad_b": 2}) == "`params` lacks 'w', 'b' and has 2 unexpected keys."


CARRYING_VALUES = """\
def softmax(scores):
    return type(f"SEEN_{abs(hash(scores.tobytes()))}", (), {})()

def attention_weights(queries, keys):
    return {f"SEEN_{queries.shape}": 0}

def copies_predecessor(**sizes):
    return {f"SEEN_{size}": (1,) for size in sizes.values()}
"""


def test_a_report_reveals_no_hidden_input_by_wrong_values(assignment, perfect):
    notebook = copy.deepcopy(perfect)
    replaced = {"softmax": CARRYING_VALUES, "attention_weights": "", "copies_predecessor": ""}
    for cell in notebook["cells"]:
        cell["source"] = replaced.get(cell["id"], cell["source"])
    file = File(json.dumps(notebook).encode())
    report = json.dumps(grade_file(file, seeds_of(file, assignment.released, SEED), assignment, alone=True))
    assert "a value of another type" in report and "should be 3 matrices" in report and "SEEN_" not in report
