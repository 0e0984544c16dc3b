"""Show what is left to do in a notebook: check every exercise once more, as it is now."""

from dataclasses import dataclass
from html import escape
from importlib.util import find_spec
from typing import Any

from check import handing_in
from check.blank import is_blank, waits_for
from check.bundle_data import Notebook, notebooks
from check.checking import public_key, quietly_tried
from check.messages import MARKS, as_list, boxed, paragraph, sentence_as_html
from check.showing import Shown, show


@dataclass(frozen=True)
class Standing:
    """The state of one exercise: whether it passes (None if it cannot be checked yet), why not, and its points."""

    name: str
    passes: bool | None
    state: str
    earned: float
    points: float


def what_is_left(chapter: str, space: dict[str, Any]) -> None:
    """Show which exercises of a chapter pass, which fail, which are still blank, and what to hand in.

    Args:
        chapter: "01_attention".
        space: the notebook's namespace, from `globals()`.

    Raises:
        LookupError: no notebook of that name was unzipped here.
    """
    unzipped = notebooks()
    if chapter not in unzipped:
        raise LookupError(f"there is no chapter {chapter!r} here; there are: {', '.join(unzipped) or 'none'}")
    standings = [standing(name, space.get(name)) for name in unzipped[chapter].exercises]
    show(summary(chapter, standings, unzipped[chapter]))


def standing(name: str, function: Any) -> Standing:
    """Return the state of an exercise; function: None if its cell has not been run."""
    key = public_key(name)
    obstacle = ""
    if function is None:
        obstacle = "its cell has not been run"
    elif not callable(function):
        obstacle = "no longer a function"
    elif isinstance(function, type) and find_spec("torch") is None:
        obstacle = "needs PyTorch, which is not installed here"
    elif is_blank(function):
        obstacle = "not written yet"
    elif other := waits_for(function):
        obstacle = f"waits for `{other}`"
    if obstacle:
        return Standing(name, None, obstacle, 0, key.points)
    aspects = quietly_tried(function, key)
    earned = sum(aspect.earned for aspect in aspects)
    points = f"{earned:g} of {key.points:g} points"
    return Standing(name, all(aspect.holds for aspect in aspects), points, earned, key.points)


def summary(chapter: str, standings: list[Standing], about: Notebook) -> Shown:
    """Put the states of a chapter's exercises, and what else to hand in, into one message."""
    passing, total = sum(bool(standing.passes) for standing in standings), len(standings)
    earned = sum(standing.earned for standing in standings)
    points = sum(standing.points for standing in standings)
    head = f"{earned:g} of {points:g} points: {passing} of {total} exercises pass."
    first = ""
    if about.weights:
        where = "Run `hand_in(params, recipe)`: its output holds your weights"
        if handing_in.handed_in:
            where = "The output of `hand_in` holds your weights"
        first = f"{where}, for up to {about.weights:g} points. "
    for name, worth in about.by_hand.items():
        first += f"Write `{name}`: your instructor gives up to {worth:g} points for it. "
    if first:
        first += f"The chapter has {points + about.weights + sum(about.by_hand.values()):g} points. "
    end = f"{first}Save this notebook, then hand in this one file: `{chapter}.ipynb`"
    rows = [(standing.passes, f"`{standing.name}`: {standing.state}") for standing in standings]
    text = "\n".join([head, *(f"  {MARKS[passes][0]} {row}" for passes, row in rows), end])
    items = as_list((passes, sentence_as_html(row)) for passes, row in rows)
    return Shown(text, boxed(f"<strong>{escape(head)}</strong>{items}{paragraph(end)}", passing == total or None))
