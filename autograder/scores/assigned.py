"""Which exercises of a chapter are assigned: a setting in nbgrader_config.py."""

from collections.abc import Collection, Mapping, Sequence

from traitlets import Dict, List, TraitError, Unicode
from traitlets.config import Config, Configurable

from autograder.errors import UserError
from autograder.layout import chapter_names, exercise_names
from check.words import did_you_mean

NAME = "Assigned.exercises"
OPTION = f"c.{NAME} in nbgrader_config.py"


class Assigned(Configurable):
    """The assigned part of each chapter."""

    exercises = Dict(
        value_trait=List(Unicode()),
        key_trait=Unicode(),
        help="chapter -> its assigned exercises; a chapter without an entry is assigned whole",
    ).tag(config=True)


def assigned_parts(config: Config) -> Mapping[str, Sequence[str]]:
    """Return chapter -> its assigned exercises, for the chapters that are not assigned whole. Raises UserError."""
    try:
        parts = Assigned(config=config).exercises
    except TraitError as error:
        raise UserError(
            f'{OPTION} must give a list of exercises for each chapter, such as {{"01_attention": ["softmax"]}}: {error}'
        ) from error
    known = chapter_names()
    for chapter, names in parts.items():
        if chapter not in known:
            raise UserError(f"{OPTION}: there is no chapter {chapter!r}{did_you_mean(chapter, known)}")
        if not names:
            raise UserError(f"{OPTION}: the list of {chapter} is empty; leave {chapter} out to assign all of it")
    return parts


def assigned_exercises(config: Config, chapter: str, known: Collection[str]) -> frozenset[str]:
    """Return the assigned exercises of a chapter, which are all known ones by default.

    known: everything in the chapter that is graded. Raises UserError.
    """
    part = assigned_parts(config).get(chapter)
    return frozenset(known) if part is None else frozenset(known_exercises(part, chapter, known, OPTION))


def known_exercises(names: Sequence[str], chapter: str, known: Collection[str], option: str) -> Sequence[str]:
    """Return the names. Raises UserError, with the option that gives them, if the chapter lacks one of them."""
    for name in names:
        if name not in known:
            others = [other for other in chapter_names() if other != chapter and name in exercise_names(other)]
            where = f": it belongs to {others[0]}" if others else did_you_mean(name, known)
            raise UserError(f"{option}: {chapter} has no exercise {name!r}{where}")
    return names
