"""Write mistakes in a short form: a slug and a function with options, then the name and the message.

For example, if `walked` runs a backward pass, and `scale` replaces one of its parts:

wrong = short_mistakes(attention_backward)

wrong("scale_forgotten", walked, scale=1)('''
    forgets the scale -> The section to read again, if it is not the exercise's own
    The message that the student reads.''')
wrong("exchanged", changing(reference.attention_backward), change=lambda q, k, v: (k, q, v))('''
    exchanges two gradients
    Another message.''')
"""

import inspect
import linecache
import sys
from collections.abc import Callable
from functools import wraps
from itertools import takewhile
from typing import Any

from autograder.authoring.exercise import Exercise

ARROW = " -> "
END = '""")'  # of a message


def short_mistakes(exercise: Exercise) -> Callable[..., Callable[[str], Callable]]:
    """Return a function that registers mistakes of an exercise in the short form.

    It takes a slug, a function and options, which replace keyword arguments or inputs of the function and make it
    wrong. For a class, the options replace attributes and methods. It returns a function that takes the name and the
    message, and registers the mistake.
    """

    def wrong(slug: str, function: Callable, /, **options: Any) -> Callable[[str], Callable]:
        caller = sys._getframe(1)
        changed: Any = type(slug, (function,), options) if isinstance(function, type) else _with(function, options)
        changed.place, changed.changes = (caller.f_code.co_filename, caller.f_lineno), function

        def says(text: str) -> Callable:
            title, _, message = text.strip().partition("\n")
            name, _, reread = title.partition(ARROW)
            changed.__name__, changed.__doc__ = slug, message
            return exercise.mistake(name, reread=reread)(changed)

        return says

    return wrong


def _with(function: Callable, options: dict[str, Any]) -> Callable:
    """A function with some keyword arguments or inputs replaced."""
    inputs = list(inspect.signature(function).parameters)

    @wraps(function)
    def with_options(*args: Any, **named: Any) -> Any:
        if options.keys() & set(inputs[: len(args)]):
            args, named = (), dict(zip(inputs, args, strict=False)) | named
        return function(*args, **named | options)

    return with_options


def changing(function: Callable) -> Callable:
    """Return a function that takes a further option, `change`, and applies it to what the given function returns."""

    @wraps(function)
    def changed(*args: Any, change: Callable, **named: Any) -> Any:
        outputs = function(*args, **named)
        return change(*outputs) if isinstance(outputs, tuple) else change(outputs)

    return changed


def is_short(wrong: Callable) -> bool:
    """Tell whether a wrong function is in the short form. Then it has no source that can stand alone."""
    return hasattr(wrong, "place")


def source_of(wrong: Callable) -> str:
    """Return the source of a wrong function; for the short form, the statement and the function that it changes."""
    if not is_short(wrong):
        return inspect.getsource(wrong)
    file, number = vars(wrong)["place"]
    lines = linecache.getlines(file)[number - 1 :]
    inner = list(takewhile(lambda line: not line.rstrip().endswith(END), lines))
    statement = "".join(lines[: len(inner) + 1])
    function: Any = vars(wrong)["changes"]
    return statement if function.__name__ == "<lambda>" else f"{statement}\n\n{inspect.getsource(function)}"
