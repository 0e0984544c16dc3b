"""The last hint of an exercise: an explanation as you would give it to a colleague at a whiteboard, without code."""

import ast
import re

import pytest

from autograder.chapter import myst
from autograder.chapter.chapter import text_of
from autograder.layout import chapter_names

pytestmark = pytest.mark.book

TITLE = "Explanation, in words"
CODE = (ast.Call, ast.BinOp, ast.Subscript, ast.Assign, ast.Compare, ast.Starred)


def hints_of_exercises(text):
    """Return (name, directives of the folds between its card and its stub) for each exercise."""
    folds = []
    for token in myst.blocks(text):
        directive = myst.directive(token)
        if directive and directive.name == "exercise":
            folds = []
        elif directive and directive.name == "dropdown":
            folds.append(directive)
        elif directive and "exercise" in directive.options.get("tags", ()):
            yield ast.parse(directive.body).body[-1].name, folds


def is_code(span):
    """Return whether a code span is more than a name or a shape."""
    try:
        return any(isinstance(node, CODE) for node in ast.walk(ast.parse(span)))
    except SyntaxError:
        return True


@pytest.mark.parametrize("chapter", chapter_names())
def test_each_exercise_has_two_hints_and_an_explanation_without_code(chapter):
    text = text_of(chapter)
    for name, folds in hints_of_exercises(text):
        assert [fold.argument.split(":")[0] for fold in folds] == ["Hint 1", "Hint 2", TITLE], name
        explanation = folds[-1]
        assert explanation.options["class-container"] == "explanation", name
        assert 50 < len(explanation.body.split()) < 170, name
        assert not any(token.type in ("fence", "code_block") for token in myst.blocks(explanation.body)), name
        assert [
            span
            for span in re.findall(r"`([^`]+)`", re.sub(r"\{[\w:]+\}`[^`]*`", "", explanation.body))
            if is_code(span)
        ] == [], name


def test_what_counts_as_code():
    assert not any(map(is_code, ("softmax", "d_key", "(..., n)", "np.swapaxes", "float32", "(2, 3, 1)")))
    assert all(map(is_code, ("x @ w", "axis=-1", "softmax(scores)", "x.T[0]", "scores -=")))
