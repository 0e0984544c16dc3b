"""The cards of a chapter's exercises: what each says of itself before one begins."""

import re
from dataclasses import dataclass, replace

from autograder.chapter import myst
from autograder.chapter.chapter import definition_in

_SAID = re.compile(r"\*\*(\d+) points?\b([^*]*?)(\d+) minutes\*\*")
_DIFFICULTY = re.compile(r"difficulty (\S+)")


@dataclass(frozen=True)
class Card:
    """What an exercise says of itself: "**4 points · difficulty ●○○ · 10 minutes**".

    label: what a link to it names; function: what its stub defines. Each is "" where there is none.
    """

    points: int
    difficulty: str
    minutes: int
    label: str = ""
    function: str = ""


def cards(text: str) -> list[Card]:
    """The cards of a chapter, given as MyST, in their order: the exercises that say their points and minutes."""
    found: list[Card] = []
    label = ""
    for token in myst.blocks(text):
        directive = myst.directive(token)
        if directive and directive.name == "exercise" and (said := _SAID.search(directive.body)):
            difficulty = _DIFFICULTY.search(said[2])
            found.append(Card(int(said[1]), difficulty[1] if difficulty else "", int(said[3]), label))
        elif directive and found and directive.name in myst.CELLS and "exercise" in directive.options.get("tags", ()):
            found[-1] = replace(found[-1], function=definition_in(directive.body).name)
        label = token.content if token.type == "myst_target" else ""
    return found
