"""`autograder assign`"""

from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from autograder.cli.common import CHAPTER_HELP
from autograder.errors import UserError
from autograder.layout import known_chapter

if TYPE_CHECKING:
    from autograder.chapter.graded import Graded
    from autograder.gradebook.voiding import Effect

HELP = "Show or choose which exercises of a chapter count, and bring the scores up to date."


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("chapter", metavar="CHAPTER", help=CHAPTER_HELP)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--core", action="store_true", help="assign the chapter's core path")
    which.add_argument("--only", nargs="+", default=[], metavar="EXERCISE", help="assign these exercises")
    which.add_argument("--whole", action="store_true", help="assign the whole chapter, as by default")
    parser.add_argument("--add", nargs="+", default=[], metavar="EXERCISE", help="assign these exercises too")


def run(options: Namespace) -> int:
    from autograder.chapter.chapter import read_chapter
    from autograder.chapter.graded import graded_in, graded_on_core_path
    from autograder.course.configuration import set_option
    from autograder.course.handout import exercise_of
    from autograder.course.lock import course_lock
    from autograder.gradebook.assigning import follow_assignment, graded_cells, refuse_contradictions
    from autograder.gradebook.coursedir import open_coursedir
    from autograder.gradebook.engine import usable_gradebook
    from autograder.scores.assigned import NAME, assigned_exercises, assigned_parts, known_exercises

    chapter = read_chapter(known_chapter(options.chapter))
    graded, core = graded_in(chapter), graded_on_core_path(chapter)
    coursedir = open_coursedir(options.course, chapter.name)
    with course_lock(options.course), usable_gradebook(coursedir) as gradebook:
        # A course has the exercises of its release, even if the text has others by now.
        known = [exercise_of(cell) for cell in graded_cells(gradebook, chapter.name)] or list(graded)
        for option, names in (("--only", options.only), ("--add", options.add)):
            known_exercises(names, chapter.name, known, option)
        if options.core or options.only or options.whole or options.add:
            parts = {**assigned_parts(coursedir.config)}
            part = _chosen(options, parts.pop(chapter.name, None), known, core)
            coursedir.config.Assigned.exercises = parts | ({chapter.name: part} if part else {})
            refuse_contradictions(gradebook, coursedir)  # before the configuration is written
            set_option(options.course, NAME, coursedir.config.Assigned.exercises)
        effect = follow_assignment(gradebook, coursedir)
    assigned = assigned_exercises(coursedir.config, chapter.name, known)
    print(_line("Assigned", [name for name in known if name in assigned], graded))
    if optional := [name for name in known if name not in assigned]:
        print(_line("Optional, not graded", optional, graded))
    if effect:
        print(_effect(chapter.name, effect))
    return 0


def _chosen(
    options: Namespace, part: Sequence[str] | None, known: Collection[str], core: Collection[str]
) -> list[str] | None:
    """Return what the options assign, in the chapter's order; None for the whole chapter.

    part: what is assigned so far, None for the whole chapter. Raises UserError.
    """
    if options.whole or (part is None and not options.core and not options.only):
        if options.add:
            raise UserError("--add: the whole chapter is assigned, so there is nothing to add")
        return None
    chosen = {*(core if options.core else options.only or part or ()), *options.add}
    return [name for name in known if name in chosen]


def _line(heading: str, names: Sequence[str], graded: Mapping[str, "Graded"]) -> str:
    from check.words import count

    sizes = [graded[name] for name in names if name in graded]
    points, minutes = sum(size.points for size in sizes), sum(size.minutes for size in sizes)
    return f"{heading} ({points:g} points, {count(minutes, 'minute')}): {', '.join(names)}"


def _effect(chapter: str, effect: "Effect") -> str:
    """Return what choosing another part did to the gradebook, and what is left to do."""
    lines = [f"{chapter} has {effect.after:g} points now, and had {effect.before:g}."]
    if effect.submissions:
        lines = [f"{effect.changed} of {effect.submissions} scores changed. {lines[0]}"]
        lines.append(f"`autograder grade {chapter}` brings the feedback pages up to date.")
    return "\n".join(lines)
