"""A check that takes a long time says what is running. Nothing but an interruption ends it without a verdict."""

import threading
from types import SimpleNamespace

import pytest

from check import checking, while_running
from check.checking import CheckFailed, check

pytestmark = pytest.mark.autograder


@pytest.fixture(autouse=True)
def public(monkeypatch, key):
    monkeypatch.setattr(checking, "public_key", lambda name: key)


@pytest.fixture
def errors(monkeypatch):
    """Standard error, with an event that is set as soon as a line has been written to it."""
    errors = Errors()
    # pytest sets sys.stderr again before the test.
    monkeypatch.setattr(while_running, "sys", SimpleNamespace(stderr=errors))
    monkeypatch.setattr(while_running, "SECONDS", 0.0)
    return errors


class Errors:
    def __init__(self):
        self.text, self.written = "", threading.Event()

    def write(self, text):
        self.text += text
        if "\n" in text:
            self.written.set()

    def flush(self):
        pass


@pytest.mark.parametrize(
    ("shell", "how"), [(None, "press Ctrl-C"), ("a shell", "press the notebook's stop button ■ (Kernel, Interrupt)")]
)
def test_a_check_that_takes_long_says_what_is_running_and_how_to_interrupt_it(errors, monkeypatch, key, shell, how):
    monkeypatch.setattr(while_running, "shell", lambda: shell)
    written = errors.written

    def normalised(x):
        written.wait()
        return x / x.sum(axis=-1, keepdims=True), None

    assert checking.quietly_tried(normalised, key)
    words = "`normalised` has been running for 0 seconds{}. If it does not end, {}.\n"
    # The sentence may come before the first case begins, because it comes at once.
    assert errors.text in [words.format(case, how) for case in ("", f", now in the case {key.cases[0].name!r}")]


def test_a_check_that_has_ended_says_nothing(errors, monkeypatch, key):
    monkeypatch.setattr(while_running, "SECONDS", 600.0)
    threads = threading.active_count()
    checking.quietly_tried(lambda x: x, key)
    assert threading.active_count() == threads and errors.text == ""


def test_without_threads_a_check_still_runs(errors, monkeypatch, key):
    """In a browser no thread can start. There the page has a button that stops the check."""

    def cannot(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", cannot)
    assert checking.quietly_tried(lambda x: x, key) and errors.text == ""


@pytest.mark.parametrize("argument", ["", "0", "'bye'"])
def test_an_answer_that_exits_gets_a_verdict(capsys, argument):
    """Such an answer ended the check, and in a terminal Python too, without a word about the exercise."""
    source = f"import sys\ndef normalised(x):\n    sys.exit({argument})"
    names = {}
    exec(source, names)
    with pytest.raises(CheckFailed, match="0 of 4 points"):
        check(names["normalised"])
    assert "`normalised` raised SystemExit" in capsys.readouterr().out


def test_an_interruption_ends_the_check():
    def normalised(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check(normalised)
