"""What `autograder doctor` finds in a chapter, and `autograder release` refuses."""

import importlib
import re

import numpy as np
import pytest

from autograder.authoring.exercise import Exercise
from autograder.authoring.make_key import PUBLIC_SEED, make_key
from autograder.chapter.chapter import read_chapter
from autograder.cli.main import main
from autograder.layout import REPO, chapter_names
from autograder.release import doctor
from autograder.release.build import ReleaseRefused
from autograder.release.doctor import run_faults
from autograder.release.publish import publish
from tests.autograder.release.small_repo import CHAPTER, change
from tests.choosing import thinned

pytestmark = [pytest.mark.release, pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")]


@pytest.mark.parametrize("name", thinned(chapter_names(), [CHAPTER], "`make` releases every chapter without a fault"))
def test_the_chapters_have_no_fault(name):
    """Their answer keys have tests of their own."""
    chapter = read_chapter(name)
    found = list(doctor.structure_faults(chapter))
    for exercise in chapter.exercises:
        found += [*doctor.interface_faults(exercise, chapter), *doctor.section_faults(exercise, chapter)]
    assert found == []


BREAKS = {
    "a docstring": ("Turn each row of scores into weights", "Turn rows into weights", "has another signature or"),
    "a section": ("\n## From scores to weights: the softmax\n", "\n", "has no section 'From scores to weights"),
    "no set-up": (":tags: [setup]", ":tags: [hide-input]", "needs the tag `setup`"),
    "another check": ("check(softmax)\n", "check(attention_entropy)\n", "attention_entropy.py does not exist"),
    "a name": ("def softmax(", "def softmx(", "the stub softmx has no check(softmx) in the chapter"),
    "no import": ("import softmax\n", "import softmax as s\n", "must import softmax, with the tag `remove-cell`"),
}  # fmt: skip


@pytest.mark.parametrize("what", BREAKS)
def test_a_fault_is_named_and_stops_the_release(copy, what):
    repo, course = copy
    old, new, words = BREAKS[what]
    change(repo, old, new)
    assert any(words in sentence for sentence in doctor.faults(CHAPTER, repo))
    before = (course / "release" / f"{CHAPTER}.zip").read_bytes()
    with pytest.raises(ReleaseRefused, match=re.escape(words)):
        publish(course, repo=repo)
    assert (course / "release" / f"{CHAPTER}.zip").read_bytes() == before


def test_a_check_without_its_stub_is_named(copy):
    repo, _ = copy
    change(repo, ":tags: [exercise]\n\ndef softmax", ":tags: [hide-input]\n\ndef softmax")
    assert "chapters/01_attention.md: check(softmax) has no stub; write one with the tag" in "\n".join(
        doctor.faults(CHAPTER, repo)
    )


def test_an_exercise_that_cannot_be_imported_is_a_sentence(monkeypatch, capsys, tmp_path):
    whole = importlib.import_module

    def misspelt(name, *more):
        if name.endswith("attention.softmax"):
            raise AttributeError("module 'solutions.attention' has no attribute 'sofmax'")
        return whole(name, *more)

    monkeypatch.setattr(doctor.importlib, "import_module", misspelt)
    assert main(["doctor", CHAPTER, "--quick", "--course", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    sentence = (
        "autograder/exercises/attention/softmax.py cannot be imported: AttributeError: module 'solutions.attention'"
    )
    assert f"{CHAPTER}: 1 fault\n  {sentence}" in out  # and not that the chapter lacks check(softmax)


def halves(number):
    """Return half of a number."""
    if number % 2:
        raise ValueError("odd")
    return number / 2


def halves_evens(number):
    """Return half of a number. Raises ValueError for an odd one."""
    return halves(number)


@pytest.mark.parametrize(("reference", "n_faults"), [(halves, 1), (halves_evens, 0)])
def test_a_reference_may_raise_only_what_its_docstring_announces(reference, n_faults):
    exercise = Exercise(reference, outputs={"half": ""}, section="Halves")

    @exercise.cases("the idea", points=1)
    def _(draw):
        yield "an even number", {"number": 4.0}
        yield "an odd number", {"number": 3.0}

    found = list(doctor.key_faults(exercise))
    assert len(found) == n_faults
    assert not found or "halves: the reference raises ValueError on the case 'an odd number'" in found[0]


def test_an_exercise_that_make_exercise_would_refuse_is_a_sentence_for_each_reason(monkeypatch):
    exercise = Exercise(halves_evens, outputs={"half": ""}, section="Halves")
    assert list(doctor.completeness_faults(exercise)) == [
        "halves_evens: its aspects have no points",
        "halves_evens: it has 0 rewrites; write at least 3",
        "halves_evens: it knows no mistake; add one that people really make",
    ]

    @exercise.mistake("doubles")
    def doubled(number):
        """You *double."""

    words = [sentence.partition("halves_evens: ")[2] for sentence in doctor.completeness_faults(exercise)][2:]
    assert words == [
        "the message of the mistake doubled is short; teach with at least 8 words",
        "students would see an asterisk in the message of the mistake doubled",
    ]
    monkeypatch.setattr(doctor, "import_exercises", lambda name, repo: ([exercise], ["broken"]))
    assert set(doctor.completeness_faults(exercise)) <= set(doctor.faults(CHAPTER))


def test_cases_that_raise_are_a_sentence():
    exercise = Exercise(halves_evens, outputs={"half": ""}, section="Halves")

    @exercise.cases("the idea", points=1)
    def _(draw):
        yield "no number", {"number": draw.nothing}

    for thorough in (True, False):
        (sentence,) = doctor.key_faults(exercise, thorough=thorough)
        assert sentence.startswith("halves_evens: no answer key can be made: AttributeError")


def test_a_docstring_that_promises_too_little_is_a_sentence():
    exercise = Exercise(halves_evens, outputs={"half": ""}, section="Halves")

    @exercise.cases("the idea", points=1)
    def _(draw):
        for name in ("a query that sees nothing", "another number"):
            yield name, {"number": np.full(3, 2, np.float32)}

    assert list(doctor.promise_faults(exercise, make_key(exercise, PUBLIC_SEED))) == [
        f"halves_evens: the docstring lacks the word “{word}”, for which the case 'a query that sees nothing' asks"
        for word in ("dtype", "zero")
    ]


def test_a_cell_that_raises_is_found_by_running_the_notebook(copy, monkeypatch, capfd):
    """The kernel imports the bundle's packages, whatever the author's PYTHONPATH, and does not warn about itself."""
    repo, _ = copy
    monkeypatch.setenv("PYTHONPATH", str(REPO))
    change(repo, "print(softmax(np.array([1.0, 2.0])))", "print(softmax(np.array([1.0, 2.0])))\n1 / 0")
    (sentence,) = run_faults(read_chapter(CHAPTER, repo), repo)
    assert sentence.startswith(f"{CHAPTER}: the cell demo-002 raises ZeroDivisionError: division by zero\n")
    assert "WARNING" not in capfd.readouterr().err
