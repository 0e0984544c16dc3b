"""Mistakes in the short form: a function with options, and a text that begins with the name."""

import pytest

from autograder.authoring.exercise import Exercise
from autograder.authoring.kill_table import table_of
from autograder.authoring.short_mistakes import changing, short_mistakes, source_of

pytestmark = pytest.mark.autograder


def half(x):
    return x / 2


def divided(x, *, by=2):
    return x / by


exercise = Exercise(half, outputs={"y": ""}, section="Halves")
wrong = short_mistakes(exercise)


@exercise.cases("the idea", points=1)
def _(draw):
    yield "a number", {"x": float(draw.size())}


by_three = wrong("by_three", divided, by=3)("""
    divides by three
    A half is one of
    *two* parts.""")
wrong("ignored", divided, x=4.0)("""
    ignores x -> Inputs
    You always halve 4.""")
wrong(
    "doubled",
    lambda x: 2 * x,
)("""
    multiplies
    Divide by two.""")


class Halving:
    """Divide by a number."""

    number = 2

    def __call__(self, x):
        return x / self.number


wrong("Quartering", Halving, number=4)("""
    divides by four
    Divide by two.""")


def function_of(slug):
    return exercise.mistakes[slug][1]


def test_the_text_begins_with_the_name_and_may_name_a_section():
    texts = {slug: (text.name, text.message, text.reread) for slug, (text, _) in exercise.mistakes.items()}
    assert texts == {
        "by_three": ("divides by three", "A half is one of *two* parts.", "Halves"),
        "ignored": ("ignores x", "You always halve 4.", "Inputs"),
        "doubled": ("multiplies", "Divide by two.", "Halves"),
        "Quartering": ("divides by four", "Divide by two.", "Halves"),
    }


@pytest.mark.parametrize(("slug", "y"), [("by_three", 2), ("ignored", 2), ("doubled", 12)])
def test_options_replace_keyword_arguments_and_inputs(slug, y):
    assert function_of(slug)(x=6.0) == function_of(slug)(6.0) == y


def test_the_options_of_a_class_replace_attributes():
    quartering = function_of("Quartering")
    assert (quartering()(8), Halving()(8), quartering.__name__) == (2, 4, "Quartering")
    assert source_of(quartering).startswith('wrong("Quartering", Halving, number=4)("""')
    assert source_of(quartering).endswith("return x / self.number\n")


def test_the_function_of_a_short_form_may_have_a_name():
    assert by_three is function_of("by_three")


def test_the_kill_table_shows_the_short_form_and_the_function_that_it_changes():
    sources = {line.slug: line.source for line in table_of(exercise, {"key": 1}).lines}
    statement, function = sources["by_three"].split("\n\n\n")
    assert statement.startswith('by_three = wrong("by_three", divided, by=3)("""') and statement.endswith('parts.""")')
    assert function == "def divided(x, *, by=2):\n    return x / by\n"
    assert sources["doubled"].startswith('wrong(\n    "doubled"') and sources["doubled"].endswith('two.""")\n')


def test_a_change_gets_all_outputs_of_the_changed_function():
    assert changing(divided)(8, by=4, change=lambda y: y + 1) == 3
    assert changing(divmod)(7, 2, change=lambda quotient, rest: (rest, quotient)) == (1, 3)


def test_a_function_under_a_decorator_is_its_own_source():
    assert source_of(half) == "def half(x):\n    return x / 2\n"
