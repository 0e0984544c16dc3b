"""Read the cards of a chapter's exercises: the points, difficulty and minutes that a reader sees first."""

import re
from dataclasses import dataclass, replace

from autograder.chapter import myst
from autograder.chapter.chapter import definition_in

_CARD_LINE = re.compile(r"\*\*(\d+) points?\b([^*]*?)(\d+) minutes\*\*")
_DIFFICULTY = re.compile(r"difficulty (\S+)")


@dataclass(frozen=True)
class Card:
    """The first line of an exercise: "**4 points · difficulty ●○○ · 10 minutes**".

    label: the target for links to the exercise; "" if it has none.
    function: the name that the exercise's stub defines; "" if it has no stub.
    """

    points: int
    difficulty: str
    minutes: int
    label: str = ""
    function: str = ""


def cards(text: str) -> list[Card]:
    """Return the cards of a chapter's MyST text, in order. Exercises without points and minutes have no card."""
    exercise_cards: list[Card] = []
    label = ""
    for token in myst.blocks(text):
        directive = myst.directive(token)
        if directive and directive.name == "exercise" and (line := _CARD_LINE.search(directive.body)):
            difficulty = _DIFFICULTY.search(line[2])
            exercise_cards.append(Card(int(line[1]), difficulty[1] if difficulty else "", int(line[3]), label))
        elif directive and exercise_cards and _is_stub(directive):
            exercise_cards[-1] = replace(exercise_cards[-1], function=definition_in(directive.body).name)
        label = token.content if token.type == "myst_target" else ""
    return exercise_cards


def _is_stub(directive: myst.Directive) -> bool:
    return directive.name in myst.CELLS and "exercise" in directive.options.get("tags", ())
