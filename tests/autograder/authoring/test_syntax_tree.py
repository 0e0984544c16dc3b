"""The parser of Python 3.11 fails in threads that parse together. Ours does not."""

import ast
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from autograder.authoring.syntax_tree import parsed


def test_threads_parse_one_after_another(monkeypatch):
    parsing, together = threading.Barrier(2), []
    parse = ast.parse

    def meeting(source):
        with suppress(threading.BrokenBarrierError):
            parsing.wait(timeout=0.2)
            together.append(source)
        return parse(source)

    monkeypatch.setattr(ast, "parse", meeting)
    with ThreadPoolExecutor(2) as threads:
        assert [ast.unparse(tree) for tree in threads.map(parsed, ["a = 1", "b = 2"])] == ["a = 1", "b = 2"]
    assert together == []


def test_a_library_that_parses_at_the_same_time_costs_a_second_try(monkeypatch):
    answers = [SystemError("AST constructor recursion depth mismatch (before=84, after=49)"), ast.Module([], [])]
    monkeypatch.setattr(ast, "parse", lambda source: raised_or_returned(answers.pop(0)))
    assert parsed("") is not None and answers == []


def test_wrong_code_is_an_error_at_once():
    with pytest.raises(SyntaxError):
        parsed("def")


def raised_or_returned(answer):
    if isinstance(answer, Exception):
        raise answer
    return answer
