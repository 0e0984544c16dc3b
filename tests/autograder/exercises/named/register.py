"""The list of wrong answers, each with the slug of the mistake that is in it."""

from collections.abc import Callable

import pytest

NAMED: list = []


def named(exercise: str, slug: str, name: str = ""):
    """Decorate a wrong answer whose mistake has this slug."""

    def register(wrong: Callable) -> Callable:
        NAMED.append(pytest.param(exercise, wrong, slug, id=f"{exercise}-{name or wrong.__name__}"))
        return wrong

    return register
