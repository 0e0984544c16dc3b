"""Follow-through: an exercise that calls a wrong one is graded once more, as if that one were right."""

import copy
import inspect
import io
import itertools
import json
import shutil
import zipfile
from dataclasses import replace

import pytest

from autograder.authoring.exercise import exercises_of
from autograder.authoring.make_key import make_key, make_questions
from autograder.authoring.problems import grade_function
from autograder.gradebook import class_run
from autograder.grading import assignment as assignments
from autograder.grading import grade
from autograder.grading.assignment import open_assignment, seeds_of
from autograder.grading.dependencies import exercises_called, exercises_to_answer
from autograder.grading.follow_through import functions_to_answer, is_better, runs_together, with_answers
from autograder.grading.judging import exercises_by_name
from autograder.grading.submitted_file import File
from autograder.layout import chapter_names
from autograder.sandbox import CHAPTER_DISTRIBUTIONS, AnsweredFunctions, Budget, Call, Cell, MachineTooBusy, run
from check import scoring
from check.calling import run as run_here
from check.faults import Verdict
from check.key import Mistake
from check.measuring import measured
from check.scoring import Aspect, Result
from tests.choosing import thinned
from tests.conftest import CHAPTER
from tests.patience import PATIENT

pytestmark = pytest.mark.grading
SEED = 2**100
# For a notebook with code that never ends.
STOPPED = replace(PATIENT, call_seconds=5.0, cell_seconds=5.0, patience=1.0, wall_factor=200.0)

NEXT_ROW = "def softmax(scores):\n    exps = np.exp(scores)\n    return exps / exps.sum(axis=-2, keepdims=True)"
DIRECT = """\
def attention(queries, keys, values):
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError("widths")
    weights = softmax(queries @ np.swapaxes(keys, -1, -2) / math.sqrt(queries.shape[-1]))
    return weights @ values, (queries, keys, values, weights)
"""
UNSCALED = "def attention_weights(queries, keys):\n    return softmax(queries @ keys.swapaxes(-1, -2))"


@pytest.fixture(scope="module")
def assignment(released_course, tmp_path_factory):
    course = shutil.copytree(released_course, tmp_path_factory.mktemp("follow") / "course")
    return open_assignment(course, CHAPTER, SEED)


@pytest.fixture(scope="module")
def folders(assignment, tmp_path_factory):
    """The folders of the unpacked bundle and solutions."""
    unpacked = []
    for archive in (assignment.bundle, assignment.solutions):
        unpacked.append(tmp_path_factory.mktemp("unpacked"))
        zipfile.ZipFile(io.BytesIO(archive)).extractall(unpacked[-1])
    return unpacked


@pytest.fixture
def graded(assignment, folders, perfect, monkeypatch):
    """graded(exercise=source, ...) -> the report of a solved notebook with these cells, and a list of its runs.

    own: sources of cells that the student has added at the end.
    """

    def graded(limits=PATIENT, alone=True, own=(), **sources):
        runs = []

        def spied(cells, calls, **options):
            names = {call.function for call in calls}
            runs.append((options.get("answered"), names, [cell.id for cell in cells], options["budget"]))
            return run(cells, calls, **options)

        monkeypatch.setattr(grade, "run", spied)
        notebook = copy.deepcopy(perfect)
        for cell in notebook["cells"]:
            cell["source"] = sources.get(cell["id"], cell["source"])
        notebook["cells"] += [
            {
                "cell_type": "code",
                "id": f"own-{n}",
                "metadata": {},
                "execution_count": None,
                "outputs": [],
                "source": source,
            }
            for n, source in enumerate(own)
        ]
        file = File(json.dumps(notebook).encode())
        seeds = seeds_of(file, assignment.released, SEED)
        return grade.grade_submission(file, seeds, assignment, *folders, limits, alone=alone), runs

    return graded


def without_processor_time(limits):
    budget = Budget(limits)
    budget.processor_seconds = 0.0
    return budget


def stub_of(assignment, name):
    return assignment.released.source(assignment.released.position(name, None))


# ------------------------------------------------------------------------------------------ what it earns


def test_a_wrong_function_costs_only_its_own_points(graded):
    report, _ = graded(softmax=NEXT_ROW)
    assert report.earned == 22 - 4
    answered = {result.function: result.answered for result in report.results if result.answered}
    assert answered == dict.fromkeys(["attention_weights", "attention"], ("softmax",))
    assert report.notes == report.log == ()


LONG = """\
import time as {t}
{end} = {t}.process_time() + 1
while {t}.process_time() < {end}:
    softmax(np.ones((2, 3)))
"""


def test_a_long_experiment_is_not_executed_again(graded):
    """Six processes of chapter 9 would execute it six times, and then the exercises might have no time left."""
    experiment = LONG.format(t="time", end="end")
    helper = "def helper(x):\n    return np.exp(x)\n" + LONG.format(t="clock", end="finish")
    with_helper = "def softmax(scores):\n    exps = helper(scores)\n    return exps / exps.sum(axis=-2, keepdims=True)"
    report, runs = graded(softmax=with_helper, own=[helper, experiment])
    assert report.earned == 22 - 4
    first, second = ([cell for cell in cells if "own" in cell] for _, _, cells, _ in runs)
    assert first == ["1 of your own", "2 of your own"]
    assert second == ["1 of your own"]


def test_a_function_in_the_cell_of_another_exercise_is_run_again_too(graded, assignment, perfect):
    sources = {cell["id"]: "".join(cell["source"]) for cell in perfect["cells"]}
    both = "\n\n\n".join(sources[name] for name in ("attention_weights", "attention"))
    report, _ = graded(softmax=NEXT_ROW, attention_weights=stub_of(assignment, "attention_weights"), attention=both)
    assert report.earned == 22 - 4


def test_an_import_of_a_given_cell_may_be_used(graded, assignment):
    source = """\
def attention(queries, keys, values):
    weights = attention_weights(queries, keys)
    output = np.zeros((*weights.shape[:-1], values.shape[-1]), values.dtype)
    for index in itertools.product(*map(range, weights.shape[:-2])):
        output[index] = weights[index] @ values[index]
    return output, (queries, keys, values, weights)
"""
    assert any("import itertools" in assignment.released.source(i) for i in assignment.released.given)
    report, _ = graded(attention=source)
    assert report.earned == 22


WITH_SOFTMAX = """\
def repaired_attention(queries, keys, values):
    return shares(queries, keys) @ values

def shares(queries, keys):
    return softmax(queries @ keys.swapaxes(-1, -2) / math.sqrt(keys.shape[-1]))
"""


def test_an_exercise_may_call_one_that_its_reference_does_not_call(graded):
    report, _ = graded(softmax=NEXT_ROW, repaired_attention=WITH_SOFTMAX)
    assert report.earned == 22 - 4 and report.result("repaired_attention").answered == ("softmax",)


def test_an_exercise_is_not_run_again_with_one_that_solves_it(graded):
    calls = "def repaired_attention(queries, keys, values):\n    return attention(queries, keys, values)[0]"
    report, _ = graded(attention="def attention(queries, keys, values):\n    return 0, None", repaired_attention=calls)
    repaired = report.result("repaired_attention")
    assert repaired.earned == 0 and repaired.answered == () and repaired.mend_first == ("attention",)


MISSING, RAISES, ENDLESS = "# gone", "raise ValueError", "def softmax(scores):\n    while True: pass"


@pytest.mark.parametrize("softmax", thinned([MISSING, RAISES, ENDLESS], [MISSING], "another such function"))
def test_a_missing_or_endless_function_costs_no_more_than_a_wrong_one(graded, softmax):
    assert graded(STOPPED, softmax=softmax, attention="# gone too")[0].earned == 22 - 4 - 4


def test_an_unwritten_function_costs_no_more_than_a_wrong_one(graded, assignment):
    report, _ = graded(softmax=stub_of(assignment, "softmax"), attention=DIRECT)
    assert report.earned == 22 - 4
    assert report.result("softmax").verdict.kind == "blank"


def test_an_exercise_names_its_own_mistake_and_not_that_of_another(graded):
    report, _ = graded(softmax=NEXT_ROW, attention_weights=UNSCALED)
    weights = report.result("attention_weights")
    assert weights.mistake.name == "does not scale the scores" and weights.answered == ("softmax",)
    assert weights.mend_first == () and not weights.passed
    assert report.result("attention").passed
    assert report.result("attention").answered == ("softmax", "attention_weights")


def test_an_exercise_that_calls_no_wrong_function_keeps_its_first_result(graded):
    inline = "def attention(queries, keys, values):\n    return queries @ keys.swapaxes(-1, -2) @ values, None"
    report, _ = graded(softmax=NEXT_ROW, attention=inline)
    attention = report.result("attention")
    assert attention.answered == () and not attention.passed
    assert attention.mend_first == ()  # what it names as calling is right, with a right softmax


# ------------------------------------------------------------------------------------------- what it costs


def test_a_right_notebook_is_run_once(graded):
    assert len(graded()[1]) == 1


def test_all_runs_of_a_submission_share_one_budget(graded):
    """A submission that slept in every run held its place for the time limit of each run."""
    budgets = [budget for *_, budget in graded(softmax=NEXT_ROW)[1]]
    assert len(budgets) == 2 and len(set(map(id, budgets))) == 1
    assert budgets[0].processor_seconds < PATIENT.processor_seconds and not budgets[0].stopped_by_clock


def test_without_time_nothing_runs_again(graded, monkeypatch):
    report, runs = graded(replace(PATIENT, wall_seconds=0.0), softmax=NEXT_ROW)
    assert len(runs) == 1 and runs[0][-1].stopped_by_clock
    assert "no time was left to run attention_weights and later exercises again" in report.log[-1]
    monkeypatch.setattr(grade, "Budget", without_processor_time)
    report, runs = graded(softmax=NEXT_ROW)
    assert len(runs) == 1 and not runs[0][-1].stopped_by_clock
    assert "no time was left to run attention_weights and later exercises again" in report.log[-1]


def test_what_only_the_wall_clock_stopped_counts_only_if_nothing_else_is_graded(graded):
    sleeping = "import time\ndef attention(**inputs):\n    time.sleep(600)"
    limits = replace(PATIENT, call_seconds=300.0, wall_factor=0.01)
    with pytest.raises(MachineTooBusy, match="wall clock"):
        graded(limits, alone=False, attention=sleeping)
    report, _ = graded(limits, attention=sleeping)
    assert report.earned == 22 - 4
    assert report.result("attention").verdict.message == "`attention` waited longer than 3 seconds."


def test_unwritten_exercises_are_not_run_again(graded, assignment):
    stubs = {name: stub_of(assignment, name) for name in assignment.modules}
    assert len(graded(**stubs)[1]) == len(graded(**stubs | {"softmax": NEXT_ROW})[1]) == 1


def test_exercises_that_need_the_same_functions_answered_share_a_second_run(graded):
    _, ((nothing, *_), *again) = graded(softmax=NEXT_ROW)
    assert nothing is None
    assert answered_to(again) == [({"softmax"}, {"attention_weights", "attention"})]


def test_exercises_after_one_that_is_wrong_again_run_with_that_one_answered(graded):
    report, (_, *again) = graded(softmax=NEXT_ROW, attention_weights=UNSCALED)
    assert answered_to(again) == [
        ({"softmax"}, {"attention_weights", "attention"}),
        ({"softmax", "attention_weights"}, {"attention"}),
    ]
    assert [report.result(name).passed for name in ("attention_weights", "attention")] == [0, 1]


def answered_to(runs):
    return [(set(answers.modules), functions) for answers, functions, *_ in runs]


def test_an_exercise_that_needs_other_functions_answered_has_a_run_of_its_own():
    dependencies = {"a": (), "b": (), "c": ("a",), "d": ("b",), "e": ("a", "c")}

    def together(written="abcde", distributions=lambda name: ()):
        return runs_together("c", ("a",), dependencies, {"a", "b", "c", "d", "e"}, written, distributions)

    assert together() == ["c", "e"]
    assert together(written="abcd") == ["c"]
    assert together(distributions=lambda name: (name,)) == ["c"]


SECOND_TIME = """\
def attention(queries, keys, values):
    if "exps" in softmax.__code__.co_varnames:
        raise ValueError("the first time")
    exps = np.exp(queries @ np.swapaxes(keys, -1, -2) / math.sqrt(queries.shape[-1]))
    weights = exps / exps.sum(axis=-1, keepdims=True)
    return weights @ values, (queries, keys, values, weights)
"""


def test_an_exercise_that_asks_nothing_has_no_second_chance(graded):
    """It shares its run with exercises that ask the grader."""
    report, (_, *again) = graded(softmax=NEXT_ROW, attention=SECOND_TIME)
    assert {"attention_weights", "attention"} == answered_to(again)[0][1]
    assert report.result("attention_weights").passed
    assert not report.result("attention").passed and not report.result("attention").answered


@pytest.mark.thorough("tests of the sandbox show it for one run")
def test_a_cell_that_hung_is_not_run_again(graded):
    _, (_, *again) = graded(STOPPED, softmax="while True:\n    pass")
    assert len(again) == 1 and not any("softmax" in cells for _, _, cells, _ in again)


# ----------------------------------------------------------------------------------- what is answered for


def made_result(function, earned=0.0, mistake=None, kind="value", message="Wrong.", remarks=()):
    aspects = (Aspect("idea", 4.0, earned, int(earned), 4),)
    verdict = None if earned == 4 else Verdict(False, kind, message)
    return Result(function, earned, 4.0, aspects, verdict, "", (mistake,) if mistake else (), "S", remarks=remarks)


def test_only_wrong_exercises_are_answered_and_only_for_wrong_ones():
    dependencies = {"a": (), "b": (), "c": ("a", "b")}
    assert functions_to_answer("c", dependencies, {"a", "c"}) == ("a",)
    assert functions_to_answer("c", dependencies, {"a", "b"}) == ()


def test_the_better_result_counts():
    mistake = Mistake("slip", "A slip.")
    first = made_result("f", 2.0)
    assert not is_better(made_result("f", 1.0, mistake), first)
    assert not is_better(made_result("f", 2.0), first)
    assert is_better(made_result("f", 3.0), first)
    assert is_better(made_result("f", 2.0, mistake), first)
    assert not is_better(made_result("f", 2.0, mistake), made_result("f", 2.0, mistake))
    assert with_answers(made_result("f", 2.0, mistake), ("a",)).answered == ("a",)


@pytest.mark.parametrize("kind", ["raised", "type", "structure", "shape"])
def test_a_second_result_quotes_nothing_from_the_submission(kind):
    second = made_result("f", 1.0, kind=kind, message="0.25, 0.5", remarks=("0.125",))
    result = with_answers(second, ("a",))
    assert "0." not in f"{result.verdict.message}{result.remarks}" and result.verdict.message.startswith("`f` still ")


# --------------------------------------------------------------------------------- every chapter's exercises
OTHER_CHAPTERS = pytest.mark.thorough("the same for every chapter")
FUNCTIONS = [
    pytest.param(chapter, exercise.name, id=exercise.name, marks=() if chapter == CHAPTER else OTHER_CHAPTERS)
    for chapter in chapter_names()
    for exercise in exercises_of(chapter)
    if not (isinstance(exercise.reference, type) or exercise.tests)
]


@pytest.mark.parametrize(("chapter", "name"), FUNCTIONS)
def test_an_answered_function_alone_earns_nothing(chapter, name):
    """No exercise can be solved just by passing its inputs, in any order, to an earlier one. The others are known."""
    exercises = exercises_by_name(chapter)
    key = make_questions(exercises[name], 4242)
    first = [case for case in key.cases if case.aspect == next(iter(key.aspects)) and case.expected.raised is None]
    earlier = itertools.takewhile(lambda other: other != name, exercises)
    functions = {other: exercises[other].reference for other in earlier}
    solvers = {other for other, function in functions.items() if solves(function, key, first)}
    assert solvers == exercises[name].solved_by


def solves(function, key, cases):
    """Whether a function, called with inputs of the cases in some order, returns what the exercise must."""
    attempts = (
        lambda handed=handed, pick=pick, **inputs: pick(function(*(inputs[word] for word in handed)))
        for handed in itertools.islice(orders(list(cases[0].inputs), function), 300)
        for pick in (lambda value: value, lambda value: value[0], lambda value: value[1])
    )
    return any(all(passes(key, case, attempt) for case in cases) for attempt in attempts)


def passes(key, case, attempt):
    return scoring.judge(key, case, measured(key.measure, case, run_here(attempt, case.inputs))).passed


def orders(names, reference):
    """Yield the ways to pass some of these inputs to a function by position."""
    parameters = inspect.signature(reference).parameters.values()
    for count in {len(parameters), sum(parameter.default is parameter.empty for parameter in parameters)}:
        yield from itertools.permutations(names, count)


@pytest.mark.parametrize(
    ("chapter", "name"),
    [("05_residual", "encoder_layer"), ("08_model", "loss_and_gradients"), ("08_model", "DecoderLayer")],
)
def test_answered_functions_work_like_the_functions_of_a_student(chapter, name, folders):
    """Nested parameters, caches, generators and PyTorch's modules go over the pipe and back."""
    exercises = {exercise.name: exercise for exercise in exercises_of(chapter)}
    key = make_key(exercises[name], 4242)
    module = inspect.getsource(inspect.getmodule(exercises[name].reference))
    wrong = exercises_to_answer(exercises, exercises_called(exercises, [module]))[name]
    cells = [Cell("all", module), *(Cell(other, f"def {other}(*args, **kwargs):\n    return None") for other in wrong)]
    in_pytorch = isinstance(exercises[name].reference, type)
    modules = {other: exercises[other].reference.__module__ for other in wrong}
    answers = AnsweredFunctions(modules, folders[1], frozenset(wrong) if in_pytorch else frozenset())
    distributions = (*CHAPTER_DISTRIBUTIONS, "torch") if in_pytorch else CHAPTER_DISTRIBUTIONS
    options = {"bundle": folders[1], "distributions": distributions, "limits": PATIENT}
    calls = [Call(name, case.inputs) for case in key.cases]
    assert not scoring.grade(key, run(cells, calls, **options).outcomes).passed
    ran = run(cells, calls, answered=answers, **options)
    assert scoring.grade(key, ran.outcomes) == grade_function(exercises[name], key, exercises[name].reference)
    assert ran.answered_calls[name] >= len(calls) and ran.notes == []


# ---------------------------------------------------------------------------------------------- regrading


@pytest.mark.thorough("test_rerun changes other parts of the digest")
def test_changed_solutions_lead_to_new_reports_that_say_so(course, hand_in, contents, monkeypatch, tmp_path):
    hand_in("ada", contents["perfect"])
    class_run.grade_class(course, CHAPTER)
    copied = tmp_path / "repo"
    for package in ("autograder", "check", "solutions"):
        shutil.copytree(assignments.REPO / package, copied / package)
    monkeypatch.setattr(assignments, "REPO", copied)
    (row,) = class_run.grade_class(course, CHAPTER)
    assert row.why == ""
    with (copied / "solutions" / "attention.py").open("a") as file:
        file.write("# another\n")
    (row,) = class_run.grade_class(course, CHAPTER)
    assert row.why == "the solutions changed" and not row.reused


def test_a_report_in_the_current_form_is_read_without_conversion(graded, monkeypatch):
    """The conversion would take half the time of reading a class."""
    report, _ = graded(softmax=NEXT_ROW)
    monkeypatch.setattr(Result, "from_json", lambda fields: pytest.fail("converted a result"))
    assert type(report).from_json(json.loads(json.dumps(report.to_json()))) == report


def test_an_older_report_can_still_be_read(graded):
    report, _ = graded(softmax=NEXT_ROW)
    fields = json.loads(json.dumps(report.to_json()))
    assert type(report).from_json(fields) == report
    for result in fields["results"]:
        del result["answered"]
    assert type(report).from_json(fields).result("attention").answered == ()
