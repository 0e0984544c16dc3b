"""List everything in a chapter that earns points, with what each reader can know about it before it is released."""

from dataclasses import dataclass

from autograder.authoring.hand_in import hand_in_of
from autograder.chapter.cards import cards
from autograder.chapter.chapter import Chapter, cells
from autograder.chapter.reading_time import core_path
from check.weights_file import WEIGHTS


@dataclass(frozen=True)
class Graded:
    """An exercise, the weights that are handed in, or a text that people grade.

    minutes: the authors' estimate; 0 for weights and texts, which have none.
    """

    points: float
    minutes: int = 0


def graded_in(chapter: Chapter) -> dict[str, Graded]:
    """Return name -> what is graded, in the order of the chapter."""
    return _graded_in(chapter.name, chapter.text)


def graded_on_core_path(chapter: Chapter) -> dict[str, Graded]:
    """Return name -> what is graded on the chapter's core path, in the order of the chapter."""
    return _graded_in(chapter.name, core_path(chapter.text))


def _graded_in(name: str, text: str) -> dict[str, Graded]:
    graded = {card.function: Graded(card.points, card.minutes) for card in cards(text)}
    for cell in cells(text):
        if cell.part == "hand-in" and (hand_in := hand_in_of(name)):
            graded[WEIGHTS] = Graded(hand_in.points)
        elif cell.part == "by-hand":
            graded[cell.metadata["name"]] = Graded(cell.metadata["points"])
    return graded
